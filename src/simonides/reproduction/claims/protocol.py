"""The claim about how it was trained: the paper's Adam ends where the convergent solver does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

import numpy as np

from simonides.estimate import Estimate
from simonides.experiments.spec import Spec
from simonides.reproduction.claims.claim import Agreement, Finding, graded, stated, undecided
from simonides.reproduction.claims.complete import FEWEST, whole_instances
from simonides.reproduction.claims.criteria import CRITERIA
from simonides.reproduction.results import Results, Row, groups, share_of_capacity, where
from simonides.reproduction.statistics import mean

_ADAM, _CONVERGENT = "gradient", "cross_entropy"


@stated(
    "protocol",
    "Curves were made with Adam (Appendix A); this run minimises the same loss to convergence",
    "the same accuracy",
    data="sweeps/protocol",
)
def adam_agrees(results: Results) -> Finding:
    """Check that the paper's Adam recalls what the convergent solver does, on both sides of capacity."""
    specs = results.plan.sweeps["protocol"]
    rows = [row | {"beyond": share_of_capacity(row) > 1} for row in results.rows("protocol")]
    there = groups(rows, "problem", "rank_fraction", "beyond")
    measured = {key: _mean_gap(there.get(key, [])) for key in _groups(specs)}
    gaps = {key: gap for key, gap in measured.items() if gap is not None}
    missing = [_named(*key) for key, gap in measured.items() if gap is None]
    dims = ", ".join(str(dim) for dim in sorted({dim for spec in specs for dim in spec.dims}))
    words = "; ".join(
        f"{_named(*key)}: {gap.value:+.4f} ± {gap.stderr:.4f}" for key, gap in gaps.items()
    )
    curves = [*results.plan.sweeps["accuracy"], *results.plan.sweeps["rank"]]
    text = (
        f"Adam minus convergent accuracy, same facts, d = {dims}: {words or 'no pairs'}; the convergent "
        f"solver ran with {_options(specs)}, in the curves with {_options(curves)}"
    )
    verdict = graded(
        *(_all_below(gaps.values(), limit) for limit in CRITERIA["protocol"].limits.values())
    )
    if missing and verdict is not Agreement.DISAGREES:
        wanted = f"{FEWEST} instances with every load by both solvers of {'; '.join(missing)}"
        return undecided(wanted, text)
    return Finding(text, verdict)


def _groups(specs: Sequence[Spec]) -> list[tuple[str, float, bool]]:
    """Return what a plan compares: each problem and rank, below capacity and beyond it."""
    kinds = {kind for spec in specs for kind in product(spec.problems, spec.rank_fractions)}
    return [(*kind, beyond) for kind in sorted(kinds) for beyond in (False, True)]


def _named(problem: str, fraction: float, beyond: bool) -> str:
    return f"{problem}, κ = {fraction:g}, {'beyond' if beyond else 'below'} capacity"


def _mean_gap(part: list[Row]) -> Estimate | None:
    """Return the mean difference of accuracies, or None for want of instances with all pairs.

    An instance's loads share its facts, so they count once.
    """
    facts = {row["facts"] for row in part}
    pairs = set(product(facts, (_ADAM, _CONVERGENT)))
    gaps = [
        _mean_accuracy(rows, _ADAM) - _mean_accuracy(rows, _CONVERGENT)
        for rows in whole_instances(part, pairs, "facts", "solver")
    ]
    return mean(gaps) if len(gaps) >= FEWEST else None


def _mean_accuracy(rows: list[Row], solver: str) -> float:
    return float(np.mean([row["accuracy"] for row in where(rows, solver=solver)]))


def _all_below(gaps: Iterable[Estimate], limit: float) -> bool:
    """Return whether all means are below a limit in absolute value, and known as well as that."""
    return all(abs(gap.value) < limit and gap.stderr <= limit for gap in gaps)


def _options(specs: Sequence[Spec]) -> str:
    """Return in words the convergent solver's options, by dimension where they differ."""
    dims: dict[str, set[int]] = {}
    for spec in specs:
        for solver in spec.solvers:
            if solver.name == _CONVERGENT:
                words = ", ".join(f"{name} = {value}" for name, value in solver.options)
                dims.setdefault(words or "no options", set()).update(spec.dims)
    if len(dims) == 1:
        return next(iter(dims))
    return " and ".join(
        f"{words} at d = {', '.join(map(str, sorted(at)))}" for words, at in dims.items()
    )
