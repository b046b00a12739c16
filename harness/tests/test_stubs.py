"""The stubs are the solutions without their answers, and their prompts tell the truth."""

from __future__ import annotations

import ast
import doctest
import subprocess

import pytest

from harness import outline, registry, stubs

EACH_KATA = pytest.mark.parametrize("name", outline.names())


def committed(path: str) -> str:
    """A file as it was committed; empty where git cannot tell."""
    words = ["git", "-C", str(outline.ROOT), "show", f"HEAD:{path}"]
    try:
        return subprocess.run(words, capture_output=True, encoding="utf-8", timeout=30, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


@EACH_KATA
def test_the_stub_is_in_step_with_the_solution(name: str) -> None:
    now = (outline.KATAS / f"{name}.py").read_text(encoding="utf-8")
    assert outline.stub(name) in (now, committed(f"katas/{name}.py"))  # whoever runs this may have filled it in


@EACH_KATA
def test_a_stub_defines_what_is_asked_for_and_nothing_more(name: str) -> None:
    functions = [node for node in ast.parse(outline.stub(name)).body if isinstance(node, ast.FunctionDef)]
    assert tuple(function.name for function in functions) == registry.kata(name).functions
    for function in functions:
        assert [ast.unparse(statement) for statement in function.body] == ["raise NotImplementedError"]
        assert function.returns is not None
        assert all(arg.annotation is not None for arg in function.args.args)


@EACH_KATA
def test_a_stub_counts_as_untouched_until_its_code_changes(name: str) -> None:
    stub = outline.stub(name)
    shipped = stub.encode()
    assert stubs.untouched(shipped, stub)
    assert stubs.untouched(shipped + b"\n# to do\n", stub)
    assert not stubs.untouched(shipped.replace(b"raise NotImplementedError", b"return None"), stub)
    assert not stubs.untouched(registry.solution(name).source.encode(), stub)


@EACH_KATA
def test_the_examples_of_a_prompt_are_true(name: str) -> None:
    scope = vars(registry.solution(name).reference())
    examples = doctest.DocTestParser().get_doctest(stubs.prompt(outline.stub(name)), scope, name, None, 0)
    said: list[str] = []
    result = doctest.DocTestRunner().run(examples, out=said.append)
    assert result.attempted >= 1
    assert result.failed == 0, "".join(said)


@EACH_KATA
def test_the_examples_call_every_function(name: str) -> None:
    shown = "".join(
        example.source for example in doctest.DocTestParser().get_examples(stubs.prompt(outline.stub(name)))
    )
    assert [function for function in registry.kata(name).functions if f"{function}(" not in shown] == []


@EACH_KATA
def test_a_prompt_names_its_kata_time_and_functions(name: str) -> None:
    kata, short = registry.kata(name), stubs.prompt(outline.stub(name), short=True)
    assert short.splitlines()[0].endswith(f" · {kata.minutes} minutes")
    for function in kata.functions:
        assert f"`{registry.wanted(name)[function][0]}`" in " ".join(short.split())


@EACH_KATA
def test_the_short_prompt_holds_the_task_and_no_line_of_the_contract(name: str) -> None:
    whole, short = stubs.prompt(outline.stub(name)), stubs.prompt(outline.stub(name), short=True)
    assert whole.splitlines().count("Contract") == 1
    task, contract = whole.split("\nContract\n")
    assert short == task.rstrip()
    assert len(short.split()) >= 20
    lines = {line.strip() for line in contract.splitlines() if line.strip()}
    assert len(lines) >= 5
    assert lines.isdisjoint(line.strip() for line in short.splitlines())


@EACH_KATA
def test_the_short_prompt_keeps_the_conventions_back(name: str) -> None:
    short = " ".join(stubs.prompt(outline.stub(name), short=True).split())
    for signature in registry.wanted(name).values():  # whose parameters have to be named
        short = short.replace(signature.text, "")
    told = [
        "true =",
        "blocked",
        "bool",
        "tanh",
        "erf",
        "1e-",
        "eps",
        "ddof",
        "biased",
        "ln(",
        "pre-ln (",
        "sqrt",
        "-inf",
    ]
    assert [word for word in told if word in short.lower()] == []


@EACH_KATA
def test_no_line_of_a_prompt_is_longer_than_80_columns(name: str) -> None:
    end = ast.parse(outline.stub(name)).body[0].end_lineno
    assert [line for line in outline.stub(name).splitlines()[:end] if len(line) > 80] == []
