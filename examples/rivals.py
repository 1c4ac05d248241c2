"""What else is done to a layer to store facts: each a change for given settings, and settings to try.

A rival yields its settings and the change they lead to; those that descend yield one after each number of
passes asked for.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from examples.workbench import Above, Bench
from simonides.arrays import Reals
from simonides.editing.spreading import spread

Settings = dict[str, Any]
Changes = Iterator[tuple[Settings, Reals]]

_RANK = 8
"""Of the adapter."""

_ALPHA = 16
"""Twice the rank, as usual."""


_LEARNT = 0.01
"""Mean loss of every batch, at which a descent ends: editors stop there too."""


def memit(bench: Bench, weight: float, ridge: float) -> Changes:
    """Yield least squares of values on keys, text weighed by its second moments and a ridge."""
    valued = bench.valued
    yield (
        {"weight": weight, "ridge": ridge},
        spread(valued.keys, valued.values, _ridged(bench.metric, ridge), weight),
    )


def rome(bench: Bench, ridge: float) -> Changes:
    """Yield what is left after one change of rank one for each fact, one fact after another."""
    valued = bench.valued
    weighed = cho_solve(cho_factor(_ridged(bench.metric, ridge)), valued.keys.T).T
    change = np.zeros((valued.values.shape[1], valued.keys.shape[1]))
    for key, value, own in zip(valued.keys, valued.values, weighed, strict=True):
        change += np.outer(value - change @ key, own / (own @ key))
    yield {"ridge": ridge}, change


def hebbian(bench: Bench, scale: float) -> Changes:
    """Yield the sum of products of value and key: scale 1 gives a fact alone its value."""
    valued = bench.valued
    sizes = np.square(valued.keys).sum(axis=1, keepdims=True)
    yield {"scale": scale}, scale * valued.values.T @ (valued.keys / sizes)


def fine_tuning(bench: Bench, rate: float, bound: float | None, passes: Any) -> Changes:
    """Yield the matrix after so many passes of AdamW; no weight moves by more than the bound.

    The bound is in root mean squares of the weights; there may be none.
    """
    import torch

    before = bench.model.down.weight.detach().clone()
    weight = torch.nn.Parameter(before.clone())
    most = float(before.square().mean().sqrt()) * (0 if bound is None else bound)

    def within() -> None:
        if bound is None:
            return
        with torch.no_grad():
            weight.copy_(torch.clamp(weight, before - most, before + most))

    steps = _descent(bench.above, [weight], lambda: weight - before, rate, passes, within)
    for count, change in steps:
        yield {"rate": rate, "bound": bound, "passes": count}, change


def lora(bench: Bench, rate: float, passes: Any) -> Changes:
    """Yield the product of a PEFT adapter's factors after so many passes of AdamW."""
    import torch
    from peft import LoraConfig, get_peft_model

    layer: Any = torch.nn.Module()
    rows, columns = bench.model.down.weight.shape
    layer.add_module("down_proj", torch.nn.Linear(columns, rows, bias=False))
    torch.manual_seed(0)
    adapted: Any = get_peft_model(
        layer,
        LoraConfig(r=_RANK, lora_alpha=_ALPHA, target_modules=["down_proj"]),
    )
    matrix = adapted.base_model.model.down_proj
    factors = [each for each in adapted.parameters() if each.requires_grad]

    def product() -> Any:
        return matrix.get_delta_weight("default")

    for count, change in _descent(bench.above, factors, product, rate, passes, lambda: None):
        yield {"rate": rate, "passes": count}, change


def _descent(
    above: Above,
    parameters: list[Any],
    change: Callable[[], Any],
    rate: float,
    passes: Any,
    within: Callable[[], None],
) -> Iterator[tuple[int, Reals]]:
    """Yield the change after each number of passes over all wordings, in batches as they are read."""
    import torch

    descent = torch.optim.AdamW(parameters, lr=rate)
    order = np.random.default_rng(0)
    stops = np.atleast_1d(passes).tolist()
    for step in range(1, max(stops) + 1):
        worst = 0.0
        for place in order.permutation(len(above.upper.groups)):
            loss = above.losses(int(place), change())
            worst = max(worst, loss.item())
            descent.zero_grad()
            loss.backward()
            descent.step()
            within()
        learnt = worst < _LEARNT
        if step in stops or learnt:
            # Elsewhere too this many passes are to mean: until all is learnt.
            count = max(stops) if learnt else step
            yield count, change().detach().double().numpy().copy()
        if learnt:
            return


def _ridged(metric: Reals, ridge: float) -> Reals:
    """Return second moments with so much of their mean eigenvalue added to each."""
    return metric + ridge * float(np.trace(metric)) / len(metric) * np.eye(len(metric))


@dataclass(frozen=True)
class Rival:
    """A method, the settings to choose from, and whether it needs values that are found beforehand."""

    changes: Callable[..., Changes]
    grid: tuple[Settings, ...]
    valued: bool


_PASSES = (5, 15, 40)
"""After which a descent is looked at."""

RIVALS = {
    "MEMIT": Rival(
        memit,
        tuple(
            {"weight": weight, "ridge": ridge}
            for ridge in (0.0, 0.1)
            for weight in (1e-3, 1e-2, 0.1, 0.3, 1.0)
        ),
        True,
    ),
    "ROME": Rival(rome, tuple({"ridge": ridge} for ridge in (0.0, 0.1, 1.0)), True),
    "fine-tuning": Rival(
        fine_tuning,
        tuple({"rate": rate, "bound": None, "passes": _PASSES} for rate in (1e-4, 3e-4, 1e-3)),
        False,
    ),
    "fine-tuning, bounded": Rival(
        fine_tuning,
        tuple(
            {"rate": rate, "bound": bound, "passes": _PASSES}
            for bound in (0.01, 0.03, 0.1)
            for rate in (3e-4, 1e-3)
        ),
        False,
    ),
    "LoRA, rank 8": Rival(
        lora,
        tuple({"rate": rate, "passes": _PASSES} for rate in (3e-4, 1e-3, 3e-3)),
        False,
    ),
    "Hebbian": Rival(
        hebbian, tuple({"scale": scale} for scale in (0.03, 0.1, 0.3, 1.0, 3.0)), True
    ),
}
"""What is compared, and the settings that each is tuned over."""
