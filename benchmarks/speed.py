"""Near the threshold: our verdict against PyTorch's training and against linear programming."""

from typing import Any

from benchmarks.contest import compare, enter, near
from simonides import capacity

_SIDES = (0.97, 1.03)


def training() -> list[dict[str, Any]]:
    """Decide on both sides of the threshold, where the paper's protocol does or does not succeed."""
    return _against_training(100)


def training_large() -> list[dict[str, Any]]:
    """Decide in a larger matrix; training is given up after sixty times our time."""
    return _against_training(200, patience=60)


def _against_training(dim: int, patience: float | None = None) -> list[dict[str, Any]]:
    rivals = ["simonides", "adam (torch)"]
    return [
        row for side in _SIDES for row in compare(rivals, dim, near(dim, side), patience=patience)
    ]


def programming() -> list[dict[str, Any]]:
    """Decide against both of HiGHS's methods, simplex and interior point."""
    rivals = ["simonides", "highs-ds", "highs-ipm"]
    return [
        row
        for dim in (15, 20, 25)
        for side in _SIDES
        for row in compare(rivals, dim, near(dim, side))
    ]


def converging() -> list[dict[str, Any]]:
    """Minimise the cross-entropy beyond capacity."""
    return compare(["cross-entropy", "adam (torch)"], 100, 1300)


def rules() -> list[dict[str, Any]]:
    """Show what the closed-form rules recall where the best weights recall everything."""
    return compare(["simonides", "pseudo-inverse", "hebbian"], 100, near(100, 0.9))


def searching() -> list[dict[str, Any]]:
    """Search at rank 25 of 100, at 0.99 of the predicted facts."""
    facts = int(0.99 * capacity(100, rank=25).facts)
    return [enter("low-rank", 100, facts, seed=seed, rank=25) for seed in range(5)]


def large() -> list[dict[str, Any]]:
    """Decide where problems are large."""
    return [
        enter("simonides", 200, 3800, problem="decoupled"),
        enter("simonides", 400, near(400, 0.9)),
        enter("simonides", 1024, 35_000),
        enter("simonides", 1024, 60_000),
    ]
