from collections.abc import Mapping

import numpy as np

SQUARE = ("wq", "wk", "wv", "wo")


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


def _validate(x: np.ndarray, params: Mapping[str, np.ndarray], heads: int) -> None:
    _require(x.ndim == 3, f"x should be (batch, tokens, width), it has {x.ndim} axes")
    _require(x.shape[1] > 0, "x should hold at least one token")
    width = x.shape[2]
    _require(heads > 0 and width % heads == 0, f"{heads} heads cannot share a width of {width}")
    for name in SQUARE:
        _require(params[name].shape == (width, width), f"{name} should be ({width}, {width})")
    _require(params["w1"].ndim == 2 and params["w1"].shape[0] == width, f"w1 should be ({width}, f)")
    _require(params["w2"].shape == params["w1"].shape[::-1], "w2 should be the other way round of w1")


def _layer_norm(x: np.ndarray) -> np.ndarray:
    deviation = x - x.mean(axis=-1, keepdims=True)
    return deviation / np.sqrt(np.mean(deviation * deviation, axis=-1, keepdims=True) + x.dtype.type(1e-5))


def _attention(x: np.ndarray, params: Mapping[str, np.ndarray], heads: int) -> np.ndarray:
    batch, tokens, width = x.shape
    root = x.dtype.type((width // heads) ** 0.5)

    def project(name: str) -> np.ndarray:
        return (x @ params[name]).reshape(batch, tokens, heads, -1).swapaxes(1, 2)

    scores = (project("wq") / root) @ project("wk").swapaxes(2, 3)
    log_total = np.logaddexp.reduce(
        scores, axis=-1, keepdims=True, where=np.tri(tokens, dtype=bool), initial=x.dtype.type(-np.inf)
    )
    weights = np.exp(np.where(np.tri(tokens, dtype=bool), scores - log_total, -np.inf))
    return (weights @ project("wv")).swapaxes(1, 2).reshape(x.shape) @ params["wo"]


def _gelu(x: np.ndarray) -> np.ndarray:
    one, half = x.dtype.type(1), x.dtype.type(0.5)
    inner = x.dtype.type(0.7978845608028654) * (x + x.dtype.type(0.044715) * x * x * x)
    return half * x * (one + np.tanh(inner))


def pre_ln_block(x: np.ndarray, params: dict[str, np.ndarray], heads: int) -> np.ndarray:
    _validate(x, params, heads)
    x = x + _attention(_layer_norm(x), params, heads)
    return x + _gelu(_layer_norm(x) @ params["w1"]) @ params["w2"]
