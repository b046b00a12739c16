"""KV cache: hidden checks. Reading them spoils the exercise."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness import expect, families
from harness.families import UNLESS
from harness.kata import Kata
from harness.model import Answer, Call, Submission
from harness.moves import Moves
from harness.probe import Rng, gpt, normal, whole
from harness.wire import Array, Carried

KATA = Kata(track=2, minutes=20, functions=("decode_step",))
SQUARE = ("wq", "wk", "wv", "wo")
Params = dict[str, Any]
Step = tuple[Call, Answer, Any]


def first(rng: Rng, B: int, V: int, d: int, f: int, heads: int, layers: int = 2) -> tuple[Array, None, Params, int]:
    """Arguments of a first step; the ids include V - 1 and 0."""
    ids = rng.integers(0, V, B)
    ids[0], ids[-1] = V - 1, 0
    return ids, None, gpt(rng, V, d, f, layers, 4), heads


def small_model() -> Params:
    """One block in whole numbers, with room for four tokens."""
    rng = np.random.default_rng(190)
    block = {name: whole(rng, 4, 4, top=1) for name in (*SQUARE, "w1", "w2")}
    return {"token_embedding": whole(rng, 5, 4), "position_embedding": whole(rng, 4, 4), "layers": [block]}


def step(submission: Submission, reference: Any, ids: Array, before: Step | None, params: Params, heads: int) -> Step:
    """One step after another, or a first one: its call, the answer, and what is right with a cache of its own kind."""
    cache = Carried(before[1].value[1], before[0], 1) if before else None
    [(call, answer)] = submission.decode_step.each([(ids, cache, params, heads)])
    return call, answer, reference.decode_step(*call.args)


def walk(submission: Submission, reference: Any, ids: Array, params: Params, heads: int) -> list[Step]:
    """A step for each column of ids (B, T), every one right."""
    steps: list[Step] = []
    for n, column in enumerate(ids.T):
        steps.append(step(submission, reference, column.copy(), steps[-1] if steps else None, params, heads))
        call, answer, want = steps[-1]
        words = f"This is step {n}, counted from 0; the tokens so far: {ids[:, : n + 1].tolist()}."
        expect.same(call, answer, want, words)
    return steps


@KATA.core
def kind(submission: Submission, reference: Any, rng: Rng) -> None:
    """a first step gives logits (B, V) and a cache, also for one sequence and one block"""
    cases = [first(rng, 2, 7, 8, 5, 2), first(rng, 1, 5, 4, 6, 1, 1), first(rng, 3, 4, 6, 5, 3, 3)]
    for (call, answer), args in zip(submission.decode_step.each(cases), cases, strict=True):
        expect.returned(call, answer, reference.decode_step(*args))


@KATA.core
def first_step(submission: Submission, reference: Any, rng: Rng) -> None:
    """the first step scores a sequence of one token, at position 0"""
    cases = [(np.array([2]), None, small_model(), 2), first(rng, 2, 7, 8, 5, 2), first(rng, 3, 9, 12, 7, 3, 1)]
    cases += [first(rng, 3, 4, 6, 9, 2, 3), first(rng, 2, 6, 6, 6, 1), first(rng, 2, 7, 6, 5, 6)]
    ids, cache, params, heads = first(rng, 2, 7, 8, 12, 2)
    small = {name: 0.003 * params[name] for name in ("token_embedding", "position_embedding")}
    faint = [one | {"wo": 0.01 * one["wo"], "w2": 0.01 * one["w2"]} for one in params["layers"]]
    cases.append((ids, cache, params | small | {"layers": faint}, heads))
    expect.agrees(submission.decode_step, reference.decode_step, cases)


@KATA.core
def influence(submission: Submission, reference: Any, rng: Rng) -> None:
    """the logits of step i depend on the tokens 0 to i, on every one of them"""
    ids = np.tile(rng.integers(0, 9, 4), (5, 1))
    for j in range(4):  # sequence j + 1 of the batch differs from the first in token j alone
        ids[j + 1, j] = (ids[0, j] + 1 + rng.integers(0, 7)) % 9
    params, rows, steps = gpt(rng, 9, 8, 12, 2, 6), list[Any](), list[Step]()
    for column in ids.T:
        steps.append(step(submission, reference, column.copy(), steps[-1] if steps else None, params, 2))
        logits = expect.returned(*steps[-1])
        rows.append(expect.differs(logits[1:], np.tile(logits[0], (4, 1))).any(axis=1))
    words = "The sequences of the batch are alike but for one token each, and are compared with the first."
    Moves(np.stack(rows), steps[-1][0]).should_be(np.tri(4, dtype=bool), "the logits of step", "token", words)


@KATA.core
def small_steps(submission: Submission, reference: Any, rng: Rng) -> None:
    """three steps of one sequence through one block give what the whole model gives, in whole numbers"""
    walk(submission, reference, np.array([[2, 4, 0]]), small_model(), 2)


@KATA.core
def every_step(submission: Submission, reference: Any, rng: Rng) -> None:
    """every step equals the whole model at that position, up to the last position there is"""
    walk(submission, reference, rng.integers(0, 7, (3, 6)), gpt(rng, 7, 8, 12, 2, 6), 2)


@KATA.core
def inputs_untouched(submission: Submission, reference: Any, rng: Rng) -> None:
    """token_ids and params are left as they were, in later steps too, and read-only arrays do"""
    args = first(rng, 2, 7, 8, 5, 2)
    for call, answer, _ in walk(submission, reference, np.stack([args[0]] * 2, axis=1), args[2], 2):
        if changed := [name for name in answer.changed if not name.startswith("cache")]:
            raise expect.wrong(call, answer, f" modifies {' and '.join(changed)}, which belongs to the caller")
    expect.unchanged(submission.decode_step, reference.decode_step, [args])


@KATA.follow_up
def continuations_apart(submission: Submission, reference: Any, rng: Rng) -> None:
    """two continuations of one prefix do not see each other's tokens: the cache that was passed in stays as it was"""
    params, ids = gpt(rng, 7, 8, 5, 2, 6), rng.integers(0, 7, (2, 3))
    prefix = walk(submission, reference, ids, params, 2)[-1]
    for one in (ids[:, 0], (ids[:, 0] + 1) % 7):
        found = step(submission, reference, one.copy(), prefix, params, 2)
        call, answer, want = found
        if any(name.startswith("cache") for name in answer.changed):
            says = " modifies the cache that was passed in, which belongs to the caller"
            raise expect.wrong(call, answer, says, mistake="cache_modified")
        expect.same(call, answer, want, "Another token was tried before, after the same prefix.")
        again = step(submission, reference, ids[:, 1].copy(), found, params, 2)
        expect.same(*again, "Another continuation was followed before, from the same prefix.")


