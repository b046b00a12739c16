import numpy as np


def next_token_loss(logits: np.ndarray, ids: np.ndarray, pad_id: int) -> np.ndarray:
    flat, targets = logits[:, :-1].reshape(-1, logits.shape[-1]), ids[:, 1:].ravel()
    (kept,) = np.nonzero(targets != pad_id)
    if kept.size == 0:
        raise ValueError("all targets are padding")
    flat = flat[kept]
    gaps = flat - flat[np.arange(kept.size), targets[kept], None]
    return np.asarray(np.logaddexp.reduce(gaps, axis=1).mean())
