"""Guards that a follow-up asks for: what is let through where one of them is missing."""

from __future__ import annotations

from harness.kata import Kata


def guard(kata: Kata, name: str, says: str, condition: str, check: str) -> None:
    """The guard behind `if condition:` of the solution is missing. Only its own check can tell: values cannot."""
    look = "what the contract says of ValueError"
    kata.mistake(name, says, (f"if {condition}:", "if False:"), look=look, level="follow-up", check=check)


def memory_order(kata: Kata, where: str, name: str = "x") -> None:
    """An array is flattened as it lies in memory: patched in after the line `where` of the solution."""
    says = "an array is flattened in the order of its memory, so another layout gives another answer"
    form = (where, f'{where}\n    {name} = {name}.ravel(order="K").reshape({name}.shape)')
    kata.mistake("memory_order", says, form, look="order='K' or 'A', or strides taken for granted", level="follow-up")


def no_max(kata: Kata) -> None:
    """A softmax that overflows, where only a follow-up asks for scores as large as that."""
    says = "the softmax does not subtract the maximum: large scores overflow"
    form = ("np.exp(scores - scores.max(axis=-1, keepdims=True))", "np.exp(scores)")
    kata.mistake(
        "no_max_subtracted", says, form, look="what is exponentiated", level="follow-up", check="large_activations"
    )
