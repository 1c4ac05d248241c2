"""A memory on disk: arrays by name and a line of JSON. Nothing in a file is ever executed.

A method of one's own is named in it, and is not imported until it is to store.
``.npz`` always, ``.safetensors`` with the library of that name. Archives are written without compression,
and one that would unpack to more than its own size is refused before anything is allocated.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simonides import arguments
from simonides.certificate import Certificate, Claim
from simonides.memory.facts import Facts
from simonides.memory.storing import capacity_for
from simonides.problems import checked
from simonides.reading import expecting, limit, parse_json, read_arrays
from simonides.tensor_files import read_tensors
from simonides.writing import replacing, write_arrays

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from simonides.memory.estimator import AssociativeMemory

_FORMAT = 1
"""Of files that are written; others are refused."""

_NOTE = "simonides"
"""Name of the line of JSON among the arrays."""

_ENDINGS = (".npz", ".safetensors")

_PROOF = ("weights", "left", "right", "pair_facts", "pair_rivals", "multipliers")
"""Arrays of a certificate; in a file their names begin with ``proof_``."""


@dataclass(frozen=True, eq=False)
class Saved:
    """What a file holds: named arrays, and the rest as plain JSON values."""

    arrays: Mapping[str, Any]
    note: Mapping[str, Any]


def write(path: str | Path, saved: Saved) -> Path:
    """Write arrays and note, whole or not at all; the ending of the path chooses the format."""
    path = _checked(path)
    note = json.dumps({"format": _FORMAT, **saved.note})
    arrays = {name: np.ascontiguousarray(array) for name, array in saved.arrays.items()}
    if path.suffix == ".npz":
        write_arrays(path, {_NOTE: np.array(note), **arrays})
    else:
        content = _save_safetensors()(arrays, metadata={_NOTE: note})
        with replacing(path) as file:
            file.write(content)
    return path


def read(path: str | Path) -> Saved:
    """Read arrays and note, refusing what ``write`` did not write."""
    path = _checked(path)
    if not path.is_file():
        raise arguments.refuse("path", str(path), "a file", "save a memory there first")
    with expecting_memory(path):
        if path.suffix == ".npz":
            arrays = note = read_arrays(path, compressed=False)
        else:
            arrays, note = read_tensors(path)
        note = parse_json(str(note.pop(_NOTE)))
        version = note.pop("format")
    if version != _FORMAT:
        raise arguments.refuse("format", version, str(_FORMAT), "write the file again")
    return Saved(arrays, note)


def expecting_memory(path: str | Path) -> AbstractContextManager[None]:
    """Return what turns whatever reading a memory raises into one refusal."""
    return expecting("path", path, "a memory written by save", "pass another file")


def _save_safetensors() -> Any:
    try:
        import safetensors.numpy
    except ModuleNotFoundError as missing:
        if missing.name != "safetensors":
            raise
        raise arguments.refuse(
            "path", ".safetensors", ".npz without the library safetensors", arguments.install("hf")
        ) from None
    return safetensors.numpy.save


def _checked(path: str | Path) -> Path:
    path = arguments.file_name("path", path)
    if path.suffix not in _ENDINGS:
        raise arguments.refuse("path", str(path), f"ending in {_ENDINGS}", "choose a format")
    if not path.parent.is_dir():
        raise arguments.refuse("path", str(path), "in a folder that exists", "make it first")
    if path.is_dir():
        raise arguments.refuse("path", str(path), "a file, not a folder", "choose another name")
    return path


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
    arrays |= layers(memory.weights_, memory.factors_)
    proof = memory.certificate_
    note: dict[str, Any] = {
        "params": {name: _plain(value) for name, value in params.items()},
        "dim_in": memory.n_features_in_,
        "features": list(getattr(memory, "feature_names_in_", ())),
        "classes": _plain_labels(memory.classes_),
        "n_iter": memory.n_iter_,
        "proof": None if proof is None else [str(proof.claim), proof.fingerprint],
    }
    for name in _PROOF if proof is not None else ():
        value = getattr(proof, name)
        if value is not None:
            arrays[f"proof_{name}"] = value
    return Saved(arrays, note)


def layers(weights: Any, factors: tuple[Any, Any] | None) -> dict[str, Any]:
    """Return the arrays of a map: its weights, or its two factors, with them where these are too small.

    A file that becomes far larger than it is will not be read.
    """
    if factors is None:
        return {"weights": weights}
    small = weights.nbytes > limit(sum(factor.nbytes for factor in factors))
    return {"left": factors[0], "right": factors[1]} | ({"weights": weights} if small else {})


def unpacked(saved: Saved, blank: AssociativeMemory) -> AssociativeMemory:
    """Return the memory that was packed, built on an unfitted one.

    What is missing or of another kind raises as it happens to; who knows the file names it.
    """
    arrays, note = saved.arrays, saved.note
    memory: AssociativeMemory = blank.set_params(**note["params"])
    dim_in = arguments.whole("dim_in", note["dim_in"], remedy="save it again")
    steps = arguments.whole("n_iter", note["n_iter"], least=0, remedy="save it again")
    outputs = checked.matrix("outputs", arrays["outputs"])
    targets = arrays["targets"]
    targets = checked.indices("targets", targets, size=len(targets), below=len(outputs))
    failed = arrays["failed"]
    failed = checked.indices("failed", failed, size=len(failed), below=max(1, len(targets)))
    if not np.all(np.diff(failed) > 0):
        raise ValueError("a fact is listed twice as failed")
    weights, factors = _layers(arrays, (outputs.shape[1], dim_in))
    proof = None
    if note["proof"] is not None:
        claim, fingerprint = note["proof"]
        parts = {name: arrays.get(f"proof_{name}") for name in _PROOF}
        proof = Certificate(Claim(claim), str(fingerprint), **parts)
        if (proof.claim is Claim.STORABLE) == bool(len(failed)):
            raise ValueError("its proof is not of what is stored")
    features = _features(note.get("features"), dim_in)
    classes = note.get("classes")
    if classes is not None and len(set(_plain_labels(np.array(classes)) or ())) != len(outputs):
        raise ValueError("its labels are not those of its outputs")
    inputs = arrays.get("inputs")
    if inputs is not None:
        inputs = checked.matrix("inputs", inputs, columns=dim_in)
        if len(inputs) != len(targets):
            raise arguments.refuse(
                "inputs.shape", inputs.shape, f"with {len(targets)} rows", "save it again"
            )
    recipe = memory._recipe()
    shape_only = np.broadcast_to(0.0, (len(targets), dim_in))
    capacity = capacity_for(Facts(shape_only, outputs, targets), recipe)
    memory.n_features_in_ = dim_in
    if features:
        memory.feature_names_in_ = np.array(features, dtype=object)
    memory.weights_, memory.factors_ = weights, factors
    memory.outputs_, memory.inputs_, memory.targets_ = outputs, inputs, targets
    memory.classes_ = None if classes is None else np.array(classes)
    memory.failed_, memory.n_stored_ = failed, len(targets) - len(failed)
    memory.certificate_, memory.n_iter_ = proof, steps
    memory.capacity_, memory.load_ = capacity, capacity.setting.load(len(targets))
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
    size = 8 * shape[0] * shape[1]
    if size > limit(sum(array.nbytes for array in arrays.values())):
        raise ValueError(f"its factors would become a matrix of {size:,} bytes")
    return left @ right.T, (left, right)


def _plain_labels(classes: Any) -> list[Any] | None:
    """Return labels as JSON holds them, or refuse those it does not."""
    if classes is None:
        return None
    labels = list(classes.tolist())
    if not all(isinstance(label, str | int | float) for label in labels):
        raise arguments.refuse("classes_", labels, "numbers or text to be saved", "convert them")
    return labels


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
