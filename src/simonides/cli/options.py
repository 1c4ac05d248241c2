"""Options that several commands share, described once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from simonides import arguments
from simonides.cli import output

if TYPE_CHECKING:
    from simonides.curves.table import Table
    from simonides.theory.setting import Setting

Dim = Annotated[int | None, typer.Option(help="Dimension of a square matrix.")]
DimIn = Annotated[int | None, typer.Option(help="Input dimension (default: --dim).")]
DimOut = Annotated[int | None, typer.Option(help="Output dimension (default: --dim).")]
Candidates = Annotated[
    int | None, typer.Option(help="Outputs competing for each input (default: all facts).")
]
Rank = Annotated[int | None, typer.Option(help="Rank bound (two layers, LoRA).")]
Margin = Annotated[
    float, typer.Option(help="Gap over every rival, in off-target standard deviations.")
]
TailFraction = Annotated[
    float | None, typer.Option(help="Beat the mean of this fraction of top rivals, not each.")
]
Outputs = Annotated[
    str, typer.Option(help="'shared' by all inputs, or 'decoupled': each input has its own.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Plot = Annotated[str | None, typer.Option(help="Draw a picture: FILE.png, .svg or .pdf.")]


def setting(
    dim: int | None,
    dim_in: int | None,
    dim_out: int | None,
    candidates: int | None,
    rank: int | None,
    margin: float,
    tail_fraction: float | None,
    outputs: str,
) -> Setting:
    """Return the setting that the options describe."""
    wide, tall = sizes(dim, dim_in, dim_out)
    from simonides.theory.setting import Setting

    return Setting(wide, tall, candidates, rank, margin, tail_fraction, outputs)  # type: ignore[arg-type]


def sizes(dim: int | None, dim_in: int | None, dim_out: int | None) -> tuple[int, int]:
    """Return the input and the output dimension."""
    if dim is not None:
        arguments.whole("dim", dim, remedy="pass the embedding dimension")
        if dim_in is not None and dim_out is not None:
            raise arguments.refuse("dim", dim, "left out beside dim_in and dim_out", "drop --dim")
    wide, tall = dim_in if dim_in is not None else dim, dim_out if dim_out is not None else dim
    if wide is None or tall is None:
        raise arguments.refuse("dim", dim, "given", "pass --dim, or both --dim-in and --dim-out")
    return (
        arguments.whole("dim_in", wide, remedy="pass the input dimension"),
        arguments.whole("dim_out", tall, remedy="pass the output dimension"),
    )


def check_plot(path: str) -> None:
    """Refuse a picture that could not be written, before anything is computed."""
    from simonides.figures.style import checked_path

    checked_path(path)
    output.check_writable("plot", path)


def draw_to(path: str, table: Table) -> str:
    """Draw a table to a file and return the path."""
    from simonides.figures.catalogue import draw
    from simonides.figures.style import save

    return str(save(draw(table), path))
