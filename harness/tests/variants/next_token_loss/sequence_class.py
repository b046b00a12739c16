from dataclasses import dataclass

import numpy as np


@dataclass
class Tally:
    total: float = 0.0
    count: int = 0

    def add(self, scores, target):
        shifted = (scores - scores.max()).astype(np.longdouble)
        self.total += float(np.log(np.exp(shifted).sum()) - shifted[target])
        self.count += 1

    def mean(self):
        if self.count == 0:
            raise ValueError("nothing was added")
        return self.total / self.count


def next_token_loss(logits, ids, pad_id):
    tally = Tally()
    for b in range(ids.shape[0]):
        for t in range(ids.shape[1] - 1):
            if ids[b, t + 1] != pad_id:
                tally.add(logits[b, t], ids[b, t + 1])
    return tally.mean()
