"""What an interviewer makes of a candidate's words: which term a question is about, and whether an assumption is wrong.

Recognition is by the regular expressions of each `Term`, so the same words always get the same answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from harness.kata import Kata, Term

LONGEST = 1000
YOURS = "I leave that to you. Say what you assume, and go on."

COMMON = (
    Term(
        "libraries",
        "May I use PyTorch or SciPy?",
        "NumPy alone: write out what a library would do for you.",
        (r"\b(py)?torch\b", r"\bscipy\b|\bjax\b|\btensorflow\b|\bkeras\b", r"\blibrar(y|ies)\b", r"\bimports?\b"),
    ),
    Term(
        "helper functions",
        "May I write helper functions?",
        "Yes, as many as you like, as long as the functions that I asked for keep their names and parameters.",
        (r"\bhelpers?\b", r"\b(other|extra|more|own|several|separate|small) functions?\b", r"\bclass(es)?\b"),
    ),
    Term(
        "inputs stay as they are",
        "May I modify the input in place?",
        "No. What is passed in belongs to the caller and stays as it was.",
        (r"\bin[- ]?place\b", r"\b(modif|mutat|overwrit|chang)\w*\b.*\b(inputs?|arguments?|x|arrays?|params)\b"),
    ),
    Term(
        "dtype",
        "Which dtype will the arrays have?",
        "float64, and int64 for ids. That float32 stays float32 is something I may ask for afterwards.",
        (r"\bd-?types?\b", r"\bfloat(16|32|64)?\b", r"\bprecision\b"),
    ),
    Term(
        "validation",
        "Should I validate the arguments and raise errors?",
        "The core first. Guards that raise ValueError are a follow-up, once the rest works.",
        (r"\bvalidat\w*", r"\berrors?\b|\bexceptions?\b|\braise\b|\bvalueerror\b", r"\bguards?\b|\bedge cases?\b"),
    ),
    Term(
        "speed",
        "Does it have to be fast, or may I use loops?",
        "It has to be right. Loops pass, but be ready to say how you would do without them.",
        (r"\bloops?\b", r"\bvectori[sz]\w*", r"\bfast\b|\bspeed\b|\befficien\w*|\bperformance\b"),
    ),
)


def find(terms: Iterable[Term], text: str) -> Term | None:
    """The term that a text is about: the one most of whose `words` match, the earlier of two as good; None without one.

    An assumption which contradicts a term is about that term, so `against` counts too.
    """
    best = max(terms, key=lambda term: _matches(term, text), default=None)
    return best if best and _matches(best, text) else None


def contradicts(term: Term, text: str) -> bool:
    """Whether a text assumes something that the term rules out."""
    return any(re.search(expression, _start(text)) for expression in term.against)


def heard(kata: Kata, text: str) -> Term | None:
    """What a question is about: a term of the kata, or what is only told: its facts, and what holds for every kata."""
    return find((*kata.terms, *kata.facts, *COMMON), text)


def reply(kata: Kata, text: str) -> str:
    """What the interviewer answers to a question."""
    found = heard(kata, text)
    return found.answer if found else YOURS


def _matches(term: Term, text: str) -> int:
    start = _start(text)
    return sum(bool(re.search(expression, start)) for expression in (*term.words, *term.against))


def _start(text: str) -> str:
    """The beginning of a text: a question is short, and the expressions take long over a book."""
    return text[:LONGEST].lower()
