r"""Proofs that facts can or cannot be stored, and their independent verifier.

The verifier recomputes everything from the problem's own vectors, in double precision with a bound on
its rounding error, and shares no code with the solvers.

**Storable**: weights :math:`W`, or factors with :math:`W = U V^T`, which prove the rank too. With
:math:`u = 2^{-53}` and :math:`\gamma_n = nu/(1 - nu)`, a computed score :math:`y^T(Wx)` is off by at most
:math:`\gamma_n |y|^T |W| |x|` where :math:`n` counts the operations along a path; absolute values are
taken entry by entry, and the last product is first bounded by the lengths of its factors. If every target
leads every rival by more than the two errors together, every fact is recalled in exact arithmetic.

**Not storable**: multipliers :math:`\lambda_{ij} \ge 0`. For any weights of unit norm, the smallest
normalised lead is at most its weighted mean, hence at most

.. math:: \Bigl|\sum \lambda_{ij} (y_i - y_j) x_i^T\Bigr|_F \Big/ \sum \lambda_{ij} |y_i - y_j| |x_i| .

The rounding of that sum is bounded entry by entry in the same way and added.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from simonides import arguments
from simonides.certificate.recomputed import CHUNK, fields
from simonides.certificate.rounding import UNDERFLOW, gamma, length, lengths
from simonides.reading import expecting, read_arrays
from simonides.writing import write_arrays

if TYPE_CHECKING:
    from simonides.arrays import Integers, Reals
    from simonides.certificate.recomputed import Instance

_FORMAT = 1
_ARRAYS = ("weights", "left", "right", "pair_facts", "pair_rivals", "multipliers")
_MEMBERS = {"claim", "fingerprint", "format", *_ARRAYS}


class Claim(StrEnum):
    """What a certificate proves.

    Examples
    --------
    >>> from simonides import OriginalProblem, decide
    >>> decide(OriginalProblem.gaussian(100, 10, seed=0)).certificate.claim is Claim.NOT_STORABLE
    True
    """

    STORABLE = "storable"
    """The weights recall every fact."""

    NOT_STORABLE = "not-storable"
    """No weights have a normalised margin above the tolerance."""


@dataclass(frozen=True, eq=False)
class Certificate:
    """A claim about one problem and the arrays that prove it.

    Attributes
    ----------
    claim : Claim
        What it proves.
    fingerprint : str
        Digest of the problem.
    weights : array or None
        Weights that store the facts; or the factors ``left`` and ``right`` whose product they are.
    pair_facts, pair_rivals, multipliers : array or None
        Constraints and their multipliers, which leave no room for a margin.

    Examples
    --------
    >>> from simonides import OriginalProblem, decide
    >>> certificate = decide(OriginalProblem.gaussian(20, 10, seed=0)).certificate
    >>> str(certificate.claim), certificate.weights.shape, certificate.multipliers is None
    ('storable', (10, 10), True)
    """

    claim: Claim
    fingerprint: str
    weights: Reals | None = None
    left: Reals | None = None
    right: Reals | None = None
    pair_facts: Integers | None = None
    pair_rivals: Integers | None = None
    multipliers: Reals | None = None

    def save(self, path: str | Path) -> Path:
        """Write the certificate as ``.npz``, whole or not at all: an older file stays until then."""
        path = arguments.file_name("path", path)
        arrays = {name: value for name in _ARRAYS if (value := getattr(self, name)) is not None}
        header = {"claim": str(self.claim), "fingerprint": self.fingerprint, "format": _FORMAT}
        write_arrays(path, {**header, **arrays}, deflated=True)
        return path

    @classmethod
    def load(cls, path: str | Path) -> Certificate:
        """Read a certificate; nothing in the file is ever executed."""
        path = arguments.file_name("path", path)
        with expecting(
            "certificate", path, "a file written by 'decide --save'", "pass the .npz that it wrote"
        ):
            fields = read_arrays(path, known=_MEMBERS)
            claim = Claim(str(fields.pop("claim")))
            fingerprint, version = str(fields.pop("fingerprint")), int(fields.pop("format"))
        if version != _FORMAT:
            raise arguments.refuse("format", version, f"{_FORMAT}", "write it again")
        return cls(claim, fingerprint, **{name: fields[name] for name in _ARRAYS if name in fields})


@dataclass(frozen=True)
class Verification:
    """Whether a certificate proves its claim.

    Attributes
    ----------
    valid : bool
        Whether it does.
    claim : Claim
        What it claims.
    margin_bound : float
        A lower bound of the largest normalised margin if the claim is storable, an upper one otherwise.
    reason : str
        What is wrong, if it is not valid.

    Examples
    --------
    >>> from simonides import OriginalProblem, decide
    >>> problem = OriginalProblem.gaussian(20, 10, seed=0)
    >>> verify(decide(problem).certificate, OriginalProblem.gaussian(20, 10, seed=1)).reason
    'it is about another problem'
    """

    valid: bool
    claim: Claim
    margin_bound: float
    reason: str = ""


def verify(certificate: Certificate, problem: Instance, *, tolerance: float = 1e-9) -> Verification:
    """Check a certificate against the problem it is about, in arithmetic with bounded rounding.

    Parameters
    ----------
    certificate : Certificate
        The claim and the arrays that prove it.
    problem : Problem
        The problem as it was decided: the fingerprint tells another one.
    tolerance : float
        Normalised margin that counts as none: "not storable" means that no weights have one above it.

    Returns
    -------
    Verification
        Whether it is valid, the bound on the largest margin, and the reason if not.

    Raises
    ------
    BadArgumentError
        For a tolerance that is not positive.

    Examples
    --------
    >>> from simonides import OriginalProblem, decide
    >>> problem = OriginalProblem.gaussian(20, 10, seed=0)
    >>> verify(decide(problem).certificate, problem).valid
    True
    """
    arguments.instance("certificate", certificate, Certificate, "decide gives one")
    arguments.able("problem", problem, ("fingerprint",), "pass the problem that it is about")
    remedy = "pass a small margin such as 1e-9"
    tolerance = arguments.positive("tolerance", tolerance, remedy=remedy)
    if certificate.fingerprint != problem.fingerprint():
        return Verification(False, certificate.claim, np.nan, "it is about another problem")
    if certificate.claim is Claim.STORABLE:
        return _verify_weights(certificate, problem)
    return _verify_multipliers(certificate, problem, tolerance)


def _verify_weights(certificate: Certificate, problem: Instance) -> Verification:
    def refused(reason: str) -> Verification:
        return Verification(False, certificate.claim, np.nan, reason)

    layers = _layers(certificate)
    shape = (problem.target_outputs.shape[1], problem.inputs.shape[1])
    if not layers or (layers[0].shape[0], layers[-1].shape[1]) != shape:
        return refused(f"weights are not float64 {shape}")
    if not all(np.isfinite(layer).all() for layer in layers):
        return refused("weights are not finite")
    if not all(layer.any() for layer in layers):
        return refused("weights are zero")
    # Exact, and far from over- and underflow.
    layers = [np.ldexp(layer, -int(np.frexp(np.abs(layer).max())[1])) for layer in layers]
    paths = sum(layer.shape[1] for layer in layers) + shape[0] + 8
    norm, rounding = _upper_norm(layers), gamma(paths)
    least = np.inf
    for field in fields(problem, layers, paths):
        doubtful = field.doubtful(least)
        if not doubtful.size:
            continue
        gaps = field.safe_gaps(doubtful)
        worst = int(gaps.min(axis=1).argmin())
        if not gaps[worst].min() > 0:
            fact = field.first + int(doubtful[worst])
            return refused(f"fact {fact} is not recalled beyond rounding error")
        least = min(least, field.least_ratio(gaps, doubtful))
    return Verification(True, certificate.claim, least / norm / (1 + rounding))


def _layers(certificate: Certificate) -> list[Reals]:
    """Return the matrices whose product the weights are, or nothing if they do not fit together."""
    if certificate.weights is not None:
        layers = [certificate.weights]
    elif certificate.left is not None and certificate.right is not None:
        layers = [certificate.left, certificate.right]
    else:
        return []
    if any(layer.ndim != 2 or layer.dtype != np.float64 or not layer.size for layer in layers):
        return []
    if len(layers) == 2:
        if layers[0].shape[1] != layers[1].shape[1]:
            return []
        layers[1] = layers[1].T
    return layers


def _upper_norm(layers: list[Reals]) -> float:
    """Return an upper bound of the Frobenius norm of the product of at most two layers."""
    product = np.linalg.multi_dot(layers) if len(layers) > 1 else layers[0]
    size = length(product)
    if len(layers) > 1:
        magnitude = length(np.abs(layers[0]) @ np.abs(layers[1]))
        size += gamma(layers[0].shape[1] + 4) * magnitude
    return size * (1 + gamma(product.size + 8)) + UNDERFLOW


def _verify_multipliers(
    certificate: Certificate, problem: Instance, tolerance: float
) -> Verification:
    bound, flaw = _bound_by_multipliers(certificate, problem)
    if flaw:
        return Verification(False, certificate.claim, np.nan, flaw)
    reason = "" if bound < tolerance else f"the bound is not below the tolerance {tolerance:g}"
    return Verification(bound < tolerance, certificate.claim, bound, reason)


def margin_upper(certificate: Certificate, problem: Instance) -> float:
    """Return the bound on the normalised margin of any weights that the multipliers prove.

    It is infinite if there are none, or if they are flawed.
    """
    bound, flaw = _bound_by_multipliers(certificate, problem)
    return np.inf if flaw else bound


def _bound_by_multipliers(certificate: Certificate, problem: Instance) -> tuple[float, str]:
    """Return the bound on the normalised margin, and what is wrong with the multipliers if anything."""
    facts, rivals, values = (
        certificate.pair_facts,
        certificate.pair_rivals,
        certificate.multipliers,
    )
    flaw = flaw_of_multipliers(facts, rivals, values, problem)
    if flaw:
        return np.nan, flaw
    assert facts is not None
    assert rivals is not None
    assert values is not None
    values = np.ldexp(values, -int(np.frexp(values.max())[1]))  # the largest is between 1/2 and 1
    order = np.argsort(facts, kind="stable")
    facts, rivals, values = facts[order], rivals[order], values[order]
    inputs = np.asarray(problem.inputs)  # all at once: what is pulled is as large
    pulled, magnitudes = np.zeros((2, *problem.target_outputs.shape))
    sizes = lengths(inputs)
    weight, possible = 0.0, False
    for rows, outputs in problem.contests(int(facts[-1]) + 1):
        first, last = np.searchsorted(facts, (rows.start, rows.stop))
        for start in range(first, last, CHUNK):
            part = slice(start, min(start + CHUNK, last))
            named, begins = np.unique(facts[part], return_index=True)
            differences = problem.target_outputs[facts[part]] - outputs[rivals[part]]
            shares = values[part, None] * differences  # each off by rounding twice
            pulled[named] += np.add.reduceat(shares, begins)
            magnitudes[named] += np.add.reduceat(np.abs(shares), begins)
            spans = lengths(differences)
            meant = (spans > 0) & (sizes[facts[part]] > 0) & (values[part] > 0)
            possible |= bool(meant.any())
            weight += float((values[part] * spans) @ sizes[facts[part]])
    if not possible:  # every constraint named is exactly zero
        return 0.0, ""
    if weight == 0:
        return np.nan, "multipliers underflow"
    total = pulled.T @ inputs
    magnitude = magnitudes.T @ np.abs(inputs)
    # A sum over a fact's pairs, in chunks, then one over facts.
    rounding = gamma(2 * int(np.bincount(facts).max()) + problem.facts + 8)
    numerator = (
        length(total)
        + rounding * length(magnitude)
        + len(values) * total.size * UNDERFLOW * (1 + float(np.abs(inputs).max()))
    ) * (1 + gamma(total.size + 8))
    return numerator / (weight * (1 - gamma(len(values) + sum(total.shape) + 16))), ""


def flaw_of_multipliers(
    facts: Integers | None, rivals: Integers | None, values: Reals | None, problem: Instance
) -> str:
    """Return what is wrong with multipliers of constraints, or nothing."""
    if facts is None or rivals is None or values is None or not values.size:
        return "there are no multipliers"
    if not (facts.shape == rivals.shape == values.shape and values.ndim == 1):
        return "multipliers and pairs differ in number"
    if facts.dtype.kind not in "iu" or rivals.dtype.kind not in "iu" or values.dtype.kind != "f":
        return "multipliers or pairs have the wrong type"
    if not np.isfinite(values).all() or values.min() < 0 or values.max() == 0:
        return "multipliers are not non-negative numbers with a positive one among them"
    if facts.min() < 0 or facts.max() >= problem.facts:
        return "a multiplier names a fact that does not exist"
    if rivals.min() < 0 or rivals.max() >= problem.candidates:
        return "a multiplier names a rival that does not exist"
    own = np.flatnonzero(rivals == problem.targets[facts])
    if own.size:
        return f"fact {facts[own[0]]} is not its own rival"
    return ""
