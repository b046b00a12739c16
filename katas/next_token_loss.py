"""Next-token loss · 8 minutes

Write `next_token_loss(logits, ids, pad_id)`, the loss that a language model is
trained on. logits (B, T, V) is what the model gave for the token ids (B, T);
shorter sequences are filled up with pad_id. The result is one float.

Contract
    The logits at position t predict the token at t + 1: the inputs `:-1`
    predict the targets `1:`, and the logits of the last position predict
    nothing. ids comes unshifted; the shift is yours.
    Of each target the negative log-likelihood -log p, natural logarithm, p from
    the softmax of the logits over V.
    The mean over all targets in the batch that are not pad_id: every token
    weighs the same, whichever sequence it stands in. pad_id may be any id, and
    padding may stand anywhere.
    Logits of ±1e4, and as far apart, give a finite loss.
    Without a target that counts there is nothing to average: ValueError.
    Nothing that is passed in is modified.
    Follow-up: shapes that do not fit, ids beyond the vocabulary and T = 1 raise
    ValueError; float32 logits do as well.

    >>> logits = np.zeros((1, 3, 4))  # 3 tokens of a vocabulary of 4
    >>> ids = np.array([[1, 2, 3]])
    >>> round(next_token_loss(logits, ids, pad_id=0), 3)  # log 4
    1.386
    >>> logits[0, 0] = [0.0, 0.0, 2.0, 0.0]  # token 2 follows token 1
    >>> round(next_token_loss(logits, ids, pad_id=0), 3)
    0.864
    >>> round(next_token_loss(logits, ids, pad_id=3), 3)  # the last is padding
    0.341
"""

import numpy as np


def next_token_loss(logits: np.ndarray, ids: np.ndarray, pad_id: int) -> float:
    raise NotImplementedError
