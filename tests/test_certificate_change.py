"""Certificates of a change against rational arithmetic, and forged ones."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from simonides import (
    BadArgumentError,
    ChangeCertificate,
    OriginalProblem,
    least_change,
    verify_change,
)


def case(seed, *, weighed=True):
    draws = np.random.default_rng(seed)
    problem = OriginalProblem.gaussian(6, 4, 4, candidates=4, seed=seed)
    sample = draws.standard_normal((4, 8))
    metric = sample @ sample.T if weighed else None
    offsets = draws.standard_normal((6, 4))
    solution = least_change(problem, offsets, metric, draws.uniform(0.1, 0.5, 6))
    return problem, solution.change_certificate


def exact(array):
    return [[Fraction(float(value)) for value in row] for row in np.atleast_2d(array)]


def product(left, right):
    return [
        [
            sum(a * b for a, b in zip(row, column, strict=True))
            for column in zip(*right, strict=True)
        ]
        for row in left
    ]


def transposed(matrix):
    return [list(column) for column in zip(*matrix, strict=True)]


def solved(matrix, right):
    """Solve a system of equations by elimination, exactly."""
    rows = [[*row, *values] for row, values in zip(matrix, right, strict=True)]
    for pivot in range(len(rows)):
        rows[pivot] = [value / rows[pivot][pivot] for value in rows[pivot]]
        for other in range(len(rows)):
            if other != pivot:
                factor = rows[other][pivot]
                rows[other] = [
                    a - factor * b for a, b in zip(rows[other], rows[pivot], strict=True)
                ]
    return [row[len(rows) :] for row in rows]


def gaps(problem, certificate):
    images = product(exact(problem.inputs), transposed(exact(certificate.weights)))
    images = [
        [a + b for a, b in zip(*rows, strict=True)]
        for rows in zip(images, exact(certificate.offsets), strict=True)
    ]
    scores = product(images, transposed(exact(problem.outputs)))
    return [
        row[own] - max(score for rival, score in enumerate(row) if rival != own)
        for row, own in zip(scores, problem.targets, strict=True)
    ]


def squared_bounds(problem, certificate):
    """Return the square of the change's length, and of the bound but for the spans, which are roots."""
    metric = np.eye(4) if certificate.metric is None else certificate.metric
    weights, outputs = exact(certificate.weights), exact(problem.outputs)
    length = sum(
        a * b
        for rows in zip(product(weights, exact(metric)), weights, strict=True)
        for a, b in zip(*rows, strict=True)
    )
    total = [[Fraction(0)] * 4 for _ in range(4)]
    asked = Fraction(0)
    inputs, offsets = exact(problem.inputs), exact(certificate.offsets)
    for fact, rival, value in zip(
        certificate.pair_facts, certificate.pair_rivals, certificate.multipliers, strict=True
    ):
        difference = [
            a - b for a, b in zip(outputs[problem.targets[fact]], outputs[rival], strict=True)
        ]
        share = Fraction(float(value))
        square = float(sum(d * d for d in difference))
        span = Fraction(float(np.sqrt(square))) * (1 + Fraction(1, 10**14))
        lead = sum(d * b for d, b in zip(difference, offsets[fact], strict=True))
        asked += share * (Fraction(float(certificate.margins[fact])) * span - lead)
        for row, d in enumerate(difference):
            for column, x in enumerate(inputs[fact]):
                total[row][column] += share * d * x
    inverse = product(total, solved(exact(metric), transposed(total)))
    return length, asked**2 / sum(inverse[row][row] for row in range(4))


@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_bounds_hold_in_rational_arithmetic(seed, weighed):
    problem, certificate = case(seed, weighed=weighed)
    draws = np.random.default_rng(100 + seed)
    forged = [certificate] + [
        replace(
            certificate,
            weights=certificate.weights * draws.uniform(0.5, 1.5, certificate.weights.shape),
            multipliers=certificate.multipliers * draws.uniform(0, 2, len(certificate.multipliers)),
        )
        for _ in range(5)
    ]
    for change in forged:
        proved = verify_change(change, problem)
        length, bound = squared_bounds(problem, change)
        assert Fraction(proved.change_upper) ** 2 >= length
        assert Fraction(proved.change_lower) ** 2 <= bound
        if proved.valid:
            assert min(gaps(problem, change)) > 0
    assert verify_change(certificate, problem).valid
    assert proved.change_lower > 0.5 * float(bound) ** 0.5 or float(bound) < 1e-6


def pair(fact, rival, value):
    return {
        "pair_facts": np.array([fact]),
        "pair_rivals": np.array([rival]),
        "multipliers": np.array([value]),
    }


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"fingerprint": "another"}, "another problem"),
        ({"weights": np.zeros((2, 2))}, "weights"),
        ({"weights": np.full((4, 4), np.nan)}, "weights"),
        ({"weights": np.zeros((4, 4))}, "not recalled"),
        ({"margins": np.zeros(6)}, "margins"),
        ({"metric": np.triu(np.ones((4, 4)))}, "symmetric"),
        (pair(0, 0, -1.0), "non-negative"),
        (pair(7, 0, 1.0), "fact that does not"),
        (pair(0, 9, 1.0), "rival that does not"),
    ],
)
def test_forged_certificates_are_not_accepted(changed, words):
    problem, certificate = case(0)
    proved = verify_change(replace(certificate, **changed), problem)
    assert not proved.valid
    assert words in proved.reason


def test_a_metric_that_is_not_positive_proves_nothing():
    problem, certificate = case(0)
    flat = np.diag([1.0, 1.0, 1.0, 0.0])
    assert verify_change(replace(certificate, metric=flat), problem).change_lower == 0


def test_a_certificate_goes_through_a_file(tmp_path):
    for weighed in (False, True):
        problem, certificate = case(1, weighed=weighed)
        path = certificate.save(tmp_path / "change.npz")
        assert verify_change(ChangeCertificate.load(path), problem) == verify_change(
            certificate, problem
        )
    path.write_bytes(b"nothing")
    with pytest.raises(BadArgumentError, match="certificate"):
        ChangeCertificate.load(path)
