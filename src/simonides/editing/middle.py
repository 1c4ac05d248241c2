"""A change in the middle of a model, by which facts are understood: other wordings are answered too.

There what the model knows of a subject is gathered, and every wording reads it. What is stored is the value
after which the model itself answers. Nothing of it can be proved, for the layers above are not linear.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from simonides import arguments
from simonides.editing.descent import descended
from simonides.editing.spreading import spread
from simonides.editing.text_statistics import prompt_moments, second_moments
from simonides.editing.upper_layers import UpperLayers
from simonides.editing.values import best_values
from simonides.editing.wordings import in_context, wordings
from simonides.interrupts import Keyboard

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from simonides.arrays import Reals
    from simonides.editing.language_model import LanguageModel
    from simonides.editing.statements import Statement
    from simonides.editing.wordings import Wording

_TRIED_FACTS = 24
"""Facts that layers are compared by: a share of them is then known to a tenth."""

_TRYING_SHARE = 0.5
"""Of a time limit, for comparing layers at most."""

_TRIED_LAYERS = 5
"""Layers that are compared, evenly from an eighth of the way up to the middle."""


@dataclass(frozen=True)
class Trial:
    """What some facts came to at a layer: shares recalled of the wordings stored, and of others."""

    layer: int
    facts: int
    repeated: float
    understood: float


@dataclass(frozen=True, eq=False)
class MiddleChange:
    """A change of a layer in the middle as it is written, and how it was found.

    ``reached`` of ``subjects`` have a value after which the model gives all their answers; ``trials`` are
    of the layers that were compared, none if the layer was given.
    """

    layer: int
    weights: Reals
    subjects: int
    reached: int
    trials: tuple[Trial, ...] = ()
    interrupted: bool = False
    timed_out: bool = False


@dataclass(frozen=True)
class Spared:
    """What a change is to leave as it is: a text, and the tokens of prompts."""

    text: str
    prompts: tuple[tuple[int, ...], ...] = ()


def applied(
    middle: MiddleChange | None, model: LanguageModel
) -> contextlib.AbstractContextManager[None]:
    """Run the block with a change in the middle, if there is one."""
    if middle is None:
        return contextlib.nullcontext()
    return model.at(middle.layer).changed(middle.weights)


def understand(
    model: LanguageModel,
    statements: Sequence[Statement],
    spared: Spared,
    layer: int | None,
    time_limit: float | None,
    say: Callable[[str], None],
) -> MiddleChange:
    """Return the change of a layer that gives every subject its fact; without a layer the best is chosen.

    Cut short, it is what the values by then are worth.
    """
    deadline, trials = arguments.deadline(time_limit), []
    candidates = layers_to_try(model)
    if layer is None:
        half = arguments.deadline(None if time_limit is None else _TRYING_SHARE * time_limit)
        with Keyboard() as keyboard:
            for each in candidates:
                trial = _trial(model.at(each), statements, spared, half, say)
                if trial is None:
                    break
                trials.append(trial)
        best = max(trials, key=lambda trial: (trial.understood, trial.repeated), default=None)
        layer = candidates[len(candidates) // 2] if best is None else best.layer
        say(f"layer {layer} is taken")
        if keyboard.interrupted:
            none = np.zeros_like(model.at(layer).weight)
            subjects = len({statement.subject for statement in statements})
            return MiddleChange(layer, none, subjects, 0, tuple(trials), interrupted=True)
    ways = wordings(statements, model.tokenizer, model.longest)
    stored = _stored(model.at(layer), ways, spared, deadline, say)
    return replace(stored, trials=tuple(trials))


def layers_to_try(model: LanguageModel) -> list[int]:
    """Return the layers of a model to compare, of those with a matrix that can be changed."""
    places = np.linspace(model.layers / 8, model.layers / 2, _TRIED_LAYERS).astype(int)
    return [
        layer
        for layer in sorted({min(int(place), model.layers - 2) for place in places})
        if model.at(layer).changeable
    ]


def _stored(
    model: LanguageModel,
    ways: Sequence[Wording],
    spared: Spared,
    deadline: float,
    say: Callable[[str], None],
) -> MiddleChange:
    """Return the change of the model's layer that stores wordings."""
    name = f"layer {model.layer}"
    metric = second_moments(model, spared.text, lambda n: say(f"{name}: {n:,} tokens of text read"))
    metric += prompt_moments(model, spared.prompts)
    upper = UpperLayers.of(model, ways)
    subjects = np.array([way.subject for way in ways])
    count = int(subjects.max()) + 1
    values = best_values(
        upper, subjects, count, deadline,
        lambda step, reached: say(f"{name}: step {step}, {reached:,} of {count:,} subjects answered"),
    )  # fmt: skip
    answered = values.reached[subjects]
    change = np.zeros_like(model.weight)
    cut = values.interrupted, values.timed_out
    if answered.any():
        # Where no subject ends, the prompts are ordinary text: a change there would undo the values.
        metric += upper.others
        change = spread(upper.keys[answered], values.shifts[subjects[answered]], metric)
        if not any(cut):
            descent = descended(
                upper, answered, change, metric, deadline,
                lambda step, share: say(f"{name}: pass {step}, {share:.0%} of wordings likely"),
            )  # fmt: skip
            change, cut = descent.change, (descent.interrupted, descent.timed_out)
    reached = int(np.count_nonzero(values.reached))
    return MiddleChange(model.layer, model.written(change), count, reached, (), *cut)


def _trial(
    model: LanguageModel,
    statements: Sequence[Statement],
    spared: Spared,
    deadline: float,
    say: Callable[[str], None],
) -> Trial | None:
    """Return what some facts come to at the model's layer, with one wording of each held out.

    None if there was no time for all of it.
    """
    shown, held_out = divided(statements)
    try:
        ways = [wordings(part, model.tokenizer, model.longest) for part in (shown, held_out)]
    except ValueError as error:  # of a sentence that we put before a prompt
        remedy = "give each fact two wordings, or a number of a layer"
        raise arguments.refuse(
            "layer", "auto", "a number for these facts", f"{remedy} ({error})"
        ) from None
    stored = _stored(model, ways[0], spared, deadline, say)
    if stored.interrupted:
        raise KeyboardInterrupt
    if stored.timed_out:
        return None
    with applied(stored, model):
        repeated, understood = (float(np.mean(recalled(model, part))) for part in ways)
    say(f"layer {model.layer}: {understood:.0%} of other wordings recalled")
    return Trial(model.layer, len(held_out), repeated, understood)


def divided(statements: Sequence[Statement]) -> tuple[list[Statement], list[Statement]]:
    """Return wordings of some facts, and one more of each: its last, or its only one in a context."""
    facts: dict[tuple[str, str], list[Statement]] = defaultdict(list)
    for statement in statements:
        facts[statement.subject, statement.answer].append(statement)
    groups = list(facts.values())
    chosen = np.linspace(0, len(groups) - 1, min(_TRIED_FACTS, len(groups))).astype(int)
    shown, held_out = [], []
    for number in chosen:
        own = groups[number]
        shown += own[:-1] or own
        held_out.append(own[-1] if len(own) > 1 else in_context(own[0], int(number)))
    return shown, held_out


def recalled(model: LanguageModel, ways: Sequence[Wording]) -> Any:
    """Return for every wording whether the model, run as it is, finds each token of its answer."""
    prefixes = [
        (*way.prompt, *way.answer[:step]) for way in ways for step in range(len(way.answer))
    ]
    tokens = iter(model.next_tokens(prefixes))
    return np.array(
        [[next(tokens) == token for token in way.answer].count(False) == 0 for way in ways]
    )
