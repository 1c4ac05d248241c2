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

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from simonides.certificate.recomputed import CHUNK, fields
from simonides.certificate.rounding import UNDERFLOW, gamma, length
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
        Length that no change with these margins falls below; zero if nothing is proved.
    reason : str
        What is wrong, if it is not valid.
    """

    valid: bool
    margin: float = np.nan
    change_upper: float = np.inf
    change_lower: float = 0.0
    reason: str = ""


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

    Examples
    --------
    >>> from simonides import OriginalProblem, least_change
    >>> problem = OriginalProblem.gaussian(20, 12, seed=0)
    >>> verification = verify_change(least_change(problem).change_certificate, problem)
    >>> verification.valid, verification.change_upper <= 1.01 * verification.change_lower
    (True, True)
    """
    flaw = _flaw(certificate, problem)
    if flaw:
        return ChangeVerification(False, reason=flaw)
    upper, lower = _upper_length(certificate), _lower_length(certificate, problem)
    weights = certificate.weights
    paths, least = weights.shape[1] + weights.shape[0] + 10, np.inf
    for field in fields(problem, [weights], paths, certificate.offsets, certificate.margins):
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
    return ChangeVerification(True, float(least / (1 + gamma(paths))), upper, lower)


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
    return flaw_of_multipliers(
        certificate.pair_facts, certificate.pair_rivals, certificate.multipliers, problem
    )


def _square(rows: Reals, metric: Reals | None) -> tuple[float, float]:
    """Return tr V C V^T, and by how much it may be off."""
    if metric is None:
        square = float(np.vdot(rows, rows))
        return square, gamma(rows.size + 4) * square + UNDERFLOW
    product, magnitude = rows @ metric, np.abs(rows) @ np.abs(metric)
    error = gamma(len(metric) + rows.size + 8) * float(np.vdot(magnitude, np.abs(rows)))
    return float(np.vdot(product, rows)), error + UNDERFLOW


def _upper_length(certificate: ChangeCertificate) -> float:
    square, error = _square(certificate.weights, certificate.metric)
    return float(np.sqrt(square + error)) * (1 + gamma(4))


def _lower_length(certificate: ChangeCertificate, problem: Instance) -> float:
    """Return the length that no change with these margins falls below."""
    if _is_about_twins(certificate, problem):
        return np.inf
    total, blur, asked = _summed(certificate, problem)
    if asked <= 0:
        return 0.0
    return float(asked / _inverse_length(total, blur, certificate.metric) * (1 - gamma(8)))


def _is_about_twins(certificate: ChangeCertificate, problem: Instance) -> bool:
    """Return whether a pair named is a target and a rival that are equal: no change tells them apart."""
    if len(certificate.pair_facts) != 1:
        return False
    (fact,), (rival,) = certificate.pair_facts, certificate.pair_rivals
    for rows, outputs in problem.contests(int(fact) + 1):
        if rows.start <= fact < rows.stop:
            return bool((problem.target_outputs[fact] == outputs[rival]).all())
    return False


def _summed(certificate: ChangeCertificate, problem: Instance) -> tuple[Reals, Reals, float]:
    """Return the sum of constraints, what each entry may be off by, and a lower bound of what is asked."""
    order = np.argsort(certificate.pair_facts, kind="stable")
    facts, rivals = certificate.pair_facts[order], certificate.pair_rivals[order]
    values = certificate.multipliers[order]
    targets, offsets = problem.target_outputs, certificate.offsets
    pulled, magnitudes = np.zeros((2, *targets.shape))
    asked, doubt = 0.0, 0.0
    for rows, outputs in problem.contests(int(facts[-1]) + 1):
        first, last = np.searchsorted(facts, (rows.start, rows.stop))
        for start in range(first, last, CHUNK):
            part = slice(start, min(start + CHUNK, last))
            named, begins = np.unique(facts[part], return_index=True)
            own, rival = targets[facts[part]], outputs[rivals[part]]
            differences = own - rival
            shares = values[part, None] * differences
            pulled[named] += np.add.reduceat(shares, begins)
            magnitudes[named] += np.add.reduceat(np.abs(shares), begins)
            wanted = certificate.margins[facts[part]] * np.linalg.norm(differences, axis=1)
            images = offsets[facts[part]]
            leads = np.einsum("ij,ij->i", differences, images)
            sizes = np.einsum("ij,ij->i", np.abs(own) + np.abs(rival), np.abs(images))
            asked += float(values[part] @ (wanted - leads))
            doubt += float(values[part] @ (wanted + sizes))
    inputs = np.asarray(problem.inputs)
    terms = 2 * int(np.bincount(facts).max()) + problem.facts + 8
    blur = gamma(terms) * (magnitudes.T @ np.abs(inputs)) * (1 + gamma(terms)) + UNDERFLOW
    asked -= gamma(2 * len(values) + 4 * targets.shape[1] + 32) * doubt
    return pulled.T @ inputs, blur, asked


def _inverse_length(total: Reals, blur: Reals, metric: Reals | None) -> float:
    """Return an upper bound of the root of tr S C^-1 S^T for all S within ``blur`` of ``total``."""
    if metric is None:
        return (length(total) + length(blur)) * (1 + gamma(2 * total.size + 16))
    least = _least_eigenvalue(metric)
    if least <= 0:
        return np.inf
    witness: Reals = np.asarray(np.linalg.solve(metric, total.T).T, dtype=np.float64)
    size = np.abs(witness)
    rest = np.abs(total - witness @ metric) + blur
    rest += gamma(len(metric) + 8) * (size @ np.abs(metric) + np.abs(total))
    square, error = _square(witness, metric)
    bound = square + error + 2 * float(np.vdot(size, rest)) + length(rest) ** 2 / least
    return float(np.sqrt(bound)) * (1 + gamma(2 * total.size + 32))


def _least_eigenvalue(metric: Reals) -> float:
    """Return a number below every eigenvalue, or zero if none is proved.

    If the factorisation of C - s does not break down, every eigenvalue of C is above s less what rounding
    may have added, at most gamma(n + 2) of the trace.
    """
    count = len(metric)
    shift = _SHARE * float(np.linalg.eigvalsh(metric)[0])
    if shift <= 0:
        return 0.0
    try:
        np.linalg.cholesky(metric - shift * np.eye(count))
    except np.linalg.LinAlgError:
        return 0.0
    return shift - 4 * gamma(count + 4) * float(np.trace(metric))
