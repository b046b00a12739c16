"""What goes wrong in the decoder of an encoder-decoder model, where its three sublayers, two masks and layers meet."""

from __future__ import annotations

from harness.families.layers import MIDDLE
from harness.families.masks import ADDED, HIDE, LOW, NAN
from harness.families.words import UNLESS
from harness.kata import Form, Kata

OWN_MASK = "future if target_blocked is None else future | target_blocked"
UNMASKED = (OWN_MASK, "target_blocked")
OWN, READ = (
    'attention(normed, normed, params, "w", heads, hidden)',
    ('attention(normed, memory, params, "c", heads, memory_blocked)'),
)
LAYER = [f"x = x + {OWN}", f"x = x + {READ}", "x = x + feed_forward(normed, params)"]
NORMS = [f'normed = layer_norm(x, params["g{n}"], params["b{n}"])' for n in "123"]
RUN = "x = decoder_layer(x, memory, params, heads, memory_blocked, target_blocked)"
END = "return layer_norm(x, gamma, beta)"
LOOP = "for params in layers:"
WHICH = "which of the two masks each attention is given"


def blank(*form: tuple[str, str]) -> list[Form]:
    """A form; and the same where a query with nothing to see gives NaN, or sees everything."""
    return [(*form, *more) for more in ((), (NAN,), ((HIDE, LOW),), ((HIDE, ADDED),))]


def _own(mask: str) -> tuple[str, str]:
    """Another mask for self-attention, as a patch."""
    return OWN_MASK, mask


def _read(mask: str) -> tuple[str, str]:
    """Another mask for cross-attention, as a patch."""
    return READ, READ.replace("memory_blocked", mask)


def two_masks(kata: Kata) -> None:
    """What goes wrong with the masks of target and memory: left out, exchanged, inverted."""
    name = kata.mistake
    look = "whether both masks reach their attention, and through the stack"
    hint = "Put a huge number into a blocked row of the memory: what should happen to the result?"
    says = "the mask of the memory is ignored: cross-attention reads what is blocked"
    name("memory_mask_ignored", says, _read("None"), look=look, hint=hint)
    name(
        "target_mask_ignored", "the mask of the target is ignored: only the future is hidden", _own("future"), look=look
    )
    says = "the stack does not pass the masks on to its layers"
    name("masks_not_passed_on", says, (RUN, "x = decoder_layer(x, memory, params, heads)"), look=look)
    says = "the mask of the target takes the place of the causal one: where it is given, the future is seen"
    hint = "Pass a mask for the target that is False everywhere. Should the future then open up?"
    form = _own("future if target_blocked is None else target_blocked")
    name("target_mask_replaces_causal", says, form, look="how the two masks of self-attention meet", hint=hint)
    says = "the two masks of self-attention are and-ed: only what both of them block is hidden"
    form = (OWN_MASK, OWN_MASK.replace("|", "&"))
    name("masks_anded", says, form, look="how the two masks of self-attention meet")
    for_self = _own("future if memory_blocked is None else future | memory_blocked")
    says = "the mask of the memory lies over self-attention, where the keys are the target's"
    both = blank(_own(f"(({OWN_MASK}) if memory_blocked is None else ({OWN_MASK}) | memory_blocked)"))
    name("memory_mask_on_self", says, *blank(for_self), *both, look=WHICH)
    says = "the mask of the target lies over cross-attention, where the keys are the memory's"
    name("target_mask_on_memory", says, *blank(_read("target_blocked")), look=WHICH)
    says = "the two masks are exchanged: the target's goes to cross-attention, the memory's to self-attention"
    turned = (RUN, RUN.replace("memory_blocked, target_blocked", "target_blocked, memory_blocked"))
    hint = "The last axis of a mask belongs to the keys: whose keys are they in each of the two sublayers?"
    forms = (*blank(for_self, _read("target_blocked")), *blank(turned))
    name("masks_exchanged", says, *forms, look="the order of the arguments, and who gets which mask", hint=hint)
    says = "a causal mask lies over the memory: query t sees only its rows up to t, but the whole source is known"
    triangle = "np.triu(np.ones((T, memory.shape[1]), dtype=bool), k=1)"
    joined = _read(f"{triangle} if memory_blocked is None else {triangle} | memory_blocked")
    name("causal_over_memory", says, *blank(joined), _read(triangle), look="which mask goes over (T, S) scores")
    _inverted(kata)


