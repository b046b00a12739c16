"""The solutions agree with PyTorch in float64, where it is installed (pip install -e ".[oracle]")."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from harness import registry
from harness.wire import Array

torch: Any = pytest.importorskip("torch", reason="the PyTorch oracle tests need torch")
F: Any = torch.nn.functional

Case = tuple[int, ...]
SHAPES: list[Case] = [  # B, T, S, d, H, f
    (1, 1, 1, 4, 1, 4),
    (1, 6, 3, 4, 2, 16),
    (2, 1, 5, 8, 2, 6),
    (2, 3, 5, 8, 2, 12),
    (3, 5, 5, 6, 3, 5),
    (2, 9, 4, 12, 4, 48),
    (4, 17, 33, 24, 3, 40),
    (2, 65, 20, 32, 8, 64),
]
EACH_SHAPE = pytest.mark.parametrize("shape", SHAPES, ids=lambda s: "B{}-T{}-S{}-d{}-H{}-f{}".format(*s))


def solution(name: str) -> Any:
    return registry.solution(name).reference()


def drawn(*words: int) -> np.random.Generator:
    return np.random.default_rng([23, *words])


def weights(rng: np.random.Generator, d: int, f: int = 0) -> dict[str, Array]:
    params = {name: rng.normal(0, d**-0.5, (d, d)) for name in ("wq", "wk", "wv", "wo")}
    return params | ({"w1": rng.normal(0, d**-0.5, (d, f)), "w2": rng.normal(0, f**-0.5, (f, d))} if f else {})


def tensor(array: Array) -> Any:
    return torch.from_numpy(np.ascontiguousarray(array))


def agree(got: Array, want: Any) -> None:
    wanted = want.numpy()
    assert got.shape == wanted.shape
    assert got.dtype == wanted.dtype
    assert np.abs(got - wanted).max() <= 1e-11 * np.abs(wanted).max()


def layer_norm(x: Any) -> Any:
    return F.layer_norm(x, x.shape[-1:], eps=1e-5)


def multi_head_attention(params: dict[str, Array], heads: int, d: int) -> Any:
    """PyTorch's own module with our weights: a `Linear` holds each of them transposed."""
    module = torch.nn.MultiheadAttention(d, heads, bias=False, batch_first=True, dtype=torch.float64).eval()
    with torch.no_grad():
        module.in_proj_weight.copy_(torch.cat([tensor(params[name].T) for name in ("wq", "wk", "wv")]))
        module.out_proj.weight.copy_(tensor(params["wo"].T))
    return module


def apart(x: Any, heads: int) -> Any:
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def block(x: Any, params: dict[str, Array], heads: int) -> Any:
    """A block from PyTorch's fused causal attention, which knows the direction by itself."""
    y = layer_norm(x)
    q, k, v = (apart(y @ tensor(params[name]), heads) for name in ("wq", "wk", "wv"))
    context = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
    x = x + context @ tensor(params["wo"])
    return x + F.gelu(layer_norm(x) @ tensor(params["w1"]), approximate="tanh") @ tensor(params["w2"])


@pytest.mark.parametrize("length", [1, 2, 3, 8, 65])
def test_causal_mask_is_what_pytorch_calls_square_subsequent(length: int) -> None:
    mask = solution("causal_mask").causal_mask(length)
    additive = torch.nn.Transformer.generate_square_subsequent_mask(length)
    assert (mask == torch.isneginf(additive).numpy()).all()


@pytest.mark.parametrize("length", [1, 2, 3, 8, 65])
def test_causal_mask_negated_is_what_fused_attention_keeps(length: int) -> None:
    keep = tensor(~solution("causal_mask").causal_mask(length))
    q, k, v = torch.from_numpy(drawn(length).normal(size=(3, 2, 3, length, 4)))
    masked = F.scaled_dot_product_attention(q, k, v, attn_mask=keep)
    agree(masked.numpy(), F.scaled_dot_product_attention(q, k, v, is_causal=True))


@pytest.mark.parametrize("scale", [1.0, 50.0, 1e4])
@pytest.mark.parametrize("shape", [(1,), (6,), (3, 3), (2, 5), (2, 3, 4), (2, 4, 3, 5)], ids=str)
def test_stable_softmax(shape: Case, scale: float) -> None:
    scores = drawn(*shape).normal(0, scale, shape)
    for axis in range(-len(shape), len(shape)):
        agree(solution("stable_softmax").stable_softmax(scores, axis), torch.softmax(tensor(scores), axis))


def test_stable_softmax_with_blocked_entries() -> None:
    scores = drawn(6).normal(0, 3, (2, 6, 6))
    scores[:, ~np.tri(6, dtype=bool)] = -np.inf
    agree(solution("stable_softmax").stable_softmax(scores), torch.softmax(tensor(scores), -1))


