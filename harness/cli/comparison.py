"""What `kata compare` says before the code: the sections of the document of `harness.compare`, in text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness import report
from harness.model import Report

Row = Sequence[str]
ROUGHLY = 0.15


def text(document: dict[str, Any], graded: Report) -> str:
    """Everything but the code; for a file that was not compared, why."""
    if document["state"] in ("not started", "broken"):
        return report.verdict(graded)
    if document["state"] == "ended":
        return f"{report.verdict(graded)}\n\nA call did not come back, so there is nothing to measure."
    parts = [_verdict(document), _agreement(document), _returns(document), _cost(document), _craft(document)]
    parts += [_sanity(document), _shapes(document), _pictures(document)]
    return "\n\n".join(part for part in parts if part)


def _verdict(document: dict[str, Any]) -> str:
    """The verdict, the mistake by name, and the first step that differs."""
    lines = [f"{document['file']}: {document['verdict'].upper()} as {document['kata']}"]
    if document["mistakes"]:
        lines += [line for one in document["mistakes"] for line in _mistake(one)]
    elif document["says"]:
        lines.append(_wrap(f"{'' if document['verdict'] == 'fail' else 'follow-up: '}{document['says']}"))
    departure = document["departure"]
    if departure["stage"] or (document["verdict"] == "fail" and departure["says"] != "everything agrees"):
        lines.append(_wrap(f"Step by step: {departure['says']}."))
    return "\n".join(lines)


def _mistake(one: dict[str, Any]) -> list[str]:
    lead = "right under another contract, wrong under this one: " if one["kind"] == "convention" else ""
    look = [report.indent(_wrap(f"Look at: {one['look']}", 2))] if one["look"] else []
    return [_wrap(f"{one['name']}: {lead}{one['says']}."), *look]


def _agreement(document: dict[str, Any]) -> str:
    """How far the answers lie apart."""
    rows, notes = [("function", "input", "agree", "absolute", "relative")], []
    for one in document["agreement"]:
        measured = one["other"] < one["calls"]
        far = [_small(one[key]) if measured else "-" for key in ("absolute", "relative")]
        rows.append((one["function"], one["input"], f"{one['agree']} of {one['calls']}", far[0], far[1]))
        if one["other"]:
            notes.append(f"{one['other']} of {one['function']} raise, or are NaN, infinite, of another shape or type.")
        if one["worst"]:
            notes.append(f"{'The first' if one['other'] else 'Furthest'}: {one['worst']}")
    right = all(one["agree"] == one["calls"] for one in document["agreement"])
    furthest = max((one["relative"] for one in document["agreement"]), default=0.0)
    exact = "to the last bit" if furthest == 0 else f"to within {_small(furthest)}"
    head = f"Agreement: every answer agrees, {exact}" if right else "Agreement: the largest differences"
    noted = [report.indent(_wrap(note, 4)) for note in dict.fromkeys(notes)]
    return "\n".join([head, *_table(_of_one(document, rows)), *noted])


def _returns(document: dict[str, Any]) -> str:
    """The dtype and the layout of what comes back; one line where they are the same."""
    differ = [one for one in document["returns"] if one["yours"] != one["solution"]]
    if not differ:
        kinds = dict.fromkeys(_kind(one["yours"]) for one in document["returns"])
        return _wrap(f"Returned: as the solution does ({'; '.join(kinds)})", 4)
    rows = [("function", "input", "yours", "solution")]
    for one in differ:
        yours, theirs = one["yours"], one["solution"]
        with_shape = yours["layout"] and yours["shape"] != theirs["shape"]
        mine, right = (_kind(o) + (f" {_shape(o['shape'])}" if with_shape else "") for o in (yours, theirs))
        rows.append((one["function"], one["input"], mine, right))
    return "\n".join(["Returned: what differs", *_table(_of_one(document, rows))])


def _of_one(document: dict[str, Any], rows: Sequence[Row]) -> Sequence[Row]:
    """The rows without their first column where that names the one function there is."""
    return rows if len({one["function"] for one in document["agreement"]}) > 1 else [row[1:] for row in rows]


def _kind(one: dict[str, Any]) -> str:
    if not one["layout"]:
        return str(one["dtype"])[:30]
    layout = {"C": "C order", "F": "Fortran order", "strided": "strided"}[one["layout"]]
    return f"strided {one['dtype']}" if one["layout"] == "strided" else f"{one['dtype']} in {layout}"


def _cost(document: dict[str, Any]) -> str:
    """Time at three lengths with its growth, and the peak of memory, as ratios to the solution."""
    rows: list[Row] = []
    for one in document["speed"]:
        if not one["sizes"]:
            continue
        heads = [f"T = {size['tokens']}" for size in one["sizes"]]
        rows.append((one["function"], *heads, "grows as"))
        for who, key, exponent in (("yours", "seconds", "growth"), ("solution", "solution_seconds", "solution_growth")):
            rows.append((f"  {who}", *(_time(size[key]) for size in one["sizes"]), _power(one[exponent])))
        rows.append(("  ratio", *(_ratio(size["ratio"]) for size in one["sizes"]), ""))
    held = [
        f"{one['function']} {_ratio(one['ratio'])} ({_size(one['bytes'])}, solution {_size(one['solution_bytes'])})"
        for one in document["memory"]
    ]
    lines = ["Time (medians; a ratio above 1 is slower than the solution)", *_table(rows)] if rows else []
    where = f"at T = {document['memory'][0]['tokens']}" if held else ""
    return "\n".join([*lines, *([_wrap(f"Peak memory {where}: {'; '.join(held)}", 4)] if held else [])])


def _craft(document: dict[str, Any]) -> str:
    notes = list(dict.fromkeys(note["says"] for note in document["notes"]))
    lines = [report.indent(_wrap(f"{note[:1].upper()}{note[1:]}.", 4)) for note in notes]
    return "\n".join(["Craft", *lines]) if lines else ""


def _sanity(document: dict[str, Any]) -> str:
    """The lines that one prints of a forward pass; the solution's only where it says something else."""
    groups: dict[str, dict[str, str]] = {}
    for one in document["sanity"]:
        part = f"{one['function']}: " if one["function"].endswith("]") else ""
        groups.setdefault(part + one["of"], {})[one["who"]] = _pass(one)
    lines = []
    for of, said in groups.items():
        same = said.get("yours") == said.get("solution")
        lines.append(report.indent(_wrap(of, 4)))
        for who in ("yours",) if same else tuple(said):
            lead = "both" if same else who
            lines.append(report.indent(_wrap(f"{lead}: {said[who]}", 6), 4))
    return "\n".join(["Forward pass", *lines]) if lines else ""


