import numpy as np


def next_token_loss(logits, ids, pad_id):
    logits = logits[:, :-1]
    targets = ids[:, 1:]
    mask = targets != pad_id
    if mask.sum() == 0:
        raise ValueError("no targets")
    m = logits.max(axis=-1, keepdims=True)
    logsumexp = m[..., 0] + np.log(np.sum(np.exp(logits - m), axis=-1))
    B, T = targets.shape
    picked = logits[np.arange(B)[:, None], np.arange(T)[None, :], targets]
    return ((logsumexp - picked) * mask).sum() / mask.sum()
