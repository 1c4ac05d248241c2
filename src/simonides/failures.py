"""The two ways in which a call can fail on purpose."""

from __future__ import annotations


class BadArgumentError(ValueError):
    """What was passed in cannot be answered; the message says what can."""

    argument = ""
    """What was refused, by its name."""


class ConvergenceError(RuntimeError):
    """An iteration did not reach its tolerance; the message says where and what to try."""
