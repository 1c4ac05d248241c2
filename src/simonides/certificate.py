r"""Proofs that facts can or cannot be stored, and their independent verifier.

The verifier recomputes everything from the problem's own vectors, in double precision with a bound on
its rounding error, and shares no code with the solvers.

**Storable**: weights :math:`W`. With :math:`u = 2^{-53}` and :math:`\gamma_n = nu/(1 - nu)`, a computed
score :math:`y^T(Wx)` is off by at most :math:`\gamma_{d_{in} + d_{out}} |y|^T |W| |x|`. If every target
leads every rival by more than the two errors together, every fact is recalled in exact arithmetic.

**Not storable**: multipliers :math:`\lambda_{ij} \ge 0`. For any weights of unit norm, the smallest
normalised lead is at most its weighted mean, hence at most

.. math:: \Bigl|\sum \lambda_{ij} (y_i - y_j) x_i^T\Bigr|_F \Big/ \sum \lambda_{ij} |y_i - y_j| |x_i| .

The rounding of that sum is bounded entry by entry in the same way and added.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from simonides import arguments

if TYPE_CHECKING:
    from simonides.arrays import Integers, Reals

_UNIT = 2.0**-53
_UNDERFLOW = 2.0**-1000
"""More than any product can lose by underflow, were all its factors below 1e70."""

_FORMAT = 1

_UNREADABLE = (
    AttributeError,  # a lone array instead of an archive
    KeyError,
    TypeError,
    ValueError,
    EOFError,
    OSError,
    NotImplementedError,  # zip features that no writer of ours uses
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What reading a damaged or foreign archive may raise."""


class Claim(StrEnum):
    """What a certificate proves."""

    STORABLE = "storable"
    NOT_STORABLE = "not-storable"


class Instance(Protocol):
    """What the verifier asks of a problem: its vectors, and a digest of what defines it."""

    @property
    def facts(self) -> int:
        """Number of facts."""
        ...

    @property
    def candidates(self) -> int:
        """Number of candidates of each fact."""
        ...

    @property
    def inputs(self) -> Reals:
        """Inputs, one row per fact."""
        ...

    @property
    def target_outputs(self) -> Reals:
        """Right outputs, one row per fact."""
        ...

    def fingerprint(self) -> str:
        """Return the digest of the problem."""
        ...

    def competitors(self, fact: int) -> tuple[Integers, Reals]:
        """Return the numbers and the vectors of a fact's rivals."""
        ...


@dataclass(frozen=True, eq=False)
class Certificate:
    """A claim about one problem and the arrays that prove it.

    ``weights`` for a storable problem; ``pair_facts``, ``pair_rivals`` and ``multipliers`` otherwise.
    """

    claim: Claim
    fingerprint: str
    weights: Reals | None = None
    pair_facts: Integers | None = None
    pair_rivals: Integers | None = None
    multipliers: Reals | None = None

    def save(self, path: str | Path) -> Path:
        """Write the certificate as ``.npz``."""
        path = Path(path)
        arrays = {
            name: value
            for name in ("weights", "pair_facts", "pair_rivals", "multipliers")
            if (value := getattr(self, name)) is not None
        }
        header = {"claim": str(self.claim), "fingerprint": self.fingerprint, "format": _FORMAT}
        with path.open("wb") as file:
            np.savez_compressed(file, **header, **arrays)  # type: ignore[arg-type]
        return path

    @classmethod
    def load(cls, path: str | Path) -> Certificate:
        """Read a certificate; nothing in the file is ever executed."""
        data = Path(path).read_bytes()
        try:
            archive = np.load(io.BytesIO(data), allow_pickle=False)
            fields = {name: archive[name] for name in archive.files}
            claim = Claim(str(fields.pop("claim")))
            fingerprint, version = str(fields.pop("fingerprint")), int(fields.pop("format"))
        except _UNREADABLE as error:
            reason = str(error).split(".")[0].strip("'")
            raise arguments.refuse(
                "certificate", str(path), "a file written by 'decide --save'", reason
            ) from None
        if version != _FORMAT:
            raise arguments.refuse("format", version, f"{_FORMAT}", "write it again")
        known = {"weights", "pair_facts", "pair_rivals", "multipliers"}
        return cls(claim, fingerprint, **{name: fields[name] for name in known & set(fields)})


@dataclass(frozen=True)
class Verification:
    """Whether a certificate proves its claim, the bound on the margin, and the reason if not.

    ``margin_bound`` is a lower bound of the largest normalised margin if the claim is storable, an
    upper bound otherwise.
    """

    valid: bool
    claim: Claim
    margin_bound: float
    reason: str = ""


def verify(certificate: Certificate, problem: Instance, *, tolerance: float = 1e-9) -> Verification:
    """Check a certificate against the problem it is about.

    "Not storable" means that no weights have a normalised margin above ``tolerance``.
    """
    tolerance = arguments.real(
        "tolerance", tolerance, least=0, open_least=True, remedy="pass a small margin such as 1e-9"
    )
    if certificate.fingerprint != problem.fingerprint():
        return Verification(False, certificate.claim, np.nan, "it is about another problem")
    if certificate.claim is Claim.STORABLE:
        return _verify_weights(certificate, problem)
    return _verify_multipliers(certificate, problem, tolerance)


