"""Certificates against exact arithmetic: nothing that rounding feigns is ever accepted."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from proofs import assert_rejected, claim_not_storable, claim_storable, storable

from simonides.certificate import Certificate, Claim, verify
from simonides.problems.original import OriginalProblem
from simonides.solvers.deciding.decide import decide

# What floating point cannot hold proves nothing.


def test_weights_that_overflow_prove_nothing():
    # Two outputs are the same, so nothing can be stored.
    outputs = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    problem = OriginalProblem(np.array([[1.0, 1.0], [1.0, -1.0], [2.0, 1.0]]), outputs)
    signs = np.array([[1.0, -1.0], [1.0, 1.0]])
    with np.errstate(all="ignore"):
        outcomes = [
            verify(claim_storable(problem, 1.7e308 * signs * flip), problem)
            for flip in ([[1, 1], [1, 1]], [[1, -1], [1, 1]], [[1, 1], [1, -1]], [[1, -1], [1, -1]])
        ]
    assert not any(outcome.valid for outcome in outcomes)


def test_weights_that_underflow_prove_nothing():
    tiny = 5e-324
    inputs = np.array([[1.0, 0, 0, 0, 0], [0, 0.6, 0.3, 0.3, 0.3]])
    problem = OriginalProblem(inputs, np.array([[1.0], [0.0]]), [0, 0])
    weights = np.array([[1.0, tiny, -tiny, -tiny, -tiny]])
    exact = sum(Fraction(w) * Fraction(x) for w, x in zip(weights[0], inputs[1], strict=True))
    assert exact < 0
    assert not verify(claim_storable(problem, weights), problem).valid


@pytest.mark.parametrize("value", [5e-324, 1e-320, 1e-310])
def test_multipliers_that_underflow_prove_nothing(value):
    problem, proof = storable()
    assert verify(proof, problem).valid
    assert not verify(claim_not_storable(problem, [0], [1], [value]), problem).valid


@pytest.mark.parametrize(
    ("of_inputs", "of_outputs"),
    [
        pytest.param(1e-69, 1.0, id="short-inputs"),
        pytest.param(1.0, 1e-69, id="short-outputs"),
        pytest.param(1e-69, 1e69, id="long-outputs"),
        pytest.param(1e69, 1e-69, id="long-inputs"),
        pytest.param(1e-69, 1e-69, id="both-short"),
        pytest.param(1e69, 1e69, id="both-long"),
    ],
)
def test_extreme_lengths_prove_nothing_wrong(of_inputs, of_outputs):
    # Two facts on orthogonal vectors: the identity stores them.
    problem = OriginalProblem(np.eye(2) * of_inputs, np.eye(2) * of_outputs)
    assert not verify(claim_not_storable(problem, [0], [1], [1.0]), problem).valid


def test_multipliers_that_overflow_prove_nothing():
    problem, _ = storable()
    with np.errstate(all="ignore"):
        for facts, rivals in (([0], [1]), ([0, 0], [1, 2])):
            values = [1.7e308] * len(facts)
            assert not verify(claim_not_storable(problem, facts, rivals, values), problem).valid


def test_a_constraint_that_is_exactly_zero_is_a_proof():
    zero_input = OriginalProblem(np.array([[0.0, 0.0], [1.0, 0.0]]), np.eye(2))
    same_outputs = OriginalProblem(np.eye(2), np.ones((2, 2)))
    for problem in (zero_input, same_outputs):
        outcome = verify(claim_not_storable(problem, [0], [1], [1.0]), problem)
        assert (outcome.valid, outcome.margin_bound) == (True, 0.0)


def test_multipliers_without_dimensions_are_rejected():
    problem, _ = storable()
    assert_rejected(claim_not_storable(problem, 0, 1, 1.0), problem, "differ in number")


# The rounding bound against exact arithmetic.


def rational(weights):
    return [[Fraction(entry) for entry in row] for row in weights.tolist()]


def exact_gaps(problem, weights):
    """Return each pair's lead at weights given as rational numbers."""
    gaps = {}
    for fact in range(problem.facts):
        x = [Fraction(v) for v in problem.inputs[fact].tolist()]
        image = [sum(w * v for w, v in zip(row, x, strict=True)) for row in weights]
        target = problem.target_outputs[fact].tolist()
        numbers, rivals = problem.competitors(fact)
        for number, rival in zip(numbers.tolist(), rivals.tolist(), strict=True):
            gaps[fact, number] = sum(
                (Fraction(t) - Fraction(r)) * i
                for t, r, i in zip(target, rival, image, strict=True)
            )
    return gaps


