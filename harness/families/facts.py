"""What the contracts with attention decide and an interviewer answers plainly; nobody is scored for asking it."""

from __future__ import annotations

from harness.kata import Kata

OF_A_HEAD = (
    r"\b(contiguous|consecutive|adjacent|neighbours?|interleav\w*|strided?|slices?|chunks?|blocks? of)\b",
    r"\bheads?\b.*\b(columns?|features?|order\w*|laid|layout|arranged|slices?)\b",
    r"\b(columns?|features?|order\w*|layout|arranged|slices?)\b.*\bheads?\b|\bh ?\* ?dh\b",
    r"\bcolumns?\b|\bwhich features\b|\bhead (0|h|i)\b",
)


def heads(kata: Kata) -> None:
    """How the heads share the width."""
    kata.fact(
        "layout of the heads",
        "In what order do the heads lie in the columns of wq?",
        "One after the other: head h takes the features h*dh to (h+1)*dh, which are these columns of wq, wk and wv.",
        OF_A_HEAD,
    )
    kata.fact(
        "width of a head",
        "Must heads divide d?",
        "Yes, dh = d / heads, and in the core they always do. As a follow-up, heads that do not raise ValueError.",
        (
            r"\b(divid|divis|multiple|remainder|modulo)|\bd ?(%|//?) ?(h|heads)\b",
            r"\bheads?\b.*\bdivi[ds]|\bdivi[ds]\w*\b.*\b(heads|evenly)\b",
            r"\b(head.?(dim\w*|width|size)|dh|d_?head|d_?k)\b|\bheads? (is |are |of |= ?)?(0|zero|negative)\b",
            r"\b(width|size|dim\w*) of (a|each|one) head\b|\b(wide|large|big) is (a|each|one) head\b",
        ),
    )
    kata.fact(
        "matrices of all heads",
        "Is wq already split per head, or one matrix for all of them?",
        "One matrix for all heads: wq, wk, wv and wo are (d, d) each. You split what the first three give.",
        (
            r"\balready (split|reshaped|separate)|\bpre-?split\b|\bsplit (already|beforehand|up front)\b",
            r"\b(per|each|every|own|separate|one)\b.*\bheads?\b.*\b(matri\w*|weights?|w[qkvo]|projections?)\b",
            r"\b(matri\w*|weights?|w[qkvo]|projections?)\b.*\b(per|each|every|all)\b.*\bheads?\b",
            r"\bfused\b|\bqkv\b|\bw[qkvo]\b.*\b(shape|3-?d)\b|\bshape\b.*\bw[qkvo]\b|\(h, ?d",
        ),
    )


def projections(kata: Kata) -> None:
    """What stands before and after the heads."""
    kata.fact(
        "output projection",
        "Is there an output projection after the heads are merged?",
        "Yes: the heads side by side again, then times wo.",
        (
            r"\boutput (proj|matri|linear|weight)|\b(final|last) (proj|linear)",
            r"\bw_?o\b",
            r"\bproject\w*\b.*\b(after|end|output|back)\b",
            r"\bconcat|\bmerged?\b|\b(combin|join|sum|averag)\w*\b.*\bheads|\bheads\b.*\b(combin|join|sum|averag)",
        ),
    )
    kata.fact(
        "scale of the scores",
        "Are the scores scaled by 1/sqrt(dh)?",
        "Yes: divided by the root of dh, the width of a head, before the softmax.",
        (
            r"\bscal(e|es|ed|ing)\b",
            r"^(?!.*\b(inside|outside|under|eps\w*|variance)\b).*(\bsqrt|\broot\b)",
            r"^(?=.*(\bscal|sqrt|\broot\b)).*\b(d_?h|d_?head|d_?k|d_?model|head.?(dim\w*|width|size))\b|\btemperature\b",
            r"\bscor.*\b(scal|divi|normali)|\b(scal|divi)\w*\b.*\bscores?\b|\bscaled dot|\b1 ?/",
            r"\bscal\w*\b.*\bsoftmax|\bsoftmax\b.*\bscal",
        ),
    )


def softmax(kata: Kata) -> None:
    """How the scores become weights."""
    kata.fact(
        "large scores",
        "Does the softmax have to be numerically stable?",
        "Write it so: subtract the maximum of each row. Large values come up, as a follow-up at the latest.",
        (
            r"\b(numerical|overflow|underflow|stable|stability|unstable)",
            r"\b(large|huge|big|1e3)\b.*\b(scores?|values?|activations?|numbers?|inputs?)\b",
            r"\bsubtract\w*\b.*\bmax|\bscores?\b.*\b(large|huge|big)\b",
        ),
    )
    kata.fact(
        "axis of the softmax",
        "Over which axis does the softmax go, keys or queries?",
        "Over the keys, the last axis of the scores: the weights of a query sum to 1.",
        (r"\bsoftmax\b", r"^(?=.*\bsoftmax).*\b(axis|axes|dim\w*|over|along)\b", r"\bsums? to (1|one)\b"),
    )
    kata.fact(
        "dropout",
        "Is there dropout on the weights?",
        "No dropout: the forward pass alone.",
        (r"\bdropout\b|\bdrop-out\b",),
    )


