"""``simonides signal``: how to initialise a transformer so that it trains."""

from __future__ import annotations

import warnings
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simonides import arguments
from simonides.cli import options, output
from simonides.cli.grouped import grouped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simonides.signal.diagram import Axis, Diagram
    from simonides.signal.maps.architecture import Architecture
    from simonides.signal.propagation import Propagation
    from simonides.signal.recommendation import Initialisation

_ROWS_SHOWN = 24
"""Blocks printed, about a screen; JSON has all."""

_MOST_POINTS = 1000
"""Of an axis: a million points together, in which a picture shows no more."""

_LETTERS = "·REXV"
"""One for each outcome, in their order."""

Config = Annotated[str | None, typer.Option(help="Read sizes and scales from a config.json.")]
Norm = Annotated[str | None, typer.Option(help="LayerNorm 'pre' or 'post' (default: post).")]
Activation = Annotated[
    str | None,
    typer.Option(
        help="'relu', 'gelu', 'tanh', your own as module:object, or 'none': no MLP (default: relu)."
    ),
]
Cosine = Annotated[float | None, typer.Option(help="Cosine of two embedded tokens (0.1).")]
Skip = Annotated[float | None, typer.Option(help="What multiplies the residual stream (1).")]
Std = Annotated[
    float | None, typer.Option(help="Instead of --beta: deviation of query and key weights.")
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", help="Any other field of Architecture: NAME=VALUE, may be repeated."),
]
FiniteWidth = Annotated[
    bool, typer.Option(help="Add the leading corrections in head dimension and dimension.")
]

