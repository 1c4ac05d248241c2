r"""Proofs about a change: that it stores the facts, and how long any change that does must be.

As in :mod:`simonides.certificate.verifier` everything is recomputed in double precision with a bound on its
rounding, and no code of the solvers is used. For multipliers :math:`\lambda \ge 0`, margins :math:`\gamma`,
offsets :math:`b` and a metric :math:`C`, every change with these margins is at least as long as

.. math:: \frac{\sum \lambda_{ij} (\gamma_i |y_i - y_j| - (y_i - y_j)^T b_i)}
          {(\operatorname{tr} S C^{-1} S^T)^{1/2}} , \qquad S = \sum \lambda_{ij} (y_i - y_j) x_i^T .

The inverse is bounded by a witness: with any :math:`V` and :math:`R = S - V C`,

.. math:: \operatorname{tr} S C^{-1} S^T \le
          \operatorname{tr} V C V^T + 2 \operatorname{tr} V R^T + |R|_F^2 / \mu ,

where :math:`\mu` is below every eigenvalue of :math:`C`: a Cholesky factorisation of :math:`C` less a
multiple of the identity that does not break down proves it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from simonides import arguments
from simonides.certificate.recomputed import CHUNK, fields
from simonides.certificate.rounding import UNDERFLOW, gamma, length, lengths
from simonides.certificate.scaled import ScaledInstance, exponent, lowered, raised, scaled
from simonides.certificate.verifier import flaw_of_multipliers
from simonides.reading import expecting, read_arrays
from simonides.writing import write_arrays

if TYPE_CHECKING:
    from simonides.arrays import Integers, Reals
    from simonides.certificate.recomputed import Instance

_ARRAYS = ("weights", "offsets", "margins", "metric", "pair_facts", "pair_rivals", "multipliers")
"""Arrays of a file, the metric only where it is not the identity."""

_SHARE = 0.5
"""Of the smallest eigenvalue, as bound: so far from it rounding decides nothing."""

_NAMED = 10
"""Facts named where targets are no outputs of their own: more would not be read."""


@dataclass(frozen=True, eq=False)
class ChangeCertificate:
    """A change, what it was asked to do, and multipliers that bound the length of any other.

    Attributes
    ----------
    fingerprint : str
        Digest of the problem.
    weights : array (dim_out, dim_in)
        The change.
    offsets : array (facts, dim_out)
        Images without it.
    margins : array (facts,)
        Distances asked for.
    pair_facts, pair_rivals, multipliers : array
        Constraints and their multipliers.
    metric : array (dim_in, dim_in) or None
        What weighs the change; None is the identity.

    Examples
    --------
    >>> from simonides import OriginalProblem, least_change
    >>> certificate = least_change(OriginalProblem.gaussian(20, 12, seed=0)).change_certificate
    >>> certificate.weights.shape, certificate.metric is None
    ((12, 12), True)
    """

    fingerprint: str
    weights: Reals
    offsets: Reals
    margins: Reals
    pair_facts: Integers
    pair_rivals: Integers
    multipliers: Reals
    metric: Reals | None = None

    def save(self, path: str | Path) -> Path:
        """Write the certificate as ``.npz``, whole or not at all."""
        path = Path(path)
        arrays = {name: value for name in _ARRAYS if (value := getattr(self, name)) is not None}
        write_arrays(path, {"fingerprint": self.fingerprint, **arrays}, deflated=True)
        return path

    @classmethod
    def load(cls, path: str | Path) -> ChangeCertificate:
        """Read a certificate; nothing in the file is ever executed."""
        with expecting("certificate", path, "that of a change", "pass the .npz that was saved"):
            arrays = read_arrays(path, known={"fingerprint", *_ARRAYS})
            return cls(fingerprint=str(arrays.pop("fingerprint")), **arrays)


@dataclass(frozen=True)
class ChangeVerification:
    """What a certificate of a change proves.

    Attributes
    ----------
    valid : bool
        Whether every fact is recalled with the change, in exact arithmetic.
    margin : float
        Share of its margin that every fact keeps at least.
    change_upper : float
        Length that the change does not exceed.
    change_lower : float
        Length that no change with these margins falls below; zero if nothing is proved, infinite where a
        target has an equal among its rivals.
    reason : str
        What is wrong, if it is not valid.
    facts : int
        Facts that the certificate is about.

    Examples
    --------
    >>> ChangeVerification(False, reason="it is about another problem").change_lower
    0.0
    """

    valid: bool
    margin: float = np.nan
    change_upper: float = np.inf
    change_lower: float = 0.0
    reason: str = ""
    facts: int = 0


def verify_change(certificate: ChangeCertificate, problem: Instance) -> ChangeVerification:
    """Check the certificate of a change in arithmetic with bounded rounding.

    Parameters
    ----------
    certificate : ChangeCertificate
        The change, offsets, margins, metric and multipliers.
    problem : Problem
        The facts; the fingerprint tells others.

    Returns
    -------
    ChangeVerification
        Whether all facts are recalled, and bounds on the length of this change and of any other.

    Raises
    ------
    BadArgumentError
        For what is no certificate of a change, or no problem.

    Examples
    --------
    >>> from simonides import OriginalProblem, least_change
    >>> problem = OriginalProblem.gaussian(20, 12, seed=0)
    >>> verification = verify_change(least_change(problem).change_certificate, problem)
    >>> verification.valid, verification.change_upper <= 1.01 * verification.change_lower
    (True, True)
    """
    arguments.instance("certificate", certificate, ChangeCertificate, "least_change gives one")
    arguments.able("problem", problem, ("fingerprint",), "pass the problem that it is about")
    flaw = _flaw(certificate, problem)
    if flaw:
        return ChangeVerification(False, reason=flaw)
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        upper = _upper_length(certificate)
        twins = _twins(certificate, problem)
        if twins.size:
            names = ", ".join(str(fact) for fact in twins[:_NAMED])
            more = f" and {twins.size - _NAMED} more" if twins.size > _NAMED else ""
            reason = f"the targets of facts {names}{more} have an equal among their rivals"
            return ChangeVerification(False, np.nan, upper, np.inf, reason)
        instance = ScaledInstance(problem)
        lower = _lower_length(certificate, instance)
        checked = _checked_facts(certificate, instance, upper, lower)
    return replace(checked, facts=problem.facts)


def _checked_facts(
    certificate: ChangeCertificate, instance: ScaledInstance, upper: float, lower: float
) -> ChangeVerification:
    """Return whether every fact is recalled, and what share of its margin it keeps."""
    weights, offsets = certificate.weights, certificate.offsets
    powers = [exponent(weights) + instance.of_inputs] if weights.any() else []
    unit = max([*powers, *([exponent(offsets)] if offsets.any() else [])], default=0)
    of_margins = exponent(certificate.margins)
    margins = np.nextafter(scaled(certificate.margins, of_margins), np.inf)
    layers = [scaled(weights, unit - instance.of_inputs)]
    paths, least = weights.shape[1] + weights.shape[0] + 10, np.inf
    for field in fields(instance, layers, paths, scaled(offsets, unit), margins):
        doubtful = field.doubtful(least)
        if not doubtful.size:
            continue
        gaps = field.safe_gaps(doubtful)
        worst = int(gaps.min(axis=1).argmin())
        if not gaps[worst].min() > 0:
            reason = (
                f"fact {field.first + int(doubtful[worst])} is not recalled beyond rounding error"
            )
            return ChangeVerification(False, np.nan, upper, lower, reason)
        least = min(least, field.least_ratio(gaps, doubtful))
    share = min(float(least), float(np.finfo(float).max)) / (1 + gamma(paths))
    return ChangeVerification(True, lowered(share, unit - of_margins), upper, lower)


def _flaw(certificate: ChangeCertificate, problem: Instance) -> str:
    """Return what keeps the arrays from being looked at, if anything."""
    if certificate.fingerprint != problem.fingerprint():
        return "it is about another problem"
    facts, dim_in = problem.inputs.shape
    dim_out = problem.target_outputs.shape[1]
    shapes = {"weights": (dim_out, dim_in), "offsets": (facts, dim_out), "margins": (facts,)}
    if certificate.metric is not None:
        shapes["metric"] = (dim_in, dim_in)
    for name, shape in shapes.items():
        array = getattr(certificate, name)
        if array.shape != shape or array.dtype != np.float64 or not np.isfinite(array).all():
            return f"{name} are not finite float64 numbers of shape {shape}"
    if not (certificate.margins > 0).all():
        return "margins are not positive"
    if certificate.metric is not None and not (certificate.metric == certificate.metric.T).all():
        return "the metric is not symmetric"
    if not any(
        getattr(certificate, name).size for name in ("pair_facts", "pair_rivals", "multipliers")
    ):
        return ""  # nothing is said of other changes
    return flaw_of_multipliers(
        certificate.pair_facts, certificate.pair_rivals, certificate.multipliers, problem
    )


def _metric(certificate: ChangeCertificate) -> tuple[Reals | None, int]:
    """Return the metric divided by a power of four, and half of that power of two."""
    if certificate.metric is None:
        return None, 0
    half = -(-exponent(certificate.metric) // 2)
    return scaled(certificate.metric, 2 * half), half


def _square(rows: Reals, metric: Reals | None) -> float:
    """Return an upper bound of tr V C V^T, the metric of about unit size."""
    sizes = np.abs(rows)
    if metric is None:
        square = float(np.vdot(rows, rows))
        error = gamma(rows.size + 4) * square
    else:
        square = float(np.vdot(rows @ metric, rows))
        magnitude = float(np.vdot(sizes @ np.abs(metric), sizes))
        error = gamma(len(metric) + rows.size + 8) * magnitude
    lost = rows.shape[1] * (rows.size + float(sizes.sum())) ** 2 * UNDERFLOW
    return float((square + error + lost) * (1 + gamma(8)))


def _upper_length(certificate: ChangeCertificate) -> float:
    if not certificate.weights.any():
        return 0.0
    power = exponent(certificate.weights)
    metric, half = _metric(certificate)
    square = _square(scaled(certificate.weights, power), metric)
    if not square > 0:  # what is no metric gives no length
        return np.inf
    return raised(float(np.sqrt(square)) * (1 + gamma(4)), power + half)


def _lower_length(certificate: ChangeCertificate, instance: ScaledInstance) -> float:
    """Return the length that no change with these margins falls below."""
    if not certificate.multipliers.size:
        return 0.0
    total, blur, demand, unit = _summed(certificate, instance)
    metric, half = _metric(certificate)
    bound = demand / _inverse_length(total, blur, metric) * (1 - gamma(8))
    return lowered(bound, unit - instance.of_inputs + half) if bound > 0 else 0.0


def _twins(certificate: ChangeCertificate, problem: Instance) -> Integers:
    """Return the facts of pairs that are a target and a rival equal to it: no change tells them apart."""
    facts, rivals = certificate.pair_facts, certificate.pair_rivals
    equal = np.zeros(len(facts), dtype=bool)
    if facts.size:
        for rows, outputs in problem.contests(int(facts.max()) + 1):
            named = np.flatnonzero((facts >= rows.start) & (facts < rows.stop))
            for part in np.array_split(named, 1 + named.size // CHUNK):
                own = problem.target_outputs[facts[part]]
                equal[part] = (own == outputs[rivals[part]]).all(axis=1)
    return np.unique(facts[equal])


def _summed(
    certificate: ChangeCertificate, instance: ScaledInstance
) -> tuple[Reals, Reals, float, int]:
    """Return the sum of constraints, what each entry may be off by, and a lower bound of what is asked.

    Last the power of two that what is asked was divided by. All factors are about one or below, so that
    any operation loses less than ``UNDERFLOW`` by underflow.
    """
    values = certificate.multipliers
    order = np.argsort(certificate.pair_facts, kind="stable")
    facts, rivals = certificate.pair_facts[order], certificate.pair_rivals[order]
    largest = int(np.frexp(values.max())[1])
    values = np.ldexp(values[order], -largest)  # the largest is between 1/2 and 1
    unit = exponent(certificate.offsets, certificate.margins)
    offsets, margins = scaled(certificate.offsets, unit), scaled(certificate.margins, unit)
    targets, inputs = instance.target_outputs, np.asarray(instance.inputs)
    pulled, magnitudes = np.zeros((2, *targets.shape))
    demand, doubt = 0.0, 0.0
    for rows, outputs in instance.contests(int(facts[-1]) + 1):
        first, last = np.searchsorted(facts, (rows.start, rows.stop))
        for start in range(first, last, CHUNK):
            part = slice(start, min(start + CHUNK, last))
            named, begins = np.unique(facts[part], return_index=True)
            differences = targets[facts[part]] - outputs[rivals[part]]
            shares = values[part, None] * differences
            pulled[named] += np.add.reduceat(shares, begins)
            magnitudes[named] += np.add.reduceat(np.abs(shares), begins)
            wanted = margins[facts[part]] * lengths(differences)
            images = offsets[facts[part]]
            leads = np.einsum("ij,ij->i", differences, images)
            sizes = np.einsum("ij,ij->i", np.abs(differences), np.abs(images))
            demand += float(values[part] @ (wanted - leads))
            doubt += float(values[part] @ (wanted + sizes))
    terms = 2 * int(np.bincount(facts).max()) + instance.facts + 8
    blur = gamma(terms) * (magnitudes.T @ np.abs(inputs)) * (1 + gamma(terms))
    blur += len(values) * UNDERFLOW
    demand -= gamma(2 * len(values) + 4 * targets.shape[1] + 32) * doubt
    demand -= len(values) * targets.shape[1] * UNDERFLOW
    return pulled.T @ inputs, blur, demand, unit


def _inverse_length(total: Reals, blur: Reals, metric: Reals | None) -> float:
    """Return an upper bound of the root of tr S C^-1 S^T for all S within ``blur`` of ``total``."""
    if metric is None:
        return (length(total) + length(blur)) * (1 + gamma(2 * total.size + 16))
    least = _least_eigenvalue(metric)
    if least <= 0:
        return np.inf
    witness: Reals = np.asarray(np.linalg.solve(metric, total.T).T, dtype=np.float64)
    if not np.isfinite(witness).all():
        return np.inf
    size = np.abs(witness)
    rest = np.abs(total - witness @ metric) + blur
    rest += gamma(len(metric) + 8) * (size @ np.abs(metric) + np.abs(total))
    rest += (len(metric) + size.sum(axis=1, keepdims=True)) * UNDERFLOW
    bound = _square(witness, metric) + 2 * float(np.vdot(size, rest)) + length(rest) ** 2 / least
    bound = (bound + (size.size + float(size.sum())) * UNDERFLOW) * (1 + gamma(2 * total.size + 64))
    return float(np.sqrt(bound)) if np.isfinite(bound) else np.inf


def _least_eigenvalue(metric: Reals) -> float:
    """Return a number below every eigenvalue, or zero if none is proved.

    If the factorisation of C - s does not break down, every eigenvalue of C is above s less what rounding
    may have added, at most gamma(n + 2) of the trace.
    """
    count = len(metric)
    try:
        shift = _SHARE * float(np.linalg.eigvalsh(metric)[0])
        if shift > 0:
            np.linalg.cholesky(metric - shift * np.eye(count))
    except np.linalg.LinAlgError:
        return 0.0
    return shift - 4 * gamma(count + 4) * float(np.trace(metric)) - count * UNDERFLOW
