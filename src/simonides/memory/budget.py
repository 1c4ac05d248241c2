"""How much memory storing takes, said before it is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simonides import arguments
from simonides.solvers.methods import METHODS

if TYPE_CHECKING:
    from simonides.memory.facts import Facts
    from simonides.memory.recipe import Recipe

_COPIES = 5
"""Copies of inputs and of images that a method holds at once.

Measured at 20,000 facts, 200 dimensions and 50 outputs: from 1.5 (hebbian) to 4.2 (feasibility, whitened).
"""

_COPIES_OF_OUTPUTS = 3
"""As given, as scored, and in single precision for the passes over rivals."""

_BLOCKS = 2**27
"""What passes over all rivals take at a time, whatever the size: eight blocks of 16 MiB."""


def bytes_needed(facts: Facts) -> int:
    """Return about how much memory storing takes at its peak, the facts themselves not counted."""
    rows, dim_in = np.shape(facts.inputs)
    vectors = _COPIES * rows * (dim_in + facts.outputs.shape[1])
    return int(8 * (vectors + _COPIES_OF_OUTPUTS * facts.outputs.size) + _BLOCKS)


def streams(facts: Facts, recipe: Recipe) -> bool:
    """Return whether the inputs are to be read block by block.

    A rule does so where it can (without whitening) and it helps: the inputs are mapped from a file, or
    what the rule would take otherwise is more than allowed.
    """
    if not recipe.solver.streams or recipe.whiten:
        return False
    return is_mapped(facts.inputs) or (
        recipe.max_memory is not None and bytes_needed(facts) > recipe.max_memory
    )


def is_mapped(array: object) -> bool:
    """Return whether an array, or what it is a view of, is mapped from a file."""
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap):
            return True
        array = array.base
    return False


def refuse_if_too_large(facts: Facts, recipe: Recipe) -> None:
    """Refuse what would take more memory than allowed."""
    needed = bytes_needed(facts)
    if recipe.max_memory is not None and needed > recipe.max_memory:
        rules = " or ".join(repr(method.name) for method in METHODS.values() if method.streams)
        raise arguments.refuse(
            "max_memory",
            recipe.max_memory,
            f"at least {needed} bytes for method={recipe.method!r} and these facts",
            f"allow more, or choose {rules} without whiten: only these read the inputs block by block",
        )
