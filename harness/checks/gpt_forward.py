"""GPT forward: hidden checks. Reading them spoils the exercise."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness import causal, expect, families
from harness.families import UNLESS
from harness.kata import Kata
from harness.model import Submission
from harness.moves import moved, stays
from harness.probe import Rng, block, gpt, normal, weights, whole
from harness.wire import Array

KATA = Kata(track=2, minutes=30, functions=("gpt_forward",))
SQUARE = ("wq", "wk", "wv", "wo")
Params = dict[str, Any]
Case = tuple[Array, Params, int]


def case(rng: Rng, B: int, T: int, V: int, d: int, f: int, heads: int, layers: int = 2, spare: int = 2) -> Case:
    """Ids that repeat and include 0 and V - 1, and room for more positions than are used."""
    ids = rng.integers(0, V, (B, T))
    ids[0, 0], ids[-1, -1] = V - 1, 0
    return ids, gpt(rng, V, d, f, layers, T + spare), heads


def small_case() -> Case:
    """Three tokens and one block, in whole numbers."""
    rng = np.random.default_rng(190)
    layer = {name: whole(rng, 4, 4, top=1) for name in SQUARE}
    layer |= {"w1": whole(rng, 4, 3, top=1), "w2": whole(rng, 3, 4, top=1)}
    tables = {"token_embedding": whole(rng, 5, 4), "position_embedding": whole(rng, 4, 4)}
    return np.array([[4, 0, 2]]), tables | {"layers": [layer]}, 2


@KATA.core
def kind(submission: Submission, reference: Any, rng: Rng) -> None:
    """the result is (B, T, V), also for one token, one sequence, one block and none"""
    cases = [case(rng, 2, 3, 7, 8, 5, 2), case(rng, 1, 1, 5, 4, 6, 1, 1), case(rng, 2, 4, 3, 6, 5, 3, 0)]
    for (call, answer), args in zip(submission.gpt_forward.each(cases), cases, strict=True):
        expect.returned(call, answer, reference.gpt_forward(*args))


@KATA.core
def tie(submission: Submission, reference: Any, rng: Rng) -> None:
    """the head is the token embedding: the row of a token that is not among the ids moves its own logits alone"""
    ids, params, heads = case(rng, 2, 3, 5, 8, 6, 2)
    ids = ids % 3
    cases = [(ids, params, heads)]
    for token in (3, 4):
        table = params["token_embedding"].copy()
        table[token] = normal(rng, 8, deviation=2)
        cases.append((ids, params | {"token_embedding": table}, heads))
    found = moved(submission.gpt_forward, reference.gpt_forward(*cases[0]), cases, (0, 1))
    found.should_be(np.eye(5, 5, dtype=bool)[:, 3:], "logit column", "unused embedding row")


@KATA.core
def sequences_apart(submission: Submission, reference: Any, rng: Rng) -> None:
    """a sequence is scored as if it were alone in its batch"""
    ids, params, heads = case(rng, 3, 4, 7, 8, 5, 2)
    cases = [(ids, params, heads), *((ids[b : b + 1].copy(), params, heads) for b in range(3))]
    (call, answer), *alone = submission.gpt_forward.each(cases)
    want = expect.returned(call, answer, reference.gpt_forward(*cases[0]))
    for b, (call, answer) in enumerate(alone):
        expect.same(call, answer, want[b : b + 1], f"Should be: as beside two others. This is sequence {b} alone.")


@KATA.core
def spare_positions(submission: Submission, reference: Any, rng: Rng) -> None:
    """position rows beyond T change nothing"""
    ids, params, heads = case(rng, 2, 3, 7, 8, 5, 2)
    table = params["position_embedding"]
    other = np.concatenate([table[:3], normal(rng, 4, 8, deviation=3)])
    cases = [(ids, params | {"position_embedding": one}, heads) for one in (table, table[:3].copy(), other)]
    stays(submission.gpt_forward, cases, reference.gpt_forward(*cases[0]), "only unused position rows change")


@KATA.core
def without_blocks(submission: Submission, reference: Any, rng: Rng) -> None:
    """without a block the logits are the norm of token row plus position row, times the token embedding transposed"""
    ids, params, heads = small_case()
    cases = [(ids, params | {"layers": []}, heads), case(rng, 2, 3, 6, 6, 5, 2, 0), case(rng, 3, 5, 11, 8, 4, 2, 0)]
    expect.agrees(submission.gpt_forward, reference.gpt_forward, cases, "layers is an empty list here.")


@KATA.core
def closed_blocks(submission: Submission, reference: Any, rng: Rng) -> None:
    """with wo and w2 at zero the blocks add nothing, so only the two ends are left"""
    ids, params, heads = case(rng, 2, 3, 7, 8, 5, 2)
    shut = [one | {"wo": 0 * one["wo"], "w2": 0 * one["w2"]} for one in params["layers"]]
    hint = "wo and w2 are zero in both blocks: what is left of them is their residuals."
    expect.agrees(submission.gpt_forward, reference.gpt_forward, [(ids, params | {"layers": shut}, heads)], hint)


@KATA.core
def prefix_invariance(submission: Submission, reference: Any, rng: Rng) -> None:
    """what follows a prefix does not change the logits of that prefix, wherever it is cut"""
    causal.prefix_stays(submission.gpt_forward, reference.gpt_forward, case(rng, 2, 5, 7, 8, 12, 2))


@KATA.core
def influence(submission: Submission, reference: Any, rng: Rng) -> None:
    """the logits at position i depend on the tokens 0 to i, the one at i included, and on no later one"""
    ids, params, heads = case(rng, 2, 5, 9, 8, 12, 2)
    cases = [(ids, params, heads)]
    for j in range(5):
        other = ids.copy()
        other[:, j] = (ids[:, j] + 1 + rng.integers(0, 7)) % 9
        cases.append((other, params, heads))
    found = moved(submission.gpt_forward, reference.gpt_forward(*cases[0]), cases, (0, 2))
    found.should_be(np.tri(5, dtype=bool), "position", "token")


@KATA.core
def weights_used(submission: Submission, reference: Any, rng: Rng) -> None:
    """changing any weight of any block changes the result, and so does exchanging two blocks"""
    ids, params, heads = case(rng, 1, 3, 7, 8, 5, 2)
    first, second = params["layers"]
    changed = {
        f"{name} of block {n}": [one | {name: block(rng, 8, 5)[name]} if n == m else one for m, one in enumerate(both)]
        for n, both in enumerate([(first, second)] * 2)
        for name in (*SQUARE, "w1", "w2")
    }
    changed["the order of the blocks"] = [second, first]
    others = {name: (ids, params | {"layers": layers}, heads) for name, layers in changed.items()}
    causal.all_used(submission.gpt_forward, reference.gpt_forward, (ids, params, heads), others)


@KATA.core
def values(submission: Submission, reference: Any, rng: Rng) -> None:
    """the logits are right, for any sizes: 1 to 3 blocks, V and f above and below d, one head and several"""
    cases = [
        small_case(),
        case(rng, 1, 4, 9, 12, 7, 3, 1),
        case(rng, 3, 1, 4, 6, 9, 2),
        case(rng, 2, 5, 11, 8, 12, 4, 3),
    ]
    cases += [case(rng, 2, 3, 6, 6, 6, 1), case(rng, 2, 3, 7, 6, 5, 6, spare=0), case(rng, 1, 70, 5, 4, 4, 2)]
    ids, params, heads = case(rng, 2, 4, 7, 8, 12, 2)
    small = {name: 0.003 * params[name] for name in ("token_embedding", "position_embedding")}
    faint = [one | {"wo": 0.01 * one["wo"], "w2": 0.01 * one["w2"]} for one in params["layers"]]
    cases.append((ids, params | small | {"layers": faint}, heads))
    expect.agrees(submission.gpt_forward, reference.gpt_forward, cases)


@KATA.core
def inputs_untouched(submission: Submission, reference: Any, rng: Rng) -> None:
    """ids, params and the list of layers are left as they were; read-only ones do; five calls give the same answer"""
    expect.unchanged(submission.gpt_forward, reference.gpt_forward, [case(rng, 2, 3, 7, 8, 5, 2)])


@KATA.follow_up
def refuses_ids(submission: Submission, reference: Any, rng: Rng) -> None:
    """ids below 0, beyond the vocabulary, not integers, of a wrong rank, none or too many raise ValueError"""
    ids, params, heads = case(rng, 2, 3, 7, 8, 5, 2, spare=0)
    bad = [ids - 1, ids + 1, ids.astype(float), ids[0], ids[None], ids[:, :0], np.concatenate([ids, ids], axis=1)]
    expect.refuses(submission.gpt_forward, [(wrong, params, heads) for wrong in bad])


@KATA.follow_up
def refuses_weights(submission: Submission, reference: Any, rng: Rng) -> None:
    """heads that do not divide d and weights whose shapes do not fit raise ValueError, in any block"""
    ids, params, _ = case(rng, 2, 3, 7, 8, 5, 2)
    first, second = params["layers"]
    wrong = [second | {name: weights(rng, *shape)} for name, shape in (("wo", (8, 1)), ("w2", (5, 1)), ("wk", (8, 4)))]
    cases = [(ids, params | {"layers": [first, one]}, 2) for one in wrong]
    expect.refuses(submission.gpt_forward, [*cases, (ids, params, 3), (ids, params, 16)])


@KATA.follow_up
def float32(submission: Submission, reference: Any, rng: Rng) -> None:
    """float32 in gives float32 out"""
    expect.keeps_float32(submission.gpt_forward, reference.gpt_forward, [case(rng, 2, 3, 7, 8, 5, 2)])


@KATA.follow_up
def layouts(submission: Submission, reference: Any, rng: Rng) -> None:
    """arrays that are not C-contiguous and ids of another width give the same result"""
    ids, params, heads = expect.strided(case(rng, 2, 3, 7, 8, 5, 2))
    expect.agrees(
        submission.gpt_forward, reference.gpt_forward, [(ids, params, heads), (ids.astype(np.int32), params, heads)]
    )


LOOP, STEP = 'for layer in params["layers"]:', "x = block(x, layer, heads)"
EMBED = 'x = embed(ids, params["token_embedding"], params["position_embedding"])'
END, STACK = 'return tied_logits(x, params["token_embedding"])', "what each block is given, and which weights it takes"

name = KATA.mistake
families.causal(KATA)
families.sublayers(KATA)
families.attention(KATA, feed_forward=True)
families.heads(KATA)
families.gelu(KATA)
families.layer_norm(KATA)
families.head(KATA)
families.embedding(KATA, "position_embedding[:T]", "position_embedding[1 : T + 1]", "position_embedding[ids]")
families.untied(KATA, "0")
families.last_position(KATA)
says = "every block takes the weights of the first: the others are never used"
form = (STEP, 'x = block(x, params["layers"][0], heads)')
hint = "Change a weight of the last block alone: which logits should move, and do yours?"
name("first_layer_everywhere", says, form, look=STACK, hint=hint)
says = "the blocks run in the reverse order"
form = (LOOP, 'for layer in params["layers"][::-1]:')
name("layers_reversed", says, form, look=STACK)
says = "the first block alone is run"
hint = "How often does your loop come to its end, with three blocks and with one?"
name("one_block_only", says, (LOOP, 'for layer in params["layers"][:1]:'), look=STACK, hint=hint)
says = "the last block is left out"
name("last_block_missing", says, (LOOP, 'for layer in params["layers"][:-1]:'), look=STACK)
says = "each block reads the embedding again, so only what the last one gives is left"
forms = [((LOOP, f"h = x\n    {LOOP}"), (STEP, "h = block(x, layer, heads)"), (END, END.replace("(x", "(h")))]
hint = "Draw the stack as a chain: what does the second block have to work with?"
name("blocks_read_the_embedding", says, *forms, look=STACK, hint=hint)
says = "x is added around each block once more: a block has its residuals inside"
hint = "Let a block give back x unchanged: how large is x after ten such blocks, in your code?"
name("residual_around_blocks", says, (STEP, "x = x + block(x, layer, heads)"), look=STACK, hint=hint)
says = "a layer norm follows every block: pre-LN has one at the very end alone"
form = (STEP, "x = layer_norm(block(x, layer, heads))")
name("norm_after_every_block", says, form, look=STACK)
says = "the embedding is normalised before the first block: here x starts as the bare sum"
form = (EMBED, f"{EMBED[:4]}layer_norm({EMBED[4:]})")
name("embedding_normalised", says, form, look="what comes between the embedding and the first block", kind="convention")
says = "the positions are added again before every block, not once at the start"
later = f'{STEP[:10]}x + params["position_embedding"][: x.shape[1]], layer, heads)'
name("positions_in_every_block", says, ((STEP, later), (families.ADDED, "return tokens")), (STEP, later), look=STACK)
says = "ids outside the vocabulary are not refused: a negative id reads from the end"
families.guard(KATA, "ids_not_refused", says, "ids.min() < 0 or ids.max() >= V", "refuses_ids")
says = "weights of another shape are not refused: some of them broadcast"
families.guard(KATA, "weights_not_refused", says, "weights[name].shape != shape", "refuses_weights")
families.memory_order(KATA, "check_weights(params, heads)", "ids")
says = "the layers are popped off params: the list belongs to the caller, and is empty in the next call"
loop = 'for layer in params["layers"]:\n        x = block(x, layer, heads)'
popped = (loop, 'while params["layers"]:\n        x = block(x, params["layers"].pop(0), heads)')
KATA.mistake("input_modified", says, popped, look="what happens to params")

KATA.hint(
    "Write the last function first, in five lines, as if all that it calls were there: what goes in at the bottom, "
    "what is repeated, and what comes at the very end?",
    "Only two parts know where a token stands: the position rows at the start, and the mask in attention. Everything "
    "else treats each row alone. Let one block turn x into x of the same shape, and the stack is a loop.",
    "Look up the token rows and add the position rows. For each dict in the list, add to x what causal attention "
    "makes of its norm, and to that sum what the feed-forward makes of its norm. After the last block normalise once "
    "more and multiply by the token table turned on its side. No softmax follows.",
)
KATA.shape(tokens="(B, T, d)", positions="(T, d)", q="(B, H, T, dh)", k="(B, H, T, dh)", v="(B, H, T, dh)")
KATA.shape(scores="(B, H, T, T)", future="(T, T)", weights="(B, H, T, T)", context="(B, H, T, dh)", normed="(B, T, d)")
KATA.term(
    "where the norm goes",
    "Is it pre-LN or post-LN, is there a final norm, and one after the embedding?",
    "Pre-LN: a norm before each sublayer, and one at the very end. None follows the embedding.",
    (
        r"\bpre-?\W?(ln|norm)|\bpost-?\W?(ln|norm)",
        r"\b(final|last) (layer ?)?-?norm|\bln_?f\b",
        r"\bnorm.*\b(before|after)\b",
    ),
    (UNLESS + r"\bpost-?\W?(ln|norm)", r"\b(no|without( a| the)?) final (layer ?)?norm"),
    ("post_ln", "embedding_normalised"),
)
KATA.term(
    "positions",
    "Are the positions a learned table that is added, counted from 0?",
    "Yes: row t of position_embedding is added to the token at index t, once, before the first block.",
    (
        r"\bpositions?\b|\bpositional\b",
        r"\blearn(ed|t)\b|\bsinusoid|\brotary\b|\brope\b",
        r"\b(from|at) (0|1|zero|one)\b",
    ),
    (UNLESS + r"(\b(from|at|with) (1|one)\b|\bsinusoid|\brotary\b|\brope\b)",),
)
KATA.term(
    "head and logits",
    "Is the head tied to the embedding, and do you want raw logits at every position?",
    "Tied: the token embedding transposed, without a bias. Raw logits, at every position.",
    (r"\b(un)?tied\b|\bhead\b|\blm_head\b", r"\blogits?\b|\bprobabilit", r"\b(every|each|last) (position|token)"),
    (UNLESS + r"(\buntied\b|\b(separate|own) (output )?(head|matrix)|\b(return|apply|take) (a |the )?(softmax|prob))",),
)
KATA.term(
    "scale of sqrt(d)",
    "Are the token rows or the logits scaled by the root of d?",
    "Neither: rows are added as they are, and the product is returned as it is.",
    (r"\bscal(e|es|ed|ing)\b", r"\bsqrt\b|\b(square )?root\b", r"\b(rows|logits|embedding)\b.*\b(multipl|divid)"),
    (UNLESS + r"\bscal(e|es|ed|ing)\b[^.;]*\b(rows|tokens|logits|embedding|sqrt|root)",),
    ("token_rows_scaled", "logits_over_sqrt_d"),
)
KATA.term(
    "padding, dropout and cache",
    "Must I handle padding, dropout or a cache, or is it the forward pass alone?",
    "The forward pass alone, causal, over sequences of one length: no padding, no dropout, no cache.",
    (r"\bpad(s|ded|ding)?\b", r"\bdropout\b|\btraining\b", r"\bcach", r"\bcausal\b|\bforward pass"),
    (UNLESS + r"\b(apply|use|add|with|include|support|handle) (a |the )?(kv )?(padding|dropout|cache)",),
)
KATA.question(
    "Count the weights of GPT-2 small: V = 50,257, d = 768, 12 layers, 1,024 positions.",
    "Token table V d = 38.6 million, positions 0.8 million. A block holds 4 d^2 in attention and 2 d f = 8 d^2 in the "
    "feed-forward: 12 d^2 = 7.1 million, 85 million for twelve. Together 124 million; biases and gains are some "
    "thousandths of that. The tied head adds none; untied it would be 163 million.",
)
KATA.question(
    "The forward pass is written. Which tests would you run before training?",
    "Change the last token: no earlier logit may move. Cut the sequence: its prefix keeps its logits. Set wo and w2 "
    "to zero: the model must become a lookup. Run one sequence alone and within a batch. Change each weight and see "
    "the result move. With small random weights the loss must be about log V, and one batch must be learned by heart.",
)
KATA.question(
    "Where do time and memory go when T grows from 1,000 to 100,000?",
    "Projections, feed-forward and head are linear in T; scores and mixing of values are quadratic, 2 T^2 d a layer, "
    "and overtake from T about 2 d + f. Stored scores are B H T^2 numbers a layer, so they go first: attention is then "
    "computed in tiles with a running softmax, which keeps the time and makes the memory linear. The head's (T, V) "
    "logits count too.",
)
KATA.question(
    "Why may the residual stream not be normalised in place between blocks?",
    "The bare sum is what lets a gradient reach the first block unscaled: each block adds to it and none stands in the "
    "way. A norm on the stream itself would rescale all that earlier blocks wrote, and make the stack post-LN, which "
    "needs warm-up. So each branch normalises its own copy, and one norm at the end takes away the growth with depth.",
)
