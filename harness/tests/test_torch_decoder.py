"""The decoder of the encoder-decoder model agrees with PyTorch's own, in float64, where it is installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from harness.tests.test_torch import EACH_SHAPE, Case, agree, drawn, solution, tensor, torch, weights
from harness.wire import Array

Rng = np.random.Generator


def layer(rng: Rng, d: int, f: int) -> dict[str, Array]:
    """The weights of one layer."""
    cross = {name.replace("w", "c"): weight for name, weight in weights(rng, d).items()}
    vectors = {f"g{n}": rng.normal(1, 0.5, d) for n in "123"} | {f"b{n}": rng.normal(0, 0.5, d) for n in "123"}
    return weights(rng, d, f) | cross | vectors | {"c1": rng.normal(size=f), "c2": rng.normal(size=d)}


def attention_state(params: dict[str, Array], kind: str, module: str) -> dict[str, Any]:
    """The weights of a `MultiheadAttention`, which holds them transposed; its biases, which we do not have, are 0."""
    d = len(params[f"{kind}q"])
    return {
        f"{module}.in_proj_weight": torch.cat([tensor(params[kind + n].T) for n in "qkv"]),
        f"{module}.in_proj_bias": torch.zeros(3 * d),
        f"{module}.out_proj.weight": tensor(params[f"{kind}o"].T),
        f"{module}.out_proj.bias": torch.zeros(d),
    }


def decoder_module(layers: list[dict[str, Array]], heads: int, gamma: Array, beta: Array) -> Any:
    """`TransformerDecoder`, pre-norm and with ReLU, that holds our weights."""
    d, f = layers[0]["w1"].shape
    one = torch.nn.TransformerDecoderLayer(
        d, heads, f, 0.0, "relu", batch_first=True, norm_first=True, dtype=torch.float64
    )
    module = torch.nn.TransformerDecoder(one, len(layers), torch.nn.LayerNorm(d, dtype=torch.float64)).eval()
    for theirs, params in zip(module.layers, layers, strict=True):
        state = attention_state(params, "w", "self_attn") | attention_state(params, "c", "multihead_attn")
        state |= {f"linear{n}.weight": tensor(params[f"w{n}"].T) for n in "12"}
        state |= {f"linear{n}.bias": tensor(params[f"c{n}"]) for n in "12"}
        state |= {f"norm{n}.weight": tensor(params[f"g{n}"]) for n in "123"}
        theirs.load_state_dict(state | {f"norm{n}.bias": tensor(params[f"b{n}"]) for n in "123"})
    module.norm.load_state_dict({"weight": tensor(gamma), "bias": tensor(beta)})
    return module


def padding(rng: Rng, B: int, length: int) -> Array:
    """True = padding, (B, length); the first position is real."""
    padded: Array = rng.random((B, length)) < 0.4
    padded[:, 0] = False
    return padded


@pytest.mark.parametrize("count", [1, 3])
@EACH_SHAPE
def test_decoder_is_the_module_with_our_weights(shape: Case, count: int) -> None:
    B, T, S, d, H, f = shape
    rng = drawn(*shape, count)
    layers = [layer(rng, d, f) for _ in range(count)]
    x, memory = rng.normal(0.5, 2, (B, T, d)), rng.normal(1, 2, (B, S, d))
    gamma, beta = rng.normal(1, 1, d), rng.normal(0, 1, d)
    source, target, causal = padding(rng, B, S), padding(rng, B, T), torch.ones(T, T, dtype=torch.bool).triu(1)
    memory[source] = 1e3
    with torch.no_grad():
        module, given = decoder_module(layers, H, gamma, beta), (tensor(x), tensor(memory))
        bare = module(*given, tgt_mask=causal)
        padded = module(
            *given, tgt_mask=causal, memory_key_padding_mask=tensor(source), tgt_key_padding_mask=tensor(target)
        )
        one = module.layers[0](*given, tgt_mask=causal)
    functions = solution("encoder_decoder")
    ours = x, memory, layers, H, gamma, beta
    agree(functions.decoder(*ours), bare)
    agree(functions.decoder(*ours, source[:, None, None], target[:, None, None]), padded)
    agree(functions.decoder_layer(x, memory, layers[0], H), one)


@EACH_SHAPE
def test_a_mask_for_each_head_is_what_the_layer_takes_flat(shape: Case) -> None:
    B, T, S, d, H, f = shape
    rng, params = drawn(*shape), layer(drawn(*shape, 1), d, f)
    x, memory = rng.normal(0, 1, (B, T, d)), rng.normal(0, 1, (B, S, d))
    source, own = rng.random((B, H, T, S)) < 0.5, rng.random((B, H, T, T)) < 0.5
    source[..., 0] = own[..., 0] = False
    both = own | np.triu(np.ones((T, T), bool), k=1)
    with torch.no_grad():
        module = decoder_module([params], H, np.ones(d), np.zeros(d)).layers[0]
        flat = (tensor(mask.reshape(B * H, T, -1)) for mask in (both, source))
        want = module(tensor(x), tensor(memory), *flat)
    agree(solution("encoder_decoder").decoder_layer(x, memory, params, H, source, own), want)


@pytest.mark.parametrize("scale", [1.0, 1e4])
@pytest.mark.parametrize("V", [1, 7, 50])
def test_generator_is_a_linear_layer_and_a_log_softmax(V: int, scale: float) -> None:
    rng = drawn(V)
    x, projection, bias = rng.normal(0, scale, (2, 3, 8)), rng.normal(size=(8, V)), rng.normal(size=V)
    want = torch.log_softmax(torch.nn.functional.linear(tensor(x), tensor(projection.T), tensor(bias)), -1)
    agree(solution("encoder_decoder").generator(x, projection, bias), want)
