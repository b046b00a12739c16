"""Sampling: hidden checks. Reading them spoils the exercise.

How a candidate draws is open, so draws are judged by which tokens occur and how often, never by which came where.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from harness import expect
from harness.families import UNLESS
from harness.grids import number
from harness.kata import Kata
from harness.model import Submission, Wrong
from harness.probe import Rng, gpt, normal
from harness.wire import Array

KATA = Kata(track=2, minutes=10, functions=("next_token", "generate"))
ROWS = 6000
SLACK = (np.log(2 * 6 * 5 / 1e-10) / (2 * ROWS)) ** 0.5  # Hoeffding, for all frequencies together
LOGITS = np.log(np.array([0.05, 0.2, 0.42, 0.03, 0.3]))
FILTERS = ((None, None), (None, None), (None, None), (3, None), (None, 0.6), (3, 0.72))
OPTIONS = [(heat, *filters) for heat, filters in zip((1.0, 2.5, 0.4, 1.0, 1.0, 1.6), FILTERS, strict=True)]


def law(temperature: float, top_k: int | None, top_p: float | None, mistake: str = "") -> Array:
    """How likely each token should be, or is under a mistake."""
    scaled = {"temperature_ignored": 1.0, "temperature_multiplied": 1 / temperature}.get(mistake, temperature)
    full = np.asarray(np.exp(LOGITS / scaled) / np.exp(LOGITS / scaled).sum())
    if mistake == "drawn_before_the_filter":
        return full
    order = np.argsort(full if mistake == "least_likely_kept" else -full)
    kept = np.zeros(5)
    kept[order[: top_k or 5]] = full[order[: top_k or 5]]
    ranked = (full if mistake == "top_p_before_top_k" else kept / kept.sum())[np.argsort(-full)]
    crossed = np.cumsum(ranked) - (0 if mistake == "crossing_token_dropped" else ranked) < (top_p or 2)
    crossed[0] = True
    kept[np.argsort(-full)[~crossed]] = 0
    return np.asarray(kept / kept.sum())


LAWS = ["temperature_ignored", "temperature_multiplied", "drawn_before_the_filter", "least_likely_kept"]
LAWS += ["top_p_before_top_k", "crossing_token_dropped"]


@KATA.core
def greedy(submission: Submission, reference: Any, rng: Rng) -> None:
    """temperature 0 and top_k = 1 give the most likely token of each row, as integers (B,), without an rng"""
    logits = normal(rng, 4, 7, deviation=2)
    cases = [
        (np.array([[0.0, 2.0, 1.0]]), 0),
        (logits, 0.0),
        (logits, 1.0, 1),
        (1e4 * logits, 0.7, 1),
        (logits, 0, 3, 0.5),
    ]
    expect.agrees(submission.next_token, reference.next_token, cases)


@KATA.core
def one_left(submission: Submission, reference: Any, rng: Rng) -> None:
    """where only one token is left, it is drawn: by a small top_p, a low temperature, or logits far apart"""
    logits, draws = np.log(np.array([[0.6, 0.3, 0.1], [0.1, 0.2, 0.7], [0.25, 0.7, 0.05]])), np.random.default_rng(3)
    cases = [(logits, 1.0, None, 0.5, draws), (logits, 1.0, 2, 0.1, draws), (logits, 1e-3, None, None, draws)]
    cases += [(1e4 * logits, 1.0, None, None, draws), (1e4 * logits, 1.0, 2, 0.9, draws)]
    expect.agrees(submission.next_token, reference.next_token, cases)


@KATA.core
def frequencies(submission: Submission, reference: Any, rng: Rng) -> None:
    """each token that is kept is drawn as often as it should be, and no other ever"""
    rows = np.tile(LOGITS, (ROWS, 1))
    cases = [(rows, *options, np.random.default_rng(rng.integers(1 << 30))) for options in OPTIONS]
    found, failed = [], None
    for (call, answer), options in zip(submission.next_token.each(cases), OPTIONS, strict=True):
        got = expect.returned(call, answer, np.zeros(ROWS, int))
        if got.min() < 0 or got.max() > 4:
            says = f" gives the id {got.max() if got.max() > 4 else got.min()}: there are the tokens 0 to 4"
            raise expect.wrong(call, answer, says)
        share, want = np.bincount(got, minlength=5) / ROWS, law(*options)
        found.append(share)
        wrong = (np.abs(share - want) > SLACK) | ((want == 0) & (share > 0))
        if wrong.any() and failed is None:
            failed = call, answer, int(wrong.argmax()), share, want
    if failed:
        call, answer, token, share, want = failed
        pairs = [(name, [law(*options, name) for options in OPTIONS]) for name in LAWS]
        fits = [name for name, laws in pairs if np.abs(np.array(laws) - found).max() <= SLACK]
        says = f" draws token {token} in {number(share[token])} of {ROWS} rows, should be about {number(want[token])}"
        words = f"Each row is the same, with the probabilities {np.exp(LOGITS).round(2).tolist()} at temperature 1."
        raise expect.wrong(call, answer, says, words, mistake=fits[0] if len(fits) == 1 else None)


@KATA.core
def chance(submission: Submission, reference: Any, rng: Rng) -> None:
    """rng is the only source of chance: the same state gives the same tokens, another one other tokens"""
    rows = np.zeros((64, 5))
    cases = [(rows, 1.0, None, None, np.random.default_rng(seed)) for seed in (1, 1, 2)]
    answers = list(submission.next_token.each(cases))
    one, same, other = (expect.returned(call, answer, np.zeros(64, int)) for call, answer in answers)
    if (one != same).any():
        raise Wrong("next_token gives other tokens for the same rng in the same state", call=answers[1][0])
    if (one == other).all():
        raise Wrong("next_token gives the same tokens for every rng", call=answers[2][0])


@KATA.core
def rows_apart(submission: Submission, reference: Any, rng: Rng) -> None:
    """each row keeps and draws for itself: what other rows hold does not matter"""
    logits = np.log(np.array([[0.5, 0.4, 0.06, 0.04], [0.04, 0.06, 0.4, 0.5], [0.04, 0.5, 0.06, 0.4]]))
    rows = np.tile(logits + np.array([[0.0], [30.0], [-30.0]]), (40, 1))
    for options in ((2, None), (None, 0.8)):
        [(call, answer)] = submission.next_token.each([(rows, 1.0, *options, np.random.default_rng(5))])
        got = expect.returned(call, answer, np.zeros(120, int))
        for row, keeps in enumerate(({0, 1}, {2, 3}, {1, 3})):
            if set(got[row::3].tolist()) != keeps:
                drawn = sorted(set(got[row::3].tolist()))
                says = f" draws only {drawn} in 40 rows like row {row}, should be {sorted(keeps)}"
                raise expect.wrong(call, answer, says)


@KATA.core
def generate_greedy(submission: Submission, reference: Any, rng: Rng) -> None:
    """generate goes on with the most likely token, step by step, and returns prompt and continuation"""
    params, ids = gpt(rng, 9, 8, 12, 2, 12), rng.integers(0, 9, (3, 4))
    small = gpt(rng, 5, 4, 6, 1, 6)
    cases = [
        (np.array([[1, 2]]), 1, small, 2),
        (ids, 5, params, 2),
        (ids, 8, params, 4),
        (ids[:1], 3, params, 2, 0.0, 3),
    ]
    expect.agrees(submission.generate, reference.generate, [*cases, (ids, 0, params, 2)])


@KATA.core
def generate_drawn(submission: Submission, reference: Any, rng: Rng) -> None:
    """generate passes its options on: with top_k = 2 each new token is one of the two most likely after its prefix"""
    params, ids = gpt(rng, 9, 8, 12, 1, 8), np.tile(rng.integers(0, 9, 3), (60, 1))
    params["token_embedding"] *= 0.1  # logits close together, so that each of the two is drawn, whatever the seed
    [(call, answer)] = submission.generate.each([(ids, 4, params, 2, 1.5, 2, None, np.random.default_rng(7))])
    got = expect.returned(call, answer, np.zeros((60, 7), int))
    if (got[:, :3] != ids).any() or got.min() < 0 or got.max() > 8:
        raise expect.wrong(call, answer, " does not begin with the prompt, or holds ids that do not exist")
    logits = reference.gpt_forward(got, params, 2)[:, 2:-1]
    rank = (logits > np.take_along_axis(logits, got[:, 3:, None], axis=-1)).sum(axis=-1)
    if rank.max() > 1:
        row, step = (int(n) for n in np.argwhere(rank > 1)[0])
        says = (
            f"[{row}, {3 + step}] is {got[row, 3 + step]}, the token of rank {rank[row, step]}: only 0 and 1 are kept"
        )
        raise expect.wrong(call, answer, says)
    if len(np.unique(got, axis=0)) < 4:
        raise expect.wrong(call, answer, " gives 60 times (nearly) the same continuation", "Is it drawn?")


@KATA.core
def untouched(submission: Submission, reference: Any, rng: Rng) -> None:
    """logits, ids and params are left as they were, and read-only ones do; the same call gives the same five times"""
    logits, params = np.log(np.array([[0.6, 0.3, 0.1], [0.1, 0.2, 0.7]])), gpt(rng, 9, 8, 12, 2, 12)
    expect.unchanged(submission.next_token, reference.next_token, [(logits, 0.8, 2, 0.5, np.random.default_rng(1))])
    prompts = rng.integers(0, 9, (2, 3)), 2, params, 2
    expect.unchanged(submission.generate, reference.generate, [prompts])


@KATA.follow_up
def ties(submission: Submission, reference: Any, rng: Rng) -> None:
    """all tokens that tie with the k-th are kept"""
    rows = np.tile(np.array([1.0, 2.0, 1.0, 0.0, 1.0]), (200, 1))
    [(call, answer)] = submission.next_token.each([(rows, 1.0, 2, None, np.random.default_rng(9))])
    drawn = set(expect.returned(call, answer, np.zeros(200, int)).tolist())
    if drawn != {0, 1, 2, 4}:
        says = f" draws {sorted(drawn)}, should be [0, 1, 2, 4]: 0, 2 and 4 tie for the second place"
        raise expect.wrong(call, answer, says, mistake="ties_dropped" if len(drawn) == 2 else None)


@KATA.follow_up
def refuses(submission: Submission, reference: Any, rng: Rng) -> None:
    """a missing rng, a wrong rank, impossible options and more tokens than positions raise ValueError"""
    logits, draws, params = normal(rng, 2, 5), np.random.default_rng(1), gpt(rng, 9, 8, 12, 1, 5)
    cases: list[Any] = [(logits, 1.0), (logits, 0.5, 3), (logits[0], 0), (logits, -1.0, None, None, draws)]
    cases += [(logits, 1.0, 0, None, draws), (logits, 1.0, None, 0.0, draws), (logits, 1.0, None, 1.5, draws)]
    expect.refuses(submission.next_token, cases)
    ids = rng.integers(0, 9, (2, 3))
    expect.refuses(submission.generate, [(ids, 3, params, 2), (ids[0], 1, params, 2), (ids, 2, params, 2, 1.0)])


@KATA.follow_up
def float32(submission: Submission, reference: Any, rng: Rng) -> None:
    """float32 logits work as well"""
    logits = normal(rng, 4, 7, deviation=2).astype(np.float32)
    cases = [(logits, 0.0), (logits, 1e-3, 3, 0.9, np.random.default_rng(2))]
    expect.agrees(submission.next_token, reference.next_token, cases)


SCORES, PROBS, ORDER = "scores = logits / temperature", "probs = softmax(scores)", "order = np.argsort(-probs, axis=-1)"
FILTER, BEFORE = "scores = np.where(scores < kth, -np.inf, scores)", "before = np.cumsum(ranked, axis=-1) - ranked"
KEPT, PUT = "kept = np.where(before < top_p, ranked, 0)", "np.put_along_axis(probs, order, kept, axis=-1)"
TOTAL, DRAWN = "total = np.cumsum(probs, axis=-1)", "drawn = rng.random((len(probs), 1)) * total[:, -1:]"
PICK, FED = "return (total <= drawn).sum(axis=-1)", "logits = gpt_forward(ids, params, heads)[:, -1]"
NEXT, KTH = (
    "token = next_token(logits, temperature, top_k, top_p, rng)",
    "kth = np.sort(scores, axis=-1)[:, -top_k, None]",
)
HEAT, NUCLEUS, DRAW, LOOP = (
    "where the temperature meets the logits",
    "the set of top_p",
    "the draw",
    "the loop of generate",
)

name = KATA.mistake
says = "the temperature is ignored, or divides probabilities that are normalised again, which undoes it"
hint = "Draw with temperature 0.1 and with 10: how different are the tokens, and how should they be?"
name("temperature_ignored", says, (SCORES, "scores = logits"), look=HEAT, hint=hint)
says = "the temperature comes after the softmax: probabilities are divided, and taken for logits once more"
form = (SCORES, "scores = softmax(logits) / temperature")
hint = "Which numbers does the temperature make larger or smaller: those before exp, or those after?"
name("temperature_after_softmax", says, form, look=HEAT, hint=hint)
says = "the logits are multiplied by the temperature: heat makes the draw colder"
name("temperature_multiplied", says, (SCORES, "scores = logits * temperature"), look=HEAT)
says = "the token that crosses the threshold of top_p is dropped, so what is kept does not reach top_p"
form = (KEPT, "kept = np.where((before + ranked < top_p) | (before == 0), ranked, 0)")
hint = "Probabilities 0.5, 0.3, 0.2 and top_p = 0.6: how many tokens does it take to reach 0.6?"
name("crossing_token_dropped", says, form, look=NUCLEUS, hint=hint)
says = "top_p goes by the probabilities before top_k: they are not renormalised after it"
form = (
    BEFORE,
    "full = -np.sort(-softmax(logits / temperature), axis=-1)\n        before = np.cumsum(full, axis=-1) - full",
)
name("top_p_before_top_k", says, form, look=NUCLEUS, kind="convention")
says = "the token is drawn from the unfiltered probabilities: top_k and top_p come too late"
form = (TOTAL, "total = np.cumsum(softmax(logits / temperature), axis=-1)")
hint = "Which array does your draw read: the one before the filters, or the one after?"
name("drawn_before_the_filter", says, form, look=DRAW, hint=hint)
says = "top_k keeps the k least likely tokens"
both = ((KTH, "kth = np.sort(scores, axis=-1)[:, top_k - 1, None]"), (FILTER, FILTER.replace("<", ">")))
name("least_likely_kept", says, both, look="the direction of the sort")
says = "the sort for top_p runs from the least likely token up"
name("top_p_from_the_tail", says, (ORDER, "order = np.argsort(probs, axis=-1)"), look="the direction of the sort")
says = "the rank of the drawn token comes back, not its id: the sort for top_p is never undone"
form = (PUT, "probs = kept")
hint = "Let the likeliest token be id 7. Which number do you give back for it when top_p is set?"
name("rank_for_id", says, form, look="the way back from the sorted order", hint=hint)
says = "filtered scores become 0 instead of -inf: exp(0) is 1, so they can still be drawn"
name("filtered_to_zero", says, (FILTER, FILTER.replace("-np.inf", "0")), look="what a filtered score must be")
says = "what is kept is not renormalised: the mass that was cut off goes to an id that does not exist"
name("not_renormalised", says, (DRAWN, DRAWN.replace(" * total[:, -1:]", "")), look=DRAW)
says = "one number is drawn for the whole batch: rows that are alike always get the same token"
form = (DRAWN, DRAWN.replace("rng.random((len(probs), 1))", "rng.random()"))
hint = "Give it the same row a hundred times: do you get a hundred draws?"
name("one_draw_for_all", says, form, look=DRAW, hint=hint)
says = "the most likely token is always taken: nothing is drawn"
name("always_greedy", says, (PICK, "return probs.argmax(axis=-1)"), look=DRAW)
says = "rng is not used: the draw has a generator of its own"
form = (DRAWN, DRAWN.replace("rng.random", "np.random.default_rng(0).random"))
name("own_generator", says, form, look=DRAW)
says = "generate reads the logits of the first position, which know only the first token"
name("first_position_read", says, (FED, FED.replace("-1", "0")), look=LOOP)
says = "the tokens are not fed back: every step sees the prompt alone"
form = (FED, FED.replace("(ids,", "(ids[:, : ids.shape[1] - _],"))
hint = "After the first new token, what does the model read to choose the second?"
name("not_fed_back", says, form, look=LOOP, hint=hint)
says = "only the newest token is fed to the model, without the prefix and at position 0"
name("prefix_dropped", says, (FED, FED.replace("(ids,", "(ids[:, -1:],")), look=LOOP)
says = "generate does not pass its options on: it is always greedy"
name("options_not_passed_on", says, (NEXT, "token = next_token(logits, 0.0)"), look=LOOP)
says = "the prompt is missing in what generate returns"
form = ("    return ids", "    return ids[:, ids.shape[1] - steps :]")
name("prompt_missing", says, form, look="what generate returns")
says = "exactly k tokens are kept, though more tie with the k-th"
rank = "np.argsort(np.argsort(-scores, axis=-1, kind='stable'), axis=-1)"
form = (FILTER, f"scores = np.where({rank} >= top_k, -np.inf, scores)")
name("ties_dropped", says, form, look="ranks or a threshold", level="follow-up")

KATA.hint(
    "Write the greedy case first. Then: at which point do logits become probabilities, and which of the three options "
    "come before that, which after?",
    "Blocked tokens need a score of -inf, as in attention. For top_p sort from the likeliest down and ask, at each "
    "token, how much the likelier ones already hold.",
    "Divide by the temperature. Find the k-th largest score of each row and block what lies below. Softmax. Sort the "
    "probabilities from the top, and keep a token while the sum before it is still short of top_p. Carry that back to "
    "the ids, renormalise, and draw once for each row. To generate, repeat: run the model, take the last position, "
    "draw, append.",
)
KATA.shape(logits="(B, V)", scores="(B, V)", probs="(B, V)", kth="(B, 1)", order="(B, V)", drawn="(B, 1)", token="(B,)")
KATA.term(
    "order of the filters",
    "In which order do top_k and top_p apply, and is renormalised between them?",
    "top_k first, then top_p on the renormalised rest. Temperature comes before both.",
    (r"\border\b|\bfirst\b", r"\btop[-_ ]?k\b.*\btop[-_ ]?p\b", r"\brenormali\w*|\bbetween\b"),
    (UNLESS + r"\b(top[-_ ]?p|nucleus) (comes |is |applies |goes )?(first|before)\b",),
    ("top_p_before_top_k",),
)
KATA.term(
    "the crossing token",
    "Is the token that crosses the threshold kept?",
    "Kept: the smallest set that reaches top_p. It is never empty.",
    (r"\bcross\w*|\bthreshold\b", r"\bsmallest set\b|\bnucleus\b|\breach\w*", r"\b(exceeds?|empty|at least one)\b"),
    (UNLESS + r"\b(crossing|crosses|threshold|exceeds?)\b[^.;]*\b(drop(ped)?|left out|excluded|removed)\b",),
)
KATA.term(
    "temperature 0",
    "What does a temperature of 0 mean: greedy, or an error?",
    "Greedy, the most likely token, and no rng is needed. So is top_k = 1.",
    (r"\btemperature (of )?(0|zero)\b|\bzero temp", r"\bgreedy\b|\bargmax\b", r"\bby (0|zero)\b|\bmost likely\b"),
    (
        UNLESS
        + r"\b(temperature (of )?(0|zero)|zero temperature)\b[^.;]*\b(uniform|error|raises?|invalid|not allowed)\b",
    ),
)
KATA.term(
    "source of chance",
    "Where does the chance come from: a Generator that is passed in, or a seed?",
    "From rng, a numpy.random.Generator, and from nothing else. Each row draws for itself.",
    (r"\brng\b|\bgenerator\b", r"\bseed\w*\b|\brandom\w*|\bchance\b", r"\breproduc\w*|\bdeterminis\w*"),
    (UNLESS + r"\b(seed|np\.random|global (rng|state|generator)|own (rng|generator))\b",),
)
KATA.term(
    "ties and end of text",
    "What if several tokens tie with the k-th, and does generation stop at an end token?",
    "All that tie are kept, as a follow-up. Nothing stops early: every row gets all its steps.",
    (r"\bties?\b|\btied\b|\bequal(ly)?\b", r"\b(eos|end[- ]of[- ]\w+|end token|stop\w*)\b", r"\bearly\b|\bpad\w*"),
    (UNLESS + r"\b(stops?|break|ends?) (early|at|on|when)\b",),
)
KATA.question(
    "What happens at temperature 0, near it, and at very high temperatures?",
    "Towards 0 the softmax becomes an argmax, so 0 is defined as greedy; dividing by it gives NaN. At 1 the "
    "model's own distribution is drawn. Far above, it becomes uniform over the vocabulary, and the long tail of bad "
    "tokens wins by its number. That is why heat is combined with top-k or top-p.",
)
KATA.question(
    "Top-k against top-p: when does each keep too much or too little?",
    "Top-k keeps the same number everywhere: too many where the model is sure and one token is right, too few where "
    "hundreds are plausible. Top-p adapts, as it keeps a share of the probability. But in a flat distribution it keeps "
    "a long tail, and hot logits widen it. Min-p, a threshold relative to the best token, is a third way.",
)
KATA.question(
    "Greedy decoding takes the most likely token each time. Is the sequence the most likely one?",
    "No: a first token that is slightly less likely may lead to a far better continuation. Beam search keeps several "
    "prefixes to come closer. But the likeliest text is often dull or repeats itself, so open-ended text is sampled, "
    "while translation, or code with one right answer, uses beams or greedy.",
)
