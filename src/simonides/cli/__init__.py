"""The command line: parsing and printing only."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

_BAD_INPUT = 2
INTERRUPTED = 130


def main() -> None:
    """Run the command line: exit 0 with an answer, 2 with one line on bad input."""
    import typer

    from simonides.cli.app import app
    from simonides.failures import BadArgumentError, ConvergenceError
    from simonides.interrupts import PRESSES, is_interrupt

    PRESSES.listen()
    warnings.showwarning = _note  # type: ignore[assignment]

    # Typer exports only a leaf of its family of usage errors; the root is two steps up.
    usage_error: Any = typer.BadParameter.__mro__[2]
    try:
        code = app(standalone_mode=False)
    except BrokenPipeError:
        # The reader has left: nothing to say, also not at interpreter shutdown.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except usage_error as error:
        code = _complain(f"{error.format_message().rstrip('.')}: see 'simonides --help'")
    except BadArgumentError as error:
        code = _complain(str(error))
    except OSError as error:
        code = _complain(_of_file(error))
    except MemoryError as error:
        code = _complain(
            f"out of memory: {str(error) or 'no more to be had'}: ask for less at once"
        )
    except ConvergenceError as error:
        _complain(str(error))
        code = 1
    except (KeyboardInterrupt, SystemError, typer.Abort) as error:
        if isinstance(error.__cause__, EOFError):  # the parser takes every end of a file for Ctrl-C
            raise error.__cause__ from None
        if not (isinstance(error, typer.Abort) or is_interrupt(error)):
            raise
        code = INTERRUPTED
    if code == INTERRUPTED:
        sys.stderr.write("simonides: interrupted\n")
    raise SystemExit(code or 0)


def _of_file(error: OSError) -> str:
    """Say which file it was about, what the system found, and what to do."""
    if error.filename is None or error.strerror is None:
        return str(error)
    remedy = "check the path" if isinstance(error, FileNotFoundError) else "choose another file"
    return f"file = {error.filename!r} cannot be used: {error.strerror}: {remedy}"


def _note(message: Warning | str, *_: Any) -> None:
    """Show a warning as a line: where in the program it arose says nothing to its user."""
    sys.stderr.write(f"simonides: {' '.join(str(message).split())}\n")


def _complain(reason: str) -> int:
    sys.stderr.write(f"simonides: {' '.join(reason.split())}\n")
    return _BAD_INPUT
