"""How many facts fit in a matrix, and how to put them there."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simonides.certificate import Certificate, verify
    from simonides.estimate import Estimate
    from simonides.memory.estimator import AssociativeMemory
    from simonides.problems.decoupled import DecoupledProblem
    from simonides.problems.original import OriginalProblem
    from simonides.solvers.deciding.decide import Decision, decide
    from simonides.theory.capacity import Capacity, capacity
    from simonides.theory.cone import statistical_dimension
    from simonides.theory.requirements import largest_margin, smallest_dimension, smallest_rank
    from simonides.theory.setting import Setting
    from simonides.theory.spectrum import critical_load

__version__ = "0.1.0"

# Names are imported when they are first used, so that importing the package costs nothing.
_HOMES = {
    "AssociativeMemory": "simonides.memory.estimator",
    "Capacity": "simonides.theory.capacity",
    "Certificate": "simonides.certificate.verifier",
    "Decision": "simonides.solvers.deciding.decide",
    "DecoupledProblem": "simonides.problems.decoupled",
    "Estimate": "simonides.estimate",
    "OriginalProblem": "simonides.problems.original",
    "Setting": "simonides.theory.setting",
    "capacity": "simonides.theory.capacity",
    "critical_load": "simonides.theory.spectrum",
    "decide": "simonides.solvers.deciding.decide",
    "largest_margin": "simonides.theory.requirements",
    "smallest_dimension": "simonides.theory.requirements",
    "smallest_rank": "simonides.theory.requirements",
    "statistical_dimension": "simonides.theory.cone",
    "verify": "simonides.certificate.verifier",
}

__all__ = [
    "AssociativeMemory",
    "Capacity",
    "Certificate",
    "Decision",
    "DecoupledProblem",
    "Estimate",
    "OriginalProblem",
    "Setting",
    "capacity",
    "critical_load",
    "decide",
    "largest_margin",
    "smallest_dimension",
    "smallest_rank",
    "statistical_dimension",
    "verify",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