@EACH_SHAPE
def test_split_and_merge_heads(shape: Case) -> None:
    B, T, _, d, H, _ = shape
    x = drawn(*shape).normal(size=(B, T, d))
    functions = solution("split_heads")
    agree(functions.split_heads(x, H), apart(tensor(x), H))
    agree(functions.merge_heads(functions.split_heads(x, H)), tensor(x))


@EACH_SHAPE
def test_pre_ln_block_against_fused_attention(shape: Case) -> None:
    B, T, _, d, H, f = shape
    rng = drawn(*shape)
    x, params = rng.normal(0.5, 2, (B, T, d)), weights(rng, d, f)
    x[:, ::2] *= 0.01  # rows of so little variance that epsilon counts
    agree(solution("pre_ln_block").pre_ln_block(x, params, H), block(tensor(x), params, H))


@EACH_SHAPE
def test_pre_ln_block_against_multi_head_attention(shape: Case) -> None:
    B, T, _, d, H, f = shape
    rng = drawn(*shape)
    x, params = rng.normal(0, 1, (B, T, d)), weights(rng, d, f)
    blocked = tensor(solution("causal_mask").causal_mask(T))
    with torch.no_grad():
        y = layer_norm(tensor(x))
        attended, _ = multi_head_attention(params, H, d)(y, y, y, attn_mask=blocked, need_weights=False)
        h = tensor(x) + attended
        want = h + F.gelu(layer_norm(h) @ tensor(params["w1"]), approximate="tanh") @ tensor(params["w2"])
    agree(solution("pre_ln_block").pre_ln_block(x, params, H), want)


@pytest.mark.parametrize("V", [1, 8, 50])
@EACH_SHAPE
def test_embed_and_tied_logits(shape: Case, V: int) -> None:
    B, T, _, d, _, _ = shape
    rng = drawn(*shape, V)
    E, P, ids = rng.normal(size=(V, d)), rng.normal(size=(T + 2, d)), rng.integers(0, V, (B, T))
    hidden = rng.normal(1, 2, (B, T, d))
    functions = solution("tied_logits")
    agree(functions.embed(ids, E, P), F.embedding(tensor(ids), tensor(E)) + F.embedding(torch.arange(T), tensor(P)))
    agree(functions.tied_logits(hidden, E), F.linear(layer_norm(tensor(hidden)), tensor(E)))


def paddings(rng: np.random.Generator, B: int, S: int) -> list[Array]:
    """None, at random with one position left, left, right and in the middle."""
    scattered = rng.random((B, S)) < 0.5
    scattered[np.arange(B), rng.integers(0, S, B)] = False
    many, place = 1 + np.arange(B)[:, None] % max(1, S - 1), np.arange(S)[None]
    middle = (place > 0) & (place < S - 1) & (place <= many)
    if S == 1:
        return [np.zeros((B, S), dtype=bool)]
    return [np.zeros((B, S), dtype=bool), scattered, place < many, place >= S - many, middle]


@EACH_SHAPE
def test_cross_attention_against_fused_attention_and_the_module(shape: Case) -> None:
    B, T, S, d, H, _ = shape
    rng = drawn(*shape)
    x, params = rng.normal(0, 2, (B, T, d)), weights(rng, d)
    for padding in paddings(rng, B, S):
        memory = rng.normal(1, 2, (B, S, d))
        memory[padding] = 1e6
        y, m = layer_norm(tensor(x)), tensor(memory)
        q, k, v = (
            apart(y @ tensor(params["wq"]), H),
            apart(m @ tensor(params["wk"]), H),
            apart(m @ tensor(params["wv"]), H),
        )
        keep = tensor(~padding)[:, None, None, :]
        context = F.scaled_dot_product_attention(q, k, v, attn_mask=keep).transpose(1, 2).flatten(2)
        with torch.no_grad():
            module = multi_head_attention(params, H, d)
            attended, _ = module(y, m, m, key_padding_mask=tensor(padding), need_weights=False)
        got = solution("cross_attention").cross_attention(x, memory, params, H, padding)
        agree(got, tensor(x) + context @ tensor(params["wo"]))
        agree(got, tensor(x) + attended)


@pytest.mark.parametrize("seed", range(5))
def test_the_decoder_from_ids_to_logits(seed: int) -> None:
    B, T, d, H, f, V = 2, 4, 8, 2, 16, 11
    rng = drawn(seed)
    E, P, layers = rng.normal(size=(V, d)), rng.normal(size=(T + 2, d)), [weights(rng, d, f) for _ in range(2)]
    ids = rng.integers(0, V, (B, T))
    ends = solution("tied_logits")
    ours, theirs = ends.embed(ids, E, P), tensor(E)[tensor(ids)] + tensor(P)[:T]
    for params in layers:
        ours, theirs = solution("pre_ln_block").pre_ln_block(ours, params, H), block(theirs, params, H)
    agree(ends.tied_logits(ours, E), layer_norm(theirs) @ tensor(E).T)
