"""The short solutions of track 2 agree with the scalar reference."""

from __future__ import annotations

import numpy as np
import pytest

from harness.tests import scalar, scalar_parts
from harness.tests.test_scalar import EACH_SCALE, Case, agree, drawn, solution

SHAPES = [(1,), (6,), (1, 4), (3, 5), (2, 3, 4), (1, 1, 2), (2, 9, 7), (2, 3, 2, 5)]
EACH_SHAPE = pytest.mark.parametrize("shape", SHAPES, ids=str)


@EACH_SCALE
@pytest.mark.parametrize("eps", [None, 1e-6, 0.5])
@EACH_SHAPE
def test_layer_norm(shape: Case, eps: float | None, scale: float) -> None:
    rng, d = drawn(*shape), shape[-1]
    x = rng.normal(0.5, scale, shape)
    x[..., : max(1, d // 2)] *= 0.01
    gamma, beta = rng.normal(1, 1, d), rng.normal(0, 1, d)
    got = solution("layer_norm").layer_norm(x, gamma, beta, *([] if eps is None else [eps]))
    agree(got, scalar_parts.layer_norm(x.tolist(), gamma.tolist(), beta.tolist(), eps or 1e-5))


@EACH_SCALE
@pytest.mark.parametrize("f", [1, 3, 17])
@EACH_SHAPE
def test_feed_forward(shape: Case, f: int, scale: float) -> None:
    rng, d = drawn(*shape, f), shape[-1]
    x, w1, w2 = rng.normal(0, scale, shape), rng.normal(0, d**-0.5, (d, f)), rng.normal(0, f**-0.5, (f, d))
    b1, b2 = rng.normal(size=f), rng.normal(size=d)
    got = solution("feed_forward").feed_forward(x, w1, b1, w2, b2)
    agree(got, scalar_parts.feed_forward(x.tolist(), w1.tolist(), b1.tolist(), w2.tolist(), b2.tolist()))


def test_gelu_of_many_numbers() -> None:
    x = np.concatenate([np.linspace(-8, 8, 401), [-1e3, -50.0, 50.0, 1e3]])
    agree(solution("feed_forward").gelu(x), [scalar.gelu(value) for value in x.tolist()])


@pytest.mark.parametrize("width", [2, 4, 6, 64, 130])
@pytest.mark.parametrize("length", [1, 2, 5, 70, 600])
def test_sinusoidal_positions(length: int, width: int) -> None:
    table = solution("positions").sinusoidal_positions(length, width)
    agree(table, scalar_parts.sinusoidal_positions(length, width))


@pytest.mark.parametrize("pad_id", [0, 3, 9])
@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (3, 1), (2, 5), (4, 9)], ids=str)
def test_padding_and_decoder_mask(shape: Case, pad_id: int) -> None:
    ids, functions = drawn(*shape, pad_id).integers(0, 5, shape), solution("padding_mask")
    for mask in ("padding_mask", "decoder_mask"):
        got = getattr(functions, mask)(ids, pad_id)
        assert got.dtype == bool
        assert got.tolist() == getattr(scalar_parts, mask)(ids.tolist(), pad_id)
