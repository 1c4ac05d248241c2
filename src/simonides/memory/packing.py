"""A fitted memory as named arrays and plain values, and back, with everything checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from simonides import arguments
from simonides.certificate import Certificate, Claim
from simonides.memory.facts import Facts
from simonides.memory.files import Saved
from simonides.memory.storing import setting_of
from simonides.problems import checked
from simonides.theory.capacity import capacity_of

if TYPE_CHECKING:
    from simonides.memory.estimator import AssociativeMemory

_PROOF = ("weights", "left", "right", "pair_facts", "pair_rivals", "multipliers")


def packed(memory: AssociativeMemory, *, facts: bool) -> Saved:
    """Return what a memory is, with or without the inputs it was fitted on."""
    params = memory.get_params()
    state = params["random_state"]
    if state is not None and not isinstance(state, int | np.integer):
        raise arguments.refuse(
            "random_state", state, "an integer or None to be saved", "set one with set_params"
        )
    arrays = {"outputs": memory.outputs_, "targets": memory.targets_, "failed": memory.failed_}
    if facts and memory.inputs_ is not None:
        arrays["inputs"] = np.asarray(memory.inputs_)
    if memory.factors_ is None:
        arrays["weights"] = memory.weights_
    else:
        arrays["left"], arrays["right"] = memory.factors_
    proof = memory.certificate_
    note: dict[str, Any] = {
        "params": {name: _plain(value) for name, value in params.items()},
        "dim_in": memory.n_features_in_,
        "features": list(getattr(memory, "feature_names_in_", ())),
        "n_iter": memory.n_iter_,
        "proof": None if proof is None else [str(proof.claim), proof.fingerprint],
    }
    for name in _PROOF if proof is not None else ():
        value = getattr(proof, name)
        if value is not None:
            arrays[f"proof_{name}"] = value
    return Saved(arrays, note)


def unpacked(saved: Saved, blank: AssociativeMemory) -> AssociativeMemory:
    """Return the memory that was packed, built on an unfitted one.

    What is missing or of another kind raises as it happens to; who knows the file names it.
    """
    arrays, note = saved.arrays, saved.note
    memory: AssociativeMemory = blank.set_params(**note["params"])
    dim_in, steps, claimed = int(note["dim_in"]), int(note["n_iter"]), note["proof"]
    outputs = checked.matrix("outputs", arrays["outputs"])
    targets = arrays["targets"]
    targets = checked.indices("targets", targets, size=len(targets), below=len(outputs))
    failed = arrays["failed"]
    failed = checked.indices("failed", failed, size=len(failed), below=max(1, len(targets)))
    weights, factors = _layers(arrays, (outputs.shape[1], dim_in))
    proof = None
    if claimed is not None:
        claim, fingerprint = claimed
        parts = {name: arrays.get(f"proof_{name}") for name in _PROOF}
        proof = Certificate(Claim(claim), str(fingerprint), **parts)
    features = _features(note.get("features"), dim_in)
    inputs = arrays.get("inputs")
    if inputs is not None:
        inputs = checked.matrix("inputs", inputs, columns=dim_in)
        if len(inputs) != len(targets):
            raise arguments.refuse(
                "inputs.shape", inputs.shape, f"with {len(targets)} rows", "save it again"
            )
    recipe = memory._recipe()
    shape_only = np.broadcast_to(0.0, (len(targets), dim_in))
    setting = setting_of(Facts(shape_only, outputs, targets), recipe)
    memory.n_features_in_ = dim_in
    if features:
        memory.feature_names_in_ = np.array(features, dtype=object)
    memory.weights_, memory.factors_ = weights, factors
    memory.outputs_, memory.inputs_, memory.targets_ = outputs, inputs, targets
    memory.failed_, memory.n_stored_ = failed, len(targets) - len(failed)
    memory.certificate_, memory.n_iter_ = proof, steps
    memory.capacity_, memory.load_ = capacity_of(setting), setting.load(len(targets))
    return memory


def _features(names: Any, dim_in: int) -> list[str]:
    """Return the names of the columns, none where they had none or the file is older than these."""
    if not names:
        return []
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise TypeError("its features are no list of names")
    if len(names) != dim_in:
        raise arguments.refuse("features", len(names), f"{dim_in} names", "save it again")
    return names


def _layers(arrays: Any, shape: tuple[int, int]) -> tuple[Any, tuple[Any, Any] | None]:
    if "left" not in arrays:
        weights = checked.matrix("weights", arrays["weights"])
        if weights.shape != shape:
            raise arguments.refuse("weights.shape", weights.shape, str(shape), "save it again")
        return weights, None
    left = checked.matrix("left", arrays["left"])
    right = checked.matrix("right", arrays["right"], columns=left.shape[1])
    if (len(left), len(right)) != shape:
        raise arguments.refuse(
            "factors", (left.shape, right.shape), f"of a {shape} matrix", "save it again"
        )
    return left @ right.T, (left, right)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
