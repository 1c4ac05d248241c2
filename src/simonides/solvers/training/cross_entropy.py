r"""Training to the minimum of the cross-entropy, by L-BFGS in whitened coordinates.

The mean cross-entropy is convex in the weights. Whitening (:mod:`simonides.problems.whitening`) changes
neither its values nor its minimum, and makes its second derivative at zero weights the identity: the
first step from there is Newton's. Passes in single precision do most of the way, double precision
the rest.

Below capacity the minimum is at infinity; above, the terms of the gradient cancel there. How far they
do is what ``tolerance`` bounds, the length of their sum over the sum of their lengths,

.. math:: \Big|\sum_i r_i x_i^T\Big|_F \Big/ \sum_i |r_i| |x_i|

(see :mod:`simonides.solvers.training.softmax` for :math:`r_i`). Taken in whitened coordinates, it is the
same for any linear recoding of inputs and outputs. Where facts can be stored with a normalised margin it
stays above that margin, so a small loss is not taken for a minimum. With a rank bound it is the derivatives
by the factors that vanish, each divided by the other factor's length; where factors are thin, terms are as
short as they make them, and the same ``tolerance`` asks for more, by less than the root of the outputs'
dimension for factors whose directions have equal lengths.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from simonides import arguments
from simonides.interrupts import Keyboard, completed
from simonides.problems import checked
from simonides.problems.original import OriginalProblem
from simonides.problems.whitening import Whitening
from simonides.solvers.solution import Progress, Solution, Status
from simonides.solvers.training.factored_softmax import FactoredCrossEntropy
from simonides.solvers.training.lbfgs import Memory
from simonides.solvers.training.parameters import Factored, Full
from simonides.solvers.training.softmax import MeanCrossEntropy
from simonides.threads import crew

if TYPE_CHECKING:
    from collections.abc import Callable

    from simonides.arrays import Reals
    from simonides.problems.problem import Problem
    from simonides.problems.scan import Recall
    from simonides.solvers.training.parameters import Form
    from simonides.solvers.training.softmax import Precision
    from simonides.threads import Each

_PRECISIONS: tuple[Precision, ...] = ("float32", "float64")
_PATIENCE = 20
_RESOLUTION = 4.0
"""Losses closer than this, in units of rounding, count as equal."""

_THIN, _LARGE = 0.4, 2**17
"""Factors thinner than this fraction of the outputs are not multiplied out, where there are so many scores.

