r"""A change that stores facts in the middle of a model, made better by what the model itself answers.

Least squares give every key its value and know nothing of what the model would take instead. So the change
goes on from there by the slope of the answers' losses, in coordinates :math:`\Delta C^{1/2}` in which
every direction disturbs text alike: what facts ask for together is then found at little cost to text.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from simonides.interrupts import Keyboard

if TYPE_CHECKING:
    from collections.abc import Callable

    from simonides.arrays import Reals
    from simonides.editing.upper_layers import UpperLayers

_PASSES = 8
"""Over all wordings: of three hundred three passes left some unrecalled, and eight none."""

_RATE = 0.05
"""Of the mean size of the change's coordinates; with three times as much fewer others were recalled."""

_MEMORIES = (0.9, 0.99)
"""Of slopes and their squares: passes are few, and each has few steps."""


@dataclass(frozen=True, eq=False)
class Descent:
    """A change, and whether there was time for all of it."""

    change: Reals
    interrupted: bool
    timed_out: bool


def descended(
    upper: UpperLayers,
    counted: Any,
    change: Reals,
    metric: Reals,
    deadline: float,
    watch: Callable[[int, float], None],
) -> Descent:
    """Return a change that the answers follow better than the one given.

    ``counted`` says of every wording whether it counts; ``watch`` is called with each pass and the share of
    these whose every token is more likely than all others together. At the deadline of the clock
    ``time.monotonic`` it is the change by then, and so when interrupted.
    """
    import torch

    root = np.asarray(cholesky(metric, lower=True))
    inputs = torch.from_numpy(solve_triangular(root, upper.keys.T, lower=True).T).float()
    counted = torch.as_tensor(counted)
    weights = torch.from_numpy(change @ root).float().requires_grad_()
    descent = torch.optim.Adam(
        [weights], lr=_RATE * float(weights.detach().abs().mean()), betas=_MEMORIES
    )
    groups = [group for group in upper.groups if bool(counted[group.rows].any())]
    slower = torch.optim.lr_scheduler.CosineAnnealingLR(descent, _PASSES * len(groups))
    order, late = np.random.default_rng(0), False
    with Keyboard() as keyboard, torch.enable_grad():
        for step in range(_PASSES):
            likely = 0
            for place in order.permutation(len(groups)):
                late = time.monotonic() >= deadline
                if late:
                    break
                group = groups[place]
                losses = upper.losses(group, inputs[group.rows] @ weights.T)[counted[group.rows]]
                descent.zero_grad()
                losses.sum().backward()
                descent.step()
                slower.step()
                likely += int((losses.detach() < np.log(2)).all(dim=1).sum())
            if late:
                break
            watch(step + 1, likely / int(counted.sum()))
    moved = weights.detach().double().numpy()
    back = solve_triangular(root, moved.T, lower=True, trans="T").T
    return Descent(np.asarray(back), keyboard.interrupted, late)
