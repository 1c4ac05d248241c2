"""What a run leaves for the documentation: results as JSON, tables as Markdown, one picture."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import classes, models, ranks, spectra
from benchmarks.signal import depth_picture_table, training_picture
from simonides.curves.catalogue import draw
from simonides.figures.style import SERIES, canvas, house_style, save
from simonides.reproduction.plans import NEAR
from simonides.signal.paper.curves import gradients_table

FOLDER = Path("docs/measured")
RESULTS = FOLDER / "benchmarks.json"

_HEADINGS = {
    "cells": "cells",
    "when": "at the",
    "data": "data",
    "model": "model",
    "contender": "contender",
    "options": "options",
    "problem": "problem",
    "outputs": "outputs",
    "dim": "d",
    "margin": "margin",
    "noise": "noise",
    "shape": "inputs → outputs",
    "share": "of capacity",
    "ensemble": "ensemble",
    "candidates": "candidates",
    "per_output": "facts per output",
    "facts": "facts",
    "seed": "seed",
    "rank": "rank",
    "verdict": "verdict",
    "accuracy": "recalled",
    "held_out": "of rows never seen",
    "loss": "loss",
    "steps": "steps",
    "threads": "threads",
    "seconds": "seconds",
    "times_ours": "times ours",
    "peak_mb": "peak MB",
    "loop": "loop",
    "pairs": "pairs",
    "gigaflops": "Gflop/s",
    "of_peak": "of the peak",
    "theory": "theory",
    "network": "network",
    "beta": "beta",
    "skip": "skip",
    "outcome": "predicted class",
    "cosine": "predicted cosine",
    "loss_nats": "loss",
    "one_start": "from one start",
    "more_starts": f"from {1 + ranks.STARTS} starts",
    "mean": "measured",
    "stderr": "± standard error",
    "over_theory": "above theory",
    "over_theory_stderr": "± of theory",
    "over_first": "above the first",
    "over_first_stderr": "± of that",
    "stored": "cross-entropy until stored",
    "converged": "long after",
    "adam": "Adam",
    "search": "`low_rank`",
    **{name: f"{load:g} of capacity" for load, name in spectra.LOADS.items()},
    "error": "largest error",
    "hebbian_near": f"Hebbian, {NEAR:g}",
    "hebbian_far": f"Hebbian, {spectra.FAR:g}",
    "gaussian": "Gaussian",
    "points": "points",
    "agreeing": "networks agree",
    "inner": "away from edges",
    "inner_agreeing": "agree there",
    "networks": "networks",
    "cosine_error": "cosine, rms error",
    "cosine_error_wide": "with finite width",
    "cosine_error_limit": "many tokens, rms error",
    "cosine_stderr": "largest standard error",
    "entropy_error": "entropy / log T, rms error",
    "gradient_ratio": "gradient, predicted over simulated",
    "halfway": "steps to half the guessing loss",
    "first_gradient": "first gradient norm",
    "accuracy_trained": "recalled by training",
    "accuracy_theory": "theory says",
    "loss_trained": "loss",
    "loss_theory": "in theory",
    "norm_trained": "norm",
    "norm_theory": "norm in theory",
    "all_stored": "instances that fit after all",
    "balanced": "equally frequent",
    "balanced_stderr": "± of these",
    "drawn": "at random",
    "drawn_stderr": "± of those",
    "over_balanced": "random over equal",
    "over_balanced_stderr": "± of that",
    "predicted_loss": "predicted",
    "instances": "instances",
    "trained": "recalled by training",
    "random": "random ones kept",
    "easy": "easy ones kept",
    "note": "note",
    "said": "which says",
    "under_noise": "recalled",
    "predicted": "predicted",
    "lower": "at least",
    "upper": "at most",
    "facts_products": "facts of a matrix",
    "facts_independent": "of independent features",
    "products_times_dim": "off theory, times $d$",
    "independent_times_dim": "independent, times $d$",
}
_TABLES = (
    "deviations",
    "thresholds",
    "random_targets",
    "margins",
    "ranks",
    "starts",
    "noise",
    "uneven_targets",
    "ensembles",
    "beyond",
    "labels",
    "risk",
    "spectra",
    "spectra_loads",
    "training",
    "training_large",
    "programming",
    "converging",
    "rules",
    "searching",
    "large",
    "loops",
    "propagation",
    "widths",
    "signal_training",
)
_ALWAYS = ("dim", "facts", "verdict", "accuracy", "points")
_SIDES = {0.9: "0.9 of the predicted facts", 1.05: "1.05 of them"}


def read() -> dict[str, Any]:
    """Return the results so far."""
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def write(results: dict[str, Any]) -> None:
    """Write results, tables and picture."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    for name, text in tables(results).items():
        (FOLDER / f"{name}.md").write_text(text)
    if "growth" in results:
        save(_growth(results["growth"]), FOLDER / "growth.svg")
    if "depth" in results:
        save(draw(depth_picture_table(results["depth"])), FOLDER / "depth.svg")
    if "gradients" in results:
        save(draw(gradients_table(results["gradients"])), FOLDER / "gradients.svg")
    for name in models.TITLES if "models" in results else ():
        save(draw(models.picture_table(results["models"], name)), FOLDER / f"encoder_{name}.svg")
    if "outcomes" in results:
        save(classes.picture(results["outcomes"]), FOLDER / "outcomes.svg")
    if "signal_training" in results:
        save(training_picture(results["signal_training"]), FOLDER / "signal_training.svg")


