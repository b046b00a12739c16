"""Embedding and tied logits: hidden checks. Reading them spoils the exercise."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness import expect, families, grids
from harness.families import UNLESS, facts
from harness.kata import Kata
from harness.model import Answer, Call, Submission, Wrong
from harness.moves import moves
from harness.probe import Rng, normal, tokens, whole

KATA = Kata(track=1, minutes=10, functions=("embed", "tied_logits"))
Case = tuple[Any, ...]


def small_embed(rng: Rng) -> Case:
    """Two tokens of whole numbers, out of a vocabulary of 3 and with room for 4 positions."""
    return np.array([[2, 0]]), whole(rng, 3, 4), whole(rng, 4, 4) * 10 + 1


def embed_case(rng: Rng, B: int, T: int, V: int, d: int, max_length: int) -> Case:
    """Ids that repeat and include 0 and V - 1, and two tables."""
    ids = rng.integers(0, V, (B, T))
    ids[0, 0], ids[-1, -1] = V - 1, 0
    return ids, normal(rng, V, d), normal(rng, max_length, d)


def logits_case(rng: Rng, B: int, T: int, V: int, d: int) -> Case:
    """Hidden rows of many means and spreads, and an embedding whose rows differ in length."""
    return tokens(rng, B, T, d), normal(rng, V, d) * rng.uniform(0.5, 2, (V, 1))


@KATA.core
def token_rows(submission: Submission, reference: Any, rng: Rng) -> None:
    """embed looks up token rows: a row of the token table moves the positions that hold that token, and no other"""
    ids, E, P = np.array([[3, 0, 3], [1, 0, 2]]), normal(rng, 4, 5), normal(rng, 6, 5)
    found = moves(submission.embed, reference.embed, (ids, E, P), 1, rng, axis=0)
    words = "Output rows 0 to 2 are the first row of the batch, 3 to 5 the second; the ids are [[3, 0, 3], [1, 0, 2]]."
    found.should_be(ids.reshape(6, 1) == np.arange(4), "output row", "token row", words)


@KATA.core
def position_rows(submission: Submission, reference: Any, rng: Rng) -> None:
    """position t of every sequence gets row t of the position table, counted from 0"""
    ids, E, P = np.array([[3, 0, 3], [1, 0, 2]]), normal(rng, 4, 5), normal(rng, 4, 5)
    found = moves(submission.embed, reference.embed, (ids, E, P), 2, rng, axis=0)
    words = "Output rows 0 to 2 are the first row of the batch, 3 to 5 the second; each has T = 3 of max_length 4."
    found.should_be(np.tile(np.arange(3), 2)[:, None] == np.arange(4), "output row", "position row", words)


@KATA.core
def embed_values(submission: Submission, reference: Any, rng: Rng) -> None:
    """embed adds the token row and the position row: any T up to max_length, any ids from 0 to V - 1"""
    cases = [small_embed(rng), embed_case(rng, 3, 5, 3, 4, 9), embed_case(rng, 2, 7, 11, 4, 7)]
    cases += [embed_case(rng, 1, 1, 5, 4, 8), embed_case(rng, 2, 1, 5, 6, 3), embed_case(rng, 2, 130, 300, 3, 140)]
    expect.agrees(submission.embed, reference.embed, cases)


@KATA.core
def tie(submission: Submission, reference: Any, rng: Rng) -> None:
    """the tie is real: a row of the token embedding moves its own column of the logits, and no other"""
    hidden, E = normal(rng, 2, 3, 6), normal(rng, 4, 6)
    [(call, answer)] = submission.tied_logits.each([(hidden, np.zeros_like(E))])
    untied(call, answer)
    found = moves(submission.tied_logits, reference.tied_logits, (hidden, E), 1, rng, axis=0, over=(0, 1))
    found.should_be(np.eye(4, dtype=bool), "logit column", "embedding row")


def untied(call: Call, answer: Answer) -> None:
    """Wrong when logits of an embedding of zeros still differ by position and by token: they come from elsewhere."""
    got = answer.value
    if not isinstance(got, np.ndarray) or got.dtype.kind != "f" or got.shape != (2, 3, 4) or not np.isfinite(got).all():
        return
    rows = got.reshape(6, 4)
    if np.ptp(rows, axis=0).max() > 1e-9 and np.ptp(rows, axis=1).max() > 1e-9:
        says = f"tied_logits(hidden, token_embedding)[0, 0, 0] is {grids.number(got[0, 0, 0])}, should be 0.0"
        words = "Here token_embedding is all zeros, so the logits come from some other matrix."
        raise Wrong(says, words, call=call, answer=answer, mistake="untied_head")


@KATA.core
def positions_alone(submission: Submission, reference: Any, rng: Rng) -> None:
    """tied_logits scores every position, and from that position's hidden row alone"""
    args = (normal(rng, 2, 4, 5), normal(rng, 3, 5))
    found = moves(submission.tied_logits, reference.tied_logits, args, 0, rng, over=(0, 2))
    found.should_be(np.eye(4, dtype=bool), "position", "hidden row")


