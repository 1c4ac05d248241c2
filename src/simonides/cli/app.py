"""The commands and their order."""

from __future__ import annotations

import typer

from simonides import __version__
from simonides.cli import (
    capacity,
    decide,
    plan,
    reproduce,
    require,
    sweep,
    theory,
    threshold,
    train,
    verify,
)
from simonides.signal import commands as signal

app = typer.Typer(
    name="simonides",
    help="How many facts fit in a matrix, and how to put them there.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"simonides {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def options(
    context: typer.Context,
    _version_asked: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """How many facts fit in a matrix, and how to put them there."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


app.command("capacity")(capacity.capacity)
app.command("require")(require.require)
app.command("decide")(decide.decide)
app.command("verify")(verify.verify)
app.command("threshold")(threshold.threshold)
app.command("train")(train.train)
app.add_typer(sweep.app, name="sweep")
app.command("plan")(plan.plan)
app.add_typer(signal.app)
app.command("theory")(theory.theory)
app.command("reproduce")(reproduce.reproduce)
