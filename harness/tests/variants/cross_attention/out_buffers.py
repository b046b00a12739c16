import numpy as np


def cross_attention(x, memory, params, heads, memory_padding=None):
    B, T, d = x.shape
    S, dh = memory.shape[1], d // heads
    y = np.empty_like(x)
    np.subtract(x, x.mean(axis=-1, keepdims=True), out=y)
    np.divide(y, np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5), out=y)
    q, k, v = np.empty((B, T, d)), np.empty((B, S, d)), np.empty((B, S, d))
    np.matmul(y, params["wq"], out=q)
    np.matmul(memory, params["wk"], out=k)
    np.matmul(memory, params["wv"], out=v)
    q *= 1 / dh**0.5
    weights = np.empty((B, heads, T, S))
    np.matmul(
        q.reshape(B, T, heads, dh).transpose(0, 2, 1, 3), k.reshape(B, S, heads, dh).transpose(0, 2, 3, 1), out=weights
    )
    if memory_padding is not None:
        np.copyto(weights, -np.inf, where=memory_padding[:, None, None, :])
    weights -= weights.max(axis=-1, keepdims=True)
    np.exp(weights, out=weights)
    weights /= weights.sum(axis=-1, keepdims=True)
    context = q.reshape(B, T, heads, dh)  # the queries have done their work
    np.matmul(weights, v.reshape(B, S, heads, dh).swapaxes(1, 2), out=context.swapaxes(1, 2))
    np.matmul(context.reshape(B, T, d), params["wo"], out=y)
    return np.add(y, x, out=y)
