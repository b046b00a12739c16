"""What must hold for every shape and every value: Hypothesis looks for the case that breaks a solution."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from harness import registry
from harness.wire import Array

pytest.importorskip("hypothesis", reason="the property tests need hypothesis")

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

# The same examples on every run: a red build must mean that the code changed.
for_all = settings(deadline=None, max_examples=60, derandomize=True, database=None)
Draw = st.DataObject

lengths = st.integers(1, 7)
seeds = st.integers(0, 2**32 - 1)
scores = hnp.arrays(float, hnp.array_shapes(min_dims=1, max_dims=4, max_side=5), elements=st.floats(-50, 50))
large_scores = hnp.arrays(float, hnp.array_shapes(min_dims=1, max_dims=4, max_side=5), elements=st.floats(-1e5, 1e5))


@st.composite
def widths(draw: st.DrawFn) -> tuple[int, int]:
    """A width and a number of heads that divides it."""
    heads = draw(st.integers(1, 4))
    return heads * draw(st.integers(1, 4)), heads


def activations(*shape: int) -> st.SearchStrategy[Array]:
    return hnp.arrays(float, shape, elements=st.floats(-10, 10))


def solution(name: str) -> Any:
    return registry.solution(name).reference()


def softmax(values: Array, axis: int = -1) -> Array:
    result: Array = solution("stable_softmax").stable_softmax(values, axis)
    return result


def weights(seed: int, d: int, f: int = 3) -> dict[str, Array]:
    rng = np.random.default_rng(seed)
    shapes = {**dict.fromkeys(("wq", "wk", "wv", "wo"), (d, d)), "w1": (d, f), "w2": (f, d)}
    return {name: rng.normal(0, shape[0] ** -0.5, shape) for name, shape in shapes.items()}


def agree(got: Array, want: Array) -> None:
    assert got.shape == want.shape
    assert np.abs(got - want).max(initial=0) <= 1e-9 * max(1.0, np.abs(want).max(initial=0))


def axes(data: Draw, values: Array) -> int:
    return data.draw(st.integers(-values.ndim, values.ndim - 1), label="axis")


@for_all
@given(large_scores, st.data())
def test_softmax_gives_probabilities_along_any_axis(values: Array, data: Draw) -> None:
    axis = axes(data, values)
    got = softmax(values, axis)
    assert got.shape == values.shape
    assert (got >= 0).all()
    agree(got.sum(axis=axis), np.ones(got.sum(axis=axis).shape))


@for_all
@given(scores, st.data())
def test_softmax_does_not_see_a_shift_of_a_slice(values: Array, data: Draw) -> None:
    axis = axes(data, values)
    slices = np.expand_dims(values.max(axis=axis), axis).shape
    shift = data.draw(hnp.arrays(float, slices, elements=st.floats(-1e4, 1e4)), label="shift")
    agree(softmax(values + shift, axis), softmax(values, axis))


@for_all
@given(scores, st.data())
def test_softmax_follows_a_permutation(values: Array, data: Draw) -> None:
    axis = axes(data, values)
    order = data.draw(st.permutations(range(values.shape[axis])), label="order")
    agree(softmax(values.take(order, axis), axis), softmax(values, axis).take(order, axis))


@for_all
@given(scores, st.data())
def test_softmax_is_the_same_along_every_axis(values: Array, data: Draw) -> None:
    axis = axes(data, values)
    agree(softmax(values, axis), np.moveaxis(softmax(np.moveaxis(values, axis, -1)), -1, axis))


@for_all
@given(scores)
def test_log_odds_of_softmax_are_differences_of_scores(values: Array) -> None:
    row = values.ravel()
    logs = np.log(softmax(row))
    agree(logs - logs[0], row - row[0])


@for_all
@given(scores, st.data())
def test_softmax_of_blocked_entries_is_that_of_the_others(values: Array, data: Draw) -> None:
    row = values.ravel()
    blocked = data.draw(hnp.arrays(bool, row.shape), label="blocked")
    got = softmax(np.where(blocked, -np.inf, row))
    assert (got[blocked] == 0).all()
    if not blocked.all():
        agree(got[~blocked], softmax(row[~blocked]))


@for_all
@given(lengths, lengths, widths(), st.data())
def test_heads_are_blocks_of_features(B: int, T: int, width: tuple[int, int], data: Draw) -> None:
    d, H = width
    x = data.draw(activations(B, T, d), label="x")
    before = x.copy()
    got = solution("split_heads").split_heads(x, H)
    assert got.shape == (B, H, T, d // H)
    for h in range(H):
        assert (got[:, h] == x[:, :, h * (d // H) : (h + 1) * (d // H)]).all()
    assert (x == before).all()


@for_all
@given(lengths, lengths, widths(), st.data())
def test_merging_and_splitting_are_inverse(B: int, T: int, width: tuple[int, int], data: Draw) -> None:
    d, H = width
    functions = solution("split_heads")
    x = data.draw(activations(B, T, d), label="x")
    assert (functions.merge_heads(functions.split_heads(x, H)) == x).all()
    y = data.draw(activations(B, H, T, d // H), label="y")
    assert (functions.split_heads(functions.merge_heads(y), H) == y).all()


@for_all
@given(st.integers(1, 80), st.data())
def test_the_mask_blocks_the_future_and_nothing_else(T: int, data: Draw) -> None:
    mask = solution("causal_mask").causal_mask(T)
    assert mask.shape == (T, T)
    assert mask.dtype == bool
    assert mask.sum() == T * (T - 1) // 2
    assert not mask[-1].any() and not mask.diagonal().any()
    i, j = data.draw(st.integers(0, T - 1), label="i"), data.draw(st.integers(0, T - 1), label="j")
    assert mask[i, j] == (j > i)


@for_all
@given(st.integers(1, 40), st.integers(1, 40))
def test_a_shorter_mask_is_the_corner_of_a_longer_one(short: int, more: int) -> None:
    causal_mask = solution("causal_mask").causal_mask
    assert (causal_mask(short + more)[:short, :short] == causal_mask(short)).all()


@for_all
@given(st.integers(1, 3), st.integers(2, 6), widths(), seeds, st.data())
def test_a_new_suffix_leaves_the_prefix_of_a_block(
    B: int, T: int, width: tuple[int, int], seed: int, data: Draw
) -> None:
    d, H = width
    block, params = solution("pre_ln_block").pre_ln_block, weights(seed, d)
    x, other = data.draw(activations(B, T, d), label="x"), data.draw(activations(B, T, d), label="other")
    cut = data.draw(st.integers(1, T - 1), label="cut")
    changed = np.concatenate([x[:, :cut], other[:, cut:]], axis=1)
    agree(block(changed, params, H)[:, :cut], block(x, params, H)[:, :cut])
    agree(block(x[:, :cut], params, H), block(x, params, H)[:, :cut])


@for_all
@given(st.integers(1, 3), st.integers(2, 6), widths(), seeds, st.data())
def test_a_block_does_not_know_the_order_of_the_past(
    B: int, T: int, width: tuple[int, int], seed: int, data: Draw
) -> None:
    d, H = width
    block, params = solution("pre_ln_block").pre_ln_block, weights(seed, d)
    x = data.draw(activations(B, T, d), label="x")
    order = [*data.draw(st.permutations(range(T - 1)), label="order"), T - 1]
    agree(block(x[:, order], params, H)[:, -1], block(x, params, H)[:, -1])


@for_all
@given(lengths, lengths, st.integers(1, 5), st.integers(0, 3), seeds, st.data())
def test_an_embedding_knows_its_token_and_its_place(B: int, T: int, V: int, spare: int, seed: int, data: Draw) -> None:
    rng = np.random.default_rng(seed)
    E, P = rng.normal(size=(V, 3)), rng.normal(size=(T + spare, 3))
    ids = data.draw(hnp.arrays(int, (B, T), elements=st.integers(0, V - 1)), label="ids")
    got = solution("tied_logits").embed(ids, E, P)
    assert got.shape == (B, T, 3)
    for b, t in np.ndindex(B, T):
        agree(got[b, t], E[ids[b, t]] + P[t])


@for_all
@given(st.integers(1, 3), lengths, st.integers(1, 5), widths(), seeds, st.data())
def test_logits_are_those_of_each_row_whatever_its_mean(
    B: int, T: int, V: int, width: tuple[int, int], seed: int, data: Draw
) -> None:
    d, _ = width
    tied_logits, E = solution("tied_logits").tied_logits, np.random.default_rng(seed).normal(size=(V, d))
    hidden = data.draw(activations(B, T, d), label="hidden")
    mean = data.draw(hnp.arrays(float, (B, T, 1), elements=st.floats(-10, 10)), label="mean")
    got = tied_logits(hidden, E)
    assert got.shape == (B, T, V)
    agree(tied_logits(hidden + mean, E), got)
    for t in range(T):
        agree(tied_logits(hidden[:, t : t + 1], E), got[:, t : t + 1])


@for_all
@given(st.integers(1, 3), lengths, st.integers(1, 5), widths(), seeds, st.data())
def test_a_replaced_embedding_row_moves_its_column_alone(
    B: int, T: int, V: int, width: tuple[int, int], seed: int, data: Draw
) -> None:
    d, _ = width
    tied_logits, rng = solution("tied_logits").tied_logits, np.random.default_rng(seed)
    hidden, E = data.draw(activations(B, T, d), label="hidden"), rng.normal(size=(V, d))
    token = data.draw(st.integers(0, V - 1), label="token")
    other = E.copy()
    other[token] = rng.normal(size=d)
    kept = np.arange(V) != token
    agree(tied_logits(hidden, other)[..., kept], tied_logits(hidden, E)[..., kept])
    agree(tied_logits(hidden, other)[..., ~kept], tied_logits(hidden, other[[token]]))


@for_all
@given(st.integers(1, 3), st.integers(1, 4), st.integers(1, 5), widths(), seeds, st.data())
def test_padded_memory_never_matters(B: int, T: int, S: int, width: tuple[int, int], seed: int, data: Draw) -> None:
    d, H = width
    cross_attention, params = solution("cross_attention").cross_attention, weights(seed, d)
    x, memory = data.draw(activations(B, T, d), label="x"), data.draw(activations(B, S, d), label="memory")
    padding = data.draw(hnp.arrays(bool, (B, S)), label="padding")
    rubbish = data.draw(hnp.arrays(float, (B, S, d), elements=st.floats(-1e6, 1e6)), label="rubbish")
    got = cross_attention(x, memory, params, H, padding)
    agree(cross_attention(x, np.where(padding[..., None], rubbish, memory), params, H, padding), got)
    longer, more = np.concatenate([memory, rubbish], axis=1), np.concatenate([padding, np.ones_like(padding)], axis=1)
    agree(cross_attention(x, longer, params, H, more), got)
    for b in range(B):
        own = memory[b : b + 1, ~padding[b]]
        agree(got[b : b + 1], cross_attention(x[b : b + 1], own, params, H) if own.size else x[b : b + 1])


@for_all
@given(st.integers(1, 3), st.integers(1, 4), st.integers(1, 5), widths(), seeds, st.data())
def test_memory_has_no_order(B: int, T: int, S: int, width: tuple[int, int], seed: int, data: Draw) -> None:
    d, H = width
    cross_attention, params = solution("cross_attention").cross_attention, weights(seed, d)
    x, memory = data.draw(activations(B, T, d), label="x"), data.draw(activations(B, S, d), label="memory")
    padding = data.draw(hnp.arrays(bool, (B, S)), label="padding")
    order = data.draw(st.permutations(range(S)), label="order")
    agree(
        cross_attention(x, memory[:, order], params, H, padding[:, order]),
        cross_attention(x, memory, params, H, padding),
    )


@for_all
@given(st.integers(1, 3), st.integers(2, 5), st.integers(1, 4), widths(), seeds, st.data())
def test_a_query_reads_the_memory_on_its_own(
    B: int, T: int, S: int, width: tuple[int, int], seed: int, data: Draw
) -> None:
    d, H = width
    cross_attention, params = solution("cross_attention").cross_attention, weights(seed, d)
    x, memory = data.draw(activations(B, T, d), label="x"), data.draw(activations(B, S, d), label="memory")
    whole = cross_attention(x, memory, params, H)
    for t in range(T):
        agree(cross_attention(x[:, t : t + 1], memory, params, H), whole[:, t : t + 1])
