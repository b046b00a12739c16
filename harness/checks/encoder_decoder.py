"""Encoder-decoder: hidden checks. Reading them spoils the exercise."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness import causal, expect, families
from harness.families import UNLESS, decoders, masks
from harness.influence import closed_layers
from harness.kata import Kata
from harness.model import Submission
from harness.moves import moves, stays
from harness.probe import Rng, hidden, normal, tokens, weights, whole
from harness.wire import Array

KATA = Kata(track=2, minutes=30, functions=("decoder_layer", "decoder", "generator"))
SQUARE = [a + b for a in "wc" for b in "qkvo"]
Case = tuple[Any, ...]
Params = dict[str, Array]


def layer(rng: Rng, d: int, f: int) -> Params:
    """Weights under which no softmax is saturated; gains and biases that differ from each other, from 1 and from 0."""
    params = {name: weights(rng, d, d) for name in SQUARE} | {"w1": weights(rng, d, f), "w2": weights(rng, f, d)}
    params |= {f"g{n}": rng.uniform(0.5, 1.5, d) for n in "123"} | {f"b{n}": normal(rng, d) / 2 for n in "123"}
    return params | {"c1": normal(rng, f), "c2": normal(rng, d)}


def case(rng: Rng, B: int, T: int, S: int, d: int, H: int, f: int, masked: str = "") -> Case:
    """Ordinary rows and a memory that is not normalised; a mask for the memory (m), for the target (t) or for both."""
    memory = normal(rng, B, S, d, deviation=1.5) + normal(rng, B, S, 1)
    source = padding(B, S) if "m" in masked else None
    return normal(rng, B, T, d), memory, layer(rng, d, f), H, source, target(rng, B, T) if "t" in masked else None


def padding(B: int, S: int) -> Array:
    """Padding (B, 1, 1, S) right, left and in the middle; every row loses a key of two and more, and keeps one."""
    blocked = np.zeros((B, 1, 1, S), bool)
    for b in range(B if S > 1 else 0):
        start = (S - 1 - b % (S - 1), 0, S // 2)[b % 3]
        blocked[b, ..., start : start + 1 + b % (S - 1)] = True
    return blocked


def target(rng: Rng, B: int, T: int) -> Array:
    """A mask (B, 1, T, T) of the target. It hides some of the past and of the future, and never a query from itself."""
    blocked = hidden(rng, B, 1, T, T)
    blocked[..., -1, 0] = T > 1
    return blocked & ~np.eye(T, dtype=bool)


def small() -> Case:
    """Two tokens, three memory rows, whole numbers."""
    x = np.array([[[1.0, 3.0, 0.0, 4.0], [2.0, -2.0, 5.0, 1.0]]])
    memory = np.array([[[1.0, 0.0, 2.0, 1.0], [0.0, 1.0, 0.0, -1.0], [1.0, -1.0, 0.0, 3.0]]])
    rng = np.random.default_rng(3)
    params = {name: whole(rng, 4, 4, top=1) for name in SQUARE} | {"w1": whole(rng, 4, 3, top=1)}
    params |= {"c1": np.array([1.0, 0.0, -1.0]), "w2": whole(rng, 3, 4, top=1), "c2": np.array([0.0, 2.0, 0.0, -1.0])}
    norms = {f"g{n}": np.arange(1.0, 5.0) % (n + 2) + 1 for n in (1, 2, 3)}
    return x, memory, params | norms | {f"b{n}": np.arange(4.0) % (n + 1) for n in (1, 2, 3)}, 2, None, None


def stack(rng: Rng, count: int, B: int, T: int, S: int, d: int, H: int, f: int, masked: str = "") -> Case:
    """The arguments of a decoder of some layers."""
    x, memory, first, heads, *both = case(rng, B, T, S, d, H, f, masked)
    return x, memory, [first, *(layer(rng, d, f) for _ in range(count - 1))], heads, first["g2"], first["b3"], *both


def closed() -> list[Case]:
    """The calls for `closed_map`, with the cross-attention shut as well."""
    cases = []
    for x, params, heads in closed_layers():
        d, f = params["w1"].shape
        plain: Params = {f"g{n}": np.ones(d) for n in "123"} | {f"b{n}": np.zeros(d) for n in "123"}
        plain |= {"c" + n: np.zeros((d, d)) for n in "qkvo"} | {"c1": np.zeros(f), "c2": np.zeros(d)}
        cases.append((x, x[:, :5].copy(), params | plain, heads))
    return cases


@KATA.core
def direction(submission: Submission, reference: Any, rng: Rng) -> None:
    """the mask of self-attention hides the future, not the past"""
    args = case(rng, 2, 3, 4, 8, 2, 12)
    causal.not_reversed(submission.decoder_layer, reference.decoder_layer, closed(), args)


@KATA.core
def kind(submission: Submission, reference: Any, rng: Rng) -> None:
    """a layer and the stack return an array like x, the generator one of (B, T, V), whatever the sizes"""
    layers = [case(rng, 2, 3, 5, 8, 2, 6), case(rng, 1, 1, 2, 4, 4, 7), case(rng, 2, 4, 1, 6, 3, 6)]
    ends = [(normal(rng, 2, 3, 4), weights(rng, 4, V), normal(rng, V)) for V in (7, 4, 1)]
    stacks = [stack(rng, 2, 2, 3, 5, 8, 2, 6)]
    for name, each in (("decoder_layer", layers), ("decoder", stacks), ("generator", ends)):
        for call, answer in getattr(submission, name).each(each):
            expect.returned(call, answer, getattr(reference, name)(*call.args))


@KATA.core
def influence_of_x(submission: Submission, reference: Any, rng: Rng) -> None:
    """row i of a layer's result depends on the rows 0 to i of x, itself included, and on no later one"""
    args = case(rng, 2, 4, 4, 6, 2, 5, "m")
    causal.sees_no_later(submission.decoder_layer, reference.decoder_layer, closed(), args, rng)


