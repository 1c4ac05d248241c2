"""What a run's folder says about itself: format, version, spec, and the tasks in their order."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simonides import __version__, arguments
from simonides.experiments.spec import Spec
from simonides.failures import BadArgumentError
from simonides.writing import write_whole

if TYPE_CHECKING:
    from pathlib import Path

FORMAT = 1
"""Of the folder; a reader of another number refuses it."""

_NAME = "run.json"


@dataclass(frozen=True)
class Header:
    """The contents of ``run.json``."""

    spec: Spec
    tasks: tuple[str, ...]
    version: str = __version__

    def write(self, folder: Path) -> None:
        """Write it to a run's folder."""
        content = {
            "format": FORMAT,
            "version": self.version,
            "spec": self.spec.mapping(),
            "tasks": self.tasks,
        }
        write_whole(folder / _NAME, json.dumps(content, indent=1).encode())


def read_header(folder: Path) -> Header | None:
    """Return a folder's header, or None if it has none."""
    path = folder / _NAME
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        made_by, version = content["format"], content["version"]
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError) as error:
        raise _damaged(path, error) from None
    if made_by != FORMAT:
        raise arguments.refuse(
            "out",
            str(folder),
            f"a run of format {FORMAT}, not {made_by}",
            f"simonides {version} wrote it and can read it; nothing was changed",
        )
    try:
        return Header(Spec.of(content["spec"]), tuple(content["tasks"]), version)
    except (BadArgumentError, TypeError, KeyError) as error:
        if version != __version__:
            raise other_version(folder, version) from None
        raise _damaged(path, error) from None


def other_version(folder: Path, version: str) -> BadArgumentError:
    """Return the refusal to add to what another version measured."""
    return arguments.refuse(
        "out",
        str(folder),
        f"a run of simonides {__version__}, not {version}",
        "start a new folder, or go on with that version; nothing was changed",
    )


def _damaged(path: Path, error: Exception) -> BadArgumentError:
    return arguments.refuse(
        "out",
        str(path.parent),
        f"a run with a readable {path.name}",
        f"{type(error).__name__}; remove that file and run the spec again, results are kept",
    )
