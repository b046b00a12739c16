"""Traces and stages: the step that goes wrong is named, no right way is, and a hostile file harms nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness import course, outline, registry, stages
from harness.judge import Judge, Limits, Session
from harness.model import Call, Signature
from harness.tracing import ALL_BYTES, ARRAY_BYTES, EACH, MOST

Open = Callable[[str, str], Session]
VARIANTS = Path(__file__).parent / "variants"
NORM = "normalised input"
AFTER = "x after attention output"

BLOCK = {
    "reversed_mask": "mask",
    "diagonal_blocked": "mask",
    "one_future_key_leaks": "mask",
    "no_mask": "masked scores",
    "inverted_polarity": "masked scores",
    "mask_after_softmax": "masked scores",
    "mask_multiplied": "masked scores",
    "mask_times_infinity": "masked scores",
    "softmax_over_queries": "weights",
    "scale_missing": "scores",
    "scale_sqrt_d": "scores",
    "scale_dh": "scores",
    "scale_multiplied": "scores",
    "qk_swapped": "q",
    "kv_swapped": "k",
    "weights_transposed": "q",
    "heads_without_transpose": "q",
    "merge_without_transpose": "merged heads",
    "wo_missing": "attention output",
    "residual_missing_attention": AFTER,
    "residual_normalised_attention": AFTER,
    "residual_missing_both": AFTER,
    "attention_lost": f"{NORM} 2",
    "ffn_reads_input": f"{NORM} 2",
    "relu": "activation",
    "erf_gelu": "activation",
    "residual_missing_ffn": "output",
    "residual_normalised_ffn": "output",
    "final_norm": "output",
    "norm_over_tokens": NORM,
    "norm_over_batch": NORM,
    "ddof_1": NORM,
    "mean_not_subtracted": NORM,
    "epsilon_outside_root": NORM,
    "epsilon_1e_6": NORM,
}
CROSS = {
    "self_attention": "k",
    "query_from_memory": NORM,
    "values_from_x": "v",
    "padding_ignored": "masked scores",
    "padding_inverted": "masked scores",
    "padding_after_softmax": "masked scores",
    "padding_of_row_zero": "masked scores",
    "memory_normalised": "k",
    "norm_missing": NORM,
    "residual_missing": "output",
    "residual_from_norm": "output",
    "scale_missing": "scores",
    "scale_sqrt_d": "scores",
    "softmax_over_queries": "weights",
    "wo_missing": "attention output",
    "qk_swapped": "q",
    "kv_swapped": "k",
    "heads_without_transpose": "q",
    "merge_without_transpose": "context",
    "norm_over_everything": NORM,
    "epsilon_1e_12": NORM,
}
RIGHT_STAGE: dict[str, dict[str, str]] = {"pre_ln_block": BLOCK, "cross_attention": CROSS}
FORMS = [
    (name, mistake.name, number)
    for name, table in RIGHT_STAGE.items()
    for mistake in registry.kata(name).mistakes
    for number in range(len(mistake.forms))
    if mistake.name in table and (mistake.name, number) != ("memory_normalised", 2)  # that one is the values alone
]


@pytest.fixture
def opened(judge: Judge, tmp_path: Path) -> Iterator[Open]:
    sessions = []

    def start(name: str, source: str) -> Session:
        path = tmp_path / f"{name}.py"
        path.write_text(source, encoding="utf-8")
        sessions.append(judge.open(path, source.encode(), name, registry.wanted(name)))
        return sessions[-1]

    yield start
    for session in sessions:
        session.close()


def patched(name: str, mistake: str, form: int = 0) -> str:
    [forms] = [m.forms for m in registry.kata(name).mistakes if m.name == mistake]
    return registry.solution(name).patched(forms[form])


@pytest.mark.parametrize(("name", "mistake", "form"), FORMS)
def test_a_mistake_departs_at_its_stage(opened: Open, name: str, mistake: str, form: int) -> None:
    found = stages.departure(name, opened(name, patched(name, mistake, form)))
    assert found["stage"] == RIGHT_STAGE[name][mistake], found["says"]
    assert found["stage"] not in found["agree"]


SAID = {
    "reversed_mask": "your scores agree, your mask differs: the mask hides the past instead of the future",
    "softmax_over_queries": (
        "your masked scores agree, your weights differ: "
        "the softmax runs over the queries: columns sum to 1, rows do not"
    ),
    "scale_missing": "your v agrees, your scores differ: by a factor of 1.732, which is sqrt(dh)",
    "kv_swapped": "your q agrees, your k differs: that is what v should be",
    "residual_normalised_attention": (
        f"your attention output agrees, your {AFTER} differs: that is the sum of the {NORM} and the attention output"
    ),
    "no_layer_norm": f"your q differs: nothing of yours is the {NORM}",
    "ddof_1": f"your {NORM} differs: the variance of its rows is 0.833, should be 1",
}


@pytest.mark.parametrize("mistake", SAID)
def test_the_sentence_gives_what_was_measured(opened: Open, mistake: str) -> None:
    assert (
        stages.departure("pre_ln_block", opened("pre_ln_block", patched("pre_ln_block", mistake)))["says"]
        == SAID[mistake]
    )


RIGHT = [(name, path) for name in outline.names() for path in sorted((VARIANTS / name).glob("*.py"))]


@pytest.mark.parametrize(("name", "path"), RIGHT, ids=lambda value: getattr(value, "stem", value))
def test_no_right_way_departs(opened: Open, name: str, path: Path) -> None:
    found = stages.departure(name, opened(name, path.read_text(encoding="utf-8")))
    assert (found["stage"], found["says"]) == (None, "everything agrees")


@pytest.mark.parametrize("name", outline.names())
def test_the_solution_reaches_all_its_stages(opened: Open, name: str) -> None:
    found = stages.departure(name, opened(name, registry.solution(name).source))
    assert found["stage"] is None
    assert set(found["agree"]) == {s.name for call in stages.calls(name) for s in course.course(name, call).stages}


# How other people write it, with the lines that hold fewer and fewer steps; {} is where a mistake goes.
TERSE = """
import numpy as np

