"""The name of any problem that solvers take."""

from __future__ import annotations

from typing import TypeAlias

from simonides.problems.decoupled import DecoupledProblem
from simonides.problems.original import OriginalProblem

Problem: TypeAlias = OriginalProblem | DecoupledProblem