@KATA.follow_up
def the_prefix_is_not_computed_again(submission: Submission, reference: Any, rng: Rng) -> None:
    """when the embedding rows of the cached tokens change, the logits of all other tokens stay"""
    params, ids = gpt(rng, 7, 8, 5, 2, 6), np.array([[1, 2], [2, 1]])
    prefix = walk(submission, reference, ids, params, 2)[-1]
    table, others = params["token_embedding"].copy(), [0, 3, 4, 5, 6]
    table[1:3] = normal(rng, 2, 8, deviation=2)
    before = step(submission, reference, np.array([4, 6]), prefix, params, 2)
    expect.same(*before)
    call, answer, want = step(submission, reference, np.array([4, 6]), prefix, params | {"token_embedding": table}, 2)
    if expect.differs(expect.returned(call, answer, want)[:, others], before[2][0][:, others]).any():
        says = " changes with the embedding of earlier tokens, whose keys and values it should have kept"
        words = "Token rows 1 and 2 were exchanged after the prefix [[1, 2], [2, 1]] had been read."
        raise expect.wrong(call, answer, says, words, mistake="prefix_computed_again")


@KATA.follow_up
def beyond_the_end(submission: Submission, reference: Any, rng: Rng) -> None:
    """a step past max_length raises ValueError"""
    params = gpt(rng, 7, 8, 5, 2, 2)
    call, answer, _ = walk(submission, reference, rng.integers(0, 7, (2, 2)), params, 2)[-1]
    expect.refuses(submission.decode_step, [(np.array([1, 2]), Carried(answer.value[1], call, 1), params, 2)])


