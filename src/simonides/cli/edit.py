"""``simonides edit``: put facts into a language model."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simonides import arguments
from simonides.cli import options, output
from simonides.cli.progress import live

if TYPE_CHECKING:
    from simonides.editing.outcome import Edit

_DIGITS = 6
"""Of a layer's number: more than any model has."""

_NOT_ALL = 1
"""Exit code where the edited model does not recall every fact; 2 is bad input."""


def edit(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="A folder that transformers wrote, or a .gguf file."),
    ],
    facts: Annotated[
        str, typer.Option(help="What to store: FILE.csv with the columns prompt and answer.")
    ],
    out: Annotated[
        str, typer.Option(help="New or empty folder for the edited model and its proof.")
    ],
    layer: Annotated[
        str,
        typer.Option(
            help="-1, the last, alone; or first one in the middle, a number or auto, by which other "
            "wordings are understood. That needs a column subject in FILE.csv."
        ),
    ] = "-1",
    keep: Annotated[
        str | None,
        typer.Option(help="Ordinary text to disturb least (default: Python's documentation)."),
    ] = None,
    preserve: Annotated[
        str | None,
        typer.Option(help="FILE.csv with a column prompt: the next token after each must stay."),
    ] = None,
    margin: Annotated[
        float,
        typer.Option(help="Lead of each fact, in root mean squares of the stream it is read from."),
    ] = 0.05,
    rank: Annotated[
        int | None, typer.Option(help="Largest rank of the change (default: any).")
    ] = None,
    adapter: Annotated[
        bool, typer.Option(help="Write an adapter for PEFT and no model; needs --rank.")
    ] = False,
    threads: Annotated[int | None, typer.Option(help="Threads to use (default: all).")] = None,
    time_limit: options.TimeLimit = None,
    as_json: options.Json = False,
) -> None:
    """Put facts into a language model with the least change of its last layer, and prove them.

    Each token of an answer is a fact, and to the last layer another wording is another fact: --layer auto
    first stores in the middle what a subject's wordings share. What is proved is that every
    fact's token wins in exact arithmetic; the edited model is then run to see it, and its perplexity
    measured before and after. The exit code is 1 if the edited model does not recall every fact.

    Example: simonides edit SmolLM2-135M --facts facts.csv --out edited
    """
    from simonides.editing import folder
    from simonides.editing.edit import edit as change

    folder.check_folder(out)
    if adapter and (rank is None or layer != "-1"):
        condition = "given with a rank, and for the last layer alone"
        raise arguments.refuse("adapter", adapter, condition, "pass --rank 8, say, and no --layer")
    with live(str, quiet=as_json) as watch:
        outcome = change(
            model,
            facts,
            layer=_layer(layer),
            keep=keep,
            preserve=preserve,
            margin=margin,
            rank=rank,
            time_limit=time_limit,
            threads=threads,
            watch=watch,
        )
        if outcome.useful:
            watch("writing the adapter" if adapter else "writing the edited model")
            outcome.save(out, adapter=adapter)
    record: dict[str, Any] = {**outcome.record(), "out": out if outcome.useful else None}
    lines = "1 line" if outcome.rows == 1 else f"{outcome.rows:,} lines"
    title = f"{lines}, {outcome.facts:,} facts in {Path(model).name}"
    output.answer(record, title, _rows(outcome), as_json=as_json)
    if not as_json:
        output.print_line(
            f"written to {out}" if outcome.useful else "nothing is gained and nothing written"
        )
    output.end(interrupted=outcome.interrupted)
    if outcome.stored != outcome.facts:
        raise typer.Exit(_NOT_ALL)


def _layer(text: str) -> int | str:
    """Return the number that a text is, or else the text."""
    short = len(text) <= _DIGITS and text.removeprefix("-").isdecimal()
    return int(text) if short else text


def _rows(outcome: Edit) -> list[list[str]]:
    total = outcome.facts + outcome.preserved
    rows = [
        ["recalled by the edited model, run", _of(outcome.stored, outcome.facts)],
        ["proved", f"{outcome.proved:,} of {total:,}"],
        ["length of the change on text", f"{outcome.change:.4g}"],
        ["no change is shorter than", f"{outcome.change_lower:.4g}"],
        ["change of the stream on other text", _share(outcome.stream_change)],
        ["perplexity", f"{outcome.perplexity_before:.2f} to {_number(outcome.perplexity_after)}"],
        [
            "next token right",
            f"{_share(outcome.next_token_before)} to {_share(outcome.next_token_after)}",
        ],
        ["seconds to store and prove", f"{outcome.seconds:.1f}"],
    ]
    if outcome.middle is not None:
        count = f"{outcome.middle.subjects:,} subjects"
        rows.insert(
            0, [f"values that answer, layer {outcome.layer}", f"{outcome.answered:,} of {count}"]
        )
    for trial in outcome.trials:
        rows.append([f"trial, layer {trial.layer}: wordings held out", _share(trial.understood)])
    if outcome.preserved:
        rows.insert(1, ["preserved, run", _of(outcome.kept, outcome.preserved)])
    return rows


def _of(count: int | None, total: int) -> str:
    return "not measured" if count is None else f"{count:,} of {total:,}"


def _number(value: float) -> str:
    return f"{value:.2f}" if isfinite(value) else "not measured"


def _share(value: float) -> str:
    return f"{value:.1%}" if isfinite(value) else "not measured"
