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
    "rank": "Under a rank bound theory (replica symmetric) is an upper bound for the decoupled problem in "
    "the limit of large dimensions; small matrices may hold a few percent more. At {ranks} searches from "
    "one start found {difference}: so many fit at least, and more starts can find more.",
    "vertices": "Only outputs that are vertices of the outputs' hull can be targets (two at rank one): "
    "that, not the parameters, sets the number, with even odds.",
    "hidden": "Some outputs may lie inside the outputs' hull, where they can never be targets: about "
    "{size:.0%} fewer facts fit on average than the number says.",
    "inputs": "Few input dimensions with shared outputs: about {size:.0%} more facts fit than theory says "
    "(as measured from 2 to 50 dimensions, 3 to 100 and 8 to 24).",
    "outputs": "The smaller dimension is not large against the price of a fact: scores are not Gaussian "
    "there, and the theory may be off by more than a few percent.",
    "random": "Theory takes all targets as equally frequent. Drawn at random, with so few facts per "
    "output, about {size:.0%} fewer fit.",
    "uneven": "Targets are not equally frequent, which the number allows for: at 6 to 20 outputs it was "
    "measured right within 6%.",
    "uneven, many": "Targets are not equally frequent: with more outputs than dimensions the number is an "
    "upper bound (measured: 16 ± 2% fewer for Zipf targets among 20 outputs in 12 dimensions).",
    "margin": "With this margin about {facts} fewer facts ({percent}) fit in a matrix of this size than "
    "the number says, which is that of independent features (measured at dimension 8 to 26, margins 0.5 to "
    "2).",
}
"""Sentences about where theory is off, by the name of what causes it."""

_SEARCHES = {
    1: ("rank 1, in 8 to 25 dimensions,", "36 to 42% fewer"),
    2: ("rank 2, in 8 to 25 dimensions,", "6 to 25% fewer"),
    4: ("ranks 3 and 4, in 8 to 25 dimensions,", "from 13% fewer to 3% more"),
}
"""What searches from one start found over theory up to a rank, of both problems (benchmark of ranks)."""

_HIGHER = "rank 8, in 16 and 25 dimensions,", "up to 3% more"
"""The same beyond: 0.4 ± 1.4% to 2.8 ± 1.4% more. In 8 dimensions rank 8 is no bound."""

_FEW_DIRECTIONS = 2.0
"""Smaller dimension over the price below which scores of a fact are not Gaussian."""

_INPUTS = 0.26
"""Share of facts by which theory is low for few inputs, times the square of their dimension over the price:
28% at 0.94 and 23% at 1.08 and 6% at 2.07 (the benchmark of deviations)."""

_MOST_GAINED = 0.75
"""The most that was measured: 73% from 2 to 50 dimensions."""

_MARGINS = 6.2
"""Share by which a margin costs as if it were larger, times the dimension: nine cells of the benchmark of
margins, chi-square 16, none off by more than 4% of the facts."""

_WORTH_SAYING, _MARGIN_WORTH_SAYING = 0.03, 0.005
"""Theory itself is off by about as much at small dimensions; a margin's cost is known better."""

_COARSE = 0.1
"""Shares from which on whole percents are said: what a margin costs is known within 4% of the facts."""


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
    if setting.is_bounded:
        notes.append("The Hebbian numbers are of the rule's own matrix, without the rank bound.")
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
    shares = {name: abs(size or 0.0) for name, size in deviation_sizes(setting, facts).items()}
    rank = setting.binding_rank
    ranks, difference = next((words for most, words in _SEARCHES.items() if rank <= most), _HIGHER)
    return {
        name: _NOTES[name].format(
            size=share,
            percent=f"{share:.{1 if share < _COARSE else 0}%}",
            facts=f"{math.ceil(share * facts):,}",
            ranks=ranks,
            difference=difference,
        )
        for name, share in shares.items()
    }


def deviation_sizes(setting: Setting, facts: float) -> dict[str, float | None]:
    """Return which share of the facts more or fewer fit than theory says, by cause; None if not known."""
    price = statistical_dimension(setting.competing(facts))
    shared = setting.problem == "original"
    wide = shared and setting.dim_in < setting.dim_out
    plain = setting.margin == 0 and not setting.is_bounded  # as it was measured
    few = min(setting.dim_in, setting.dim_out) < _FEW_DIRECTIONS * price
    placed = most_targets(setting, 1.01 * facts) <= 1.01 * facts
    # Beyond their dimension outputs are told apart by few parameters each, and how often matters less.
    free = setting.candidates is not None and setting.candidates <= setting.dim_out + 1
    sizes: dict[str, float | None] = {}
    if setting.is_bounded and not (shared and setting.rank == 1):  # two facts, exactly
        sizes["rank"] = None
    if placed:
        sizes["vertices"] = None
    elif (loss := lost_to_hidden(setting, facts)) > _WORTH_SAYING:
        sizes["hidden"] = -loss
    gain = min(_INPUTS * (price / setting.dim_in) ** 2, _MOST_GAINED)
    if (few or (wide and gain > _WORTH_SAYING)) and not placed:
        sizes |= {"inputs": gain} if wide and plain else {"outputs": None}
    if setting.candidates is not None and shared and setting.target_counts is None:
        loss = lost_to_chance(setting.candidates, facts, setting.dim_out)
        sizes |= {"random": -loss} if loss > _WORTH_SAYING else {}
    if setting.is_uneven:
        sizes["uneven" if free else "uneven, many"] = None
    if (loss := lost_to_margin(setting, facts)) > _MARGIN_WORTH_SAYING:
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
