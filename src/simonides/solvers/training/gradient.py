r"""The paper's protocol: full-batch Adam on the cross-entropy, warmed up, annealed, stopped early.

Weights start i.i.d. Gaussian. The learning rate rises linearly for ``warm_up`` steps and falls to zero
along a cosine by the last step; training ends as soon as every fact is recalled.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, cast, get_args

import numpy as np

from simonides import arguments
from simonides.problems import checked
from simonides.solvers.driver import Limits, Report, drive
from simonides.solvers.solution import Solution, Status
from simonides.solvers.training.mean_loss import loss_named, mean_loss
from simonides.solvers.training.softmax import Precision
from simonides.theory.losses import CrossEntropy
from simonides.threads import crew

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from simonides.arrays import Reals
    from simonides.problems.problem import Problem
    from simonides.solvers.solution import Progress
    from simonides.solvers.training.mean_loss import MeanLoss
    from simonides.solvers.training.softmax import Floats, MeanCrossEntropy
    from simonides.theory.losses import TrainableLoss

MEMORY = (0.9, 0.999)
"""Adam's share of the past in its means of gradients and of their squares."""

STABILISER = 1e-8
"""What Adam adds to the root mean square of a gradient before dividing by it."""

_RATE, _RATE_OF_LAYERS = 0.1, 0.03
"""Did best of the rates tried at dimensions 25 and 50; ``gradient`` says what others do."""

_BACKENDS = ("numpy", "torch")


def gradient(
    problem: Problem,
    *,
    rank: int | None = None,
    loss: object = "cross_entropy",
    seed: int = 0,
    learning_rate: float | None = None,
    max_steps: int = 5000,
    time_limit: float | None = None,
    warm_up: int = 100,
    scale: float = 0.01,
    backend: str = "numpy",
    device: str = "cpu",
    dtype: Precision = "float32",
    threads: int | None = None,
    until_stored: bool = True,
    watch: Callable[[Progress], None] | None = None,
) -> Solution:
    """Train by full-batch gradient descent with Adam, as the paper does on the cross-entropy (eq. A.1).

    The paper leaves ``learning_rate``, ``scale`` and ``warm_up`` open. The defaults did best at dimensions
    25 and 50 and 5,000 steps. Beyond capacity they do not matter: rates from 0.003 to 0.1, scales from
    0.001 to 0.1 and warm-ups up to 500 all reach the minimum to five digits. Scales and warm-ups matter
    little below it too. Rates do where facts only just fit: those below 0.03 run out of steps, and two
    layers take several times as many at 0.1. There no rate stores all that ``cross_entropy`` does. It is
    never ``CONVERGED``: whether facts not recalled could be, Adam does not tell.

    Parameters
    ----------
    problem : Problem
        The facts.
    rank : int, optional
        Train two layers, U V^T, of this inner dimension.
    loss : str or TrainableLoss
        ``"cross_entropy"``, ``"squared_hinge"``, yours as ``module:Class``, or any object with the methods
        of :class:`~simonides.theory.losses.TrainableLoss`.
    seed : int
        Of the first weights.
    learning_rate : float, optional
        The largest step. Default: 0.1, with two layers 0.03.
    max_steps, time_limit, threads, watch
        As in :func:`simonides.decide`.
    warm_up : int
        Steps over which the rate rises.
    scale : float
        Standard deviation of the first weights' entries, or of both layers'.
    backend, device : str
        "torch" does the same steps from the same start with PyTorch, on its device; both agree to rounding.
    dtype : {"float32", "float64"}
        Precision of training.
    until_stored : bool
        Whether to end once every fact is recalled.

    Returns
    -------
    Solution
        The weights, ``factors`` with a rank, and ``loss``.

    Raises
    ------
    BadArgumentError
        For an option out of its range, or a backend that is not installed.

    Examples
    --------
    >>> from simonides import OriginalProblem
    >>> gradient(OriginalProblem.gaussian(20, 12, seed=0), max_steps=500).recalled
    20
    """
    checked.problem(problem)
    rank = None if rank is None else checked.rank(rank, problem)
    objective = loss_named(loss)
    arguments.one_of("backend", backend, _BACKENDS, "numpy needs no extra")
    if backend == "torch" and type(objective) is not CrossEntropy:
        raise arguments.refuse("loss", loss, "'cross_entropy' with torch", "drop the backend")
    seed = arguments.seed(seed)
    if learning_rate is None:
        learning_rate = _RATE if rank is None else _RATE_OF_LAYERS
    rate = arguments.positive("learning_rate", learning_rate, remedy="pass the largest step")
    warm_up = arguments.whole("warm_up", warm_up, least=0, remedy="pass a number of steps")
    scale = arguments.real(
        "scale", scale, least=0, open_least=rank is not None, remedy="pass a standard deviation"
    )
    until_stored = checked.truth("until_stored", until_stored)
    dtype = cast("Precision", getattr(dtype, "name", dtype))  # of a type of NumPy's
    arguments.one_of("dtype", dtype, get_args(Precision))
    if backend == "numpy":
        arguments.one_of("device", device, ("cpu",), "or pass backend='torch'")
    rng, shape = np.random.default_rng(seed), (problem.dim_out, problem.dim_in)
    shapes = [shape] if rank is None else [(rows, rank) for rows in shape]
    layers = tuple(scale * rng.standard_normal(shape) for shape in shapes)
    schedule = Schedule(rate, warm_up, max_steps, dtype)
    limits = Limits(max_steps, time_limit)
    with _maker(backend, device, problem, layers, schedule, threads, objective) as make:
        return drive(_Training(problem, make, until_stored, objective), limits, watch)


