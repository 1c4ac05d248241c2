"""What a reproduction measures: the sweeps of each scale, by the name figures ask for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simonides.experiments.spec import Spec
from simonides.signal.paper import scales
from simonides.signal.paper.scales import SignalScale, TrainingCourse

BOTH = ("original", "decoupled")
FRACTIONS = (0.1, 0.25, 0.5, 1.0)
"""Rank over dimension in Figs. 2, 3, A.1 and C.2."""

REGIMES = BELOW, NEAR, ABOVE = 0.7, 0.98, 1.3
"""Facts over the predicted capacity in the three regimes of Figs. 4 and A.2."""

_SEED = 2026  # any would do; the stored runs have this one
_TRAINED = ({"name": "cross_entropy", "least_gain": 1e-4},)
_TRAINED_LARGE = ({"name": "cross_entropy", "least_gain": 1e-3},)
"""Ends when ten steps gain less of the loss: some 0.02 of accuracy too early at worst, at small ranks."""

_QUICK_LOADS = (0.2, 0.4, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0, 1.05, 1.1, 1.2, 1.3)
_FULL_LOADS = tuple(round(0.1 + 0.05 * step, 2) for step in range(27))
_LARGE_LOADS = tuple(round(0.06 + 0.04 * step, 2) for step in range(25))
"""For the largest dimensions, where a point beyond capacity takes tens of seconds."""

_SHARES = tuple(round(0.1 + 0.045 * step, 3) for step in range(25))
"""Of each rank's capacity, from d = 50 on with a rank bound: points far beyond it take long."""

_HEBBIAN_LOADS = (
    *(round(0.01 * step, 2) for step in range(1, 13)),
    *(0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3),
)
"""Fine up to 0.12, where the Hebbian rule's threshold is sought: half a step is its slack."""

_MARGIN_SHARES = (0.2, 0.35, 0.5, 0.65, 0.8, 0.9)  # of capacity, above which there is none
_BOUNDED: dict[str, Any] = {"rank_fractions": FRACTIONS[:-1]}
_ALL_RANKS: dict[str, Any] = {"rank_fractions": FRACTIONS}


@dataclass(frozen=True)
class ReproductionPlan:
    """A scale of reproduction.

    ``sweeps`` maps a name to the specs whose results it holds together. ``theory_samples`` and
    ``draws`` set the Monte Carlo errors of the theory beyond capacity and of the solutions' volume;
    ``single_dim`` is the dimension of the one constraint that Fig. A.2 shows. ``signal`` and ``course``
    are the networks that are run, and the models that are trained, for the paper on signals. ``curves``
    are the curves of theory that a whole run shows after its figures.
    """

    name: str
    sweeps: Mapping[str, tuple[Spec, ...]]
    theory_samples: int
    draws: int
    single_dim: int
    signal: SignalScale
    course: TrainingCourse
    curves: tuple[str, ...] = ()


def _spec(problem: Any, dims: Any, solvers: Any, instances: int, **more: Any) -> Spec:
    keys = {"problem": problem, "dims": dims, "solvers": solvers, "instances": instances}
    return Spec.of({**keys, "seed": _SEED, **more})


def _protocol(instances: int, loads: tuple[float, ...]) -> Spec:
    """Return the comparison of the paper's Adam with the solver of the curves."""
    solvers = (*_TRAINED, {"name": "gradient", "max_steps": 2000})
    return _spec(BOTH, (25,), solvers, instances, loads=loads, rank_fractions=(0.25, 1.0))


_THRESHOLD = ("threshold",)

_MARGIN = ({"name": "margin", "margin_gap": 0.01},)
"""Brackets of one percent: less than a mark's height."""

