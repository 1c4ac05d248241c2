"""Signal propagation: theory against random and against trained networks."""

import math
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from simonides.curves.signal import FIRST_FIGURE, depth_of, diagram_table, gradients_of
from simonides.curves.table import Table, stacked
from simonides.figures.catalogue import draw
from simonides.figures.style import INK
from simonides.signal import (
    Architecture,
    PoorTheoryWarning,
    Propagation,
    Simulation,
    propagate,
    simulate,
    trainability_diagram,
)

BLOCKS = Architecture(
    tokens=256, dim=512, layers=24, hidden=512, cosine=0.05, attention_skip=2.0, mlp_skip=2.0
)
TRAINED = Architecture(tokens=32, dim=48, layers=24, hidden=96, activation="gelu")
POINTS = ((0.5, 0.8), (0.5, 1.3), (0.5, 3.0), (1.0, 2.5), (4.0, 1.0), (4.0, 2.0), (4.0, 3.5))
"""Beta and skip of the networks trained."""

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

DEPTH_NETWORKS = 3
GRADIENT_NETWORKS = 3


def depth() -> list[dict[str, Any]]:
    """Cosine through depth at the sizes of the paper's first figure, three networks each."""
    return depth_of(FIRST_FIGURE, range(DEPTH_NETWORKS)).records()


def propagation() -> list[dict[str, Any]]:
    """Root mean square over layers of predicted less simulated mean cosine, four networks each."""
    return [row for name in CASES for row in case(name)]


def case(name: str) -> list[dict[str, Any]]:
    """Return one row for each beta of a case."""
    rows = []
    for beta in (0.5, 1.5, 3.0):
        asked = replace(BLOCKS, beta=beta, **CASES[name])
        run = simulate(asked, range(4))
        ratio = float(_quiet(asked).gradients.tokens[0] / run.mean.gradient[0])
        rows.append({"network": name, "beta": beta, **_compared(run), "gradient_ratio": ratio})
    return rows


def widths() -> list[dict[str, Any]]:
    """Errors of the two hardest cases with more networks, at three dimensions."""
    rows = []
    for name, beta in (("post-norm, tanh", 0.5), ("centred", 3.0)):
        for dim, networks in ((256, 24), (512, 16), (1024, 8)):
            asked = replace(BLOCKS, beta=beta, dim=dim, hidden=dim, **CASES[name])
            run = simulate(asked, range(networks), backward=False)
            wide = _rms(_quiet(asked, finite_width=True).cosine - run.mean.cosine)
            found = {**_compared(run), "cosine_error_wide": wide}
            rows.append({"network": name, "beta": beta, "dim": dim, "networks": networks, **found})
    return rows


def _compared(run: Simulation) -> dict[str, float]:
    """Return how far predictions lie from the means of simulated networks."""
    asked = run.architecture
    exact, limit = _quiet(asked), _quiet(asked, method="asymptotic")
    return {
        "cosine_error": _rms(exact.cosine - run.mean.cosine),
        "cosine_error_limit": _rms(limit.cosine - run.mean.cosine),
        "cosine_stderr": float(run.stderr.cosine.max()),
        "entropy_error": _rms(exact.entropy - run.mean.entropy) / math.log(asked.tokens),
    }


def _quiet(asked: Architecture, **options: Any) -> Propagation:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PoorTheoryWarning)  # how poor is what is measured
        return propagate(asked, **options)


def gradients() -> list[dict[str, Any]]:
    """Gradient of the query weights at the sizes of the paper's figure, three networks a point."""
    sizes = ((256, 2048), (512, 2048), (256, 4096), (512, 4096))
    return gradients_of(sizes, np.linspace(0.01, 3, 15), range(GRADIENT_NETWORKS)).records()


def training() -> list[dict[str, Any]]:
    """Loss of a small BERT-style model of Python's help text after 150 steps, three seeds each."""
    import torch

    from simonides.signal.text import python_help
    from simonides.signal.training import train

    torch.set_num_threads(1)
    text, rows = python_help(), []
    for beta, skip in POINTS:
        asked = replace(TRAINED, beta=beta, attention_skip=skip, mlp_skip=skip)
        runs = [train(asked, seed, text=text) for seed in range(3)]
        losses = np.array([run.loss for run in runs])
        halfway = [_first_below(run.history, run.guessing / 2) for run in runs]
        mean = replace(asked, cosine=float(np.mean([run.cosine for run in runs])))
        theory = _quiet(mean)
        rows.append(
            {
                "beta": beta,
                "skip": skip,
                "outcome": str(theory.outcome),
                "cosine": float(theory.cosine[-1]),
                "cosine_start": mean.cosine,
                "loss_nats": float(losses.mean()),
                "stderr": float(losses.std(ddof=1) / math.sqrt(len(runs))),
                "guessing": runs[0].guessing,
                "halfway": None if None in halfway else float(np.mean(halfway)),
                "first_gradient": float(np.mean([run.gradient for run in runs])),
            }
        )
    return rows


def depth_picture_table(rows: list[dict[str, Any]]) -> Table:
    """Return stored depths as the table their picture reads."""
    sizes = {name: getattr(FIRST_FIGURE, name) for name in ("tokens", "dim", "layers")}
    return stacked("depth", "Tokens align with depth", rows, **sizes, networks=DEPTH_NETWORKS)


def training_picture(rows: list[dict[str, Any]]) -> Any:
    """Return the diagram of the networks trained, with what training came to at each point."""
    asked = replace(TRAINED, cosine=rows[0]["cosine_start"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PoorTheoryWarning)
        found = trainability_diagram(
            asked, ("beta", np.linspace(0.1, 4.6, 80)), ("skip", np.linspace(0.4, 4.2, 80))
        )
    figure = draw(diagram_table(found))
    (axes,) = figure.axes
    for row in rows:
        axes.plot(row["beta"], row["skip"], "o", color=INK, markersize=4)
        axes.annotate(
            f"{row['loss_nats']:.2f}", (row["beta"], row["skip"]), xytext=(6, 3),
            textcoords="offset points", fontsize=9, fontweight="bold",
        )  # fmt: skip
    title = f"Loss after training (guessing: {rows[0]['guessing']:.2f} nats)"
    axes.set_title(title, loc="left", fontweight="bold")
    return figure


def _first_below(values: tuple[float, ...], level: float) -> int | None:
    return next((step for step, value in enumerate(values) if value < level), None)


def _rms(values: Any) -> float:
    return math.sqrt(float(np.mean(np.square(values))))