def ln(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)

def sm(s):
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)

def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))

def pre_ln_block(x, params, heads):
    B, T, d = x.shape
    y = ln(x)
    q, k, v = ((y @ params[w]).reshape(B, T, heads, -1).swapaxes(1, 2) for w in ("wq", "wk", "wv"))
    c = sm(np.where(np.tri(T, dtype=bool), q @ k.swapaxes(2, 3) / np.sqrt(d // heads), -1e9)) @ v
    x = x + c.swapaxes(1, 2).reshape(B, T, d) @ params["wo"]
    return x + gelu(ln(x) @ params["w1"]) @ params["w2"]
"""
ONE_LINE = (
    TERSE[: TERSE.index("def pre_ln_block")]
    + """
def split(x, w, H):
    return np.stack(np.split(x @ w, H, -1), 1)

def pre_ln_block(x, P, H):
    y = x + np.concatenate(list(np.moveaxis(sm(np.where(np.tri(x.shape[1], dtype=bool), split(ln(x), P["wq"], H) @ \\
        split(ln(x), P["wk"], H).swapaxes(2, 3) / (x.shape[2] // H) ** 0.5, -np.inf)) @ split(ln(x), P["wv"], H), 1, 0)
        ), -1) @ P["wo"]
    return y + gelu(ln(y) @ P["w1"]) @ P["w2"]
"""
)
SCALED_FIRST = TERSE.replace(" / np.sqrt(d // heads), -1e9", ", -1e9").replace(
    "    c = sm", "    q = q / np.sqrt(d // heads)\n    c = sm"
)
# Each with the first stage that it changes. A later one may be named where nothing holds that one, never an earlier.
PATCHES = {
    "np.tri(T, dtype=bool)|np.tri(T, dtype=bool).T": "mask",
    "np.tri(T, dtype=bool)|np.tri(T, k=-1, dtype=bool)": "mask",
    "np.tri(x.shape[1], dtype=bool)|np.tri(x.shape[1], dtype=bool).T": "mask",
    " / np.sqrt(d // heads)|": "scores",
    " / (x.shape[2] // H) ** 0.5|": "scores",
    "e.sum(-1|e.sum(-2": "weights",
    "x.var(-1, keepdims=True)|x.var(-1, keepdims=True, ddof=1)": NORM,
    ' @ params["wo"]|': "attention output",
    ' @ P["wo"]|': "attention output",
    "0.044715|0.04": "activation",
    '"wk", "wv")|"wv", "wk")': "k",
    "y = x + |y = ": AFTER,
    "ln(x) @ params|x @ params": f"{NORM} 2",
}
STYLES = {"terse": TERSE, "one line": ONE_LINE, "scaled first": SCALED_FIRST}
TOGETHER = [(style, patch) for style in STYLES for patch in PATCHES if patch.split("|")[0] in STYLES[style]]


@pytest.mark.parametrize(("style", "patch"), TOGETHER)
def test_a_terse_style_gives_a_right_stage_or_none(opened: Open, style: str, patch: str) -> None:
    old, new = patch.split("|")
    found = stages.departure("pre_ln_block", opened("pre_ln_block", STYLES[style].replace(old, new)))
    [call] = stages.calls("pre_ln_block")
    order = [stage.name for stage in course.course("pre_ln_block", call).stages]
    assert found["says"] != "everything agrees"
    assert order.index(found["stage"] or "output") >= order.index(PATCHES[patch]), found["says"]
    assert all(order.index(name) < order.index(PATCHES[patch]) for name in found["agree"])


@pytest.mark.parametrize("style", STYLES)
def test_a_terse_style_that_is_right_does_not_depart(opened: Open, style: str) -> None:
    assert stages.departure("pre_ln_block", opened("pre_ln_block", STYLES[style]))["says"] == "everything agrees"


def test_nothing_to_go_by_could_not_be_told(opened: Open) -> None:
    session = opened("pre_ln_block", "def pre_ln_block(x, params, heads):\n    return x * 0.3\n")
    assert stages.departure("pre_ln_block", session) == {"agree": [], "stage": None, "says": "could not tell"}


def test_the_table_goes_from_the_input_to_the_output(opened: Open) -> None:
    rows = stages.table("pre_ln_block", opened("pre_ln_block", registry.solution("pre_ln_block").source))
    letters = {row["stage"]: row["letters"] for row in rows}
    assert rows[0]["stage"] == "x"
    assert rows[-1]["stage"] == "output"
    assert letters["x"] == letters[NORM] == letters["output"] == "(B, T, d)"
    assert letters["q"] == letters["context"] == "(B, H, T, dh)"
    assert letters["weights"] == "(B, H, T, T)"
    assert letters["activation"] == "(B, T, f)"
    assert all(row["shape"] == row["yours"] for row in rows)
    lines = registry.solution("pre_ln_block").source.splitlines()
    assert all(row["variable"] in lines[row["line"] - 1] for row in rows if row["line"])


def test_attention_weights_are_found_also_when_they_are_wrong(opened: Open) -> None:
    for source, right in (
        (registry.solution("pre_ln_block").source, True),
        (patched("pre_ln_block", "reversed_mask"), False),
    ):
        yours, want = stages.attention("pre_ln_block", opened("pre_ln_block", source))
        assert yours is not None
        assert want is not None
        assert yours.shape == want.shape
        assert np.allclose(yours.sum(axis=-1), 1)
        assert np.allclose(yours, want) == right


@pytest.mark.parametrize("variant", ["textbook", "head_by_head", "masked_arrays", "features_first"])
def test_attention_weights_come_in_one_layout_or_not_at_all(opened: Open, variant: str) -> None:
    source = (VARIANTS / "pre_ln_block" / f"{variant}.py").read_text(encoding="utf-8")
    yours, want = stages.attention("pre_ln_block", opened("pre_ln_block", source))
    assert want is not None
    assert yours is None or np.allclose(yours, want)
    assert yours is not None or variant in ("head_by_head", "masked_arrays")


def test_there_is_no_attention_where_nothing_attends(opened: Open) -> None:
    for name in ("tied_logits", "stable_softmax"):
        assert stages.attention(name, opened(name, registry.solution(name).source)) == (None, None)


@pytest.fixture(params=["fork", "spawn"])
def quick(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Judge]:
    monkeypatch.setenv("KATA_WORKER", request.param)
    with Judge(Limits(load=5.0, call=1.5, total=5.0)) as judge:
        yield judge


def load(judge: Judge, folder: Path, body: str) -> Session:
    path = folder / "f.py"
    path.write_text(body, encoding="utf-8")
    return judge.open(path, path.read_bytes(), "f", {"f": Signature("f(x)", ("x",), 1)}).loaded()


def ask(session: Session, value: Any) -> Call:
    return Call("f", (value,), ("x",))


def test_a_trace_holds_what_was_bound_what_was_written_in_place_and_what_was_returned(
    quick: Judge, tmp_path: Path
) -> None:
    body = "import numpy as np\ndef g(a):\n    return a + 1\ndef f(x):\n    y = g(x)\n    y *= 2\n    parts = []\n"
    session = load(
        quick, tmp_path, body + "    for n in range(3):\n        parts.append(y[n])\n    return np.stack(parts)\n"
    )
    answer = session.trace(ask(session, np.arange(6.0).reshape(3, 2)))
    held = {(t.function, t.variable, t.line): t.value for t in answer.traced}
    assert (answer.value == 2 * (np.arange(6).reshape(3, 2) + 1)).all()
    assert (held["g", "return", 3] == np.arange(6).reshape(3, 2) + 1).all()
    assert (held["f", "y", 5] == held["g", "return", 3]).all()
    assert (held["f", "y", 6] == answer.value).all()
    assert (held["f", "parts", 9] == answer.value).all()
    assert session.records == []


HOSTILE = {
    "prints": "print('x' * 10**6)",
    "stops the trace": "sys.settrace(None)",
    "its own trace": "sys.settrace(lambda *_: 1 / 0)",
    "a thread": "threading.Thread(target=lambda: [a for a in range(10**5)], daemon=True).start()",
    "huge arrays": "y = np.ones(10**6); z = [np.ones(10**4) for _ in range(99)]",
    "many arrays": "for n in range(999): exec(f'y{n} = np.ones({n + 1})')",
    "a loop": "for n in range(999): y = np.full(9, n)",
    "no builtins": "import builtins; [delattr(builtins, n) for n in ('len', 'set', 'isinstance', 'type', 'map')]",
    "itself in a list": "y = []; y.append(y)",
    "odd values": "y = np.array([object()]); z = np.ma.ones(3); u = type('U', (np.ndarray,), {'tobytes': 1 / 1})",
    "for ever": "while True: x = x + 1",
    "the end": "os._exit(3)",
    "a lie": "sys._getframe(1).f_locals; tracing.Tracer.found = property(lambda s: [['f', 'y', 1, 'no array']])",
    "a flood": "tracing.Tracer.found = property(lambda s: [['f', 'y', 1, np.ones(9)]] * 10**5)",
}
FOUND = "gc.unfreeze(); tracing = next(m for m in gc.get_objects() if getattr(m, '__name__', '') == 'harness.tracing')"
HEAD = f"import gc, os, sys, threading\nimport numpy as np\n{FOUND}\ndef f(x):\n    "


@pytest.mark.parametrize("deed", HOSTILE)
def test_a_hostile_file_costs_its_own_trace_and_nothing_else(quick: Judge, tmp_path: Path, deed: str) -> None:
    session = load(quick, tmp_path, HEAD + HOSTILE[deed] + "\n    return x\n")
    answer = session.trace(ask(session, np.ones(3)))
    sizes = [t.value.nbytes for t in answer.traced]
    assert len(sizes) <= MOST
    assert max(sizes, default=0) <= ARRAY_BYTES
    assert sum(sizes) <= ALL_BYTES
    session.close()
    fine = load(quick, tmp_path, HEAD + "return x\n")
    assert (fine.trace(ask(fine, np.ones(3))).value == 1).all()


def test_a_loop_keeps_its_first_values_and_its_last(quick: Judge, tmp_path: Path) -> None:
    session = load(quick, tmp_path, HEAD + HOSTILE["a loop"] + "\n    return x\n")
    held = [t.value[0] for t in session.trace(ask(session, np.ones(3))).traced if t.variable == "y"]
    assert held == [*range(EACH - 1), 998]
