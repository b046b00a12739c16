"""A hand-out for candidates: stubs with their prompts and examples, and how to try them. Standard library alone.

It is made of the stubs, which hold no answer; nothing of the checks and the solutions goes into it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness import outline

README = """# {title}

{lead} Each file is one question: the task stands at its top, with a
contract and a worked example. Write the functions in the file, and leave their
names and parameters as they are. You need Python 3.11 or later and NumPy.

| file | minutes | you write |
| --- | --- | --- |
{rows}

## Try the examples

In this folder:

```sh
python -m doctest {first}.py
```

It prints nothing when the examples in {first}.py come out as shown, and else what
came instead. To play with a function:

```sh
python -i {first}.py
```

## Hand in

Hand in the file{plural}. What is graded goes beyond the examples: other sizes,
and what the contract says. Your code may import NumPy and the standard library.
"""


def files(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The name and the text of every file of a hand-out."""
    for name in names:
        yield f"{name}.py", outline.stub(name)
    yield "README.md", _readme(names)


def _readme(names: Sequence[str]) -> str:
    rows = []
    for name in names:
        about = outline.outline(name)
        functions = ", ".join(f"`{function}`" for function in about.functions)
        rows.append(f"| `{name}.py` | {about.minutes} | {functions} |")
    minutes = sum(outline.outline(name).minutes for name in names)
    one = len(names) == 1
    return README.format(
        title="One question" if one else f"{len(names)} questions",
        lead=f"There {'is one question' if one else f'are {len(names)} questions'}, for {minutes} minutes in all.",
        rows="\n".join(rows),
        first=names[0],
        plural="" if one else "s",
    )
