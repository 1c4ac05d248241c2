"""How much memory storing takes, said before it is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simonides import arguments
from simonides.solvers.methods import named

if TYPE_CHECKING:
    from simonides.memory.facts import Facts
    from simonides.memory.recipe import Recipe

_COPIES_OF_INPUTS = {"hebbian": 2, "pseudo_inverse": 4}
_COPIES_OF_IMAGES = {"hebbian": 3, "pseudo_inverse": 4}
_COPIES = 5
_BLOCKS = 2**27
"""What passes over all rivals take at a time, whatever the size."""


def bytes_needed(facts: Facts, recipe: Recipe) -> int:
    """Return about how much memory a method takes at its peak, the facts themselves not counted."""
    rows, dim_in = np.shape(facts.inputs)
    dim_out = facts.outputs.shape[1]
    of_inputs = _COPIES_OF_INPUTS.get(recipe.method, _COPIES) * rows * dim_in
    of_images = _COPIES_OF_IMAGES.get(recipe.method, _COPIES) * rows * dim_out
    of_outputs = 3 * facts.outputs.size
    return int(8 * (of_inputs + of_images + of_outputs) + _BLOCKS)


def streams(facts: Facts, recipe: Recipe) -> bool:
    """Return whether the inputs are to be read block by block.

    A rule does so where it can (without whitening) and it helps: the inputs are mapped from a file, or
    what the rule would take otherwise is more than allowed.
    """
    if not named(recipe.method).streams or recipe.whiten:
        return False
    return is_mapped(facts.inputs) or (
        recipe.max_memory is not None and bytes_needed(facts, recipe) > recipe.max_memory
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
    needed = bytes_needed(facts, recipe)
    if recipe.max_memory is not None and needed > recipe.max_memory:
        raise arguments.refuse(
            "max_memory",
            recipe.max_memory,
            f"at least {needed} bytes for method={recipe.method!r} and these facts",
            "allow more, or choose 'hebbian' or 'pseudo_inverse' without whiten: only these two read "
            "the inputs block by block",
        )
