import numpy as np


def layer_norm(x, gain, bias):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + x.dtype.type(1e-6)) * gain + bias


def post_ln_block(x, params, heads):
    if x.ndim != 3 or not x.shape[1]:
        raise ValueError("x needs three axes, and a token")
    B, T, d = x.shape
    if heads < 1 or d % heads:
        raise ValueError(f"{d} features for {heads} heads")
    f = params["c1"].size
    want = dict.fromkeys(("wq", "wk", "wv", "wo"), (d, d)) | dict.fromkeys(("c2", "g1", "b1", "g2", "b2"), (d,))
    for name, shape in (want | {"w1": (d, f), "c1": (f,), "w2": (f, d)}).items():
        if np.shape(params[name]) != shape:
            raise ValueError(f"{name} is {np.shape(params[name])}, not {shape}")
    q, k, v = np.moveaxis(np.stack([x @ params[n] for n in ("wq", "wk", "wv")]).reshape(3, B, T, heads, -1), 3, 2)
    scores = q @ k.swapaxes(2, 3) * x.dtype.type((d // heads) ** -0.5)
    visible = np.tri(T, dtype=bool)
    peak = scores.max(axis=-1, keepdims=True, where=visible, initial=np.finfo(scores.dtype).min)
    odds = np.exp(scores - peak, where=np.broadcast_to(visible, scores.shape), out=np.zeros_like(scores))
    context = np.moveaxis(odds / odds.sum(axis=-1, keepdims=True) @ v, 1, 2).reshape(B, T, d)
    x = layer_norm(x + context @ params["wo"], params["g1"], params["b1"])
    inner = x @ params["w1"] + params["c1"]
    return layer_norm(x + np.where(inner > 0, inner, 0) @ params["w2"] + params["c2"], params["g2"], params["b2"])
