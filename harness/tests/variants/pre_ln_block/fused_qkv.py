import numpy as np

SQRT_2_OVER_PI = np.sqrt(2.0 / np.pi).item()


def ln(h):
    h = h - h.mean(axis=-1, keepdims=True)
    return h / np.sqrt(np.mean(h**2, axis=-1, keepdims=True) + 1e-5)


def pre_ln_block(x, params, heads):
    B, T, d = x.shape
    w_qkv = np.concatenate([params["wq"], params["wk"], params["wv"]], axis=1)
    qkv = ln(x) @ w_qkv  # (B, T, 3 d)
    q, k, v = qkv.reshape(B, T, 3, heads, d // heads).transpose(2, 0, 3, 1, 4)
    att = (q @ np.swapaxes(k, -2, -1)) * (1.0 / (d // heads) ** 0.5)
    att = att + np.triu(np.full((T, T), -np.inf), k=1)
    att = np.exp(att - att.max(axis=-1, keepdims=True))
    att /= att.sum(axis=-1, keepdims=True)
    y = (att @ v).swapaxes(1, 2).reshape(B, T, d)
    x = x + y @ params["wo"]
    h = ln(x) @ params["w1"]
    h = 0.5 * h * (1.0 + np.tanh(SQRT_2_OVER_PI * (h + 0.044715 * np.power(h, 3.0))))
    return x + h @ params["w2"]
