"""The solutions about whole models agree with the scalar reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from harness.tests import scalar, scalar_models
from harness.tests.test_scalar import EACH_SCALE, EACH_SHAPE, Case, Rng, agree, drawn, plain, solution, weights

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
