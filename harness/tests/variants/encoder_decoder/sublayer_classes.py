"""Objects, as a framework would have them: a residual branch takes any sublayer, and additive masks of -1e9."""

from dataclasses import dataclass

import numpy as np


def additive(mask, shape):
    return np.zeros(shape) if mask is None else np.where(np.broadcast_to(mask, shape), -1e9, 0.0)


@dataclass
class LayerNorm:
    gain: np.ndarray
    bias: np.ndarray

    def __call__(self, x):
        d = x.shape[-1]
        mean = x.sum(axis=-1, keepdims=True) / d
        return self.gain * (x - mean) * (np.var(x, axis=-1, keepdims=True) + 1e-5) ** -0.5 + self.bias


@dataclass
class Attention:
    weights: list
    heads: int

    def __call__(self, x, source, mask):
        wq, wk, wv, wo = self.weights
        q, k, v = self.apart(x @ wq), self.apart(source @ wk), self.apart(source @ wv)
        scores = (q * self.width(x) ** -0.5) @ k.transpose(0, 1, 3, 2)
        scores = scores + additive(mask, scores.shape)
        powers = np.exp(scores - scores.max(axis=3, keepdims=True))
        mixed = (powers @ v) / powers.sum(axis=3, keepdims=True)
        return np.concatenate([mixed[:, h] for h in range(self.heads)], axis=-1) @ wo

    def width(self, x):
        return x.shape[-1] // self.heads

    def apart(self, x):
        return np.stack(np.split(x, self.heads, axis=-1), axis=1)


@dataclass
class FeedForward:
    w1: np.ndarray
    c1: np.ndarray
    w2: np.ndarray
    c2: np.ndarray

    def __call__(self, x):
        inner = x @ self.w1 + self.c1
        return np.where(inner > 0, inner, 0) @ self.w2 + self.c2


@dataclass
class Residual:
    norm: LayerNorm
    branch: object

    def __call__(self, x):
        return x + self.branch(self.norm(x))


class Layer:
    def __init__(self, params, heads):
        self.own = Attention([params["w" + n] for n in "qkvo"], heads)
        self.cross = Attention([params["c" + n] for n in "qkvo"], heads)
        self.ffn = FeedForward(*(params[n] for n in ("w1", "c1", "w2", "c2")))
        self.norms = [LayerNorm(params["g" + n], params["b" + n]) for n in "123"]

    def __call__(self, x, memory, memory_mask, target_mask):
        T = x.shape[1]
        causal = np.tri(T) == 0
        mask = causal if target_mask is None else causal | target_mask
        branches = (lambda y: self.own(y, y, mask), lambda y: self.cross(y, memory, memory_mask), self.ffn)
        for norm, branch in zip(self.norms, branches, strict=True):
            x = Residual(norm, branch)(x)
        return x


def decoder_layer(x, memory, params, heads, memory_blocked=None, target_blocked=None):
    return Layer(params, heads)(x, memory, memory_blocked, target_blocked)


def decoder(x, memory, layers, heads, gamma, beta, memory_blocked=None, target_blocked=None):
    for layer in [Layer(params, heads) for params in layers]:
        x = layer(x, memory, memory_blocked, target_blocked)
    return LayerNorm(gamma, beta)(x)


def generator(x, projection, bias):
    logits = x @ projection + bias
    return logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)
