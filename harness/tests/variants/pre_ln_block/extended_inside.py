import numpy as np


def pre_ln_block(x, params, heads):
    wide = np.longdouble
    p = {name: weight.astype(wide) for name, weight in params.items()}
    h = x.astype(wide)
    B, T, d = h.shape
    dh = d // heads

    def ln(z):
        return (z - z.mean(-1, keepdims=True)) / np.sqrt(z.var(-1, keepdims=True) + wide("1e-5"))

    y = ln(h)
    q, k, v = (np.dot(y, p[w]).reshape(B, T, heads, dh).transpose(0, 2, 1, 3) for w in ("wq", "wk", "wv"))
    s = np.matmul(q, k.transpose(0, 1, 3, 2)) / np.sqrt(wide(dh))
    s[:, :, np.triu(np.ones((T, T), dtype=bool), 1)] = -np.inf
    a = np.exp(s - s.max(-1, keepdims=True))
    a /= a.sum(-1, keepdims=True)
    h = h + np.dot(np.matmul(a, v).transpose(0, 2, 1, 3).reshape(B, T, d), p["wo"])
    u = np.dot(ln(h), p["w1"])
    u = u / 2 * (1 + np.tanh(np.sqrt(2 / wide(np.pi)) * (u + wide("0.044715") * u**3)))
    return (h + np.dot(u, p["w2"])).astype(x.dtype)
