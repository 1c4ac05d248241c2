"""``simonides require``: what it takes to store a number of facts."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import typer

from simonides.cli import options, output
from simonides.cli.grouped import grouped


@grouped
def require(
    facts: Annotated[str, typer.Option(help="Number of facts to store, as 20000 or 20k.")],
    criteria: options.Criteria,
    as_json: options.Json = False,
) -> None:
    """Say what it takes to store that many facts.

    Always the smallest square matrix; with a size, also the smallest rank and the largest margin, or a
    note that the size is too small for any.

    Example: simonides require --facts 20k --dim 4096
    """
    from simonides.failures import BadArgumentError
    from simonides.theory.notes import deviations
    from simonides.theory.requirements import largest_margin, smallest_dimension, smallest_rank

    wanted = options.number(facts)
    answer: dict[str, Any] = {
        "facts": wanted,
        "smallest_dimension": smallest_dimension(wanted, **criteria.beyond_shape()),
        "smallest_rank": None,
        "largest_margin": None,
    }
    notes: dict[str, str] = {}
    refusals: dict[str, list[str]] = {}
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
                answer[name] = question(setting, wanted)
            except BadArgumentError as refusal:
                if refusal.argument != "facts":
                    raise
                refusals.setdefault(str(refusal), []).append(f"no {name.replace('_', ' ')}")
            else:
                needed = format(answer[name], digits)
                answered = replace(setting, **{bound: answer[name]})
            notes |= deviations(answered, wanted)
            rows.append([f"{name.replace('_', ' ')} at {size}", needed])
        for reason, lacks in refusals.items():
            notes[reason] = f"At {size} {' and '.join(lacks)} will do: {reason}."
    record = {**answer, "notes": list(notes.values())}
    header = ["", "needed"]
    output.answer(record, f"To store {wanted:,} facts", rows, as_json=as_json, header=header)
