"""What goes wrong in a feed-forward network, and where the sublayers of a pre-LN block meet."""

from __future__ import annotations

from harness.families.words import UNLESS
from harness.kata import Kata

FIRST, SECOND = "x = x + attention(layer_norm(x), params, heads)", "x = x + feed_forward(layer_norm(x), params)"
MIDDLE = "what each branch is given and what it is added to"
GELU = "0.5 * x * (1 + np.tanh((2 / np.pi) ** 0.5 * (x + 0.044715 * x**3)))"
ERF = "0.5 * x * (1 + np.vectorize(__import__('math').erf, otypes=[x.dtype])(x / 2**0.5))"


def gelu(kata: Kata) -> None:
    """Another activation than the tanh GELU."""
    look = "the activation of the feed-forward"
    kata.mistake("relu", "the activation is ReLU instead of GELU", (GELU, "np.maximum(x, 0)"), look=look)
    says = "the GELU is the exact one, with erf, instead of the tanh form; they differ by up to 5e-4"
    kata.mistake("erf_gelu", says, (GELU, ERF), look="the formula in the contract", kind="convention")
    kata.term(
        "form of the GELU",
        "Is the activation GELU, and is it the tanh approximation or the exact form with erf?",
        "GELU, in the tanh approximation, as GPT-2 has it.",
        (r"\bgelu\b", r"\berf\b|\bexact\b", r"\btanh\b|\bapproximat\w*", r"\bactivation\b|\bnon-?linear\w*|\brelu\b"),
        (UNLESS + r"\b(erf|exact|relu|silu|swish|swiglu)\b",),
        tuple(m.name for m in kata.mistakes if m.name in ("erf_gelu", "sigmoid_gelu")),
    )


def sublayers(kata: Kata) -> None:
    """What goes wrong in the two pre-LN lines: residuals, norms, and what is fed to what."""
    name = kata.mistake
    form = (
        (FIRST, "x = layer_norm(x + attention(x, params, heads))"),
        (SECOND, "x = layer_norm(x + feed_forward(x, params))"),
    )
    says = "the norm follows each residual sum (post-LN) instead of coming before each branch (pre-LN)"
    name("post_ln", says, form, look=MIDDLE, kind="convention")
    raw = [(line, line.replace("layer_norm(x)", "x")) for line in (FIRST, SECOND)]
    name("ffn_not_normalised", "the feed-forward is fed x without its layer norm", raw[1], look=MIDDLE)
    name("attention_not_normalised", "attention is fed x without its layer norm", raw[0], look=MIDDLE)
    name("no_layer_norm", "there is no layer norm at all", tuple(raw), look=MIDDLE)
    apart = (FIRST, FIRST.replace("x =", "y ="))
    says = "the feed-forward reads the input of the block, not the result of attention"
    hint = "Draw the block as a chain of two steps: what has the second step to work with?"
    name("ffn_reads_input", says, (apart, (SECOND, SECOND.replace("x = x", "x = y"))), look=MIDDLE, hint=hint)
    name("attention_lost", "what attention gives is lost: only the feed-forward is added to x", apart, look=MIDDLE)
    _residuals(kata)


def _residuals(kata: Kata) -> None:
    name = kata.mistake
    bare = tuple((line, line.replace("x + ", "")) for line in (FIRST, SECOND))
    normed = tuple((s, f"x = layer_norm(x)\n    {s.replace('layer_norm(x)', 'x')}") for s in (FIRST, SECOND))
    missing = "Let the branch give nothing but zeros: what should then come out of it?"
    kept = "Follow x along the additions alone, from the input to the output: does a norm stand in its way?"
    for which, words, part in (
        ("attention", "the residual around attention", slice(0, 1)),
        ("ffn", "the residual around the feed-forward", slice(1, 2)),
        ("both", "each of the two residuals", slice(0, 2)),
    ):
        name(f"residual_missing_{which}", f"{words} is missing", bare[part], look=MIDDLE, hint=missing)
        says = f"{words} adds the normalised input instead of x itself"
        name(f"residual_normalised_{which}", says, normed[part], look=MIDDLE, hint=kept)


def relu(kata: Kata) -> None:
    """Another activation than ReLU, or a bias too few."""
    name, first = kata.mistake, 'np.maximum(x @ params["w1"] + params["c1"], 0)'
    z = "x @ params['w1'] + params['c1']"
    look = "the two lines of the feed-forward"
    name("relu_missing", "the feed-forward has no activation between its two layers", (first, z), look=look)
    tanh = f"(lambda z: 0.5 * z * (1 + np.tanh((2 / np.pi) ** 0.5 * (z + 0.044715 * z**3))))({z})"
    erf = f"(lambda z: 0.5 * z * (1 + np.vectorize(__import__('math').erf)(z / 2**0.5)))({z})"
    says = "the activation is GELU instead of ReLU"
    name("gelu", says, (first, tanh), (first, erf), look=look, kind="convention")
    says = "a bias of the feed-forward is missing"
    c1, c2 = (first, first.replace(' + params["c1"]', "")), (' + params["c2"]', "")
    name("bias_missing", says, c1, c2, (c1, c2), look=look)
    kata.term(
        "activation and biases",
        "Which activation does the feed-forward have, ReLU or GELU, and does it have biases?",
        "ReLU, with the biases c1 and c2. The projections of attention have none.",
        (r"\bgelu\b|\brelu\b", r"\bactivation\b|\bnon-?linear\w*", r"\bbias(es)?\b", r"\bc[12]\b"),
        (UNLESS + r"\b(gelu|silu|swish|swiglu)\b", r"\b(no|without) bias"),
        ("gelu",),
    )
