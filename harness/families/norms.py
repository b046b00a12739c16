"""What goes wrong in a layer norm."""

from __future__ import annotations

from harness.families.words import UNLESS
from harness.kata import Kata

AFFINE = " * gamma + beta"
MEAN, VARIANCE = "x.mean(axis=-1, keepdims=True)", "x.var(axis=-1, keepdims=True)"


def layer_norm(
    kata: Kata, epsilon: str = "1e-5", affine: bool = False, others: tuple[str, ...] = ("1e-3", "1e-5", "1e-6", "1e-12")
) -> None:
    """What goes wrong in a layer norm: its lines `mean`, `variance` and the quotient, `* gamma + beta` too if affine.

    `others` are the epsilons that are taken for the right one.
    """
    name, root = kata.mistake, f"np.sqrt(variance + {epsilon})"
    hint = "Change one token and ask whose mean has moved: the norm of a token may know nothing of the others."
    for which, axis, words in (
        ("tokens", "-2", "the tokens instead of the features"),
        ("tokens_and_features", "(-2, -1)", "(T, d) together: all tokens share one mean"),
        ("batch", "0", "the batch: the sequences share one mean"),
        ("everything", "None", "the whole array at once: all sequences share one mean"),
    ):
        axes = tuple((line, line.replace("-1", axis)) for line in (MEAN, VARIANCE))
        says = f"the layer norm runs over {words}"
        name(f"norm_over_{which}", says, axes, look="the axis of mean and variance", hint=hint)
    says = "the variance of the layer norm is the unbiased one (ddof=1), which divides by d - 1"
    hint = "Work out the variance of the row (1, 3) by hand: did you divide by how many there are, or by one less?"
    form = (VARIANCE, VARIANCE.replace("True", "True, ddof=1"))
    name("ddof_1", says, form, look="ddof, or a library's default", hint=hint)
    says = "the epsilon of the layer norm is added to the standard deviation, outside the root, not to the variance"
    name("epsilon_outside_root", says, (root, f"(np.sqrt(variance) + {epsilon})"), look="the layer norm")
    says = "the mean is not subtracted, as in RMSNorm: a layer norm centres each row first"
    rms = (f"(x - mean) / {root}", f"x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + {epsilon})")
    name("mean_not_subtracted", says, rms, look="the layer norm", kind="convention")
    for other in (e for e in others if e != epsilon):
        says = f"the epsilon of the layer norm is {other} instead of {epsilon}"
        which = f"epsilon_{other}".replace("-", "_")
        name(which, says, (root, root.replace(epsilon, other)), look="the layer norm", kind="convention")
    if affine:
        _affine(kata)
    _norm_term(kata, epsilon, affine)


def _affine(kata: Kata) -> None:
    name, look = kata.mistake, "the last line of the layer norm"
    says = "gamma is missing: the normalised rows are shifted, but not scaled"
    hint = "Let beta be zero and double gamma: what must happen to the result?"
    name("gamma_missing", says, (AFFINE, " + beta"), look=look, hint=hint)
    says = "beta is missing: the normalised rows are scaled, but not shifted"
    hint = "What should come back for a row whose entries are all alike, when its variance is nought?"
    name("beta_missing", says, (AFFINE, " * gamma"), look=look, hint=hint)
    says = "gamma and beta are both missing: the layer norm ends before its gain and bias"
    name("affine_missing", says, (AFFINE, ""), look=look)
    says = "gamma and beta are exchanged: beta scales and gamma shifts"
    name("gamma_beta_swapped", says, (AFFINE, " * beta + gamma"), look=look)
    says = "gamma is added to 1 before it scales: here a gamma of 1, not of 0, leaves the row as it is"
    name("gamma_plus_one", says, (AFFINE, " * (1 + gamma) + beta"), look=look, kind="convention")


def _norm_term(kata: Kata, epsilon: str, affine: bool) -> None:
    gain = "A gain and a bias at the end" if affine else "No gain and no bias"
    other = r"\b(no|without) (a )?(gain|affine|gamma)\b" if affine else UNLESS + r"\b(affine|gain|gamma)\b"
    kata.term(
        "inside the layer norm",
        "Does the layer norm have a gain and a bias, and which epsilon does it use?",
        f"{gain}: subtract the mean, divide by the root of the biased variance plus {epsilon}.",
        (
            r"\b(affine|gain|gamma|beta|learn\w*)\b|\bnorm\w*\b.*\bbias\b",
            r"\beps(ilon)?\b",
            r"\brms",
            r"\bddof|biased\b|\bvariance",
        ),
        (
            other,
            UNLESS + r"\b(rms ?norm|unbiased|ddof\W*1)\b",
            rf"\beps(ilon)?\b[^.;\d]*(?!{epsilon}\b)(1e-?\d+|0\.\d+)",
        ),
        tuple(
            m.name for m in kata.mistakes if m.name.startswith(("mean_not_subtracted", "epsilon_1e", "gamma_plus_one"))
        ),
    )
