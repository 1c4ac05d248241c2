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

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from simonides import arguments
from simonides.problems import checked
from simonides.problems.problem import sharing
from simonides.problems.whitening import Whitening
from simonides.solvers.driver import Limits, Report, drive
from simonides.solvers.factors import truncated
from simonides.solvers.solution import Solution, Status
from simonides.solvers.training.factored_softmax import FactoredCrossEntropy
from simonides.solvers.training.lbfgs import RecentSteps
from simonides.solvers.training.parameters import Factored, Full
from simonides.solvers.training.softmax import MeanCrossEntropy
from simonides.threads import crew

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from simonides.arrays import Reals
    from simonides.problems.problem import Problem
    from simonides.solvers.solution import Progress
    from simonides.solvers.training.parameters import Form
    from simonides.solvers.training.softmax import Precision
    from simonides.threads import Each

_PRECISIONS: tuple[Precision, ...] = ("float32", "float64")
_PATIENCE = 20
"""Steps over which single precision is given the chance to gain something before double takes over."""

_RESOLUTION = 4.0
"""Losses closer than this, in units of rounding, count as equal."""

_THIN, _LARGE = 0.4, 2**17
"""Factors thinner than this fraction of the outputs are not multiplied out, where there are so many scores.

With fewer it gains no time, and searches at rank 3 of 25 dimensions ended with fewer facts stored.
"""

_SMALL_FACTOR = 1e-3
"""Length of columns that start at random: small against those that mean something, whose length is one."""

_SETTLING = 10
"""Steps over which a least gain is taken: single ones gain little now and then."""


def cross_entropy(
    problem: Problem,
    *,
    rank: int | None = None,
    start: Reals | None = None,
    seed: int = 0,
    tolerance: float = 1e-7,
    max_steps: int = 2000,
    time_limit: float | None = None,
    until_stored: bool = True,
    least_gain: float = 0.0,
    threads: int | None = None,
    watch: Callable[[Progress], None] | None = None,
) -> Solution:
    """Minimise the mean cross-entropy of all candidates, to convergence (eq. A.1).

    It ends when every fact is recalled (``STORED``), when the gradient is ``tolerance`` times the size of
    its terms (``CONVERGED``), or at a limit. With a rank bound the problem is not convex: far beyond
    capacity all starts tried led to the same minimum; close to it losses differed by about 0.2 percent.

    Parameters
    ----------
    problem : Problem
        The facts.
    rank : int, optional
        Minimise over factors U (dim_out, rank) and V (dim_in, rank), from the best approximation of that
        rank to the first full step.
    start : array (dim_out, dim_in), optional
        Weights to start from instead of zero. Factors take their leading singular vectors, and small random
        columns where there are too few.
    seed : int
        Of these columns.
    tolerance : float
        Length of the gradient over that of its terms at which it counts as zero.
    max_steps, time_limit, threads, watch
        As in :func:`simonides.decide`.
    until_stored : bool
        Whether to end once every fact is recalled.
    least_gain : float
        End also once ten steps together have lowered the loss by less than this share of it: for curves,
        of which the last digits are not seen.

    Returns
    -------
    Solution
        The weights, ``factors`` with a rank, and ``loss``.

    Raises
    ------
    BadArgumentError
        For an option out of its range.

    Examples
    --------
    >>> from simonides import OriginalProblem
    >>> cross_entropy(OriginalProblem.gaussian(40, 12, seed=0)).recalled
    40
    """
    checked.problem(problem)
    rank = None if rank is None else checked.rank(rank, problem)
    seed = arguments.seed(seed)
    tolerance = arguments.positive(
        "tolerance", tolerance, remedy="pass a small number such as 1e-7"
    )
    least_gain = arguments.real(
        "least_gain", least_gain, least=0, most=1, remedy="pass a share of the loss such as 1e-4"
    )
    until_stored = checked.truth("until_stored", until_stored)
    limits = Limits(max_steps, time_limit)
    start = None if start is None else checked.weights("start", start, problem)
    with crew(threads) as each:
        rng = np.random.default_rng(seed)
        solver = _Descent(problem, tolerance, until_stored, least_gain, each, rank, start, rng)
        return drive(solver, limits, watch)


