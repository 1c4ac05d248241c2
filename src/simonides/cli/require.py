"""``simonides require``: what it takes to store a number of facts."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import typer

from simonides.cli import options, output
from simonides.cli.grouped import grouped


@grouped
def require(
    facts: Annotated[int, typer.Option(help="Number of facts to store.")],
    criteria: options.Criteria,
    as_json: options.Json = False,
) -> None:
    """Say what it takes to store that many facts.

    Always the smallest square matrix; with a size, also the smallest rank and the largest margin, or a
    note that the size is too small for any.

    Example: simonides require --facts 20000 --dim 4096
    """
    from simonides.failures import BadArgumentError
    from simonides.theory.notes import deviations
    from simonides.theory.requirements import largest_margin, smallest_dimension, smallest_rank

    answer: dict[str, Any] = {
        "facts": facts,
        "smallest_dimension": smallest_dimension(facts, **criteria.beyond_shape()),
        "smallest_rank": None,
        "largest_margin": None,
    }
    notes: dict[str, str] = {}
    rows = [["smallest square dimension", f"{answer['smallest_dimension']:,}"]]
    if criteria.is_named:
        setting = criteria.setting()
        size = f"{setting.dim_out:,} x {setting.dim_in:,}"
        for name, bound, free, question, digits in (
            ("smallest_rank", "rank", replace(setting, rank=None), smallest_rank, ","),
            ("largest_margin", "margin", replace(setting, margin=0.0), largest_margin, ".4f"),
        ):
            needed, answered = "none", free
            try:
                answer[name] = question(setting, facts)
            except BadArgumentError as refusal:
                if refusal.argument != "facts":
                    raise
                notes[name] = f"No {name.replace('_', ' ')} at {size}: {refusal}."
            else:
                needed = format(answer[name], digits)
                answered = replace(setting, **{bound: answer[name]})
            notes |= deviations(answered, facts)
            rows.append([f"{name.replace('_', ' ')} at {size}", needed])
    record = {**answer, "notes": list(notes.values())}
    header = ["", "needed"]
    output.answer(record, f"To store {facts:,} facts", rows, as_json=as_json, header=header)
