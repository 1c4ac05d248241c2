"""A reproduction so small that its sweeps run inside the test's own process."""

from simonides.experiments import store
from simonides.experiments.expand import expand
from simonides.experiments.record import attempt
from simonides.experiments.spec import Spec
from simonides.reproduction.plans import BOTH, FRACTIONS, NEAR, REGIMES, ReproductionPlan
from simonides.reproduction.results import Results, folder_of
from simonides.signal.maps.architecture import Architecture
from simonides.signal.paper.scales import SignalScale, TrainingCourse


def spec(problem, dims, solvers, instances, **more):
    return Spec.of(
        {"problem": problem, "dims": dims, "solvers": solvers, "instances": instances, "seed": 5}
        | more
    )


_TRAINED = ({"name": "cross_entropy", "max_steps": 30},)
_BOUNDED = {"rank_fractions": FRACTIONS[:-1]}

_BLOCKS = Architecture(tokens=16, dim=64, layers=4, hidden=64, value_variance=0.5)

_SCALE = SignalScale(
    depth=_BLOCKS,
    skip=Architecture(tokens=16, dim=64, layers=4, activation=None, beta=0.2),
    placement=_BLOCKS,
    gradients=((64, 16), (64, 32)),
    betas=4,
    diagram=_BLOCKS,
    points=((0.3, 3.0), (0.5, 3.0)),
    networks=2,
)

_COURSE = TrainingCourse(
    Architecture(tokens=8, dim=16, layers=4, hidden=16, activation="gelu"),
    points=((0.5, 0.3), (0.5, 3.0), (4.0, 3.0)),
    seeds=2,
    steps=3,
)

TINY = ReproductionPlan(
    name="tiny",
    sweeps={
        "accuracy": (spec(BOTH, (6, 8), _TRAINED, 2, loads=(0.4, 1.2, 1.6, 2.0)),),
        "rank": (spec(BOTH, (6,), _TRAINED, 2, loads=(0.4, 1.6), **_BOUNDED),),
        "hebbian": (spec(BOTH, (6, 8), ("hebbian",), 3, loads=(0.03, 0.06, 0.2, 1.0)),),
        "regimes": (spec(BOTH, (6, 8), _TRAINED, 3, relative_loads=REGIMES),),
        "spectra": (spec(BOTH, (6, 8), _TRAINED, 3, relative_loads=(NEAR,), **_BOUNDED),),
        "thresholds": (spec(BOTH, (5, 8), ("threshold",), 4),),
        "bounded": (spec("original", (4,), ("threshold",), 2, rank_fractions=(0.5, 1.0)),),
        "margin": (
            spec(
                BOTH, (6,), ({"name": "margin", "margin_gap": 0.1},), 2, relative_loads=(0.3, 0.6)
            ),
        ),
        "protocol": (
            spec(
                BOTH,
                (6,),
                ("cross_entropy", {"name": "gradient", "max_steps": 50}),
                2,
                loads=(0.5, 2.0),
            ),
        ),
    },
    theory_samples=64,
    draws=2000,
    single_dim=8,
    signal=_SCALE,
    course=_COURSE,
)


def measured(out):
    """Measure the tiny plan into a folder, in this process, and return its results."""
    for sweep, specs in TINY.sweeps.items():
        for place, one in enumerate(specs):
            folder = folder_of(out, sweep, place)
            folder.parent.mkdir(parents=True, exist_ok=True)
            tasks = expand(one)
            with store.writing(folder, tasks) as kept:
                kept.land([attempt(task) for task in tasks])
    return Results(out, TINY)