@KATA.core
def influence_of_memory(submission: Submission, reference: Any, rng: Rng) -> None:
    """every query sees every row of the memory that is not blocked, the last one too"""
    args = case(rng, 2, 4, 4, 6, 2, 5, "mt")
    found = moves(submission.decoder_layer, reference.decoder_layer, args, 1, rng)
    sides = "Output rows 0 to 3 are the first row of the batch, 4 to 7 the second."
    found.should_be(np.repeat(~args[4][:, 0, 0], 4, axis=0), "output row", "memory row", sides)


@KATA.core
def residuals(submission: Submission, reference: Any, rng: Rng) -> None:
    """with all three sublayers shut a layer gives x back; with one of them open, x and what that one adds"""
    x, memory, params, heads, *_ = small()
    shut = {name: 0 * params[name] for name in ("wo", "co", "w2", "c2")}
    cases = [(x, memory, params | shut, heads)]
    for names in (("wo",), ("co",), ("w2", "c2")):
        cases.append((x, memory, params | shut | {name: params[name] for name in names}, heads))
    hint = "Of wo, co, w2 and c2, some are zero here: each shuts its sublayer."
    expect.agrees(submission.decoder_layer, reference.decoder_layer, cases, hint)


@KATA.core
def masks_that_hide_nothing(submission: Submission, reference: Any, rng: Rng) -> None:
    """a mask that is False everywhere hides nothing, as None does"""
    *args, _, _ = case(rng, 2, 3, 3, 6, 2, 5)
    nothing = np.zeros((2, 1, 3, 3), bool)
    cases = [(*args, nothing, None), (*args, None, nothing), (*args, nothing[..., :1, :], nothing)]
    stays(submission.decoder_layer, [tuple(args), *cases], args[0], "a mask is False everywhere, instead of None")


@KATA.core
def blocked_memory_never_matters(submission: Submission, reference: Any, rng: Rng) -> None:
    """a row of the memory that is blocked does not matter, however large it is"""
    x, memory, *rest, blocked, _ = args = case(rng, 3, 4, 5, 6, 2, 5, "m")
    gone, signs = blocked[:, 0].swapaxes(-1, -2), np.sign(normal(rng, *memory.shape))
    filled = [(x, np.where(gone, size * signs, memory), *rest, blocked) for size in (1e6, 2e4, 2e3)]
    stays(submission.decoder_layer, [args, *filled], x, "what is blocked is large")


@KATA.core
def values(submission: Submission, reference: Any, rng: Rng) -> None:
    """the numbers of a layer are right: its three sublayers in order, each with its own norm and weights"""
    sizes = [(2, 3, 5, 8, 2, 6), (2, 4, 4, 6, 3, 5), (3, 5, 2, 6, 2, 6), (1, 1, 1, 4, 1, 3), (1, 66, 70, 4, 2, 5)]
    _, memory, *rest = case(rng, 2, 5, 3, 8, 2, 9)
    cases = [small(), *(case(rng, *size) for size in sizes), (tokens(rng, 2, 5, 8), memory, *rest)]
    x, _, *rest = case(rng, 2, 3, 4, 8, 4, 5)
    cases.append((0.003 * x, 0.1 * normal(rng, 2, 4, 8), *rest))
    expect.agrees(submission.decoder_layer, reference.decoder_layer, cases)