@KATA.follow_up
def refuses(submission: Submission, reference: Any, rng: Rng) -> None:
    """ids of a wrong rank, beyond the vocabulary or not integers, another batch and wrong heads raise ValueError"""
    ids, _, params, _ = first(rng, 2, 7, 8, 5, 2)
    call, answer, _ = walk(submission, reference, ids[:, None], params, 2)[-1]
    bad = [ids[:, None], ids - 1, ids + 1, ids.astype(float)]
    cases: list[Any] = [*((wrong, None, params, 2) for wrong in bad), (ids, None, params, 3), (ids, None, params, 16)]
    expect.refuses(
        submission.decode_step, [*cases, (np.array([1, 2, 3]), Carried(answer.value[1], call, 1), params, 2)]
    )


@KATA.follow_up
def float32(submission: Submission, reference: Any, rng: Rng) -> None:
    """float32 in gives float32 out, in the second step too"""
    args = first(rng, 2, 7, 8, 5, 2)
    expect.keeps_float32(submission.decode_step, reference.decode_step, [args])
    narrow = expect.cast(args[2], np.float32)
    call, answer, want = walk(submission, reference, np.stack([args[0]] * 2, axis=1), narrow, 2)[-1]
    if expect.returned(call, answer, want).dtype != np.float32:
        raise expect.wrong(call, answer, "[0] gives float64 for float32 in")


SCORED, MIXED = "weights = softmax(scores)", "context = weights @ v"
KEYS, VALUES = (f'{x} = np.concatenate([past["{x}"], {x}], axis=2)' for x in "kv")
STACK, CALL = "for layer, before in zip(params", "attended, now = attention(layer_norm(x), layer, heads, before)"
KEPT, RETURN, ADDED = "kept.append(now)", "return logits, (n + 1, kept)", "x = x + attended"
FED = "x = x + feed_forward(layer_norm(x), layer)"
GROWS, READ, MIDDLE = "where keys and values are joined", "what the new query meets", families.MIDDLE

