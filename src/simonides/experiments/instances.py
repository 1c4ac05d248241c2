"""The facts of a task, drawn once for all tasks of an instance that a process measures in a row.

Drawing the outputs of a decoupled instance can take as long as training on them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simonides.experiments.task import Task
    from simonides.problems.problem import Problem

_last: dict[tuple[object, ...], Problem] = {}
"""The instance drawn last, with the most facts asked for."""


def drawn(task: Task, facts: int) -> Problem:
    """Return the first facts of a task's instance: the same numbers, whatever was drawn before."""
    name = task.problem, task.dim, task.problem_seed, task.candidates, task.ensemble
    whole = _last.get(name)
    if whole is None or whole.facts < facts:
        whole = task.draw(facts)
        # A cluster's worker may have threads, each with an instance of its own: none is read back.
        _last.clear()
        _last[name] = whole
    return whole if whole.facts == facts else whole.prefix(facts)
