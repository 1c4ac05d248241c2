"""A sweep's folder: what it says about itself, who writes to it, and what in it is ours.

``run.json`` holds format, version, spec, and what loads came to in facts. ``lock`` is held by the one
writer; the system keeps it, not the file, so that a run that was killed holds none.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from simonides import __version__, arguments, reading
from simonides.experiments.expand import Tasks, expand
from simonides.experiments.spec import Spec
from simonides.failures import BadArgumentError
from simonides.writing import leftovers, write_whole

FORMAT = 1
"""Of the folder; a reader of another number refuses it."""

KINDS = ("rows", "arrays")
"""The folders of shards."""

_HEADER = "run.json"
_UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
"""What a header of another shape raises on its way to a spec."""

_FOLDERS = ("quarantine", *KINDS)
_OWN = {"lock", _HEADER, *_FOLDERS}

_HOLDER = re.compile(rb"(process \d+)?")
"""All that a lock of ours ever holds."""

_MOST_READ = 64
"""Bytes of a lock to look at: more than "process" and any number, little of a file that is not ours."""


@dataclass(frozen=True)
class Header:
    """The contents of ``run.json``."""

    tasks: Tasks
    version: str = __version__

    def write(self, folder: Path) -> None:
        """Write it to a run's folder."""
        spec = self.tasks.spec
        content = {"format": FORMAT, "version": self.version, "spec": spec.mapping()}
        if not spec.facts:  # what loads came to, which follows from this version's theory
            content["facts"] = [list(facts) for facts in self.tasks.amounts.values()]
        write_whole(folder / _HEADER, json.dumps(content, indent=1).encode())


def read_header(folder: Path) -> Header | None:
    """Return a folder's header, or None if it has none."""
    try:
        content = reading.read_json(folder / _HEADER)
        made_by, version = content["format"], str(content["version"])
    except FileNotFoundError:
        return None
    except _UNREADABLE as error:
        raise _damaged(folder, error) from None
    if made_by != FORMAT:
        raise _refused(
            folder,
            f"a run of format {FORMAT}, not {made_by}",
            f"simonides {version} wrote it and can read it; nothing was changed",
        )
    try:
        return Header(_tasks(Spec.of(content["spec"]), content.get("facts")), version)
    except _UNREADABLE as error:
        if version != __version__:
            raise other_version(folder, version) from None
        raise _damaged(folder, error) from None


def _tasks(spec: Spec, facts: Sequence[Sequence[int]] | None) -> Tasks:
    """Return the tasks of a spec, at the numbers of facts that its run wrote down if it did."""
    tasks = expand(spec)
    if facts is None:
        return tasks
    places = [{int(number): place for place, number in enumerate(cell)} for cell in facts]
    return Tasks(spec, dict(zip(tasks.amounts, places, strict=True)))


def other_version(folder: Path, version: str) -> BadArgumentError:
    """Return the refusal to add to what another version measured."""
    return _refused(
        folder,
        f"a run of simonides {__version__}, not {version}",
        "start a new folder, or go on with that version; nothing was changed",
    )


def checked(folder: Path, strange: Callable[[Path], Sequence[Path]]) -> Path:
    """Return a folder for a sweep, made if need be; one with something else in it is refused.

    ``strange`` says what in the folders of a sweep is none of its own.
    """
    if folder.exists() and not folder.is_dir():
        raise _refused(folder, "a folder", "name one that may be written to")
    folder.mkdir(parents=True, exist_ok=True)
    for name in _FOLDERS:
        _refuse_link(folder / name)
    if (folder / _HEADER).exists():
        return folder
    ours = {*_OWN, *(path.name for path in leftovers(folder))}
    others = [path for path in folder.iterdir() if path.name not in ours]
    others = sorted(others) or [*strange(folder)]
    if others and not (folder / _HEADER).exists():  # which another run may have written by now
        name = str(others[0].relative_to(folder))
        raise _refused(folder, f"empty or the folder of a sweep, without {name!r}", "name another")
    return folder


def own_folder(folder: Path) -> Path:
    """Return a folder of ours, made if need be: what lies behind a link is somebody else's."""
    _refuse_link(folder)
    folder.mkdir(exist_ok=True)
    return folder


def _refuse_link(folder: Path) -> None:
    if folder.is_symlink():
        raise _refused(folder, "a folder, not a link", "name a folder of its own for the sweep")


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock, or refuse if another run holds it or the file is not ours."""
    handle = _opened(folder / "lock")
    try:
        holder = os.pread(handle, _MOST_READ, 0)
        if not _HOLDER.fullmatch(holder):
            raise _foreign(folder)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _refused(
                folder,
                "free",
                f"{holder.decode() or 'another process'} is running a sweep there; "
                "wait for it or choose another folder",
            ) from None
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"process {os.getpid()}".encode(), 0)
        yield
    finally:
        os.close(handle)


def _opened(path: Path) -> int:
    """Open a lock, made if need be; a link is not followed, and a pipe does not block."""
    try:
        handle = os.open(
            path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666
        )
    except OSError:
        if path.is_symlink() or path.is_dir():
            raise _foreign(path.parent) from None
        raise
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise _foreign(path.parent)
    return handle


def _foreign(folder: Path) -> BadArgumentError:
    return _refused(folder, "without a 'lock' that no sweep made", "name another")


def _damaged(folder: Path, error: Exception) -> BadArgumentError:
    remedy = (
        f"{reading.reason_of(error)}; remove that file and run the spec again, results are kept"
    )
    return _refused(folder, f"a run with a readable {_HEADER}", remedy)


def _refused(folder: Path, condition: str, remedy: str) -> BadArgumentError:
    return arguments.refuse("out", str(folder), condition, remedy)
