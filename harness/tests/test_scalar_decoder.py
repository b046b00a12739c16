"""The decoder of the encoder-decoder model agrees with the scalar reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from harness.tests import scalar_decoder as scalar
from harness.tests.test_scalar import EACH_SCALE, EACH_SHAPE, Case, Rng, agree, drawn, solution, weights
from harness.wire import Array


def layer(rng: Rng, d: int, f: int, scale: float = 1.0) -> dict[str, Array]:
    """The weights of one layer; those of the scores are scaled."""
    cross = {name.replace("w", "c"): weight for name, weight in weights(rng, d, 0, scale).items()}
    vectors = {f"g{n}": rng.normal(1, 0.5, d) for n in "123"} | {f"b{n}": rng.normal(0, 0.5, d) for n in "123"}
    return weights(rng, d, f, scale) | cross | vectors | {"c1": rng.normal(size=f), "c2": rng.normal(size=d)}


def masks(rng: Rng, B: int, H: int, T: int, S: int) -> list[tuple[Array | None, Array | None]]:
    """For memory and target; some queries have nothing to see."""
    padding, per_head = rng.random((B, 1, 1, S)) < 0.5, rng.random((B, H, T, S)) < 0.5
    return [(None, None), (padding, rng.random((B, 1, 1, T)) < 0.3), (per_head, rng.random((B, H, T, T)) < 0.3)]


def whole(blocked: Array | None, *shape: int) -> Any:
    return np.broadcast_to(False if blocked is None else blocked, shape).tolist()


def plain(params: dict[str, Array]) -> dict[str, Any]:
    return {name: weight.tolist() for name, weight in params.items()}


@EACH_SCALE
@pytest.mark.parametrize("count", [1, 3])
@EACH_SHAPE
def test_decoder(shape: Case, count: int, scale: float) -> None:
    B, T, S, d, H, f = shape
    rng = drawn(*shape, count)
    layers = [layer(rng, d, f, min(scale, 3.0)) for _ in range(count)]
    x, memory = rng.normal(0.5, scale, (B, T, d)), rng.normal(-1, 2, (B, S, d))
    gamma, beta = rng.normal(1, 1, d), rng.normal(0, 1, d)
    for source, own in masks(rng, B, H, T, S):
        hidden = whole(own, B, H, T, T), whole(source, B, H, T, S)
        ends = gamma.tolist(), beta.tolist()
        want = scalar.decoder(x.tolist(), memory.tolist(), [plain(p) for p in layers], H, *ends, *hidden)
        got = solution("encoder_decoder").decoder(x, memory, layers, H, gamma, beta, source, own)
        agree(got, want)


@EACH_SHAPE
def test_one_layer(shape: Case) -> None:
    B, T, S, d, H, f = shape
    rng = drawn(*shape)
    x, memory, params = rng.normal(size=(B, T, d)), rng.normal(1, 2, (B, S, d)), layer(rng, d, f)
    x[:, ::2] *= 0.001  # rows of so little variance that epsilon counts
    for source, own in masks(rng, B, H, T, S):
        hidden = zip(whole(own, B, H, T, T), whole(source, B, H, T, S), strict=True)
        rows = zip(x.tolist(), memory.tolist(), hidden, strict=True)
        want = [scalar.decoder_layer(row, remembered, plain(params), H, *both) for row, remembered, both in rows]
        agree(solution("encoder_decoder").decoder_layer(x, memory, params, H, source, own), want)


@pytest.mark.parametrize("V", [1, 2, 31])
@pytest.mark.parametrize("scale", [1.0, 50.0, 1e4])
def test_generator(V: int, scale: float) -> None:
    rng = drawn(V)
    x, projection, bias = rng.normal(0, scale, (2, 3, 6)), rng.normal(size=(6, V)), rng.normal(size=V)
    want = [scalar.generator(rows, projection.tolist(), bias.tolist()) for rows in x.tolist()]
    agree(solution("encoder_decoder").generator(x, projection, bias), want)