@KATA.core
def logits_values(submission: Submission, reference: Any, rng: Rng) -> None:
    """logits are raw and exact: V above, below and equal to d, hidden rows of any mean and spread"""
    small = np.array([[[3.0, 1.0, 3.0, 1.0], [2.0, -2.0, -2.0, 2.0]]])
    table = np.array([[1.0, 0.0, 2.0, 0.0], [0.0, -3.0, 0.0, 1.0], [2.0, 1.0, -1.0, 4.0]])
    cases = [(small, table), logits_case(rng, 2, 3, 6, 6), logits_case(rng, 3, 5, 11, 8)]
    cases += [logits_case(rng, 2, 4, 7, 12), logits_case(rng, 1, 1, 5, 4), logits_case(rng, 2, 70, 9, 6)]
    expect.agrees(submission.tied_logits, reference.tied_logits, cases)


@KATA.core
def untouched(submission: Submission, reference: Any, rng: Rng) -> None:
    """neither function modifies what is passed in; five calls give the same answer"""
    expect.unchanged(submission.embed, reference.embed, [embed_case(rng, 2, 3, 6, 4, 5)])
    expect.unchanged(submission.tied_logits, reference.tied_logits, [logits_case(rng, 2, 3, 6, 4)])


@KATA.follow_up
def refuses_ids(submission: Submission, reference: Any, rng: Rng) -> None:
    """an id below 0 or beyond the vocabulary, or one that is no integer, raises ValueError"""
    E, P = whole(rng, 3, 4), whole(rng, 5, 4)
    bad = [np.array([[0, -1]]), np.array([[2, 3]]), np.array([[5, 1]]), np.array([[0.0, 1.0]])]
    expect.refuses(submission.embed, [(ids, E, P) for ids in bad])


@KATA.follow_up
def refuses_shapes(submission: Submission, reference: Any, rng: Rng) -> None:
    """a wrong rank, an empty batch, T = 0 or T > max_length raises ValueError"""
    E, P = whole(rng, 3, 4), whole(rng, 5, 4)
    bad = [np.zeros(shape, int) for shape in ((2,), (1, 2, 2), (0, 2), (2, 0))]
    cases = [(ids, E, P) for ids in bad] + [(np.zeros((1, 2), int), E, P[:1].copy())]  # one row would broadcast
    expect.refuses(submission.embed, cases)
    expect.refuses(submission.tied_logits, [(whole(rng, *shape), E) for shape in ((2, 4), (1, 2, 3, 4))])


@KATA.follow_up
def float32(submission: Submission, reference: Any, rng: Rng) -> None:
    """float32 in gives float32 out"""
    expect.keeps_float32(submission.embed, reference.embed, [embed_case(rng, 2, 3, 6, 4, 5)])
    expect.keeps_float32(submission.tied_logits, reference.tied_logits, [(normal(rng, 2, 3, 8), normal(rng, 6, 8))])


@KATA.follow_up
def layouts(submission: Submission, reference: Any, rng: Rng) -> None:
    """tables in another memory layout and ids of another width work as well"""
    ids, E, P = expect.strided(embed_case(rng, 2, 3, 6, 4, 5))
    expect.agrees(submission.embed, reference.embed, [(ids, E, P), (ids.astype(np.int32), E, P)])
    expect.agrees(submission.tied_logits, reference.tied_logits, [expect.strided(logits_case(rng, 2, 3, 6, 4))])


SLICE = "position_embedding[:T]"

