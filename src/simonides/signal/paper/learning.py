"""Signal propagation, redone: models trained from points of the trainability diagram.

Needs the ``torch`` extra. Models are trained once and kept as one file in ``signal/``, as the networks of
the other figures are.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from joblib import Parallel, delayed

from simonides.curves.table import Table, stacked
from simonides.reproduction.stored_tables import stored
from simonides.signal.outcome import OUTCOMES
from simonides.signal.paper.curves import diagram_of, quietly

if TYPE_CHECKING:
    from simonides.reproduction.results import Results
    from simonides.signal.maps.architecture import Architecture
    from simonides.signal.paper.scales import TrainingCourse


def training(results: Results) -> dict[str, Table]:
    """Return a trainability diagram, and what training came to at some of its points."""
    course = results.plan.course
    path = results.out / "signal" / "training.json"
    return stored(path, repr(course), 0, lambda: trained(course))


def trained(course: TrainingCourse) -> dict[str, Table]:
    """Train every model of a course, by as many processes as ``joblib.parallel_config`` says."""
    pairs = list(product(course.points, range(course.seeds)))
    runs = Parallel()(
        delayed(_trained)(course.at(point), seed, course.steps) for point, seed in pairs
    )
    rows = [
        _summary(course, point, runs[place * course.seeds : (place + 1) * course.seeds])
        for place, point in enumerate(course.points)
    ]
    sizes = {"steps": float(course.steps), "seeds": float(course.seeds)}
    measured = stacked("training", "Models trained from points of the diagram", rows, **sizes)
    start = float(np.mean([row["cosine_start"] for row in rows]))
    model = replace(course.model, cosine=start)
    diagram = diagram_of(model, np.linspace(0.1, 4.6, 60), np.linspace(0.4, 4.2, 60))
    return {"diagram": diagram, "measured": measured}


def _trained(model: Architecture, seed: int, steps: int) -> dict[str, float]:
    import torch

    from simonides.signal.models.training import TrainingSchedule, train

    before = torch.get_num_threads()
    torch.set_num_threads(1)  # matrices so small are slower on two
    try:
        run = train(model, seed, TrainingSchedule(steps=steps))
    finally:
        torch.set_num_threads(before)
    below = (step for step, loss in enumerate(run.history) if loss < run.guessing / 2)
    return {
        "loss": run.loss,
        "guessing": run.guessing,
        "cosine_start": run.cosine,
        "halfway": float(next(below, math.nan)),
        "first_gradient": run.gradient,
    }


def _summary(
    course: TrainingCourse, point: tuple[float, float], runs: list[dict[str, float]]
) -> dict[str, float]:
    """Return means over seeds beside theory; ``halfway`` is NaN where a model never got there."""
    mean = {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}
    theory = quietly(
        replace(course.at(point), cosine=min(max(mean["cosine_start"], 0.0), 1 - 1e-9))
    )
    losses = np.array([run["loss"] for run in runs])
    return {
        "beta": point[0],
        "skip": point[1],
        "predicted": float(OUTCOMES.index(theory.outcome)),
        "cosine": float(theory.cosine[-1]),
        **mean,
        "loss_stderr": float(losses.std(ddof=1) / math.sqrt(len(runs))),
    }
