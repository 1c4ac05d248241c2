"""How much memory storing takes, said before it is taken."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from simonides import arguments
from simonides.problems.original import fact_blocks
from simonides.problems.scan import ALLOWANCE, Allowance, TooManyPairsError, row_blocks
from simonides.solvers.methods import METHODS
from simonides.threads import available_threads, blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simonides.failures import BadArgumentError
    from simonides.memory.facts import Facts
    from simonides.memory.recipe import Recipe


@dataclass(frozen=True)
class Copies:
    """What a method holds, in copies of what it works on.

    ``peaks`` are those of all inputs, of all images and of weights, whenever they may be most; ``sums``
    those of a rule that reads block by block; ``squares`` those of a matrix that turns inputs, and of one
    that turns outputs, as whitening does. Measured in fresh processes whose memory was mostly of one
    kind: 300 to 60,000 facts, 20 to 1,200 dimensions, 20 to 100,000 outputs.
    """

    peaks: tuple[tuple[float, float, float], ...]
    outputs: float
    sums: float = 0.0
    squares: float = 0.0


_RULES = {
    "hebbian": Copies(((2, 1.2, 1), (1, 2, 1)), 3, 6),
    "pseudo_inverse": Copies(((4, 0, 5), (2, 2, 5)), 3, 9),
}
_TRAININGS = {
    "cross_entropy": Copies(((4, 4, 12),), 5, squares=3),
    "gradient": Copies(((4, 4, 7),), 5),
}

_SEARCH = Copies(((5, 7.5, 3),), 5, squares=3)
"""One of your own is taken to hold no more."""

_PART = Copies(((4, 4, 14),), 5, squares=3)
"""What it takes to look for a part of the facts: a training, which remembers few steps, and searches."""

_WHITENED = {True: 2, False: 3}
"""Squares that whitening beforehand adds, to methods that hold such already and to those that do not."""

_TRAINED_ROWS = 128
"""Facts of which a training holds all scores, where outputs are many: 64, in either precision."""

_ARRAYS_OF_SCORES = 4
"""The check of a proof holds several arrays of a block."""

_ARRAYS_OF_INPUTS = 4
"""Of a block that is read: as given, below the triangle of those before, and turned to another."""

_BYTES_PER_FACT = 120
"""Digests by which equal inputs are found, beside what reading has left free."""

_BYTES_PER_PAIR = 220
"""What a close pair of fact and rival takes while a search steps from one state to another.

Each state holds its close pairs and the active ones among them, in twelve arrays; the next one four more
while it is made. Measured at 2,000 and 3,000 outputs: 177 and 228, blocks included.
"""


def bytes_needed(facts: Facts, recipe: Recipe) -> int:
    """Return about how much memory storing takes, close pairs not counted."""
    name = recipe.solver.name
    return _bytes(facts, recipe, (_RULES | _TRAININGS).get(name, _SEARCH))


def _bytes(facts: Facts, recipe: Recipe, held: Copies) -> int:
    rows, dim_in = np.shape(facts.inputs)
    candidates, dim_out = facts.outputs.shape
    is_rule = recipe.solver.name in _RULES
    # Blocks of facts add up to weights of their own.
    added = 0 if is_rule else len(blocks(rows))
    numbers = held.outputs * facts.outputs.size + rows * (dim_in + dim_out) * recipe.whiten
    squares = held.squares + _WHITENED[held.squares > 0] * recipe.whiten
    numbers += squares * (dim_in**2 + dim_out**2)
    numbers += max(
        rows * (inputs * dim_in + images * dim_out)
        + (weights + added) * dim_in * max(min(dim_in, rows), dim_out)
        for inputs, images, weights in held.peaks
    )
    # Each thread passes over rivals by itself.
    passes = fact_blocks(rows, candidates)[0].stop * available_threads()
    passes += 0 if is_rule else min(rows, _TRAINED_ROWS)
    checks = _ARRAYS_OF_SCORES * _block(rows, candidates)
    recall = 1.5 * _block(rows, dim_in + dim_out + candidates)
    return int(8 * numbers + max(8 * candidates * passes, checks, recall))


def bytes_streamed(facts: Facts, recipe: Recipe) -> int:
    """Return about how much memory reading block by block takes: the memory's own copy of inputs, most."""
    rows, dim_in = np.shape(facts.inputs)
    candidates, dim_out = facts.outputs.shape
    kept = 0 if is_mapped(facts.inputs) else facts.inputs.nbytes
    if kept and facts.inputs.dtype != np.float64:
        kept += 8 * facts.inputs.size  # looked through for facts that exclude each other
    if facts.classes is None:  # outputs were told apart by a row for each input
        kept += 8 * rows * dim_out
    read = row_blocks(rows, 8 * (dim_in + dim_out), least=min(dim_in, rows))[0].stop * dim_in
    read = _ARRAYS_OF_INPUTS * read + _RULES[recipe.solver.name].sums * dim_in * max(
        dim_in, dim_out
    )
    scored = _block(rows, _ARRAYS_OF_SCORES * (dim_in + dim_out + candidates))
    # What blocks gave back may still be the process's when the copy is made: malloc keeps it, or does not.
    return int(16 * facts.outputs.size + 8 * read + max(kept + _BYTES_PER_FACT * rows, scored))


def _block(rows: int, width: int) -> int:
    """Return the bytes of a block of rows that are so wide."""
    return int(8 * width * row_blocks(rows, 8 * width)[0].stop)


def streams(facts: Facts, recipe: Recipe) -> bool:
    """Return whether the inputs are to be read block by block.

    A rule does so where it can (without whitening) and it helps: the inputs are mapped from a file, or
    what the rule would take otherwise is more, and more than allowed.
    """
    if not recipe.solver.streams or recipe.whiten:
        return False
    if is_mapped(facts.inputs) or recipe.max_memory is None:
        return is_mapped(facts.inputs)
    return bytes_needed(facts, recipe) > max(recipe.max_memory, bytes_streamed(facts, recipe))


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
    needed = (bytes_streamed if streamed else bytes_needed)(facts, recipe)
    if needed > recipe.max_memory:
        raise _refusal(recipe, f"at least {needed} bytes, the most that it may take,")
    trained = max(needed, _bytes(facts, recipe, _PART)) if recipe.solver.strict else needed
    pairs = (recipe.max_memory - needed) / _BYTES_PER_PAIR
    allowance = Allowance(pairs, recipe.max_memory - trained)
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