@dataclass(frozen=True)
class Schedule:
    """How fast to go, when, and in which precision."""

    learning_rate: float
    warm_up: int
    max_steps: int
    dtype: Precision

    def share(self, step: int) -> float:
        """Return the share of the learning rate at a step: a ramp, then half a cosine.

        >>> schedule = Schedule(0.1, warm_up=4, max_steps=10, dtype="float32")
        >>> [round(schedule.share(step), 2) for step in (0, 3, 4, 7, 10)]
        [0.25, 1.0, 1.0, 0.5, 0.0]
        """
        if step < self.warm_up:
            return (step + 1) / self.warm_up
        left = max(self.max_steps - self.warm_up, 1)
        return (1 + math.cos(math.pi * (step - self.warm_up) / left)) / 2


class Trainer(Protocol):
    """Something that takes the steps of the protocol."""

    def look(self) -> tuple[float, int]:
        """Return loss and number of facts recalled at the layers as they are."""

    def move(self) -> None:
        """Take one step from where it last looked."""

    def layers(self) -> tuple[Reals, ...]:
        """Return the weights, or both layers."""


@contextmanager
def _maker(
    backend: str,
    device: str,
    problem: Problem,
    layers: tuple[Reals, ...],
    schedule: Schedule,
    threads: int | None,
    loss: TrainableLoss,
) -> Iterator[Callable[[], Trainer]]:
    """Yield what makes the trainer, with threads as they are to be meanwhile."""
    if backend == "numpy":
        with crew(threads) as each:
            yield lambda: _Adam(mean_loss(problem, loss, schedule.dtype, each), layers, schedule)
        return
    try:
        from simonides.solvers.training.torch_gradient import maker
    except ModuleNotFoundError as missing:
        if missing.name != "torch":
            raise
        raise arguments.refuse(
            "backend", backend, "installed", arguments.install("torch")
        ) from None
    with maker(problem, layers, schedule, device, threads) as make:
        yield make


@dataclass(frozen=True, eq=False)
class _State:
    """Layers, and what they come to."""

    layers: tuple[Reals, ...]
    loss: float
    recalled: int


@dataclass(frozen=True, eq=False)
class _Training:
    """The solver: steps that a trainer takes, NumPy's or PyTorch's."""

    problem: Problem
    make: Callable[[], Trainer]
    until_stored: bool
    loss: TrainableLoss

    @cached_property
    def trainer(self) -> Trainer:
        """Who takes the steps."""
        return self.make()

    def start(self) -> _State:
        loss, recalled = self.trainer.look()
        return _State(self.trainer.layers(), loss, recalled)

    def states(self, state: _State) -> Generator[_State, None, tuple[_State, Status]]:
        while True:
            yield state
            everything = self.until_stored and state.recalled == self.problem.facts
            # Single precision may see a lead where there is none.
            if everything and self._solution(state).status is Status.STORED:
                return state, Status.STORED
            self.trainer.move()
            state = self.start()

    def report(self, state: _State) -> Report:
        return Report(state.loss, self.problem.facts - state.recalled)

    def place(self, state: _State) -> _State:
        return state

    def at(self, place: _State) -> _State:
        return place

    def finish(self, state: _State, _status: Status) -> Solution:
        solution = self._solution(state)
        left, *right = state.layers
        loss = mean_loss(self.problem, self.loss, "float64").at(solution.weights).loss
        return replace(solution, factors=(left, right[0]) if right else None, loss=loss)

    def _solution(self, state: _State) -> Solution:
        weights = np.asarray(_product(state.layers), dtype=np.float64)
        return Solution.of_weights(self.problem, weights, Status.STOPPED)


def _product(layers: tuple[Floats, ...]) -> Floats:
    return layers[0] if len(layers) == 1 else layers[0] @ layers[1].T


class _Adam:
    """The protocol on a loss of ours."""

    def __init__(
        self, function: MeanCrossEntropy | MeanLoss, layers: tuple[Reals, ...], schedule: Schedule
    ) -> None:
        self._function = function
        self._schedule = schedule
        self._step = 0
        self._layers = tuple(layer.astype(schedule.dtype) for layer in layers)
        self._slopes, self._means, self._squares = (
            tuple(np.zeros_like(layer) for layer in self._layers) for _ in range(3)
        )

    def look(self) -> tuple[float, int]:
        risk = self._function.at(_product(self._layers))
        slope = risk.gradient.astype(self._schedule.dtype)
        if len(self._layers) == 1:
            self._slopes = (slope,)
        else:
            self._slopes = slope @ self._layers[1], slope.T @ self._layers[0]
        return risk.loss, risk.recalled

    def move(self) -> None:
        rate = self._schedule.learning_rate * self._schedule.share(self._step)
        self._step += 1
        # Means that started at zero are too small at first, by these factors.
        fill, fill_squares = (1 - memory**self._step for memory in MEMORY)
        layers = zip(self._layers, self._slopes, self._means, self._squares, strict=True)
        for layer, slope, mean, square in layers:
            mean[:] = MEMORY[0] * mean + (1 - MEMORY[0]) * slope
            square[:] = MEMORY[1] * square + (1 - MEMORY[1]) * slope**2
            layer -= (rate / fill) * mean / (np.sqrt(square / fill_squares) + STABILISER)

    def layers(self) -> tuple[Reals, ...]:
        return tuple(layer.astype(np.float64) for layer in self._layers)