def hair_thin(rng, lead):
    """A fact whose rivals trail by about ``lead``, of either sign through rounding."""
    weights, x = rng.standard_normal((3, 4)), rng.standard_normal((1, 4))
    target = rng.standard_normal(3)
    image = weights @ x[0]
    rivals = []
    for _ in range(2):
        along = rng.standard_normal(3)
        along -= image * (along @ image) / (image @ image)
        rivals.append(target + along - lead * image / (image @ image))
    return OriginalProblem(x, np.array([target, *rivals]), [0]), weights


def test_leads_of_rounding_size_against_rational_numbers():
    rng = np.random.default_rng(0)
    tally = {"valid": 0, "negative": 0, "unsure": 0}
    for lead in (0.0, 1e-16, 1e-15, 3e-15, 1e-14, 3e-14, 1e-13):
        for _ in range(60):
            problem, weights = hair_thin(rng, lead)
            outcome = verify(claim_storable(problem, weights), problem)
            gaps = exact_gaps(problem, rational(weights))
            smallest = min(gaps.values())
            if outcome.valid:
                tally["valid"] += 1
                assert smallest > 0
                with mpmath.workdps(40):
                    margin = exact_margin(problem, weights, gaps)
                    assert outcome.margin_bound <= margin
            else:
                tally["negative" if smallest <= 0 else "unsure"] += 1
                assert smallest < 1e-12  # what is refused is of the size of rounding
    assert min(tally.values()) > 30, tally


def length(vector):
    return mpmath.sqrt(sum(mpmath.mpf(value) ** 2 for value in np.ravel(vector).tolist()))


def difference_length(one, other):
    pairs = zip(one.tolist(), other.tolist(), strict=True)
    return mpmath.sqrt(sum((mpmath.mpf(a) - mpmath.mpf(b)) ** 2 for a, b in pairs))


def exact_margin(problem, weights, gaps):
    """Return the normalised margin of weights to many digits."""
    margins = []
    for (fact, rival), gap in gaps.items():
        span = difference_length(problem.target_outputs[fact], problem.outputs[rival])
        lead = mpmath.mpf(gap.numerator) / gap.denominator
        margins.append(lead / (span * length(problem.inputs[fact])))
    return min(margins) / length(weights)


def exact_bound(problem, facts, rivals, values):
    """Return what multipliers bound the margin by, to many digits."""
    total = mpmath.zeros(problem.dim_out, problem.dim_in)
    weight = mpmath.mpf(0)
    for fact, rival, value in zip(facts, rivals, values, strict=True):
        x, target = problem.inputs[fact], problem.target_outputs[fact]
        other = problem.outputs[rival]
        for row in range(problem.dim_out):
            step = value * (mpmath.mpf(target[row]) - mpmath.mpf(other[row]))
            for column in range(problem.dim_in):
                total[row, column] += step * mpmath.mpf(x[column])
        weight += value * difference_length(target, other) * length(x)
    squares = sum(entry**2 for entry in total)
    return mpmath.sqrt(squares) / weight


class AloneInBlocks(OriginalProblem):
    """Every fact in a block of its own."""

    def contests(self, facts):
        for fact in range(facts):
            yield slice(fact, fact + 1), self.outputs