def _inverted(kata: Kata) -> None:
    name, look = kata.mistake, "what True means in the masks that are passed in: blocked"
    keep = _read("None if memory_blocked is None else ~memory_blocked")
    own = (OWN_MASK, OWN_MASK.replace("| target", "| ~target"))
    says = "the masks that are passed in are inverted, as if True, or 1, meant keep: a mask of False hides everything"
    hint = "Call it with masks that are False everywhere: what should be hidden, and what is, in yours?"
    name("mask_inverted", says, *blank(keep, own), look=look, hint=hint, kind="convention")
    says = "the mask of the memory is inverted, as if True meant keep: only its blocked rows are read"
    name("memory_mask_inverted", says, *blank(keep), look=look, kind="convention")
    says = "the mask of the target is inverted, as if True meant keep: only what is blocked is seen"
    name("target_mask_inverted", says, *blank(own), look=look, kind="convention")
    says = "masks block where they are False: the causal one too, so that query i is left with the future alone"
    turned = [(HIDE, line.replace("blocked", "~blocked")) for line in (HIDE, LOW, ADDED)]
    look = "what True means where the scores are filled, and the sign of the fill"
    name("inverted_polarity", says, *turned, (turned[0], NAN), (HIDE, ADDED.replace("-1e9", "1e9")), look=look)


def three_sublayers(kata: Kata) -> None:
    """What goes wrong in the six lines of a layer: norms, residuals, and what is fed to what."""
    name = kata.mistake
    words = ("self-attention", "cross-attention", "the feed-forward")
    missing = "Let a sublayer give nothing but zeros: what should then come out of it?"
    for which, line, norm, called in zip(("self", "cross", "ffn"), LAYER, NORMS, words, strict=True):
        bare, normed = (line, line.replace("x + ", "")), (line, line.replace("x + ", "normed + "))
        name(f"residual_missing_{which}", f"the residual around {called} is missing", bare, look=MIDDLE, hint=missing)
        says = f"the residual around {called} adds the normalised x instead of x itself"
        name(f"residual_normalised_{which}", says, normed, look=MIDDLE)
        says = f"{called} is fed x without its layer norm"
        without = (f"{norm}\n    {line}", line.replace("normed", "x"))
        name(f"norm_missing_{which}", says, without, look=MIDDLE)
        name(f"{which}_lost", f"what {called} gives is lost", (line, line.replace("x = x", "_ = x")), look=MIDDLE)
    _order(kata)
    _norms(kata)


def _order(kata: Kata) -> None:
    name = kata.mistake
    says = "the norm follows each residual sum (post-norm) instead of coming before each sublayer (pre-norm)"
    raw = [(norm, "normed = x") for norm in NORMS]
    after = [(line, f"{line}\n    {norm.replace('normed', 'x')}") for line, norm in zip(LAYER, NORMS, strict=True)]
    quoted = [(line, more.replace('["', "['").replace('"]', "']")) for line, more in after]
    name("post_ln", says, (*raw, *quoted), look=MIDDLE, kind="convention")
    says = "cross-attention comes before self-attention"
    first, second = ((f"{n}\n    {s}") for n, s in zip(NORMS[:2], LAYER[:2], strict=True))
    name(
        "cross_before_self",
        says,
        (f"{first}\n    {second}", f"{second}\n    {first}"),
        look="the order of the sublayers",
    )


def _norms(kata: Kata) -> None:
    name = kata.mistake
    says = "all three sublayers share the first norm"
    shared = tuple((norm, NORMS[0].replace('"', "'")) for norm in NORMS[1:])
    name("norm_shared", says, shared, look="which gain and bias each norm is given")
    says = "the gains and biases of the first two norms are exchanged"
    swapped = tuple((a, b.replace('"', "'")) for a, b in (NORMS[:2], NORMS[1::-1]))
    name("norms_exchanged", says, swapped, look="which gain and bias each norm is given")
    kata.term(
        "where the norm goes",
        "Does the norm come before each sublayer (pre-norm) or after the residual sum (post-norm)?",
        "Before each. The residual adds the x that was not normalised.",
        (
            r"\bpre-?\W?(ln|norm)",
            r"\bpost-?\W?(ln|norm)",
            r"\bnorm.*\b(before|after|first|where)\b",
            r"\bresidual|\bskip\b",
        ),
        (
            UNLESS
            + r"(\bpost-?\W?(ln|norm)|\bnorm\w*\b[^.;]*\bafter (the|each|every) (residual|sum|add|sub|attention))",
        ),
        ("post_ln",),
    )


