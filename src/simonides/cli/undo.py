"""``simonides undo``: take an edit of a language model off again."""

from __future__ import annotations

from typing import Annotated

import typer

from simonides.cli import options, output


def undo(
    edited: Annotated[
        str, typer.Argument(metavar="EDITED", help="Folder that 'simonides edit' wrote.")
    ],
    out: Annotated[str, typer.Option(help="Folder for the model as it was.")],
    as_json: options.Json = False,
) -> None:
    """Write the model as it was before an edit, bit for bit in single precision.

    Example: simonides undo edited --out as_before
    """
    from simonides.editing.folder import undo_edit

    written = undo_edit(edited, out)
    rows = [["edit taken off", edited], ["model as it was", str(written)]]
    record = {"edited": edited, "out": str(written)}
    output.answer(record, "Undone", rows, as_json=as_json)