def _pass(one: dict[str, Any]) -> str:
    if one["low"] is None:
        words = ["nothing finite"]
    else:
        words = [f"from {one['low']:.3g} to {one['high']:.3g}", f"mean {one['mean']:.3g}"]
    low, high = (f"{value:.3g}" for value in one["row_sums"])
    words.append(f"rows sum to {low}" if low == high else f"rows sum to {low} .. {high}")
    words += [f"{one[key]} {word}" for key, word in (("nan", "NaN"), ("infinite", "infinite")) if one[key]]
    words += [] if one["nan"] or one["infinite"] else ["no NaN or Inf"]
    words += [] if one["above"] is None else [f"{one['above']:.0%} of the weight above the diagonal"]
    return ", ".join(words)


def _shapes(document: dict[str, Any]) -> str:
    """The shapes step by step, as one narrates them."""
    lines = [line for one in document["shapes"] for line in _steps(one["function"], one["steps"])]
    return "\n".join(["Shapes, step by step", *lines]) if lines else ""


def _steps(function: str, steps: Sequence[dict[str, Any]]) -> list[str]:
    """The inputs of one function together, then a line a step."""
    given: dict[str, list[str]] = {}
    rows = []
    for one in steps:
        letters = one["letters"] or _shape(one["shape"])
        if one["line"] == 0:
            given.setdefault(f"{letters} = {_shape(one['shape'])}", []).append(one["stage"])
        else:
            mine = "" if one["yours"] in (None, one["shape"]) else f"yours: {_shape(one['yours'])}"
            rows.append((one["stage"], letters, _shape(one["shape"]), mine))
    inputs = "; ".join(f"{' '.join(names)} {shape}" for shape, names in given.items())
    return [report.indent(_wrap(f"{function}: {inputs}" if given else function, 4)), *(_table(rows) if rows else [])]


def _pictures(document: dict[str, Any]) -> str:
    if not document["pictures"]:
        return ""
    from harness import pictures  # brings NumPy

    return "\n\n".join(pictures.text(one) for one in document["pictures"])


def _table(rows: Sequence[Row]) -> list[str]:
    """Columns of text, each as wide as it must be, indented; a last cell that does not fit goes below."""
    widths = [max((len(row[n]) for row in rows if n < len(row)), default=0) for n in range(max(map(len, rows)))]
    lines = []
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        line = "  ".join(cells).rstrip()
        if len(line) + 2 > report.width():
            lines += ["  ".join(cells[:-1]).rstrip()[: report.width() - 2], f"    {row[-1]}"[: report.width() - 2]]
        else:
            lines.append(line)
    return [report.indent(line) for line in lines]


def _wrap(words: str, hang: int = 0) -> str:
    lines = report.wrap(words, report.width() - hang).splitlines()
    return "\n".join([*lines[:1], *(report.indent(line, hang // 2) for line in lines[1:])])


def _shape(shape: Sequence[int]) -> str:
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def _small(value: float) -> str:
    return "0" if value == 0 else f"{value:.2g}"


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "too slow"
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} us"


def _power(exponent: float | None) -> str:
    return "" if exponent is None else f"T^{exponent:.1f}"


def _ratio(ratio: float | None) -> str:
    """A ratio; one within the noise is 1."""
    if ratio is None:
        return ""
    return "1" if abs(ratio - 1) < ROUGHLY else f"{ratio:.2g}" if ratio < 100 else f"{ratio:.0f}"


def _size(size: float) -> str:
    return f"{size / 2**20:.1f} MiB" if size >= 2**20 else f"{size / 2**10:.0f} KiB"
