import numpy as np


def next_token_loss(logits, ids, pad_id):
    """Shift at the end: a loss for every position, of which the last is masked along with the padding."""
    B, T = ids.shape
    targets = np.concatenate([ids[:, 1:], np.full((B, 1), pad_id)], axis=1)
    z = np.sort(logits, axis=-1)
    gap = z - z[..., -1:]
    spread = np.log1p(np.exp(gap[..., :-1]).sum(axis=-1)) + z[..., -1]
    own = np.take_along_axis(logits, targets[..., None], axis=-1).squeeze(-1)
    losses = np.ma.masked_array(spread - own, mask=targets == pad_id)
    if losses.count() == 0:
        raise ValueError(f"no target of {B} x {T} tokens counts")
    return float(losses.mean())
