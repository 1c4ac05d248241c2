"""How facts are to be stored: one method, and what it is to respect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from simonides import arguments

if TYPE_CHECKING:
    from collections.abc import Callable

    from simonides.solvers.solution import Progress

METHODS = (
    "feasibility",
    "margin",
    "low_rank",
    "cross_entropy",
    "gradient",
    "pseudo_inverse",
    "hebbian",
)

RULES = ("hebbian", "pseudo_inverse")
"""One pass over the facts: these can stream from a file."""

STRICT = ("feasibility", "margin", "low_rank")
"""These look for weights that store everything asked of them, and are asked less if there are none."""

_LARGEST_SEED = 2**32


@dataclass(frozen=True)
class Recipe:
    """A checked choice of method and options."""

    method: str = "feasibility"
    rank: int | None = None
    margin: float = 0.0
    whiten: bool = False
    normalize_outputs: bool = False
    max_memory: int | None = None
    seed: int = 0
    watch: Callable[[Progress], None] | None = None

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise arguments.refuse("method", self.method, f"one of {METHODS}", "choose one")
        arguments.real(
            "margin", self.margin, least=0, remedy="pass 0 to ask only for the top score"
        )
        if self.rank is not None:
            arguments.whole("rank", self.rank, remedy="pass the inner dimension of two factors")
        elif self.method == "low_rank":
            raise arguments.refuse("rank", None, "given with method='low_rank'", "pass a rank")
        if self.method == "margin" and self.rank is not None:
            raise arguments.refuse(
                "rank", self.rank, "None with method='margin'", "use method='low_rank'"
            )
        if self.max_memory is not None:
            arguments.whole("max_memory", self.max_memory, remedy="pass a number of bytes")
        for name in ("whiten", "normalize_outputs"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise arguments.refuse(name, getattr(self, name), "True or False", "choose one")

    @property
    def strict(self) -> bool:
        """Whether fewer facts are to be tried where all of them do not fit."""
        return self.method in STRICT


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
