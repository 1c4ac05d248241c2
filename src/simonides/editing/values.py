r"""The shift of the stream at a subject's last token after which the model itself gives the answer.

For every subject one shift serves all that is asked of it. Adam descends the answers' losses from no shift
at all, until every token of every answer is likely.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simonides.interrupts import Keyboard

if TYPE_CHECKING:
    from collections.abc import Callable

    from simonides.arrays import Reals
    from simonides.editing.upper_layers import UpperLayers

_RATE = 0.1
"""Length of a step over the stream's: ten lead across it."""

_STEPS = 40
"""After which nearly all answers at a layer that can be told anything are likely; others never will be."""

_LIKELY = 0.05
"""Loss of a token whose probability is 95%: far enough for the next rounding not to matter."""


@dataclass(frozen=True, eq=False)
class Values:
    """Shifts of the stream, shape (subjects, size), and which subjects' answers all follow by them."""

    shifts: Reals
    reached: Any
    interrupted: bool = False
    timed_out: bool = False


def best_values(
    upper: UpperLayers,
    subjects: Any,
    count: int,
    deadline: float,
    watch: Callable[[int, int], None],
) -> Values:
    """Return for every subject the shift that makes all its answers likely.

    ``subjects`` is the number of each wording's subject, ``count`` how many there are; ``watch`` is called
    with each step and the number of subjects that are reached. At the deadline of the clock
    ``time.monotonic``, or when interrupted, the shifts are those by then.
    """
    import torch

    owners = torch.as_tensor(subjects)
    size = upper.groups[0].streams.shape[-1]
    shifts = torch.zeros(count, size)
    reached = torch.zeros(count, dtype=torch.bool)
    descent = torch.optim.Adam([shifts], lr=_RATE * upper.size / size**0.5)
    step, late = 0, time.monotonic() >= deadline
    with Keyboard() as keyboard:
        while step < _STEPS and not late and not bool(reached.all()):
            before = shifts.clone()
            shifts.grad, worst = _slopes(upper, owners, shifts, reached)
            reached |= worst < _LIKELY
            descent.step()
            shifts[reached] = before[reached]
            step += 1
            watch(step, int(reached.sum()))
            late = time.monotonic() >= deadline
    return Values(
        shifts.double().numpy(), reached.numpy(), keyboard.interrupted,
        late and not bool(reached.all()),
    )  # fmt: skip


def _slopes(upper: UpperLayers, owners: Any, shifts: Any, reached: Any) -> tuple[Any, Any]:
    """Return the gradient of the answers' losses and each subject's worst loss, of those not reached."""
    import torch

    worst, slopes = torch.zeros(len(shifts)), torch.zeros_like(shifts)
    for group in upper.groups:
        own = owners[group.rows]
        if bool(reached[own].all()):
            continue
        with torch.enable_grad():
            moved = shifts[own].requires_grad_()
            losses = upper.losses(group, moved)
            losses.sum().backward()
        slopes.index_add_(0, own, moved.grad)
        worst.scatter_reduce_(0, own, losses.detach().amax(1), "amax")
    return slopes, worst