def two_attentions(kata: Kata) -> None:
    """What goes wrong between self-attention and cross-attention: weights, and where keys and values come from."""
    name, look = kata.mistake, "what the second attention is given"
    says = "one attention's weights are used for both sublayers"
    hint = "Change the weights of cross-attention alone: does the result move?"
    to_own, to_cross = (READ, READ.replace('"c"', "'w'")), (OWN, OWN.replace('"w"', "'c'"))
    name("weights_shared", says, to_own, to_cross, look="the names of the weights", hint=hint)
    says = "the weights are exchanged: cq to co in self-attention, wq to wo in cross-attention"
    name("weights_exchanged", says, (to_own, to_cross), look="the names of the weights")
    says = "cross-attention takes keys and values from x, so it is self-attention once more: the memory is never read"
    hint = "Change the memory alone: what in your result moves?"
    forms = [(READ, READ.replace("memory,", f"{other},")) for other in ("normed", "x")]
    name("memory_never_read", says, *forms, look=look, hint=hint)
    says = "the roles are exchanged in cross-attention: the memory asks and x answers"
    form = (READ, READ.replace("normed, memory,", "memory, normed,"))
    hint = "The result has one row for each token of the target: who must then be asking?"
    name("roles_exchanged", says, form, look=look, hint=hint)
    says = "the memory is normalised here too: the encoder has done that already"
    params = "layer_norm(memory, params['g2'], params['b2'])"
    again = RUN.replace("memory, params", "layer_norm(memory, gamma, beta), params")
    forms = [(READ, READ.replace("memory,", f"{m},")) for m in (params, "layer_norm(memory, 1, 0)")]
    name("memory_normalised", says, *forms, (RUN, again), look="what happens to memory before ck and cv")
    says = (
        "the norm of cross-attention comes too late: its queries are projected from x as self-attention normalised it"
    )
    name("cross_reads_old_norm", says, (NORMS[1], "pass"), look="which x the second norm is given")


def stack(kata: Kata) -> None:
    """What goes wrong in the loop over the layers and at its end."""
    name = kata.mistake
    says = "the memory of a layer is what the layer before gave: each of them must read the encoder's"
    hint = "Follow the memory through two layers: who else writes to that name?"
    name("memory_replaced", says, (RUN, RUN.replace("x = ", "x = memory = ")), look="what each layer reads", hint=hint)
    says = "the final norm is missing: a pre-norm stack ends in one"
    hint = "The residual stream has grown with every layer: what brings it back before the logits?"
    name("final_norm_missing", says, (END, "return x"), look="what follows the last layer", hint=hint)
    inside = (RUN, f"{RUN}\n        x = layer_norm(x, gamma, beta)")
    in_layer = (f"{LAYER[2]}\n    return x", f"{LAYER[2]}\n    return layer_norm(x, 1, 0)")
    says = "every layer ends in a norm of its own: only the stack does"
    name(
        "final_norm_in_layers", says, inside, (inside, (END, "return x")), in_layer, look="where the final norm stands"
    )
    says = "one layer is repeated: the stack runs the first layer's weights every time"
    name("layer_repeated", says, (LOOP, f"{LOOP}\n        params = layers[0]"), look="which weights each turn uses")
    says = "the layers run in the wrong order, the last one first"
    name("layers_reversed", says, (LOOP, "for params in layers[::-1]:"), look="the order of the loop")
    says = "only the last layer is run on x itself: what the layers before gave is lost"
    start = (LOOP, f"start = x\n    {LOOP}")
    name("layers_lost", says, (start, (RUN, RUN.replace("(x, ", "(start, "))), look="what each layer is given")
