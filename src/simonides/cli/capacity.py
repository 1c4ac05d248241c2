"""``simonides capacity``: how many facts fit."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from simonides.cli import options, output
from simonides.cli.grouped import grouped
from simonides.formatting import count

if TYPE_CHECKING:
    from simonides.theory.capacity import Capacity
    from simonides.theory.setting import Setting

_LEAST_ERROR = 0.05
"""Of a number of facts, which is shown to one tenth."""


@grouped
def capacity(
    criteria: options.Criteria, plot: options.Plot = None, as_json: options.Json = False
) -> None:
    """How many facts fit in a matrix?

    Example: simonides capacity --dim 4096 --rank 16
    """
    from simonides.curves.storage import around
    from simonides.theory.capacity import capacity_of

    setting = criteria.setting()
    options.check_plot(plot)
    answer = capacity_of(setting)
    # The answer's numbers and the question's, by their names.
    record = asdict(answer)
    question = record.pop("setting")
    del question["target_counts"]  # a list for Python
    record |= {**question, "criterion": _criterion(answer)}
    record |= options.picture(plot, around, setting)
    output.answer(
        record,
        _title(answer),
        _rows(answer),
        as_json=as_json,
        header=["", "facts", "load", "bits/parameter"],
        notes=[f"Best: {record['criterion']}."],
    )


def _title(answer: Capacity) -> str:
    setting = answer.setting
    rank = "" if setting.rank is None else f" of rank {setting.rank:,}"
    rivals = "all facts" if setting.candidates is None else f"{setting.candidates:,} candidates"
    return f"A {setting.dim_out:,} x {setting.dim_in:,} matrix{rank}, {rivals} competing"


def _rows(answer: Capacity) -> list[list[str]]:
    setting = answer.setting
    whole = replace(setting, rank=None)  # the matrix of the Hebbian rule

    def row(name: str, facts: float, setting: Setting, stderr: float = 0.0) -> list[str]:
        return [
            name,
            count(facts) + (f" ± {count(stderr)}" if stderr >= _LEAST_ERROR else ""),
            f"{setting.load(facts):.4f}",
            f"{setting.bits_per_parameter(facts):.3f}",
        ]

    return [
        row("best memory, finite size", answer.facts, setting, answer.facts_stderr),
        row("best memory, leading order", answer.facts_asymptotic, setting),
        row("Hebbian rule, all facts (even odds)", answer.facts_hebbian, whole),
        row("Hebbian rule, 99% of the facts", answer.facts_hebbian_fraction, whole),
    ]


def _criterion(answer: Capacity) -> str:
    setting = answer.setting
    by = f" by {setting.margin:g}" if setting.margin else ""
    if setting.tail_fraction is not None:
        return f"every target beats the mean of its top {setting.tail_fraction:g} of rivals{by}"
    return f"every target beats every rival{by}"
