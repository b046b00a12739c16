"""The katas about whole models once more in plain Python: one sequence, one position and one entry at a time.

See `scalar`, of whose functions these are made; no code is shared with the solutions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from harness.tests.scalar import Batch


def next_token_loss(logits: Batch, ids: Sequence[Sequence[int]], pad_id: int) -> float:
    """The mean cost of every token that follows another and is no padding."""
    costs: list[float] = []
    for rows, tokens in zip(logits, ids, strict=True):
        for place, token in enumerate(tokens):
            if place and token != pad_id:
                before = rows[place - 1]
                top = max(before)
                costs.append(top + math.log(math.fsum(math.exp(s - top) for s in before)) - before[token])
    return math.fsum(costs) / len(costs)


def shares(scores: Sequence[float], temperature: float, top_k: int | None, top_p: float | None) -> dict[int, float]:
    """Which tokens may be drawn after one row of scores, and how often."""
    best = sorted(range(len(scores)), key=lambda token: -scores[token])
    powers = {token: math.exp((scores[token] - scores[best[0]]) / temperature) for token in best[:top_k]}
    kept: dict[int, float] = {}
    for token, power in powers.items():
        if top_p is None or math.fsum(kept.values()) < top_p * math.fsum(powers.values()):
            kept[token] = power
    return {token: power / math.fsum(kept.values()) for token, power in kept.items()}
