"""What goes wrong with a mask that is passed in, True where attention must not look."""

from __future__ import annotations

from harness.families.heads import OVER_QUERIES
from harness.families.words import UNLESS
from harness.kata import Form, Kata

HIDE = "scores = np.where(blocked, -np.inf, scores)"
GIVEN = "if blocked is not None:"
MASKED_SOFTMAX = f"{GIVEN}\n        {HIDE}\n    weights = softmax(scores)"
NAN = ("peak = np.where(peak == -np.inf, 0, peak)", "pass")  # what a softmax of -inf alone gives elsewhere
LOW, ADDED = "scores = np.where(blocked, -1e9, scores)", "scores = scores + blocked * -1e9"
ALL_OVER_QUERIES: tuple[Form, ...] = tuple((OVER_QUERIES, more) for more in (NAN, (HIDE, LOW), (HIDE, ADDED)))


def blocked(kata: Kata, guarded: bool = True) -> None:
    """What goes wrong between `blocked` and the softmax, for a solution with the lines above.

    `guarded`: its softmax has the line that keeps NaN away from a row with everything blocked.
    """
    name = kata.mistake
    says = "the mask is ignored: what is blocked gets its share of the weights"
    hint = "Put a huge number into a key that is blocked for everyone: what should happen to the result?"
    name("mask_ignored", says, (GIVEN, "if False:"), look="whether blocked reaches the scores", hint=hint)
    says = "the mask is inverted, as if True meant keep, or added with the wrong sign: only what is blocked is seen"
    look = "what True means where the scores are filled, and the sign of the fill"
    turned = [(HIDE, line.replace("blocked", "~blocked")) for line in (HIDE, LOW, ADDED)]
    signs = [(HIDE, ADDED.replace("-1e9", "1e9")), (HIDE, "scores = scores + np.where(blocked, np.inf, 0)")]
    hint = "Call it with a mask that is False everywhere: what should be hidden, and what is, in yours?"
    forms: list[Form | tuple[str, str]] = [*turned, *signs, *([(turned[0], NAN)] if guarded else [])]
    name("mask_inverted", says, *forms, look=look, hint=hint, kind="convention")
    says = "the mask is added to the scores as it is, like an additive one of 0 and -inf: True only adds 1"
    form = (HIDE, "scores = scores + blocked")
    name("mask_as_it_is", says, form, look="what the mask holds: bool, not numbers", kind="convention")
    says = "the mask is transposed: its rows belong to the queries, its last axis to the keys"
    wrong = [(HIDE, line.replace("blocked", "np.swapaxes(blocked, -1, -2)")) for line in (HIDE, LOW, ADDED)]
    hint = "Block a single entry of the mask. Which query loses which key?"
    unguarded = [(wrong[0], NAN)] if guarded else []
    name("mask_transposed", says, *wrong, *unguarded, look="the last two axes of the mask", hint=hint)
    filled(kata)
    polarity(kata)


def filled(kata: Kata) -> None:
    """What goes wrong where the scores are filled."""
    name = kata.mistake
    says = "the mask comes after the softmax: its denominator has seen what is blocked, and rows no longer sum to 1"
    after = f"weights = softmax(scores)\n    {GIVEN}\n        weights = np.where(blocked, 0, weights)"
    hint = "Add up one row of the weights at the end: where did the missing share go?"
    name("mask_after_softmax", says, (MASKED_SOFTMAX, after), look="the order of mask and softmax", hint=hint)
    says = "blocked scores become 0: that is not blocked, exp(0) is 1"
    form = (HIDE, "scores = scores * ~blocked")
    hint = "Which score has a weight of nought: which number has an exponential of 0?"
    name("mask_multiplied", says, form, look="what a blocked score must be before the softmax", hint=hint)
    says = "the mask is multiplied by -inf, and 0 times -inf is NaN: so every score is lost, also those not blocked"
    form = (HIDE, "scores = scores + blocked * -np.inf")
    name("mask_times_infinity", says, form, look="np.where instead of a product")


def polarity(kata: Kata) -> None:
    """The term of what True means, with the mistakes that were catalogued and hang on it."""
    kata.term(
        "what True means",
        "Does True in the mask mean that a position is blocked, or that it may be seen?",
        "Blocked: True hides that key from that query. The mask is boolean, and None hides nothing.",
        (
            r"\btrue\b|\bfalse\b",
            r"\bpolarity|\bmeans?\b",
            r"\b(keep|kept|visible|hidden|hides?)\b",
            r"\badditive\b|\bbool(ean)?\b|-inf\b",
        ),
        (
            r"\btrue\W+(means?|is|=|marks?|for)\W*(the |to |that )*(keep|kept|visible|allow|attend|see|real|valid)",
            r"\bfalse\W+(means?|is|=|marks?|for)\W*(the |to |that )*(pad|block|mask|hid|ignore)",
            UNLESS + r"\b(additive|float mask|mask is added)\b",
        ),
        tuple(m.name for m in kata.mistakes if m.name.endswith(("mask_inverted", "mask_as_it_is"))),
    )
