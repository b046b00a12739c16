import numpy as np


def causal_mask(length):
    table = []
    for query in range(length):
        row = []
        for key in range(length):
            row.append(key > query)
        table.append(row)
    return np.array(table, dtype=bool)
