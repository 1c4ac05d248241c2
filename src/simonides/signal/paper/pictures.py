"""Pictures of signals in transformers: theory's curves, and figures in which networks stand beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from simonides.curves.table import Table
from simonides.figures.marks import BARS, CURVE, SECOND, part_of
from simonides.figures.style import GREY, INK, SERIES, WIDEST, canvas, reference_line
from simonides.signal.maps.forward import NOTHING
from simonides.signal.outcome import OUTCOMES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = ("#d9ead3", "#9fc5e8", "#f9cb9c", "#ea9999", "#b4a7d6")
CLASSES = tuple((str(outcome), colour) for outcome, colour in zip(OUTCOMES, _COLOURS, strict=True))
"""Classes in the order of their codes, and a colour for each."""

HATCHES = ("", "///", "..", "xx", "\\\\\\")
SHAPES = ("o", "s", "^", "P", "v")
"""Their fields and marks without colour."""

_MARKS = "os^D"
"""Of series that are measured, beside their dashes."""

_EVERY = 5
"""Blocks between two that are drawn with their error, of a hundred."""

_HATCH = "#7f8a96"
_LEVELS: dict[float, Any] = {0.5: "-", 0.9: "--", 0.99: ":"}
"""Cosines of which lines are drawn, and their dashes."""

_PLACEMENTS = ("post-norm", "pre-norm", "post-norm, centred", "pre-norm, centred")
_LIMIT: dict[str, Any] = {"color": GREY, "linestyle": (0, (1, 2)), "linewidth": 1.3}
_LIMITS = (_LIMIT, {"color": INK, "linestyle": (0, (1, 1)), "linewidth": 1.1})
_ABOVE: dict[str, Any] = {"x": 0.01, "ha": "left", "fontweight": "bold", "fontsize": 10.5}
_BETA, _ENTROPY = r"score strength $\beta$", r"entropy / $\log T$"

_PROPAGATION: tuple[tuple[str, str, dict[str, str], dict[str, Any]], ...] = (
    (
        "Forward",
        "fraction",
        {"cosine": "cosine", "entropy_fraction": _ENTROPY, "participation": "participation"},
        {"ylim": (0, 1.04)},
    ),
    (
        "Room below freezing",
        "score strength",
        {"beta": r"$\beta$", "beta_critical": r"critical $\beta$"},
        {"ylim": (0, None)},
    ),
    (
        "Back (weights: over the last value)",
        "squared gradient",
        {
            "gradient": "at tokens",
            "value_gradient": "value weights",
            "query_gradient": "query weights",
        },
        {"yscale": "log"},
    ),
)
"""Panels of a propagation: title, label, columns by name, limits."""

_MEASURED = {
    "cosine": "cosine of two tokens",
    "entropy_fraction": _ENTROPY,
    "participation": r"participation $\sum A^2$",
}
"""Panels of what was measured in a model: columns by name."""


def _networks(axes: Axes, part: Table, x: str, y: str, *, every: int = 1, **look: Any) -> None:
    """Draw a column that was measured in networks, with two standard errors."""
    across, height, error = (part[name][::every] for name in (x, y, f"{y}_stderr"))
    axes.errorbar(across, height, 2 * error, **look)


def attention(table: Table) -> Figure:
    """Draw participation and entropy of attention against beta."""
    figure, panels = canvas(2)
    columns = {
        "participation": (table.title, r"participation $Y = \sum A^2$"),
        "entropy_fraction": ("and so does its entropy fall", _ENTROPY),
    }
    for axes, (column, (title, label)) in zip(panels, columns.items(), strict=True):
        for style, tokens in zip(SERIES, table.distinct("tokens"), strict=False):
            part = table.where("tokens", tokens)
            axes.plot(part["beta"], part[column], label=f"T = {tokens:,.0f}", **style)
        axes.plot(part["beta"], part[f"{column}_limit"], label="many tokens", **_LIMIT)
        reference_line(axes, table.settings["critical"], r"$\beta_c$", vertical=True)
        axes.set(xlabel=_BETA, xlim=(0, 4), ylim=(0, 1.04), title=title, ylabel=label)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def depth(table: Table) -> Figure:
    """Draw the cosine through depth: theory, its limit, and networks."""
    figure, (axes,) = canvas(width=5.6, height=3.7)
    betas = table.distinct("beta")
    tokens, dim, networks = (table.settings[name] for name in ("tokens", "dim", "networks"))
    for style, limit, marker, beta in zip(SERIES, _LIMITS, _MARKS, betas, strict=False):
        part, name = table.where("beta", beta), rf"$\beta$ = {beta:g}"
        axes.plot(part["layer"], part["cosine"], label=f"{name}, theory", **style)
        axes.plot(part["layer"], part["cosine_limit"], label=f"{name}, many tokens", **limit)
        look = {"fmt": marker, "markersize": 3, "color": style["color"], "alpha": 0.7}
        label = f"{name}, {networks:.0f} networks (±2 s.e.)"
        _networks(axes, part, "layer", "cosine_simulated", label=label, **look)
    axes.set(xlabel="layer", ylabel="cosine of two tokens", xlim=(0, None), ylim=(0, 1.02))
    axes.set_title(f"{table.title} (T = {tokens:g}, d = {dim:g})")
    figure.legend(loc="outside lower center", ncols=3, fontsize=7.5, handlelength=2.2)
    return figure


def placement(table: Table) -> Figure:
    """Draw the cosine and the norm through depth for each place of the LayerNorm."""
    figure, (left, right) = canvas(2)
    for style, number in zip(SERIES, table.distinct("placement"), strict=True):
        part = table.where("placement", number)
        for axes, column in ((left, "cosine"), (right, "norm")):
            axes.plot(part["layer"], part[column], label=_PLACEMENTS[int(number)], **style)
    left.set(title=table.title, xlabel="layer", ylabel="cosine of two tokens", ylim=(0, 1.02))
    right.set(title="and what the stream grows to", xlabel="layer", ylabel="squared norm / d")
    right.set_yscale("log")
    left.legend(loc="lower right")
    return figure


def gradients(table: Table) -> Figure:
    """Draw the query weights' gradient of one layer against beta."""
    figure, (axes,) = canvas(width=5.6)
    sizes = dict.fromkeys(zip(table["dim"].tolist(), table["tokens"].tolist(), strict=True))
    for style, marker, (dim, tokens) in zip(SERIES, _MARKS, sizes, strict=False):
        part = part_of(table, dim=dim, tokens=tokens)
        dots = {"markersize": 4, "color": style["color"]}
        axes.plot(part["beta"], part["query"], **style)
        _networks(axes, part, "beta", "query_simulated", fmt=marker, **dots)
        axes.plot([], [], marker=marker, label=f"d = {dim:g}, T = {tokens:g}", **{**dots, **style})
    axes.plot([], [], color=GREY, label="lines: theory")
    look: dict[str, Any] = {"fmt": "o", "markersize": 4, "color": GREY}
    axes.errorbar([], [], yerr=[], label="marks: networks (±2 s.e.)", **look)
    axes.plot(part["beta"], part["query_limit"], label="many tokens and dimensions", **_LIMIT)
    reference_line(axes, table.settings["critical"], r"$\beta_c$", vertical=True)
    ylabel = r"$T\,|\partial L/\partial W_Q|^2\,/\,(d^2\sqrt{\log T})$"
    axes.set(title=table.title, xlabel=_BETA, ylabel=ylabel, xlim=(0, None), ylim=(0, None))
    axes.legend(loc="upper left", fontsize=7.5)
    return figure


