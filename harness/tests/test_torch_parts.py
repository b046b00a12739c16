"""The short solutions of track 2 agree with PyTorch in float64, where it is installed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from harness.tests.test_torch import Case, F, agree, drawn, solution, tensor, torch

SHAPES: list[Case] = [(1, 1, 4), (2, 3, 8), (4, 17, 24), (5, 6), (7,)]
EACH_SHAPE = pytest.mark.parametrize("shape", SHAPES, ids=str)


@pytest.mark.parametrize("eps", [1e-5, 1e-6, 0.3])
@EACH_SHAPE
def test_layer_norm_is_the_module_with_our_gain_and_bias(shape: Case, eps: float) -> None:
    rng, d = drawn(*shape), shape[-1]
    x, gamma, beta = rng.normal(3, 2, shape) * 0.02, rng.normal(size=d), rng.normal(size=d)
    module = torch.nn.LayerNorm(d, eps=eps, dtype=torch.float64)
    with torch.no_grad():
        module.weight.copy_(tensor(gamma))
        module.bias.copy_(tensor(beta))
        want = module(tensor(x))
    agree(solution("layer_norm").layer_norm(x, gamma, beta, eps), want)


@EACH_SHAPE
def test_feed_forward_is_two_linears_around_a_gelu(shape: Case) -> None:
    rng, d, f = drawn(*shape), shape[-1], 13
    x, w1, w2 = rng.normal(0, 2, shape), rng.normal(size=(d, f)), rng.normal(size=(f, d))
    b1, b2 = rng.normal(size=f), rng.normal(size=d)
    layers: Any = torch.nn.Sequential(
        torch.nn.Linear(d, f), torch.nn.GELU(approximate="tanh"), torch.nn.Linear(f, d)
    ).double()
    with torch.no_grad():
        for layer, weight, bias in ((layers[0], w1, b1), (layers[2], w2, b2)):
            layer.weight.copy_(tensor(weight.T))
            layer.bias.copy_(tensor(bias))
        want = layers(tensor(x))
    agree(solution("feed_forward").feed_forward(x, w1, b1, w2, b2), want)


def test_gelu_is_the_tanh_form() -> None:
    x = np.linspace(-9, 9, 1001)
    agree(solution("feed_forward").gelu(x), F.gelu(tensor(x), approximate="tanh"))


@pytest.mark.parametrize(("length", "width"), [(1, 2), (5, 4), (60, 64), (512, 130)])
def test_sinusoidal_positions_are_the_tutorials_buffer(length: int, width: int) -> None:
    position = torch.arange(length, dtype=torch.float64).unsqueeze(1)
    rate = torch.exp(torch.arange(0, width, 2, dtype=torch.float64) * (-math.log(10000.0) / width))
    want = torch.zeros(length, width, dtype=torch.float64)
    want[:, 0::2], want[:, 1::2] = torch.sin(position * rate), torch.cos(position * rate)
    agree(solution("positions").sinusoidal_positions(length, width), want)


@pytest.mark.parametrize("seed", range(4))
def test_the_masks_are_what_the_modules_of_pytorch_take(seed: int) -> None:
    """One module takes padding and future apart, where True blocks; fused attention takes what may be seen."""
    rng, (B, T, H, d) = drawn(seed), (3, 6, 2, 8)
    ids = rng.integers(0, 4, (B, T))
    ids[:, 0] = 1  # the first key is never padding, so that every query has something to see
    functions, x = solution("padding_mask"), tensor(rng.normal(size=(B, T, d)))
    padding, both = functions.padding_mask(ids, 0), functions.decoder_mask(ids, 0)
    module = torch.nn.MultiheadAttention(d, H, bias=False, batch_first=True, dtype=torch.float64).eval()
    future = torch.ones(T, T, dtype=torch.bool).triu(1)
    with torch.no_grad():
        apart, _ = module(x, x, x, key_padding_mask=tensor(padding[:, 0, 0]), attn_mask=future, need_weights=False)
        whole = tensor(np.broadcast_to(both, (B, H, T, T)).reshape(B * H, T, T))
        joined, _ = module(x, x, x, attn_mask=whole, need_weights=False)
    agree(joined.numpy(), apart)
    q, k, v = (tensor(rng.normal(size=(B, H, T, 4))) for _ in range(3))
    scores = (q @ k.transpose(-1, -2) / 2).masked_fill(tensor(both), -math.inf)
    agree(F.scaled_dot_product_attention(q, k, v, attn_mask=tensor(~both)).numpy(), torch.softmax(scores, -1) @ v)
