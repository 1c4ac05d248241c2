"""The paper's protocol in PyTorch, on a CPU or a GPU; needs the ``torch`` extra."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.nn import functional

from simonides import arguments
from simonides.solvers.training.gradient import MEMORY, STABILISER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from simonides.arrays import Reals
    from simonides.problems.problem import Problem
    from simonides.solvers.training.gradient import Schedule


@contextmanager
def maker(
    problem: Problem,
    layers: tuple[Reals, ...],
    schedule: Schedule,
    device: str,
    threads: int | None,
) -> Iterator[Callable[[], TorchTrainer]]:
    """Yield what makes the trainer, with PyTorch held to that many threads meanwhile."""
    before = torch.get_num_threads()
    if threads is not None:
        torch.set_num_threads(
            arguments.whole("threads", threads, remedy="pass the number of threads to use")
        )
    try:
        checked = _checked(device)
        yield lambda: TorchTrainer(problem, layers, schedule, checked)
    finally:
        torch.set_num_threads(before)


class TorchTrainer:
    """Adam, a learning-rate schedule and the cross-entropy, all as PyTorch has them.

    The outputs of a decoupled problem are held at once: facts x candidates x dim_out numbers.
    """

    def __init__(
        self,
        problem: Problem,
        layers: tuple[Reals, ...],
        schedule: Schedule,
        device: torch.device,
    ) -> None:
        options = {"dtype": getattr(torch, schedule.dtype), "device": device}
        self._layers = [torch.tensor(layer, **options).requires_grad_() for layer in layers]
        self._inputs = torch.tensor(problem.inputs, **options)
        if problem.shared_outputs is not None:
            self._outputs = torch.tensor(problem.shared_outputs, **options)
        else:
            self._outputs = torch.tensor(_all_outputs(problem, schedule.dtype), device=device)
        self._targets = torch.tensor(problem.targets, device=device)
        self._optimiser = torch.optim.Adam(
            self._layers, lr=schedule.learning_rate, betas=MEMORY, eps=STABILISER
        )
        self._schedule = torch.optim.lr_scheduler.LambdaLR(self._optimiser, schedule.share)
        self._loss = torch.zeros(())

    def look(self) -> tuple[float, int]:
        """Return loss and number of facts recalled."""
        scores = self._scores()
        self._loss = functional.cross_entropy(scores, self._targets)
        # Several times faster than argmax. Ties count here, but not where recall is confirmed.
        known = scores.detach()
        recalled = known.gather(1, self._targets[:, None])[:, 0] >= known.amax(dim=1)
        return self._loss.item(), int(recalled.sum().item())

    def move(self) -> None:
        """Take one step."""
        self._optimiser.zero_grad()
        torch.autograd.backward(self._loss)
        self._optimiser.step()
        self._schedule.step()

    def layers(self) -> tuple[Reals, ...]:
        """Return the weights, or both layers."""
        return tuple(layer.detach().cpu().numpy().astype(np.float64) for layer in self._layers)

    def _scores(self) -> torch.Tensor:
        images = self._inputs
        for layer in reversed(self._layers[1:]):
            images = images @ layer
        images = images @ self._layers[0].T
        if self._outputs.ndim == 2:
            return images @ self._outputs.T
        return torch.bmm(self._outputs, images.unsqueeze(2)).squeeze(2)


def _all_outputs(problem: Problem, dtype: str) -> np.ndarray:
    outputs = np.empty((problem.facts, problem.candidates, problem.dim_out), dtype=dtype)
    for fact, (_, candidates) in enumerate(problem.contests(problem.facts)):
        outputs[fact] = candidates
    return outputs


def _checked(device: str) -> torch.device:
    try:
        return torch.empty(0, device=device).device
    except (RuntimeError, AssertionError):  # PyTorch raises either, depending on how it was built
        raise arguments.refuse(
            "device", device, "one that PyTorch has here", "pass 'cpu', or 'cuda' with a GPU"
        ) from None
