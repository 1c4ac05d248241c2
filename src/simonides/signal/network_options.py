"""Options that describe a transformer: sizes, or a model's config.json, and scales."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simonides import arguments
from simonides.cli.progress import plain_warnings

if TYPE_CHECKING:
    from simonides.signal.maps.architecture import Architecture

Config = Annotated[str | None, typer.Option(help="Read sizes and scales from a config.json.")]
Layers = Annotated[int | None, typer.Option(help="Number of blocks.")]
Dim = Annotated[int | None, typer.Option(help="Embedding dimension.")]
Tokens = Annotated[int | None, typer.Option(help="Length of the context.")]
Heads = Annotated[int | None, typer.Option(help="Attention heads (default: 1).")]
Norm = Annotated[str | None, typer.Option(help="LayerNorm 'pre' or 'post' (default: post).")]
Activation = Annotated[
    str | None,
    typer.Option(
        help="'relu', 'gelu', 'tanh', your own as module:object, or 'none': no MLP (default: relu)."
    ),
]
Cosine = Annotated[float | None, typer.Option(help="Cosine of two embedded tokens (0.1).")]
Beta = Annotated[float | None, typer.Option(help="Strength of the scores (0.4).")]
Std = Annotated[
    float | None, typer.Option(help="Instead of --beta: deviation of query and key weights.")
]
Skip = Annotated[float | None, typer.Option(help="What multiplies the residual stream (1).")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", help="Any other field of Architecture: NAME=VALUE, may be repeated."),
]
FiniteWidth = Annotated[
    bool, typer.Option(help="Add the leading corrections in head dimension and dimension.")
]


@dataclass(frozen=True)
class Network:
    """What describes a transformer, all but the scales of its weights and skips."""

    config: Config = None
    layers: Layers = None
    dim: Dim = None
    tokens: Tokens = None
    heads: Heads = None
    norm: Norm = None
    activation: Activation = None
    cosine: Cosine = None
    others: Set = None

    def architecture(self) -> Architecture:
        """Return the architecture that the options describe."""
        from simonides.signal.maps.architecture import Architecture
        from simonides.signal.models.config import read_config

        given = self._given()
        given.update(_assignments(self.others or []))
        if self.config is not None:
            with plain_warnings():
                return read_config(self.config, **given)
        for name in ("layers", "dim", "tokens"):
            if name not in given:
                raise arguments.refuse(name, None, "given", f"pass --{name}, or --config FILE")
        return Architecture(**given)

    def _given(self) -> dict[str, Any]:
        names = ("layers", "dim", "tokens", "heads", "norm", "cosine", "activation")
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        if self.activation == "none":
            given["activation"] = None
        return given


@dataclass(frozen=True)
class ScaledNetwork(Network):
    """A transformer with the scales of its weights and skips."""

    beta: Beta = None
    std: Std = None
    skip: Skip = None

    def architecture(self) -> Architecture:
        """Return the architecture that the options describe."""
        found = super().architecture()
        if self.std is None:
            return found
        if self.beta is not None or "beta" in _assignments(self.others or []):
            raise arguments.refuse("std", self.std, "given without a beta", "drop one of them")
        from simonides.signal.critical import beta_of_std

        return replace(found, beta=beta_of_std(self.std, found.dim, found.tokens))

    def _given(self) -> dict[str, Any]:
        scales = {"beta": self.beta, "attention_skip": self.skip, "mlp_skip": self.skip}
        given = {name: value for name, value in scales.items() if value is not None}
        return {**super()._given(), **given}


def _assignments(texts: list[str]) -> dict[str, Any]:
    from simonides.signal.maps.architecture import Architecture

    names = [field.name for field in fields(Architecture)]
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or name not in names:
            raise arguments.refuse("set", text, "NAME=VALUE", f"names are {', '.join(names)}")
        found[name] = _value(value.strip())
    return found


def _value(text: str) -> Any:
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue  # not a number of this kind: the next, or a word
    return text
