"""Signal propagation: theory against random and against trained networks."""

import math
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from joblib import parallel_config

from simonides.curves.table import Table, stacked
from simonides.reproduction.catalogue import FIGURES
from simonides.signal import (
    Architecture,
    PoorTheoryWarning,
    Propagation,
    Simulation,
    propagate,
    simulate,
)
from simonides.signal.outcome import OUTCOMES
from simonides.signal.paper.curves import depth_of, diagram_of, gradients_of
from simonides.signal.paper.figures import trained
from simonides.signal.paper.scales import FIRST_FIGURE, FULL_COURSE

BLOCKS = Architecture(
    tokens=256, dim=512, layers=24, hidden=512, cosine=0.05, attention_skip=2.0, mlp_skip=2.0
)

CASES: dict[str, dict[str, Any]] = {
    "post-norm": {},
    "pre-norm": {"norm": "pre", "attention_skip": 1.0, "mlp_skip": 1.0},
    "post-norm, 8 heads": {"heads": 8, "output_variance": 1.0},
    "post-norm, tanh": {
        "activation": "tanh", "mlp_in_variance": 4.0, "mlp_out_variance": 2.0, "mlp_skip": 1.0,
    },
    "post-norm, no MLP": {"activation": None},
    "post-norm, causal": {"causal": True},
    "centred": {"centred": True, "attention_skip": 1.0, "mlp_skip": 1.0},
    "no MLP, no skip": {"activation": None, "attention_skip": 0.0, "layers": 8},
}  # fmt: skip

NETWORKS = 16
"""Of each case: single networks scatter in cosine by 0.05, and a theory is asked for 0.03."""

COURSE = replace(FULL_COURSE, seeds=3, steps=150)
"""Models trained for longer than the reproduction has time for."""

DEPTH_NETWORKS = 3
GRADIENT_NETWORKS = 3


def depth() -> list[dict[str, Any]]:
    """Cosine through depth at the sizes of the paper's first figure, three networks each."""
    return depth_of(FIRST_FIGURE, range(DEPTH_NETWORKS)).records()


def propagation() -> list[dict[str, Any]]:
    """Root mean square over layers of predicted less simulated mean cosine, 16 networks each."""
    return [row for name in CASES for row in case(name)]


def case(name: str) -> list[dict[str, Any]]:
    """Return one row for each beta of a case."""
    rows = []
    for beta in (0.5, 1.5, 3.0):
        architecture = replace(BLOCKS, beta=beta, **CASES[name])
        run = simulate(architecture, range(NETWORKS))
        ratio = float(_quiet(architecture).gradients.tokens[0] / run.mean.gradient[0])
        rows.append({"network": name, "beta": beta, **_compared(run), "gradient_ratio": ratio})
    return rows


def widths() -> list[dict[str, Any]]:
    """Errors of the two hardest cases with more networks, at three dimensions."""
    rows = []
    for name, beta in (("post-norm, tanh", 0.5), ("centred", 3.0)):
        for dim, networks in ((256, 24), (512, 16), (1024, 8)):
            architecture = replace(BLOCKS, beta=beta, dim=dim, hidden=dim, **CASES[name])
            run = simulate(architecture, range(networks), backward=False)
            wide = _rms(_quiet(architecture, finite_width=True).cosine - run.mean.cosine)
            errors = {**_compared(run), "cosine_error_wide": wide}
            rows.append({"network": name, "beta": beta, "dim": dim, "networks": networks, **errors})
    return rows


def _compared(run: Simulation) -> dict[str, float]:
    """Return how far predictions lie from the means of simulated networks."""
    architecture = run.architecture
    exact, limit = _quiet(architecture), _quiet(architecture, method="asymptotic")
    return {
        "cosine_error": _rms(exact.cosine - run.mean.cosine),
        "cosine_error_limit": _rms(limit.cosine - run.mean.cosine),
        "cosine_stderr": float(run.stderr.cosine.max()),
        "entropy_error": _rms(exact.entropy - run.mean.entropy) / math.log(architecture.tokens),
    }


def _quiet(architecture: Architecture, **options: Any) -> Propagation:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PoorTheoryWarning)  # how poor is what is measured
        return propagate(architecture, **options)


def gradients() -> list[dict[str, Any]]:
    """Gradient of the query weights at the sizes of the paper's figure, three networks a point."""
    sizes = ((256, 2048), (512, 2048), (256, 4096), (512, 4096))
    return gradients_of(sizes, np.linspace(0.01, 3, 15), range(GRADIENT_NETWORKS)).records()


def training() -> list[dict[str, Any]]:
    """Loss of a small BERT-style model of Python's help text after 150 steps, three seeds each."""
    with parallel_config(n_jobs=-1):
        rows = trained(COURSE)["measured"].records()
    return [
        {
            "beta": row["beta"],
            "skip": row["skip"],
            "outcome": str(OUTCOMES[int(row["predicted"])]),
            "cosine": row["cosine"],
            "cosine_start": row["cosine_start"],
            "loss_nats": row["loss"],
            "stderr": row["loss_stderr"],
            "guessing": row["guessing"],
            "halfway": None if math.isnan(row["halfway"]) else row["halfway"],
            "first_gradient": row["first_gradient"],
        }
        for row in rows
    ]


def depth_picture_table(rows: list[dict[str, Any]]) -> Table:
    """Return stored depths as the table their picture reads."""
    sizes = {name: getattr(FIRST_FIGURE, name) for name in ("tokens", "dim", "layers")}
    return stacked("depth", "Tokens align with depth", rows, **sizes, networks=DEPTH_NETWORKS)


def training_picture(rows: list[dict[str, Any]]) -> Any:
    """Return the diagram of the models trained, with what training came to at each point."""
    names = {"beta": "beta", "skip": "skip", "loss": "loss_nats", "guessing": "guessing"}
    shown = [{name: row[key] for name, key in names.items()} for row in rows]
    start = float(np.mean([row["cosine_start"] for row in rows]))
    tables = {
        "diagram": diagram_of(
            replace(COURSE.model, cosine=start),
            np.linspace(0.1, 4.6, 60),
            np.linspace(0.4, 4.2, 60),
        ),
        "measured": stacked(
            "training", "", shown, steps=float(COURSE.steps), seeds=float(COURSE.seeds)
        ),
    }
    return FIGURES["signal-training"].draw(tables)


def _rms(values: Any) -> float:
    return math.sqrt(float(np.mean(np.square(values))))
