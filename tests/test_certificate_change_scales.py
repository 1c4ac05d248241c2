"""Certificates of a change at every scale of numbers, against rational arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

import numpy as np
import pytest

from simonides import ChangeCertificate, verify_change

FACTS, DIM_IN, DIM_OUT, CANDIDATES = 3, 3, 2, 4


@dataclass(frozen=True, eq=False)
class Bare:
    """Vectors of any size, which no problem would take."""

    inputs: np.ndarray
    outputs: np.ndarray
    targets: np.ndarray

    facts, candidates = FACTS, CANDIDATES

    @property
    def target_outputs(self):
        return self.outputs[self.targets]

    def fingerprint(self):
        return "bare"

    def contests(self, facts):
        yield slice(0, facts), self.outputs


def rational(array):
    return np.vectorize(Fraction, otypes=[object])(np.asarray(array, dtype=float))


def root_bounds(square):
    """Return a root rounded down and up, to some sixty digits of the square."""
    if square == 0:
        return Fraction(0), Fraction(0)
    size = square.numerator.bit_length() - square.denominator.bit_length()
    shift = 400 - 2 * (size // 2)  # even
    low = isqrt(int(square * Fraction(2) ** shift))
    unit = Fraction(2) ** (shift // 2)
    return low / unit, (low + 1) / unit


def solved(matrix, right):
    """Solve by elimination, exactly; the matrix is positive definite."""
    rows = np.concatenate((matrix, right), axis=1)
    for pivot in range(len(rows)):
        rows[pivot] = rows[pivot] / rows[pivot, pivot]
        for other in range(len(rows)):
            if other != pivot:
                rows[other] = rows[other] - rows[other, pivot] * rows[pivot]
    return rows[:, len(rows) :]


@dataclass(frozen=True)
class Truth:
    """What a certificate may claim: lengths as squares, the bound with roots rounded up."""

    square: Fraction
    asked: Fraction
    sum_square: Fraction
    gaps: list[Fraction]
    shares: list[Fraction]

    @classmethod
    def of(cls, certificate, problem):
        inputs, outputs = rational(problem.inputs), rational(problem.outputs)
        weights, offsets = rational(certificate.weights), rational(certificate.offsets)
        metric = rational(np.eye(DIM_IN) if certificate.metric is None else certificate.metric)
        margins = rational(certificate.margins)
        asked, total = Fraction(0), rational(np.zeros((DIM_OUT, DIM_IN)))
        pairs = (certificate.pair_facts, certificate.pair_rivals, rational(certificate.multipliers))
        for fact, rival, value in zip(*pairs, strict=True):
            difference = outputs[problem.targets[fact]] - outputs[rival]
            span = root_bounds(difference @ difference)[1]
            asked += value * (margins[fact] * span - difference @ offsets[fact])
            total = total + value * np.outer(difference, inputs[fact])
        gaps, shares = [], []
        for fact, own in enumerate(problem.targets):
            image = weights @ inputs[fact] + offsets[fact]
            for rival in range(CANDIDATES):
                if rival != own:
                    difference = outputs[own] - outputs[rival]
                    gaps.append(difference @ image)
                    span = root_bounds(difference @ difference)[1]
                    shares.append(gaps[-1] / (span * margins[fact]) if span else Fraction(0))
        square = np.trace(weights @ metric @ weights.T)
        return cls(square, asked, np.trace(total @ solved(metric, total.T)), gaps, shares)

    def allows(self, proved):
        """Return whether all that was proved is true."""
        if proved.change_upper < np.inf and Fraction(proved.change_upper) ** 2 < self.square:
            return False
        if proved.change_lower > 0 and self.asked <= 0:
            return False
        bounded = self.sum_square > 0 and proved.change_lower < np.inf
        if bounded and Fraction(proved.change_lower) ** 2 * self.sum_square > self.asked**2:
            return False
        if self.sum_square > 0 and proved.change_lower == np.inf:
            return False
        return not proved.valid or (
            min(self.gaps) > 0 and min(self.shares) >= Fraction(proved.margin)
        )


def scale(draws, most):
    return 10.0 ** draws.uniform(-most, most)


def uneven(draws, shape, most):
    """Numbers of a common scale, in some cases with rows, columns or entries of another."""
    kind = draws.integers(4)
    sizes = [np.ones(shape), np.ones(shape), np.ones((shape[0], 1)), np.ones((1, shape[1]))]
    spread = 10.0 ** draws.uniform(-most / 2, most / 2, sizes[kind].shape) if kind else 1.0
    return draws.standard_normal(shape) * spread * scale(draws, most / 2)


def drawn(seed):
    """A certificate at random; now and then its change is made to store the facts."""
    draws = np.random.default_rng(seed)
    most = draws.choice([2, 20, 150, 200])
    inputs, outputs = (
        uneven(draws, (FACTS, DIM_IN), most),
        uneven(draws, (CANDIDATES, DIM_OUT), most),
    )
    if draws.random() < 0.3:  # a rival that nearly agrees with a target
        outputs[-1] = outputs[0] * (1 + 2.0 ** -draws.integers(1, 53))
    targets = draws.integers(CANDIDATES, size=FACTS)
    problem = Bare(inputs, outputs, targets)
    offsets = uneven(draws, (FACTS, DIM_OUT), most)
    weights = uneven(draws, (DIM_OUT, DIM_IN), most)
    with np.errstate(all="ignore"):
        lengths = np.sqrt(np.square(outputs / np.abs(outputs).max()).sum(axis=1, keepdims=True))
        if draws.random() < 0.5:  # the longest output scores highest along itself
            longest = int(lengths.argmax())
            targets[:] = longest
            offsets[:] = outputs[longest] / np.abs(outputs).max() * scale(draws, most)
            weights *= draws.choice([0.0, 1e-300, 1e-30, 1.0])
    sample = draws.standard_normal((DIM_IN, 2 * DIM_IN))
    metric = None if draws.random() < 0.4 else sample @ sample.T * scale(draws, most)
    count = draws.integers(1, 8)
    facts = draws.integers(FACTS, size=count)
    rivals = (targets[facts] + draws.integers(1, CANDIDATES, size=count)) % CANDIDATES
    multipliers = np.abs(uneven(draws, (count, 1), most))[:, 0]
    margins = np.abs(uneven(draws, (FACTS, 1), most))[:, 0]
    arrays = (weights, offsets, margins, facts, rivals, multipliers, metric)
    return ChangeCertificate("bare", *arrays), problem


def finite(certificate, problem):
    arrays = (*vars(certificate).values(), problem.inputs, problem.outputs)
    numbers = [array for array in arrays if isinstance(array, np.ndarray)]
    usable = certificate.margins.min() > 0 and certificate.multipliers.max() > 0
    return usable and all(np.isfinite(array).all() for array in numbers)


def tally(seeds):
    """Return how many certificates were true, valid, and proved a bound that is close."""
    counts = np.zeros(4, dtype=int)
    for seed in seeds:
        certificate, problem = drawn(seed)
        if not finite(certificate, problem):
            continue
        proved, truth = verify_change(certificate, problem), Truth.of(certificate, problem)
        tight = proved.change_lower > 0 and (
            Fraction(proved.change_lower) ** 2 * truth.sum_square
            > truth.asked**2 * Fraction(99, 100)
        )
        counts += [1, truth.allows(proved), proved.valid, tight]
    return counts


def test_nothing_false_is_proved_at_any_scale():
    whole, right, valid, tight = tally(range(400))
    assert whole > 200
    assert right == whole
    # It is not that nothing is proved.
    assert valid > 20
    assert tight > 50


@pytest.mark.slow
def test_nothing_false_is_proved_at_any_scale_in_many_cases():
    whole, right, _, _ = tally(range(400, 8000))
    assert right == whole
