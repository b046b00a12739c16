"""Whole designs, each built from the solutions alone and checked against PyTorch modules that hold the same weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from harness import outline, pictures, probe, registry
from harness.cli import comparison
from harness.compare import compare
from harness.families import ERF, FIRST, GELU, SECOND
from harness.judge import Judge
from harness.kata import Form
from harness.model import Answer, Call, Raised, Submission, Wrong
from harness.tests.test_scalar_models import measured
from harness.tests.test_torch import agree, drawn, solution, tensor, torch, weights
from harness.tests.test_torch import block as pre_ln_module
from harness.tests.test_torch_attention import encoder_layer
from harness.tests.test_torch_decoder import decoder_module, layer
from harness.wire import Array

F: Any = torch.nn.functional
Params = dict[str, Any]
B, T, S, d, H, f, V, LAYERS, STEPS = 2, 5, 7, 8, 2, 12, 11, 3, 6
SEEDS = pytest.mark.parametrize("seed", range(3))


def vectors(rng: np.random.Generator, **sizes: int) -> dict[str, Array]:
    """A gain near 1 for every name in g, a bias for every other."""
    return {name: rng.normal(float(name[0] == "g"), 0.5, size) for name, size in sizes.items()}


class PostLN:
    """Design 1: post-LN blocks, learned positions, a final norm and a head of its own."""

    def __init__(self, seed: int) -> None:
        rng = drawn(1, seed)
        self.E, self.P, self.head = rng.normal(size=(V, d)), rng.normal(size=(T + STEPS, d)), rng.normal(size=(d, V))
        sizes = {"g1": d, "b1": d, "g2": d, "b2": d, "c1": f, "c2": d}
        self.layers = [weights(rng, d, f) | vectors(rng, **sizes) for _ in range(LAYERS)]
        self.gamma, self.beta = vectors(rng, g=d, b=d).values()
        self.ids = rng.integers(0, V, (B, T))

    def logits(self, ids: Array) -> Array:
        x = solution("tied_logits").embed(ids, self.E, self.P)
        for params in self.layers:
            x = solution("post_ln_block").post_ln_block(x, params, H)
        logits: Array = solution("layer_norm").layer_norm(x, self.gamma, self.beta) @ self.head
        return logits

    def module(self, ids: Array) -> Any:
        """The logits of the modules."""
        tokens, places = (
            torch.nn.Embedding.from_pretrained(tensor(self.E)),
            torch.nn.Embedding.from_pretrained(tensor(self.P)),
        )
        norm, head = torch.nn.LayerNorm(d, dtype=torch.float64), torch.nn.Linear(d, V, bias=False, dtype=torch.float64)
        norm.load_state_dict({"weight": tensor(self.gamma), "bias": tensor(self.beta)})
        head.load_state_dict({"weight": tensor(self.head.T)})
        length = ids.shape[1]
        future = torch.ones(length, length, dtype=torch.bool).triu(1)
        with torch.no_grad():
            x = tokens(tensor(ids)) + places(torch.arange(length))
            for params in self.layers:
                x = encoder_layer(params, d, f, H)(x, src_mask=future)
            return head(norm(x))


def same_tokens(model: PostLN, temperature: float) -> None:
    """Both ways go on with the prompts: ours draws from a generator, theirs finds the same numbers in its shares."""
    ours, theirs, rng, uniform = model.ids, model.ids, np.random.default_rng(1), np.random.default_rng(1)
    for _ in range(STEPS):
        scores = model.module(theirs)[:, -1]
        agree(model.logits(ours)[:, -1], scores)
        if temperature:
            shares = torch.softmax(scores / temperature, -1)
            token = torch.searchsorted(shares.cumsum(-1), tensor(uniform.random((B, 1))), right=True)
        else:
            token = scores.argmax(-1, keepdim=True)
        theirs = np.concatenate([theirs, token.numpy()], axis=1)
        drawn_now = solution("sampling").next_token(model.logits(ours)[:, -1], temperature, rng=rng)
        ours = np.concatenate([ours, drawn_now[:, None]], axis=1)
        assert (ours == theirs).all()


def test_design_1_whole(judge: Judge) -> None:
    """Logits, their probabilities, the tokens of both ways to sample, the attention picture and the sanity lines."""
    for model in map(PostLN, range(3)):
        ours, theirs = model.logits(model.ids), model.module(model.ids)
        agree(ours, theirs)
        for temperature in (0.3, 1.0, 2.5):
            agree(
                solution("sampling").softmax(ours[:, -1] / temperature), torch.softmax(theirs[:, -1] / temperature, -1)
            )
            same_tokens(model, temperature)
        same_tokens(model, 0.0)
    shows_its_attention_and_its_sanity_lines(judge)


def test_design_1_is_causal_and_a_final_norm_after_post_ln_changes_next_to_nothing() -> None:
    """Post-LN rows are normalised already: once more, without gain and bias, leaves them but for the two epsilons."""
    model = PostLN(0)
    other = model.ids.copy()
    other[:, -1] = (other[:, -1] + 1) % V
    ours, changed = model.logits(model.ids), model.logits(other)
    agree(changed[:, :-1], tensor(ours[:, :-1]))
    assert np.abs(changed[:, -1] - ours[:, -1]).max() > 0.1
    x, params = drawn(3).normal(0, 30, (B, T, d)), model.layers[0] | {"g2": np.ones(d), "b2": np.zeros(d)}
    after = {"post": solution("post_ln_block").post_ln_block(x, params, H)}
    after["pre"] = solution("pre_ln_block").pre_ln_block(x, weights(drawn(4), d, f), H)
    moved = {
        name: np.abs(solution("layer_norm").layer_norm(y, np.ones(d), np.zeros(d)) - y).max()
        for name, y in after.items()
    }
    assert moved["post"] < 1e-4 < 10 < moved["pre"]


def shows_its_attention_and_its_sanity_lines(judge: Judge) -> None:
    words, path = ("the", "cat", "sat", "down"), outline.SOLUTIONS / "post_ln_block.py"
    found, report = compare(judge, "post_ln_block", path, tokens=words)
    assert report.verdict == "strong"
    [output] = [line for line in found["sanity"] if line["who"] == "yours" and line["above"] is None]
    [attention] = [line for line in found["sanity"] if line["who"] == "yours" and line["above"] is not None]
    assert (output["nan"], output["infinite"], attention["above"]) == (0, 0, 0.0)
    assert "Forward pass" in comparison.text(found, report)
    shown = [p for p in found["pictures"] if p["kind"] == "weights"]
    assert len(shown) >= 2
    for one in shown:
        assert one["rows"] == one["columns"] == list(words)
        assert not np.triu(np.array(one["expected"], float), k=1).any()
        np.testing.assert_allclose(np.array(one["yours"], float).sum(axis=1), 1)
        assert all(word in pictures.text(one) for word in words)


def gpt(rng: np.random.Generator, length: int = T + 3) -> Params:
    """The parameters of designs 2 and 4."""
    ends = {"token_embedding": rng.normal(size=(V, d)), "position_embedding": rng.normal(size=(length, d))}
    return ends | {"layers": [weights(rng, d, f) for _ in range(LAYERS)]}


def tied_module(ids: Array, params: Params) -> Any:
    """The logits of the modules for designs 2 and 4."""
    with torch.no_grad():
        E = tensor(params["token_embedding"])
        x = F.embedding(tensor(ids), E) + tensor(params["position_embedding"])[: ids.shape[1]]
        for layer_params in params["layers"]:
            x = pre_ln_module(x, layer_params, H)
        return F.linear(F.layer_norm(x, (d,)), E)


@SEEDS
def test_design_2_a_tied_gpt_and_its_loss_with_padding_masked(seed: int) -> None:
    rng, pad_id = drawn(2, seed), seed
    params, ids = gpt(rng), rng.integers(0, V, (B, T))
    ids[0, 3:] = pad_id
    theirs, targets = tied_module(ids, params), tensor(ids[:, 1:]).flatten()
    loss = F.cross_entropy(theirs[:, :-1].flatten(0, 1), targets, ignore_index=pad_id)
    ours = solution("gpt_forward").gpt_forward(ids, params, H)
    agree(ours, theirs)
    agree(np.array(solution("next_token_loss").next_token_loss(ours, ids, pad_id)), loss)


def test_design_2_every_prefix_gives_what_the_whole_gives() -> None:
    rng = drawn(2)
    params, ids = gpt(rng), rng.integers(0, V, (B, T))
    forward = solution("gpt_forward").gpt_forward
    whole = forward(ids, params, H)
    for n in range(1, T + 1):
        agree(forward(ids[:, :n], params, H), tensor(whole[:, :n]))


@SEEDS
def test_design_3_an_encoder_decoder_over_a_padded_source(seed: int) -> None:
    """From an embedded target to log-probabilities; both sequences are padded."""
    rng = drawn(3, seed)
    layers = [layer(rng, d, f) for _ in range(LAYERS)]
    E, source, memory = rng.normal(size=(V, d)), rng.integers(0, V, (B, S)), rng.normal(0, 2, (B, S, d))
    target, (gamma, beta) = rng.integers(1, V, (B, T)), vectors(rng, g=d, b=d).values()
    source[:, 0], source[0, 4:], target[1, 3:] = 1, 0, 0  # a first token is never padding, which is 0
    projection, bias = rng.normal(size=(d, V)), rng.normal(size=V)
    x = E[target] + solution("positions").sinusoidal_positions(T, d)
    hide = solution("padding_mask").padding_mask
    functions, both = solution("encoder_decoder"), (hide(source, 0), hide(target, 0))
    hidden = functions.decoder(x, memory, layers, H, gamma, beta, *both)
    with torch.no_grad():
        masks = {"memory_key_padding_mask": tensor(source == 0), "tgt_key_padding_mask": tensor(target == 0)}
        future = torch.ones(T, T, dtype=torch.bool).triu(1)
        theirs = decoder_module(layers, H, gamma, beta)(tensor(x), tensor(memory), tgt_mask=future, **masks)
        wanted = torch.log_softmax(theirs @ tensor(projection) + tensor(bias), -1)
    agree(hidden, theirs)
    agree(functions.generator(hidden, projection, bias), wanted)


@SEEDS
def test_design_4_steps_with_a_cache_equal_the_whole_and_their_work_grows_with_the_prefix(seed: int) -> None:
    rng, length = drawn(4, seed), 24
    params, ids = gpt(rng, length), rng.integers(0, V, (B, length))
    steps, whole, logits = measured(ids, params, H)
    agree(logits, tied_module(ids, params))
    assert set(np.diff(steps)) == {B * LAYERS * 2 * d}  # linear: each token costs the same more than the one before
    assert set(np.diff(whole, n=2)) == {2 * B * LAYERS * 2 * d}  # without a cache: quadratic


# Design 5, the contract of pre_ln_block under other terms: affine norms, biases everywhere, the erf GELU.
VARIANT: Form = (
    ("def layer_norm(x: np.ndarray)", "def layer_norm(x: np.ndarray, gamma: np.ndarray, beta: np.ndarray)"),
    ("np.sqrt(variance + 1e-5)", "np.sqrt(variance + 1e-5) * gamma + beta"),
    *((f'x @ params["w{n}"]', f'x @ params["w{n}"] + params["b{n}"]') for n in "qkv"),
    ('@ params["wo"]', '@ params["wo"] + params["bo"]'),
    ('gelu(x @ params["w1"]) @ params["w2"]', 'gelu(x @ params["w1"] + params["c1"]) @ params["w2"] + params["c2"]'),
    *((s, s.replace("norm(x", f'norm(x, params["g{n}"], params["b{n}"]')) for n, s in ((1, FIRST), (2, SECOND))),
    (GELU, ERF),
)
BLOCK, ORIGINAL = registry.kata("pre_ln_block"), registry.solution("pre_ln_block")


def more(params: dict[str, Array]) -> dict[str, Array]:
    """The parameters of a check with those that the variant adds, the same for the same sizes."""
    width, inner = len(params["wq"]), int(params["w1"].shape[-1])
    names = dict.fromkeys(("g1", "b1", "g2", "b2", "bq", "bk", "bv", "bo", "c2"), width) | {"c1": inner}
    added = vectors(drawn(5, width, inner), **names)
    return params | {name: vector.astype(params["wq"].dtype) for name, vector in added.items()}


class Variant(Submission):
    """A form of pre_ln_block in this process, under the variant's contract: also the reference, called directly."""

    def __init__(self, form: Form) -> None:
        self.signatures, self._functions = registry.wanted("pre_ln_block"), ORIGINAL.reference(form)

    def ask(self, calls: Sequence[Call]) -> list[Answer]:
        return [self._answer(call.args) for call in calls]

    def _answer(self, args: tuple[Any, ...]) -> Answer:
        before = [value.copy() for value in self._arrays(args)]
        try:
            with np.errstate(all="ignore"):
                value = self._functions.pre_ln_block(args[0], more(args[1]), args[2])
        except Exception as why:
            return Answer(raised=Raised(type(why).__name__, str(why), tuple(c.__name__ for c in type(why).__mro__)))
        same = all(np.array_equal(a, b, True) for a, b in zip(before, self._arrays(args), strict=True))
        return Answer(value, changed=() if same else ("an input",))

    def _arrays(self, args: tuple[Any, ...]) -> list[Array]:
        return [args[0], *args[1].values()]