def block(kata: Kata) -> None:
    """What a whole block gives back, and how it adds."""
    kata.fact(
        "scale of the residual",
        "Is the residual stream scaled?",
        "No: what a branch gives is added as it is.",
        (
            r"\bresidual|\bbranch|\bstream\b|\bskip\b",
            r"\bscal(e|es|ed|ing)\b|\bmultipl\w+|\bfactor\b|\bweighted\b",
            r"\b(scal|multipl|weighted|factor)\w*\b.*\b(residual|branch|skip)|\b(residual|branch|skip).*\b(scal|factor)",
        ),
    )
    kata.fact(
        "width of the feed-forward",
        "How wide is the hidden layer of the feed-forward?",
        "f, whatever it is: read it off the shape of w1.",
        (r"^(?=.*\b(hidden|feed-?forward|ffn|mlp)\b).*\b(width|wide|size|dim\w*|large)\b|\b4 ?[*x]? ?d\b", r"\bf\b"),
    )
    kata.fact(
        "shapes that make no sense",
        "What if T is 0, or a shape does not fit?",
        "The core first: there every shape fits. As a follow-up, that raises ValueError.",
        (r"\bt ?(=+|is) ?(0|zero)\b|\bempty\b", r"\b(wrong|bad|invalid|odd) (rank|shape)|\bnot fit\b"),
    )
    kata.fact(
        "where positions come from",
        "Are positions added here?",
        "No: they come with the embedding, elsewhere.",
        (r"\bpositional\b|\bpositions\b.*\badd|\badd\w*\b.*\bpositions", r"\brope\b|\brotary\b|\bsinusoid"),
    )
    result(kata)
    norm(kata)


def source(kata: Kata) -> None:
    """How two sequences meet."""
    kata.fact(
        "keys and values",
        "Where do the keys and values come from, and where the queries?",
        "Keys and values come from memory, queries from x.",
        (
            r"\b(keys?|values?|quer(y|ies)|[qkv])\b",
            r"\b(comes?|from|project\w*|computed|made|built)\b",
            r"\b(keys?|k)\b.*\b(values?|v)\b",
            r"\bfrom (x|memory|the (source|encoder|target))\b|\bwhich (sequence|input)\b|\bw[qkv]\b.*\b(x|memory)\b",
        ),
    )
    kata.fact(
        "biases",
        "Do the projections have biases?",
        "No biases: the four matrices in params are all the weights that there are.",
        (r"\bbias(es)?\b", r"\b(linear|proj|dense)\w*\b.*\bbias|\bbias\w*\b.*\b(linear|proj|dense)", r"\bintercept"),
    )
    lengths(kata)
    result(kata)
    norm(kata)


def lengths(kata: Kata) -> None:
    """Whether the two lengths differ."""
    kata.fact(
        "lengths S and T",
        "Can S differ from T?",
        "Yes, S and T may differ. The batch and the width are the same on both sides.",
        (
            r"(?<!['’])\bs\b.*(?<!['’])\bt\b|(?<!['’])\bt\b.*(?<!['’])\bs\b",
            r"\b(differ|differ\w+|equal|same|longer|shorter)\b",
            r"\b(lengths?|long|width|batch)\b",
        ),
    )


def result(kata: Kata) -> None:
    """What is returned, where that is one array."""
    kata.fact(
        "what comes back",
        "Should I return the attention weights too?",
        "The result alone, (B, T, d): no attention weights.",
        (
            r"\breturn\w*\b|\bcomes? back\b|\bgive back\b",
            r"\battention (weights?|maps?|scores|probabilit\w+)\b",
            r"\b(shape|size)\b.*\b(output|result)|\b(output|result)('s)? shape\b|\btuple\b|\bone array\b",
        ),
    )


def norm(kata: Kata) -> None:
    """What a layer norm runs over."""
    kata.fact(
        "axis of the norm",
        "Over which axis does the layer norm run?",
        "Over the d features of each token: the last axis.",
        (
            r"norm\w*\b.*\b(axis|axes|dim\w*|features?|over|across|along)\b",
            r"\b(axis|axes|dim\w*|features?)\b.*norm",
            r"\b(over|across|along) (which|what|the (last|batch|features?|tokens?))\b.*\b(norm|mean|ln)|\bper token\b",
        ),
    )
