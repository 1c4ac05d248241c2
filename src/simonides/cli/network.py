"""Options that describe a transformer: sizes, or a model's config.json, and scales."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from simonides import arguments

if TYPE_CHECKING:
    from simonides.signal.architecture import Architecture

Config = Annotated[str | None, typer.Option(help="Read sizes and scales from a config.json.")]
Layers = Annotated[int | None, typer.Option(help="Number of blocks.")]
Dim = Annotated[int | None, typer.Option(help="Embedding dimension.")]
Tokens = Annotated[int | None, typer.Option(help="Length of the context.")]
Heads = Annotated[int | None, typer.Option(help="Attention heads (default: 1).")]
Norm = Annotated[str | None, typer.Option(help="LayerNorm 'pre' or 'post' (default: post).")]
Activation = Annotated[
    str | None, typer.Option(help="'relu', 'gelu', 'tanh', or 'none': no MLP (default: relu).")
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


def architecture(
    config: str | None,
    layers: int | None,
    dim: int | None,
    tokens: int | None,
    heads: int | None,
    norm: str | None,
    activation: str | None,
    cosine: float | None,
    others: list[str] | None,
    *,
    beta: float | None = None,
    std: float | None = None,
    skip: float | None = None,
) -> Architecture:
    """Return the architecture that the options describe."""
    from simonides.signal.architecture import Architecture
    from simonides.signal.config import read_config

    given: dict[str, Any] = {
        "layers": layers,
        "dim": dim,
        "tokens": tokens,
        "heads": heads,
        "norm": norm,
        "cosine": cosine,
        "beta": beta,
        "attention_skip": skip,
        "mlp_skip": skip,
    }
    given = {name: value for name, value in given.items() if value is not None}
    if activation is not None:
        given["activation"] = None if activation == "none" else activation
    given.update(_assignments(others or []))
    if config is None:
        for name in ("layers", "dim", "tokens"):
            if name not in given:
                raise arguments.refuse(name, None, "given", f"pass --{name}, or --config FILE")
        found = Architecture(**given)
    else:
        found = read_config(config, **given)
    return found if std is None else _with_std(found, std, beta)


def _with_std(found: Architecture, std: float, beta: float | None) -> Architecture:
    from dataclasses import replace

    from simonides.signal.critical import beta_of_std

    if beta is not None:
        raise arguments.refuse("std", std, "given without --beta", "drop one of them")
    return replace(found, beta=beta_of_std(std, found.dim, found.tokens))


def _assignments(texts: list[str]) -> dict[str, Any]:
    from dataclasses import fields

    from simonides.signal.architecture import Architecture

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
