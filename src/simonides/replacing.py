"""Files that are there whole or not at all: an older one stays until the new one is complete."""

from __future__ import annotations

import secrets
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Yield where to write what is to take the place of ``path`` once the block has ended well."""
    whole = Path(path).resolve()  # what a link points to
    # A name that nobody knows, and a file that was not there: no link is followed, no writer met.
    part = whole.with_name(f".{secrets.token_hex(12)}")
    part.touch(exist_ok=False)
    try:
        yield part
        part.replace(whole)
    finally:
        part.unlink(missing_ok=True)
