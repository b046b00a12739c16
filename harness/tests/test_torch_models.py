"""The solutions about whole models agree with PyTorch in float64, where it is installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from harness.tests.test_torch import (
    EACH_SHAPE,
    Case,
    F,
    agree,
    block,
    drawn,
    layer_norm,
    solution,
    tensor,
    torch,
    weights,
)

BATCHES = [(1, 2, 2), (2, 5, 3), (3, 17, 50)]  # B, T, V
EACH_BATCH = pytest.mark.parametrize("batch", BATCHES, ids=str)


@pytest.mark.parametrize("scale", [1.0, 1e4])
@pytest.mark.parametrize("pad_id", [0, 1])
@EACH_BATCH
def test_next_token_loss_is_cross_entropy_of_shifted_targets(batch: Case, pad_id: int, scale: float) -> None:
    B, T, V = batch
    rng = drawn(*batch, pad_id)
    logits, ids = rng.normal(0, scale, batch), rng.integers(0, V, (B, T))
    ids[-1, -1] = 1 - pad_id
    targets = tensor(ids[:, 1:]).flatten()
    want = F.cross_entropy(tensor(logits[:, :-1]).flatten(0, 1), targets, ignore_index=pad_id)
    agree(np.array(solution("next_token_loss").next_token_loss(logits, ids, pad_id)), want)


@pytest.mark.parametrize("layers", [0, 1, 3])
@EACH_SHAPE
def test_gpt_forward_against_fused_attention(shape: Case, layers: int) -> None:
    B, T, _, d, H, f = shape
    rng, V = drawn(*shape, layers), 13
    E, P = rng.normal(size=(V, d)), rng.normal(size=(T + 2, d))
    params: dict[str, Any] = {
        "token_embedding": E,
        "position_embedding": P,
        "layers": [weights(rng, d, f) for _ in range(layers)],
    }
    ids = rng.integers(0, V, (B, T))
    x = F.embedding(tensor(ids), tensor(E)) + F.embedding(torch.arange(T), tensor(P))
    for layer in params["layers"]:
        x = block(x, layer, H)
    agree(solution("gpt_forward").gpt_forward(ids, params, H), F.linear(layer_norm(x), tensor(E)))


@pytest.mark.parametrize("layers", [1, 3])
@EACH_SHAPE
def test_decode_steps_against_fused_attention_over_the_whole_sequence(shape: Case, layers: int) -> None:
    B, T, _, d, H, f = shape
    rng, V = drawn(*shape, layers, 1), 13
    E, P = rng.normal(size=(V, d)), rng.normal(size=(T, d))
    params: dict[str, Any] = {"token_embedding": E, "position_embedding": P}
    params["layers"] = [weights(rng, d, f) for _ in range(layers)]
    ids, cache = rng.integers(0, V, (B, T)), None
    x = F.embedding(tensor(ids), tensor(E)) + tensor(P)
    for layer in params["layers"]:
        x = block(x, layer, H)
    want = F.linear(layer_norm(x), tensor(E))
    for n in range(T):
        logits, cache = solution("kv_cache").decode_step(ids[:, n], cache, params, H)
        agree(logits, want[:, n])


@pytest.mark.parametrize(("top_k", "top_p"), [(None, None), (3, None), (None, 0.7), (4, 0.6)])
def test_the_tokens_that_may_be_drawn_are_those_of_a_sorted_softmax(top_k: int | None, top_p: float | None) -> None:
    scores, rows = drawn(5).normal(0, 2, 8), 20_000
    z = tensor(scores) / 1.3
    if top_k:
        z = z.masked_fill(z < torch.topk(z, top_k).values[-1], -torch.inf)
    if top_p:
        ranked, order = torch.softmax(z, 0).sort(descending=True)
        z[order[ranked.cumsum(0) - ranked >= top_p]] = -torch.inf
    want = torch.softmax(z, 0).numpy()
    got = solution("sampling").next_token(np.tile(scores, (rows, 1)), 1.3, top_k, top_p, np.random.default_rng(1))
    found = np.bincount(got, minlength=8) / rows
    assert ((found > 0) <= (want > 0)).all()
    assert np.abs(found - want).max() < 0.03
