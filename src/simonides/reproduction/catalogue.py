"""The figures of both papers by name, in the order of the page."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

from simonides import arguments
from simonides.reproduction import margin_and_cost, scores, spectra, thresholds, training
from simonides.reproduction.figure import PaperFigure
from simonides.signal.paper import figures as signal

FIGURES = {
    figure.name: figure
    for figure in (
        training.AT_FULL_RANK,
        training.BY_RANK,
        spectra.AT_CAPACITY,
        scores.BY_REGIME,
        training.LOSSES,
        scores.OF_ONE_INPUT,
        thresholds.LOADS,
        spectra.AT_INITIALISATION,
        scores.OF_HEBBIAN_RULE,
        thresholds.DIFFERENCES,
        thresholds.BY_RANK,
        margin_and_cost.MARGINS,
        margin_and_cost.COSTS,
        *signal.FIGURES,
    )
}


def left_out() -> list[PaperFigure]:
    """Return the figures that cannot be made here, for want of an extra."""
    return [
        figure for figure in FIGURES.values() if figure.extra and find_spec(figure.extra) is None
    ]


def chosen(names: Sequence[str] = ()) -> list[PaperFigure]:
    """Return the figures of these names, or all that can be made here if there are none.

    A name that there is not is refused, and one whose extra is missing.
    """
    for name in names:
        arguments.one_of("figure", name, FIGURES)
    missing = left_out()
    for figure in missing:
        if figure.name in names:
            raise arguments.refuse(
                "figure",
                figure.name,
                f"one that can be made without {figure.extra}",
                arguments.install(str(figure.extra)),
            )
    return [
        figure
        for figure in FIGURES.values()
        if (figure.name in names if names else figure not in missing)
    ]
