"""How much memory storing takes, said before it is taken."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from simonides import arguments
from simonides.problems.original import fact_blocks
from simonides.problems.scan import ALLOWANCE, Allowance, TooManyPairsError
from simonides.solvers.methods import METHODS
from simonides.solvers.training.lbfgs import PAIRS
from simonides.threads import available_threads, blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simonides.failures import BadArgumentError
    from simonides.memory.facts import Facts
    from simonides.memory.recipe import Recipe
    from simonides.solvers.methods import Method

_COPIES = 7
"""Copies of inputs and of images that a method holds at once.

Measured at 20,000 facts, 100 dimensions and 50 outputs: from 1.5 (hebbian) to 6.4 (feasibility, whitened).
"""

_COPIES_OF_OUTPUTS = 5
"""As given, as scored, whitened, their sizes, and in single precision for the passes over rivals."""

_COPIES_OF_WEIGHTS = 12
"""Beside those that blocks of facts add up to and those that training keeps.

Measured at 300 facts and 1,500 dimensions: from 7 (hebbian) to 12 (margin).
"""

_STREAMED_COPIES = 5
"""Copies of a block, of the sums that it is added to, and of what is made of these."""

_BLOCKS = 2**27
"""What passes over all rivals take at a time where they are few at a time: eight blocks of 16 MiB."""

_TRAINED_ROWS = 128
"""Facts of which a training holds all scores, where outputs are many: 64, in either precision."""

_BYTES_PER_PAIR = 220
"""What a close pair of fact and rival takes while a search steps from one state to another.

Each state holds its close pairs and the active ones among them, in twelve arrays; the next one four more
while it is made. Measured at 2,000 and 3,000 outputs: 177 and 228, blocks included.
"""


def bytes_needed(facts: Facts, method: Method) -> int:
    """Return about how much memory storing takes, facts and close pairs not counted."""
    rows, dim_in = np.shape(facts.inputs)
    candidates, dim_out = facts.outputs.shape
    vectors = _COPIES * rows * (dim_in + dim_out) + _COPIES_OF_OUTPUTS * facts.outputs.size
    # Blocks add up in single and in double precision; searches train too where not all facts fit.
    copies = _COPIES_OF_WEIGHTS + 1.5 * len(blocks(rows)) + (0 if method.streams else 2 * PAIRS)
    vectors += copies * dim_in * dim_out
    # Each thread passes over rivals by itself; the check of a proof holds several arrays of a block.
    held = fact_blocks(rows, candidates)[0].stop + min(rows, _TRAINED_ROWS)
    passes = 8 * candidates * held * available_threads()
    return int(8 * vectors + max(passes, _small_blocks(rows * candidates)))


def _small_blocks(numbers: int) -> int:
    return min(_BLOCKS, 8 * _COPIES * numbers)


def bytes_streamed(facts: Facts) -> int:
    """Return about how much memory reading block by block takes: the memory's own copy of inputs, most."""
    rows, dim_in = np.shape(facts.inputs)
    candidates, dim_out = facts.outputs.shape
    copy = 0 if is_mapped(facts.inputs) else facts.inputs.nbytes
    read = _small_blocks(rows * (dim_in + dim_out + candidates))
    sums = _STREAMED_COPIES * (dim_in * (dim_in + dim_out) + facts.outputs.size)
    return int(copy + read + 8 * sums)


def streams(facts: Facts, recipe: Recipe) -> bool:
    """Return whether the inputs are to be read block by block.

    A rule does so where it can (without whitening) and it helps: the inputs are mapped from a file, or
    what the rule would take otherwise is more than allowed.
    """
    if not recipe.solver.streams or recipe.whiten:
        return False
    return is_mapped(facts.inputs) or (
        recipe.max_memory is not None and bytes_needed(facts, recipe.solver) > recipe.max_memory
    )


def is_mapped(array: object) -> bool:
    """Return whether an array, or what it is a view of, is mapped from a file."""
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap):
            return True
        array = array.base
    return False


@contextmanager
def within(facts: Facts, recipe: Recipe) -> Iterator[Allowance]:
    """Refuse what would take more memory than allowed, before a search begins.

    How many pairs are close shows only then: the first state of a search must have room for them, and
    later ones are looked for only where they have.
    """
    if recipe.max_memory is None:
        yield Allowance()
        return
    streamed = streams(facts, recipe)
    needed = bytes_streamed(facts) if streamed else bytes_needed(facts, recipe.solver)
    if needed > recipe.max_memory:
        raise _refusal(recipe, f"at least {needed} bytes, the most that it may take,")
    allowance = Allowance((recipe.max_memory - needed) / _BYTES_PER_PAIR)
    token = ALLOWANCE.set(allowance)
    try:
        yield allowance
    except TooManyPairsError as error:
        enough = needed + _BYTES_PER_PAIR * len(facts.targets) * len(facts.outputs)
        raise _refusal(recipe, f"larger ({error}; {enough} bytes always do)") from None
    finally:
        ALLOWANCE.reset(token)


def _refusal(recipe: Recipe, condition: str) -> BadArgumentError:
    rules = " or ".join(repr(method.name) for method in METHODS.values() if method.streams)
    return arguments.refuse(
        "max_memory",
        recipe.max_memory,
        f"{condition} for method={recipe.method!r} and these facts",
        f"allow more, or choose {rules} without whiten: only these read the inputs block by block",
    )