With fewer it gains no time, and searches at rank 3 of 25 dimensions ended with fewer facts stored.
"""

_SMALL_FACTOR = 1e-3
_SETTLING = 10


def cross_entropy(
    problem: Problem,
    *,
    rank: int | None = None,
    start: Reals | None = None,
    seed: int = 0,
    tolerance: float = 1e-7,
    max_steps: int = 2000,
    until_stored: bool = True,
    least_gain: float = 0.0,
    threads: int | None = None,
    watch: Callable[[Progress], None] | None = None,
) -> Solution:
    """Minimise the mean cross-entropy of all candidates.

    With a ``rank`` it minimises over factors U (dim_out, rank) and V (dim_in, rank) of the weights, from
    the best approximation of that rank to the first full step. That is not convex: far beyond
    capacity all starts tried led to the same minimum; close to it losses differed by about 0.2 percent.

    ``start`` gives weights to start from instead of zero. Factors take their leading singular vectors,
    and small random columns drawn from ``seed`` where there are too few.

    It ends when every fact is recalled (``STORED``, unless ``until_stored`` is False), when the gradient
    is ``tolerance`` times the size of its terms (``CONVERGED``), or at ``max_steps``. With a ``least_gain``
    it also ends (``STOPPED``) once ten steps together have lowered the loss by less than this share of
    it: for curves, of which the last digits are not seen. ``watch`` is called after every step.
    Interrupted, it returns the best so far. Results do not depend on ``threads``.
    """
    rank = None if rank is None else checked.rank(rank, problem)
    seed = arguments.whole("seed", seed, least=0, remedy="pass the integer to reproduce it by")
    tolerance = arguments.real(
        "tolerance", tolerance, least=0, open_least=True, remedy="pass a small number such as 1e-7"
    )
    max_steps = arguments.whole("max_steps", max_steps, least=0, remedy="pass a step limit")
    least_gain = arguments.real(
        "least_gain", least_gain, least=0, most=1, remedy="pass a share of the loss such as 1e-4"
    )
    start = None if start is None else checked.weights("start", start, problem)
    with crew(threads) as each:
        job = _Job(tolerance, max_steps, until_stored, least_gain, watch, each)
        return _solve(problem, job, rank, start, np.random.default_rng(seed))


@dataclass(frozen=True)
class _Job:
    """How long to go on, and who does and watches the work."""

    tolerance: float
    max_steps: int
    until_stored: bool
    least_gain: float
    watch: Callable[[Progress], None] | None
    each: Each


def _solve(
    problem: Problem,
    job: _Job,
    rank: int | None,
    start: Reals | None,
    rng: np.random.Generator,
) -> Solution:
    began = time.perf_counter()
    (whitening, task, form, place), early = completed(
        lambda: _prepared(problem, job, rank, start, rng)
    )
    history: list[Progress] = []
    memory = Memory()
    final, exact = None, False

    def note(point: _Point) -> None:
        lost = problem.facts - point.recalled
        seconds = time.perf_counter() - began
        history.append(Progress(len(history), point.loss, lost, seconds))
        if job.watch is not None:
            job.watch(history[-1])

    def settled(point: _Point) -> bool:
        # Without a least gain rounding may still lift the loss between steps.
        return job.least_gain > 0 and _gained(point, history, _SETTLING) < job.least_gain

    def ended(point: _Point) -> bool:
        stored = job.until_stored and point.recalled == problem.facts
        reached = point.imbalance <= job.tolerance or len(history) > job.max_steps
        return stored or reached or settled(point)

    with Keyboard() as keyboard:
        for precision in () if early else _PRECISIONS:
            objective = _objective(task, form, precision, job.each)
            point = objective.at(place)
            if not history:
                note(point)
            while not (ended(point) or (precision == "float32" and _drowned(point, history))):
                moved = memory.step(objective, point)
                if moved is None:
                    break
                point = moved
                place = point.place
                note(point)
            final = point
            exact = (
                precision == "float64"
            )  # what single precision takes for balance may be rounding
            if settled(point):
                break
    interrupted = early or keyboard.interrupted
    balanced = final is not None and exact and final.imbalance <= job.tolerance
    converged = balanced and not interrupted

    def finish() -> tuple[float, Reals, tuple[Reals, Reals] | None, Recall]:
        # Where a step was under way, the point before it counts.
        end = final
        if end is None or interrupted:
            end = _objective(task, form, "float64", job.each).at(place)
        weights, factors = _coloured(whitening, form.weights(place), form.factors(place))
        recall = problem.recall(problem.inputs @ weights.T, job.each)
        return end.loss, weights, factors, recall

    (loss, weights, factors, recall), late = completed(finish)
    status = Status.CONVERGED if converged else Status.STOPPED
    return Solution(
        weights=weights,
        status=Status.STORED if recall.recalled == problem.facts else status,
        recalled=recall.recalled,
        smallest_gap=recall.smallest_gap,
        steps=max(len(history) - 1, 0),
        seconds=time.perf_counter() - began,
        history=tuple(history),
        factors=factors,
        loss=loss,
        interrupted=interrupted or late,
    )


def _prepared(
    problem: Problem, job: _Job, rank: int | None, start: Reals | None, rng: np.random.Generator
) -> tuple[Whitening | None, Problem, Form, Reals]:
    """Return the whitening, the problem in its coordinates, the form of the parameters, their start."""
    whitening, task = None, problem
    if isinstance(problem, OriginalProblem):
        whitening = Whitening.of(problem)
        task = whitening.applied(problem)
        start = None if start is None else whitening.weights_forward(start)
    return whitening, task, *_start(task, rank, start, rng, job.each)


def _coloured(
    whitening: Whitening | None, weights: Reals, factors: tuple[Reals, Reals] | None
) -> tuple[Reals, tuple[Reals, Reals] | None]:
    """Return weights and factors for the problem as it was given."""
    if whitening is None:
        return weights, factors
    if factors is None:
        return whitening.weights_back(weights), None
    left = whitening.of_outputs.matrix @ factors[0]
    right = whitening.of_inputs.matrix @ factors[1]
    return left @ right.T, (left, right)


def _start(
    task: Problem,
    rank: int | None,
    start: Reals | None,
    rng: np.random.Generator,
    each: Each,
) -> tuple[Form, Reals]:
    """Return the form of the parameters and where they start."""
    weights = np.zeros((task.dim_out, task.dim_in)) if start is None else start
    if rank is None:
        return Full(weights.shape), weights.ravel()
    if start is None:
        weights = -MeanCrossEntropy(task, "float32", each).at(weights).gradient
    left, values, right = np.linalg.svd(weights, full_matrices=False)
    roots = np.sqrt(values[:rank])
    factors = np.concatenate([left[:, :rank] * roots, right[:rank].T * roots])
    # Columns of zeros in both factors would stay so, as each is the other's gradient.
    empty = roots <= _SMALL_FACTOR
    drawn = rng.standard_normal((len(factors), rank))
    return Factored(task.dim_out, rank), np.where(empty, _SMALL_FACTOR * drawn, factors).ravel()


@dataclass(frozen=True, eq=False)
class _Point:
    """Parameters and the cross-entropy there."""

    place: Reals
    loss: float
    recalled: int
    slopes: Reals
    imbalance: float


@dataclass(frozen=True, eq=False)
class _Objective:
    """The cross-entropy as a function of the parameters."""

    at: Callable[[Reals], _Point]
    precision: Precision

    def resolution(self, loss: float) -> float:
        """Return how far a loss may be off by rounding."""
        return _RESOLUTION * float(np.finfo(self.precision).eps) * loss


def _objective(task: Problem, form: Form, precision: Precision, each: Each) -> _Objective:
    """Return the cross-entropy by the cheaper of two ways: through the weights, or their factors."""
    if (
        isinstance(task, OriginalProblem)
        and isinstance(form, Factored)
        and form.rank < _THIN * task.dim_out
        and task.facts * task.candidates > _LARGE
    ):
        factored = FactoredCrossEntropy(task, precision, each)
        return _Objective(partial(_of_factors, factored, form), precision)
    whole = MeanCrossEntropy(task, precision, each)
    return _Objective(partial(_of_weights, whole, form), precision)


def _of_weights(function: MeanCrossEntropy, form: Form, place: Reals) -> _Point:
    risk = function.at(form.weights(place))
    imbalance = _ratio(form.size(place, risk.gradient), risk.pull)
    slopes = form.slopes(place, risk.gradient)
    return _Point(place, risk.loss, risk.recalled, slopes, imbalance)


def _of_factors(function: FactoredCrossEntropy, form: Factored, place: Reals) -> _Point:
    left, right = form.factors(place)
    risk = function.at(left, right)
    lengths = [float(np.linalg.norm(one)) for one in (left, right, risk.left, risk.right)]
    of_left, of_right, along_left, along_right = lengths
    # Since |U^T r| <= |U| |r|, at least what ``_of_weights`` would find.
    imbalance = max(
        _ratio(along_right, risk.pull), _ratio(along_left, _ratio(risk.pull, of_left) * of_right)
    )
    slopes = np.concatenate([risk.left, risk.right]).ravel()
    return _Point(place, risk.loss, risk.recalled, slopes, imbalance)


def _ratio(size: float, of: float) -> float:
    if of > 0:
        return size / of
    return np.inf if size > 0 else 0.0


def _drowned(point: _Point, history: list[Progress]) -> bool:
    """Whether recent steps gained nothing that single precision can tell."""
    return _gained(point, history, _PATIENCE) <= float(np.finfo(np.float32).eps)


def _gained(point: _Point, history: list[Progress], steps: int) -> float:
    """Return by which share of the loss the last steps lowered it; infinite before there were so many."""
    if len(history) <= steps:
        return np.inf
    gained = history[-steps - 1].objective - point.loss
    return gained / point.loss if point.loss > 0 else 0.0
