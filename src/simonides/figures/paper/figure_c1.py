"""Fig. C.1: load at capacity against the dimension."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simonides.figures.paper.marks import BARS, CURVE, PROBLEMS, SECOND, grid, part_of
from simonides.figures.style import reference_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from simonides.arrays import Reals
    from simonides.curves.table import Table


def draw(tables: Mapping[str, Table]) -> Figure:
    """Draw measured loads and theory against the dimension, and against 1/log d."""
    measured, theory = tables["measured"], tables["theory"]
    figure, (left, right) = grid(2, width=3.6, height=3.0)
    limit = theory["asymptotic"][0]
    for axes, scale in ((left, np.positive), (right, _inverse_log)):
        axes.plot(scale(theory["dim"]), theory["load"], label="finite-size theory", **CURVE)
        for code, name, mark in PROBLEMS:
            part = part_of(measured, decoupled=code)
            axes.errorbar(
                scale(part["dim"]),
                part["load"],
                part["load_stderr"],
                label=name,
                **{**BARS, **mark},
            )
        reference_line(axes, limit, "limit 1/2", at_left=axes is left)
    last = part_of(measured, decoupled=0.0)
    x = np.array([0.0, 1 / np.log(last["dim"][0])])
    slope = (last["load"][-1] - limit) * np.log(last["dim"][-1])
    right.plot(x, limit + slope * x, label=r"rate $1/\log d$", **SECOND)
    left.set(xscale="log", xlabel="dimension $d$", ylabel="load at capacity", ylim=(0.45, None))
    right.set(xlabel=r"$1/\log d$", ylabel="load at capacity", ylim=left.get_ylim(), xlim=(0, None))
    left.set_title("Against the dimension")
    right.set_title(r"Against $1/\log d$")
    left.legend()
    right.legend(loc="lower right", bbox_to_anchor=(1.0, 0.14))
    return figure


def _inverse_log(dims: Reals) -> Reals:
    return np.asarray(1 / np.log(dims))
