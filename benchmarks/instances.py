"""Sixty small instances whose answers are stored, so that a change of the code shows what it changed.

``python -m benchmarks.instances record FILE`` solves all and stores the answers; ``compare FILE`` solves
them again and prints what differs. They cover both problems, bounds on the rank, shared targets, margins
and degenerate data, and the ways of storing beside ``decide``.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
import scipy
from numba.core.registry import cpu_target
from threadpoolctl import threadpool_info, threadpool_limits

from simonides import AssociativeMemory, DecoupledProblem, OriginalProblem, decide
from simonides.solvers.rules.hebbian import hebbian
from simonides.solvers.rules.pseudo_inverse import pseudo_inverse
from simonides.solvers.training.cross_entropy import cross_entropy
from simonides.solvers.training.gradient import gradient

if TYPE_CHECKING:
    from collections.abc import Callable

Answer = dict[str, Any]
"""What is stored about an instance: words, numbers, and digests of arrays."""

_DIGITS = 12
"""Digits of the numbers stored beside the digests: enough to see how far off an answer is."""

_SAME = 1e-3
"""Rules and a few steps of training agree to this fraction on another machine: rounding made a difference
of 1e-5 at most between three kinds of processor."""

_ARRAYS = ("weights", "left", "right", "pair_facts", "pair_rivals", "multipliers")
"""Arrays of a certificate."""


def _original(*sizes: int, seed: int = 0, **options: Any) -> Callable[[], Any]:
    return partial(OriginalProblem.gaussian, *sizes, seed=seed, **options)


def _decoupled(*sizes: int, seed: int = 0, **options: Any) -> Callable[[], Any]:
    return partial(DecoupledProblem.gaussian, *sizes, seed=seed, **options)


def _changed(
    facts: int, dim: int, change: Callable[[Any, Any], tuple[Any, Any]], seed: int = 0
) -> Callable[[], Any]:
    """Return how to draw a Gaussian problem and change its inputs and outputs."""

    def draw() -> OriginalProblem:
        problem = OriginalProblem.gaussian(facts, dim, seed=seed)
        inputs, outputs = change(problem.inputs.copy(), problem.outputs.copy())
        return OriginalProblem(inputs, outputs)

    return draw


def _repeated_outputs(inputs: Any, outputs: Any) -> tuple[Any, Any]:
    outputs[3] = outputs[1]
    return inputs, outputs


def _silent_input(inputs: Any, outputs: Any) -> tuple[Any, Any]:
    inputs[2] = 0
    return inputs, outputs


def _repeated_inputs(inputs: Any, outputs: Any) -> tuple[Any, Any]:
    inputs[4] = inputs[0]
    return inputs, outputs


def _opposite_inputs(inputs: Any, outputs: Any) -> tuple[Any, Any]:
    return np.concatenate((inputs, -inputs)), np.concatenate((outputs, outputs[::-1] + 1))


def _stretched(inputs: Any, outputs: Any) -> tuple[Any, Any]:
    return inputs * np.geomspace(1, 1e4, inputs.shape[1]), outputs


def _stretched_both(inputs: Any, outputs: Any) -> tuple[Any, Any]:
    scales = np.geomspace(1, 1e3, inputs.shape[1])
    return inputs * scales, outputs * scales[::-1]


def _shifted(inputs: Any, outputs: Any) -> tuple[Any, Any]:
    return inputs, outputs + 10


def _rescaled(inputs: Any, outputs: Any) -> tuple[Any, Any]:
    return inputs * 1e-60, outputs * 1e50


def _uneven_lengths(inputs: Any, outputs: Any) -> tuple[Any, Any]:
    # Powers by Python, one at a time: those of whole arrays end in other digits on other processors.
    lengths = [10.0**exponent for exponent in np.linspace(0, 3, len(inputs)).tolist()]
    return inputs * np.array(lengths)[:, None], outputs


def _flat(inputs: Any, outputs: Any) -> tuple[Any, Any]:
    inputs[:, 1:] = 0
    return inputs, outputs


def _few_directions(inputs: Any, outputs: Any) -> tuple[Any, Any]:
    outputs[:, 3:] = 0
    return inputs, outputs


DRAWN: dict[str, Callable[[], Any]] = {
    "original, 1 fact": _original(1, 3),
    "original, 2 facts": _original(2, 3),
    "original, 5 facts, 1 by 1": _original(5, 1),
    "original, 12 facts, 3 by 3": _original(12, 3),
    "original, 30 facts, 3 by 3": _original(30, 3),
    "original, 20 facts, 10 by 10": _original(20, 10),
    "original, 30 facts, 12 by 12": _original(30, 12, seed=1),
    "original, 75 facts, 20 by 20": _original(75, 20, seed=2),
    "original, 90 facts, 20 by 20": _original(90, 20, seed=3),
    "original, 130 facts, 30 by 30": _original(130, 30, seed=4),
    "original, 160 facts, 30 by 30": _original(160, 30, seed=5),
    "original, 25 facts, 20 by 5": _original(25, 5, 20, seed=6),
    "original, 30 facts, 6 by 25": _original(30, 25, 6, seed=7),
    "original, 1030 facts, 110 by 110": _original(1030, 110, seed=8),
    "original, 1400 facts, 40 by 40, 4 outputs": _original(1400, 40, seed=9, candidates=4),
    "original, 12 facts, 8 by 8, 2 outputs": _original(12, 8, seed=10, candidates=2),
    "original, 30 facts, 10 by 10, 3 outputs": _original(30, 10, seed=11, candidates=3),
    "original, 30 facts, 10 by 10, 5 outputs": _original(30, 10, seed=12, candidates=5),
    "original, 200 facts, 16 by 16, 8 outputs": _original(200, 16, seed=13, candidates=8),
    "original, 60 facts, 15 by 15, 40 outputs": _original(60, 15, seed=14, candidates=40),
    "original, 5 facts, 8 by 8, 200 outputs": _original(5, 8, seed=15, candidates=200),
    "original, 40 facts, 12 by 12, 150 outputs": _original(40, 12, seed=16, candidates=150),
    "decoupled, 1 fact": _decoupled(1, 3),
    "decoupled, 4 facts, 2 by 2": _decoupled(4, 2),
    "decoupled, 12 facts, 5 by 5": _decoupled(12, 5, seed=1),
    "decoupled, 25 facts, 10 by 10": _decoupled(25, 10, seed=2),
    "decoupled, 40 facts, 10 by 10": _decoupled(40, 10, seed=3),
    "decoupled, 70 facts, 20 by 20": _decoupled(70, 20, seed=4),
    "decoupled, 110 facts, 20 by 20": _decoupled(110, 20, seed=5),
    "decoupled, 30 facts, 12 by 6": _decoupled(30, 6, 12, seed=6),
    "decoupled, 90 facts, 10 by 10, 2 candidates": _decoupled(90, 10, seed=7, candidates=2),
    "decoupled, 60 facts, 12 by 12, 6 candidates": _decoupled(60, 12, seed=8, candidates=6),
    "decoupled, 18 facts, 12 by 12, 100 candidates": _decoupled(18, 12, seed=9, candidates=100),
    "decoupled, 1100 facts, 40 by 40, 3 candidates": _decoupled(1100, 40, seed=10, candidates=3),
    "equal outputs": _changed(10, 6, _repeated_outputs),
    "a zero input": _changed(10, 6, _silent_input, seed=1),
    "one input with two targets": _changed(10, 6, _repeated_inputs, seed=2),
    "opposite inputs": _changed(20, 8, _opposite_inputs, seed=3),
    "stretched inputs": _changed(30, 12, _stretched, seed=4),
    "stretched inputs and outputs": _changed(30, 12, _stretched_both, seed=5),
    "stretched, too many": _changed(60, 12, _stretched, seed=6),
    "outputs far from zero": _changed(30, 12, _shifted, seed=7),
    "very small inputs, very large outputs": _changed(30, 12, _rescaled, seed=8),
    "inputs of uneven length": _changed(30, 12, _uneven_lengths, seed=9),
    "inputs on a line": _changed(6, 4, _flat, seed=10),
    "outputs in three directions": _changed(8, 8, _few_directions, seed=11),
    "far beyond capacity, original": _original(600, 8, seed=17),
    "far beyond capacity, 4 outputs": _original(900, 8, seed=18, candidates=4),
    "far beyond capacity, decoupled": _decoupled(300, 6, seed=11),
}
"""How each problem is drawn."""

DECISIONS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in DRAWN},
    "rank 5": ("original, 20 facts, 10 by 10", {"rank": 5}),
    "rank 8": ("original, 30 facts, 12 by 12", {"rank": 8}),
    "rank 1, too small": ("original, 20 facts, 10 by 10", {"rank": 1, "max_steps": 60}),
    "rank 12, shared outputs": ("original, 60 facts, 15 by 15, 40 outputs", {"rank": 12}),
    "rank 6, decoupled": ("decoupled, 25 facts, 10 by 10", {"rank": 6}),
    "rank 2, far beyond capacity": ("far beyond capacity, original", {"rank": 2}),
    "margin to 1%, original": ("original, 30 facts, 12 by 12", {"margin_gap": 1e-2}),
    "margin to 0.1%, shared outputs": (
        "original, 60 facts, 15 by 15, 40 outputs",
        {"margin_gap": 1e-3},
    ),
    "margin to 1%, decoupled": ("decoupled, 25 facts, 10 by 10", {"margin_gap": 1e-2}),
    "margin to 1%, stretched": ("stretched inputs", {"margin_gap": 1e-2, "max_steps": 30}),
    "stopped after two steps": ("original, 90 facts, 20 by 20", {"max_steps": 2}),
}
"""What ``decide`` is asked: a problem and options."""

FITS: dict[str, tuple[str, dict[str, Any]]] = {
    "fit": ("original, 75 facts, 20 by 20", {}),
    "fit, too many": ("original, 20 facts, 10 by 10", {"margin": 1.0}),
    "fit, shared outputs": ("original, 30 facts, 10 by 10, 5 outputs", {}),
    "fit, whitened": ("stretched inputs", {"whiten": True}),
    "fit, outputs of unit length": ("original, 25 facts, 20 by 5", {"normalize_outputs": True}),
    "fit, margin": ("original, 20 facts, 10 by 10", {"method": "margin"}),
    "fit, low rank": ("original, 30 facts, 12 by 12", {"method": "low_rank", "rank": 8}),
    "fit, cross entropy": ("original, 20 facts, 10 by 10", {"method": "cross_entropy"}),
    "fit, pseudo-inverse": ("original, 75 facts, 20 by 20", {"method": "pseudo_inverse"}),
    "fit, Hebbian, rank 5": ("original, 25 facts, 20 by 5", {"method": "hebbian", "rank": 5}),
}
"""What ``AssociativeMemory`` is asked: a problem and parameters."""

METHODS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "Hebbian": ("original, 75 facts, 20 by 20", hebbian),
    "Hebbian, decoupled": ("decoupled, 40 facts, 10 by 10", hebbian),
    "pseudo-inverse": ("original, 75 facts, 20 by 20", pseudo_inverse),
    "pseudo-inverse with ridge": ("stretched inputs", partial(pseudo_inverse, ridge=0.1)),
    "cross entropy": ("original, 30 facts, 12 by 12", partial(cross_entropy, max_steps=30)),
    "cross entropy, decoupled": (
        "decoupled, 40 facts, 10 by 10",
        partial(cross_entropy, max_steps=30),
    ),
    "cross entropy, rank 6": (
        "original, 30 facts, 12 by 12",
        partial(cross_entropy, rank=6, max_steps=30),
    ),
    "gradient": ("original, 30 facts, 12 by 12", partial(gradient, max_steps=5)),
    "gradient, decoupled": ("decoupled, 40 facts, 10 by 10", partial(gradient, max_steps=5)),
}
"""Other ways of storing: a problem and the function."""

NAMES = (*DECISIONS, *FITS, *METHODS)
"""All instances."""


def solve(name: str) -> Answer:
    """Solve an instance, by one thread, and return what is to be stored about it."""
    with threadpool_limits(1, user_api="blas"):
        if name in DECISIONS:
            drawn, options = DECISIONS[name]
            return _decided(DRAWN[drawn](), options)
        if name in FITS:
            drawn, options = FITS[name]
            return _fitted(DRAWN[drawn](), options)
        drawn, method = METHODS[name]
        problem = DRAWN[drawn]()
        return {"problem": problem.fingerprint(), **_solved(method(problem))}


def _decided(problem: Any, options: dict[str, Any]) -> Answer:
    decision = decide(problem, threads=1, **options)
    answer = {
        "problem": problem.fingerprint(),
        "verdict": str(decision.verdict),
        "told_by": decision.told_by,
        "margin_lower": _rounded(decision.margin_lower),
        "margin_upper": _rounded(decision.margin_upper),
        **_solved(decision.solution),
        **_proved(decision.certificate),
    }
    if decision.told_by is not None:  # counts are about a few facts or about all
        del answer["recalled"], answer["smallest_gap"]
    return answer


def _fitted(problem: Any, options: dict[str, Any]) -> Answer:
    memory = AssociativeMemory(**options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is not stored is counted
        memory.fit(problem.inputs, outputs=problem.outputs, targets=problem.targets)
    return {
        "problem": problem.fingerprint(),
        "recalled": int(memory.n_stored_),
        "failed": _digest(memory.failed_),
        "steps": int(memory.n_iter_),
        **_array("weights", memory.weights_),
        **_proved(memory.certificate_),
    }


def _solved(solution: Any) -> Answer:
    factors = solution.factors or ()
    return {
        "status": str(solution.status),
        "recalled": int(solution.recalled),
        "steps": int(solution.steps),
        "smallest_gap": _rounded(solution.smallest_gap),
        "loss": None if solution.loss is None else _rounded(solution.loss),
        **_array("weights", solution.weights),
        **{f"factor {k}": _digest(factor) for k, factor in enumerate(factors)},
    }


def _proved(certificate: Any) -> Answer:
    if certificate is None:
        return {"claim": None}
    arrays = {name: getattr(certificate, name) for name in _ARRAYS}
    digests = {f"proof {name}": _digest(a) for name, a in arrays.items() if a is not None}
    return {"claim": str(certificate.claim), **digests}


def _array(name: str, values: Any) -> Answer:
    """Return an array's digest, and its length and a projection for where no digest can agree."""
    norm, waves = float(np.linalg.norm(values)), np.cos(np.arange(values.size))
    projection = float(values.ravel() @ waves) / norm if norm > 0 else 0.0
    return {name: _digest(values), f"norm of {name}": _rounded(norm), "projection": projection}


