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

import io
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from simonides import archives, arguments
from simonides.replacing import replacing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simonides.arrays import Integers, Reals

_UNIT = 2.0**-53
_UNDERFLOW = 2.0**-1000
"""More than any product can lose by underflow, were all its factors below 1e70."""

_FORMAT = 1
_ARRAYS = ("weights", "left", "right", "pair_facts", "pair_rivals", "multipliers")
_MEMBERS = {"claim", "fingerprint", "format", *_ARRAYS}
_LARGEST = 2**33
"""Bytes of the largest proof that is read."""

_CHUNK = 2**11
"""So many pairs are looked at together."""


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

    @property
    def targets(self) -> Any:
        """Number of each fact's right output among its candidates."""
        ...

    def contests(self, facts: int) -> Iterator[tuple[slice, Reals]]:
        """Yield the first facts, those together that share their candidates, and these' vectors.

        Vectors that are read-only and the same object again are the same numbers again.
        """
        ...


@dataclass(frozen=True, eq=False)
class Certificate:
    """A claim about one problem and the arrays that prove it.

    ``weights`` for a storable problem, or the factors ``left`` and ``right`` whose product they are;
    ``pair_facts``, ``pair_rivals`` and ``multipliers`` otherwise.
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
        path = Path(path)
        arrays = {name: value for name in _ARRAYS if (value := getattr(self, name)) is not None}
        header = {"claim": str(self.claim), "fingerprint": self.fingerprint, "format": _FORMAT}
        with replacing(path) as part, part.open("wb") as file:
            np.savez_compressed(file, **header, **arrays)  # type: ignore[arg-type]
        return path

    @classmethod
    def load(cls, path: str | Path) -> Certificate:
        """Read a certificate; nothing in the file is ever executed."""
        data = Path(path).read_bytes()
        try:
            fields = archives.members(io.BytesIO(data), most=_LARGEST, known=_MEMBERS)
            claim = Claim(str(fields.pop("claim")))
            fingerprint, version = str(fields.pop("fingerprint")), int(fields.pop("format"))
        except archives.UNREADABLE as error:
            raise arguments.refuse(
                "certificate",
                str(path),
                "a file written by 'decide --save'",
                f"{archives.reason(error)}; pass the .npz that it wrote",
            ) from None
        if version != _FORMAT:
            raise arguments.refuse("format", version, f"{_FORMAT}", "write it again")
        return cls(claim, fingerprint, **{name: fields[name] for name in _ARRAYS if name in fields})


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
    norm, rounding = _upper_norm(layers), _gamma(paths)
    least = np.inf
    for field in _fields(problem, layers, paths):
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


def _fields(problem: Instance, layers: list[Reals], paths: int) -> Iterator[_Field]:
    """Yield the facts, those together that share their candidates, with their scores."""
    absolute = [np.abs(layer) for layer in layers]
    measured, output_lengths = None, np.empty(0)
    for facts, outputs in problem.contests(problem.facts):
        if outputs is not measured or outputs.flags.writeable:
            measured, output_lengths = outputs, np.linalg.norm(outputs, axis=1) + _UNDERFLOW
        inputs, targets = problem.inputs[facts], problem.target_outputs[facts]
        images, magnitudes = inputs, np.abs(inputs)
        # What underflow may lose anywhere.
        lost = paths * _UNDERFLOW * (1 + magnitudes.sum(axis=1))
        for layer, size in zip(reversed(layers), reversed(absolute), strict=True):
            images, magnitudes = images @ layer.T, magnitudes @ size.T
        scores = images @ outputs.T
        scores[np.arange(len(scores)), problem.targets[facts]] = -np.inf
        yield _Field(
            first=facts.start,
            targets=targets,
            outputs=outputs,
            input_lengths=np.linalg.norm(inputs, axis=1),
            target_lengths=np.linalg.norm(targets, axis=1) + _UNDERFLOW,
            output_lengths=output_lengths,
            own=np.einsum("ij,ij->i", images, targets),
            scores=scores,
            magnitudes=magnitudes,
            lost=lost,
            twice_gamma=2 * _gamma(paths),
        )


@dataclass(frozen=True, eq=False)
class _Field:
    """Some facts and the candidates they share: scores, and what bounds their rounding.

    ``own`` are the targets' scores, which are struck out of ``scores``. ``magnitudes`` bound the images
    entry by entry, with no sign to cancel. A gap is off by at most ``twice_gamma`` times the product of
    magnitudes with both outputs, and by what underflow ``lost``.
    """

    first: int
    targets: Reals
    outputs: Reals
    input_lengths: Reals
    target_lengths: Reals
    output_lengths: Reals
    own: Reals
    scores: Reals
    magnitudes: Reals
    lost: Reals
    twice_gamma: float

    def doubtful(self, least: float) -> Integers:
        """Return the facts with a rival that may be ahead, or have a ratio of gap to span below ``least``.

        One look at each score, with the longest output in the place of every rival.
        """
        reaches = self.target_lengths + self.output_lengths.max()
        blurs = self.lost * (1 + reaches) + self.twice_gamma * _lengths(self.magnitudes) * reaches
        gaps = self.own - self.scores.max(axis=1) - blurs
        ratios = gaps / np.maximum(reaches * self.input_lengths, np.finfo(float).tiny)
        return np.flatnonzero(~((gaps > 0) & (ratios >= least)))

    def safe_gaps(self, rows: Integers) -> Reals:
        """Return by how much the targets of some facts lead their rivals at least, in exact arithmetic."""
        reaches = self.target_lengths[rows, None] + self.output_lengths
        gaps = self.own[rows, None] - self.scores[rows] - self.lost[rows, None] * (1 + reaches)
        magnitudes = self.magnitudes[rows]
        blurs = self.twice_gamma * _lengths(magnitudes)[:, None] * reaches
        if not (gaps > blurs).all():
            # Entry by entry, which matters where coordinates differ in size.
            blurs = magnitudes @ np.abs(self.outputs).T
            blurs += np.einsum("ij,ij->i", magnitudes, np.abs(self.targets[rows]))[:, None]
            blurs *= self.twice_gamma
        gaps -= blurs
        return gaps

    def least_ratio(self, gaps: Reals, rows: Integers) -> float:
        """Return the smallest gap over span: a span is at most target and rival end to end."""
        longest_spans = self.target_lengths[rows, None] + self.output_lengths
        longest_spans *= self.input_lengths[rows, None]
        low = gaps / np.maximum(longest_spans, np.finfo(float).tiny)

        def ratios(places: Integers, columns: Integers) -> Reals:
            facts = rows[places]
            spans = _lengths(self.targets[facts] - self.outputs[columns])
            spans *= self.input_lengths[facts]
            return np.asarray(gaps[places, columns] / np.maximum(spans, np.finfo(float).tiny))

        least = float(ratios(np.arange(len(rows)), low.argmin(axis=1)).min())
        places, columns = np.nonzero(low < least)
        parts = np.array_split(np.arange(len(places)), 1 + places.size // _CHUNK)
        return min(
            least,
            *(float(ratios(places[part], columns[part]).min(initial=least)) for part in parts),
        )


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
    size = _length(product)
    if len(layers) > 1:
        magnitude = _length(np.abs(layers[0]) @ np.abs(layers[1]))
        size += _gamma(layers[0].shape[1] + 4) * magnitude
    return size * (1 + _gamma(product.size + 8)) + _UNDERFLOW


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
    flaw = _flaw_of_multipliers(facts, rivals, values, problem)
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
    sizes = _lengths(inputs)
    weight, possible = 0.0, False
    for rows, outputs in problem.contests(int(facts[-1]) + 1):
        first, last = np.searchsorted(facts, (rows.start, rows.stop))
        for start in range(first, last, _CHUNK):
            part = slice(start, min(start + _CHUNK, last))
            named, begins = np.unique(facts[part], return_index=True)
            differences = problem.target_outputs[facts[part]] - outputs[rivals[part]]
            shares = values[part, None] * differences  # each off by rounding twice
            pulled[named] += np.add.reduceat(shares, begins)
            magnitudes[named] += np.add.reduceat(np.abs(shares), begins)
            spans = _lengths(differences)
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
    rounding = _gamma(2 * int(np.bincount(facts).max()) + problem.facts + 8)
    numerator = (
        _length(total)
        + rounding * _length(magnitude)
        + len(values) * total.size * _UNDERFLOW * (1 + float(np.abs(inputs).max()))
    ) * (1 + _gamma(total.size + 8))
    return numerator / (weight * (1 - _gamma(len(values) + sum(total.shape) + 16))), ""


def _lengths(rows: Reals) -> Reals:
    """Return the length of each row; squares of what is divided by the largest cannot all underflow."""
    peaks = np.abs(rows).max(axis=1)
    scaled = rows / np.where(peaks > 0, peaks, 1.0)[:, None]
    return np.asarray(peaks * np.linalg.norm(scaled, axis=1))


def _length(matrix: Reals) -> float:
    return float(_lengths(matrix.reshape(1, -1))[0])


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
    if rivals.min() < 0 or rivals.max() >= problem.candidates:
        return "a multiplier names a rival that does not exist"
    own = np.flatnonzero(rivals == problem.targets[facts])
    if own.size:
        return f"fact {facts[own[0]]} is not its own rival"
    return ""


def _gamma(terms: int) -> float:
    return terms * _UNIT / (1 - terms * _UNIT)
