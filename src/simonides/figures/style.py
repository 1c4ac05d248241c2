"""One look for every picture: quiet axes, lines that also differ in greyscale."""

from __future__ import annotations

import io
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simonides import arguments
from simonides.curves.table import Table
from simonides.writing import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#1b1f24"
GREY = "#8a9099"
THEORY = "#0b5394"
HEBBIAN = "#c2570c"
ACCENT = "#11734b"

SERIES: tuple[dict[str, Any], ...] = (
    {"color": THEORY, "linestyle": "-"},
    {"color": HEBBIAN, "linestyle": "--"},
    {"color": ACCENT, "linestyle": "-."},
    {"color": "#7b3fa0", "linestyle": ":"},
)
"""Colours of falling lightness, each with its own dash, so that print in grey keeps them apart."""

FADED: dict[str, Any] = {"color": GREY, "linestyle": (0, (1, 2))}
"""A limit or a leading order, beside what holds at finite size."""

LOAD_LABEL = r"load $p\,\log p\,/\,d^2$"

FORMATS = (".png", ".svg", ".pdf")

WIDEST = 7.2
"""Inches: a picture of a page's width, so that print need not shrink its text."""

_RC: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e6e8eb",
    "grid.linewidth": 0.7,
    "axes.axisbelow": True,
    "xtick.color": INK,
    "ytick.color": INK,
    "text.color": INK,
    "lines.linewidth": 1.9,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "legend.handlelength": 2.6,
    "figure.dpi": 110,
    "savefig.dpi": 200,
    "svg.fonttype": "path",
    "svg.hashsalt": "simonides",
}


def house_style() -> AbstractContextManager[None]:
    """Return the context in which every picture is made and saved."""
    import matplotlib as mpl

    return mpl.rc_context(_RC)


def canvas(
    panels: int = 1, *, columns: int | None = None, width: float = WIDEST / 2, height: float = 3.3
) -> tuple[Figure, list[Axes]]:
    """Return a figure with panels side by side, or in rows of so many columns."""
    from matplotlib.figure import Figure

    columns = min(columns or panels, panels)
    lines = -(-panels // columns)
    figure = Figure(figsize=(width * columns, height * lines), layout="constrained")
    axes = list(figure.subplots(lines, columns, squeeze=False).ravel())
    for unused in axes[panels:]:
        unused.set_visible(False)
    return figure, axes[:panels]


def rendered(figure: Figure, ending: str) -> bytes:
    """Return a figure as a file of this format would hold it."""
    metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(ending)
    content = io.BytesIO()
    with house_style():
        figure.savefig(content, format=ending.removeprefix("."), metadata=metadata)
    return content.getvalue()


def save(figure: Figure, path: str | Path) -> Path:
    """Write a figure, whole or not at all; the ending of the path chooses the format."""
    path = arguments.new_file("plot", path, *FORMATS)
    content = rendered(figure, path.suffix.lower())
    with replacing(path) as file:
        file.write(content)
    return path


def words(axes: Axes, title: str, across: str, up: str, **limits: Any) -> None:
    """Say what a panel shows and what its axes are; ``limits`` are more properties of the axes."""
    axes.set(title=title, xlabel=across, ylabel=up, **limits)


def plot_columns(
    axes: Axes, table: Table, across: str, *columns: tuple[str, str, dict[str, Any]]
) -> None:
    """Plot columns of a table against one of it: each by its name, its label and its style."""
    for column, label, style in columns:
        axes.plot(table[across], table[column], label=label, **style)


def reference_line(
    axes: Axes,
    value: float,
    label: str,
    *,
    vertical: bool = False,
    low: float = 0.0,
    at_left: bool = False,
) -> None:
    """Draw a thin line at a known value, labelled on the line itself.

    One that is vertical goes from a share of the panel's height up to its top.
    """
    line: dict[str, Any] = {"color": GREY, "linewidth": 1.0, "linestyle": (0, (4, 3))}
    words: dict[str, Any] = {"color": "#5b626b", "fontsize": 8}
    if vertical:
        axes.axvline(value, ymin=low, **line)
        place = axes.get_xaxis_transform()
        axes.text(value, 0.99, f" {label}", transform=place, va="top", ha="left", **words)
    else:
        axes.axhline(value, **line)
        x, side = (0.005, "left") if at_left else (0.995, "right")
        place = axes.get_yaxis_transform()
        axes.text(x, value, label, transform=place, va="bottom", ha=side, **words)