def trainability(table: Table) -> Figure:
    """Draw the class of networks over two hyper-parameters, with lines of equal cosine."""
    from matplotlib.colors import ListedColormap
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    figure, (axes,) = canvas(width=6.4, height=4.0)
    x_name, y_name = list(table.columns)[:2]
    shape = (int(table.settings["rows"]), int(table.settings["columns"]))
    x, y = table[x_name].reshape(shape), table[y_name].reshape(shape)
    codes, cosine = table["outcome"].reshape(shape), table["cosine"].reshape(shape)
    colours = ListedColormap([colour for _, colour in CLASSES])
    axes.pcolormesh(x, y, codes, cmap=colours, vmin=-0.5, vmax=len(CLASSES) - 0.5, rasterized=True)
    present = [int(code) for code in np.unique(codes)]
    handles: list[Any] = [
        Patch(facecolor=CLASSES[code][1], edgecolor=_HATCH, linewidth=0, hatch=HATCHES[code],
              label=CLASSES[code][0])
        for code in present
    ]  # fmt: skip
    if min(shape) > 1:
        for code in present:
            if HATCHES[code]:  # print in grey keeps fields apart
                inside = (codes == code).astype(np.float64)
                hatch: dict[str, Any] = {"levels": [0.5, 1.5], "hatches": [HATCHES[code]]}
                field = axes.contourf(x, y, inside, colors="none", **hatch)
                field.set(edgecolor=_HATCH, linewidth=0)
        lines = {
            level: dash for level, dash in _LEVELS.items() if cosine.min() < level < cosine.max()
        }
        look: dict[str, Any] = {"linestyles": list(lines.values()), "linewidths": 1.1}
        if lines:
            axes.contour(x, y, cosine, levels=list(lines), colors=INK, **look)
        # Named aside and not on the lines, where marks of networks may lie.
        handles += [
            Line2D([], [], color=INK, linewidth=1.1, linestyle=dash, label=f"cosine {level:g}")
            for level, dash in lines.items()
        ]
        axes.set(xlim=(x.min(), x.max()), ylim=(y.min(), y.max()))
    axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.01, 1.0))
    axes.set(title=table.title, xlabel=_words(x_name), ylabel=_words(y_name))
    axes.grid(visible=False)
    return figure


