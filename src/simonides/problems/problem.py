"""What solvers, memories and experiments ask of a problem, whatever its kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, cast

from simonides.arrays import Integers, Reals, Singles
from simonides.problems.scan import Precision, Recall, Scan
from simonides.problems.scores import ScoreBlock
from simonides.theory.setting import Setting
from simonides.threads import Each


class Problem(Protocol):
    """Facts to be stored: for each input a target output and the rivals that it must beat.

    A kind of problem is a class with these; it inherits :class:`~simonides.problems.scan.Scanned` for
    what follows from the others. Every score is taken of ``images(weights)``: what a fact adds to its image
    whatever the weights belongs there, and nowhere else.
    """

    @property
    def facts(self) -> int:
        """Number of facts."""

    @property
    def candidates(self) -> int:
        """Number of outputs that compete for each input, the target among them."""

    @property
    def dim_in(self) -> int:
        """Input dimension."""

    @property
    def dim_out(self) -> int:
        """Output dimension."""

    @property
    def inputs(self) -> Reals:
        """Inputs, shape (facts, dim_in)."""

    @property
    def targets(self) -> Integers:
        """Number of each input's right output among its candidates."""

    @property
    def target_outputs(self) -> Reals:
        """The right output of each input, shape (facts, dim_out)."""

    @property
    def shared_outputs(self) -> Reals | None:
        """The candidates of every input, shape (candidates, dim_out); None if each has its own."""

    @property
    def all_compete(self) -> bool:
        """Whether there are as many candidates as facts, also in a prefix."""

    @property
    def shortest(self) -> float:
        """Length that no output falls below."""

    @property
    def setting(self) -> Setting:
        """What theory is to be asked about this problem."""

    def prefix(self, facts: int) -> Problem:
        """Return the problem of the first facts."""

    def fingerprint(self) -> str:
        """Return a digest of everything that defines the problem."""

    def images(self, weights: Reals) -> Reals:
        """Return what the weights make of every input, shape (facts, dim_out)."""

    def score_blocks(self, images: Any, precision: Precision = ...) -> Iterator[ScoreBlock]:
        """Yield the scores of all facts, some at a time, in that precision."""

    def contests(self, facts: int) -> Iterator[tuple[slice, Reals]]:
        """Yield the first facts, those together that share their candidates, and these' vectors."""

    def competitors(self, fact: int) -> tuple[Integers, Reals]:
        """Return the numbers and the vectors of a fact's rivals."""

    def rivals_of(self, rows: slice | Integers) -> Singles:
        """Return the rivals of some inputs, shape (rows, candidates - 1, dim_out), in single precision."""

    def impossible_pair(self) -> tuple[int, int] | None:
        """Return a fact and a rival that no weights can tell apart, if there are any."""

    def scan(self, images: Reals, threshold: float, each: Each = ...) -> Scan:
        """Pass over all rivals; collect those with a gap of at most ``threshold`` times their size."""

    def scan_within(
        self, most: float, images: Reals, threshold: float, each: Each = ...
    ) -> Scan | None:
        """Scan, or return None as soon as more than ``most`` pairs turn out to be close."""

    def recall(self, images: Reals, each: Each = ..., facts: Integers | None = None) -> Recall:
        """Count the facts, of all or of some, whose target beats every rival."""


class SharedProblem(Problem, Protocol):
    """A problem whose inputs share their candidates: it can be taken in other coordinates."""

    @property
    def outputs(self) -> Reals:
        """The candidates, shape (candidates, dim_out)."""

    def recoded(self, inputs: Reals, outputs: Reals) -> SharedProblem:
        """Return the same facts with other vectors."""


def sharing(problem: Problem) -> SharedProblem | None:
    """Return the problem if its inputs share their candidates, or else None."""
    return None if problem.shared_outputs is None else cast("SharedProblem", problem)
