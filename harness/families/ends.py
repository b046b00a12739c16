"""What goes wrong at the two ends of a model: where ids become rows, and where rows become logits."""

from __future__ import annotations

from harness.families.words import UNLESS
from harness.kata import Kata

NORM, HEAD = "normed = layer_norm(hidden)", "return normed @ token_embedding.T"
UNIT = "(token_embedding / np.linalg.norm(token_embedding, axis=-1, keepdims=True))"
TOKENS, ADDED = "tokens = token_embedding[ids]", "return tokens + positions"
BESIDE, FOLLOWS = "a factor beside the product", "what follows the product: nothing should, since the loss takes the {}"
ONE_ROW = "how the token row and the position row become one row"


def head(kata: Kata) -> None:
    """What goes wrong in `tied_logits`, between the last block and the logits."""
    name = kata.mistake
    says = "the final layer norm is missing: the hidden states go into the product as they come out of the last block"
    hint = (
        "Each block has added to the residual stream and none has normalised the sum: how large is it after 48 of them?"
    )
    name("final_norm_missing", says, (NORM, "normed = hidden"), look="`hidden` before the product", hint=hint)
    says = "the token embedding is not transposed: the product must run over d, which works by luck alone when V = d"
    turned = [f"token_embedding{n}" for n in ("", ".reshape(token_embedding.shape[::-1])")]
    look = "the shapes of the product: (B, T, d) times (d, V). A reshape is no transpose"
    hint = "A logit compares one hidden row with one token's row: over which letter do you sum, and which remains?"
    name("not_transposed", says, *((HEAD, f"return normed @ {t}") for t in turned), look=look, hint=hint)
    says = "a softmax is applied already: probabilities come back instead of raw logits"
    form = (HEAD, f"z = np.exp({HEAD[7:]})\n    return z / z.sum(axis=-1, keepdims=True)")
    hint = "Cross-entropy takes a softmax of its own: what does a second one do to 50,000 numbers between 0 and 1?"
    name("softmax_applied", says, form, look=FOLLOWS.format("softmax"), hint=hint)
    says = "a log-softmax is applied already: log-probabilities come back instead of raw logits"
    form = (HEAD, f"z = {HEAD[7:]}\n    return z - np.log(np.exp(z).sum(axis=-1, keepdims=True))")
    name("log_softmax_applied", says, form, look=FOLLOWS.format("log-softmax"))
    _scaled(kata)


def _scaled(kata: Kata) -> None:
    name = kata.mistake
    says = "the logits are multiplied by sqrt(d): nothing is scaled here"
    name("logits_times_sqrt_d", says, (HEAD, f"{HEAD} * hidden.shape[-1] ** 0.5"), look=BESIDE)
    says = "the logits are divided by sqrt(d), as attention scores or T5's head are: nothing is scaled here"
    form = (HEAD, f"{HEAD} / hidden.shape[-1] ** 0.5")
    name("logits_over_sqrt_d", says, form, look=BESIDE, kind="convention")
    says = "the embedding rows are scaled to unit length before the product: the length of a row is part of its logit"
    look = "what happens to token_embedding before the product"
    name("unit_length_rows", says, (HEAD, f"return normed @ {UNIT}.T"), look=look)
    name(
        "cosine_logits",
        "these are cosines: embedding rows and hidden rows are both scaled to unit length before the product",
        (HEAD, f"return normed / np.linalg.norm(normed, axis=-1, keepdims=True) @ {UNIT}.T"),
        (
            (NORM, "normed = hidden / np.linalg.norm(hidden, axis=-1, keepdims=True)"),
            (HEAD, f"return normed @ {UNIT}.T"),
        ),
        look="what happens to either side before the product: a layer norm on the left, nothing on the right",
    )


def untied(kata: Kata, *seeds: str) -> None:
    """A head with a matrix of its own, drawn from each of the seeds; '' is left to chance."""
    says = "the head is not tied: the logits come from a matrix of its own, not from the token embedding"
    draw = "return normed @ np.random.default_rng({}).standard_normal(token_embedding.shape).T"
    look = "which matrix the normalised hidden states are multiplied by"
    hint = "Replace one row of the token embedding: which column of the logits should notice, and does yours?"
    kata.mistake("untied_head", says, *((HEAD, draw.format(seed)) for seed in seeds), look=look, hint=hint)