name = KATA.mistake
families.head(KATA)
families.embedding(KATA, SLICE, "position_embedding[1 : T + 1]", "position_embedding[ids]")
says = "the position table is sliced over the batch axis: its rows belong to the T positions, not to the B sequences"
forms = [(SLICE, f"position_embedding[: ids.shape[0]{more}]") for more in (", None", "")]
name("positions_over_batch", says, *forms, look="which axis of ids gives the length of the slice")
says = "the two embeddings are concatenated instead of added: rows of width 2 d come back"
parts = ("tokens, 0 * tokens + positions", "0 * tokens + positions, tokens")
forms = [(families.ADDED, f"return np.concatenate([{two}], axis=-1)") for two in parts]
name("embeddings_concatenated", says, *forms, look=families.ONE_ROW)
families.untied(KATA, "0", "")
families.last_position(KATA)
families.layer_norm(KATA)
facts.norm(KATA)
says = "ids outside the vocabulary are not refused: a negative id reads from the end"
families.guard(KATA, "ids_not_refused", says, "ids.min() < 0 or ids.max() >= V", "refuses_ids")
says = "a hidden of another rank or width is not refused"
families.guard(
    KATA,
    "misfit_not_refused",
    says,
    "hidden.ndim != 3 or hidden.shape[-1] != token_embedding.shape[-1]",
    "refuses_shapes",
)
families.memory_order(KATA, "normed = layer_norm(hidden)", "normed")

