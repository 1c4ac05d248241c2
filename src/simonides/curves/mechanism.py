"""Curves of how it is stored: scores, spectra, overlap, the Hebbian rule and trained memories."""

from __future__ import annotations

import math

import numpy as np

from simonides.curves.table import Table, stacked
from simonides.theory import hebbian as rule
from simonides.theory import replica
from simonides.theory.capacity import capacity
from simonides.theory.initial_spectrum import InitialLaw
from simonides.theory.risk import minimum_of_risk
from simonides.theory.scores import RivalScoreLaw, TargetScoreLaw
from simonides.theory.setting import Setting, facts_at_load
from simonides.theory.setting import load as load_of
from simonides.theory.spectrum import CapacityLaw

RANK_FRACTIONS = (0.1, 0.25, 0.5, 1.0)
_OVERLAP_SAMPLES = 192
_TRAINED_SAMPLES = 256
_SEED = 12


def scores(dim: int) -> Table:
    """Return the laws of target and off-target scores at capacity, and of the Hebbian rule's."""
    facts = capacity(dim).facts
    target, rival = TargetScoreLaw(facts), RivalScoreLaw(facts)
    signal = rule.signal(Setting(dim, dim), facts)
    x = np.linspace(-4.5, max(6.0, signal + 4), 420)
    columns = {
        "score": x,
        "target": target.pdf(x),
        "rival": rival.pdf(x),
        "hebbian_target": rule.target_score_law(Setting(dim, dim), facts).pdf(x),
        "hebbian_rival": rule.rival_score_law().pdf(x),
    }
    settings = {
        "dimension": float(dim),
        "facts": facts,
        "extreme_value": math.sqrt(2 * math.log(facts)),
        "target_mean": target.mean,
        "target_deviation": math.sqrt(target.variance),
    }
    return Table("scores", f"Scores at capacity, dimension {dim}", columns, settings)


def spectrum(_dim: int) -> Table:
    """Return singular values at capacity and at initialisation, over the largest."""
    rows = []
    for fraction in RANK_FRACTIONS:
        final, initial = CapacityLaw(fraction), InitialLaw(fraction)
        top = initial.support[1]
        x = np.linspace(0.0, 1.0, 301)
        for value, trained, fresh in zip(x, final.pdf(x), top * initial.pdf(top * x), strict=True):
            rows.append(
                {
                    "rank_fraction": fraction,
                    "singular_value": float(value),
                    "at_capacity": float(trained),
                    "at_initialisation": float(fresh),
                }
            )
    return stacked("spectrum", "Singular values over the largest", rows)


def overlap(dim: int) -> Table:
    """Return overlap and free entropy of solutions at finite size, against facts over capacity."""
    full = capacity(dim, problem="decoupled").facts
    rows = []
    for share in (0.1, 0.25, 0.4, 0.55, 0.7, 0.8, 0.9, 0.97):
        facts = max(2, int(share * full))
        energy = replica.EnergeticTerm(facts, np.random.default_rng(_SEED), _OVERLAP_SAMPLES)
        found = replica.finite_size_free_entropy(facts, dim**2, energy)
        asymptotic_load = 0.5 * share
        rows.append(
            {
                "facts": float(facts),
                "share_of_capacity": facts / full,
                "overlap": found.overlap.value,
                "overlap_stderr": found.overlap.stderr,
                "free_entropy": found.value.value,
                "free_entropy_stderr": found.value.stderr,
                "overlap_limit": replica.overlap(asymptotic_load),
                "free_entropy_limit": replica.free_entropy(asymptotic_load),
            }
        )
    return stacked("overlap", f"Overlap of solutions at dimension {dim}", rows, dimension=dim)


def hebbian(dim: int) -> Table:
    """Return the Hebbian rule's accuracy and its chance to recall everything, against the load."""
    rows = []
    for size in (dim, 10 * dim, 100 * dim):
        setting = Setting(size, size)
        for load in np.concatenate((np.linspace(0.02, 0.3, 29), np.linspace(0.32, 1.2, 23))):
            facts = facts_at_load(float(load), size)
            rows.append(
                {
                    "dimension": float(size),
                    "load": float(load),
                    "facts": facts,
                    "accuracy": rule.recall_probability(setting, facts),
                    "all_recalled": rule.all_recalled_probability(setting, facts),
                    "rate": rule.rate(float(load)),
                }
            )
    limits = {"limit_all": rule.LOAD_ALL, "limit_fraction": rule.LOAD_FRACTION}
    return stacked("hebbian", "The Hebbian rule", rows, **limits)


def trained(dim: int) -> Table:
    """Return accuracy, loss and norm of the cross-entropy's minimum below and above capacity."""
    rows = []
    for size in (dim, 2 * dim):
        full = capacity(size, problem="decoupled").facts
        for share in (0.8, 0.9, 0.99, 1.01, 1.03, 1.06, 1.1, 1.2, 1.35, 1.6, 2.0):
            facts = round(share * full)
            state = minimum_of_risk(
                facts, size**2, rng=np.random.default_rng(_SEED), samples=_TRAINED_SAMPLES
            )
            rows.append(
                {
                    "dimension": float(size),
                    "facts": float(facts),
                    "load": load_of(facts, size),
                    "share_of_capacity": facts / full,
                    "accuracy": state.accuracy.value,
                    "accuracy_stderr": state.accuracy.stderr,
                    "loss": state.loss.value,
                    "loss_stderr": state.loss.stderr,
                    "norm": state.norm.value,
                    "norm_stderr": state.norm.stderr,
                }
            )
    return stacked("trained", "Cross-entropy trained to its minimum", rows)