QUICK = ReproductionPlan(
    name="quick",
    sweeps={
        "accuracy": (
            _spec("original", (25, 50, 100), _TRAINED, 3, loads=_QUICK_LOADS),
            _spec("decoupled", (25, 50), _TRAINED, 3, loads=_QUICK_LOADS),
        ),
        "rank": (_spec(BOTH, (25,), _TRAINED, 3, loads=_QUICK_LOADS, **_BOUNDED),),
        "hebbian": (
            _spec("original", (25, 50), ("hebbian",), 30, loads=_HEBBIAN_LOADS),
            _spec("decoupled", (25,), ("hebbian",), 10, loads=_HEBBIAN_LOADS),
        ),
        "regimes": (_spec(BOTH, (25, 50), _TRAINED, 6, relative_loads=REGIMES),),
        "spectra": (_spec(BOTH, (25, 50), _TRAINED, 4, relative_loads=(NEAR,), **_BOUNDED),),
        "thresholds": (
            _spec(BOTH, (12, 17, 25), _THRESHOLD, 8),
            _spec(BOTH, (35,), _THRESHOLD, 4),
        ),
        "bounded": (_spec("original", (25,), _THRESHOLD, 2, **_ALL_RANKS),),
        "margin": (_spec(BOTH, (25,), _MARGIN, 4, relative_loads=_MARGIN_SHARES),),
        "protocol": (_protocol(2, (0.4, 0.8, 0.9, 1.2)),),
    },
    theory_samples=512,
    draws=200_000,
    single_dim=50,
    signal=scales.QUICK_SCALE,
    course=scales.QUICK_COURSE,
    curves=("price", "load", "hebbian"),
)

FULL = ReproductionPlan(
    name="full",
    sweeps={
        "accuracy": (
            _spec(BOTH, (25, 50), _TRAINED, 10, loads=_FULL_LOADS),
            _spec(BOTH, (100,), _TRAINED_LARGE, 10, loads=_LARGE_LOADS),
            _spec("original", (200,), _TRAINED_LARGE, 10, loads=_LARGE_LOADS),
        ),
        "rank": (
            _spec(BOTH, (25,), _TRAINED, 10, loads=_FULL_LOADS, **_BOUNDED),
            _spec(BOTH, (50,), _TRAINED_LARGE, 10, relative_loads=_SHARES, **_BOUNDED),
            _spec(BOTH, (100,), _TRAINED_LARGE, 10, relative_loads=_SHARES, **_BOUNDED),
            _spec("original", (200,), _TRAINED_LARGE, 10, relative_loads=_SHARES, **_BOUNDED),
        ),
        "hebbian": (
            _spec("original", (25, 50, 100), ("hebbian",), 40, loads=_HEBBIAN_LOADS),
            _spec("decoupled", (25, 50), ("hebbian",), 20, loads=_HEBBIAN_LOADS),
        ),
        "regimes": (_spec(BOTH, (25, 50, 100), _TRAINED, 10, relative_loads=REGIMES),),
        "spectra": (
            _spec(BOTH, (25, 50), _TRAINED, 10, relative_loads=(NEAR,), **_BOUNDED),
            _spec(BOTH, (100,), _TRAINED_LARGE, 10, relative_loads=(NEAR,), **_BOUNDED),
            _spec("original", (200,), _TRAINED_LARGE, 10, relative_loads=(NEAR,), **_ALL_RANKS),
        ),
        "thresholds": (
            _spec(BOTH, (12, 17, 25), _THRESHOLD, 40),
            _spec(BOTH, (35, 50), _THRESHOLD, 20),
        ),
        "bounded": (_spec(BOTH, (25,), _THRESHOLD, 6, **_ALL_RANKS),),
        "margin": (
            _spec(BOTH, (25,), _MARGIN, 10, relative_loads=_MARGIN_SHARES),
            _spec(BOTH, (50,), _MARGIN, 5, relative_loads=_MARGIN_SHARES),
        ),
        "protocol": (_protocol(10, (0.4, 0.6, 0.8, 0.9, 1.0, 1.2)),),
    },
    theory_samples=1024,
    draws=2_000_000,
    single_dim=100,
    signal=scales.FULL_SCALE,
    course=scales.FULL_COURSE,
    # All but those that a figure shows with networks beside them.
    curves=(
        *("price", "load", "rank", "margin", "tail"),
        *("scores", "spectrum", "overlap", "hebbian", "trained", "attention"),
    ),
)

PLANS = {plan.name: plan for plan in (QUICK, FULL)}
