"""What a predicted capacity promises at its size, and what it does not."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from simonides.theory.cone import statistical_dimension
from simonides.theory.uneven import lost_to_chance
from simonides.theory.vertices import lost_to_hidden, most_targets

if TYPE_CHECKING:
    from simonides.theory.capacity import Capacity
    from simonides.theory.setting import Setting

_NOTES = {
    "rank": "With a rank bound the number is an upper bound for the decoupled problem and large "
    "dimensions (replica symmetric). With shared outputs a few percent more are possible, and at rank 2 "
    "fewer fit (9 ± 3% at dimension 8).",
    "vertices": "Only outputs that are vertices of the outputs' hull can be targets (two at rank one): "
    "that, not the parameters, sets the number, with even odds.",
    "hidden": "Some outputs may lie inside the outputs' hull, where they can never be targets: about "
    "{size:.0%} fewer facts fit on average than the number says.",
    "inputs": "Few input dimensions with shared outputs: about {size:.0%} more facts fit than theory says "
    "(as measured from 3 to 30 dimensions, 4 to 40 and 8 to 24).",
    "outputs": "The smaller dimension is not large against the price of a fact: scores are not Gaussian "
    "there, and the theory may be off by more than a few percent.",
    "random": "Theory takes all targets as equally frequent. Drawn at random, with so few facts per "
    "output, about {size:.0%} fewer fit.",
    "uneven": "Targets are not equally frequent, which the number allows for: at 6 to 20 outputs it was "
    "measured right within 6%.",
    "uneven, many": "Targets are not equally frequent: with more outputs than dimensions the number is an "
    "upper bound (measured: 16 ± 2% fewer for Zipf targets among 20 outputs in 12 dimensions).",
    "margin": "With this margin about {size:.0%} fewer facts fit in a matrix of this size than the number "
    "says, which is that of independent features (measured at dimension 8 to 26, margins 0.5 to 2).",
}
"""Sentences about where theory is off, by the name of what causes it."""

_FEW_DIRECTIONS = 2.0
"""Smaller dimension over the price below which scores of a fact are not Gaussian."""

_INPUTS = 0.26
"""Share of facts by which theory is low for few inputs, times the square of their dimension over the price:
28% at 0.94 and 23% at 1.08 and 6% at 2.07 (the benchmark of deviations)."""

_MARGINS = 6.2
"""Share by which a margin costs as if it were larger, times the dimension: nine cells of the benchmark of
margins, chi-square 16, none off by more than 4% of the facts."""

_WORTH_SAYING = 0.03
"""Theory itself is off by about as much at small dimensions."""


def caveats(answer: Capacity) -> tuple[str, ...]:
    """Return what a reader should know before relying on a capacity.

    Parameters
    ----------
    answer : Capacity
        From :func:`simonides.capacity`.

    Returns
    -------
    tuple of str
        Sentences, most important first.

    Examples
    --------
    >>> from simonides.theory.capacity import capacity
    >>> print(caveats(capacity(100))[0])
    Trust the finite-size row: at this size the leading order is 37% below it.
    """
    setting = answer.setting
    notes = [_which_row(answer), *deviations(setting, answer.facts).values()]
    if setting.problem == "original" and setting.candidates is None:
        notes.append(
            "The formula is that of the decoupled problem, which shared outputs are conjectured to follow "
            "as dimensions grow."
        )
    notes.append(
        "Embeddings are taken as generic (Gaussian, or whitened to be so)"
        + ("." if setting.is_uneven else " and targets as arbitrary and equally frequent.")
    )
    return tuple(notes)


def deviations(setting: Setting, facts: float) -> dict[str, str]:
    """Return where theory is known to be off near a number of facts: sentences by their cause."""
    sizes = deviation_sizes(setting, facts)
    return {name: _NOTES[name].format(size=abs(size or 0.0)) for name, size in sizes.items()}


def deviation_sizes(setting: Setting, facts: float) -> dict[str, float | None]:
    """Return which share of the facts more or fewer fit than theory says, by cause; None if not known."""
    price = statistical_dimension(setting.competing(facts))
    shared = setting.problem == "original"
    wide = shared and setting.dim_in < setting.dim_out
    few = min(setting.dim_in, setting.dim_out) < _FEW_DIRECTIONS * price
    placed = most_targets(setting, 1.01 * facts) <= 1.01 * facts
    # Beyond their dimension outputs are told apart by few parameters each, and how often hardly matters.
    free = setting.candidates is not None and setting.candidates <= setting.dim_out + 1
    sizes: dict[str, float | None] = {}
    if setting.rank is not None and setting.rank < min(setting.dim_in, setting.output_directions):
        sizes["rank"] = None
    if placed:
        sizes["vertices"] = None
    elif (loss := lost_to_hidden(setting, facts)) > _WORTH_SAYING:
        sizes["hidden"] = -loss
    if wide and _INPUTS * (price / setting.dim_in) ** 2 > _WORTH_SAYING:
        sizes["inputs"] = _INPUTS * (price / setting.dim_in) ** 2
    elif few and not placed and not wide:
        sizes["outputs"] = None
    if free and shared and setting.target_counts is None:
        loss = lost_to_chance(setting.competing(facts), facts)
        sizes |= {"random": -loss} if loss > _WORTH_SAYING else {}
    if setting.is_uneven:
        sizes["uneven" if free else "uneven, many"] = None
    if (loss := lost_to_margin(setting, facts)) > _WORTH_SAYING:
        sizes["margin"] = -loss
    return sizes


def lost_to_margin(setting: Setting, facts: float) -> float:
    """Return which share of the facts does not fit with a margin, as scores of a matrix are products."""
    if setting.margin == 0:
        return 0.0
    candidates = setting.competing(facts)
    dimension = math.sqrt(setting.dim_in * setting.dim_out)
    dearer = replace(setting, margin=setting.margin * (1 + _MARGINS / dimension))
    return 1 - setting.price(candidates).value / dearer.price(candidates).value


def _which_row(answer: Capacity) -> str:
    gap = 1 - answer.facts_asymptotic / answer.facts
    if abs(gap) < 0.01:
        return "Finite size and leading order agree to a percent at this size."
    side = "below" if gap > 0 else "above"
    return f"Trust the finite-size row: at this size the leading order is {abs(gap):.0%} {side} it."