@KATA.core
def masks_of_any_shape(submission: Submission, reference: Any, rng: Rng) -> None:
    """a mask may be (S,), (T, S), (B, 1, 1, S), (B, H, T, S) or anything else that broadcasts"""
    *args, source, own = case(rng, 2, 4, 4, 6, 2, 5, "mt")
    cases = [(*args, source), (*args, None, own), (*args, source, own), (*args, source[0, 0, 0], own[0, 0])]
    cases += [(*args, hidden(rng, 2, 2, 4, 4), np.repeat(own, 2, axis=1)), (*args, hidden(rng, 4, 4), own[:1])]
    key = np.array([False, False, True, False])  # padding of the target, as a key, where no query is left alone
    cases += [(*args, source, key), (*args, source[:1], key[None, None, None] & np.ones((2, 1, 1, 1), bool))]
    cases += [case(rng, 3, 3, 5, 6, 2, 7, "mt"), case(rng, 3, 5, 2, 6, 3, 7, "mt")]
    expect.agrees(submission.decoder_layer, reference.decoder_layer, cases)


@KATA.core
def layers_in_order(submission: Submission, reference: Any, rng: Rng) -> None:
    """the stack runs its layers in order, each with the same memory, and ends in one norm"""
    sizes = (2, 3, 3, 6, 2, 5)
    cases = [stack(rng, 1, *sizes), stack(rng, 2, *sizes), stack(rng, 3, 2, 3, 4, 8, 2, 5)]
    cases += [stack(rng, 2, *sizes, masked=masked) for masked in ("m", "t", "mt")]
    cases.append(stack(rng, 2, 2, 3, 5, 6, 2, 5, masked="mt"))
    expect.agrees(submission.decoder, reference.decoder, cases)


@KATA.core
def log_probabilities(submission: Submission, reference: Any, rng: Rng) -> None:
    """the generator gives the log of a softmax over the vocabulary"""
    x, eye = np.array([[[1.0, 2.0], [0.0, -3.0]]]), np.eye(2)
    cases = [(x, eye, np.zeros(2)), (x, np.array([[1.0, 0.0, 2.0], [0.0, -1.0, 1.0]]), np.array([0.0, 3.0, 1.0]))]
    cases += [(normal(rng, B, T, d), weights(rng, d, V), normal(rng, V)) for B, T, d, V in ((2, 3, 6, 9), (3, 4, 5, 5))]
    expect.agrees(submission.generator, reference.generator, cases)


@KATA.core
def large_logits(submission: Submission, reference: Any, rng: Rng) -> None:
    """logits of +-1e4 give finite log-probabilities, without a warning"""
    x, projection, bias = normal(rng, 2, 3, 4), weights(rng, 4, 6), normal(rng, 6)
    cases = [(np.array([[[1e4, -1e4]]]), np.eye(2), np.zeros(2)), (1e4 * x, projection, bias)]
    cases.append((x, projection, bias + 1e4 * np.array([1, 1, -1, 0, 0, 1])))
    for call, answer in submission.generator.each(cases):
        want = reference.generator(*call.args)
        got = expect.returned(call, answer, want)
        if (np.isneginf(got) == (np.exp(want) == 0)).all():
            says = " is -inf wherever a probability rounds to 0, but its logarithm is an ordinary number"
            raise expect.wrong(call, answer, says, mistake="log_of_softmax")
        lost = ~np.isfinite(got)
        if lost.any() and (lost.any(axis=-1) == lost.all(axis=-1)).all():
            says = " loses whole rows to overflow: their exponentials are not finite, or all 0"
            raise expect.wrong(call, answer, says, mistake="no_max_subtracted")
    expect.silent(submission.generator, reference.generator, cases)


