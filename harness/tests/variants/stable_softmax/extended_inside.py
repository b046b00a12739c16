import numpy as np


def stable_softmax(scores, axis=-1):
    kind = scores.dtype if scores.dtype.kind == "f" else np.dtype(np.float64)
    wide = scores.astype(np.longdouble)
    wide = wide - wide.max(axis=axis, keepdims=True)
    wide = np.exp(wide)
    return (wide / wide.sum(axis=axis, keepdims=True)).astype(kind)
