"""What helps with what stands in a file now: hints aimed at its mistake, else the kata's own. Never the code."""

from __future__ import annotations

from collections.abc import Sequence

from harness import wording
from harness.kata import Kata
from harness.model import Call, Outcome, Report


def aimed(kata: Kata, graded: Report) -> tuple[str, Sequence[str]]:
    """What the hints are about (a mistake, a follow-up, or '' for the kata as a whole), and the hints in order."""
    passed = graded.verdict in ("pass", "strong")
    wrong = [o for o in graded.outcomes if o.outcome == "failed" and (passed or o.level == "core")]
    if graded.mistakes and wrong:
        named = graded.mistakes[0]
        own = next((m.hint for m in kata.mistakes if m.name == named.name), "")
        return named.name, (*_to_try(wrong), f"Look at: {named.look or named.says}.", own or kata.hints[-1])
    if not passed:
        return "", tuple(kata.hints)
    return (wrong[0].check, _to_try(wrong[:1])) if wrong else ("", ())


def _to_try(wrong: Sequence[Outcome]) -> tuple[str]:
    """A property that does not hold, and the smallest call that shows it."""
    shown = min((o for o in wrong if o.call), key=lambda o: _size(o.call), default=wrong[0])
    words = f"This does not hold yet: {shown.title}."
    if shown.call:
        call, details = wording.describe(shown.call)
        words += "\n".join([f" Try by hand:\n  {call}", *(f"  {line}" for d in details for line in d.splitlines())])
    return (words,)


def _size(call: Call | None) -> int:
    return sum(getattr(arg, "size", 1) for arg in call.args) if call else 0
