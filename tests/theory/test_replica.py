"""Volume and overlap of solutions: exact limits, quadrature, and sampled solutions."""

from __future__ import annotations

import dataclasses
import math
from itertools import pairwise

import numpy as np
import pytest
from linear_program import widest
from scipy import integrate, optimize, special, stats

from simonides.theory.replica import (
    EnergeticTerm,
    finite_size_free_entropy,
    free_entropy,
    overlap,
)

DELTA = {2: 0.5, 3: 5 / 6, 5: 1.2950490328, 10: 1.9920893682, 30: 3.2456001417, 100: 4.7933189796}
"""Statistical dimensions of the cone of score vectors whose first is the highest."""


def energy(candidates, samples=1024, seed=0):
    return EnergeticTerm(candidates, np.random.default_rng(seed), samples=samples)


def two_candidates(q):
    """f_2(q): the gap of two Gaussians decides, so one integral over it remains."""
    gain = math.sqrt(q / (1 - q))
    value, _ = integrate.quad(
        lambda x: stats.norm.pdf(x) * special.log_ndtr(gain * x), -14, 14, limit=400, points=[0]
    )
    return value


# Large dimension


@pytest.mark.parametrize("load", [0.0, 0.05, 0.25, 0.4, 0.499])
def test_closed_forms_minimise_the_functional(load):
    def functional(q):
        return 0.5 * math.log(1 - q) + 0.5 * q / (1 - q) - load / (1 - q)

    optimum = optimize.minimize_scalar(
        functional, bounds=(0, 1 - 1e-9), method="bounded", options={"xatol": 1e-10}
    )
    assert overlap(load) == pytest.approx(optimum.x, abs=1e-5)
    assert free_entropy(load) == pytest.approx(optimum.fun, abs=1e-8)


def test_solutions_vanish_at_the_critical_load():
    assert overlap(0) == free_entropy(0) == 0
    assert overlap(0.5 - 1e-12) == pytest.approx(1, abs=1e-11)
    assert free_entropy(0.5 - 1e-12) < -13


# The energetic term


@pytest.mark.parametrize("candidates", [2, 3, 30, 500])
def test_without_overlap_all_candidates_are_alike(candidates):
    term = energy(candidates, samples=64)
    assert term(0).value == pytest.approx(-math.log(candidates), rel=1e-14)
    assert term(0).stderr == pytest.approx(0, abs=1e-14)
    near = term(1e-8)
    assert near.value == pytest.approx(-math.log(candidates), abs=5 * near.stderr + 1e-7)
    assert near.stderr < 1e-4


@pytest.mark.parametrize("candidates", sorted(DELTA))
def test_at_full_overlap_the_distance_from_the_cone_remains(candidates):
    term = energy(candidates, samples=256)
    limits = [(1 - q) * term(q).value for q in (1 - 1e-4, 1 - 1e-6, 1 - 1e-8)]
    errors = np.abs(np.array(limits) + DELTA[candidates] / 2)
    assert np.all(np.diff(errors) < 0)
    assert errors[-1] < 1e-6 * DELTA[candidates]


@pytest.mark.parametrize("q", [0.05, 0.3, 0.5, 0.9, 0.99, 0.9999])
def test_two_candidates_against_quadrature(q):
    estimate = energy(2, samples=2048)(q)
    assert estimate.value == pytest.approx(two_candidates(q), abs=4 * estimate.stderr)
    assert estimate.stderr < 0.02 * abs(estimate.value)


@pytest.mark.parametrize("q", [0.3, 0.8])
def test_five_candidates_against_a_grid(q):
    rng, rows = np.random.default_rng(9), 8000
    gaussian = math.sqrt(q / (1 - q)) * rng.standard_normal((rows, 5))
    u = np.linspace(-9, 13, 221)
    inside = np.ones((rows, u.size))
    for j in range(1, 5):
        inside *= special.ndtr(u + (gaussian[:, :1] - gaussian[:, j : j + 1]))
    logs = np.log(inside @ stats.norm.pdf(u) * (u[1] - u[0]))
    stderr = logs.std(ddof=1) / math.sqrt(rows)
    estimate = energy(5, samples=4096)(q)
    assert estimate.value == pytest.approx(logs.mean(), abs=4 * math.hypot(stderr, estimate.stderr))
    assert math.hypot(stderr, estimate.stderr) < 0.02 * abs(estimate.value)


