"""`kata verify` and `kata new`: the kit's own proof, for authors and CI, and the files that a new kata begins with."""

from __future__ import annotations

import argparse
import json
import math
import os
import textwrap
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

from harness import outline
from harness.cli.common import Commands, Usage, command, pick
from harness.forge import THREADS

if TYPE_CHECKING:
    from harness.proof import Proof, Seeds

EXAMPLES = (
    "kata verify               every kata: a minute or so",
    "kata verify rms_norm      one of them, as you write it",
    "kata verify --json        one JSON document and nothing else",
    "kata verify --mutants     mistakes made by machine (track 1): each has to fail",
)
PROVES = """\
For each kata: the stub is in step, the visible examples are true, the solution and every right variant pass, every
catalogued mistake fails at its level and is named by its own name and no other, every check is the first to fail for
some mistake, every line of the checks runs, all of it on several seeds, and no answer lies near a tolerance."""
DOCUMENT = """\
exit status: 0 all holds, 1 something does not, 2 usage error

--json: {"version": 1, "katas": [{"kata", "checks", "mistakes", "forms", "variants", "graded",
"margins": {"right", "wrong"}, "problems": [...]}]}; a margin is a multiple of a tolerance, null where there is none"""


def add(commands: Commands) -> None:
    """Add the two commands."""
    verify = command(commands, "verify", _verify, "prove the kit's own katas", EXAMPLES, PROVES, DOCUMENT)
    verify.add_argument("names", nargs="*", metavar="NAME", help="the katas (default: all)")
    verify.add_argument("--thorough", action="store_true", help="50 seeds for each mistake and variant instead of 5")
    verify.add_argument("--mutants", action="store_true", help="change the solutions place by place, and judge each")
    verify.add_argument("--json", action="store_true", help="print one JSON document and nothing else")
    verify.add_argument("--jobs", type=int, metavar="N", help="how many katas at once (default: the cores)")

    new = command(commands, "new", _new, "begin a new kata from a template", ["kata new rms_norm"])
    new.add_argument("name", metavar="NAME", help="its name, which is also its function's")


def _verify(options: argparse.Namespace) -> int:
    from harness import proof
    from harness.collect import cores

    names = [pick(name) for name in options.names] or list(outline.names())
    if options.jobs is not None and options.jobs < 1:
        raise Usage("--jobs takes a whole number from 1")
    if options.mutants and options.json:
        raise Usage("--mutants has no --json")
    if options.mutants:
        six = [name for name in names if options.names or outline.outline(name).track == 1]
        return _mutants(six, options.jobs or cores())
    seeds = proof.THOROUGH if options.thorough else proof.Seeds()
    proofs = []
    for one in _proofs(names, seeds, min(options.jobs or cores(), len(names))):
        proofs.append(one)
        if not options.json:
            print(_line(one), flush=True)
    proofs.sort(key=lambda one: names.index(one.kata))
    if options.json:
        print(json.dumps({"version": 1, "katas": [_data(one) for one in proofs]}, indent=2))
    elif len(proofs) > 1:
        print(_figures(proofs, seeds))
    return 1 if any(one.problems for one in proofs) else 0


def _mutants(names: Sequence[str], jobs: int) -> int:
    from harness import mutate

    tried = []
    for one in mutate.mutants(names, jobs):
        tried.append(one)
        print("\n".join([one.line(), *_bullets(one.unexplained)]), flush=True)
    made, core = sum(one.made for one in tried), sum(one.core for one in tried)
    follow, equal = sum(one.follow_up for one in tried), sum(one.equal for one in tried)
    print(
        f"\n{made} mutants: {core} fail the core, {follow} the follow-ups alone, {equal} are equal for a listed reason"
    )
    return 1 if any(one.unexplained for one in tried) else 0


def _bullets(problems: Sequence[str]) -> Iterator[str]:
    for problem in problems:
        yield from textwrap.wrap(problem, 78, initial_indent="  - ", subsequent_indent="    ")


def _proofs(names: Sequence[str], seeds: Seeds, jobs: int) -> Iterator[Proof]:
    """Each kata's proof as it becomes ready, the longest begun first."""
    from harness import proof

    if jobs == 1:
        yield from (proof.prove(name, seeds) for name in names)
        return
    os.environ.update(THREADS)
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        longest = sorted(names, key=lambda name: outline.outline(name).minutes, reverse=True)
        for done in as_completed([pool.submit(proof.prove, name, seeds) for name in longest]):
            yield done.result()


def _line(one: Proof) -> str:
    mistakes = f"{one.mistakes} mistakes in {one.forms} forms"
    head = f"{one.kata}: {one.checks} checks, {mistakes}, {one.variants} variants, {one.graded} gradings"
    if not one.problems:
        return f"{head}: all holds"
    return "\n".join([f"{head}: {len(one.problems)} to mend", *_bullets(one.problems)])


def _figures(proofs: Sequence[Proof], seeds: Seeds) -> str:
    """What the README quotes."""
    forms, variants = sum(one.forms for one in proofs), sum(one.variants for one in proofs)
    right = max(one.margins.right for one in proofs)
    wrong = min(one.margins.wrong for one in proofs)
    wide = "by shape, dtype or exception alone" if math.isinf(wrong) else f"by {wrong:.2g} tolerances or more"
    checks, graded = sum(one.checks for one in proofs), sum(one.graded for one in proofs)
    rows = (
        f"{len(proofs)} katas, {checks} checks, {graded} gradings",
        f"{sum(one.mistakes for one in proofs)} mistakes in {forms} forms, on {seeds.others} seeds each: told {wide}",
        f"{variants} right variants on {seeds.others} seeds, {len(proofs)} solutions on {seeds.solution}: none lies",
        f"  further from the reference than {right:.2g} of a tolerance",
        f"to mend: {sum(len(one.problems) for one in proofs)}",
    )
    return "\n".join(["", *rows])


def _data(one: Proof) -> dict[str, Any]:
    margins = {side: value if math.isfinite(value) else None for side, value in one.margins._asdict().items()}
    return one._asdict() | {"margins": margins, "problems": list(one.problems)}


def _new(options: argparse.Namespace) -> int:
    from harness import template

    try:
        written = template.write(options.name)
    except ValueError as why:
        raise Usage(str(why)) from None
    for path in written:
        print(f"wrote {path.relative_to(outline.ROOT)}")
    print(f"Now: kata verify {options.name}")
    print("It says what is missing, in the order in which to do it; .github/CONTRIBUTING.md walks through one.")
    return 0
