"""The commands and their order."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand

from simonides import __version__
from simonides.cli import (
    capacity,
    decide,
    edit,
    plan,
    reproduce,
    require,
    sweep,
    theory,
    threshold,
    train,
    undo,
    verify,
)
from simonides.signal import commands as signal

app = typer.Typer(
    name="simonides",
    help="How many facts fit in a matrix, and how to put them there.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"simonides {__version__}")
        raise typer.Exit


def _show_help(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.callback(invoke_without_command=True)
def options(
    context: typer.Context,
    _version_asked: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """How many facts fit in a matrix, and how to put them there."""
    _show_help(context)


class _Command(TyperCommand):
    """A command whose help lists what the registries hold, looked up only when it is shown."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        for parameter in self.params:
            text = getattr(parameter, "help", None) or ""
            if "{vectors}" in text:
                from simonides.problems.ensembles import TARGETS
                from simonides.problems.vectors import VECTORS

                text = text.format(vectors=", ".join(VECTORS), targets=", ".join(TARGETS))
                parameter.help = text  # type: ignore[attr-defined]
        super().format_help(ctx, formatter)


app.command("capacity")(capacity.capacity)
app.command("require")(require.require)
app.command("decide", cls=_Command)(decide.decide)
app.command("verify", cls=_Command)(verify.verify)
app.command("threshold", cls=_Command)(threshold.threshold)
app.command("train", cls=_Command)(train.train)
for group in (sweep.app, signal.app):
    app.add_typer(group, callback=_show_help, invoke_without_command=True, no_args_is_help=False)
app.command("plan")(plan.plan)
app.command("edit")(edit.edit)
app.command("undo")(undo.undo)
app.command("theory")(theory.theory)
app.command("reproduce")(reproduce.reproduce)
