"""``simonides signal``: how to initialise a transformer so that it trains."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simonides import arguments
from simonides.cli import options, output
from simonides.cli.grouped import grouped
from simonides.signal import network_options as network  # noqa: TC001 - typer reads it

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simonides.signal.diagram import Axis, Diagram
    from simonides.signal.maps.architecture import Architecture
    from simonides.signal.propagation import Propagation
    from simonides.signal.recommendation import Recommendation

_ROWS_SHOWN = 24
_MOST_POINTS = 1000
_LETTERS = "·REXV"
"""One for each outcome, in their order."""

app = typer.Typer(
    name="signal",
    help="How to initialise a transformer so that it trains.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command()
@grouped
def propagate(
    asked: network.ScaledNetwork,
    method: Annotated[
        str, typer.Option(help="Attention 'exact' or 'asymptotic' (infinitely many tokens).")
    ] = "exact",
    finite_width: network.FiniteWidth = False,
    plot: options.Plot = None,
    as_json: options.Json = False,
) -> None:
    """Follow a signal through the blocks: cosine, entropy, participation, gradients.

    Example: simonides signal propagate --layers 24 --dim 768 --tokens 512 --beta 2 --skip 2
    """
    from simonides.signal.paper.curves import propagation_table
    from simonides.signal.propagation import propagate as follow

    architecture = asked.architecture()
    if plot is not None:
        options.check_plot(plot)
    with _notes_printed():
        found = follow(architecture, method=method, finite_width=finite_width)  # type: ignore[arg-type]
    picture = None if plot is None else options.draw_to(plot, propagation_table(found))
    if as_json:
        output.print_json({**_record(found), **({} if picture is None else {"plot": picture})})
        return
    output.print_table(_title(found), *_table(found), notes=found.notes)
    output.print_line(f"class: {found.outcome}")
    if picture:
        output.print_line(f"picture: {picture}")


@app.command()
@grouped
def recommend(
    asked: network.Network,
    safety: Annotated[float, typer.Option(help="Fraction of the critical beta to use.")] = 0.5,
    target: Annotated[float, typer.Option(help="Largest cosine after the last layer.")] = 0.9,
    plot: options.Plot = None,
    as_json: options.Json = False,
) -> None:
    """Recommend scales of weights and skips that keep tokens apart and attention spread.

    The first time for a number of tokens takes some seconds, for a table that is then kept.

    Example: simonides signal recommend --layers 24 --dim 768 --tokens 512 --norm post
    """
    from simonides.signal.paper.curves import propagation_table
    from simonides.signal.recommendation import recommend as find

    architecture = asked.architecture()
    if plot is not None:
        options.check_plot(plot)
    with _notes_printed():
        found = find(architecture, safety=safety, target=target)
    picture = None if plot is None else options.draw_to(plot, propagation_table(found.propagation))
    if as_json:
        record = {**_record(found.propagation), **_recommended(found)}
        output.print_json({**record, **({} if picture is None else {"plot": picture})})
        return
    output.print_table(
        f"To initialise {_network(architecture)}", ["", ""], _advice(found), found.propagation.notes
    )
    if picture:
        output.print_line(f"picture: {picture}")


@app.command()
@grouped
def diagram(
    asked: network.ScaledNetwork,
    x: Annotated[str, typer.Option(help="NAME=LOW:HIGH:COUNT, any hyper-parameter.")] = (
        "beta=0.1:4:60"
    ),
    y: Annotated[str, typer.Option(help="NAME=LOW:HIGH:COUNT, another.")] = "skip=0.2:5:25",
    finite_width: network.FiniteWidth = False,
    plot: options.Plot = None,
    as_json: options.Json = False,
) -> None:
    """Draw the trainability diagram over two hyper-parameters.

    The first time for a number of tokens takes some seconds, for a table that is then kept.

    Example: simonides signal diagram --layers 24 --dim 768 --tokens 512 --plot diagram.svg
    """
    from simonides.signal.diagram import trainability_diagram
    from simonides.signal.paper.curves import diagram_table

    architecture = asked.architecture()
    if plot is not None:
        options.check_plot(plot)
    with _notes_printed():
        found = trainability_diagram(
            architecture, _axis("x", x), _axis("y", y), finite_width=finite_width
        )
    picture = None if plot is None else options.draw_to(plot, diagram_table(found))
    if as_json:
        record = _diagram_record(found)
        output.print_json({**record, **({} if picture is None else {"plot": picture})})
        return
    _print_diagram(found)
    if picture:
        output.print_line(f"picture: {picture}")


@contextmanager
def _notes_printed() -> Iterator[None]:
    """Leave out warnings whose text the answer carries as notes."""
    from simonides.signal.notes import PoorTheoryWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PoorTheoryWarning)
        yield


def _record(found: Propagation) -> dict[str, Any]:
    critical = found.beta_critical
    return {
        "beta_critical": float(critical.min()),
        "class": str(found.outcome),
        "cosine": found.cosine.tolist(),
        "entropy": found.entropy.tolist(),
        "entropy_fraction": found.entropy_fraction.tolist(),
        "participation": found.participation.tolist(),
        "norm": found.norm.tolist(),
        "beta": found.beta.tolist(),
        "beta_critical_by_layer": critical.tolist(),
        "gradient": found.gradients.tokens.tolist(),
        "query_gradient": found.gradients.query.tolist(),
        "key_gradient": found.gradients.key.tolist(),
        "value_gradient": found.gradients.value.tolist(),
        "architecture": _fields(found.architecture),
        "notes": list(found.notes),
    }


def _recommended(found: Recommendation) -> dict[str, Any]:
    asked = found.architecture
    return {
        "beta_recommended": asked.beta,
        "std": found.std,
        "attention_skip": asked.attention_skip,
        "mlp_skip": asked.mlp_skip,
        "value_variance": asked.value_variance,
        "mlp_out_variance": asked.mlp_out_variance,
        "layer_beta": found.layer_beta.tolist(),
        "layer_std": found.layer_std.tolist(),
    }


def _fields(asked: Architecture) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(asked)


def _network(asked: Architecture) -> str:
    return f"{asked.layers} {asked.norm}-norm blocks of dimension {asked.dim:,} on {asked.tokens:,} tokens"


def _title(found: Propagation) -> str:
    return f"A signal through {_network(found.architecture)}"


def _table(found: Propagation) -> tuple[list[str], list[list[str]]]:
    asked = found.architecture
    step = max(1, asked.layers // _ROWS_SHOWN)
    shown = sorted({*range(0, asked.layers, step), asked.layers - 1})
    rows = [
        [
            str(layer + 1),
            f"{found.cosine[layer + 1]:.4f}",
            f"{found.entropy_fraction[layer]:.3f}",
            f"{found.participation[layer]:.4f}",
            f"{found.beta[layer]:.3g}",
            f"{found.beta_critical[layer]:.3g}",
            f"{found.gradients.tokens[layer]:.3g}",
        ]
        for layer in shown
    ]
    header = [
        "block",
        "cosine",
        "H / log T",
        "participation",
        "beta",
        "critical",
        "gradient",
    ]
    return header, rows


def _advice(found: Recommendation) -> list[list[str]]:
    asked, way = found.architecture, found.propagation
    rows = [
        ["critical beta, first layer", f"{found.beta_critical:.4g}"],
        ["beta to use", f"{asked.beta:.4g}"],
        ["standard deviation of query and key weights", f"{found.std:.4g}"],
        ["the same in the last layer", f"{found.layer_std[-1]:.4g}"],
    ]
    if asked.norm == "post":
        rows.append(["skip strength, at least", f"{asked.attention_skip:.4g}"])
    else:
        rows.append(["value variance times fan-in, at most", f"{asked.value_variance:.4g}"])
        rows.append(["second MLP variance times fan-in, at most", f"{asked.mlp_out_variance:.4g}"])
    return [
        *rows,
        ["cosine after the last layer", f"{way.cosine[-1]:.4f}"],
        ["least entropy / log T", f"{way.entropy_fraction.min():.3f}"],
        ["squared gradient, first over last layer", f"{way.gradients.tokens[0]:.3g}"],
        ["class", str(way.outcome)],
    ]


def _axis(option: str, text: str) -> Axis:
    import numpy as np

    from simonides.signal.diagram import WHOLE, Axis

    name, _, span = text.partition("=")
    try:
        low, high, count = (
            kind(part) for kind, part in zip((float, float, int), span.split(":"), strict=True)
        )
    except ValueError:
        raise arguments.refuse(
            option, text, "NAME=LOW:HIGH:COUNT", "for example beta=0.1:4:60"
        ) from None
    count = arguments.whole(option, count, most=_MOST_POINTS, remedy="pass how many values")
    name = name.strip().replace("-", "_")
    values = np.linspace(low, high, count)
    if name in WHOLE:
        values = np.unique(np.round(values))
    return Axis(name, tuple(values.tolist()))


def _diagram_record(found: Diagram) -> dict[str, Any]:
    return {
        "x": list(found.x_axis.values),
        "y": list(found.y_axis.values),
        "class": [[str(name) for name in row] for row in found.names()],
        "cosine": found.cosine.tolist(),
        "x_axis": found.x_axis.name,
        "y_axis": found.y_axis.name,
        "least_entropy": found.least_entropy.tolist(),
        "participation": found.participation.tolist(),
        "gradient": found.gradient.tolist(),
        "frozen_layer": found.frozen_layer.tolist(),
        "architecture": _fields(found.architecture),
        "notes": list(found.notes),
    }


def _print_diagram(found: Diagram) -> None:
    """Print one letter for each point, the largest y on top."""
    from simonides.signal.outcome import OUTCOMES

    output.print_line(f"Trainability of {_network(found.architecture)}")
    output.print_line(f"{found.y_axis.name}")
    for value, row in reversed(list(zip(found.y_axis.values, found.outcome, strict=True))):
        output.print_line(f"{value:9.4g} " + "".join(_LETTERS[code] for code in row))
    x = found.x_axis
    output.print_line(f"{'':10}{x.values[0]:<.4g} to {x.values[-1]:.4g}: {x.name}")
    present = sorted(set(found.outcome.ravel().tolist()))
    meanings = [f"{_LETTERS[code]} {OUTCOMES[code]}" for code in present]
    output.print_line(f"{'':10}{', '.join(meanings)}")
    for note in found.notes:
        output.print_line(f"  {note}")