app = typer.Typer(
    name="signal",
    help="How to initialise a transformer so that it trains.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@dataclass(frozen=True)
class Network:
    """What describes a transformer, all but the scales of its weights and skips."""

    config: Config = None
    layers: Annotated[int | None, typer.Option(help="Number of blocks.")] = None
    dim: Annotated[int | None, typer.Option(help="Embedding dimension.")] = None
    tokens: Annotated[int | None, typer.Option(help="Length of the context.")] = None
    heads: Annotated[int | None, typer.Option(help="Attention heads (default: 1).")] = None
    norm: Norm = None
    activation: Activation = None
    cosine: Cosine = None
    others: Set = None

    def architecture(self) -> Architecture:
        """Return the architecture that the options describe."""
        from simonides.signal.maps.architecture import Architecture
        from simonides.signal.models.reading import read_config

        described = self._described()
        if self.config is not None:
            return read_config(self.config, **described)
        for name in ("layers", "dim", "tokens"):
            if name not in described:
                raise arguments.refuse(name, None, "given", f"pass --{name}, or --config FILE")
        return Architecture(**described)

    def _described(self) -> dict[str, Any]:
        """Return the fields of an architecture that the options name; one skip is that of both."""
        named = {name: value for name, value in asdict(self).items() if value is not None}
        for name in ("config", "others", "std"):
            named.pop(name, None)
        if "skip" in named:
            named["attention_skip"] = named["mlp_skip"] = named.pop("skip")
        if self.activation == "none":
            named["activation"] = None
        return named | _assignments(self.others or [])


@dataclass(frozen=True)
class ScaledNetwork(Network):
    """A transformer with the scales of its weights and skips."""

    beta: Annotated[float | None, typer.Option(help="Strength of the scores (0.4).")] = None
    std: Std = None
    skip: Skip = None

    def architecture(self) -> Architecture:
        """Return the architecture that the options describe."""
        architecture = super().architecture()
        if self.std is None:
            return architecture
        if "beta" in self._described():
            raise arguments.refuse("std", self.std, "given without a beta", "drop one of them")
        from simonides.signal.critical import beta_of_std

        beta = beta_of_std(self.std, architecture.dim, architecture.tokens)
        return replace(architecture, beta=beta)


def _assignments(texts: list[str]) -> dict[str, Any]:
    from simonides.signal.maps.architecture import Architecture

    names = [field.name for field in fields(Architecture)]
    values: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or name not in names:
            raise arguments.refuse("set", text, "NAME=VALUE", f"names are {', '.join(names)}")
        values[name] = _value(value.strip())
    return values


def _value(text: str) -> Any:
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        with suppress(ValueError):  # not a number of this kind: the next, or a word
            return kind(text)
    return text


@app.command()
@grouped
def propagate(
    network: ScaledNetwork,
    method: Annotated[
        str, typer.Option(help="Attention 'exact' or 'asymptotic' (infinitely many tokens).")
    ] = "exact",
    finite_width: FiniteWidth = False,
    plot: options.Plot = None,
    as_json: options.Json = False,
) -> None:
    """Follow a signal through the blocks: cosine, entropy, participation, gradients.

    Example: simonides signal propagate --layers 24 --dim 768 --tokens 512 --beta 2 --skip 2
    """
    from simonides.signal.paper.curves import propagation_table
    from simonides.signal.propagation import propagate as follow

    with _checked(network, plot) as architecture:
        way = follow(architecture, method=method, finite_width=finite_width)  # type: ignore[arg-type]
    record = _record(way) | options.picture(plot, propagation_table, way)
    header, rows = _rows(way)
    title, notes = f"A signal through {_words(architecture)}", [f"class: {way.outcome}"]
    output.answer(record, title, rows, as_json=as_json, header=header, notes=notes)


@app.command()
@grouped
def recommend(
    network: Network,
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
    from simonides.signal.recommendation import recommend as scales_for

    with _checked(network, plot) as architecture:
        advice = scales_for(architecture, safety=safety, target=target)
    way = advice.propagation
    record = _record(way) | _scales(advice) | options.picture(plot, propagation_table, way)
    title = f"To initialise {_words(architecture)}"
    output.answer(record, title, _advice(advice), as_json=as_json)


@app.command()
@grouped
def diagram(
    network: ScaledNetwork,
    x: Annotated[str, typer.Option(help="NAME=LOW:HIGH:COUNT, any hyper-parameter.")] = (
        "beta=0.1:4:60"
    ),
    y: Annotated[str, typer.Option(help="NAME=LOW:HIGH:COUNT, another.")] = "skip=0.2:5:25",
    finite_width: FiniteWidth = False,
    time_limit: options.TimeLimit = None,
    plot: options.Plot = None,
    as_json: options.Json = False,
) -> None:
    """Draw the trainability diagram over two hyper-parameters.

    The first time for a number of tokens takes some seconds, for a table that is then kept.

    Example: simonides signal diagram --layers 24 --dim 768 --tokens 512 --plot diagram.svg
    """
    from simonides.signal.diagram import trainability_diagram
    from simonides.signal.paper.curves import diagram_table

    with _checked(network, plot) as architecture:
        classes = trainability_diagram(
            architecture,
            _axis("x", x),
            _axis("y", y),
            finite_width=finite_width,
            time_limit=time_limit,
        )
    picture = options.picture(plot, diagram_table, classes)
    if as_json:
        output.print_json(_diagram_record(classes) | picture)
        return
    _print_diagram(classes)
    for path in picture.values():
        output.print_line(f"picture: {path}")


@contextmanager
def _checked(network: Network, plot: str | None) -> Iterator[Architecture]:
    """Yield the architecture of a command; warnings are left out, as the answer carries them as notes."""
    from simonides.signal.notes import PoorTheoryWarning

    architecture = network.architecture()
    options.check_plot(plot)
    with warnings.catch_warnings(action="ignore", category=PoorTheoryWarning):
        yield architecture


def _lists(arrays: object, *names: str) -> dict[str, Any]:
    return {name: getattr(arrays, name).tolist() for name in names}


def _record(way: Propagation) -> dict[str, Any]:
    weights = _lists(way.gradients, "query", "key", "value")
    return {
        "beta_critical": float(way.beta_critical.min()),
        "class": str(way.outcome),
        **_lists(way, "cosine", "entropy", "entropy_fraction", "participation", "norm", "beta"),
        "beta_critical_by_layer": way.beta_critical.tolist(),
        "gradient": way.gradients.tokens.tolist(),
        **{f"{role}_gradient": squares for role, squares in weights.items()},
        "architecture": asdict(way.architecture),
        "notes": list(way.notes),
    }


def _scales(advice: Initialisation) -> dict[str, Any]:
    names = ("attention_skip", "mlp_skip", "value_variance", "mlp_out_variance")
    return {
        "beta_recommended": advice.architecture.beta,
        "std": advice.std,
        **{name: getattr(advice.architecture, name) for name in names},
        **_lists(advice, "layer_beta", "layer_std"),
    }


def _words(architecture: Architecture) -> str:
    blocks = f"{architecture.layers} {architecture.norm}-norm blocks"
    return f"{blocks} of dimension {architecture.dim:,} on {architecture.tokens:,} tokens"


def _rows(way: Propagation) -> tuple[list[str], list[list[str]]]:
    layers = way.architecture.layers
    columns = {
        "cosine": (way.cosine[1:], ".4f"),
        "H / log T": (way.entropy_fraction, ".3f"),
        "participation": (way.participation, ".4f"),
        "beta": (way.beta, ".3g"),
        "critical": (way.beta_critical, ".3g"),
        "gradient": (way.gradients.tokens, ".3g"),
    }
    shown = sorted({*range(0, layers, max(1, layers // _ROWS_SHOWN)), layers - 1})
    rows = [
        [str(layer + 1), *(format(values[layer], style) for values, style in columns.values())]
        for layer in shown
    ]
    return ["block", *columns], rows


def _advice(advice: Initialisation) -> list[list[str]]:
    architecture, way = advice.architecture, advice.propagation
    if architecture.norm == "post":
        changed = {"skip strength, at least": architecture.attention_skip}
    else:
        changed = {
            "value variance times fan-in, at most": architecture.value_variance,
            "second MLP variance times fan-in, at most": architecture.mlp_out_variance,
        }
    scales = {
        "critical beta, first layer": advice.beta_critical,
        "beta to use": architecture.beta,
        "standard deviation of query and key weights": advice.std,
        "the same in the last layer": advice.layer_std[-1],
        **changed,
    }
    return [
        *([name, f"{scale:.4g}"] for name, scale in scales.items()),
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
    return Axis(name, tuple((np.unique(np.round(values)) if name in WHOLE else values).tolist()))


def _diagram_record(classes: Diagram) -> dict[str, Any]:
    return {
        "x": list(classes.x_axis.values),
        "y": list(classes.y_axis.values),
        "class": [[str(name) for name in row] for row in classes.names()],
        "x_axis": classes.x_axis.name,
        "y_axis": classes.y_axis.name,
        **_lists(classes, "cosine", "least_entropy", "participation", "gradient", "frozen_layer"),
        "architecture": asdict(classes.architecture),
        "notes": list(classes.notes),
    }


def _print_diagram(classes: Diagram) -> None:
    """Print one letter for each point, the largest y on top."""
    from simonides.signal.outcome import OUTCOMES

    output.print_line(f"Trainability of {_words(classes.architecture)}")
    output.print_line(f"{classes.y_axis.name}")
    for value, row in reversed(list(zip(classes.y_axis.values, classes.outcome, strict=True))):
        output.print_line(f"{value:9.4g} " + "".join(_LETTERS[code] for code in row))
    x = classes.x_axis
    output.print_line(f"{'':10}{x.values[0]:<.4g} to {x.values[-1]:.4g}: {x.name}")
    present = sorted(set(classes.outcome.ravel().tolist()))
    meanings = [f"{_LETTERS[code]} {OUTCOMES[code]}" for code in present]
    output.print_line(f"{'':10}{', '.join(meanings)}")
    for note in classes.notes:
        output.print_line(f"  {note}")