def test_a_later_fact_that_only_rounding_puts_ahead_is_refused():
    rng, refused = np.random.default_rng(0), 0
    while refused < 20:
        w, x = rng.standard_normal((2, 3))
        x[2] = -(w[0] * x[0] + w[1] * x[1]) / w[2]
        exact = sum(Fraction(a) * Fraction(b) for a, b in zip(w, x, strict=True))
        if not (float(w @ x) > 0 >= exact):
            continue
        weights = np.array([[*w, 1e-30]])  # the first fact's lead, far below the second's rounding
        inputs = np.array([[0.0, 0.0, 0.0, 1.0], [*x, 0.0]])
        problem = AloneInBlocks(inputs, np.array([[1.0], [0.0]]), np.array([0, 0]))
        assert_rejected(claim_storable(problem, weights), problem, "fact 1 ")
        refused += 1


def test_the_bound_of_multipliers_against_many_digits():
    rng = np.random.default_rng(1)
    with mpmath.workdps(50):
        for trial in range(40):
            x, y = rng.standard_normal((3, 3)), rng.standard_normal((3, 2))
            if trial % 2:  # opposite facts whose sum cancels up to rounding
                x[1] = x[0] * (1 + 1e-15 * rng.integers(-3, 4))
            problem = OriginalProblem(x, y)
            facts, rivals = [0, 1, 2, 2], [1, 0, 0, 1]
            values = np.array([1.0, 1.0, 0.0, 0.0]) if trial % 2 else rng.exponential(size=4)
            outcome = verify(claim_not_storable(problem, facts, rivals, values), problem)
            exact = exact_bound(problem, facts, rivals, [mpmath.mpf(value) for value in values])
            assert outcome.margin_bound >= exact
            assert outcome.margin_bound <= exact * (1 + 1e-9) + 1e-13
            assert outcome.valid == bool(trial % 2)


# Attacks: numbers of very different sizes, where squares underflow and scaling is not exact.


def rational_product(left, right):
    """The product left right^T of two matrices of floats, exactly."""
    return [
        [sum(a * b for a, b in zip(row, other, strict=True)) for other in rational(right)]
        for row in rational(left)
    ]


def assert_true_if_accepted(problem, certificate, weights):
    """See that what a verification accepts of rational weights is true; return whether it accepts."""
    outcome = verify(certificate, problem)
    gaps = exact_gaps(problem, weights)
    if outcome.valid:
        assert min(gaps.values()) > 0
        with mpmath.workdps(60):
            squares = sum(entry**2 for row in weights for entry in row)
            norm = mpmath.sqrt(mpmath.mpf(squares.numerator) / squares.denominator)
            margin = exact_margin(problem, np.ones(1), gaps) / norm
            assert outcome.margin_bound <= margin
    return outcome.valid


@pytest.mark.parametrize("size", [1.0, 1e-100, 1e-160, 1e-170, 1e-200, 1e-300])
def test_leads_of_tiny_weights_beside_large_ones(size):
    # The large entry meets a zero input; what decides are rounding errors of tiny ones.
    rng = np.random.default_rng(0)
    valid = 0
    for _ in range(300):
        x = np.concatenate(([0.0], rng.standard_normal(3)))
        tail = rng.standard_normal(3)
        tail[2] = -(tail[0] * x[1] + tail[1] * x[2]) / x[3] * (1 + rng.choice([0, 1e-15, 1e-13]))
        weights = np.concatenate(([1.0], size * tail))[None]
        problem = OriginalProblem(x[None], [[1.0], [0.0]], [0])
        valid += assert_true_if_accepted(
            problem, claim_storable(problem, weights), rational(weights)
        )
    assert size < 1e-250 or valid > 0


@pytest.mark.parametrize("size", [1.0, 1e-100, 1e-170, 1e-200])
def test_leads_of_factors_of_very_different_sizes(size):
    rng, valid = np.random.default_rng(1), 0
    for _ in range(200):
        x, y = rng.standard_normal((1, 2)), rng.standard_normal((2, 2))
        left = rng.standard_normal((2, 2)) * [1.0, size]
        right = rng.standard_normal((2, 2)) * [size, 1.0]
        problem = OriginalProblem(x, y, [0])
        proof = Certificate(Claim.STORABLE, problem.fingerprint(), left=left, right=right)
        valid += assert_true_if_accepted(problem, proof, rational_product(left, right))
    assert 60 < valid < 140  # random signs: half of them store the fact


