"""Tables stored between runs, known by what they were computed from and by a digest of their content."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from simonides import __version__
from simonides.curves.table import Table
from simonides.reading import UnreadableFileError, expecting, read_json
from simonides.writing import write_whole

Tables = dict[str, Table]


def stored(path: Path, settings: str, seed: int, compute: Callable[[], Tables]) -> Tables:
    """Return the tables of an earlier run, or compute and store them.

    An earlier run counts if it had this version, these settings and this seed; otherwise its file is
    replaced. A damaged file is moved to ``quarantine``, with a warning, and computed anew.
    """
    origin = {"version": __version__, "settings": settings, "seed": seed}
    key = _digest(origin)
    before = _read(path, key)
    if before is not None:
        return before
    tables = compute()
    content = {part: _written(table) for part, table in tables.items()}
    whole = {**origin, "key": key, "digest": _digest(content), "tables": content}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(whole, indent=1).encode())
    return tables


def _read(path: Path, key: str) -> Tables | None:
    """Return the tables of a file with this key, or None if there is none, or none that is whole."""
    if not path.exists():
        return None
    try:
        with expecting("file", path, "a file of tables", "it is computed anew"):
            content = read_json(path, constants=True)
            if content["digest"] != _digest(content["tables"]):
                raise ValueError("its digest is that of other tables")
            same = content["key"] == key
            return (
                {part: _table(**table) for part, table in content["tables"].items()}
                if same
                else None
            )
    except UnreadableFileError:
        aside = path.parent / "quarantine" / path.name
        aside.parent.mkdir(exist_ok=True)
        path.replace(aside)
        warnings.warn(
            f"{path} is damaged: it was moved to {aside.parent} and is computed anew", stacklevel=4
        )
        return None


def _digest(content: Any) -> str:
    plain = json.dumps(content, sort_keys=True)
    return hashlib.blake2b(plain.encode(), digest_size=16).hexdigest()


def _written(table: Table) -> dict[str, Any]:
    columns = {name: np.asarray(values).tolist() for name, values in table.columns.items()}
    return {**vars(table), "columns": columns, "settings": dict(table.settings)}


def _table(columns: dict[str, list[float]], **words: Any) -> Table:
    return Table(columns={name: np.array(v, dtype=float) for name, v in columns.items()}, **words)
