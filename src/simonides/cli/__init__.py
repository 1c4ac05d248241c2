"""The command line: parsing and printing only."""

from __future__ import annotations

import os
import sys
from typing import Any

_INTERRUPTED = 130


def main() -> None:
    """Run the command line: exit 0 with an answer, 2 with one line on bad input."""
    import typer

    from simonides.cli.app import app

    # Typer exports only a leaf of its family of usage errors; the root is two steps up.
    usage_error: Any = typer.BadParameter.__mro__[2]
    try:
        code = app(standalone_mode=False)
    except (ValueError, OSError, usage_error) as error:
        if isinstance(error, BrokenPipeError):
            # The reader has left: nothing to say, also not at interpreter shutdown.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(0) from None
        reason = str(error)
        if isinstance(error, usage_error):
            reason = f"{error.format_message().rstrip('.')}: see 'simonides --help'"
        sys.stderr.write(f"simonides: {' '.join(reason.split())}\n")
        raise SystemExit(2) from None
    except (KeyboardInterrupt, typer.Abort):
        code = _INTERRUPTED
    if code == _INTERRUPTED:
        sys.stderr.write("simonides: interrupted\n")
    raise SystemExit(code or 0)
