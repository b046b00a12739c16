"""The solutions about whole models agree with PyTorch in float64, where it is installed."""

from __future__ import annotations

import numpy as np
import pytest

from harness.tests.test_torch import Case, F, agree, drawn, solution, tensor

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