def tables(results: dict[str, Any]) -> dict[str, str]:
    """Return the tables that follow from results, by the names of their files."""
    texts = {name: _table(results[name]) for name in _TABLES if name in results}
    if "outcomes" in results:
        texts["outcomes"] = _table(classes.summary(results["outcomes"]))
    return texts


def _table(rows: list[dict[str, Any]]) -> str:
    keys = [key for key in _HEADINGS if any(row.get(key) is not None for row in rows)]
    keys = [key for key in keys if key in _ALWAYS or len({row.get(key) for row in rows}) > 1]
    lines = ["| " + " | ".join(_HEADINGS[key] for key in keys) + " |"]
    lines.append("|" + "|".join(" --- " for _ in keys) + "|")
    lines += ["| " + " | ".join(_cell(key, row.get(key)) for key in keys) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _cell(key: str, value: Any) -> str:
    if value is None:
        return ""
    if key in (
        "accuracy",
        "held_out",
        "of_peak",
        "over_theory",
        "over_theory_stderr",
        "over_first",
        "over_first_stderr",
        "over_balanced",
        "over_balanced_stderr",
        "predicted_loss",
        "said",
    ):
        return f"{100 * value:.3g}%"
    if key == "loss":
        return f"{value:.8g}"
    if isinstance(value, float):
        return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _growth(rows: list[dict[str, Any]]) -> Any:
    with house_style():
        figure, (axes,) = canvas(width=5.4, height=3.6)
        for side, style in zip(_SIDES, SERIES, strict=False):
            mine = [row for row in rows if row["side"] == side and row["seconds"]]
            dims, seconds = ([row[key] for row in mine] for key in ("dim", "seconds"))
            exponent = next((row["exponent"] for row in mine if "exponent" in row), np.nan)
            label = f"{_SIDES[side]}, $d^{{{exponent:.1f}}}$ from $d = 100$"
            axes.loglog(dims, seconds, marker="o", markersize=4, label=label, **style)
        dims = sorted({row["dim"] for row in rows})
        axes.set_xticks(dims, [str(dim) for dim in dims], minor=False)
        axes.set_xticks([], minor=True)
        axes.set_xlabel("dimension")
        axes.set_ylabel("seconds to a proved verdict")
        axes.set_title("Cost of a verdict")
        axes.legend(loc="upper left")
        axes.set_ylim(top=axes.get_ylim()[1] * np.sqrt(10))
    return figure