@pytest.mark.slow
def test_five_candidates_by_counting():
    # nothing but the definition: how often does the first candidate win?
    q, outer, inner = 0.3, 4000, 4000
    rng = np.random.default_rng(10)
    logs = []
    for _ in range(outer):
        scores = math.sqrt(q) * rng.standard_normal(5, dtype=np.float32) + math.sqrt(
            1 - q
        ) * rng.standard_normal((inner, 5), dtype=np.float32)
        share = max(np.mean(scores.argmax(axis=1) == 0), 0.5 / inner)
        # the logarithm of a count is low by half its relative variance
        logs.append(math.log(share) + (1 - share) / (2 * inner * share))
    stderr = np.std(logs, ddof=1) / math.sqrt(outer)
    estimate = energy(5)(q)
    assert estimate.value == pytest.approx(
        np.mean(logs), abs=4 * math.hypot(stderr, estimate.stderr)
    )


@pytest.mark.parametrize("q", [0.5, 0.8])
def test_many_candidates_approach_their_limit_slowly(q):
    ratios = [
        energy(candidates, samples)(q).scaled((1 - q) / math.log(candidates))
        for candidates, samples in ((10, 512), (100, 256), (1000, 96))
    ]
    for fewer, more in pairwise(ratios):
        assert more.value < fewer.value - 2 * math.hypot(fewer.stderr, more.stderr)
    assert -1 < ratios[-1].value < -0.7


@pytest.mark.slow
def test_ten_thousand_candidates_are_closer_still():
    ratios = [
        energy(candidates, samples)(0.5).scaled(0.5 / math.log(candidates))
        for candidates, samples in ((1000, 256), (10_000, 64))
    ]
    assert ratios[1].value < ratios[0].value - 2 * math.hypot(ratios[0].stderr, ratios[1].stderr)
    assert -1 < ratios[1].value < -0.85


def test_the_term_falls_with_the_overlap():
    term = energy(20, samples=256)
    values = [term(q).value for q in (0, 0.1, 0.4, 0.7, 0.9, 0.99)]
    assert np.all(np.diff(values) < 0)


def test_quoted_errors_are_those_of_repetition():
    estimates = [energy(8, samples=128, seed=seed)(0.5) for seed in range(60)]
    spread = np.std([e.value for e in estimates], ddof=1)
    quoted = np.mean([e.stderr for e in estimates])
    # sixty repetitions know their spread to 9%
    assert spread == pytest.approx(quoted, rel=4 * 0.09)


@pytest.mark.slow
def test_quoted_errors_of_the_saddle_point_are_those_of_repetition():
    states = [
        finite_size_free_entropy(30, 100, energy(8, samples=256, seed=seed)) for seed in range(16)
    ]
    for estimates in ([s.overlap for s in states], [s.value for s in states]):
        spread = np.std([e.value for e in estimates], ddof=1)
        quoted = np.mean([e.stderr for e in estimates])
        # 16 repetitions know their spread to 18%
        assert 1 / 1.6 < spread / quoted < 1.6


def test_same_seed_same_function():
    assert energy(7, samples=64)(0.4) == energy(7, samples=64)(0.4)


def test_whole_floats_count_candidates_too():
    assert EnergeticTerm(5.0, np.random.default_rng(0), samples=64)(0.3) == energy(5, 64)(0.3)


# The saddle point at finite size


@pytest.mark.parametrize("ratio", [0.2, 1.0, 1.9])
def test_two_candidates_have_the_volume_of_a_perceptron(ratio):
    def functional(log_gain):
        gain = math.exp(log_gain)
        return (gain - math.log1p(gain)) / 2 + ratio * two_candidates(gain / (1 + gain))

    optimum = optimize.minimize_scalar(functional, bounds=(-8, 8), method="bounded")
    q = 1 / (1 + math.exp(-optimum.x))
    state = finite_size_free_entropy(round(100 * ratio), 100, energy(2, samples=1024))
    assert state.overlap.value == pytest.approx(q, abs=4 * state.overlap.stderr + 1e-4)
    assert state.value.value == pytest.approx(optimum.fun, abs=4 * state.value.stderr)
    assert state.overlap.stderr < 0.1 * q
    assert state.value.stderr < 0.05 * abs(optimum.fun)


def test_overlap_grows_to_one_at_capacity():
    term, parameters = energy(10, samples=128), 1000
    most = math.floor(parameters / DELTA[10])
    states = [
        finite_size_free_entropy(facts, parameters, term)
        for facts in (10, 100, 300, 450, most - 10, most)
    ]
    overlaps = [state.overlap.value for state in states]
    assert np.all(np.diff(overlaps) > 0)
    assert 0 < overlaps[0] < 0.05
    assert 0.99 < overlaps[-1] < 1
    assert np.all(np.diff([state.value.value for state in states]) < 0)
    assert states[-1].value.value < -3