def propagation(table: Table) -> Figure:
    """Draw what happens to a signal, block by block."""
    figure, panels = canvas(3, columns=2, height=2.9)
    last = max(float(table["value_gradient"][-1]), NOTHING)
    shares = {name: table[name] / last for name in ("value_gradient", "query_gradient")}
    columns = {**table.columns, **shares}
    for axes, (title, label, lines, limits) in zip(panels, _PROPAGATION, strict=True):
        for style, (column, name) in zip(SERIES, lines.items(), strict=False):
            axes.plot(table["layer"], columns[column], label=name, **style)
        axes.set(title=title, xlabel="layer", ylabel=label, **limits)
        axes.legend()
    figure.suptitle(table.title, **_ABOVE)
    return figure


def measured(table: Table) -> Figure:
    """Draw what was measured in a model, block by block, over theory where there is one."""
    from matplotlib.ticker import MaxNLocator

    figure, panels = canvas(3, width=WIDEST / 3, height=2.7)
    for axes, style, (column, label) in zip(panels, SERIES, _MEASURED.items(), strict=False):
        dots = {"markersize": 4, "color": style["color"]}
        axes.plot(table["layer"], table[column], "o", label="model", **dots)
        theory = table.columns.get(f"{column}_theory")
        if theory is not None:
            axes.plot(table["layer"], theory, color=style["color"], label="theory")
        axes.set(title=label, xlabel="block", ylabel=label, ylim=(0, 1.04))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.legend()
    figure.suptitle(table.title, **_ABOVE)
    return figure


