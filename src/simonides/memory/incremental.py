"""Facts that come and go: what a memory has learned is where the next search starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simonides import arguments
from simonides.memory.facts import Facts, numbers_of
from simonides.problems import checked

if TYPE_CHECKING:
    from simonides.arrays import Reals


def with_added(
    facts: Facts, inputs: Reals, y: object, targets: object, *, normalize: bool = False
) -> Facts:
    """Return facts with further ones; outputs that are new get the next numbers.

    ``y`` holds the target embedding of each new input; or ``targets`` the number of an output that is
    there. New outputs that score as another does are refused.
    """
    if (y is None) == (targets is None):
        raise arguments.refuse(
            "targets", targets, "given, or y, but not both", "pass one of the two"
        )
    outputs, names = facts.outputs, [f"outputs_[{place}]" for place in range(len(facts.outputs))]
    if y is None:
        numbers = checked.indices("targets", targets, size=len(inputs), below=len(outputs))
    else:
        known = checked.matrix("y", y, columns=outputs.shape[1])
        if len(known) != len(inputs):
            raise arguments.refuse(
                "y.shape", known.shape, f"with {len(inputs)} rows", "one per row of X"
            )
        new = np.flatnonzero(numbers_of(known, outputs) < 0)
        if len(new):
            first = np.unique(numbers_of(known[new], known[new]), return_index=True)[1]
            new = new[np.sort(first)]
            outputs = np.concatenate((outputs, known[new]))
            names += [f"y[{row}]" for row in new]
        numbers = numbers_of(known, outputs)
    both = np.concatenate((facts.inputs, inputs)), np.concatenate((facts.targets, numbers))
    found = Facts(both[0], outputs, both[1])
    found.refuse_twins(normalize, names.__getitem__, "make the two rows equal")
    return found


def without(facts: Facts, indices: object) -> tuple[Facts, Reals]:
    """Return the facts but those at ``indices``, and the inputs of these; outputs keep their numbers."""
    array = np.atleast_1d(checked.array_of("indices", indices))
    if array.ndim != 1:
        raise arguments.refuse(
            "indices.shape", array.shape, "one-dimensional", "pass row numbers of facts"
        )
    gone = checked.indices(
        "indices", array, size=array.size, below=len(facts.targets), numbered="a fact"
    )
    kept = np.ones(len(facts.targets), dtype=bool)
    kept[gone] = False
    if not kept.any():
        raise arguments.refuse("indices", f"all {kept.size} facts", "fewer", "keep one at least")
    return facts.where(kept), np.asarray(facts.inputs[np.unique(gone)], dtype=np.float64)


def cleared(weights: Reals, forgotten: Reals) -> Reals | None:
    """Return the weights that map the forgotten inputs to zero and change as little as that takes.

    Starting from weights that still recall them would end at once with these very weights, and nothing
    would be forgotten. None if the forgotten inputs span all directions, so that nothing is left.
    """
    _, sizes, directions = np.linalg.svd(forgotten, full_matrices=False)
    spanned = directions[
        sizes > sizes.max(initial=0.0) * max(forgotten.shape) * np.finfo(float).eps
    ]
    if len(spanned) == weights.shape[1]:
        return None
    return np.asarray(weights - (weights @ spanned.T) @ spanned)