def _digest(values: Any) -> str:
    values = np.ascontiguousarray(values)
    head = f"{values.dtype} {values.shape}".encode()
    return "sha256 " + hashlib.sha256(head + values.tobytes()).hexdigest()


def _rounded(value: float) -> float | str:
    """Return a number of few digits, or the word for one that JSON has no number for."""
    return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else str(value)


def machine() -> dict[str, Any]:
    """Return what the last digits of a sum depend on beside the code."""
    blas = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    triple, processor, features = cpu_target.target_context.codegen().magic_tuple()
    return {
        "versions": [np.__version__, scipy.__version__, numba.__version__],
        "blas": sorted(f"{pool['version']} {pool.get('architecture')}" for pool in blas),
        "processor": [triple, processor, hashlib.sha256(features.encode()).hexdigest()[:16]],
    }


def differences(stored: Answer, answer: Answer, *, same_machine: bool) -> list[str]:
    """Return in what an answer differs from the one stored, each as "what: stored ..., now ...".

    On the same machine everything must be the same. On another one sums are rounded otherwise, and a
    search ends at other weights, after other steps; verdicts and counts must still be the same, brackets
    of the margin have to overlap, and what rules and training compute must agree to a few digits.
    """
    names = [*stored, *(name for name in answer if name not in stored)]
    searched = "claim" in stored
    unlike = [
        name
        for name in names
        if stored.get(name) != answer.get(name)
        and (same_machine or not _rounding(stored.get(name), answer.get(name), searched, name))
    ]
    changes = [f"{name}: stored {stored.get(name)}, now {answer.get(name)}" for name in unlike]
    if "verdict" in stored and "verdict" in answer:
        low = max(float(each["margin_lower"]) for each in (stored, answer))
        high = min(float(each["margin_upper"]) for each in (stored, answer))
        if low > high:
            changes.append(f"brackets of the margin do not overlap: {low} is above {high}")
    return changes


