"""Attention, its multi-head layer and the post-LN block agree with PyTorch in float64, where it is installed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from harness.tests.test_torch import EACH_SHAPE, Case, F, agree, drawn, solution, tensor, torch, weights
from harness.tests.test_torch import multi_head_attention as module
from harness.wire import Array


def masks(rng: np.random.Generator, B: int, H: int, T: int, S: int) -> list[Array]:
    """True = blocked; every query keeps its first key."""
    found = [np.zeros((T, S), bool), np.triu(np.ones((T, S), bool), k=1)]
    found += [rng.random(shape) < 0.5 for shape in ((B, 1, 1, S), (B, 1, T, S), (B, H, T, S), (1, H, 1, S))]
    for blocked in found:
        blocked[..., 0] = False
    return found


@EACH_SHAPE
def test_attention_is_fused_attention_with_the_mask_turned_round(shape: Case) -> None:
    B, T, S, d, H, _ = shape
    rng, dh = drawn(*shape), d // H
    q, k, v = (rng.normal(0, 1.5, (B, H, n, dh)) for n in (T, S, S))
    for blocked in (None, *masks(rng, B, H, T, S)):
        output, shares = solution("attention").attention(q, k, v, blocked)
        keep = None if blocked is None else tensor(~blocked)
        agree(output, F.scaled_dot_product_attention(tensor(q), tensor(k), tensor(v), attn_mask=keep))
        scores = tensor(q) @ tensor(k).mT / math.sqrt(dh)
        agree(shares, torch.softmax(scores if keep is None else scores.masked_fill(~keep, -math.inf), -1))


@EACH_SHAPE
def test_multi_head_attention_is_the_module_with_our_weights(shape: Case) -> None:
    B, T, _, d, H, _ = shape
    rng = drawn(*shape)
    x, params = rng.normal(0, 1, (B, T, d)), weights(rng, d)
    for blocked in (None, *masks(rng, B, H, T, T)):
        whole = None if blocked is None else tensor(np.broadcast_to(blocked, (B, H, T, T)).reshape(B * H, T, T).copy())
        with torch.no_grad():
            given = (tensor(x),) * 3
            want = module(params, H, d)(*given, attn_mask=whole, average_attn_weights=False)
        got = solution("multi_head_attention").multi_head_attention(x, params, H, blocked)
        agree(got[0], want[0])
        agree(got[1], want[1])


def encoder_layer(params: dict[str, Array], d: int, f: int, heads: int) -> Any:
    """PyTorch's post-LN layer with our weights; the biases of its projections, which we do not have, are 0."""
    layer = torch.nn.TransformerEncoderLayer(
        d, heads, f, 0.0, "relu", layer_norm_eps=1e-6, batch_first=True, norm_first=False, dtype=torch.float64
    ).eval()
    parts = {"linear1.weight": "w1", "linear2.weight": "w2", "linear1.bias": "c1", "linear2.bias": "c2"}
    parts |= {"norm1.weight": "g1", "norm1.bias": "b1", "norm2.weight": "g2", "norm2.bias": "b2"}
    state = {name: tensor(params[ours].T) for name, ours in parts.items()}
    state |= {f"self_attn.{name}": part for name, part in module(params, heads, d).state_dict().items()}
    state |= {"self_attn.in_proj_bias": torch.zeros(3 * d), "self_attn.out_proj.bias": torch.zeros(d)}
    layer.load_state_dict(state)
    return layer


@EACH_SHAPE
def test_post_ln_block_is_the_encoder_layer_under_a_causal_mask(shape: Case) -> None:
    B, T, _, d, H, f = shape
    rng = drawn(*shape)
    x, params = rng.normal(0.5, 2, (B, T, d)), weights(rng, d, f)
    x[:, ::2] *= 0.001  # rows of so little variance that epsilon counts
    params |= {
        n: rng.normal(float(n[0] == "g"), 1, f if n == "c1" else d) for n in ("g1", "b1", "g2", "b2", "c1", "c2")
    }
    with torch.no_grad():
        want = encoder_layer(params, d, f, H)(tensor(x), src_mask=torch.ones(T, T, dtype=torch.bool).triu(1))
    agree(solution("post_ln_block").post_ln_block(x, params, H), want)
