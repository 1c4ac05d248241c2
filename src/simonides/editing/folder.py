"""An edited model in a folder that ``transformers`` loads, with its proof, a record, and the way back.

``before.safetensors`` holds the matrices as they were; ``certificate.npz`` the proof, and ``keys.npz`` what
it is about: keys, the tokens that the model reads them from, and those that are to follow; outputs are the
model's own head. The record has digests of all weights as they were and of the configuration.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import json
import math
import secrets
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simonides import arguments
from simonides.certificate import ChangeCertificate, ChangeVerification, verify_change
from simonides.editing import adapter as adapters
from simonides.editing.language_model import LanguageModel
from simonides.editing.middle import applied
from simonides.interrupts import HOLD
from simonides.problems.original import OriginalProblem
from simonides.reading import expecting, read_arrays, read_bytes, read_json
from simonides.tensor_files import read_tensors
from simonides.writing import flush, replacing, sync, write_arrays, write_whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simonides.arrays import Reals
    from simonides.editing.outcome import Edit

RECORD, BEFORE, FACTS = "edit.json", "before.safetensors", "facts.csv"
PROOF, KEYS, CONFIG = "certificate.npz", "keys.npz", "config.json"

_KIND = "edit of a language model by simonides"
"""What the record of an edit says it is."""

MOST_TOKENS = 2**21
"""Of the prefixes of all facts: a hundred thousand facts of twenty tokens, hours for a small model."""

_KINDS = {"inputs": "f", "targets": "i", "tokens": "i", "lengths": "i"}
"""Of the arrays of keys, as numpy names them: what is written is floats and whole numbers."""

_ROUNDING = 1e-3
"""Of the largest: keys of other prompts differ by per cents, of the same in other company by rounding."""


def check_folder(path: str | Path) -> Path:
    """Return where a folder can be written: new or empty, in a folder that can be written to."""
    place = Path(path)
    if place.is_symlink() or (place.exists() and not place.is_dir()):
        raise arguments.refuse("out", str(path), "a folder", "it is none; choose another")
    if (place.exists() and any(place.iterdir())) or not place.name:
        condition = "a folder that is new or empty"
        raise arguments.refuse("out", str(path), condition, "choose another, or empty it first")
    if not place.parent.is_dir():
        remedy = f"create {place.parent} first"
        raise arguments.refuse("out", str(path), "in a folder that exists", remedy)
    with _part(place):  # a disk that cannot be written to says so now, and not after an hour
        return place


@contextlib.contextmanager
def _part(place: Path) -> Iterator[Path]:
    """Yield a folder beside another, for what is to become that; at the end it is gone."""
    part = place.with_name(f".{place.name}.{secrets.token_hex(8)}.part")
    part.mkdir()
    try:
        yield part
    finally:
        with HOLD:
            shutil.rmtree(part, ignore_errors=True)


@contextlib.contextmanager
def _new_folder(path: str | Path) -> Iterator[Path]:
    """Yield a folder that is in its place, whole, once the block has ended well, and gone otherwise."""
    place = check_folder(path)
    with _part(place) as part:
        yield part
        flush(part)
        # An empty folder lets this happen, and one that is filled by now does not.
        part.replace(place)
        sync(place.parent)


def save(path: str | Path, outcome: Edit, *, adapter: bool = False) -> Path:
    """Write everything beside the folder, and put it in its place at the end."""
    model, problem, certificate = outcome.model, outcome.problem, outcome.certificate
    if adapter and (outcome.factors is None or outcome.middle is not None):
        condition = "that of a change of the last layer alone whose rank is bounded"
        raise arguments.refuse("adapter", adapter, condition, "edit with a rank such as 8")
    after = None
    with _new_folder(path) as part:
        if adapter and outcome.factors is not None:
            factors = adapters.singles(outcome.factors)
            adapters.write(part, model, factors)
            if certificate is not None and problem is not None:
                certificate = replace(certificate, weights=adapters.product(factors))
                outcome = replace(outcome, proved=verify_change(certificate, problem).facts)
        else:
            with applied(outcome.middle, model), model.changed(outcome.weights):
                _write_network(part, model)
                after = _digest(model)
            changed = [model] if outcome.middle is None else [model, model.at(outcome.middle.layer)]
            _write_tensors(part / BEFORE, {each.weight_name: each.weight for each in changed})
        _write_facts(part / FACTS, outcome)
        if certificate is not None and problem is not None:
            certificate.save(part / PROOF)
            tokens = [token for prefix in outcome.prefixes for token in prefix]
            keys = {
                "inputs": problem.inputs.astype(np.float32),
                "targets": problem.targets,
                "tokens": np.array(tokens, np.int64),
                "lengths": np.array([len(prefix) for prefix in outcome.prefixes], np.int64),
            }
            write_arrays(part / KEYS, keys)
        content = {
            "kind": _KIND,
            "model": adapters.source(model) if adapter else model.source,
            "weight": model.weight_name,
            "before": _digest(model),
            "after": after,
            "config": _file_digest(part / (adapters.CONFIG if adapter else CONFIG)),
            **_plain(outcome.record()),
        }
        write_whole(part / RECORD, json.dumps(content, indent=1, allow_nan=False).encode())
    return Path(path)


def undo_edit(path: str | Path, out: str | Path) -> Path:
    """Take an edit off again and write the model with the weights it had.

    Parameters
    ----------
    path : path
        A folder that :meth:`Edit.save` wrote.
    out : path
        Folder for the model, new or empty.

    Returns
    -------
    Path
        The folder written.

    Raises
    ------
    BadArgumentError
        For a folder that holds no edit, or one that has been changed since.

    Examples
    --------
    >>> undo_edit("edited", "as_before")  # doctest: +SKIP
    """
    place = check_folder(out)
    model, before = _edited(Path(path))
    if before is None:
        again = "it has been changed since: go on from the original model"
        raise arguments.refuse("edit", str(path), "as it was written", again)
    with _new_folder(place) as part, model.replaced(before):
        _write_network(part, model)
    return place


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
        any other. Not valid either if the change in the folder is not that of the proof, the model has been
        changed otherwise, or, run on the facts' tokens, does not have these keys or does not recall them.

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
    adapter = (place / adapters.CONFIG).exists()
    model, before = _bare(place) if adapter else _edited(place)
    if before is None:
        reason = "the model is not that of before with the change of these matrices"
        return ChangeVerification(False, reason=reason)
    if not adapter and _digest(model) != _record(place).get("after"):
        reason = "the model has been changed since it was written"
        return ChangeVerification(False, reason=reason)
    if not (place / PROOF).exists():
        return ChangeVerification(False, reason="there is no certificate")
    certificate = ChangeCertificate.load(place / PROOF)
    running: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
    last = before[model.weight_name].astype(np.float64)
    if adapter:
        factors = adapters.read(place, model)
        certificate = replace(certificate, weights=adapters.product(factors))
        running = adapters.applied(model, factors)
    elif not np.array_equal(model.weight - last, certificate.weights):
        return ChangeVerification(False, reason="the change is not that of the proof")
    with expecting("file", place / KEYS, "the keys of an edit", "pass a folder as it was written"):
        keys = _keys(place / KEYS)
        inputs = keys["inputs"].astype(np.float64)
        problem = OriginalProblem(inputs, model.outputs(), keys["targets"])
        prefixes = _prefixes(keys["tokens"], keys["lengths"], problem.facts, model.longest)
    verification = verify_change(certificate, problem)
    with running:
        flaw = _unlike(model, certificate, problem, prefixes) if verification.valid else ""
    return ChangeVerification(False, reason=flaw) if flaw else verification


def _record(place: Path) -> dict[str, Any]:
    """Return the record of an edit."""
    record = read_json(place / RECORD) if (place / RECORD).is_file() else {}
    if record.get("kind") != _KIND:
        raise arguments.refuse(
            "edit", str(place), "a folder that 'simonides edit' wrote", "pass another"
        )
    return record


def _bare(place: Path) -> tuple[LanguageModel, dict[str, Any] | None]:
    """Return the model that an adapter is for and its matrix, None if it has been changed since."""
    record = _record(place)
    model = LanguageModel.load(str(record.get("model")))
    same = _digest(model) == record.get("before")
    same = same and _file_digest(place / adapters.CONFIG) == record.get("config")
    return model, {model.weight_name: model.weight} if same else None


def _edited(place: Path) -> tuple[LanguageModel, dict[str, Any] | None]:
    """Return the model in a folder and its matrices as they were, None if anything else was changed."""
    record = _record(place)
    if (place / adapters.CONFIG).exists():
        remedy = "load the model without it"
        raise arguments.refuse("edit", str(place), "an edited model, and no adapter", remedy)
    model, before = LanguageModel.load(place), read_tensors(place / BEFORE)[0]
    shapes = {name: weight.shape for name, weight in model.network.named_parameters()}
    whole = all(
        weight.dtype == np.float32 and weight.shape == shapes.get(name)
        for name, weight in before.items()
    )
    if not whole or model.weight_name not in before:
        return model, None
    with model.replaced(before):
        same = _digest(model) == record.get("before")
    same = same and _file_digest(place / CONFIG) == record.get("config")
    return model, before if same else None


def _keys(path: Path) -> dict[str, Any]:
    """Return the arrays of keys, which are not compressed, so that a small file is little work."""
    keys = read_arrays(path, known=_KINDS, compressed=False)
    for name, array in keys.items():
        if array.dtype.kind != _KINDS[name]:
            raise ValueError(f"its {name} are {array.dtype}, which are not written so")
    return keys


def _prefixes(tokens: Any, lengths: Any, facts: int, longest: int) -> list[tuple[int, ...]]:
    """Return the tokens before each fact; raise ``ValueError`` if these are none, or too many to be run."""
    tokens, lengths = (array.ravel().astype(np.int64) for array in (tokens, lengths))
    if np.any(lengths > longest):
        raise ValueError(f"a fact has {lengths.max():,} tokens, more than {longest:,}")
    if len(tokens) > MOST_TOKENS:
        raise ValueError(f"its facts have {len(tokens):,} tokens, more than {MOST_TOKENS:,}")
    whole = len(lengths) == facts and np.all(lengths > 0) and lengths.sum() == len(tokens)
    if not whole or np.any(tokens < 0):
        raise ValueError("its tokens are not those of its facts")
    ends = np.cumsum(lengths)
    return [tuple(tokens[end - n : end].tolist()) for end, n in zip(ends, lengths, strict=True)]


def _unlike(
    model: LanguageModel,
    certificate: ChangeCertificate,
    problem: OriginalProblem,
    prefixes: list[tuple[int, ...]],
) -> str:
    """Return what the edited model, run, does unlike the proof says, nothing if it agrees."""
    keys, streams = model.read(prefixes)
    images = certificate.offsets + problem.inputs @ certificate.weights.T
    for now, then in ((keys, problem.inputs), (streams, images)):
        if not np.abs(now - then).max() <= _ROUNDING * np.abs(then).max():
            return "the model does not have these keys after the tokens of the facts"
    missing = np.count_nonzero(np.array(model.next_tokens(prefixes)) != problem.targets)
    return f"the model, run, does not recall {missing:,} of the facts" if missing else ""


def _digest(model: LanguageModel) -> str:
    """Return the digest of all weights of a model, as it is now."""
    digest = hashlib.sha256()
    for name, weights in sorted(model.network.named_parameters()):
        digest.update(name.encode() + weights.detach().numpy().astype("<f4").tobytes())
    return digest.hexdigest()


def _file_digest(path: Path) -> str:
    return hashlib.sha256(read_bytes(path)).hexdigest()


def _write_network(part: Path, model: LanguageModel) -> None:
    """Write the network as it is now and its tokenizer as ``transformers`` does."""
    with contextlib.redirect_stderr(io.StringIO()):  # bars of its own
        model.network.save_pretrained(str(part))
    model.tokenizer.save_pretrained(str(part))


def _write_tensors(path: Path, weights: dict[str, Reals]) -> None:
    from safetensors.numpy import save as packed

    single = {
        name: np.ascontiguousarray(weight, dtype=np.float32) for name, weight in weights.items()
    }
    with replacing(path) as file:
        file.write(packed(single))


def _write_facts(path: Path, outcome: Edit) -> None:
    """Write the facts as they were given, in a form that can be changed and stored again."""
    text = io.StringIO(newline="")
    rows = csv.writer(text)
    names = ("prompt", "answer", "subject")
    columns = names if any(statement.subject for statement in outcome.statements) else names[:2]
    rows.writerow(columns)
    rows.writerows([getattr(each, name) for name in columns] for each in outcome.statements)
    write_whole(path, text.getvalue().encode())


def _plain(record: dict[str, Any]) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in record.items()
    }
