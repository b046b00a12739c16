"""The solutions about whole models agree with the scalar reference."""

from __future__ import annotations

import numpy as np
import pytest

from harness.tests import scalar_models
from harness.tests.test_scalar import Case, agree, drawn, solution

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