class Right:
    """The variant's reference, as the checks call it."""

    def pre_ln_block(self, x: Array, params: dict[str, Array], heads: int) -> Array:
        block: Array = ORIGINAL.reference(VARIANT).pre_ln_block(x, more(params), heads)
        return block


def failed(form: Form) -> list[str]:
    """Which of the checks of pre_ln_block a form fails, under the variant's contract."""
    names = []
    for check in BLOCK.checks:
        try:
            check.function(Variant(form), Right(), probe.generator(0, "pre_ln_block", check.name))
        except Wrong:
            names.append(check.name)
    return names


def test_design_5_passes_the_checks_of_its_kata() -> None:
    assert failed(VARIANT) == []


# Mistakes in the lines that the variant leaves as they are.
APART = [
    pytest.param(form, id=f"{mistake.name}-{number}")
    for mistake in BLOCK.mistakes
    for number, form in enumerate(mistake.forms)
    if mistake.level == "core" and not ORIGINAL.places(form) & ORIGINAL.places(VARIANT)
]


@pytest.mark.parametrize("form", APART)
def test_design_5_fails_them_with_a_mistake_in_it(form: Form) -> None:
    assert failed((*VARIANT, *form))


@pytest.mark.parametrize("number", range(len(VARIANT)))
def test_design_5_is_told_from_a_block_that_lacks_one_of_its_terms(number: int) -> None:
    """All but the bias of the keys: it adds the same to all scores of a query, which no softmax can see."""
    lacks = VARIANT[number][0]
    assert ("values" in failed((*VARIANT[:number], *VARIANT[number + 1 :]))) == ("wk" not in lacks)


