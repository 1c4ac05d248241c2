"""The commands and their order."""

from __future__ import annotations

import typer

from simonides import __version__
from simonides.cli import capacity, report, require, theory

app = typer.Typer(
    name="simonides",
    help="How many facts fit in a matrix, and how to put them there.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"simonides {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """How many facts fit in a matrix, and how to put them there."""


app.command("capacity")(capacity.capacity)
app.command("require")(require.require)
app.command("theory")(theory.theory)
app.command("report")(report.report)
