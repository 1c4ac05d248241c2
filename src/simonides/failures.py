"""The two ways in which a call can fail on purpose."""

from __future__ import annotations


class BadArgumentError(ValueError):
    """What was passed in cannot be answered; the message says what can.

    Examples
    --------
    >>> from simonides import capacity
    >>> try:
    ...     capacity(0)
    ... except BadArgumentError as error:
    ...     print(error.argument)
    dim_in
    """

    argument = ""
    """What was refused, by its name."""


class ConvergenceError(RuntimeError):
    """An iteration did not reach its tolerance; the message says where and what to try.

    Examples
    --------
    >>> import numpy as np
    >>> from simonides import OriginalProblem
    >>> from simonides.experiments.score_laws import score_laws
    >>> try:
    ...     score_laws(OriginalProblem.gaussian(5, 3, seed=0), np.zeros((3, 3)))
    ... except ConvergenceError as error:
    ...     print(error)
    weights of norm 0 have no scores: take smaller steps
    """
