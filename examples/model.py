"""Invented facts put into a small language model: the least change beside what else is done at a layer."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from examples import smollm
from simonides import OriginalProblem, least_change
from simonides.arrays import Reals
from simonides.editing.language_model import LanguageModel
from simonides.editing.ordinary_text import OrdinaryText, python_text
from simonides.editing.statements import given_statements
from simonides.editing.storing import Placed, place, store
from simonides.editing.text_statistics import second_moments, stream_change, text_score
from simonides.editing.token_facts import TokenFact, token_facts

SIZES = (10, 50, 200, 1000)
"""Numbers of facts."""

MARGIN = 0.05
"""Of the stream's root mean square, as the command has it."""

_RIDGES = (1e-9, 1e-3, 1e-2, 0.1, 1.0)
"""Over the mean square of whitened keys, none but rounding's to as much as the keys themselves."""

_MARGINS = (1.0, 4.0)
"""Over the margin of the least change: what a ridge takes away, a larger margin gives back."""

_SCALES = (1e-3, 1e-2, 0.1, 1.0, 10.0)
"""Of Hebbian weights, over what moves a fact's own stream by its length."""


def run(sizes: tuple[int, ...] = SIZES) -> Iterator[list[dict[str, Any]]]:
    """Store facts by each method; yield all rows so far."""
    model, text = LanguageModel.load(smollm.file()), python_text()
    metric = second_moments(model, text.learnt)
    before = text_score(model, text.held_out)
    rows: list[dict[str, Any]] = [
        _row("none", 0, 0, 0, 0.0, 0.0, before.perplexity, before.next_token)
    ]
    yield rows
    for facts in sizes:
        learnt = token_facts(
            given_statements(smollm.invented(model, facts)), model.tokenizer, model.longest
        )
        placed = place(model, learnt, [], MARGIN)
        began = time.process_time()
        stored = store(model, placed, metric)
        seconds = time.process_time() - began
        rows.append(
            measured(
                model, text, learnt, "least change", stored.change, seconds, stored.proof.facts
            )
        )
        yield rows
        for name, rival in _RIVALS.items():
            began = time.process_time()
            change = rival(placed, metric)
            seconds = time.process_time() - began
            rows.append(measured(model, text, learnt, name, change, seconds, 0))
            yield rows


def measured(
    model: LanguageModel,
    text: OrdinaryText,
    learnt: list[TokenFact],
    name: str,
    change: Reals,
    seconds: float,
    proved: int,
) -> dict[str, Any]:
    """Return what the model with a change recalls when it runs, and what it does to other text."""
    with model.changed(change):
        tokens = model.next_tokens([fact.prefix for fact in learnt])
        after = text_score(model, text.held_out)
    stored = sum(token == fact.target for token, fact in zip(tokens, learnt, strict=True))
    moved = stream_change(model, text.held_out, lambda: model.changed(change))
    return _row(
        name, len(learnt), stored, proved, seconds, moved, after.perplexity, after.next_token
    )


def _row(
    method: str,
    facts: int,
    stored: int,
    proved: int,
    seconds: float,
    moved: float,
    perplexity: float,
    next_token: float,
) -> dict[str, Any]:
    return {
        "method": method, "facts": facts, "stored": stored, "proved": proved, "seconds": seconds,
        "stream_change": moved, "perplexity": perplexity, "next_token": next_token,
    }  # fmt: skip


def least_squares(placed: Placed, metric: Reals) -> Reals:
    """Return the ridge regression on the least change of each fact's own stream, weighed by text."""
    problem, count = placed.problem, placed.problem.facts
    # With inputs orthogonal to each other every fact is moved as if it were alone.
    alone = OriginalProblem(np.eye(count), problem.outputs, problem.targets)
    weighed = np.linalg.solve(metric, problem.inputs.T)
    gram = problem.inputs @ weighed
    unit = float(np.trace(gram)) / count
    changes = (
        wanted @ np.linalg.solve(gram + ridge * unit * np.eye(count), weighed.T)
        for wanted in (
            least_change(alone, placed.streams, None, times * placed.margins).weights
            for times in _MARGINS
        )
        for ridge in _RIDGES
    )
    return _best(placed, metric, changes)


def hebbian(placed: Placed, metric: Reals) -> Reals:
    """Return the sum of products of token and key, at the best scale."""
    problem = placed.problem
    outputs = problem.target_outputs
    outputs = outputs / np.linalg.norm(outputs, axis=1, keepdims=True)
    sizes = np.linalg.norm(placed.streams, axis=1) / np.square(problem.inputs).sum(1)
    change = (outputs * sizes[:, None]).T @ problem.inputs
    return _best(placed, metric, (scale * change for scale in _SCALES))


def _best(placed: Placed, metric: Reals, changes: Iterator[Reals]) -> Reals:
    """Return the change that recalls most, and of several such the one that moves text least."""

    def worth(change: Reals) -> tuple[int, float]:
        images = placed.streams + placed.problem.inputs @ change.T
        recalled = placed.problem.recall(images).recalled
        return recalled, -float(np.vdot(change @ metric, change))

    return max(changes, key=worth)


_RIVALS: dict[str, Callable[[Placed, Reals], Reals]] = {
    "least squares": least_squares,
    "Hebbian": hebbian,
}
"""What else is written into a layer, at the same place and for the same facts."""