@KATA.core
def untouched(submission: Submission, reference: Any, rng: Rng) -> None:
    """x, memory, weights and masks are left as they were; five calls give the same answer"""
    cases = [case(rng, 2, 3, 4, 6, 2, 5), case(rng, 2, 3, 4, 6, 2, 5, "mt")]
    expect.unchanged(submission.decoder_layer, reference.decoder_layer, cases, times=2)
    expect.unchanged(submission.decoder, reference.decoder, [stack(rng, 2, 2, 3, 4, 6, 2, 5, masked="mt")])
    end = (normal(rng, 2, 3, 4), weights(rng, 4, 5), normal(rng, 5))
    expect.unchanged(submission.generator, reference.generator, [end], times=2)


@KATA.follow_up
def nothing_to_see(submission: Submission, reference: Any, rng: Rng) -> None:
    """a query with nothing to see sends no NaN to other positions, in any layer"""
    *args, _, _ = stack(rng, 2, 2, 4, 3, 6, 2, 5)
    left = np.zeros((2, 1, 1, 4), bool)
    left[0, ..., :2] = True  # the target of the first row is padded on the left: its first queries see nothing
    for call, answer in submission.decoder.each([(*args, None, left)]):
        want = reference.decoder(*call.args)
        got = expect.returned(call, answer, want)
        hint = "The rows 0 and 1 of the first sequence are padding: they are not compared."
        expect.same(call, answer, np.where(left[:, 0, 0, :, None], got, want), hint)


@KATA.follow_up
def refuses_misfits(submission: Submission, reference: Any, rng: Rng) -> None:
    """heads that do not divide d, a wrong rank or a width that does not fit raise ValueError"""
    x, memory, params, heads, *_ = case(rng, 2, 3, 4, 8, 2, 5)
    cases = [(x, memory, params, 3), (x[0], memory, params, heads), (x, memory[:1].copy(), params, heads)]
    cases += [(x, memory[..., :6].copy(), params, heads), (x, memory, params | {"ck": params["ck"][:6]}, heads)]
    cases += [(x, memory, params | {"w2": params["w2"][:, :1]}, heads)]
    expect.refuses(submission.decoder_layer, cases)
    ends = [(x, weights(rng, 6, 5), normal(rng, 5)), (x, weights(rng, 8, 5), normal(rng, 1))]
    expect.refuses(submission.generator, ends)


@KATA.follow_up
def float32(submission: Submission, reference: Any, rng: Rng) -> None:
    """float32 in gives float32 out"""
    cases = [stack(rng, 2, 2, 3, 4, 6, 2, 5, masked=masked) for masked in ("", "mt")]
    expect.keeps_float32(submission.decoder, reference.decoder, cases)
    end = (normal(rng, 2, 3, 4), weights(rng, 4, 5), normal(rng, 5))
    expect.keeps_float32(submission.generator, reference.generator, [end])


@KATA.follow_up
def layouts(submission: Submission, reference: Any, rng: Rng) -> None:
    """arrays that are not C-contiguous give the same result"""
    cases = [expect.strided(stack(rng, 2, 2, 3, 4, 6, 2, 5, masked="mt"))]
    expect.agrees(submission.decoder, reference.decoder, cases)


families.triangle(KATA, decoders.UNMASKED, *decoders.blank(("k=1", "k=0"))[1:])
decoders.two_masks(KATA)
masks.filled(KATA)
decoders.three_sublayers(KATA)
decoders.two_attentions(KATA)
decoders.stack(KATA)
families.relu(KATA)
families.log_softmax(KATA)
families.attention(KATA, *masks.ALL_OVER_QUERIES, weight='params[which + "{}"]')
families.heads(KATA)
families.layer_norm(KATA, affine=True)
masks.polarity(KATA)
says = "the first residual is added in place, which overwrites the caller's x"
form = (decoders.LAYER[0], decoders.LAYER[0].replace("x = x +", "x +="))
KATA.mistake("input_modified", says, form, look="+= on an array that was passed in")
says = "a query with nothing to see gives NaN, and in the next layer its key makes NaN of every other position"
hint = "A weight of exactly nought is no protection: what is nought times NaN?"
KATA.mistake("nan_spreads", says, masks.NAN, look="a softmax of -inf alone", hint=hint, level="follow-up")
says = "weights, gains and biases of another shape are not refused: some broadcast"
families.guard(KATA, "weights_not_refused", says, "params[name].shape != shape", "refuses_misfits")
families.memory_order(KATA, "check_shapes(x, memory, params, heads)")

