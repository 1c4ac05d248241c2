r"""How many facts fit in a matrix.

Each fact costs its statistical dimension and is paid from the effective parameters, so

.. math:: p\, \delta_K(c) = N(m)

at capacity, with :math:`K = p` when every stored output competes. This is the replica formula of
the decoupled problem near capacity (eqs. 7, 8 at :math:`q \to 1`), at finite size and with nothing
to fit; the load :math:`p \log p / d^2 = \log p / \delta_p` tends to 1/2 as slowly as
:math:`1/\log p`, which is the convergence seen in Fig. C.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from simonides.estimate import Estimate
from simonides.failures import ConvergenceError
from simonides.theory.cone import MOST_CANDIDATES
from simonides.theory.hebbian import hebbian_capacity
from simonides.theory.notes import caveats
from simonides.theory.setting import ProblemKind, Setting
from simonides.theory.uneven import evenness
from simonides.theory.vertices import most_targets, placed_facts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_SHARES = 12
"""Numbers of targets that are looked at alone, among at most 1e15: fewer bind no tighter, only by less."""

_TAIL_ITERATIONS, _TAIL_TOLERANCE = 20, 1e-9
"""Of log p. At most seven were needed at dimensions 5 to 1000 and fractions 0.001 to 0.5."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """How many facts a memory holds, and what the number rests on.

    Attributes
    ----------
    setting : Setting
        What was asked.
    facts, facts_stderr : float
        The answer at finite size and its standard error, zero unless something was sampled.
    load : float
        p log K / (d_in d_out) at these facts; 1/2 in the limit of Claim 1.
    statistical_dimension, effective_parameters : float
        The price of a fact, and what all are paid from.
    parameters : int
        Free parameters of the matrix.
    facts_asymptotic : float
        The leading order at large dimension; in the paper's setting that of eq. (9).
    facts_hebbian, facts_hebbian_fraction : float
        What the Hebbian rule stores: all facts with probability one half (Theorem D.1 in the limit), or 99%
        of them on average (eq. D.5).
    bits_per_parameter : float
        p log2 K over the free parameters.
    notes : tuple of str
        Where theory is off at this size, which way and by how much, and what it takes for granted.

    Examples
    --------
    >>> answer = capacity(100)
    >>> print(f"{answer.facts:.0f} facts at load {answer.load:.3f}")
    1192 facts at load 0.844
    >>> print(f"in the limit {answer.facts_asymptotic:.0f}, by the Hebbian rule {answer.facts_hebbian:.0f}")
    in the limit 755, by the Hebbian rule 138
    """

    setting: Setting
    facts: float
    facts_stderr: float
    load: float
    statistical_dimension: float
    effective_parameters: float
    parameters: int
    facts_asymptotic: float
    facts_hebbian: float
    facts_hebbian_fraction: float
    bits_per_parameter: float
    notes: tuple[str, ...] = ()

    @property
    def candidates(self) -> float:
        """Outputs that compete for each input at capacity."""
        return self.facts if self.setting.candidates is None else self.setting.candidates


def capacity(
    dim_in: int,
    dim_out: int | None = None,
    *,
    candidates: int | None = None,
    rank: int | None = None,
    margin: float = 0.0,
    tail_fraction: float | None = None,
    problem: ProblemKind = "original",
    target_counts: Sequence[int] | None = None,
) -> Capacity:
    r"""Return how many facts a matrix can store.

    The largest p for which some W has :math:`y_i^T W x_i > y_j^T W x_i` for every fact i and rival j
    (eq. 1), for generic (Gaussian) embeddings and equally frequent targets: :math:`p\, \delta_K(c) = N(m)`,
    Claims 1 and 2 (eqs. 7 to 9) at finite size. Exact for the decoupled problem (eq. 2) as the dimension
    grows; with a rank bound an upper bound there, for large dimensions. Never more than outputs that can be
    targets allow (:mod:`simonides.theory.vertices`).

    Parameters
    ----------
    dim_in, dim_out : int
        Dimensions of inputs and outputs; `dim_out` defaults to `dim_in`.
    candidates : int, optional
        Outputs that compete for each input. Default: as many as facts.
    rank : int, optional
        Rank bound of the matrix. Default: none.
    margin : float
        By how much the target must win, in off-target standard deviations.
    tail_fraction : float, optional
        Beat the mean of this fraction of the strongest rivals. Default: beat each.
    problem : {"original", "decoupled"}
        Whether all inputs share their outputs or each has its own.
    target_counts : sequence of int, optional
        How often each output is a target, zeros for those that only compete. Default: equally often.
        The facts on the k most frequent targets are a problem with k candidates; if a share :math:`w_k` of
        the facts is on them, all facts are at most :math:`\min_k \mathrm{capacity}(k)/w_k`.

    Returns
    -------
    Capacity
        `facts`, `load`, and what they rest on.

    Raises
    ------
    ValueError
        Naming the argument that no :class:`Setting` takes.

    Examples
    --------
    >>> print(f"{capacity(100).facts:.1f}")
    1192.0
    >>> print(f"{capacity(4096, rank=16).facts:.0f}")
    19813
    >>> print(f"{capacity(20, target_counts=[70, 20, 10]).facts:.1f}")  # on two of them at most 2 d_in
    44.2
    """
    dim_out = dim_in if dim_out is None else dim_out
    return capacity_of(
        Setting(dim_in, dim_out, candidates, rank, margin, tail_fraction, problem, target_counts)
    )


def capacity_of(setting: Setting) -> Capacity:
    """Return the capacity of a setting."""
    budget = setting.effective_parameters()
    facts = facts_of(setting)
    competing = setting.competing(facts.value)
    asymptotic = _asymptotic_facts(setting)
    answer = Capacity(
        setting=setting,
        facts=facts.value,
        facts_stderr=facts.stderr,
        load=setting.load(facts.value),
        statistical_dimension=setting.price(competing).value,
        effective_parameters=budget.value,
        parameters=setting.parameters,
        facts_asymptotic=min(asymptotic, most_targets(setting, asymptotic)),
        facts_hebbian=hebbian_capacity(setting, "all"),
        facts_hebbian_fraction=hebbian_capacity(setting, "fraction"),
        bits_per_parameter=setting.bits_per_parameter(facts.value),
    )
    return replace(answer, notes=caveats(answer))


def facts_of(setting: Setting) -> Estimate:
    """Return how many facts fit: what can be paid for, what targets allow, and the least of both."""
    if setting.is_uneven:
        return min(_shares(setting), key=lambda facts: facts.value)
    budget = setting.effective_parameters()
    paid = _paid_facts(setting, budget.value)
    price = setting.price(setting.competing(paid))
    stderr = paid * math.hypot(budget.stderr / budget.value, price.stderr / price.value)
    most = most_targets(setting, paid)
    if paid > most:
        return Estimate(most)
    return max(
        Estimate(paid, stderr), Estimate(placed_facts(setting)), key=lambda facts: facts.value
    )


def holds(setting: Setting, facts: float) -> bool:
    """Whether theory lets that many facts fit."""
    paid = setting.effective_parameters().value >= needed_parameters(setting, facts).value
    return facts <= placed_facts(setting) or (paid and facts <= most_targets(setting, facts))


def needed_parameters(setting: Setting, facts: float) -> Estimate:
    """Return the effective parameters that a number of facts costs in all."""
    return setting.price(setting.competing(facts)).scaled(facts)


def _shares(setting: Setting) -> Iterator[Estimate]:
    """Yield what fits in all where only the facts on the k most frequent targets are looked at.

    Outputs no more than their dimension and one are told apart freely: there it matters, too, how uneven
    these k are among themselves.
    """
    assert setting.candidates is not None  # uneven counts come with them
    counts = sorted(setting.target_counts or (), reverse=True)
    counts += [0] * (setting.candidates - len(counts))
    sizes = np.geomspace(2, setting.candidates, _SHARES).round().astype(int)
    for size in np.unique(sizes):
        few = replace(setting, candidates=int(size), target_counts=None)
        facts = facts_of(few).scaled(sum(counts) / sum(counts[:size]))
        free = size <= setting.dim_out + 1
        share = evenness(tuple(counts[:size])) if free else Estimate(1.0)
        stderr = math.hypot(facts.stderr * share.value, facts.value * share.stderr)
        yield Estimate(facts.value * share.value, stderr)


def _paid_facts(setting: Setting, budget: float) -> float:
    if setting.candidates is not None:
        return budget / setting.price(setting.candidates).value
    if setting.tail_fraction is not None:
        return _self_consistent_sampled(setting, budget)
    return _self_consistent(budget, lambda candidates: setting.price(candidates).value)


def _asymptotic_facts(setting: Setting) -> float:
    budget = setting.asymptotic_effective_parameters()
    if setting.candidates is not None:
        return budget / setting.asymptotic_price(setting.candidates)
    return _self_consistent(budget, setting.asymptotic_price)


def _self_consistent(budget: float, price: Callable[[float], float]) -> float:
    """Return the number of facts that exhausts the budget when all of them compete."""
    from scipy.optimize import brentq

    def overspent(log_facts: float) -> float:
        return log_facts + math.log(price(math.exp(log_facts)) / budget)

    fewest = math.log(2.0)
    if overspent(fewest) >= 0:
        return budget / price(2.0)
    most = math.log(min(4 * budget, MOST_CANDIDATES))
    return math.exp(float(brentq(overspent, fewest, most, xtol=1e-13, rtol=1e-14)))


def _self_consistent_sampled(setting: Setting, budget: float) -> float:
    """Return the same for a price that may be sampled: a secant method that stops at its noise."""
    log_facts = math.log(budget / setting.asymptotic_price(math.inf))
    slope, previous = 1.0, (math.nan, math.nan)
    for iteration in range(_TAIL_ITERATIONS):
        price = setting.price(math.exp(log_facts))
        excess = log_facts + math.log(price.value / budget)
        # Half the sampling error, or twice it if the noise does not let the iteration settle.
        noise = price.stderr / price.value * (0.5 if iteration < _TAIL_ITERATIONS / 2 else 2.0)
        if abs(excess) <= max(noise, _TAIL_TOLERANCE):
            break
        if log_facts != previous[0] and math.isfinite(previous[0]):
            # The price grows with the candidates, never faster than they do.
            slope = min(max((excess - previous[1]) / (log_facts - previous[0]), 1.0), 2.5)
        previous = log_facts, excess
        log_facts -= excess / slope
    else:
        raise ConvergenceError(f"the capacity of {setting} did not settle; ask at fixed candidates")
    return math.exp(log_facts)