def test_scaling_that_rounds_tiny_weights_proves_nothing():
    # Scaled by the large entry's exponent the others become 1, 1 and 1 units of the smallest number.
    tiny, length_of = 2.0**-73, 1e69
    weights = np.array([[2.0**1000, 0.6 * tiny, 0.6 * tiny, 1.3 * tiny]])
    inputs = length_of * np.array([[0.0, 1.0, 1.0, -1.0]])
    problem = OriginalProblem(inputs, [[length_of], [0.0]], [0])
    assert not assert_true_if_accepted(problem, claim_storable(problem, weights), rational(weights))
    stacked = Certificate(
        Claim.STORABLE, problem.fingerprint(), left=np.ones((1, 1)), right=weights.T.copy()
    )
    assert not assert_true_if_accepted(problem, stacked, rational(weights))


def test_outputs_that_differ_by_less_than_a_square_can_hold():
    # The difference (0, 1e-200) is not zero: weights that see it store the fact with margin one.
    problem = OriginalProblem([[1.0]], [[1.0, 1e-200], [1.0, 0.0]], [0])
    assert not verify(claim_not_storable(problem, [0], [1], [1.0]), problem).valid
    assert str(decide(problem).verdict) != "not-storable"


@pytest.mark.parametrize("exponent", [0, 3, 8, 30, 66])
def test_bounds_hold_whatever_the_lengths(exponent):
    rng = np.random.default_rng(exponent)
    with mpmath.workdps(60):
        for trial in range(25):
            x, y = rng.standard_normal((3, 2)), rng.standard_normal((3, 2))
            if trial % 3 == 0:
                x[1] = x[0] * (1 + 1e-15 * rng.integers(-3, 4))
            if trial % 3 == 1:
                y[1] = y[0] * (1 + 1e-13 * rng.standard_normal(2))
            x *= 10 ** rng.uniform(-exponent, exponent, (3, 1)) / 10
            y *= 10.0 ** rng.uniform(-exponent, exponent) / 10
            problem = OriginalProblem(x, y)
            facts, rivals = [0, 1, 2, 2], [1, 0, 0, 1]
            values = 10 ** rng.uniform(-exponent, exponent, 4)
            outcome = verify(claim_not_storable(problem, facts, rivals, values), problem)
            exact = exact_bound(problem, facts, rivals, [mpmath.mpf(value) for value in values])
            assert outcome.margin_bound >= exact
            weights = rng.standard_normal((2, 2))
            assert_true_if_accepted(problem, claim_storable(problem, weights), rational(weights))


def test_near_ties_of_whole_numbers_are_told_apart_or_refused():
    # Large whole numbers whose products cancel to one: exact arithmetic knows the sign.
    rng = np.random.default_rng(5)
    outcomes = {True: 0, False: 0}
    for _ in range(300):
        a, b = (int(rng.integers(2**25, 2**27)) for _ in range(2))
        sign = int(rng.choice([-1, 1]))
        x = np.array([[float(a), float(b), 1.0]])
        weights = np.array([[float(b), -float(a), sign * float(rng.choice([1, 2**8]))]])
        problem = OriginalProblem(x, [[1.0], [0.0]], [0])
        outcomes[
            assert_true_if_accepted(problem, claim_storable(problem, weights), rational(weights))
        ] += 1
    assert outcomes[False] > 100


@pytest.mark.parametrize("exponent", [0, 20, 40, 60])
def test_coordinates_of_outputs_in_units_of_any_size(exponent):
    # Lengths would drown the small coordinate in the rounding of the large; here it decides alone.
    rng, unit, accepted = np.random.default_rng(0), 2.0**exponent, 0
    for lead in (1e-15, 1e-14, 1e-13, 1e-12):
        for _ in range(20):
            problem, weights = hair_thin(rng, lead)
            units = np.array([unit, 1.0, 1 / unit])
            stretched = OriginalProblem(problem.inputs, problem.outputs * units, problem.targets)
            squeezed = weights / units[:, None]
            accepted += assert_true_if_accepted(
                stretched, claim_storable(stretched, squeezed), rational(squeezed)
            )
    assert accepted > 25
