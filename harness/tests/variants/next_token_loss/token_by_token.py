import math


def next_token_loss(logits, ids, pad_id):
    losses = []
    for rows, tokens in zip(logits.tolist(), ids.tolist(), strict=True):
        for scores, target in zip(rows, tokens[1:], strict=False):
            if target != pad_id:
                top = max(scores)
                losses.append(top - scores[target] + math.log(math.fsum(math.exp(s - top) for s in scores)))
    if not losses:
        raise ValueError("nothing but padding")
    return math.fsum(losses) / len(losses)
