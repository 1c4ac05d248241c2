"""Options that several commands share, described once."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simonides import arguments
from simonides.cli import output

if TYPE_CHECKING:
    from collections.abc import Callable

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
Kind = Annotated[
    str, typer.Option(help="'original': outputs shared; 'decoupled': each input has its own.")
]
TimeLimit = Annotated[
    float | None, typer.Option(help="Seconds after which the best so far is the answer.")
]
MaxSteps = Annotated[
    int | None, typer.Option(help="Most steps of a search (default: the method's own).")
]
Workers = Annotated[
    int | None, typer.Option(help="Processes to share the work (default: one per core).")
]
RetryFailed = Annotated[
    bool, typer.Option("--retry-failed", help="Measure tasks that failed once more.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Plot = Annotated[str | None, typer.Option(help="Draw a picture: FILE.png, .svg or .pdf.")]


_THOUSANDS = {"": 0, "k": 3, "m": 6, "g": 9, "b": 9}
"""Powers of ten of the letters that people put behind a number; B is for billions."""


def number(text: str) -> int:
    """Return a number of facts as people write it.

    >>> number("50k"), number("1.5M"), number("20,000")
    (50000, 1500000, 20000)
    """
    parts = re.fullmatch(r"(\d{1,15}(?:\.\d{1,15})?(?:e\d{1,2})?)([kmgb]?)", _plain_digits(text))
    whole = None if parts is None else Decimal(parts[1]).scaleb(_THOUSANDS[parts[2]])
    if whole is None or whole != int(whole) or whole < 1:
        remedy = "pass the number of facts to store, as 20000, 50k or 1.5M"
        raise arguments.refuse("facts", text, "a whole number of at least 1", remedy)
    return int(whole)


def _plain_digits(text: str) -> str:
    return re.sub(r"(?<=\d)[,_ ](?=\d{3})", "", text.strip().lower())


@dataclass(frozen=True)
class Shape:
    """The shape of a matrix."""

    dim: Dim = None
    dim_in: DimIn = None
    dim_out: DimOut = None

    @property
    def is_named(self) -> bool:
        """Whether anything was said about it."""
        return not (self.dim is None and self.dim_in is None and self.dim_out is None)

    def beyond_shape(self) -> dict[str, Any]:
        """Return all that was said beyond the shape."""
        shape = {field.name for field in fields(Shape)}
        return {name: value for name, value in vars(self).items() if name not in shape}

    def sizes(self) -> tuple[int, int]:
        """Return the input and the output dimension."""
        dim, wide, tall = self.dim, self.dim_in, self.dim_out
        if dim is not None:
            arguments.whole("dim", dim, remedy="pass the embedding dimension")
            if wide is not None and tall is not None:
                raise arguments.refuse(
                    "dim", dim, "left out beside dim_in and dim_out", "drop --dim"
                )
        wide, tall = dim if wide is None else wide, dim if tall is None else tall
        if wide is None or tall is None:
            raise arguments.refuse(
                "dim", dim, "given", "pass --dim, or both --dim-in and --dim-out"
            )
        return (
            arguments.whole("dim_in", wide, remedy="pass the input dimension"),
            arguments.whole("dim_out", tall, remedy="pass the output dimension"),
        )


@dataclass(frozen=True)
class Criteria(Shape):
    """What theory is asked about: a matrix, who competes, and what counts as recalled."""

    candidates: Candidates = None
    rank: Rank = None
    margin: Margin = 0.0
    tail_fraction: TailFraction = None
    problem: Kind = "original"

    def setting(self) -> Setting:
        """Return it as a setting."""
        sizes = self.sizes()
        from simonides.theory.setting import Setting

        return Setting(*sizes, **self.beyond_shape())


def check_plot(path: str | None) -> None:
    """Refuse a picture that could not be written, before anything is computed."""
    if path is not None:
        from simonides.figures.style import FORMATS

        output.check_writable("plot", path, *FORMATS)


def picture(path: str | None, table_of: Callable[[Any], Table], answer: Any) -> dict[str, str]:
    """Draw the table of an answer if a picture is wanted, and return what a record says of it."""
    if path is None:
        return {}
    from simonides.curves.catalogue import draw
    from simonides.figures.style import save

    return {"plot": str(save(draw(table_of(answer)), path))}
