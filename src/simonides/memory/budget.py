"""How much memory storing takes, said before it is taken."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from simonides import arguments
from simonides.problems.scan import MOST_PAIRS, TooManyPairsError
from simonides.solvers.methods import METHODS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simonides.failures import BadArgumentError
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

_BYTES_PER_PAIR = 220
"""What a close pair of fact and rival takes while a search steps from one state to another.

Each state holds its close pairs and the active ones among them, in twelve arrays; the next one four more
while it is made. Measured at 2,000 and 3,000 outputs: 177 and 228, blocks included.
"""


def bytes_needed(facts: Facts) -> int:
    """Return about how much memory storing takes, facts and close pairs not counted."""
    rows, dim_in = np.shape(facts.inputs)
    vectors = _COPIES * rows * (dim_in + facts.outputs.shape[1])
    return int(8 * (vectors + _COPIES_OF_OUTPUTS * facts.outputs.size) + _BLOCKS)


def bytes_streamed(facts: Facts) -> int:
    """Return about how much memory reading block by block takes: the memory's own copy of inputs, most."""
    rows, dim_in = np.shape(facts.inputs)
    candidates, dim_out = facts.outputs.shape
    copy = 0 if is_mapped(facts.inputs) else facts.inputs.nbytes
    blocks = min(_BLOCKS, 8 * _COPIES * rows * (dim_in + dim_out + candidates))
    sums = _COPIES * dim_in * (dim_in + dim_out)
    return int(copy + blocks + 8 * (sums + _COPIES_OF_OUTPUTS * facts.outputs.size))


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


@contextmanager
def within(facts: Facts, recipe: Recipe) -> Iterator[None]:
    """Refuse what would take more memory than allowed, before it is taken.

    How many pairs are close shows only as a search goes on: it ends once they would not fit.
    """
    if recipe.max_memory is None:
        yield
        return
    needed = bytes_streamed(facts) if streams(facts, recipe) else bytes_needed(facts)
    if needed > recipe.max_memory:
        raise _refusal(recipe, f"at least {needed} bytes")
    token = MOST_PAIRS.set((recipe.max_memory - needed) / _BYTES_PER_PAIR)
    try:
        yield
    except TooManyPairsError as error:
        enough = needed + _BYTES_PER_PAIR * len(facts.targets) * len(facts.outputs)
        raise _refusal(recipe, f"larger ({error}; {enough} bytes always do)") from None
    finally:
        MOST_PAIRS.reset(token)


def _refusal(recipe: Recipe, condition: str) -> BadArgumentError:
    rules = " or ".join(repr(method.name) for method in METHODS.values() if method.streams)
    return arguments.refuse(
        "max_memory",
        recipe.max_memory,
        f"{condition} for method={recipe.method!r} and these facts",
        f"allow more, or choose {rules} without whiten: only these read the inputs block by block",
    )
