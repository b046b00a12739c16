"""The solutions agree with the scalar reference, which was written apart from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from harness import registry
from harness.tests import scalar
from harness.wire import Array

Rng = np.random.Generator
Case = tuple[int, ...]

# B, T, S, d, H, f
SHAPES: list[Case] = [
    (1, 1, 1, 2, 1, 2),
    (1, 1, 4, 4, 2, 3),
    (2, 1, 3, 6, 3, 4),
    (1, 5, 1, 4, 1, 16),
    (2, 2, 2, 4, 2, 8),
    (2, 3, 5, 8, 2, 12),
    (3, 4, 2, 6, 2, 5),
    (2, 4, 4, 8, 2, 32),
    (2, 7, 3, 12, 4, 7),
    (4, 2, 6, 6, 6, 6),
    (1, 9, 11, 10, 5, 20),
    (2, 12, 7, 9, 3, 4),
]
EACH_SHAPE = pytest.mark.parametrize("shape", SHAPES, ids=lambda s: "B{}-T{}-S{}-d{}-H{}-f{}".format(*s))
EACH_SCALE = pytest.mark.parametrize("scale", [0.3, 1.0, 20.0])


def solution(name: str) -> Any:
    return registry.solution(name).reference()


def drawn(*words: int) -> Rng:
    return np.random.default_rng([17, *words])


def weights(rng: Rng, d: int, f: int = 0, scale: float = 1.0) -> dict[str, Array]:
    params = {name: rng.normal(0, scale * d**-0.5, (d, d)) for name in ("wq", "wk")}
    params |= {name: rng.normal(0, d**-0.5, (d, d)) for name in ("wv", "wo")}
    return params | ({"w1": rng.normal(0, d**-0.5, (d, f)), "w2": rng.normal(0, f**-0.5, (f, d))} if f else {})


def plain(params: dict[str, Array]) -> dict[str, Any]:
    return {name: weight.tolist() for name, weight in params.items()}


def agree(got: Array, want: Any) -> None:
    wanted = np.array(want, dtype=float)
    assert got.shape == wanted.shape
    assert np.abs(got - wanted).max() <= 1e-11 * np.abs(wanted).max()


@pytest.mark.parametrize("length", [*range(1, 12), 31, 64, 65])
def test_causal_mask(length: int) -> None:
    mask = solution("causal_mask").causal_mask(length)
    assert mask.dtype == bool
    assert mask.tolist() == scalar.causal_mask(length)


@EACH_SCALE
@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 3, 4), (3, 3, 3), (1, 5, 2), (4, 1, 6)], ids=str)
def test_stable_softmax(shape: Case, axis: int, scale: float) -> None:
    scores = drawn(*shape, axis % 3).normal(0, scale, shape)
    agree(solution("stable_softmax").stable_softmax(scores, axis), scalar.stable_softmax(scores.tolist(), axis))


@pytest.mark.parametrize("shape", [(1,), (7,), (2, 5), (2, 2, 3, 4)], ids=str)
def test_stable_softmax_at_every_rank_and_size(shape: Case) -> None:
    rng = drawn(*shape)
    signs = rng.choice([-1.0, 1.0], shape)
    whole = rng.integers(-5, 6, shape)
    for scores in (whole, rng.normal(0, 1e4, shape), signs * 1e5 + rng.normal(0, 1, shape)):
        agree(solution("stable_softmax").stable_softmax(scores), scalar.stable_softmax(scores.tolist()))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_stable_softmax_with_blocked_entries(axis: int) -> None:
    scores = drawn(5).normal(0, 3, (5, 5))
    scores[np.triu_indices(5, 1)] = -np.inf
    scores[2], scores[:, 2] = -np.inf, -np.inf
    got = solution("stable_softmax").stable_softmax(scores, axis)
    agree(got, scalar.stable_softmax(scores.tolist(), axis))
    assert (got[np.isneginf(scores)] == 0).all()


@EACH_SHAPE
def test_split_and_merge_heads(shape: Case) -> None:
    B, T, _, d, H, _ = shape
    x = drawn(*shape).normal(size=(B, T, d))
    functions, want = solution("split_heads"), scalar.split_heads(x.tolist(), H)
    assert functions.split_heads(x, H).tolist() == want
    assert functions.merge_heads(np.array(want)).tolist() == scalar.merge_heads(want) == x.tolist()


@EACH_SCALE
@EACH_SHAPE
def test_pre_ln_block(shape: Case, scale: float) -> None:
    B, T, _, d, H, f = shape
    rng = drawn(*shape)
    x, params = rng.normal(0.5, 2, (B, T, d)), weights(rng, d, f, scale)
    x[:, ::2] *= 0.01  # rows of so little variance that epsilon counts
    agree(solution("pre_ln_block").pre_ln_block(x, params, H), scalar.pre_ln_block(x.tolist(), plain(params), H))


@pytest.mark.parametrize("V", [1, 2, 8, 23])
@EACH_SHAPE
def test_embed_and_tied_logits(shape: Case, V: int) -> None:
    B, T, _, d, _, _ = shape
    rng = drawn(*shape, V)
    E, P = rng.normal(0, 1, (V, d)), rng.normal(0, 1, (T + V % 3, d))
    ids, hidden = rng.integers(0, V, (B, T)), rng.normal(1, 3, (B, T, d))
    ids[0, 0], ids[-1, -1] = V - 1, 0
    functions = solution("tied_logits")
    agree(functions.embed(ids, E, P), scalar.embed(ids.tolist(), E.tolist(), P.tolist()))
    agree(functions.tied_logits(hidden, E), scalar.tied_logits(hidden.tolist(), E.tolist()))


@EACH_SCALE
@EACH_SHAPE
def test_cross_attention_without_padding(shape: Case, scale: float) -> None:
    B, T, S, d, H, _ = shape
    rng = drawn(*shape)
    x, memory, params = rng.normal(0, 2, (B, T, d)), rng.normal(1, 2, (B, S, d)), weights(rng, d, 0, scale)
    want = scalar.cross_attention(x.tolist(), memory.tolist(), plain(params), H)
    cross_attention = solution("cross_attention").cross_attention
    for padding in (None, np.zeros((B, S), dtype=bool)):
        agree(cross_attention(x, memory, params, H, padding), want)


def padded(where: str, S: int) -> list[bool]:
    """Which of S source positions are padding."""
    third = max(1, S // 3)
    ranges = {
        "left": range(third),
        "right": range(S - third, S),
        "middle": range(1, S - 1),
        "every other": range(0, S, 2),
        "all but the first": range(1, S),
        "all": range(S),
        "none": range(0),
    }
    return [s in ranges[where] for s in range(S)]


PLACES = ["left", "middle", "right", "every other", "all but the first", "all", "none"]


@pytest.mark.parametrize("S", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("where", PLACES)
def test_cross_attention_with_padding(where: str, S: int) -> None:
    B, T, d, H = 3, 4, 6, 2
    rng = drawn(S, len(where))
    # Another place in every row of the batch; no padded value may matter, however large.
    rows = [padded(where, S), padded(PLACES[(PLACES.index(where) + 1) % len(PLACES)], S), padded("none", S)]
    padding = np.array(rows)
    x, memory, params = rng.normal(0, 2, (B, T, d)), rng.normal(0, 2, (B, S, d)), weights(rng, d)
    memory[padding] = 1e6
    got = solution("cross_attention").cross_attention(x, memory, params, H, padding)
    agree(got, scalar.cross_attention(x.tolist(), memory.tolist(), plain(params), H, rows))
    for b, row in enumerate(rows):
        if all(row):
            assert (got[b] == x[b]).all()


def test_nothing_that_is_passed_in_is_modified() -> None:
    rng = drawn(1)
    x, memory, params = rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 5, 4)), weights(rng, 4, 6)
    E, P, ids, padding = rng.normal(size=(7, 4)), rng.normal(size=(3, 4)), rng.integers(0, 7, (2, 3)), np.eye(2, 5) > 0
    arrays = (x, memory, E, P, ids, padding, *params.values())
    before = [array.copy() for array in arrays]
    solution("stable_softmax").stable_softmax(x)
    solution("split_heads").merge_heads(solution("split_heads").split_heads(x, 2))
    solution("pre_ln_block").pre_ln_block(x, params, 2)
    solution("tied_logits").embed(ids, E, P)
    solution("tied_logits").tied_logits(x, E)
    solution("cross_attention").cross_attention(x, memory, params, 2, padding)
    assert all((now == was).all() for now, was in zip(arrays, before, strict=True))


def decoder(ids: Array, E: Array, P: Array, layers: list[dict[str, Array]], heads: int) -> Array:
    ends = solution("tied_logits")
    x: Array = ends.embed(ids, E, P)
    for params in layers:
        x = solution("pre_ln_block").pre_ln_block(x, params, heads)
    logits: Array = ends.tied_logits(x, E)
    return logits


@pytest.mark.parametrize("seed", range(5))
def test_the_decoder_from_ids_to_logits(seed: int) -> None:
    B, T, d, H, f, V = 2, 4, 8, 2, 16, 11
    rng = drawn(seed)
    E, P, layers = rng.normal(size=(V, d)), rng.normal(size=(T + 2, d)), [weights(rng, d, f) for _ in range(2)]
    ids = rng.integers(0, V, (B, T))
    logits = decoder(ids, E, P, layers, H)
    assert logits.shape == (B, T, V)
    agree(logits, scalar.decoder(ids.tolist(), E.tolist(), P.tolist(), [plain(params) for params in layers], H))

    other = ids.copy()
    other[:, 3] = (ids[:, 3] + 1) % V
    changed = decoder(other, E, P, layers, H)
    agree(changed[:, :3], logits[:, :3])
    assert (np.abs(changed[:, 3] - logits[:, 3]).max(axis=-1) > 1e-3).all()
