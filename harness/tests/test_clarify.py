"""A candidate's own words find the term that they are about, and nothing else gets an answer."""

from __future__ import annotations

import pytest

from harness import clarify, registry
from harness.kata import Kata, Term

ASKED = [
    ("causal_mask", "Is True the entries I mask out or the ones I keep?", "what True means"),
    ("causal_mask", "what does a 1 stand for here", "what True means"),
    ("causal_mask", "Should blocked positions be True, or visible ones?", "what True means"),
    ("causal_mask", "Which polarity do you use?", "what True means"),
    ("causal_mask", "Can token i attend to itself?", "the diagonal"),
    ("causal_mask", "is the diagonal included", "the diagonal"),
    ("causal_mask", "Do you want j > i or j >= i?", "the diagonal"),
    ("causal_mask", "Is the diagonal True or False?", "the diagonal"),
    ("causal_mask", "should it be boolean or filled with -inf?", "bool or additive"),
    ("causal_mask", "What dtype do you want back?", "bool or additive"),
    ("causal_mask", "Will it be added to the scores?", "bool or additive"),
    ("causal_mask", "do I need a batch dimension?", "axes for batch and heads"),
    ("causal_mask", "Is the output just T x T or does it broadcast over heads?", "axes for batch and heads"),
    ("causal_mask", "What if the length is 0?", "lengths that make no sense"),
    ("causal_mask", "Should I raise an error for negative input?", "lengths that make no sense"),
    ("causal_mask", "is it true where one may look?", "what True means"),
    ("causal_mask", "Should it be upper or lower triangular?", "what True means"),
    ("causal_mask", "T=0?", "lengths that make no sense"),
    ("causal_mask", "may length be a float?", "lengths that make no sense"),
    ("pre_ln_block", "are there biases in the linear layers?", "biases"),
    ("pre_ln_block", "Is there a final layer norm?", "where the norm goes"),
    ("pre_ln_block", "Are the weights in torch Linear layout?", "layout of the weights"),
    ("cross_attention", "do all heads share the same padding mask?", "what True means"),
    ("cross_attention", "Should I return x plus the attention or only the attention?", "residual"),
    ("multi_head_attention", "contiguous slices per head?", "features of a head"),
    ("stable_softmax", "Over which dimension do I normalise?", "which axis"),
    ("stable_softmax", "is it always 2-D", "which axis"),
    ("stable_softmax", "Can axis be something other than the last?", "which axis"),
    ("stable_softmax", "Do the keys sum to one, or the queries?", "which axis"),
    ("stable_softmax", "what if a whole row is masked", "a slice that is all -inf"),
    ("stable_softmax", "Can there be -inf in the scores?", "a slice that is all -inf"),
    ("stable_softmax", "What happens when every key is blocked?", "a slice that is all -inf"),
    ("stable_softmax", "all entries of a slice may be minus infinity?", "a slice that is all -inf"),
    ("stable_softmax", "May I overwrite the input?", "in place or not"),
    ("stable_softmax", "Should I make a copy first?", "in place or not"),
    ("stable_softmax", "do I have to keep float32", "which dtype"),
    ("stable_softmax", "Could the scores be integers?", "which dtype"),
    ("stable_softmax", "What do you want for an empty array?", "empty axis and NaN"),
    ("stable_softmax", "how should NaNs be handled", "empty axis and NaN"),
    ("split_heads", "Do heads come before the tokens in the shape?", "order of the axes"),
    ("split_heads", "(B, H, T, dh) or (B, T, H, dh)?", "order of the axes"),
    ("split_heads", "may I fold the heads into the batch dimension", "order of the axes"),
    ("split_heads", "What order of dimensions do you want?", "order of the axes"),
    ("split_heads", "Which features go to head 0?", "blocks or interleaved"),
    ("split_heads", "are the channels interleaved across heads", "blocks or interleaved"),
    ("split_heads", "Does each head get a consecutive chunk?", "blocks or interleaved"),
    ("split_heads", "Can I assume d is divisible by heads?", "width that does not divide"),
    ("split_heads", "what if heads is 0", "width that does not divide"),
    ("split_heads", "Is d always a multiple of the number of heads?", "width that does not divide"),
    ("split_heads", "Is it fine to return a view?", "view or copy"),
    ("split_heads", "does it have to be a copy", "view or copy"),
    ("split_heads", "Can merge get a non-contiguous array?", "view or copy"),
]
PLAIN = [  # what the interviewer answers without anybody being scored
    ("cross_attention", "where do the keys and values come from?", "keys and values"),
    ("cross_attention", "is there an output projection?", "output projection"),
    ("cross_attention", "scale by sqrt(dh)?", "scale of the scores"),
    ("cross_attention", "do the heads use contiguous slices?", "layout of the heads"),
    ("cross_attention", "should I return the attention weights?", "what comes back"),
    ("cross_attention", "can S differ from T?", "lengths S and T"),
    ("cross_attention", "does wq have a bias?", "biases"),
    ("cross_attention", "Do queries come from x?", "keys and values"),
    ("cross_attention", "over which axis is the layer norm?", "axis of the norm"),
    ("pre_ln_block", "is it 1/sqrt(d_head)?", "scale of the scores"),
    ("pre_ln_block", "must heads divide d?", "width of a head"),
    ("pre_ln_block", "is wq already split per head?", "matrices of all heads"),
    ("pre_ln_block", "in what order are heads laid out in the columns of wq?", "layout of the heads"),
    ("pre_ln_block", "is the residual stream scaled?", "scale of the residual"),
    ("pre_ln_block", "How do I combine the heads?", "output projection"),
    ("pre_ln_block", "what's the hidden width of the feed-forward?", "width of the feed-forward"),
    ("post_ln_block", "are positions added?", "where positions come from"),
    ("multi_head_attention", "what shape is the mask?", "shape of the mask"),
    ("multi_head_attention", "may blocked be None?", "no mask"),
    ("attention", "are q, k, v projected already?", "projections"),
    ("attention", "should I subtract the max?", "large scores"),
    ("causal_mask", "is the row the query or the key?", "rows and columns"),
    ("tied_logits", "what if T > max_length?", "more tokens than positions"),
    ("stable_softmax", "can scores be large?", "size"),
    ("split_heads", "how does merge know the number of heads?", "merge"),
]
OFF_TOPIC = ["How are you?", "", "Could you say that again, please?", "What is the salary?", "???"]
COMMON = [
    ("Can I use torch?", "NumPy alone"),
    ("may I write a helper", "Yes"),
    ("is it okay to mutate the arguments", "No."),
    ("which precision", "float64"),
    ("Do you want edge cases handled?", "The core first"),
    ("do I have to vectorise it", "right"),
]


