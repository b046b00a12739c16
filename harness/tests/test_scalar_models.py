"""The solutions about whole models agree with the scalar reference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from harness.tests import scalar, scalar_models
from harness.tests.test_scalar import EACH_SCALE, EACH_SHAPE, Case, Rng, agree, drawn, plain, solution, weights
from harness.wire import Array

BATCHES = [(1, 2, 2), (1, 5, 3), (2, 3, 7), (4, 9, 5), (3, 2, 11)]  # B, T, V
EACH_BATCH = pytest.mark.parametrize("batch", BATCHES, ids=str)


@pytest.mark.parametrize("scale", [0.3, 5.0, 1e4])
@pytest.mark.parametrize("pad_id", [0, 1])
@EACH_BATCH
def test_next_token_loss(batch: Case, pad_id: int, scale: float) -> None:
    B, T, V = batch
    rng = drawn(*batch, pad_id)
    logits, ids = rng.normal(scale, scale, batch), rng.integers(0, V, (B, T))
    ids[-1, -1] = 1 - pad_id  # one target at least is real
    got = solution("next_token_loss").next_token_loss(logits, ids, pad_id)
    assert isinstance(got, float)
    agree(np.array(got), scalar_models.next_token_loss(logits.tolist(), ids.tolist(), pad_id))


def model(rng: Rng, shape: Case, V: int, layers: int, scale: float = 1.0) -> dict[str, Any]:
    _, T, _, d, _, f = shape
    tables = {"token_embedding": rng.normal(0, 1, (V, d)), "position_embedding": rng.normal(0, 1, (T + 2, d))}
    return tables | {"layers": [weights(rng, d, f, scale) for _ in range(layers)]}


def plain_model(params: dict[str, Any]) -> tuple[Any, Any, list[dict[str, Any]]]:
    tables = (params[f"{which}_embedding"].tolist() for which in ("token", "position"))
    return *tables, [plain(layer) for layer in params["layers"]]


@EACH_SCALE
@pytest.mark.parametrize("layers", [0, 1, 3])
@EACH_SHAPE
def test_gpt_forward(shape: Case, layers: int, scale: float) -> None:
    B, T, _, _, H, _ = shape
    rng = drawn(*shape, layers)
    params, ids = model(rng, shape, 9, layers, scale), rng.integers(0, 9, (B, T))
    got = solution("gpt_forward").gpt_forward(ids, params, H)
    agree(got, scalar.decoder(ids.tolist(), *plain_model(params), H))


def decoded(ids: Array, params: dict[str, Any], heads: int) -> Array:
    """The logits of every step, one token of each sequence after the other."""
    steps, cache = [], None
    for column in ids.T:
        logits, cache = solution("kv_cache").decode_step(column, cache, params, heads)
        steps.append(logits)
    return np.stack(steps, axis=1)


@pytest.mark.parametrize("layers", [0, 1, 3])
@EACH_SHAPE
def test_every_decode_step_equals_the_whole_forward(shape: Case, layers: int) -> None:
    B, T, _, _, H, _ = shape
    rng = drawn(*shape, layers, 2)
    params, ids = model(rng, shape, 9, layers), rng.integers(0, 9, (B, T))
    got = decoded(ids, params, H)
    agree(got, scalar.decoder(ids.tolist(), *plain_model(params), H))
    agree(got, solution("gpt_forward").gpt_forward(ids, params, H))


def test_a_cache_may_be_continued_twice() -> None:
    rng, decode_step = drawn(3), solution("kv_cache").decode_step
    params = model(rng, (2, 5, 0, 8, 2, 6), 9, 2)
    _, cache = decode_step(np.array([1, 2]), None, params, 2)
    first, _ = decode_step(np.array([3, 4]), cache, params, 2)
    decode_step(np.array([5, 6]), cache, params, 2)
    again, _ = decode_step(np.array([3, 4]), cache, params, 2)
    assert (first == again).all()


class Counted(np.ndarray[Any, np.dtype[Any]]):
    """An array whose matrix products are counted in multiply-adds; what is made of it counts on."""

    multiply_adds = 0

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        bare = [one.view(np.ndarray) if isinstance(one, Counted) else one for one in inputs]
        if "out" in kwargs:
            kwargs["out"] = tuple(one.view(np.ndarray) for one in kwargs["out"])
        result = getattr(ufunc, method)(*bare, **kwargs)
        if ufunc is np.matmul:
            Counted.multiply_adds += result.size * bare[0].shape[-1]
        return result.view(Counted) if isinstance(result, np.ndarray) else result


def counted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: counted(item) for name, item in value.items()}
    return [counted(item) for item in value] if isinstance(value, list) else value.view(Counted)


def spent(function: Callable[..., Any], *args: Any) -> tuple[int, Any]:
    before = Counted.multiply_adds
    result = function(*args)
    return Counted.multiply_adds - before, result


def measured(ids: Array, params: dict[str, Any], heads: int) -> tuple[list[int], list[int], Array]:
    """The multiply-adds of every step with a cache and without one, and the logits of the steps; both ways agree."""
    decode_step, gpt_forward = solution("kv_cache").decode_step, solution("gpt_forward").gpt_forward
    steps, whole, scored, cache = [], [], [], None
    params = counted(params)
    for n in range(ids.shape[1]):
        work, (logits, cache) = spent(decode_step, ids[:, n], cache, params, heads)
        again, full = spent(gpt_forward, ids[:, : n + 1], params, heads)
        agree(np.asarray(logits), np.asarray(full[:, -1]))
        steps.append(work)
        whole.append(again)
        scored.append(np.asarray(logits))
    return steps, whole, np.stack(scored, axis=1)


def test_the_work_of_a_step_grows_with_the_prefix_and_not_with_its_square() -> None:
    B, T, d, H, f, V, L = 2, 40, 8, 2, 12, 9, 3
    rng = drawn(4)
    params, ids = model(rng, (B, T, 0, d, H, f), V, L), rng.integers(0, V, (B, T))
    steps, whole, _ = measured(ids, params, H)
    fixed = L * (4 * d * d + 2 * d * f) + d * V
    assert steps == [B * (fixed + L * 2 * d * (n + 1)) for n in range(T)]
    assert whole == [B * (n + 1) * (fixed + L * 2 * d * (n + 1)) for n in range(T)]
