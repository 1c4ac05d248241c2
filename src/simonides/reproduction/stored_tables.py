"""Tables stored between runs, known by what they were computed from and by a digest of their content."""

from __future__ import annotations

import hashlib
import json
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from simonides import __version__
from simonides.curves.table import Table
from simonides.writing import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Tables = dict[str, Table]


def stored(path: Path, settings: str, seed: int, compute: Callable[[], Tables]) -> Tables:
    """Return the tables of an earlier run, or compute and store them.

    An earlier run counts if it had this version, these settings and this seed; otherwise its file is
    replaced. A damaged file is moved to ``quarantine``, with a warning, and computed anew.
    """
    key = _digest({"version": __version__, "settings": settings, "seed": seed})
    content = _content(path)
    if content is not None and content.get("key") == key:
        return {part: _read(table) for part, table in content["tables"].items()}
    tables = compute()
    written = {part: _written(table) for part, table in tables.items()}
    whole = {
        "version": __version__,
        "settings": settings,
        "seed": seed,
        "key": key,
        "digest": _digest(written),
        "tables": written,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(whole, indent=1).encode())
    return tables


def _content(path: Path) -> dict[str, Any] | None:
    """Return what a file holds, or None if there is none, or none that is whole."""
    if not path.exists():
        return None
    try:
        content = json.loads(path.read_bytes())
    except ValueError:  # neither JSON nor, perhaps, text
        content = None
    if isinstance(content, dict) and content.get("digest") == _digest(content.get("tables")):
        return content
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
    return {
        "name": table.name,
        "title": table.title,
        "columns": columns,
        "settings": dict(table.settings),
    }


def _read(written: dict[str, Any]) -> Table:
    columns = {name: np.array(values) for name, values in written["columns"].items()}
    return Table(written["name"], written["title"], columns, written["settings"])
