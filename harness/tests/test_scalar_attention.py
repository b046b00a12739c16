"""The solutions of attention, its multi-head layer and the post-LN block agree with the scalar reference."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from harness.tests import scalar_attention as scalar
from harness.tests.test_scalar import EACH_SCALE, EACH_SHAPE, Case, agree, drawn, plain, solution, weights
from harness.wire import Array

MASKS = ["none", "causal", "padding", "random", "per head"]


def mask(which: str, B: int, H: int, T: int, S: int) -> Array | None:
    """A mask that broadcasts to (B, H, T, S); but for the last kind, every query keeps key 0."""
    rng = drawn(B, H, T, S)
    masks: dict[str, Any] = {
        "none": None,
        "causal": np.triu(np.ones((T, S), bool), k=1),
        "padding": rng.random((B, 1, 1, S)) < 0.5,
        "random": rng.random((B, 1, T, S)) < 0.5,
        "per head": rng.random((B, H, T, S)) < 0.4,
        "all blocked": np.arange(T)[:, None] + np.zeros(S) >= T // 2,
    }
    blocked: Array | None = masks[which]
    if blocked is not None and which != "all blocked":
        blocked[..., 0] = False
    return blocked


def hidden(blocked: Array | None, *shape: int) -> scalar.Hidden:
    if blocked is None:
        return scalar.nothing
    whole = np.broadcast_to(blocked, shape)
    return lambda b, h, t, s: bool(whole[b, h, t, s])


def agree_both(got: Any, want: Any) -> None:
    assert type(got) is tuple
    for mine, theirs in zip(got, want, strict=True):
        agree(mine, theirs)


@EACH_SCALE
@pytest.mark.parametrize("which", [*MASKS, "all blocked"])
@EACH_SHAPE
def test_attention(shape: Case, which: str, scale: float) -> None:
    B, T, S, d, H, _ = shape
    rng, dh = drawn(*shape), d // H
    q, k, v = (rng.normal(0, s, (B, H, n, dh)) for n, s in ((T, scale), (S, 1), (S, 2)))
    blocked = mask(which, B, H, T, S)
    want = scalar.attention(q.tolist(), k.tolist(), v.tolist(), hidden(blocked, B, H, T, S))
    agree_both(solution("attention").attention(q, k, v, blocked), want)


@pytest.mark.parametrize("fill", [1e4, 1e6])
def test_attention_never_reads_what_is_blocked(fill: float) -> None:
    rng, blocked = drawn(4), mask("random", 2, 3, 4, 5)
    q, k, v = (rng.normal(size=(2, 3, n, 2)) for n in (4, 5, 5))
    assert blocked is not None
    output, shares = solution("attention").attention(q, k, v, blocked)
    assert (shares[np.broadcast_to(blocked, shares.shape)] == 0).all()
    for b, t in product(range(2), range(4)):
        large = np.where(blocked[b, 0, t, :, None], fill, v[b])
        got, _ = solution("attention").attention(q[b : b + 1], k[b : b + 1], large[None], blocked[b : b + 1])
        agree(got[0, :, t], output[b, :, t])


@EACH_SCALE
@pytest.mark.parametrize("which", MASKS)
@EACH_SHAPE
def test_multi_head_attention(shape: Case, which: str, scale: float) -> None:
    B, T, _, d, H, _ = shape
    rng = drawn(*shape)
    x, params, blocked = rng.normal(0.5, 1, (B, T, d)), weights(rng, d, 0, scale), mask(which, B, H, T, T)
    want = scalar.multi_head_attention(x.tolist(), plain(params), H, hidden(blocked, B, H, T, T))
    agree_both(solution("multi_head_attention").multi_head_attention(x, params, H, blocked), want)


@EACH_SCALE
@EACH_SHAPE
def test_post_ln_block(shape: Case, scale: float) -> None:
    B, T, _, d, H, f = shape
    rng = drawn(*shape)
    x, params = rng.normal(0.5, 2, (B, T, d)), weights(rng, d, f, scale)
    x[:, ::2] *= 0.001  # rows of so little variance that epsilon counts
    vectors = {
        n: rng.normal(float(n[0] == "g"), 1, f if n == "c1" else d) for n in ("g1", "b1", "g2", "b2", "c1", "c2")
    }
    rows = {name: vector.tolist() for name, vector in vectors.items()}
    want = scalar.post_ln_block(x.tolist(), plain(params), rows, H)
    agree(solution("post_ln_block").post_ln_block(x, params | vectors, H), want)
