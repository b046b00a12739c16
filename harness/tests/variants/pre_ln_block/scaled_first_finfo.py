import numpy as np


def rms_of_centred(x):
    x = x - x.mean(axis=-1, keepdims=True)
    return x / np.sqrt(np.square(x).mean(axis=-1, keepdims=True) + 1e-5)


def pre_ln_block(x, params, heads):
    batch, length, width = x.shape
    size = width // heads
    normed = rms_of_centred(x)
    q = (normed @ (params["wq"] * size**-0.25)).reshape(batch, length, heads, size)
    k = (normed @ (params["wk"] * size**-0.25)).reshape(batch, length, heads, size)
    v = (normed @ params["wv"]).reshape(batch, length, heads, size)
    energy = np.einsum("bqhe,bkhe->bhqk", q, k)
    ahead = np.array([[key > query for key in range(length)] for query in range(length)])
    np.copyto(energy, np.finfo(energy.dtype).min, where=ahead)
    energy = energy - energy.max(axis=-1, keepdims=True)
    share = np.exp(energy) / np.exp(energy).sum(axis=-1, keepdims=True)
    mixed = np.einsum("bhqk,bkhe->bqhe", share, v).reshape(batch, length, width)
    x = np.add(x, mixed @ params["wo"])
    inner = rms_of_centred(x) @ params["w1"]
    cubic = inner + 0.044715 * inner * inner**2
    return np.add(x, (inner * 0.5 * (np.tanh(cubic * (2 / np.pi) ** 0.5) + 1)) @ params["w2"])