def _verify_weights(certificate: Certificate, problem: Instance) -> Verification:
    weights = certificate.weights
    shape = (problem.target_outputs.shape[1], problem.inputs.shape[1])
    if weights is None or weights.shape != shape or weights.dtype != np.float64:
        return Verification(False, certificate.claim, np.nan, f"weights are not float64 {shape}")
    if not np.isfinite(weights).all():
        return Verification(False, certificate.claim, np.nan, "weights are not finite")
    largest = np.abs(weights).max()
    if largest == 0:
        return Verification(False, certificate.claim, 0.0, "weights are zero")
    weights = np.ldexp(
        weights, -int(np.frexp(largest)[1])
    )  # exact, and far from over- and underflow
    rounding = _gamma(sum(shape) + 4)
    norm = float(np.linalg.norm(weights)) * (1 + _gamma(weights.size + 4))
    bound = np.inf
    for fact in range(problem.facts):
        x, target = problem.inputs[fact], problem.target_outputs[fact]
        _, rivals = problem.competitors(fact)
        image, magnitude = weights @ x, np.abs(weights) @ np.abs(x)
        gaps = target @ image - rivals @ image
        errors = rounding * (np.abs(target) @ magnitude + np.abs(rivals) @ magnitude)
        sizes = 1 + np.abs(target).sum() + np.abs(rivals).sum(axis=1) + np.abs(x).sum()
        sure = gaps - 2 * errors - sum(shape) * _UNDERFLOW * sizes
        if not sure.min() > 0:
            reason = f"fact {fact} is not recalled beyond rounding error"
            return Verification(False, certificate.claim, float(sure.min()), reason)
        spans = np.linalg.norm(target - rivals, axis=1) * np.linalg.norm(x) * (1 + rounding)
        bound = min(bound, float((sure / np.maximum(spans, np.finfo(float).tiny)).min()))
    return Verification(True, certificate.claim, bound / norm)


def _verify_multipliers(
    certificate: Certificate, problem: Instance, tolerance: float
) -> Verification:
    facts, rivals, values = (
        certificate.pair_facts,
        certificate.pair_rivals,
        certificate.multipliers,
    )
    flaw = _flaw_of_multipliers(facts, rivals, values, problem)
    if flaw:
        return Verification(False, certificate.claim, np.nan, flaw)
    assert facts is not None
    assert rivals is not None
    assert values is not None
    total = np.zeros((problem.target_outputs.shape[1], problem.inputs.shape[1]))
    magnitude = np.zeros_like(total)
    weight = 0.0
    values = np.ldexp(values, -int(np.frexp(values.max())[1]))  # the largest is between 1/2 and 1
    order = np.argsort(facts, kind="stable")
    for fact, pairs in _groups(facts[order], order):
        x, target = problem.inputs[fact], problem.target_outputs[fact]
        numbers, vectors = problem.competitors(fact)
        place = np.searchsorted(numbers, rivals[pairs])
        if (place >= len(numbers)).any() or (numbers[place] != rivals[pairs]).any():
            return Verification(False, certificate.claim, np.nan, f"fact {fact} has no such rival")
        differences = target - vectors[place]
        total += np.outer(values[pairs] @ differences, x)
        magnitude += np.outer(values[pairs] @ (np.abs(target) + np.abs(vectors[place])), np.abs(x))
        weight += float(values[pairs] @ np.linalg.norm(differences, axis=1)) * float(
            np.linalg.norm(x)
        )
    rounding = _gamma(len(values) + problem.facts + 4)
    if weight == 0:  # lengths cannot underflow: every constraint named is exactly zero
        return Verification(True, certificate.claim, 0.0)
    numerator = (
        float(np.linalg.norm(total))
        + rounding * float(np.linalg.norm(magnitude))
        + len(values) * total.size * _UNDERFLOW
    ) * (1 + _gamma(total.size + 8))
    bound = numerator / (weight * (1 - _gamma(len(values) + sum(total.shape) + 8)))
    reason = "" if bound < tolerance else f"the bound is not below the tolerance {tolerance:g}"
    return Verification(bound < tolerance, certificate.claim, bound, reason)


def _flaw_of_multipliers(
    facts: Integers | None, rivals: Integers | None, values: Reals | None, problem: Instance
) -> str:
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
    return ""


def _groups(sorted_facts: Integers, order: Integers) -> list[tuple[int, Integers]]:
    starts = np.flatnonzero(np.concatenate(([True], np.diff(sorted_facts) > 0)))
    parts = np.split(order, starts[1:])
    return [(int(sorted_facts[start]), part) for start, part in zip(starts, parts, strict=True)]


def _gamma(terms: int) -> float:
    return terms * _UNIT / (1 - terms * _UNIT)