def test_a_few_facts_hardly_narrow_the_choice():
    # to first order each fact takes its share 1/K of the volume
    state = finite_size_free_entropy(1, 10_000, energy(6, samples=256))
    assert state.value.value == pytest.approx(-math.log(6) / 10_000, rel=0.01)
    assert 0 < state.overlap.value < 0.001


def test_facts_and_parameters_count_only_in_ratio():
    term = energy(4, samples=128)
    assert finite_size_free_entropy(10, 50, term) == finite_size_free_entropy(100, 500.0, term)


def test_states_are_frozen():
    state = finite_size_free_entropy(1, 100, energy(3, samples=64))
    with pytest.raises(dataclasses.FrozenInstanceError):
        state.overlap = 0.5


@pytest.mark.parametrize("facts", [51, 60, 10**6])
def test_facts_beyond_capacity_are_refused_with_the_capacity(facts):
    with pytest.raises(ValueError, match=r"below the capacity, 50\.2") as error:
        finite_size_free_entropy(facts, 100, energy(10, samples=64))
    assert str(error.value).startswith(f"facts = {facts} ")
    assert "no solutions" in str(error.value)
    finite_size_free_entropy(50, 100, energy(10, samples=64))


# Solutions, sampled


def decoupled_rows(dim, candidates, facts, rng):
    """Unit normals of the constraints: each must have a positive product with the weights."""
    x = rng.standard_normal((facts, dim))
    y = rng.standard_normal((facts, candidates, dim))
    gaps = y[:, :1] - y[:, 1:]
    rows = np.einsum("ijk,il->ijkl", gaps, x).reshape(facts * (candidates - 1), dim * dim)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def feasible_point(rows):
    weights, margin = widest(rows)
    assert margin > 1e-6
    return weights / weights.std()


def mean_solutions(rows, chains, steps, rng):
    """Mean weights of independent chains that sample the Gaussian law inside the cone.

    Between walls the weights run on ellipses, which keep that law, and at a wall the velocity is
    reflected; each step starts with a new Gaussian velocity and lasts a quarter turn.
    """
    gram = rows @ rows.T
    weights = np.repeat(feasible_point(rows)[None], chains, axis=0)
    total, chain = np.zeros_like(weights), np.arange(chains)
    for step in range(steps):
        velocity = rng.standard_normal(weights.shape)
        margins, rates = weights @ rows.T, velocity @ rows.T
        left = np.full(chains, math.pi / 2)
        while True:
            ratio = rates / margins
            wall = ratio.argmin(axis=1)
            turn = np.arctan(ratio[chain, wall]) + math.pi / 2
            hit = turn < left
            turn = np.minimum(turn, left)
            left = left - turn
            cos, sin = np.cos(turn)[:, None], np.sin(turn)[:, None]
            weights, velocity = cos * weights + sin * velocity, cos * velocity - sin * weights
            margins, rates = cos * margins + sin * rates, cos * rates - sin * margins
            if not hit.any():
                break
            at, walls = chain[hit], wall[hit]
            bounce = 2 * rates[at, walls][:, None]
            velocity[at] -= bounce * rows[walls]
            rates[at] -= bounce * gram[walls]
            margins = np.maximum(margins, 1e-12)
        if step >= steps // 3:
            total += weights
    assert np.min(weights @ rows.T) > -1e-9
    return total / (steps - steps // 3)


@pytest.mark.slow
@pytest.mark.parametrize(("candidates", "facts"), [(20, 25), (2, 100)])
def test_overlap_of_sampled_solutions(candidates, facts):
    dim, rng = 12, np.random.default_rng(31)
    overlaps = []
    for _ in range(12):
        rows = decoupled_rows(dim, candidates, facts, rng)
        means = mean_solutions(rows, chains=12, steps=24, rng=rng)
        # chains are independent: products of different ones estimate the overlap without bias
        products = means @ means.T / dim**2
        overlaps.append(products[~np.eye(12, dtype=bool)].mean())
    stderr = np.std(overlaps, ddof=1) / math.sqrt(len(overlaps))
    theory = finite_size_free_entropy(facts, dim**2, energy(candidates)).overlap
    assert theory.value == pytest.approx(np.mean(overlaps), abs=4 * stderr + 0.02)
    assert stderr < 0.015
