"""Next-token loss: hidden checks. Reading them spoils the exercise."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness import expect, families
from harness.families import UNLESS
from harness.grids import influence, number
from harness.kata import Kata
from harness.model import Submission, Wrong
from harness.moves import listed
from harness.probe import Rng, normal
from harness.wire import Array

KATA = Kata(track=2, minutes=8, functions=("next_token_loss",))
Case = tuple[Any, ...]


def case(rng: Rng, B: int, T: int, V: int, pad_id: int, padding: int = 2, size: float = 2.0) -> Case:
    """Logits of ordinary size. Padding stands on the right, on the left and in the middle, of row after row."""
    ids = rng.integers(0, V, (B, T))
    ids = np.where(ids == pad_id, (pad_id + 1) % V, ids)
    for b in range(B):
        first = (T - padding, 0, 1)[b % 3]
        ids[b, first : first + padding - b % 2] = pad_id
    return normal(rng, B, T, V, deviation=size), ids, pad_id


def small_case() -> Case:
    """Three tokens out of four, in numbers that a person can follow."""
    return np.array([[[0.0, 2.0, 0.0, 1.0], [3.0, 0.0, 1.0, 0.0], [1.0, 4.0, 0.0, 2.0]]]), np.array([[2, 1, 3]]), 0


@KATA.core
def a_number(submission: Submission, reference: Any, rng: Rng) -> None:
    """the result is one number, for any batch and length"""
    cases = [small_case(), case(rng, 3, 5, 7, 4), case(rng, 1, 2, 3, 0, padding=0)]
    for (call, answer), args in zip(submission.next_token_loss.each(cases), cases, strict=True):
        expect.returned(call, answer, reference.next_token_loss(*args))


@KATA.core
def which_logits_count(submission: Submission, reference: Any, rng: Rng) -> None:
    """the logits before each real target count; those before padding, and of the last position, do not"""
    logits, ids, pad_id = normal(rng, 2, 5, 6), np.array([[4, 2, 5, 3, 3], [1, 3, 4, 5, 2]]), 3
    cases: list[Case] = [(logits, ids, pad_id)]
    for place in np.ndindex(2, 5):
        other = logits.copy()
        other[place] = normal(rng, 6, deviation=3)
        cases.append((other, ids, pad_id))
    want = reference.next_token_loss(*cases[0])
    answers = list(submission.next_token_loss.each(cases))
    base, *others = [expect.returned(call, answer, want) for call, answer in answers]
    if not np.isfinite(base):
        expect.same(*answers[0], want)
    map_ = np.array([expect.differs(value, base) for value in others]).reshape(2, 5)
    right = np.concatenate([ids[:, 1:] != pad_id, np.zeros((2, 1), bool)], axis=1)
    if (map_ != right).any():
        says = f"the logits of {counted(map_)} count in next_token_loss(logits, ids, 3), should be {counted(right)}"
        words = "The ids are [[4, 2, 5, 3, 3], [1, 3, 4, 5, 2]], and 3 is padding."
        raise Wrong(says, words, influence(map_, right, "sequence", "position"), call=answers[0][0])


def counted(map_: Array) -> str:
    """Positions in words, sequence by sequence."""
    return ", and of ".join(f"{listed('position', row)} of sequence {b}" for b, row in enumerate(map_))


@KATA.core
def without_padding(submission: Submission, reference: Any, rng: Rng) -> None:
    """without padding it is the mean of -log p over all targets"""
    cases = [small_case(), case(rng, 1, 2, 3, 0, padding=0), case(rng, 2, 6, 5, 1, padding=0)]
    cases += [case(rng, 4, 3, 9, 8, padding=0), case(rng, 1, 70, 4, 2, padding=0, size=4.0)]
    expect.agrees(submission.next_token_loss, reference.next_token_loss, cases)


@KATA.core
def with_padding(submission: Submission, reference: Any, rng: Rng) -> None:
    """targets that are padding count neither in the sum nor in the number, wherever they stand"""
    cases = [case(rng, 1, 4, 5, 0, padding=1), case(rng, 3, 6, 5, 0), case(rng, 3, 6, 5, 4), case(rng, 3, 7, 6, 2, 4)]
    logits, ids, pad_id = case(rng, 3, 6, 5, 2)
    cases += [(logits, ids, pad_id), (np.where((ids == 2)[..., None], 50 * logits, logits), ids, pad_id)]
    expect.agrees(submission.next_token_loss, reference.next_token_loss, cases)


@KATA.core
def a_sequence_of_padding(submission: Submission, reference: Any, rng: Rng) -> None:
    """a sequence that is all padding adds nothing: the other sequences decide"""
    logits, ids, _ = case(rng, 3, 5, 6, 3, padding=1)
    ids[1] = 3
    expect.agrees(submission.next_token_loss, reference.next_token_loss, [(logits, ids, 3)])


@KATA.core
def large_logits(submission: Submission, reference: Any, rng: Rng) -> None:
    """logits near 1e4 and near -1e4 give what they give near 0"""
    logits, ids, pad_id = case(rng, 2, 4, 5, 1)
    cases = [(logits + 1e4, ids, pad_id), (logits - 1e4, ids, pad_id)]
    for call, answer in submission.next_token_loss.each(cases):
        want = reference.next_token_loss(*call.args)
        got = expect.returned(call, answer, want)
        if not np.isfinite(got):
            says = f" is {number(got)}, should be {number(want)}"
            raise expect.wrong(call, answer, says, mistake="no_max_subtracted")
        expect.same(call, answer, want, "The logits are shifted by 1e4 or -1e4 here.")


@KATA.core
def unlikely_targets(submission: Submission, reference: Any, rng: Rng) -> None:
    """a target whose probability underflows to 0 costs what its logit lies below the others, not infinity"""
    ids = np.array([[1, 2, 1, 0]])
    cases = []
    for size in (370.0, 1e4):
        logits = np.zeros((1, 4, 3))
        logits[0, 0], logits[0, 1], logits[0, 2] = (size, 0, -size), (size, 1, -size), (0, 1, 2)
        cases.append((logits, ids, 0))
    expect.agrees(submission.next_token_loss, reference.next_token_loss, cases, "exp of a large negative is 0.")


@KATA.core
def nothing_to_average(submission: Submission, reference: Any, rng: Rng) -> None:
    """targets that are all padding raise ValueError, also when the first tokens are real"""
    logits = normal(rng, 2, 3, 5)
    cases = [(logits, np.full((2, 3), 4), 4), (logits, np.array([[1, 0, 0], [2, 0, 0]]), 0)]
    for call, answer in submission.next_token_loss.each(cases):
        got = answer.value
        if isinstance(got, float | np.floating) and not (got < 0 or got > 0):
            raise expect.wrong(call, answer, f" is {got}, should raise ValueError", mistake="all_padding_accepted")
    expect.refuses(submission.next_token_loss, cases)


@KATA.core
def untouched(submission: Submission, reference: Any, rng: Rng) -> None:
    """logits and ids are left as they were, and read-only ones do; five calls give the same answer"""
    expect.unchanged(submission.next_token_loss, reference.next_token_loss, [case(rng, 2, 5, 6, 1)])


@KATA.follow_up
def refuses(submission: Submission, reference: Any, rng: Rng) -> None:
    """shapes that do not fit, a single token and ids beyond the vocabulary raise ValueError"""
    logits, ids, pad_id = case(rng, 2, 4, 5, 1)
    cases = [(logits[0], ids, pad_id), (logits, ids[:, :3], pad_id), (logits, ids[0], pad_id), (logits, ids[:1], 1)]
    cases += [(logits[:, :1], ids[:, :1], 0), (logits[..., :2], ids + 1, 0), (logits, ids - 2, 1)]
    expect.refuses(submission.next_token_loss, cases)


@KATA.follow_up
def float32(submission: Submission, reference: Any, rng: Rng) -> None:
    """float32 logits give the same loss, as far as their digits go"""
    for call, answer in submission.next_token_loss.each([expect.cast(case(rng, 3, 6, 7, 2), np.float32)]):
        want = reference.next_token_loss(*call.args)
        got = expect.returned(call, answer, want)
        if not abs(got - want) <= 1e-4 * abs(want):
            raise expect.wrong(call, answer, f" is {number(got)}, should be {number(want)}")


@KATA.follow_up
def layouts(submission: Submission, reference: Any, rng: Rng) -> None:
    """arrays that are not C-contiguous and ids of another width give the same result"""
    logits, ids, pad_id = case(rng, 2, 5, 6, 1)
    cases = [(*expect.strided((logits, ids)), pad_id), (logits[..., ::-1], ids.astype(np.int32), pad_id)]
    expect.agrees(submission.next_token_loss, reference.next_token_loss, cases)


SHIFT, REAL = "scores, targets = logits[:, :-1], ids[:, 1:]", "real = targets != pad_id"
SOFTMAX, RETURN = "log_probs = log_softmax(scores)", "return float(losses[real].mean())"
TAKEN = "losses = -np.take_along_axis(log_probs, targets[..., None], axis=-1)[..., 0]"
PAIRS, COUNT, LOG = "which logits meet which ids", "which entries are averaged, and over how many", "the log-softmax"

name = KATA.mistake
says = "nothing is shifted: each position is scored on the token that it has just read, not on the next one"
hint = "Position t has read token t. What does the model have to guess there, and where in ids does that stand?"
name("no_shift", says, (SHIFT, "scores, targets = logits, ids"), look=PAIRS, hint=hint)
says = "the shift is made twice: position t is scored on the token at t + 2"
form = (SHIFT, "scores, targets = logits[:, :-2], ids[:, 2:]")
hint = "Write out the pairs for the ids 5, 6, 7, 8: which token is the answer at the position that read 5?"
name("double_shift", says, form, look="whether ids or logits were cut before", hint=hint)
says = "the shift goes the wrong way: position t is scored on the token at t - 1"
name("shifted_backwards", says, (SHIFT, "scores, targets = logits[:, 1:], ids[:, :-1]"), look=PAIRS)
says = "the targets are rolled: the last position is scored on the first token of its sequence"
hint = "What follows the last token of a sequence: do you know it?"
form = (SHIFT, "scores, targets = logits, np.roll(ids, -1, axis=1)")
name("targets_rolled", says, form, look="the last position", hint=hint)
says = "padding is scored like any other token"
hint = "Fill a sequence up to twice its length with padding: should its loss change?"
name("padding_scored", says, (RETURN, "return float(losses.mean())"), look=COUNT, hint=hint)
says = "padding is taken out of the sum, but counted in the mean: the more padding, the smaller the loss"
form = (RETURN, "return float((losses * real).mean())")
hint = "You add up the real targets alone. By which number do you divide?"
name("padding_in_the_mean", says, form, look=COUNT, hint=hint)
says = "the mean is taken over each sequence first, then over the sequences: a token of a short one weighs more"
form = (RETURN, "return float(np.mean([row[keep].mean() for row, keep in zip(losses, real)]))")
skips = "rows = [row[keep].mean() for row, keep in zip(losses, real) if keep.any()]\n    return float(np.mean(rows))"
hint = "One sequence has 2 real targets, another 200: how much should each target weigh?"
name("mean_per_row", says, form, (RETURN, skips), look=COUNT, hint=hint)
says = "padding is taken to be id 0, whatever pad_id says"
hint = "Call it with a pad_id of 3, and with the id 0 as an ordinary word."
name("pad_id_0_hard_coded", says, (REAL, "real = targets != 0"), look="what targets are compared with", hint=hint)
says = "padding is looked for among the inputs instead of the targets: it must go by the token that is predicted"
form = (REAL, "real = ids[:, :-1] != pad_id")
hint = "The last real token of a sequence predicts padding. Should that count?"
name("padding_of_the_inputs", says, form, look="which side of the shift the mask is made of", hint=hint)
says = "the mask is inverted: only padding is scored"
name("padding_inverted", says, (REAL, "real = targets == pad_id"), look="!= or ==")
says = "the sign is missing: a log-likelihood comes back, which training should raise, not a loss"
form = (RETURN, f"{RETURN.replace('losses', '-losses')}")
hint = "A probability is at most 1: which sign has its logarithm, and which must a loss have?"
name("sign_missing", says, form, look="the minus", hint=hint)
says = "the logits are taken for log-probabilities: no softmax is applied"
hint = "Add 5 to all logits of one position: should the loss change?"
name("no_softmax", says, (SOFTMAX, "log_probs = scores"), look=LOG, hint=hint)
says = "the logarithm is missing: the mean of the probabilities comes back, negated or taken from 1"
forms = [(RETURN, f"return float({p}np.exp(-losses[real]).mean())") for p in ("-", "1 - ")]
name("log_missing", says, *forms, look=LOG)
says = "the softmax is applied twice: the logits become probabilities first, and those are taken for logits"
form = (SOFTMAX, "log_probs = log_softmax(np.exp(log_softmax(scores)))")
name("softmax_twice", says, form, look=LOG)
says = "the softmax runs over the positions instead of the vocabulary"
form = (SOFTMAX, "log_probs = log_softmax(scores.swapaxes(1, 2)).swapaxes(1, 2)")
name("softmax_over_positions", says, form, look="its axis: the vocabulary is the last one")
says = "the log of a softmax is taken: a probability that underflows to 0 gives an infinite loss"
form = (SOFTMAX, "log_probs = np.log(np.exp(log_softmax(scores)))")
hint = "A token lies 1e4 below the best one. What is its probability in floating point, and the log of that?"
name("log_of_softmax", says, form, look=LOG, hint=hint)
says = "a small number is added inside the logarithm: it caps the loss of an unlikely target"
forms = [(SOFTMAX, f"log_probs = np.log(np.exp(log_softmax(scores)) + {e})") for e in ("1e-12", "1e-9", "1e-8", "1e-7")]
name("epsilon_in_the_log", says, *forms, look=LOG)
says = "the maximum is not subtracted before exp: logits of 1e4 overflow, and of -1e4 vanish"
form = ("shifted = logits - logits.max(axis=-1, keepdims=True)", "shifted = logits")
name("no_max_subtracted", says, form, look=LOG, hint="What is exp(10000), and what exp(-10000)?")
says = "the losses are added up, not averaged"
name("sum_returned", says, (RETURN, "return float(losses[real].sum())"), look=COUNT, kind="convention")
says = "the losses are added up and divided by the number of sequences, not by that of the targets"
form = (RETURN, "return float(losses[real].sum() / len(ids))")
name("divided_by_batch", says, form, look=COUNT, kind="convention")
says = "a loss for each sequence comes back instead of one number"
form = (RETURN, "return (losses * real).sum(axis=1) / real.sum(axis=1)")
name("one_loss_a_sequence", says, form, look="what is returned", kind="convention")
says = "a loss for each target comes back instead of one number"
forms = [(RETURN, f"return {what}") for what in ("losses", "losses * real", "losses[real]")]
name("one_loss_a_target", says, *forms, look="what is returned", kind="convention")
says = "the perplexity comes back, the exponential of the loss"
form = (RETURN, f"return float(np.exp({RETURN[13:-1]}))")
name("perplexity_returned", says, form, look="what is returned", kind="convention")
says = "the loss is in bits: the logarithm is to the base 2"
form = (RETURN, f"{RETURN} / float(np.log(2))")
name("in_bits", says, form, look="the base of the logarithm", kind="convention")
says = "without a target that counts the loss is 0 or NaN, instead of a ValueError"
lines = 'raise ValueError("every target is padding: there is nothing to average")'
forms = [(lines, "return 0.0"), (lines, "return float('nan')")]
hint = "The mean of no numbers: what would you rather have, a wrong number or an error?"
name("all_padding_accepted", says, *forms, look="a batch of padding alone", hint=hint)
says = "ids outside the vocabulary are not refused: a negative id reads from the end"
families.guard(KATA, "ids_not_refused", says, "ids.min() < 0 or ids.max() >= logits.shape[-1]", "refuses")
families.memory_order(KATA, "check_arguments(logits, ids)", "logits")

KATA.hint(
    "Take the ids 5, 6, 7, 8 and write down, for each position, what the model has read there and what it should say "
    "next. How many predictions can be judged?",
    "Cut one array at its end and the other at its start, so that they line up. Then only the log-probability of one "
    "entry in each row of V matters. What keeps a logarithm away from 0?",
    "Drop the last position of the logits and the first of the ids. Turn the logits into log-probabilities by "
    "subtracting the maximum and then the log of the summed exponentials. Pick the entry of each target, negate, keep "
    "those whose target is not padding, and average over all that are kept.",
)
KATA.shape(logits="(B, T, V)", ids="(B, T)", scores="(B, N, V)", targets="(B, N)", log_probs="(B, N, V)")
KATA.shape(losses="(B, N)", real="(B, N)")
KATA.term(
    "who shifts",
    "Are ids already shifted by one against the logits, or is the shift mine to make?",
    "Yours. ids are what the model read: position t predicts the token at t + 1, and the last position nothing.",
    (r"\bshift\w*|\balign\w*|\boffset", r"\bnext token\b|\blast position\b", r"\b(targets?|labels?)\b"),
    (UNLESS + r"\b(already|been) shifted\b|" + UNLESS + r"\bshifted (already|by (the )?(caller|loader))",),
)
PER_ROW = r"(\b(sums?|summed|add(ed)? up)\b|\b(mean|average|loss) (per|of each|for each|over each) (sequence|row))"
KATA.term(
    "mean or sum",
    "Do you want the mean over all tokens, the mean per sequence, or the sum?",
    "The mean over all targets of the batch that count, as one float: every target weighs the same.",
    (r"\b(mean|average\w*|sum(med)?|reduc\w*)\b", r"\b(per|each) (sequence|row)", r"\bdivid\w*|\bscalar\b"),
    (UNLESS + PER_ROW, UNLESS + r"\bdivid\w* by (the )?(b\b|batch|number of (sequences|rows))"),
    ("sum_returned", "divided_by_batch", "one_loss_a_sequence", "one_loss_a_target"),
)
KATA.term(
    "padding",
    "Is padding left out, of the loss and of the count, and where can it stand?",
    "Out of both: a position whose target is pad_id is left out. It may stand anywhere; pad_id may be any id.",
    (r"\bpad(s|ded|ding|_id)?\b", r"\bignor\w*|\bmask\w*|\bleft out\b|\bcount(s|ed)?\b", r"-100\b"),
    (
        UNLESS + r"\b(padding|pads?|pad_id)\b[^.;]*\b(counts|counted|included|scored)\b",
        UNLESS + r"\bpad(ding|_id)?\b[^.;]*\b(is|=|always) ?(id )?(0|zero)\b",
    ),
)
KATA.term(
    "logits or probabilities",
    "Are these raw logits, or has a softmax been applied?",
    "Raw logits, of any size: up to 1e4 either way.",
    (r"\blogits?\b|\braw\b", r"\b(log[- ]?)?(softmax|probabilit\w*)\b", r"\b(size|large|overflow)\b"),
    (UNLESS + r"\b(logits|they) are (already )?((log[- ]?)?probabilit|normali[sz]ed|(log[- ]?)?softmax)",),
)
KATA.term(
    "unit of the loss",
    "Is it in nats, in bits, or the perplexity?",
    "Nats: the natural logarithm. No perplexity, which is its exponential.",
    (r"\bnats?\b|\bunit\b", r"\bbits?\b", r"\bperplexity\b", r"\b(natural|base|log ?2|ln)\b"),
    (UNLESS + r"\b(bits|log ?2|base (2|two)|perplexity)\b",),
    ("in_bits", "perplexity_returned"),
)
KATA.term(
    "a batch of padding",
    "What if every target in the batch is padding?",
    "Raise ValueError: there is nothing to average.",
    (r"\b(all|only|every|nothing but)\b.*\bpad", r"\b(no|every) (real )?targets?\b|\bempty\b", r"\bnan\b"),
    (UNLESS + r"\b(all|only|every|no)\b[^.;]*\b(return|gives?|loss (is|of)|comes out) (as )?(0|zero|nan)\b",),
)
KATA.question(
    "What is teacher forcing, and what does it hide at generation time?",
    "In training every position reads the true prefix, whatever the model would have said: all T losses come from one "
    "forward pass. In generation it reads its own output. An early slip leads to prefixes that training never showed, "
    "and errors compound. So a low loss does not promise good samples: a leak of the future, or a wrong position in "
    "decoding, shows only when you generate.",
)
KATA.question(
    "Which loss do you expect at the first step, and what do other values tell?",
    "About log V: 10.8 for 50,257 tokens, as an untrained model finds all tokens about equally likely. Much higher "
    "means logits that are far too large at the start, often from the initialisation of a tied embedding. Much lower "
    "means that the answer leaks: no shift, or no mask. Exactly log V that does not move means that no gradient "
    "arrives.",
)
KATA.question(
    "What is the gradient of this loss with respect to the logits?",
    "For each target that counts, softmax(logits) minus the one-hot vector of the target, divided by the number N of "
    "targets; zero at padding and at the last position. It needs no log and no division by a probability, so it is "
    "stable too. Its entries sum to 0 over the vocabulary: the loss is blind to a constant added to all logits.",
)
KATA.question(
    "PyTorch's cross_entropy has ignore_index=-100. How does that differ from pad_id?",
    "It marks targets, not tokens: -100 is no id, so it can never be embedded, and the same token may count in one "
    "place and not in another: prompts in instruction tuning are masked that way. With pad_id an id is given up. If "
    "padding shares its id with end-of-text, masking by id also removes every true end from the loss, and the model "
    "never learns to stop.",
)
