"""Classes of networks over diagrams: theory against networks that were run forward and back."""

import warnings
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from simonides.figures.style import INK, house_style
from simonides.signal import Architecture, PoorTheoryWarning, simulate, trainability_diagram
from simonides.signal.networks.simulation import observed
from simonides.signal.outcome import OUTCOMES
from simonides.signal.paper.pictures import CLASSES

NETWORKS = 3
BETAS = tuple(np.round(np.linspace(0.3, 4, 8), 3).tolist())
BLOCKS = Architecture(tokens=128, dim=192, layers=24, hidden=192, cosine=0.1)
WEAK: dict[str, Any] = {
    "norm": "pre",
    "layers": 8,
    "value_variance": 0.01,
    "mlp_out_variance": 0.01,
}
TANH: dict[str, Any] = {
    "activation": "tanh",
    "mlp_out_variance": 2.0,
    "mlp_skip": 1.0,
    "attention_skip": 2.0,
}
DIAGRAMS: dict[str, tuple[Architecture, str, tuple[float, ...]]] = {
    "post-norm": (BLOCKS, "skip", (0.5, 0.8, 1.2, 1.7, 2.3, 3.0, 4.0)),
    "pre-norm": (replace(BLOCKS, norm="pre"), "skip", (0.6, 0.75, 0.9, 1.0, 1.1, 1.2, 1.3)),
    "pre-norm, weak branches, 8 layers": (
        replace(BLOCKS, **WEAK),
        "skip",
        (0.6, 0.7, 0.8, 0.9, 1.0, 1.15, 1.3),
    ),
    "post-norm, tanh": (
        replace(BLOCKS, **TANH),
        "mlp_in_variance",
        (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0),
    ),
}
"""Each over beta and one more hyper-parameter; together they meet every class."""


def run() -> list[dict[str, Any]]:
    """Classes of four 8 x 7 diagrams, and of three simulated networks at each point."""
    return [row for name in DIAGRAMS for row in points(name)]


def points(name: str) -> list[dict[str, Any]]:
    """Return one row for each point of a diagram."""
    architecture, axis, values = DIAGRAMS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PoorTheoryWarning)
        diagram = trainability_diagram(architecture, ("beta", BETAS), (axis, values))
    rows = []
    for (i, value), (j, beta) in product(enumerate(values), enumerate(BETAS)):
        names = ("attention_skip", "mlp_skip") if axis == "skip" else (axis,)
        changes: dict[str, Any] = {"beta": beta, **dict.fromkeys(names, value)}
        seen = simulate(replace(architecture, **changes), range(NETWORKS))
        rows.append(
            {
                "network": name,
                "beta": beta,
                "axis": axis,
                "value": value,
                "predicted": str(OUTCOMES[diagram.outcome[i, j]]),
                "simulated": str(observed(seen)),
                "inside": _inside(diagram.outcome, i, j),
                "cosine_predicted": float(diagram.cosine[i, j]),
                "cosine_simulated": float(seen.mean.cosine[-1]),
                "gradient_predicted": float(diagram.gradient[i, j]),
                "gradient_simulated": float(seen.mean.gradient[0]),
            }
        )
    return rows


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return for each diagram and class how many points networks agree with, and away from edges."""
    pairs = dict.fromkeys((row["network"], row["predicted"]) for row in rows)
    return [
        _counted([row for row in rows if (row["network"], row["predicted"]) == pair])
        for pair in pairs
    ]


def _counted(rows: list[dict[str, Any]]) -> dict[str, Any]:
    inner = [row for row in rows if row["inside"]]
    errors = np.array([row["cosine_predicted"] - row["cosine_simulated"] for row in rows])
    return {
        "network": rows[0]["network"],
        "outcome": rows[0]["predicted"],
        "points": len(rows),
        "agreeing": sum(row["predicted"] == row["simulated"] for row in rows),
        "inner": len(inner),
        "inner_agreeing": sum(row["predicted"] == row["simulated"] for row in inner),
        "cosine_error": float(np.sqrt(np.mean(errors**2))),
    }


def picture(rows: list[dict[str, Any]]) -> Any:
    """Draw predicted classes as fields and simulated ones as dots."""
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    colours = dict(CLASSES)
    codes = {str(name): code for code, name in enumerate(OUTCOMES)}
    with house_style():
        figure = Figure(figsize=(8.6, 5.6), layout="constrained")
        for axes, name in zip(figure.subplots(2, 2).ravel(), DIAGRAMS, strict=True):
            mine = [row for row in rows if row["network"] == name]
            values = sorted({row["value"] for row in mine})
            field = np.array([codes[row["predicted"]] for row in mine])
            axes.pcolormesh(
                range(len(BETAS)), range(len(values)), field.reshape(len(values), len(BETAS)),
                cmap=ListedColormap([colour for _, colour in CLASSES]), vmin=-0.5,
                vmax=len(CLASSES) - 0.5,
            )  # fmt: skip
            for row in mine:
                axes.plot(
                    BETAS.index(row["beta"]), values.index(row["value"]), "o", markersize=7,
                    color=colours[row["simulated"]], markeredgecolor=INK, markeredgewidth=0.8,
                )  # fmt: skip
            axes.set_xticks(range(len(BETAS)), [f"{beta:.2g}" for beta in BETAS])
            axes.set_yticks(range(len(values)), [f"{value:g}" for value in values])
            axes.set(
                title=name,
                xlabel=r"score strength $\beta$",
                ylabel=mine[0]["axis"].replace("_", " "),
            )
            axes.grid(visible=False)
        seen = {row[key] for row in rows for key in ("predicted", "simulated")}
        figure.legend(
            handles=[Patch(color=colour, label=name) for name, colour in CLASSES if name in seen],
            loc="outside lower center",
            ncols=5,
        )
    return figure


def _inside(outcome: Any, row: int, column: int) -> bool:
    """Return whether a point's neighbours to all four sides have its class."""
    near = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]
    there = [(i, j) for i, j in near if 0 <= i < outcome.shape[0] and 0 <= j < outcome.shape[1]]
    return all(outcome[place] == outcome[row, column] for place in there)
