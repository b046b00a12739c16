from typing import NoReturn

import numpy as np


def _refuse(why: str) -> NoReturn:
    raise ValueError(f"cross_attention: {why}")


def _layer_norm(x: np.ndarray) -> np.ndarray:
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + x.dtype.type(1e-5))


def cross_attention(
    x: np.ndarray,
    memory: np.ndarray,
    params: dict[str, np.ndarray],
    heads: int,
    memory_padding: np.ndarray | None = None,
) -> np.ndarray:
    if x.ndim != 3 or memory.ndim != 3:
        _refuse("x and memory need three axes")
    (B, _, d), (memory_batch, S, memory_width) = x.shape, memory.shape
    if memory_batch != B:
        _refuse(f"a batch of {B} cannot read the memory of a batch of {memory_batch}")
    if memory_width != d:
        _refuse(f"x is {d} wide, memory {memory_width}")
    if heads < 1 or d % heads:
        _refuse(f"{d} features for {heads} heads")
    if any(params[name].shape != (d, d) for name in ("wq", "wk", "wv", "wo")):
        _refuse(f"every weight must be ({d}, {d})")
    if memory_padding is None:
        memory_padding = np.zeros((B, S), dtype=bool)
    elif memory_padding.shape != (B, S):
        _refuse(f"memory_padding must be {(B, S)}")

    def split(a: np.ndarray) -> np.ndarray:
        return a.reshape(B, -1, heads, d // heads).swapaxes(1, 2)

    q, k, v = split(_layer_norm(x) @ params["wq"]), split(memory @ params["wk"]), split(memory @ params["wv"])
    scores = (q @ k.swapaxes(-1, -2)) * x.dtype.type((d // heads) ** -0.5)
    real = ~memory_padding[:, None, None, :]
    peak = scores.max(axis=-1, keepdims=True, where=real, initial=np.finfo(scores.dtype).min)
    odds = np.exp(scores - peak, where=np.broadcast_to(real, scores.shape), out=np.zeros_like(scores))
    total = odds.sum(axis=-1, keepdims=True)
    weights = np.divide(odds, total, out=odds, where=total > 0)
    return x + (weights @ v).swapaxes(1, 2).reshape(x.shape) @ params["wo"]
