"""What training reaches of the bound: facts that adapters learn, over the planner's number."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from examples import smollm
from examples.learning import GAIN, LEARNT, Effort, Lesson, lesson, most_learnt

if TYPE_CHECKING:
    from examples.learners import Learner

SEEDS = (0, 1, 2)

RANKS = (4, 2, 1, 8, 16)
"""Of adapters, the large ones last, which take longest: a run that is stopped has the others."""

RATES = (1e-3, 5e-3, 2e-2)
"""Of AdamW, the best of which each kind of learner gets: the smallest is what users take at most, and
the others learn more in as many steps."""

_TUNED = 1000
"""Seed of the facts that rates are chosen on."""

_TUNED_RANK = 4
"""Rank that they are chosen at: as the rank grows, ``lora_alpha`` over it stays."""

EFFORTS = {"one matrix": Effort(), "all matrices": Effort(batch=128), "two layers": Effort()}
"""What a run may use; a step of a whole network hardly takes longer with twice the facts."""

_LEAST = 5
"""Facts below which a search ends: so few may be recalled by chance."""

_GUESSES = {
    ("one matrix", "as they are"): 0.06,
    ("one matrix", "whitened"): 0.35,
    ("all matrices", "as they are"): 0.35,
    ("two layers", "Gaussian"): 1.4,
}
"""Shares of the bound where the search begins; where it ends does not hang on them."""


def units() -> Iterator[tuple[Learner, int]]:
    """Yield each learner with each seed: a seed has all of them before the next begins."""
    from examples.learners import AllMatrices, OneMatrix, TwoLayers

    for seed in SEEDS:
        for rank in RANKS:
            yield AllMatrices(rank), seed
            yield OneMatrix(rank, _readings(False)), seed
            yield OneMatrix(rank, _readings(True)), seed
            if rank == RANKS[0]:
                yield TwoLayers(), seed


@cache
def _readings(whitened: bool) -> smollm.Readings:
    return _readings(False).whitened() if whitened else smollm.readings()


def settings() -> dict[str, Any]:
    """Return what rows must have in common to stand in one table."""
    from examples.learners import AllMatrices, OneMatrix, TwoLayers

    sizes = {
        "one matrix": {"candidates": OneMatrix.candidates},
        "all matrices": asdict(AllMatrices(_TUNED_RANK)),
        "two layers": asdict(TwoLayers()),
    }
    efforts = {name: asdict(effort) for name, effort in EFFORTS.items()}
    return {"rates": [*RATES], "sizes": sizes, "efforts": efforts, "learnt": LEARNT, "gain": GAIN}


def run(results: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Measure what is not measured yet; add each row to the results and yield it.

    Rows of other settings are measured anew.
    """
    if results.get("settings") != settings():
        results.clear()
        results["settings"] = settings()
    rates, rows = results.setdefault("rates", []), results.setdefault("rows", [])
    for learner, seed in units():
        kind = {"learner": learner.name, "keys": learner.keys}
        key = {**kind, "rank": learner.rank, "seed": seed}
        if any(key.items() <= row.items() for row in rows):
            continue
        tuned = next((row for row in rates if kind.items() <= row.items()), None)
        if tuned is None:
            tuned = {**kind, **tuning(learner)}
            rates.append(tuned)
            yield tuned
        rows.append({**key, **measured(learner, seed, tuned["rate"], guess(learner, rows))})
        yield rows[-1]


def tuning(learner: Learner) -> dict[str, Any]:
    """Return what each rate recalls after one cycle, of more facts than are expected, and the best rate."""
    learner = learner if learner.rank is None else replace(learner, rank=_TUNED_RANK)
    facts = min(learner.most, round(1.2 * guess(learner, [])))
    effort = replace(EFFORTS[learner.name], cycles=1)
    recalled = [attempt(learner, facts, _TUNED, rate, effort).recalled for rate in RATES]
    best = RATES[int(np.argmax(recalled))]
    return {
        "rank": learner.rank,
        "facts": facts,
        "rates": [*RATES],
        "recalled": recalled,
        "rate": best,
    }


def measured(learner: Learner, seed: int, rate: float, first: int) -> dict[str, Any]:
    """Return how many facts one learner learns, beside the bound."""
    from examples.learners import bounds

    effort = EFFORTS[learner.name]
    best = most_learnt(
        lambda facts: attempt(learner, facts, seed, rate, effort),
        first,
        learner.most,
        least=_LEAST,
    )
    planned, by_parameters = bounds(learner)
    facts = 0 if best is None else best.facts
    return {
        "rate": rate,
        "bound": planned,
        "by_parameters": by_parameters,
        "facts": facts,
        "efficiency": facts / by_parameters,
        "steps": 0 if best is None else best.steps,
        "cycles": 0 if best is None else best.cycles,
    }


def attempt(learner: Learner, facts: int, seed: int, rate: float, effort: Effort) -> Lesson:
    """Return what a new network of the learner comes to on so many facts."""
    network, material = learner.draw(facts, seed)
    return lesson(network, material, rate, effort, seed)


def guess(learner: Learner, rows: list[dict[str, Any]]) -> int:
    """Return the facts to begin a search with: at the efficiency of the nearest rank so far."""
    from examples.learners import bounds

    alike = [row for row in rows if (row["learner"], row["keys"]) == (learner.name, learner.keys)]
    nearest = min(
        alike, key=lambda row: abs((row["rank"] or 0) - (learner.rank or 0)), default=None
    )
    share = _GUESSES[learner.name, learner.keys] if nearest is None else nearest["efficiency"]
    return max(1, round(share * bounds(learner)[1]))


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return means over seeds with their standard errors, none where there is one seed."""
    cells = sorted({(row["learner"], row["keys"], row["rank"] or 0) for row in rows})
    return [
        _cell([row for row in rows if (row["learner"], row["keys"], row["rank"] or 0) == cell])
        for cell in cells
    ]


def reached(rows: list[dict[str, Any]]) -> dict[str, tuple[float, float]]:
    """Return the least and the largest share of the bound that adapters reached, in whole percents.

    Means over seeds, at ranks from two on, with keys as they are: what the planner says beside its bound.
    """
    shares: dict[str, list[float]] = {}
    for cell in summary(rows):
        if (cell["rank"] or 1) > 1 and cell["keys"] == "as they are":
            shares.setdefault(cell["learner"], []).append(round(cell["efficiency"], 2))
    return {learner: (min(some), max(some)) for learner, some in shares.items()}


def _cell(rows: list[dict[str, Any]]) -> dict[str, Any]:
    shares = [row["efficiency"] for row in rows]
    facts = [row["facts"] for row in rows]
    error = None if len(rows) < 2 else float(np.std(shares, ddof=1) / math.sqrt(len(rows)))
    shared = {name: rows[0][name] for name in ("learner", "keys", "rank", "rate", "bound")}
    return {
        **shared,
        "by_parameters": rows[0]["by_parameters"],
        "seeds": len(rows),
        "facts": float(np.mean(facts)),
        "efficiency": float(np.mean(shares)),
        "efficiency_stderr": error,
        "steps": float(np.mean([row["steps"] for row in rows])),
    }