@SEEDS
def test_design_5_is_the_pre_norm_layer_of_pytorch(seed: int) -> None:
    rng = drawn(5, seed)
    x, params = rng.normal(0.5, 2, (B, T, d)), more(weights(rng, d, f))
    module = torch.nn.TransformerEncoderLayer(
        d, H, f, 0.0, "gelu", batch_first=True, norm_first=True, dtype=torch.float64
    ).eval()
    parts = {"linear1.weight": "w1", "linear2.weight": "w2", "linear1.bias": "c1", "linear2.bias": "c2"}
    parts |= {"norm1.weight": "g1", "norm1.bias": "b1", "norm2.weight": "g2", "norm2.bias": "b2"}
    parts |= {"self_attn.out_proj.weight": "wo", "self_attn.out_proj.bias": "bo"}
    state = {name: tensor(params[ours].T) for name, ours in parts.items()}
    state["self_attn.in_proj_weight"] = torch.cat([tensor(params["w" + n].T) for n in "qkv"])
    state["self_attn.in_proj_bias"] = torch.cat([tensor(params["b" + n]) for n in "qkv"])
    module.load_state_dict(state)
    with torch.no_grad():
        want = module(tensor(x), src_mask=torch.ones(T, T, dtype=torch.bool).triu(1))
    agree(ORIGINAL.reference(VARIANT).pre_ln_block(x, params, H), want)
