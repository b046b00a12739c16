"""Mistakes and terms that several katas share, since their solutions share the lines that these patches rewrite."""

from harness.families.ends import (
    ADDED,
    HEAD,
    NORM,
    ONE_ROW,
    TOKENS,
    embedding,
    head,
    last_position,
    log_softmax,
    untied,
)
from harness.families.guards import guard, memory_order, no_max
from harness.families.heads import FILL, MASK, OVER_QUERIES, TRIANGLE, attention, causal, heads, scores, triangle
from harness.families.layers import ERF, FIRST, GELU, MIDDLE, SECOND, gelu, relu, sublayers
from harness.families.norms import AFFINE, MEAN, VARIANCE, layer_norm
from harness.families.words import UNLESS

__all__ = [
    "ADDED",
    "AFFINE",
    "ERF",
    "FILL",
    "FIRST",
    "GELU",
    "HEAD",
    "MASK",
    "MEAN",
    "MIDDLE",
    "NORM",
    "ONE_ROW",
    "OVER_QUERIES",
    "SECOND",
    "TOKENS",
    "TRIANGLE",
    "UNLESS",
    "VARIANCE",
    "attention",
    "causal",
    "embedding",
    "gelu",
    "guard",
    "head",
    "heads",
    "last_position",
    "layer_norm",
    "log_softmax",
    "memory_order",
    "no_max",
    "relu",
    "scores",
    "sublayers",
    "triangle",
    "untied",
]
