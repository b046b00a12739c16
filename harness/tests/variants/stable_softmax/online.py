import numpy as np


def stable_softmax(scores, axis=-1):
    lanes = np.moveaxis(np.asarray(scores, dtype=float), axis, 0)
    peak = np.full(lanes.shape[1:], -np.inf)
    total = np.zeros(lanes.shape[1:])
    for lane in lanes:
        higher = np.maximum(peak, lane)
        base = np.where(np.isneginf(higher), 0.0, higher)  # nothing seen so far
        total = total * np.exp(peak - base) + np.exp(lane - base)
        peak = higher
    base = np.where(np.isneginf(peak), 0.0, peak)
    return np.moveaxis(np.exp(lanes - base) / np.where(total == 0, 1.0, total), 0, axis)
