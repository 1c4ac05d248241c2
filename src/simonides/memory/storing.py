"""Storing facts: an attempt at all of them, then as many as can be, and what is known about it.

When not every fact fits: weights that minimise the cross-entropy of all facts recall few of them, but tell
which are easy: those whose target leads most, for the length of their input. The longest storable run of
facts in that order is found by bisection. Beyond capacity it holds more facts than random ones would fit.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from simonides.certificate import Claim
from simonides.memory.budget import streams, within
from simonides.memory.scoring import Scorer, leading
from simonides.memory.streaming import MappedProblem, streamed
from simonides.problems import checked
from simonides.problems.scan import ALLOWANCE, Allowance, TooManyPairsError, row_blocks
from simonides.problems.whitening import Whitening
from simonides.solvers.deciding.proof import proved
from simonides.solvers.factors import truncated
from simonides.solvers.methods import bounded
from simonides.solvers.solution import Solution, Status
from simonides.solvers.training.cross_entropy import cross_entropy
from simonides.theory.capacity import capacity_of
from simonides.theory.lengths import length_notes
from simonides.theory.setting import Setting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from simonides.arrays import Integers, Reals, Truths
    from simonides.certificate import Certificate, Instance
    from simonides.memory.facts import Facts
    from simonides.memory.recipe import Recipe
    from simonides.problems.original import OriginalProblem
    from simonides.problems.problem import SharedProblem
    from simonides.solvers.solution import Progress
    from simonides.theory.capacity import Capacity

_RESOLUTION = 0.02
"""Share of the facts to which the longest storable run is found: each halving of it costs a search more."""

_FIRST_GAP = 0.03
"""Share of the guess by which the first step departs from it; any few percent do, as steps double."""


@dataclass(frozen=True, eq=False)
class Stored:
    """Weights, which facts they store, the proof for or against all of them, and theory beside it.

    A proof for is of these weights, and only where they store every fact; one against holds of any.
    """

    solution: Solution
    stored: Truths
    certificate: Certificate | None
    capacity: Capacity
    load: float


class Storing:
    """A search for weights that store facts by a recipe; ``start`` warm-starts the methods that can be.

    ``outcome()`` is what is known, at any time: after an interrupt, the best by then.
    """

    def __init__(self, facts: Facts, recipe: Recipe, start: Reals | None = None) -> None:
        self._facts, self._recipe, self._start = facts, recipe, start
        self._best: Solution | None = None
        self._stored: Any = None  # which facts the best stores, once that is known
        self._certificate: Certificate | None = None
        self._allowance = Allowance()
        self.interrupted = self.timed_out = False

    @property
    def short_of_memory(self) -> bool:
        """Whether the search would have looked further with more memory."""
        return self._allowance.exceeded

    def search(self, *, progress: bool = False) -> None:
        """Look for weights that store all facts, or most of them, and prove what can be."""
        with _facts_bar(len(self._facts.targets), shown=progress) as watch:
            self._search(self._recipe.begun(watch))

    def _search(self, recipe: Recipe) -> None:
        facts = self._facts
        setting = setting_of(facts, recipe)
        with within(facts, recipe) as self._allowance:
            if streams(facts, recipe):
                mapped = MappedProblem.of(facts, normalize=recipe.normalize_outputs)
                solution = streamed(mapped, recipe.solver, recipe.watch)
                self._prove(mapped, self._take(_cut(solution, recipe.rank)))
            else:
                self._search_all(facts.problem(recipe.normalize_outputs), recipe, setting)

    def _search_all(self, problem: OriginalProblem, recipe: Recipe, setting: Setting) -> None:
        solution = self._take(attempt(problem, recipe, self._start) or self._first())
        # Before other weights replace these, whose multipliers are about all facts.
        self._prove(problem, solution)
        if (
            solution.cut_short
        ):  # perhaps before it was any better than what it could have started from
            self._compare(self._first())
        if self._over() or not recipe.solver.strict:
            return
        if self._allowance.bytes < 0:
            self._allowance.exceeded = True
            return
        guess = capacity_of(replace(setting, candidates=problem.candidates)).facts
        for solution in largest_subset(problem, recipe, guess):
            self._compare(solution)
            if self._over():
                break
        if np.all(self._stored):
            self._prove(problem, solution)

    def outcome(self) -> Stored:
        """Return what is known: the best weights, or those that the search starts from."""
        setting = setting_of(self._facts, self._recipe)
        solution = self._best or self._take(replace(self._first(), interrupted=True))
        stored = self._stores(solution) if self._stored is None else self._stored
        load = setting.load(len(self._facts.targets))
        capacity = capacity_for(self._facts, self._recipe)
        return Stored(solution, stored, self._certificate, capacity, load)

    def _over(self) -> bool:
        """Return whether there is nothing more to look for, or no time."""
        return self.interrupted or self.timed_out or bool(np.all(self._stored))

    def _take(self, solution: Solution) -> Solution:
        """Hold a solution to be the best, then look what it stores."""
        self._best, self._stored = solution, None
        self._note(solution)
        self._stored = self._stores(solution)
        return solution

    def _compare(self, solution: Solution) -> None:
        """Hold a solution to be the best if it stores more than that."""
        self._note(solution)
        stored = self._stores(solution)
        if np.count_nonzero(stored) > np.count_nonzero(self._stored):
            self._best, self._stored = solution, stored

    def _note(self, solution: Solution) -> None:
        self.interrupted |= solution.interrupted
        self.timed_out |= solution.timed_out

    def _stores(self, solution: Solution) -> Truths:
        facts = self._facts
        scorer = Scorer(solution.weights, solution.factors, self._outputs)
        return leading(scorer, facts.inputs, facts.targets, self._recipe.margin)

    def _prove(self, problem: Instance, solution: Solution) -> None:
        """Take the proof that a solution comes with, or make it now: for all facts or against."""
        stored = bool(np.all(self._stored))
        claim = Claim.STORABLE if stored else Claim.NOT_STORABLE
        proof = solution.certificate
        # A solution found on a part of the facts comes with a proof about that part.
        if proof is None or proof.claim is not claim or proof.fingerprint != problem.fingerprint():
            if not stored and solution.multipliers is None:
                return
            status = Status.STORED if stored else Status.INFEASIBLE
            proof = proved(problem, replace(solution, status=status)).certificate
        self._certificate = proof

    def _first(self) -> Solution:
        """Return the weights to start from: those of before, or of the Hebbian rule."""
        facts, weights = self._facts, self._start
        if weights is None:
            inputs, outputs = facts.inputs, self._outputs
            weights = np.zeros((outputs.shape[1], inputs.shape[1]))
            for rows in row_blocks(len(inputs), 8 * sum(weights.shape)):
                block = np.asarray(inputs[rows], dtype=np.float64)
                weights += outputs[facts.targets[rows]].T @ block
        return _cut(Solution(weights, Status.STOPPED, 0, -np.inf), self._recipe.rank)

    @cached_property
    def _outputs(self) -> Reals:
        return self._facts.candidates(self._recipe.normalize_outputs)


def attempt(problem: SharedProblem, recipe: Recipe, start: Reals | None = None) -> Solution | None:
    """Return what a method finds, or None if a search that has begun cannot go on in the memory it has."""
    try:
        return _attempt(problem, recipe, start)
    except TooManyPairsError:
        if not ALLOWANCE.get().begun:
            raise
    return None


def _attempt(problem: SharedProblem, recipe: Recipe, start: Reals | None) -> Solution:
    """Return what a method finds, in the given or in whitened coordinates."""
    method = recipe.solver
    # A method that chooses its own coordinates would only gain rounding from ours.
    whitening = Whitening.of(problem) if recipe.whiten and not method.whitens else None
    task = problem if whitening is None else whitening.applied(problem)
    begin = start if start is None or whitening is None else whitening.weights_forward(start)
    solution = method.solve(
        task,
        rank=recipe.rank if method.bounds_rank else None,
        start=begin,
        seed=recipe.seed,
        watch=recipe.watch,
        time_limit=recipe.seconds_left,
        **({} if recipe.loss is None else {"loss": recipe.loss}),
    )
    if whitening is not None:
        factors = solution.factors
        solution = replace(
            solution,
            weights=whitening.weights_back(solution.weights),
            factors=None if factors is None else whitening.factors_back(*factors),
            certificate=None,  # of the facts in other coordinates
        )
    return bounded(solution, problem, recipe.rank)


def largest_subset(problem: OriginalProblem, recipe: Recipe, guess: float) -> Iterator[Solution]:
    """Yield solutions that may store more facts than others: that of training, then of longer runs.

    ``guess`` is about how many may fit.
    """
    trained = cross_entropy(
        problem,
        rank=recipe.rank,
        seed=recipe.seed,
        watch=recipe.watch,
        time_limit=recipe.seconds_left,
    )
    yield trained
    order = _easiest_first(problem, trained)
    start: Reals | None = None
    low, high = 0, problem.facts
    trial = int(min(max(guess, 1), high - 1))
    gap = max(1, round(_FIRST_GAP * guess))
    while low < trial < high:
        part = problem.subset(np.sort(order[:trial]))
        solution, fits = attempt(part, recipe, start), False
        if solution is not None:
            scorer = Scorer(solution.weights, solution.factors, part.outputs)
            fits = bool(leading(scorer, part.inputs, part.targets, recipe.margin).all())
            if fits:
                low, start = trial, solution.weights
            if fits or solution.cut_short:
                yield solution
        high = high if fits else trial
        if high - low <= max(1, _RESOLUTION * low):
            break
        # From the guess in growing steps, then by halves.
        if low == 0:
            trial = max(high - gap, high // 2)
        elif high == problem.facts:
            trial = min(low + gap, (low + high + 1) // 2)
        else:
            trial = (low + high) // 2
        gap *= 2


def _easiest_first(problem: OriginalProblem, trained: Solution) -> Integers:
    scorer = Scorer(trained.weights, trained.factors, problem.outputs)
    lengths = np.linalg.norm(problem.inputs, axis=1)
    leads = scorer.leads(problem.inputs, problem.targets)
    # A zero input gives every output the same score: it is the hardest.
    ease = np.where(lengths > 0, leads / np.where(lengths > 0, lengths, 1.0), -np.inf)
    return np.argsort(-ease, kind="stable")


def _cut(solution: Solution, rank: int | None) -> Solution:
    """Return the solution cut to a rank, if there is one."""
    if rank is None:
        return solution
    factors = truncated(solution.weights, rank)
    return replace(solution, weights=factors[0] @ factors[1].T, factors=factors)


def setting_of(facts: Facts, recipe: Recipe) -> Setting:
    """Return what theory is to be asked about these facts."""
    dim_in, dim_out = int(np.shape(facts.inputs)[1]), int(facts.outputs.shape[1])
    candidates = None if facts.paired else len(facts.outputs)
    rank = None if recipe.rank is None else checked.rank_of_shape(recipe.rank, dim_in, dim_out)
    counts = None
    if candidates is not None and len(facts.targets):
        counts = tuple(np.bincount(facts.targets, minlength=candidates).tolist())
    return Setting(dim_in, dim_out, candidates, rank, recipe.margin, target_counts=counts)


def capacity_for(facts: Facts, recipe: Recipe) -> Capacity:
    """Return the capacity for facts of this shape, how frequent their targets are and how long outputs."""
    answer = capacity_of(setting_of(facts, recipe))
    outputs = facts.outputs
    if recipe.normalize_outputs:
        outputs = outputs / np.linalg.norm(outputs, axis=1, keepdims=True)
    return replace(answer, notes=(*length_notes(outputs), *answer.notes))


@contextmanager
def _facts_bar(facts: int, *, shown: bool) -> Iterator[Callable[[Progress], None] | None]:
    """Yield a callback for solvers that moves a bar of the facts stored so far, or None if not shown.

    Not every method counts down: the bar shows what is stored now, and may fall back.
    """
    if not shown:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("storing"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("storing", total=facts)
        yield lambda step: bar.update(task, completed=max(0, facts - step.violations))
