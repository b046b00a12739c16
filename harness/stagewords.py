"""The field's words for what variables and functions hold, and letters for shapes. Unknown names stay as they are."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from harness.likeness import BLOCKED
from harness.model import Traced
from harness.wire import Array

VARIABLES = {
    "normalised input": "normed normalised normalized ln_x x_norm xn h_norm",
    "q": "q query queries Q",
    "k": "k key keys K",
    "v": "v value values V",
    "scores": "scores score logits_ energy dots similarity att_scores attn_scores",
    "mask": "mask future blocked causal past padding_mask keep visible hidden ahead",
    "weights": "weights probs probabilities attn attn_weights p share attention_weights",
    "context": "context ctx mixed heads_out attended",
    "attention output": "projected attn_out attention_output attn_output",
    "hidden": "hidden",
    "logits": "logits",
    "token rows": "tokens tok token_rows",
    "position rows": "positions pos position_rows",
}
RETURNS = {
    "normalised input": "layer_norm ln norm layernorm LayerNorm normalise normalize",
    "weights": "softmax stable_softmax",
    "activation": "gelu relu activation",
    "merged heads": "merge_heads merge combine_heads",
    "attention output": "attention self_attention causal_attention attend multi_head_attention",
    "feed-forward": "feed_forward ffn mlp",
    "mask": "causal_mask padding_mask decoder_mask",
}
HELD = {name: word for word, names in VARIABLES.items() for name in names.split()}
GIVEN = {name: word for word, names in RETURNS.items() for name in names.split()}
INPUTS = {"w1": "(d, f)", "w2": "(f, d)", "token_embedding": "(V, d)"} | dict.fromkeys(
    ("wq", "wk", "wv", "wo"), "(d, d)"
)


def known(one: Traced) -> str:
    """The field's word for a traced value, or ''."""
    return GIVEN.get(one.function, "") if one.variable == "return" else HELD.get(one.variable, "")


def rank(one: Traced, asked: Collection[str]) -> int:
    """How well a traced value names what it holds: well-known variables first, the asked functions' returns last."""
    if one.variable == "return":
        return 3 if one.function in asked else 1 if known(one) else 4
    return 0 if known(one) else 2


def word(one: Traced, inputs: Collection[str], taken: Sequence[str], value: Array) -> str:
    """The name of a stage, unlike those that are taken."""
    plain = known(one) or (one.function if one.variable == "return" else one.variable)
    if one.variable in inputs and taken:
        plain = f"{one.variable} after {taken[-1]}"
    if plain in taken and value.dtype.kind == "f" and (value < BLOCKED).any():
        plain = f"masked {plain}"
    number = sum(name == plain or (name.startswith(f"{plain} ") and name[len(plain) + 1 :].isdigit()) for name in taken)
    return f"{plain} {number + 1}" if number else plain


class Letters:
    """Shapes in letters: as the kata declares them, or by the lengths of their axes."""

    def __init__(self, sizes: Mapping[str, int], declared: Mapping[str, str], inputs: Mapping[str, Array]) -> None:
        self._declared = {**INPUTS, **declared}
        self.sizes = dict(sizes)
        for name, text in INPUTS.items():
            if name in inputs and inputs[name].ndim == 2:
                self.sizes |= dict(zip(split(text), inputs[name].shape, strict=True))

    def of(self, variable: str, shape: Sequence[int]) -> str:
        """Such as (B, T, d); a length that no letter has stays a number."""
        declared = split(self._declared.get(variable, ""))
        if len(declared) == len(shape) and all(self.sizes.get(s, n) == n for s, n in zip(declared, shape, strict=True)):
            return f"({', '.join(declared)})"
        used: list[str] = []
        for axis, length in enumerate(shape):
            used.append(self._letter(axis, length, len(shape), used))
        return f"({', '.join(used)}{',' if len(used) == 1 else ''})"

    def _letter(self, axis: int, length: int, rank_: int, used: Sequence[str]) -> str:
        fits = [letter for letter, size in self.sizes.items() if size == length and length > 1]
        usual = {4: ("B", "H", "T", ""), 3: ("B", "T", "d"), 2: ("", "")}.get(rank_, ("",) * rank_)[axis]
        fresh = [letter for letter in fits if letter not in used]
        return usual if usual in fits else (fresh or fits or [str(length)])[0]


def split(text: str) -> list[str]:
    """The letters of a shape."""
    return [part for part in text.strip("()").replace(" ", "").split(",") if part]
