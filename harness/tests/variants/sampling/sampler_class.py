import numpy as np


def layer_norm(x):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def attention(x, p, heads):
    B, T, d = x.shape
    dh = d // heads
    q, k, v = ((x @ p[n]).reshape(B, T, heads, dh).transpose(0, 2, 1, 3) for n in ("wq", "wk", "wv"))
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(dh)
    scores = np.where(np.tril(np.ones((T, T))) == 0, -1e9, scores)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    out = e / e.sum(-1, keepdims=True) @ v
    return out.transpose(0, 2, 1, 3).reshape(B, T, d) @ p["wo"]


def gpt_forward(ids, params, heads):
    E = params["token_embedding"]
    x = E[ids] + params["position_embedding"][: ids.shape[1]]
    for p in params["layers"]:
        x = x + attention(layer_norm(x), p, heads)
        x = x + gelu(layer_norm(x) @ p["w1"]) @ p["w2"]
    return layer_norm(x) @ E.T


class Sampler:
    """One that samples, with its options; the filters are masks that are multiplied."""

    def __init__(self, temperature, top_k, top_p, rng):
        self.temperature, self.top_k, self.top_p, self.rng = temperature, top_k, top_p, rng
        self.greedy = temperature == 0 or top_k == 1

    def probabilities(self, logits):
        p = np.exp((logits - logits.max(1, keepdims=True)) / self.temperature)
        p = p / p.sum(1, keepdims=True)
        down = -np.sort(-p, axis=1)
        if self.top_k is not None:
            p = p * (p >= down[:, min(self.top_k, p.shape[1]) - 1][:, None])
        p = p / p.sum(1, keepdims=True)
        if self.top_p is not None:
            down = -np.sort(-p, axis=1)
            last = (np.cumsum(down, axis=1) < self.top_p).sum(1).clip(max=p.shape[1] - 1)
            p = p * (p >= np.take_along_axis(down, last[:, None], axis=1))
        return p / p.sum(1, keepdims=True)

    def __call__(self, logits):
        if self.greedy:
            return logits.argmax(1)
        p = self.probabilities(logits.astype(float))
        return self.rng.multinomial(1, p).argmax(1)


def next_token(logits, temperature=1.0, top_k=None, top_p=None, rng=None):
    return Sampler(temperature, top_k, top_p, rng)(logits)


def generate(ids, steps, params, heads, temperature=0.0, top_k=None, top_p=None, rng=None):
    sampler = Sampler(temperature, top_k, top_p, rng)
    for _ in range(steps):
        ids = np.concatenate([ids, sampler(gpt_forward(ids, params, heads)[:, -1])[:, None]], axis=1)
    return ids