name = KATA.mistake
says = "the position does not advance: every token gets row 0 of the position table"
forms = [("position_embedding[n]", "position_embedding[0]"), (RETURN, "return logits, (n, kept)")]
hint = "A step is given one token. How does it know that this is the fifth?"
name("position_not_advanced", says, *forms, look="where a step learns how many came before", hint=hint)
says = "the cache is not used: the new token sees itself alone"
forms = [(CALL, CALL.replace("before)", "None)")), (RETURN, "return logits, (n + 1, past)")]
hint = "Change the first token, and look at the logits of the third step: do they move?"
name("cache_not_used", says, *forms, look="whether the cache grows, and is read", hint=hint)
says = "the mask is built for the new length alone: as row 0 of a causal mask, it hides all keys but the first"
form = (SCORED, f"scores = np.where(np.triu(np.ones(scores.shape[-2:], bool), k=1), -np.inf, scores)\n    {SCORED}")
hint = "The one new query stands at the end of n + 1 keys. Which row of the causal matrix is it, and what does it hide?"
name("mask_for_the_new_length", says, form, look="a mask in a step: one new query needs none", hint=hint)
says = "the new token does not see itself: it attends before its own key and value are appended"
seen = "max(1, scores.shape[-1] - 1)"
both = ((SCORED, f"weights = softmax(scores[..., :{seen}])"), (MIXED, f"context = weights @ v[:, :, :{seen}]"))
hint = "Which keys are open to the last row of a causal mask: is the last one among them?"
name("new_token_not_seen", says, both, look="append first, then attend", hint=hint)
says = "only the last token is kept: the cache holds one key and one value, whatever was read"
form = ('{"k": k, "v": v}', '{"k": k[:, :, -1:], "v": v[:, :, -1:]}')
name("only_the_last_kept", says, form, look="what goes into the new cache")
says = "the cache is joined on the batch axis instead of the tokens' axis"
both = ((KEYS, KEYS.replace("=2", "=0")), (VALUES, VALUES.replace("=2", "=0")))
hint = "Say the shape of the kept keys aloud: which letter grows with every step?"
name("cache_on_the_wrong_axis", says, both, look=GROWS, hint=hint)
says = "all sequences share the keys and values of the first sequence of the batch"
first_row = tuple((line, line.replace('"],', '"][:1].repeat(len(k), 0),')) for line in (KEYS, VALUES))
hint = "Decode two different sequences side by side, and each alone: are the logits the same?"
name("cache_shared_by_the_batch", says, first_row, look=GROWS, hint=hint)
says = "all layers share the cache of the first layer"
form = (f'{STACK}["layers"], past, strict=True)', f'{STACK}["layers"], past[:1] * len(past), strict=True)')
hint = "How many different sets of keys does a model of 12 blocks compute for one token?"
name("cache_shared_by_the_layers", says, form, look="which cache belongs to which block", hint=hint)
says = "the kept keys stand where the kept values belong"
name("keys_for_values", says, (VALUES, VALUES.replace('past["v"]', 'past["k"]')), look=GROWS)
says = "the kept values stand where the kept keys belong"
name("values_for_keys", says, (KEYS, KEYS.replace('past["k"]', 'past["v"]')), look=GROWS)
says = "logits of (B, 1, V) come back: the axis of the one token is still there"
form = ("logits = tied_logits(x[:, 0],", "logits = tied_logits(x,")
name("token_axis_kept", says, form, look="the shape of the result")
says = "the cache that was passed in is modified, so two continuations of one prefix see each other's tokens"
form = (KEPT, "past[len(kept)] = now\n        kept.append(now)")
hint = "Try two different tokens after one and the same cache. Does the second know of the first?"
name("cache_modified", says, form, look="append, += or an assignment into the old cache", level="follow-up", hint=hint)
says = "every step computes the whole prefix again from its tokens: right, but T times the work"
again = """def decode_step(token_ids, cache, params, heads):
    ids, state = [*(cache or ()), token_ids], None
    for one in ids:
        logits, state = step(one, state, params, heads)
    return logits, ids


def step("""
name(
    "prefix_computed_again", says, ("def decode_step(", again), look="what is kept: tokens, or keys", level="follow-up"
)
says = "the residual around attention is missing"
name("residual_missing_attention", says, (ADDED, "x = attended"), look=MIDDLE)
says = "the residual around the feed-forward is missing"
name("residual_missing_ffn", says, (FED, FED.replace("x + ", "")), look=MIDDLE)
says = "attention is fed x without its layer norm"
name("attention_not_normalised", says, (CALL, CALL.replace("layer_norm(x)", "x")), look=MIDDLE)
says = "the feed-forward is fed x without its layer norm"
name("ffn_not_normalised", says, (FED, FED.replace("layer_norm(x)", "x")), look=MIDDLE)
families.attention(KATA, feed_forward=True)
families.gelu(KATA)
families.layer_norm(KATA)
families.head(KATA)
families.untied(KATA, "0")
families.embedding(KATA, "position_embedding[n]", "position_embedding[n + 1]", "position_embedding[ids]")
says = "a token beyond the last position is not refused"
families.guard(KATA, "past_the_end", says, "n >= max_length", "beyond_the_end")
says = "ids outside the vocabulary are not refused: a negative id reads from the end"
families.guard(KATA, "ids_not_refused", says, "token_ids.min() < 0 or token_ids.max() >= V", "refuses")
says = "the layers are popped off params: the list belongs to the caller, and is empty in the next call"
loop = 'zip(params["layers"], past, strict=True)'
form = (loop, 'zip([params["layers"].pop(0) for _ in past], past, strict=True)')
KATA.mistake("input_modified", says, form, look="what happens to params")
says = "keys and values are kept in float64, which makes float64 of float32 from the second step on"
form = ('{"k": k, "v": v}', '{"k": k.astype(float), "v": v.astype(float)}')
KATA.mistake("cache_in_float64", says, form, look="what the cache holds", level="follow-up")