def _rounding(stored: Any, value: Any, searched: bool, name: str) -> bool:
    """Return whether two unequal values may differ by rounding alone."""
    if name.startswith("margin_") or name == "steps":
        return True
    if isinstance(stored, float) and isinstance(value, float):
        return searched or math.isclose(stored, value, rel_tol=_SAME, abs_tol=_SAME)
    digests = [isinstance(each, str) and each.startswith("sha256 ") for each in (stored, value)]
    return all(digests)


def record() -> dict[str, Any]:
    """Return the machine and the answers of all instances."""
    return {"machine": machine(), "answers": {name: solve(name) for name in NAMES}}


def main() -> None:
    """Record or compare."""
    if len(sys.argv) != 3 or sys.argv[1] not in ("record", "compare"):
        sys.exit("python -m benchmarks.instances record|compare FILE")
    path = Path(sys.argv[2])
    if sys.argv[1] == "record":
        path.write_text(json.dumps(record(), indent=1) + "\n")
        return
    stored = json.loads(path.read_text())
    same = stored["machine"] == machine()
    print("the machine of the record" if same else f"another machine: {machine()}")
    worse = 0
    for name in NAMES:
        changes = differences(stored["answers"][name], solve(name), same_machine=same)
        worse += bool(changes)
        for change in changes:
            print(f"{name}: {change}")
    sys.exit(f"{worse} of {len(NAMES)} differ" if worse else 0)


if __name__ == "__main__":
    main()
