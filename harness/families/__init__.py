"""Mistakes and terms that several katas share, since their solutions share the lines that these patches rewrite."""

from harness.families.heads import FILL, MASK, OVER_QUERIES, TRIANGLE, attention, causal, heads, scores, triangle
from harness.families.layers import ERF, FIRST, GELU, MIDDLE, SECOND, gelu, sublayers
from harness.families.norms import AFFINE, MEAN, VARIANCE, layer_norm
from harness.families.words import UNLESS

__all__ = [
    "AFFINE",
    "ERF",
    "FILL",
    "FIRST",
    "GELU",
    "MASK",
    "MEAN",
    "MIDDLE",
    "OVER_QUERIES",
    "SECOND",
    "TRIANGLE",
    "UNLESS",
    "VARIANCE",
    "attention",
    "causal",
    "gelu",
    "heads",
    "layer_norm",
    "scores",
    "sublayers",
    "triangle",
]