def embedding(kata: Kata, row: str, one_later: str, by_id: str) -> None:
    """What goes wrong in `embed`. `row` is what picks the positions, with what stands there instead."""
    name = kata.mistake
    says = "embed scales by sqrt(d), as the 2017 Transformer does: here the rows are added as they are"
    forms = [(TOKENS, f"{TOKENS} * token_embedding.shape[-1] ** 0.5")]
    forms += [(ADDED, "return (tokens + positions) * token_embedding.shape[-1] ** 0.5")]
    name("token_rows_scaled", says, *forms, look="a factor on the token rows in embed", kind="convention")
    says = "the positions are missing: embed gives the token rows alone, so the order of the tokens is lost"
    look = "whether position_embedding is used in embed"
    hint = "Embed the same token twice in one sequence: what tells its two rows apart?"
    name("positions_missing", says, (ADDED, "return tokens"), look=look, hint=hint)
    says = "positions are counted from 1: the first token gets row 1 of the position table instead of row 0"
    look = "the start of the slice or of the range of positions"
    hint = "Fill the table to the last row: which position does the last token take, and is row 0 ever used?"
    name("positions_from_one", says, (row, one_later), look=look, hint=hint)
    says = "the position table is indexed by the token ids: it must be indexed by the place in the sequence"
    hint = "Embed the ids 7, 7, 7 by hand: which rows of the position table do you need?"
    name("positions_by_id", says, (row, by_id), look="what indexes position_embedding", hint=hint)
    says = "the two embeddings are multiplied instead of added"
    name("embeddings_multiplied", says, (ADDED, "return tokens * positions"), look=ONE_ROW)


def last_position(kata: Kata) -> None:
    """Logits of the last position alone."""
    says = "only the last position is scored: training needs logits at every position, (B, T, V)"
    forms = [(HEAD, f"return normed[:, {last}] @ token_embedding.T") for last in ("-1", "-1:")]
    hint = "In training every position predicts its next token: how many predictions does a sequence of T give?"
    look = "an index on the hidden states, such as [:, -1]"
    kata.mistake("last_position_only", says, *forms, look=look, hint=hint)


def log_softmax(kata: Kata) -> None:
    """What goes wrong in a generator that should give the log of a softmax."""
    name, line = kata.mistake, "return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))"
    peak, total = "logits - logits.max(axis=-1, keepdims=True)", "np.exp(shifted).sum(axis=-1, keepdims=True)"
    says = "the generator takes the log of a softmax: where a probability rounds to 0 that is -inf"
    form = (line, f"return np.log(np.exp(shifted) / {total})")
    hint = "Two logits lie 1e4 apart. What is the smaller probability in floating point, and its log?"
    name("log_of_softmax", says, form, (form, (peak, "logits")), look="the log in the generator", hint=hint)
    says = "the generator does not subtract the largest logit: its exponentials overflow"
    name("no_max_subtracted", says, (peak, "logits"), look="what is exponentiated")
    look = "the last line of the generator"
    says = "the generator gives probabilities instead of their logarithms"
    name("probabilities_returned", says, (line, f"return np.exp(shifted) / {total}"), look=look, kind="convention")
    says = "the generator gives logits: the log-softmax is missing"
    forms = [(line, "return logits"), (line, "return shifted")]
    name("logits_returned", says, *forms, look=look, kind="convention")
    says = "the log-softmax runs over the tokens instead of the vocabulary"
    axes = tuple((s, s.replace("-1", "-2")) for s in (peak, line))
    name("log_softmax_over_tokens", says, axes, look="the axis of the log-softmax")
    says = "the log-softmax runs over everything at once: only all tokens together sum to 1"
    axes = tuple((s, s.replace("-1", "None")) for s in (peak, line))
    name("log_softmax_over_everything", says, axes, look="the axis of the log-softmax")
    says = "the bias of the generator is missing"
    name("generator_bias_missing", says, (" @ projection + bias", " @ projection"), look="the logits")
    kata.term(
        "what the generator returns",
        "Does the generator return logits, probabilities or log-probabilities?",
        "Log-probabilities: the log-softmax of the logits over the vocabulary.",
        (r"\blog-?\W?(prob|soft)\w*", r"\blogits\b", r"\bprobabilit\w*", r"\bgenerator\b"),
        (UNLESS + r"\b(returns?|gives?) (the )?(raw )?(logits|probabilit\w*)\b",),
        ("probabilities_returned", "logits_returned"),
    )
