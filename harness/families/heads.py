"""What goes wrong in multi-head attention and its causal mask."""

from __future__ import annotations

from harness.families import facts
from harness.families.words import UNLESS
from harness.kata import Form, Kata

OVER_QUERIES = ("weights = softmax(scores)", "weights = softmax(scores.swapaxes(-1, -2)).swapaxes(-1, -2)")
MASK, FILL = "np.triu(np.ones((T, T), dtype=bool), k=1)", "np.where(future, -np.inf, scores)"
TRIANGLE = "triu or tril, > or >=, and which side is the query"


def heads(kata: Kata) -> None:
    """What goes wrong in `split_heads` and `merge_heads`."""
    says = "the heads are reshaped straight to (B, H, T, dh) without a transpose, which mixes tokens into heads"
    form = ("x.reshape(B, T, heads, d // heads).transpose(0, 2, 1, 3)", "x.reshape(B, heads, T, d // heads)")
    hint = "Number the features of two tokens 0 to 7 and split them by hand: which token does each row come from?"
    kata.mistake("heads_without_transpose", says, form, look="reshape to (B, T, H, dh) first", hint=hint)
    says = "the heads are merged without transposing back, which mixes tokens"
    form = ("x.transpose(0, 2, 1, 3).reshape(B, T, H * dh)", "x.reshape(B, T, H * dh)")
    hint = "Merging undoes splitting: follow one token's numbered features through both. Do they come home?"
    look = "the axes must be (B, T, H, dh) before the reshape"
    kata.mistake("merge_without_transpose", says, form, look=look, hint=hint)
    facts.heads(kata)


def attention(kata: Kata, *also_over_queries: Form, feed_forward: bool = False, weight: str = 'params["w{}"]') -> None:
    """What goes wrong around q, k, v and the scores. A solution may add its own ways to take the wrong softmax axis.

    `weight` is how it writes the square weights, with {} for the letter.
    """
    scores(kata, *also_over_queries)
    _projections(kata, "12" if feed_forward else "", weight)
    if feed_forward:
        facts.block(kata)


def scores(kata: Kata, *also_over_queries: Form, width: str = "x.shape[-1]") -> None:
    """What goes wrong with the scale and the softmax; `width` is the model's, in the solution's words."""
    name = kata.mistake
    hint = "How far from 0 do dot products of random rows of width 64 lie, and what does a softmax make of that?"
    look = "q k^T, before the softmax"
    name("scale_missing", "the scores are not scaled by 1/sqrt(dh)", (" / dh**0.5", ""), look=look, hint=hint)
    says = "the scores are divided by sqrt(d), of the model's width, instead of sqrt(dh), of the head's"
    hint = "A score is a sum: of how many products, when there are two heads and when there are four?"
    name("scale_sqrt_d", says, ("/ dh**0.5", f"/ {width} ** 0.5"), look="the width under the root", hint=hint)
    says = "the scores are divided by dh instead of its root"
    name("scale_dh", says, ("/ dh**0.5", "/ dh"), look="the root, or a second scaling")
    says = "the scores are multiplied by sqrt(dh) instead of divided by it"
    name("scale_multiplied", says, (" / dh**0.5", " * dh**0.5"), look="the sign of the exponent, or * for /")
    says = "the softmax runs over the queries: columns sum to 1 instead of rows"
    hint = "Each query has one unit of attention to spend. Add up your weights: along which axis is the sum 1?"
    look = "its axis: keys are the last one"
    name("softmax_over_queries", says, OVER_QUERIES, *also_over_queries, look=look, hint=hint)
    says = "a float64 scalar or mask, such as np.sqrt of an int, makes float64 of float32 activations"
    look = "the scale and the fill of the scores"
    name("float32_lost", says, ("dh**0.5", "np.sqrt(dh)"), look=look, level="follow-up")
    facts.softmax(kata)
    kata.question(
        "Why are the scores scaled by 1/sqrt(dh)?",
        "A score is a sum of dh products. If queries and keys have independent entries of mean 0 and variance 1, its "
        "variance is dh, so its size grows as sqrt(dh). Unscaled, the softmax of a wide head puts nearly all weight on "
        "one key, where its gradient vanishes. Dividing by sqrt(dh) brings the variance back to 1. It is the width of "
        "a head that counts, not of the model.",
    )


