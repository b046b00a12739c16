"""What an interviewer reports of a model that trains badly, and what a good candidate makes of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Symptom:
    """What is seen in training (`says`), why, and what to test first; `mistakes` of the catalogue that produce it."""

    says: str
    cause: str
    first_test: str
    mistakes: tuple[str, ...] = ()


FUTURE_LEAKS = Symptom(
    "Training loss falls to almost 0, and what the model generates is nonsense.",
    "The future leaks: somewhere position i sees token i + 1, the answer, and learns to copy it. When it generates "
    "there is no future to copy from. The mask is missing, reversed, off by one or applied after the softmax; or a "
    "norm, a softmax or a reshape without its transpose mixes the tokens; or inputs and targets are not shifted by "
    "one.",
    "Change the last token and run the model again, untrained: the logits at every earlier position must stay as they "
    "were. Where they move, do the same layer by layer. Then print one pair of inputs and targets.",
    (
        *("no_mask", "nothing_blocked", "one_future_key_leaks", "mask_after_softmax", "mask_multiplied"),
        *("reversed_mask", "inverted_polarity", "upside_down", "norm_over_tokens", "norm_over_tokens_and_features"),
        *("norm_over_everything", "softmax_over_queries", "heads_without_transpose"),
        *("reshape_without_transpose", "merge_without_transpose", "tokens_reversed"),
    ),
)

NAN_AT_ONCE = Symptom(
    "The loss is NaN at the very first step.",
    "Something in the forward pass, or its gradient, is 0/0, inf/inf or 0 times inf before anything was learned: a "
    "row of attention with nothing to see, as in a sequence that is all padding; exp without the maximum subtracted; "
    "an epsilon that is missing, or too small for float16; a mask multiplied by -inf; the log of a probability that "
    "is 0.",
    "Run one batch forward, layer by layer, and find the first array that is not finite. In attention, look for mask "
    "rows that block every key. If the forward pass is finite, let the framework's anomaly detection find the "
    "gradient.",
    (
        *("diagonal_blocked", "everything_blocked", "mask_times_infinity", "padding_inverted", "no_max_subtracted"),
        *("min_subtracted", "mean_subtracted", "global_max", "max_over_another_axis", "divided_by_max"),
    ),
)

STUCK_AT_UNIFORM = Symptom(
    "The loss stays near log V and does not move.",
    "Log V is the loss of a model that finds all V tokens equally likely: it learns nothing of its input. Logits may "
    "be kept too small, by a softmax before the loss, which applies its own, or by a cosine; gradients may not arrive "
    "(a learning rate of 0, weights that the optimiser does not hold, a detached tensor); or the targets may not "
    "belong to the inputs.",
    "Overfit one small batch: its loss must go to almost 0. If it does not, print the norm of each gradient, the "
    "change of each weight in one step, and the range of the logits. If it does, look at the data.",
    ("softmax_applied", "cosine_logits", "unit_length_rows", "attention_lost", "embeddings_multiplied"),
)

NAN_LATER = Symptom(
    "Training goes well for some hundreds of steps, then the loss jumps and becomes NaN.",
    "The forward pass is right, since it worked until then; the steps are too large. The learning rate is too high or "
    "has no warm-up, which post-LN needs most, gradients are not clipped, or logits have grown beyond what half "
    "precision holds. One bad batch can be enough, when Adam's estimate of the variance is still small.",
    "Plot the gradient norm and the largest attention score over the steps before the jump. Then resume from a "
    "checkpoint with a tenth of the learning rate, or with clipping at 1, and see whether the jump goes away.",
    ("post_ln", "scale_multiplied"),
)

OVERFITTING = Symptom(
    "Training loss keeps falling, but validation loss has begun to rise.",
    "The model overfits: it learns its training text by heart. There is too little data for its size, or it has seen "
    "it too often. Dropout, weight decay, more data, a smaller model or stopping at the lowest validation loss all "
    "help. It is no bug of the forward pass, unless dropout is still on in evaluation.",
    "Make sure that validation runs in evaluation mode, with the same preprocessing and no text in common with "
    "training. Then train on half of the data: if the turn comes earlier, it is overfitting.",
)

BEYOND_THE_LENGTH = Symptom(
    "The model is good up to the length it was trained on, and bad beyond.",
    "Positions. A learned table has rows that were never trained, or none at all; sinusoids and rotary angles take "
    "values together that were never seen. Attention also spreads over more keys than it ever did. Relative schemes "
    "such as ALiBi, interpolated rotary positions, or training on longer text help.",
    "Plot the loss by position: a jump exactly at the training length speaks for positions. Then slide a window of "
    "the training length over the same text, numbered from 0 each time: if it is good there, it is the positions.",
)

ORDER_UNKNOWN = Symptom(
    "The next token hardly depends on the order of the words before it.",
    "Attention knows no order: permuting the earlier rows permutes keys and values alike, and the weighted sum stays "
    "the same. What order there is comes from the position embedding alone (and, over several layers, faintly from "
    "the causal mask). It is missing, the same for every position, or read along the wrong axis.",
    "Embed one token repeated T times: the rows must differ. Embed a batch of two equal sequences: they must agree.",
    ("positions_missing", "positions_by_id", "positions_over_batch"),
)

BATCH_MATTERS = Symptom(
    "The model answers a prompt well alone, and badly in a batch with longer ones.",
    "Something depends on the neighbours in the batch. Either padding is read as if it were text: its keys are not "
    "blocked, or blocked in the wrong rows; or an axis is mixed up, so that a norm, a softmax or a reshape runs "
    "across the sequences.",
    "Run one sequence alone, then in a batch with another, then padded to twice its length. Its rows must agree "
    "within rounding each time, also when the padding holds huge values.",
    (
        *("padding_ignored", "padding_of_row_zero", "padding_on_queries", "padding_after_softmax", "over_axis_0"),
        *("over_the_whole_array", "heads_before_batch", "norm_over_batch"),
    ),
)

SYMPTOMS = (
    *(FUTURE_LEAKS, NAN_AT_ONCE, STUCK_AT_UNIFORM, NAN_LATER, OVERFITTING, BEYOND_THE_LENGTH),
    *(ORDER_UNKNOWN, BATCH_MATTERS),
)


def for_mistakes(names: Iterable[str]) -> Symptom | None:
    """The first symptom that one of some mistakes produces."""
    made = set(names)
    return next((symptom for symptom in SYMPTOMS if made & set(symptom.mistakes)), None)
