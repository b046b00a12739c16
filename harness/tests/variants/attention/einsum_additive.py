import numpy as np


def attention(q, k, v, blocked=None):
    bias = 0.0 if blocked is None else np.where(blocked, -np.inf, 0.0)
    logits = np.einsum("bhtd,bhsd->bhts", q * q.shape[-1] ** -0.5, k) + bias
    p = np.exp(logits - np.max(logits, axis=3)[..., None])
    p = np.einsum("bhts,bht->bhts", p, 1 / np.einsum("bhts->bht", p))
    return np.einsum("bhts,bhsd->bhtd", p, v), p
