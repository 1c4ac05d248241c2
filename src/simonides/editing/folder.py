"""An edited model in a folder that ``transformers`` loads, with the change, its proof and a record.

``change.safetensors`` holds the difference of the weights in double precision, so that it can be taken off
again exactly; ``certificate.npz`` and ``keys.npz`` the proof and what it is about, whose outputs are the
model's own head.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import math
import secrets
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simonides import arguments
from simonides.certificate import ChangeCertificate, ChangeVerification, verify_change
from simonides.editing.language_model import LanguageModel
from simonides.interrupts import HOLD
from simonides.problems.original import OriginalProblem
from simonides.reading import read_arrays, read_json
from simonides.tensor_files import read_tensors
from simonides.writing import flush, replacing, write_arrays, write_whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simonides.arrays import Reals

RECORD, CHANGE, PROOF, KEYS = "edit.json", "change.safetensors", "certificate.npz", "keys.npz"

_KIND = "edit of a language model by simonides"
"""What the record of an earlier edit says it is: such a folder may be replaced."""


def check_folder(path: str | Path) -> Path:
    """Return where an edit can be written: a folder that is new, empty or an earlier edit."""
    place = Path(path)
    if place.is_symlink() or (place.exists() and not place.is_dir()):
        raise arguments.refuse("out", str(path), "a folder", "it is none; choose another")
    if not place.parent.is_dir():
        remedy = f"create {place.parent} first"
        raise arguments.refuse("out", str(path), "in a folder that exists", remedy)
    if place.exists() and any(place.iterdir()) and not _is_ours(place):
        raise arguments.refuse(
            "out", str(path), "a folder that is new, empty or an earlier edit", "choose another"
        )
    return place


def _is_ours(place: Path) -> bool:
    record = place / RECORD
    return record.is_file() and read_json(record).get("kind") == _KIND


def save(
    path: str | Path,
    model: LanguageModel,
    change: Reals,
    certificate: ChangeCertificate | None,
    problem: OriginalProblem | None,
    record: dict[str, Any],
) -> Path:
    """Write everything beside the folder, and put it in its place at the end."""
    with _new_folder(path) as part:
        _write_network(part, model, change)
        _write_change(part / CHANGE, model.weight_name, change)
        if certificate is not None and problem is not None:
            certificate.save(part / PROOF)
            keys = {"inputs": problem.inputs.astype(np.float32), "targets": problem.targets}
            write_arrays(part / KEYS, keys)
        content = {
            "kind": _KIND,
            "model": model.source,
            "weight": model.weight_name,
            "before": _digest(model),
            **_plain(record),
        }
        write_whole(part / RECORD, json.dumps(content, indent=1, allow_nan=False).encode())
    return Path(path)


@contextlib.contextmanager
def _new_folder(path: str | Path) -> Iterator[Path]:
    """Yield a folder that is in its place, whole, once the block has ended well, and gone otherwise."""
    place = check_folder(path)
    part = place.with_name(f".{place.name}.{secrets.token_hex(8)}.part")
    part.mkdir()
    try:
        yield part
        flush(part)
        with HOLD:
            _take_place(part, place)
    finally:
        with HOLD:
            shutil.rmtree(part, ignore_errors=True)


def undo_edit(path: str | Path, out: str | Path) -> Path:
    """Take an edit off again and write the model as it was, bit for bit in single precision.

    Parameters
    ----------
    path : path
        A folder that :meth:`Edit.save` wrote.
    out : path
        Folder for the model: new, empty, or an earlier edit, which is replaced.

    Returns
    -------
    Path
        The folder written.

    Raises
    ------
    BadArgumentError
        For a folder that holds no edit, or whose weights are no longer those that were written.

    Examples
    --------
    >>> undo_edit("edited", "as_before")  # doctest: +SKIP
    """
    place = check_folder(out)
    model, change = _edited(path)
    if change is None:
        again = "take the model that was edited instead"
        raise arguments.refuse("edit", str(path), "as it was written", again)
    with _new_folder(place) as part:
        _write_network(part, model, -change)
    return place


def _edited(path: str | Path) -> tuple[LanguageModel, Reals | None]:
    """Return the model in a folder and its change, None if that does not lead back to what was edited."""
    place = Path(path)
    if not place.is_dir() or not _is_ours(place):
        raise arguments.refuse(
            "edit", str(path), "a folder that 'simonides edit' wrote", "pass another"
        )
    model, tensors = LanguageModel.load(place), read_tensors(place / CHANGE)[0]
    change = tensors.get(model.weight_name)
    if change is None or change.shape != model.weight.shape:
        return model, None
    before = read_json(place / RECORD).get("before")
    with model.changed(-change):
        return model, change if _digest(model) == before else None


def _digest(model: LanguageModel) -> str:
    """Return the digest of all weights of a model, as it is now."""
    digest = hashlib.sha256()
    for name, weights in sorted(model.network.named_parameters()):
        digest.update(name.encode() + weights.detach().numpy().astype("<f4").tobytes())
    return digest.hexdigest()


def verify_edit(path: str | Path) -> ChangeVerification:
    """Check the proof of an edit in a folder against the model in it.

    Parameters
    ----------
    path : path
        A folder that :meth:`Edit.save` wrote.

    Returns
    -------
    ChangeVerification
        Whether every fact's token wins in exact arithmetic, and bounds on the length of this change and of
        any other. Not valid if the change in the folder is not that of the proof, or the weights there are
        not those of before with the change.

    Raises
    ------
    BadArgumentError
        For a folder that holds no edit.

    Examples
    --------
    >>> verify_edit("edited").valid  # doctest: +SKIP
    True
    """
    place = Path(path)
    model, change = _edited(place)
    if change is None:
        reason = "the weights are not those of before and the change"
        return ChangeVerification(False, reason=reason)
    if not (place / PROOF).exists():
        return ChangeVerification(False, reason="there is no certificate")
    certificate = ChangeCertificate.load(place / PROOF)
    if not np.array_equal(change, certificate.weights):
        return ChangeVerification(False, reason="the change written is not that of the proof")
    keys = read_arrays(place / KEYS, known=("inputs", "targets"))
    inputs = keys["inputs"].astype(np.float64)
    return verify_change(certificate, OriginalProblem(inputs, model.outputs(), keys["targets"]))


def _write_network(part: Path, model: LanguageModel, change: Reals) -> None:
    """Write the edited network and its tokenizer as ``transformers`` does."""
    with model.changed(change), contextlib.redirect_stderr(io.StringIO()):  # bars of its own
        model.network.save_pretrained(str(part))
    model.tokenizer.save_pretrained(str(part))


def _write_change(path: Path, name: str, change: Reals) -> None:
    from safetensors.numpy import save as packed

    with replacing(path) as file:
        file.write(packed({name: np.ascontiguousarray(change)}))


def _take_place(part: Path, place: Path) -> None:
    """Put a folder in the place of one that is empty, or of an earlier edit."""
    if place.exists() and any(place.iterdir()):
        former = part.with_suffix(".former")
        place.rename(former)
        part.rename(place)
        shutil.rmtree(former)
    else:
        part.replace(place)


def _plain(record: dict[str, Any]) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in record.items()
    }
