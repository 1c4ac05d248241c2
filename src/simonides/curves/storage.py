"""Curves of what fits: price, capacity, rank, margin and listwise retrieval."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from simonides.curves.table import Table, stacked
from simonides.theory.capacity import capacity, capacity_of
from simonides.theory.cone import statistical_dimension
from simonides.theory.hebbian import LOAD_ALL
from simonides.theory.requirements import largest_margin
from simonides.theory.setting import Setting
from simonides.theory.spectrum import critical_load
from simonides.theory.tail import TailCone, tail_statistical_dimension

_MARGINS = (0.0, 1.0, 2.0)
_DIMENSIONS = (25, 50, 100, 200, 400, 1024, 4096, 16384, 65536, 262144, 1_000_000)
_TAIL_SAMPLES = 512
_SEED = 11


def price(_dim: int) -> Table:
    """Return what a fact costs against the number of candidates, at several margins."""
    rows = [
        {
            "candidates": float(k),
            "margin": margin,
            "price": statistical_dimension(k, margin),
            "leading_order": Setting(1, 1, margin=margin).asymptotic_price(k),
        }
        for margin in _MARGINS
        for k in np.round(np.logspace(np.log10(2), 12, 45))
    ]
    return stacked("price", "What one fact costs, in parameters", rows)


def load(_dim: int) -> Table:
    """Return the load at capacity against the dimension: best memory and Hebbian rule."""
    rows = []
    for dim in _DIMENSIONS:
        answer = capacity(dim)
        rows.append(
            {
                "dimension": float(dim),
                "facts": answer.facts,
                "load": answer.load,
                "facts_asymptotic": answer.facts_asymptotic,
                "facts_hebbian": answer.facts_hebbian,
                "load_hebbian": answer.setting.load(answer.facts_hebbian),
                "facts_hebbian_fraction": answer.facts_hebbian_fraction,
                "load_hebbian_fraction": answer.setting.load(answer.facts_hebbian_fraction),
                "bits_per_parameter": answer.bits_per_parameter,
            }
        )
    return stacked("load", "Load at capacity", rows, limit=critical_load(), limit_hebbian=LOAD_ALL)


def around(setting: Setting) -> Table:
    """Return the capacity curve around a setting: both dimensions scaled together."""
    rows = []
    for factor in np.logspace(-1, 1, 17):
        dim_in = max(2, round(setting.dim_in * factor))
        dim_out = max(2, round(setting.dim_out * factor))
        rank = None if setting.rank is None else min(setting.rank, dim_in, dim_out)
        answer = capacity_of(replace(setting, dim_in=dim_in, dim_out=dim_out, rank=rank))
        rows.append(
            {
                "parameters": float(dim_in * dim_out),
                "dim_in": float(dim_in),
                "dim_out": float(dim_out),
                "facts": answer.facts,
                "facts_asymptotic": answer.facts_asymptotic,
                "facts_hebbian": answer.facts_hebbian,
                "facts_hebbian_fraction": answer.facts_hebbian_fraction,
            }
        )
    asked = capacity_of(setting)
    return stacked(
        "around",
        "Capacity around the asked size",
        rows,
        asked_parameters=float(setting.entries),
        asked_facts=asked.facts,
        dim_in=float(setting.dim_in),
        dim_out=float(setting.dim_out),
    )


def rank(dim: int) -> Table:
    """Return capacity against the rank bound, finite size and in the limit."""
    ranks = sorted({max(1, round(dim * fraction)) for fraction in np.linspace(0.01, 1, 40)})
    rows = []
    for bound in ranks:
        answer = capacity(dim, rank=bound)
        rows.append(
            {
                "rank": float(bound),
                "rank_fraction": bound / dim,
                "facts": answer.facts,
                "load": answer.load,
                "critical_load": critical_load(bound / dim),
                "facts_per_parameter": answer.facts / answer.parameters,
                "bits_per_parameter": answer.bits_per_parameter,
            }
        )
    return stacked("rank", f"Rank-bounded capacity at dimension {dim}", rows, dimension=dim)


def margin(dim: int) -> Table:
    """Return the largest margin against the number of facts over capacity."""
    full = capacity(dim).facts
    rows = []
    for share in (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99):
        facts = max(2, int(share * full))
        rows.append(
            {
                "facts": float(facts),
                "share_of_capacity": facts / full,
                "margin": largest_margin(Setting(dim, dim), facts),
            }
        )
    return stacked("margin", f"Largest margin at dimension {dim}", rows, dimension=dim)


def tail(_dim: int) -> Table:
    """Return the price of a fact that must beat the mean of its top rivals."""
    rng = np.random.default_rng(_SEED)
    rows = []
    for candidates in (100, 1000):
        for fraction in np.logspace(-np.log10(candidates), 0, 13):
            sampled = TailCone(candidates, min(float(fraction), 1.0)).statistical_dimension(
                rng, _TAIL_SAMPLES
            )
            rows.append(
                {
                    "candidates": float(candidates),
                    "tail_fraction": min(float(fraction), 1.0),
                    "price": sampled.value,
                    "price_stderr": sampled.stderr,
                    "price_many_candidates": tail_statistical_dimension(min(float(fraction), 1.0)),
                    "price_top_score": statistical_dimension(candidates),
                }
            )
    return stacked("tail", "Listwise retrieval: the price without a logarithm", rows)