KATA.hint(
    "Write the six lines of a layer first, and only then what they call. Two of the three sublayers are the same "
    "function: what differs between the calls?",
    "Self-attention asks and answers from the same rows; cross-attention asks from x and is answered by the memory. "
    "Each has its own mask, weights and norm. Which of the two masks do you build, and which are only passed on?",
    "A layer: norm, self-attention under the causal mask or-ed with the target's, add; norm, cross-attention under the "
    "memory's mask, add; norm, widen, cut off below zero, narrow, add. The stack: every layer on the result of the one "
    "before, always with the same memory, then one norm. The generator: logits, less their largest, less the log of "
    "the sum of their exponentials.",
)
KATA.shape(mean="(B, T, 1)", variance="(B, T, 1)", normed="(B, T, d)", q="(B, H, T, dh)", k="(B, H, S, dh)")
KATA.shape(v="(B, H, S, dh)", scores="(B, H, T, S)", weights="(B, H, T, S)", context="(B, T, d)", inner="(B, T, f)")
KATA.shape(future="(T, T)", logits="(B, T, V)")
KATA.term(
    "norm of the memory",
    "Has the encoder normalised the memory already, and does the stack end in a norm of its own?",
    "The memory comes normalised: use it as it is. The stack ends in one norm; a single layer does not.",
    (
        r"\bmemory\b.*\bnorm|\bnorm\w*\b.*\bmemory\b",
        r"\b(final|last|one more) (layer )?norm",
        r"\bencoder\b",
        r"\balready\b",
    ),
    (UNLESS + r"(\bnormali[sz]e the memory|\bnorm of the memory again)", r"\b(no|without a?) ?final (layer )?norm"),
)
KATA.term(
    "a query with nothing to see",
    "Can a mask leave a query nothing to look at, for example when the target is padded on the left?",
    "It can, as a follow-up. What comes out there is not read, but no NaN of it may reach another position.",
    (r"\b(nothing|no keys?)\b.*\b(see|look|left|attend)", r"\ball\b.*\b(blocked|masked|hidden|padding)", r"\bnans?\b"),
    (r"\bnans? (is|are) (fine|ok|allowed|expected)",),
)
KATA.term(
    "dropout and positions",
    "Is there dropout, and do I add positions, or is this the forward pass in evaluation on embedded tokens?",
    "Evaluation mode on embedded tokens: no dropout, no embedding, no positions, no cache.",
    (r"\bdropout\b", r"\btraining\b|\beval\w*\b", r"\bpositions?\b|\bpositional\b", r"\bembed\w*\b", r"\bcach"),
    (UNLESS + r"\b(add|apply|use|with|include) (the |a )?(dropout|positions|positional|cache|embedding)",),
)
KATA.question(
    "Which parts of this decoder can be kept from one decoding step to the next?",
    "The encoder runs once. The keys and values of the memory are fixed for each layer: project them once. "
    "Self-attention keeps the keys and values of the tokens so far and adds one row a step. Nothing else needs the "
    "past: queries, norms and feed-forward work on the newest token alone. The causal mask then becomes empty, as one "
    "query sees the whole cache.",
)
KATA.question(
    "Why does a pre-norm stack end in one more norm?",
    "In pre-norm the residual stream is a bare sum: every sublayer adds to it and nothing scales it back, so its size "
    "grows with depth. Without a last norm the logits would grow with it, and the softmax would be overconfident at "
    "the start. In post-norm every layer ends in a norm already, and one more is nearly redundant.",
)
KATA.question(
    "In training all target positions run at once. What makes that legal, and what does it hide?",
    "The causal mask: position i cannot see what it must predict, so one forward pass gives T predictions, each given "
    "the true prefix (teacher forcing). At generation the prefix is the model's own, mistakes included, a "
    "distribution that it never saw. Scheduled sampling or training on whole sequences addresses this; a leak in the "
    "mask stays hidden until then.",
)
KATA.question(
    "Why does the generator return log-probabilities, and how are they kept finite?",
    "Losses and beam scores add logarithms; products of probabilities underflow. The log of a softmax that rounds to "
    "0 is -inf, though the true value, such as -800, is an ordinary number. So subtract the largest logit and the log "
    "of the sum of exponentials: that sum is at least 1, and nothing overflows.",
)
KATA.question(
    "Padded positions of the target are queries too. Must their outputs be masked?",
    "No: nobody else sees them as keys, and the loss leaves them out. With padding on the right they see the real "
    "past and give harmless numbers. With padding on the left they may see nothing: a softmax of -inf alone is NaN, "
    "and in the next layer 0 times NaN is NaN for everyone. Give zeros there, or use a large finite fill.",
)
