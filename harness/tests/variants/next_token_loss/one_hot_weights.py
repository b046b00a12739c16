import numpy as np


def next_token_loss(logits, ids, pad_id):
    V = logits.shape[2]
    counts = (ids[:, 1:] != pad_id).astype(float)
    total = counts.sum()
    if not total:
        raise ValueError("the batch holds no target")
    weights = np.eye(V)[ids[:, 1:]] * counts[..., None] / total
    x = logits[:, :-1] - np.max(logits[:, :-1], axis=2, keepdims=True)
    log_p = x - np.log(np.einsum("btv->bt", np.exp(x)))[..., None]
    return -np.einsum("btv,btv->", weights, log_p)