KATA.hint(
    "Write the forward pass of one token first. Which of its parts need to know anything of the tokens before?",
    "Attention alone does, and of each earlier token it needs two rows a layer, which no later token changes. Where "
    "else does it matter how many came before?",
    "Embed the token with the row of its position, which the cache tells. In every layer make query, key and value of "
    "the new token, put key and value behind those that were kept, and let the one query meet them all; no mask is "
    "needed, since none lies ahead. Hand back a new cache, with one token more, and leave the old one alone.",
)
KATA.shape(x="(B, 1, d)", q="(B, H, 1, dh)", k="(B, H, N, dh)", v="(B, H, N, dh)", scores="(B, H, 1, N)")
KATA.shape(weights="(B, H, 1, N)", context="(B, H, 1, dh)", logits="(B, V)")
KATA.term(
    "what is cached",
    "Is the form of the cache given, and who owns it: may I write into the one that I get?",
    "The form is yours; None starts. As a follow-up, the one passed in stays as it was, for another continuation.",
    (r"\bcach\w*|\bkeys and values\b", r"\b(form|layout|own\w*|preallocat\w*|append)\b", r"\bcontinuations?\b"),
    (UNLESS + r"\b(modify|update|write|append|overwrite|grow)\w*\b[^.;]*\bin[- ]?place\b",),
)
KATA.term(
    "one token or several",
    "Does a step take one token a sequence, or may the first call bring a whole prompt?",
    "One token a sequence in every call, the first included: token_ids is (B,).",
    (r"\b(one|single|several|many|new) tokens?\b", r"\bprompt\b|\bprefill\b", r"\b(first|each) (call|step)\b"),
    (UNLESS + r"\b(whole|entire|full) prompt\b|" + UNLESS + r"\b(several|many|multiple) tokens\b|\bprefill",),
)
KATA.term(
    "lengths in the batch",
    "Do all sequences of the batch have the same length, and is there padding?",
    "The same length and no padding: all stand at the same position.",
    (r"\bsame (length|position)\b|\blengths?\b", r"\bpad(s|ded|ding)?\b|\bragged\b", r"\bbatch\b.*\bsequences?\b"),
    (
        UNLESS
        + r"\b(different|ragged|varying|unequal) lengths?\b|"
        + UNLESS
        + r"\b(there (is|may be)|handle|with) padding",
    ),
)
KATA.term(
    "model and its scales",
    "Is it the pre-LN GPT with a tied head, and are token rows or logits scaled by the root of d?",
    "That one: learned positions from 0, pre-LN, a final norm, tied raw logits. Nothing is scaled.",
    (r"\b(pre|post)-?\W?(ln|norm)", r"\bscal(e|es|ed|ing)\b|\bsqrt\b|\broot\b", r"\b(un)?tied\b|\bhead\b"),
    (
        UNLESS
        + r"(\bpost-?\W?(ln|norm)|\buntied\b|\bscal(e|es|ed|ing)\b[^.;]*\b(rows|tokens|logits|embedding|sqrt|root))",
    ),
    ("token_rows_scaled", "logits_over_sqrt_d"),
)
KATA.question(
    "What does a step cost with a cache and without, and what does a whole sequence of n tokens cost?",
    "With a cache a layer takes about n d for the scores and values, d² for the projections, d f for the feed-forward. "
    "Without, the whole prefix runs: n² d + n d² + n d f. Over all n tokens the attention term grows as n² against n³, "
    "and the rest as n against n².",
)
KATA.question(
    "How large is the cache, and what does grouped-query attention change?",
    "2 L B n d numbers: a key and a value of width d for every layer, sequence and token. With L = 32, d = 4,096 in "
    "float16 that is 0.5 MB a token, 2 GB for 4,096 tokens. When G groups of query heads share keys and values, it "
    "shrinks by H/G, and so does what each step must read, which is what bounds decoding. Queries keep their H heads.",
)
KATA.question(
    "Why is there no mask in a step, and when does decoding with a cache need one?",
    "The new query stands last, so all kept keys are past. A mask is needed when several tokens come at once, as a "
    "prompt or a draft to verify: then row i of T new ones sees n + i + 1 keys, a (T, n + T) mask whose triangle "
    "starts at column n. And with padding, which stays blocked in every later step.",
)
KATA.question(
    "Why are prompt and generation so different in speed?",
    "A prompt is read in one pass: all weights meet T rows, so the products are large and bound by arithmetic. A step "
    "of generation reads every weight and the whole cache for one row a sequence: it is bound by memory. So batching "
    "helps generation greatly, and so do smaller caches, quantised weights, and drafts that are verified many tokens "
    "at a time.",
)