@dataclass(frozen=True, eq=False)
class _State:
    """Where the descent is: a point in some precision, and the losses of the last steps."""

    point: _Point
    precision: Precision
    losses: tuple[float, ...]

    def gained(self, steps: int) -> float:
        """Return by which share the last steps lowered the loss; infinite before there were so many."""
        if len(self.losses) <= steps:
            return np.inf
        loss = self.point.loss
        return (self.losses[-steps - 1] - loss) / loss if loss > 0 else 0.0

    def moved(self, point: _Point) -> _State:
        """Return the state one step further."""
        return _State(point, self.precision, (*self.losses, point.loss)[-_PATIENCE - 1 :])


@dataclass(frozen=True, eq=False)
class _Descent:
    """The solver: single precision first, then double from where that led."""

    problem: Problem
    tolerance: float
    until_stored: bool
    least_gain: float
    each: Each
    rank: int | None
    begin: Reals | None
    rng: np.random.Generator

    @cached_property
    def _task(self) -> tuple[Whitening | None, Problem, Form, Reals]:
        """The whitening, the problem in its coordinates, the form of the parameters, their start."""
        whitening, task, begin = None, self.problem, self.begin
        shared = sharing(task)
        if shared is not None:
            whitening = Whitening.of(shared)
            task = whitening.applied(shared)
            begin = None if begin is None else whitening.weights_forward(begin)
        return whitening, task, *_start(task, self.rank, begin, self.rng, self.each)

    @cached_property
    def _single(self) -> _Objective:
        return _objective(*self._task[1:3], "float32", self.each)

    @cached_property
    def _double(self) -> _Objective:
        return _objective(*self._task[1:3], "float64", self.each)

    def start(self) -> _State:
        point = self._single.at(self._task[-1])
        return _State(point, "float32", (point.loss,))

    def states(self, state: _State) -> Generator[_State, None, tuple[_State, Status]]:
        recent = RecentSteps()
        yield state
        for precision in _PRECISIONS:
            objective = self._single if precision == "float32" else self._double
            if precision != state.precision:
                state = _State(objective.at(state.point.place), precision, state.losses)
            while not (self._ended(state) or _drowned(state)):
                moved = recent.step(objective, state.point)
                if moved is None:
                    break
                state = state.moved(moved)
                yield state
            if self._settled(state):
                return state, Status.STOPPED
        balanced = state.point.imbalance <= self.tolerance
        return state, Status.CONVERGED if balanced else Status.STOPPED

    def _settled(self, state: _State) -> bool:
        # Without a least gain rounding may still lift the loss between steps.
        return self.least_gain > 0 and state.gained(_SETTLING) < self.least_gain

    def _ended(self, state: _State) -> bool:
        stored = self.until_stored and state.point.recalled == self.problem.facts
        return stored or state.point.imbalance <= self.tolerance or self._settled(state)

    def report(self, state: _State) -> Report:
        return Report(state.point.loss, self.problem.facts - state.point.recalled)

    def place(self, state: _State) -> Reals:
        return state.point.place

    def at(self, place: Reals) -> _State:
        return _State(self._double.at(place), "float64", ())

    def finish(self, state: _State, status: Status) -> Solution:
        whitening, _, form, _ = self._task
        place, loss = state.point.place, state.point.loss
        if state.precision == "float32" and not self._settled(state):
            loss = self.at(place).point.loss
        weights, factors = form.weights(place), form.factors(place)
        if whitening is not None and factors is not None:
            factors = whitening.factors_back(*factors)
            weights = factors[0] @ factors[1].T
        elif whitening is not None:
            weights = whitening.weights_back(weights)
        solution = Solution.of_weights(self.problem, weights, status, self.each)
        return replace(solution, factors=factors, loss=loss)


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
    factors = np.concatenate(truncated(weights, rank))
    # Columns of zeros in both factors would stay so, as each is the other's gradient.
    empty = np.linalg.norm(factors, axis=0) <= 2**0.5 * _SMALL_FACTOR
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
    shared = sharing(task)
    if (
        shared is not None
        and isinstance(form, Factored)
        and form.rank < _THIN * task.dim_out
        and task.facts * task.candidates > _LARGE
    ):
        factored = FactoredCrossEntropy(shared, precision, each)
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
    sides = (left, right, risk.left, risk.right)
    lengths = [float(np.linalg.norm(side)) for side in sides]
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


def _drowned(state: _State) -> bool:
    """Whether recent steps gained nothing that single precision can tell."""
    rounding = float(np.finfo(np.float32).eps)
    return state.precision == "float32" and state.gained(_PATIENCE) <= rounding
