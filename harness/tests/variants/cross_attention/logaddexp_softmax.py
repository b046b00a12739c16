from functools import partial

import numpy as np

over_keys = partial(np.logaddexp.reduce, axis=-1, keepdims=True)


def cross_attention(x, memory, params, heads, memory_padding=None):
    def multi(a):
        return np.array(np.split(a, heads, axis=2))  # (H, B, length, dh)

    y = (x - x.mean(2)[..., None]) / np.sqrt(x.var(2)[..., None] + 1e-5)
    q, k, v = multi(y @ params["wq"]), multi(memory @ params["wk"]), multi(memory @ params["wv"])
    scores = np.einsum("hbte,hbse->hbts", q, k) / np.sqrt(q.shape[-1])
    if memory_padding is not None:
        scores = np.ma.filled(np.ma.array(scores, mask=scores * 0 + memory_padding[:, None]), -np.inf)
    weights = np.exp(scores - over_keys(scores))
    return x + np.concatenate(list(weights @ v), axis=2) @ params["wo"]
