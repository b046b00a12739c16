import numpy as np


def padding_mask(ids, pad_id):
    view = (ids == pad_id).T[:, None, None].transpose(3, 1, 2, 0)
    view.flags.writeable = False
    return view


def decoder_mask(ids, pad_id):
    time = np.arange(ids.shape[1])
    return np.where(np.less.outer(time, time), True, padding_mask(ids, pad_id))
