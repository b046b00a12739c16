import numpy as np


def attention(q, k, v, blocked=None):
    """One pass over the keys for the output; the weights follow from the peak and mass that it ends with."""
    shape = (*q.shape[:3], k.shape[2])
    visible = np.broadcast_to(True if blocked is None else ~blocked, shape)
    peak, mass = np.full(shape[:3], -np.inf), np.zeros(shape[:3])
    total, seen = np.zeros(q.shape), []
    for s in range(shape[3]):
        score = (q * k[:, :, s, None]).sum(axis=-1) / q.shape[-1] ** 0.5
        score = np.where(visible[..., s], score, -np.inf)
        top = np.maximum(peak, score)
        safe = np.where(np.isfinite(top), top, 0.0)
        decay, gain = np.exp(peak - safe), np.exp(score - safe)
        mass = mass * decay + gain
        total = total * decay[..., None] + gain[..., None] * v[:, :, s, None]
        peak = top
        seen.append(score)
    mass = np.where(mass > 0, mass, 1.0)
    safe = np.where(np.isfinite(peak), peak, 0.0)
    return total / mass[..., None], np.exp(np.stack(seen, axis=-1) - safe[..., None]) / mass[..., None]
