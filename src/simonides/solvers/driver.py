"""The one loop of every iterative solver: history, watching, limits, Ctrl-C, and the best so far.

A solver is a generator of states. It yields each state it comes to; how long that goes on, who watches,
what the clock says and what an interrupt leaves is no concern of its own.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from simonides import arguments
from simonides.interrupts import Keyboard, completed
from simonides.solvers.solution import Progress, Solution, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

StateT = TypeVar("StateT")


@dataclass(frozen=True)
class Report:
    """What a solver knows at a state; the margins bracket the largest normalised margin."""

    objective: float
    violations: int
    margin_lower: float = -math.inf
    margin_upper: float = math.inf


class Solver(Protocol[StateT]):
    """How a solver goes from state to state."""

    def start(self) -> StateT:
        """Return the first state."""

    def states(self, state: StateT) -> Generator[StateT, None, tuple[StateT, Status]]:
        """Yield the first state and each that follows; return the last and how it ended.

        The last may be one that was never yielded.
        """

    def report(self, state: StateT) -> Report:
        """Return what is known at a state."""

    def place(self, state: StateT) -> Any:
        """Return what a state can be found again from, such as its weights: little enough to keep.

        None if no state is better than the latest.
        """

    def at(self, place: Any) -> StateT:
        """Return the state at a place."""

    def finish(self, state: StateT, status: Status) -> Solution:
        """Return the solution at a state; the driver adds steps, seconds and history."""


@dataclass(frozen=True)
class Limits:
    """When to stop: after so many steps, or so many seconds; checked on construction."""

    max_steps: int
    seconds: float | None = None

    def __post_init__(self) -> None:
        arguments.whole("max_steps", self.max_steps, least=0, remedy="pass a step limit")
        arguments.time_limit(self.seconds)


def drive(
    solver: Solver[StateT],
    limits: Limits,
    watch: Callable[[Progress], None] | None = None,
    after: Solution | None = None,
) -> Solution:
    """Run a solver to its end, to a limit or to an interrupt, and return its solution.

    Interrupted or out of time it returns the best state so far: that with the fewest facts not recalled,
    the latest of several. At the step limit it returns the state it came to. ``watch`` is called at every
    state. ``after`` is a solution whose history and clock go on.
    """
    if watch is not None:
        arguments.function("watch", watch, "pass a function of the Progress of a step")
    began = time.perf_counter() - (0.0 if after is None else after.seconds)
    history = [] if after is None else list(after.history)
    deadline = arguments.deadline(limits.seconds)
    state, early = completed(solver.start)
    status, timed_out = Status.STOPPED, False
    best, best_step, fewest = None, -1, math.inf
    with Keyboard() as keyboard:
        steps = None if early else solver.states(state)
        while steps is not None:
            try:
                state = next(steps)
            except StopIteration as ending:
                state, status = ending.value
                break
            report = solver.report(state)
            seconds = time.perf_counter() - began
            history.append(Progress(len(history), seconds=seconds, **vars(report)))
            if report.violations <= fewest and (place := solver.place(state)) is not None:
                best, best_step, fewest = place, len(history), report.violations
            if watch is not None:
                watch(history[-1])
            timed_out = time.monotonic() > deadline
            if timed_out or len(history) > limits.max_steps:
                break
    cut_short = keyboard.interrupted or timed_out

    def finish() -> Solution:
        fallen_back = cut_short and 0 <= best_step < len(history)
        return solver.finish(solver.at(best) if fallen_back else state, status)

    solution, late = completed(finish)
    return replace(
        solution,
        steps=max(len(history) - 1, 0),
        seconds=time.perf_counter() - began,
        history=tuple(history),
        interrupted=early or keyboard.interrupted or late,
        timed_out=timed_out,
    )
