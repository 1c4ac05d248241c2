"""Trainability diagrams: the class of a network over any two hyper-parameters."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from simonides import arguments
from simonides.arrays import Integers, Reals
from simonides.signal.maps.architecture import Architecture, check_architecture
from simonides.signal.maps.forward import Gains
from simonides.signal.notes import PoorTheoryWarning
from simonides.signal.outcome import OUTCOMES, ClassThresholds, Outcome
from simonides.signal.propagation import Method, Ways, follow

_KINDS = {field.name: str(field.type).removesuffix(" | None") for field in fields(Architecture)}

CONTINUOUS = (*(name for name, kind in _KINDS.items() if kind == "float"), "skip")
"""Axes along which all points are computed at once; ``skip`` is both skips together."""

_TOGETHER = 10_000
"""Points of all layers at once: some hundred megabytes, and enough that starting costs nothing."""

WHOLE = tuple(name for name, kind in _KINDS.items() if kind == "int")
"""Axes along which points are computed one value at a time."""


@dataclass(frozen=True)
class Axis:
    """A hyper-parameter and the values it takes.

    Parameters
    ----------
    name : str
        A numeric field of ``Architecture``, or ``skip``: both skips together.
    values : tuple of float
        At least one.

    Raises
    ------
    BadArgumentError
        If there is no such hyper-parameter, or no value.

    Examples
    --------
    >>> Axis.of("beta", range(3)).values
    (0.0, 1.0, 2.0)
    """

    name: str
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        arguments.one_of("axis", self.name, (*CONTINUOUS, *WHOLE))
        if len(self.values) < 1:
            raise arguments.refuse("values", self.values, "at least one", "pass the axis's values")

    @classmethod
    def of(cls, name: str, values: Iterable[float]) -> Axis:
        """Return an axis from any sequence of values."""
        return cls(name, tuple(float(value) for value in values))


@dataclass(frozen=True)
class Diagram:
    """Networks over two axes: arrays have one row for each y and one column for each x.

    Attributes
    ----------
    architecture : Architecture
    x_axis, y_axis : Axis
    outcome : array of int
        Positions in ``OUTCOMES``; ``names`` has them in words.
    cosine : array
        After the last layer.
    least_entropy, participation : array
        The smallest entropy over log T, the largest participation.
    gradient : array
        Squared gradient at the first layer over that at the last.
    frozen_layer : array of int
        The first layer (from 1) whose beta exceeds its critical value, 0 for none.
    notes : tuple of str
        Where the theory is known to be poor.
    """

    architecture: Architecture
    x_axis: Axis
    y_axis: Axis
    outcome: Integers
    cosine: Reals
    least_entropy: Reals
    participation: Reals
    gradient: Reals
    frozen_layer: Integers
    notes: tuple[str, ...]

    def names(self) -> list[list[Outcome]]:
        """Return the classes by name, row by row."""
        return [[OUTCOMES[code] for code in row] for row in self.outcome]


def trainability_diagram(
    architecture: Architecture,
    x_axis: Axis | tuple[str, Iterable[float]],
    y_axis: Axis | tuple[str, Iterable[float]],
    *,
    method: Method = "table",
    finite_width: bool = False,
    thresholds: ClassThresholds | None = None,
    time_limit: float | None = None,
) -> Diagram:
    """Class an architecture at every pair of values of two hyper-parameters.

    Parameters
    ----------
    architecture : Architecture
        All that the axes do not vary.
    x_axis, y_axis : Axis or tuple
        A name and its values.
    method : {"table", "exact", "asymptotic"}
        As in ``propagate``. Each number of tokens needs its table, which takes seconds the first time.
    finite_width, thresholds
        As in ``propagate``.
    time_limit : float, optional
        Seconds after which no further rows are begun; the diagram is then of those that are done.

    Returns
    -------
    Diagram

    Raises
    ------
    BadArgumentError
        If both axes vary the same, or a value is one that no network can have.

    Warns
    -----
    PoorTheoryWarning
        Where the theory is known to be poor.

    Examples
    --------
    >>> from simonides.signal import Architecture
    >>> network = Architecture(tokens=16, dim=64, layers=6)
    >>> diagram = trainability_diagram(
    ...     network, ("beta", [0.5, 3.0]), ("skip", [1.0, 3.0]), method="exact"
    ... )
    >>> print(*diagram.names()[1], sep=", ")
    trainable, entropy collapse
    """
    check_architecture(architecture)
    x_axis, y_axis = _axis("x_axis", x_axis), _axis("y_axis", y_axis)
    if set(_fields(x_axis.name)) & set(_fields(y_axis.name)):
        raise arguments.refuse(
            "y_axis", y_axis.name, f"another than x_axis, {x_axis.name}", "vary two things"
        )
    varied: dict[str, Any] = {}
    for axis, shape in ((x_axis, (1, -1)), (y_axis, (-1, 1))):
        for value in axis.values:
            changes: dict[str, Any] = dict.fromkeys(_fields(axis.name), value)
            replace(architecture, **changes)  # refuses what no network can have
        if axis.name in CONTINUOUS:
            values = np.array(axis.values, dtype=float).reshape(shape)
            varied |= dict.fromkeys(_fields(axis.name), values)
    deadline = arguments.deadline(time_limit)
    columns: dict[str, Any] = {}
    notes: dict[str, None] = {}
    ends: list[str] = []
    for rows, y_change in _parts(y_axis, max(1, _TOGETHER // len(x_axis.values))):
        # Arrays have a row for all rows, or one for each.
        here = {name: array[rows] if len(array) > 1 else array for name, array in varied.items()}
        for places, x_change in _parts(x_axis, len(x_axis.values)):
            network = replace(architecture, **x_change, **y_change)
            if "output_variance" in varied and network.output_variance is None:
                network = replace(network, output_variance=1.0)
            ways = follow(network, Gains.of(network, here), method, finite_width, thresholds)
            notes |= dict.fromkeys(ways.notes)
            for name, points in _points(ways).items():
                whole = np.empty((len(y_axis.values), len(x_axis.values)), points.dtype)
                columns.setdefault(name, whole)[rows, places] = points
        if time.monotonic() >= deadline and rows.stop < len(y_axis.values):
            ends = [f"Out of time: these are {rows.stop:,} of {len(y_axis.values):,} rows."]
            y_axis = replace(y_axis, values=y_axis.values[: rows.stop])
            columns = {name: whole[: rows.stop] for name, whole in columns.items()}
            break
    for note in notes:
        warnings.warn(note, PoorTheoryWarning, stacklevel=2)
    return Diagram(architecture, x_axis, y_axis, **columns, notes=(*ends, *notes))


def _points(ways: Ways) -> dict[str, Any]:
    """Return every quantity of the diagram."""
    frozen = ways.frozen
    shares = np.array([layer.attention.participation for layer in ways.layers])
    return {
        "outcome": ways.outcome,
        "cosine": 1 - ways.layers[-1].relative,
        "least_entropy": ways.least_entropy,
        "participation": np.max(shares, axis=0),
        "gradient": ways.gradients.tokens[0],
        "frozen_layer": np.where(frozen.any(axis=0), frozen.argmax(axis=0) + 1, 0),
    }


def _axis(argument: str, axis: Any) -> Axis:
    if isinstance(axis, Axis):
        return axis
    if not isinstance(axis, tuple | list) or len(axis) != 2 or not isinstance(axis[1], Iterable):
        raise arguments.refuse(
            argument, axis, "a name and values", 'pass, say, ("beta", [0.5, 1, 2])'
        )
    return Axis.of(*axis)


def _parts(axis: Axis, together: int) -> list[tuple[slice, dict[str, Any]]]:
    """Return the parts of an axis that are computed at once, and what an architecture has there."""
    size = len(axis.values)
    if axis.name in CONTINUOUS:
        return [(slice(k, min(k + together, size)), {}) for k in range(0, size, together)]
    return [(slice(k, k + 1), {axis.name: value}) for k, value in enumerate(axis.values)]


def _fields(name: str) -> tuple[str, ...]:
    """Return the fields of an architecture that an axis varies."""
    return ("attention_skip", "mlp_skip") if name == "skip" else (name,)