def _projections(kata: Kata, others: str, weight: str) -> None:
    name = kata.mistake
    hint = "After the merge each feature still comes from one head alone: what lets the heads speak to each other?"
    look = "what follows the merged heads"
    name("wo_missing", "the output projection wo is missing", (f" @ {weight.format('o')}", ""), look=look, hint=hint)
    q, k, v = (f"@ {weight.format(n)}" for n in "qkv")
    from_q, from_k, from_v = (w.replace('"', "'") for w in (q, k, v))  # other quotes, lest a patch finds what one wrote
    says = "queries and keys are swapped: q comes from wk and k from wq"
    hint = "Say who asks and who answers: the rows of the scores belong to the one, the columns to the other."
    name("qk_swapped", says, ((q, from_k), (k, from_q)), look="which weight goes where", hint=hint)
    says = "keys and values are swapped: k comes from wv and v from wk"
    hint = "One of the two decides where to look, the other what is brought back: which one meets the query?"
    name("kv_swapped", says, ((k, from_v), (v, from_k)), look="which weight goes where", hint=hint)
    says = "the weights are applied transposed, x @ w.T, as torch's Linear holds them"
    look = "a .T on a weight; x @ w is (from, to)"
    used = [weight.format(n) for n in "qkvo"] + [f'params["w{n}"]' for n in others]
    every = tuple((f"@ {w}", f"@ {w}.T") for w in used)
    name("weights_transposed", says, *dict.fromkeys((every[:4], every)), look=look, kind="convention")
    kata.term(
        "layout of the weights",
        "Are the weights applied as x @ w, or stored transposed as in torch's Linear?",
        "As x @ w: the first axis of a weight meets the features of x.",
        (r"\bx ?@ ?w", r"\btranspos", r"\b(weight|matri).*\b(layout|shape|left|right|stored|multipl)", r"\btorch\b"),
        (UNLESS + r"(w\w?\.t\b|\bweights?\b[^.;]*\btransposed|\blike (torch|nn|linear)\b|\bw ?@ ?x\b)",),
        ("weights_transposed",),
    )
    facts.projections(kata)


def causal(kata: Kata) -> None:
    """What goes wrong with the causal mask, for the lines that make `future` and fill the scores."""
    off = ("k=1", "k=0")
    triangle(kata, (FILL, "scores"), (off, ("-np.inf", "-1e9")), (off, (FILL, "scores - 1e9 * future")))
    _fill(kata)


def triangle(kata: Kata, unmasked: tuple[str, str], *also_blocked: Form) -> None:
    """What goes wrong with the line that makes `future`.

    A solution says how it looks `unmasked`, and may add its own ways to fill a row with the diagonal blocked.
    """
    name = kata.mistake
    says = "the mask direction is reversed: query i sees only keys j >= i, so it is kept from its own past"
    hint = "Draw the 3 by 3 matrix. The first token has nothing before it: how many keys does its row leave open?"
    name("reversed_mask", says, (MASK, "np.tril(np.ones((T, T), dtype=bool), k=-1)"), look=TRIANGLE, hint=hint)
    says = "nothing is masked: every position sees the whole future, which it should predict"
    look = "whether the mask reaches the scores, and whether it is really (T, T)"
    hint = "Change the last token alone: which rows of the result may move?"
    name("no_mask", says, unmasked, look=look, hint=hint)
    name(
        "diagonal_blocked",
        "the diagonal is blocked, so a position cannot see itself: off by one, or direction and polarity both flipped",
        ("k=1", "k=0"),
        *also_blocked,
        look=TRIANGLE,
        hint="What is left for the very first token to look at, if it may not look at itself?",
    )
    says = "one future key leaks: position i sees i + 1, the very token that it should predict"
    hint = "Write the mask for two tokens by hand. How many of its four entries are blocked, and how many of yours?"
    name("one_future_key_leaks", says, ("k=1", "k=2"), look=TRIANGLE, hint=hint)


def _fill(kata: Kata) -> None:
    name = kata.mistake
    name(
        "inverted_polarity",
        "the mask is inverted, or added with the wrong sign: query i is left with the future alone",
        (FILL, "np.where(future, scores, -np.inf)"),
        (FILL, "np.where(future, scores, -1e9)"),
        (FILL, "scores - 1e9 * ~future"),
        (FILL, "scores + np.where(future, np.inf, 0)"),
        (FILL, "scores + 1e9 * future"),
        look="what True means where the scores are filled, and the sign of the fill",
        hint="Everything is past to the last token: how many keys does your mask leave to it?",
    )
    says = "the mask comes after the softmax: its denominator has seen the future, and rows no longer sum to 1"
    form = (f"scores = {FILL}\n    weights = softmax(scores)", "weights = np.where(future, 0, softmax(scores))")
    hint = "Add up one row of the weights at the end: where did the missing share go?"
    name("mask_after_softmax", says, form, look="the order of mask and softmax", hint=hint)
    says = "the mask is multiplied into the scores: a score of 0 is not blocked, exp(0) is 1"
    look = "what a blocked score must be before the softmax"
    name("mask_multiplied", says, (FILL, "scores * ~future"), look=look)
    says = "the mask is multiplied by -inf, and 0 times -inf is NaN: so every score is lost, also those not blocked"
    name("mask_times_infinity", says, (FILL, "scores + future * -np.inf"), look="np.where instead of a product")
    kata.question(
        "Why must the mask come before the softmax, and not after?",
        "Zeroing weights afterwards leaves a denominator that has summed over the future: rows no longer add up to 1, "
        "and how much is missing tells of later tokens. Renormalising mends that, but where the future holds the "
        "largest scores, what is left may underflow to 0/0. Scores of -inf before the softmax give exact zeros and a "
        "denominator over the visible keys alone.",
    )
