"""Facts learnt by training as people train: one run of AdamW, and the largest number that it learns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

LEARNT = 0.99
"""Share of the facts recalled from which on they count as learnt: the last percent takes longest."""

_WARM_UP = 0.05
"""Share of a cycle in which the rate rises, as is common."""

GAIN = 0.1
"""Share of what was not recalled that a cycle must add for a run to count as still improving."""


@dataclass(frozen=True, slots=True)
class Effort:
    """What a run may use.

    ``batch`` facts go into a step; a cycle of the rate visits each fact so often, or takes so many steps
    where these are more; a run that still improves gets so many cycles.
    """

    batch: int = 64
    visits: int = 100
    steps: int = 500
    cycles: int = 3

    def cycle_steps(self, facts: int) -> int:
        """Return the steps of one cycle."""
        return max(self.steps, self.visits * math.ceil(facts / self.batch))


@dataclass(frozen=True, slots=True)
class Material:
    """Facts as a network reads them: what it is given, row by row, and which output is right."""

    given: tuple[torch.Tensor, ...]
    targets: torch.Tensor


@dataclass(frozen=True, slots=True)
class Lesson:
    """What one run came to."""

    facts: int
    recalled: int
    steps: int
    cycles: int

    @property
    def learnt(self) -> bool:
        """Whether as good as all facts are recalled."""
        return self.recalled >= LEARNT * self.facts


def lesson(
    network: torch.nn.Module, material: Material, rate: float, effort: Effort, seed: int
) -> Lesson:
    """Train what is free in a network on facts, and return how many it recalls.

    Cross-entropy, AdamW with PyTorch's own settings, a rate that warms up and then falls to zero. At the
    end of such a cycle the run is over if it learnt the facts, if it has had its cycles, or if the last
    one added next to nothing of what was missing.
    """
    import torch

    targets, facts = material.targets, len(material.targets)
    free = [parameter for parameter in network.parameters() if parameter.requires_grad]
    batches = _batches(facts, effort.batch, seed)
    recalled, steps, cycles = recall(network, material), effort.cycle_steps(facts), 0
    improves = True
    while improves and recalled < LEARNT * facts and cycles < effort.cycles:
        optimiser = torch.optim.AdamW(free, lr=rate, fused=True)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, _course(steps))
        for _ in range(steps):
            rows = next(batches)
            logits = network(*(part[rows] for part in material.given))
            optimiser.zero_grad()
            torch.autograd.backward(torch.nn.functional.cross_entropy(logits, targets[rows]))
            optimiser.step()
            schedule.step()
        before, recalled, cycles = recalled, recall(network, material), cycles + 1
        improves = recalled - before >= GAIN * (facts - before)
    return Lesson(facts, recalled, cycles * steps, cycles)


def _batches(facts: int, batch: int, seed: int) -> Iterator[torch.Tensor]:
    """Yield facts in random order, all of them before any comes again."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    while True:
        yield from torch.split(torch.randperm(facts, generator=generator), batch)


def _course(steps: int) -> Callable[[int], float]:
    """Return the share of the rate at each step: a straight line up, and one down to zero."""
    warm = max(1, round(_WARM_UP * steps))
    return lambda step: min((step + 1) / warm, (steps - step) / max(1, steps - warm))


def recall(network: torch.nn.Module, material: Material, batch: int = 1024) -> int:
    """Return how many facts have the highest logit at the right output."""
    import torch

    right = 0
    with torch.no_grad():
        for rows in torch.split(torch.arange(len(material.targets)), batch):
            logits = network(*(part[rows] for part in material.given))
            right += int((logits.argmax(1) == material.targets[rows]).sum())
    return right


def most_learnt(
    attempt: Callable[[int], Lesson],
    guess: int,
    most: int,
    *,
    least: int = 1,
    step: float = 1.2,
    precision: float = 0.05,
) -> Lesson | None:
    """Return the lesson of the largest number of facts that is learnt, within a precision.

    From a guess upwards or downwards in steps that grow until a number is learnt and a larger one is not;
    then halfway between the two, in ratios. Takes it that who learns a number learns every smaller one.

    Parameters
    ----------
    attempt : callable
        Learns a number of facts anew.
    guess : int
        A number of facts to begin with.
    most : int
        Facts that there are.
    least : int
        Facts below which none count as learnt.
    step : float
        Ratio of the first step.
    precision : float
        The smallest number not learnt exceeds the one returned by no more than this share, or by one.

    Returns
    -------
    Lesson or None
        None if not even the least number is learnt; of ``most`` facts if all are.
    """
    best, unlearnt = None, most + 1
    least = min(least, most)
    facts = min(max(guess, least), most)
    while best is None or unlearnt > max(best.facts + 1, (1 + precision) * best.facts):
        trial = attempt(facts)
        if trial.learnt:
            best = trial
        else:
            unlearnt = facts
        if best is None:
            if facts == least:
                return None
            facts = max(least, min(facts - 1, round(facts / step)))
            step **= 2
        elif unlearnt > most:
            if best.facts == most:
                break
            facts = min(most, max(best.facts + 1, round(best.facts * step)))
            step **= 2
        else:
            facts = round(math.sqrt(best.facts * unlearnt))
            facts = min(max(facts, best.facts + 1), unlearnt - 1)
    return best
