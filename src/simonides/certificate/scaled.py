"""An instance in units in which its vectors are of about unit size, so that products stay in range.

Factors are powers of two: no digit is lost but below the smallest number, which is what
:data:`~simonides.certificate.rounding.UNDERFLOW` allows for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simonides.arrays import Integers, Reals
    from simonides.certificate.recomputed import Instance

_NEAR = 16
"""Powers of two from one up to which numbers are left as they are: what underflows allows for as much."""


def exponent(*arrays: Reals) -> int:
    """Return the power of two that brings the largest entry to about one: none if it is near, or zero."""
    power = int(np.frexp(max(_largest(array) for array in arrays))[1])
    return power if abs(power) > _NEAR else 0


def _largest(array: Reals) -> float:
    """Return the size of the largest entry, without a copy of them all."""
    return max(float(array.max(initial=0.0)), -float(array.min(initial=0.0)))


def scaled(array: Reals, power: int) -> Reals:
    """Return an array divided by a power of two, itself where that is one."""
    return array if power == 0 else np.asarray(np.ldexp(array, -power))


def raised(value: float, power: int) -> float:
    """Return a number not below ``value`` times a power of two."""
    return float(np.nextafter(np.ldexp(value, power), np.inf)) if value > 0 else value


def lowered(value: float, power: int) -> float:
    """Return a finite number not above ``value``, which is not negative, times a power of two."""
    product = min(float(np.ldexp(value, power)), float(np.finfo(float).max))
    return float(np.nextafter(product, 0.0))


@dataclass(frozen=True, eq=False)
class ScaledInstance:
    """An instance whose inputs and outputs are divided by powers of two, which changes no recall."""

    instance: Instance

    @property
    def facts(self) -> int:
        """Number of facts."""
        return self.instance.facts

    @property
    def candidates(self) -> int:
        """Number of candidates of each fact."""
        return self.instance.candidates

    @property
    def targets(self) -> Integers:
        """Number of each fact's right output among its candidates."""
        return np.asarray(self.instance.targets)

    def fingerprint(self) -> str:
        """Return the digest of the instance as it was given."""
        return self.instance.fingerprint()

    @cached_property
    def of_inputs(self) -> int:
        """The power of two that inputs were divided by."""
        return exponent(np.asarray(self.instance.inputs))

    @cached_property
    def inputs(self) -> Reals:
        """Inputs, one row per fact."""
        return scaled(np.asarray(self.instance.inputs), self.of_inputs)

    @cached_property
    def target_outputs(self) -> Reals:
        """Right outputs, one row per fact."""
        return scaled(np.asarray(self.instance.target_outputs), self._of_outputs)

    @cached_property
    def _of_outputs(self) -> int:
        before, largest = None, 0.0
        for _, outputs in self.instance.contests(self.facts):
            if outputs is not before or outputs.flags.writeable:
                before, largest = outputs, max(largest, _largest(outputs))
        return exponent(np.array([largest]))

    def contests(self, facts: int) -> Iterator[tuple[slice, Reals]]:
        """Yield the first facts, those together that share their candidates, and these' vectors."""
        before: Any = None
        shrunk = np.empty(0)
        for rows, outputs in self.instance.contests(facts):
            if outputs is not before or outputs.flags.writeable:
                before, shrunk = outputs, scaled(outputs, self._of_outputs)
                if shrunk is not outputs:
                    shrunk.flags.writeable = outputs.flags.writeable
            yield rows, shrunk
