"""Scores of some facts at a time: each target's apart from those of its rivals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from simonides.arrays import Integers


@dataclass(frozen=True, eq=False)
class ScoreBlock:
    """The facts ``rows`` of a problem: scores of their targets, and of their rivals.

    ``own`` has shape (rows,), ``rivals`` (rows, columns). Where the target has a column too its score
    there is minus infinity, below every rival's.
    """

    rows: slice
    own: Any
    rivals: Any


def struck_out(scores: Any, targets: Integers, below: float = -np.inf) -> Any:
    """Return the score of each row's target, and write ``below`` in its place.

    >>> scores = np.array([[3.0, 1.0], [2.0, 5.0]])
    >>> struck_out(scores, np.array([0, 1])), scores
    (array([3., 5.]), array([[-inf,   1.],
           [  2., -inf]]))
    """
    place = np.arange(len(scores)), targets
    own = scores[place]
    scores[place] = below
    return own