def skip(tables: Mapping[str, Table]) -> Figure:
    """Draw the cosine after the last block against the skip."""
    measured, theory = tables["measured"], tables["theory"]
    figure, (axes,) = canvas(width=5.6)
    axes.plot(theory["skip"], theory["cosine"], label="finite-size theory", **CURVE)
    axes.plot(theory["skip"], theory["cosine_limit"], label="odds, many tokens", **SECOND)
    look = {**BARS, "marker": "o", "markersize": 4, "color": INK}
    _networks(axes, measured, "skip", "cosine", label="networks (±2 s.e.)", **look)
    reference_line(axes, measured.settings["critical"], r"$\alpha_c$", vertical=True)
    target = measured.settings["target"]
    reference_line(axes, target, f"target {target:g}")
    axes.set(title=measured.title, xlabel=r"skip strength $\alpha$", ylim=(0, 1.05))
    axes.set_ylabel("cosine of two tokens")
    axes.legend(loc="lower left")
    return figure


def placement_with_networks(tables: Mapping[str, Table]) -> Figure:
    """Draw the cosine and the norm through depth for each place of the LayerNorm."""
    table = tables["measured"]
    figure = placement(table)
    left, right = figure.axes
    handles = []
    for style, mark, number in zip(SERIES, _MARKS, table.distinct("placement"), strict=True):
        part, name = table.where("placement", number), _PLACEMENTS[int(number)]
        dots = {"marker": mark, "markersize": 3.4, "color": style["color"]}
        _networks(left, part, "layer", "cosine_simulated", every=_EVERY, **BARS, **dots)
        layer, norm = (part[column][::_EVERY] for column in ("layer", "norm_simulated"))
        right.plot(layer, norm, **dots, linestyle="none")
        handles += left.plot([], [], **{**dots, **style}, label=name)
    handles += left.plot([], [], color=GREY, label="lines: theory")
    handles += left.plot([], [], "o", markersize=3.4, color=GREY, label="marks: networks (±2 s.e.)")
    left.legend().remove()  # that of the lines alone
    figure.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=7.5)
    return figure


def trainability_with_networks(tables: Mapping[str, Table]) -> Figure:
    """Draw the diagram, and the classes of networks as marks."""
    figure = trainability(tables["diagram"])
    (axes,) = figure.axes
    measured = tables["measured"]
    for code in sorted(measured.distinct("outcome")):
        part, (name, colour) = measured.where("outcome", code), CLASSES[int(code)]
        axes.plot(
            part["beta"], part["skip"], SHAPES[int(code)], markersize=6.5, color=colour,
            markeredgecolor=INK, markeredgewidth=1.0, label=f"networks: {name}",
        )  # fmt: skip
    _name_below(figure)
    return figure


def training(tables: Mapping[str, Table]) -> Figure:
    """Draw the diagram, and the loss that training came to at some of its points."""
    from matplotlib.patheffects import Normal, Stroke

    figure = trainability(tables["diagram"])
    (axes,) = figure.axes
    measured = tables["measured"]
    label = f"models trained, {measured.settings['seeds']:.0f} each: loss on unseen text, in nats"
    axes.plot(measured["beta"], measured["skip"], "o", color=INK, markersize=4, label=label)
    for row in measured.records():
        axes.annotate(
            f"{row['loss']:.2f}", (row["beta"], row["skip"]), xytext=(6, 3),
            textcoords="offset points", fontsize=9, fontweight="bold",
            path_effects=[Stroke(linewidth=2.5, foreground="white"), Normal()],
        )  # fmt: skip
    steps, guessing = measured.settings["steps"], float(np.mean(measured["guessing"]))
    axes.set_title(f"Loss after {steps:.0f} steps of training (guessing: {guessing:.2f} nats)")
    _name_below(figure)
    return figure


def _name_below(figure: Figure) -> None:
    """Name the marks under a diagram, whose fields are named beside it."""
    marks = figure.axes[0].get_legend_handles_labels()
    figure.legend(*marks, loc="outside lower left", ncols=3, fontsize=7.5)


def _words(name: str) -> str:
    return {"beta": _BETA, "skip": "skip strength"}.get(name, name.replace("_", " "))