@pytest.mark.parametrize(("name", "text", "topic"), ASKED)
def test_a_question_finds_its_term(name: str, text: str, topic: str) -> None:
    kata = registry.kata(name)
    assert [term.topic for term in kata.terms if term is clarify.heard(kata, text)] == [topic]


@pytest.mark.parametrize(("name", "text", "topic"), PLAIN)
def test_a_plain_fact_is_told_and_credited_to_no_term(name: str, text: str, topic: str) -> None:
    kata = registry.kata(name)
    found = clarify.heard(kata, text)
    assert found not in kata.terms
    assert [fact.topic for fact in kata.facts if fact is found] == [topic]


@pytest.mark.parametrize("text", OFF_TOPIC)
@pytest.mark.parametrize("name", ["causal_mask", "stable_softmax", "split_heads"])
def test_what_is_about_nothing_is_left_to_the_candidate(name: str, text: str) -> None:
    kata = registry.kata(name)
    assert clarify.heard(kata, text) is None
    assert clarify.reply(kata, text) == clarify.YOURS


@pytest.mark.parametrize(("text", "starts"), COMMON)
def test_what_holds_for_every_kata_is_answered_without_a_term(text: str, starts: str) -> None:
    assert starts in clarify.reply(Kata(track=1, minutes=5, functions=()), text)


def test_each_common_term_is_recognised_by_its_own_question() -> None:
    for term in clarify.COMMON:
        assert clarify.find(clarify.COMMON, term.asks) is term


def test_a_term_of_the_kata_goes_before_a_common_one() -> None:
    kata = registry.kata("causal_mask")
    assert clarify.reply(kata, "Which dtype?").startswith("Boolean")


def test_the_term_with_most_matches_wins_and_the_earlier_of_two_as_good() -> None:
    one, two = Term("one", "", "1", ("red", "green")), Term("two", "", "2", ("red", "blue"), against=("pink",))
    assert clarify.find([one, two], "Red") is one
    assert clarify.find([two, one], "RED") is two
    assert clarify.find([one, two], "red and blue") is two
    assert clarify.find([one, two], "yellow") is None
    assert clarify.find([], "red") is None


def test_a_term_goes_before_a_fact_unless_the_fact_matches_better() -> None:
    kata = Kata(track=1, minutes=5, functions=())
    kata.fact("told", "", "1", ("red", "blue"))
    kata.term("scored", "", "2", ("red", "green"))
    assert [clarify.reply(kata, text) for text in ("red", "red and blue", "red and green", "blue")] == list("2121")


def test_an_assumption_is_about_the_term_that_it_contradicts() -> None:
    one, two = Term("one", "", "1", ("red",)), Term("two", "", "2", ("red",), against=("pinkish red",))
    assert clarify.find([one, two], "a pinkish red") is two
    assert clarify.contradicts(two, "a PINKISH red")
    assert not clarify.contradicts(one, "a pinkish red")
