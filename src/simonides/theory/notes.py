"""What a predicted capacity promises at its size, and what it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simonides.theory.capacity import Capacity
    from simonides.theory.setting import Setting

FEW_DIRECTIONS_NOTE = (
    "The smaller dimension is not large against the price of a fact: "
    "scores are not Gaussian there, and the theory may be far off."
)

NEAR_OUTPUTS_NOTE = (
    "Shared outputs about as many as their dimension: the theory is high there; where it was "
    "measured (dimension 15, 15 outputs) 7.5% fewer facts fit."
)

MARGIN_NOTE = (
    "Margins are predicted for independent features; a matrix keeps less: at dimension 12 to 28 the "
    "largest margin was measured a quarter to a third below the prediction."
)

_FEW_DIRECTIONS = 3.0
"""Smaller dimension over the price below which a fact touches most directions at once: a rule of thumb."""

_NEAR_OUTPUTS = (0.4, 3.0)
"""Shared outputs over their dimension between which their differences are not yet generic: around the one
ratio that was measured, 1, and wide enough to warn early."""


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
    notes = [_which_row(answer)]
    if setting.rank is not None and setting.rank < min(setting.dim_in, setting.output_directions):
        notes.append(
            "With a rank bound the problem is not convex: the number is an upper bound "
            "(replica symmetric), and the Hebbian rows are for full rank."
        )
    if few_directions(setting, answer.statistical_dimension):
        notes.append(FEW_DIRECTIONS_NOTE)
    if near_outputs(setting):
        notes.append(NEAR_OUTPUTS_NOTE)
    if setting.margin > 0:
        notes.append(MARGIN_NOTE)
    if setting.problem == "original" and setting.candidates is None:
        notes.append(
            "The formula is that of the decoupled problem, which shared outputs are conjectured to follow "
            "as dimensions grow."
        )
    notes.append(
        "Embeddings are taken as generic (Gaussian, or whitened to be so) and targets as arbitrary."
    )
    return tuple(notes)


def few_directions(setting: Setting, price: float) -> bool:
    """Whether a fact of that price touches most directions of the smaller side at once."""
    return min(setting.dim_in, setting.dim_out) < _FEW_DIRECTIONS * price


def near_outputs(setting: Setting) -> bool:
    """Whether shared outputs are about as many as their dimension."""
    if setting.problem != "original" or setting.candidates is None:
        return False
    low, high = _NEAR_OUTPUTS
    return low < setting.candidates / setting.dim_out < high


def _which_row(answer: Capacity) -> str:
    gap = 1 - answer.facts_asymptotic / answer.facts
    if abs(gap) < 0.01:
        return "Finite size and leading order agree to a percent at this size."
    side = "below" if gap > 0 else "above"
    return f"Trust the finite-size row: at this size the leading order is {abs(gap):.0%} {side} it."
