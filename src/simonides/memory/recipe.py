"""How facts are to be stored: one method, and what it is to respect."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from simonides import arguments
from simonides.problems import checked
from simonides.solvers.methods import named

if TYPE_CHECKING:
    from collections.abc import Callable

    from simonides.solvers.methods import Method
    from simonides.solvers.solution import Progress

_LARGEST_SEED = 2**32
"""Above every seed that NumPy's older generators take."""


@dataclass(frozen=True)
class Recipe:
    """A checked choice of method and options.

    A method of one's own is imported where it is used, and not here: a file may name any module.
    """

    method: str = "feasibility"
    rank: int | None = None
    margin: float = 0.0
    whiten: bool = False
    normalize_outputs: bool = False
    max_memory: int | None = None
    time_limit: float | None = None
    loss: object = None
    seed: int = 0
    deadline: float = inf
    watch: Callable[[Progress], None] | None = None

    def __post_init__(self) -> None:
        arguments.real(
            "margin", self.margin, least=0, remedy="pass 0 to ask only for the top score"
        )
        if self.rank is not None:
            arguments.whole("rank", self.rank, remedy="pass the inner dimension of two factors")
        if not (self.loss is None or isinstance(self.loss, str)):
            remedy = "pass module:Class for your own, so that files can hold it"
            raise arguments.refuse("loss", self.loss, "a name, or None", remedy)
        if ":" not in str(self.method):
            method = named(self.method)
            if self.loss is not None and "loss" not in method.takes:
                raise arguments.refuse(
                    "loss", self.loss, f"None with method={self.method!r}", "use method='gradient'"
                )
            if self.rank is not None and method.strict and not method.bounds_rank:
                raise arguments.refuse(
                    "rank", self.rank, f"None with method={self.method!r}", "use method='low_rank'"
                )
        if self.max_memory is not None:
            arguments.whole("max_memory", self.max_memory, remedy="pass a number of bytes")
        arguments.time_limit(self.time_limit)
        for name in ("whiten", "normalize_outputs"):
            checked.truth(name, getattr(self, name))

    def begun(self, watch: Callable[[Progress], None] | None) -> Recipe:
        """Return the recipe of a search that begins now and is watched, by its own watch if by none."""
        return replace(
            self, watch=watch or self.watch, deadline=arguments.deadline(self.time_limit)
        )

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the search is to end, none below zero; None without a limit."""
        return None if self.deadline == inf else max(0.0, self.deadline - time.monotonic())

    @property
    def solver(self) -> Method:
        """The method that is run: in place of the default, the one made for a rank or a margin."""
        if self.method == "feasibility" and self.rank is not None:
            return named("low_rank")
        if self.method == "feasibility" and self.margin > 0:
            return named("margin")
        return named(self.method)


def seed_of(random_state: object) -> int:
    """Return the integer that a random state stands for; None stands for zero, not for chance."""
    if random_state is None:
        return 0
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(_LARGEST_SEED))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(_LARGEST_SEED, dtype=np.int64))
    return arguments.whole(
        "random_state", random_state, least=0, remedy="pass an integer to reproduce it by"
    )