KATA.hint(
    "Both functions use the same table. One goes from a token to its row; what would go from a row back to a score "
    "for each token?",
    "To embed is to pick rows: by the id in one table, by the place in the other. To score is to compare a hidden row "
    "with every row of the token table, and a dot product compares. What was done to hidden rows before each sublayer?",
    "Pick the token rows by the ids, pick as many position rows as there are tokens, from the first one on, and let "
    "them broadcast over the batch as you add. At the other end normalise each hidden row over its features, then "
    "multiply by the transposed token table, so that d is summed away and V remains. Nothing follows.",
)
KATA.shape(tokens="(B, T, d)", positions="(T, d)", mean="(B, T, 1)", variance="(B, T, 1)", normed="(B, T, d)")
KATA.term(
    "which positions",
    "Do you want logits at every position, or for the last one alone?",
    "At every position, (B, T, V): training needs them all.",
    (
        r"\b(every|each|all( the| of the)?) (positions?|tokens?|steps?)\b",
        r"\b(last|final|next) (position|token|one|step)\b",
        r"\bb, ?(t, ?)?v\b",
        r"\boutput shape\b|\bshape of the (result|output|logits)",
    ),
    (UNLESS + r"\b(last|final) (position|token|step|one)( alone| only)?\b",),
)
KATA.term(
    "tied or separate head",
    "Does the head share the token embedding, or has it a matrix (and a bias) of its own?",
    "Tied: the token embedding transposed, with no matrix of its own and no bias.",
    (
        r"\b(un)?tied\b|\btying\b|\btie\b",
        r"\bshar(e|es|ed|ing)\b|\bsame (matrix|table|weights)",
        r"\b(separate|own|another|output) (head|matrix|projection|weights?)\b",
        r"\bhead\b",
        r"\blm_head\b|\bunembed",
    ),
    (UNLESS + r"(\buntied\b|\b(separate|own|new|another|random) (output )?(head|matrix|projection)|\bbias\b)",),
)
KATA.term(
    "final layer norm",
    "Is there a final layer norm before the product, or is hidden already normalised?",
    "There is one, and it is yours to apply: hidden comes straight from the last block.",
    (
        r"\b(final|last) (layer ?)?-?norm|\bln_?f\b",
        r"\bnorm\w*\b.*\b(before|first|product|head|logits)\b",
        r"\balready norm|\bhidden\b.*\bnorm|\bnorm\w*\b.*\bhidden\b",
    ),
    (r"\balready (been )?(layer[- ]?)?norm|\b(no|without( a| the)?) (final|last) (layer ?)?norm",),
)
KATA.term(
    "positions",
    "Are the positions a learned table that is added, counted from 0?",
    "Yes: row t of position_embedding is added to the token at index t, from 0, in every sequence alike.",
    (
        r"\bpositions?\b|\bpositional\b",
        r"\blearn(ed|t)\b|\bsinusoid|\brotary\b|\brope\b",
        r"\b(from|at|start\w*) (0|1|zero|one)\b|\boffset\b",
        r"\bconcat|\badded\b|\bsum(med)?\b",
    ),
    (UNLESS + r"(\b(from|at|with) (1|one)\b|\bconcat|\bsinusoid|\brotary\b|\brope\b)",),
)
KATA.term(
    "logits or probabilities",
    "Should I return raw logits, or probabilities after a softmax?",
    "Raw logits: the loss or the sampler takes the softmax.",
    (r"\blogits?\b", r"\bprobabilit", r"\b(log[- ]?)?softmax\b", r"\braw\b|\bunnormali[sz]ed\b", r"\btemperature\b"),
    (UNLESS + r"(\b(apply|use|return|after|take|with) (a |the )?(log[- ]?)?(softmax|prob)|\bprobabilities\b)",),
)
KATA.term(
    "scale of sqrt(d)",
    "Are the token rows or the logits scaled by sqrt(d)?",
    "Neither: rows are added as they are, and the product is returned as it is.",
    (r"\bscal(e|es|ed|ing)\b", r"\bsqrt\b|\b(square )?root\b|\bd_model\b", r"\bfactor\b|\bmultipl\w*\b|\bdivid\w*"),
    (UNLESS + r"(\bscal(e|es|ed|ing)\b|\b(multipl|divid)\w*\b.*\b(sqrt|root))",),
    ("token_rows_scaled", "logits_over_sqrt_d"),
)
KATA.fact(
    "more tokens than positions",
    "What if T exceeds max_length?",
    "The core first: there it does not. As a follow-up, it raises ValueError.",
    (r"\bmax_?length\b", r"\b(exceed|longer|too long|more (tokens|positions))", r"\bt ?> ?"),
)
KATA.term(
    "ids out of range",
    "Can ids be out of range, negative, or a padding id?",
    "Assume 0 to V - 1 and no padding. Raising ValueError for anything else is a follow-up.",
    (
        r"\b(out of|in) (range|vocab)",
        r"\bnegative\b|-1\b",
        r"\bpad(ded|ding)?\b|\bunk(nown)?\b",
        r"\b(ids?|tokens?)\b.*\b(valid|range|bound)",
    ),
    (UNLESS + r"\b(clip|clamp|wrap|modulo)",),
)
KATA.question(
    "What does tying the head to the embedding save, and what does it cost?",
    "It saves V d weights: 38.6 of GPT-2 small's 124 million, and their optimiser state; rare tokens also learn from "
    "both ends. It costs freedom: one row must serve as input and as target, and its gradient is the sum of both "
    "uses. When the two ends sit on different devices it must be exchanged. In large models the share is small, so "
    "many untie.",
)
KATA.question(
    "How should a tied matrix be initialised?",
    "With a deviation of about 0.02. A normalised hidden row has length sqrt(d), so the first logits have deviation "
    "0.02 sqrt(d): about 0.6 for d = 768, and the loss starts near log V. Deviation 1 would give logits of 28. "
    "1/sqrt(V) takes the lookup for a sum over V: 0.0045 for 50,000 tokens, whose variance of 2e-5 is hardly above "
    "the norm's epsilon.",
)
KATA.question(
    "Which position predicts the next token under right padding?",
    "The last real one of each row: index length - 1, gathered row by row. Index -1 is right only for rows without "
    "padding; elsewhere it reads a padding token's answer. Causal attention keeps padding on the right from reaching "
    "earlier rows, so those logits are right as they are. In training, leave out the targets that are padding. With "
    "padding on the left, -1 is right, but positions must be shifted.",
)
KATA.question(
    "Why return logits, and not probabilities?",
    "Log-softmax from logits is stable, while the log of an underflowed probability is -inf. Temperature, top-k and "
    "penalties are defined on logits, and greedy choice needs no softmax at all. A loss such as cross-entropy takes "
    "the softmax itself: given probabilities it normalises twice, runs without an error, and stays near log V.",
)
KATA.question(
    "Why is there a layer norm before the head?",
    "In pre-LN every block adds to the stream and none normalises the sum, so its size grows with depth and differs "
    "from token to token. Without the norm that size would set the temperature of the logits. The norm hands the head "
    "rows of mean 0 and length sqrt(d), whatever the depth. After post-LN blocks it is not needed: they end in a norm.",
)
