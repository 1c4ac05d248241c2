"""The command line: parsing and printing only."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # nothing is imported before main minds Ctrl-C
if TYPE_CHECKING:
    from typing import Any

_BAD_INPUT = 2  # as shells say that a command was used wrongly
INTERRUPTED = 130  # 128 and the number of SIGINT, as shells count


def main() -> None:
    """Run the command line: exit 0 with an answer, 2 with one line on bad input."""
    try:
        code = _run()
    except KeyboardInterrupt:  # also while the commands are being imported
        code = INTERRUPTED
    if code == INTERRUPTED:
        sys.stderr.write("simonides: interrupted\n")
    raise SystemExit(code)


def _run() -> int:
    import warnings

    import typer

    from simonides.cli.app import app
    from simonides.cli.output import print_error
    from simonides.failures import BadArgumentError, ConvergenceError
    from simonides.interrupts import PRESSES, is_interrupt

    PRESSES.listen()
    # Where in the program a warning arose says nothing to its user.
    warnings.showwarning = lambda message, *_: print_error(str(message))

    # Typer exports only a leaf of its family of usage errors; the root is two steps up.
    usage_error: Any = typer.BadParameter.__mro__[2]
    code = _BAD_INPUT
    try:
        code = app(standalone_mode=False) or 0
    except (BrokenPipeError, SystemExit) as error:
        # What prints for us makes an end of its own of a reader that has left.
        if not isinstance(error.__context__ or error, BrokenPipeError):
            raise
        # Nothing to say, also not at interpreter shutdown.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except usage_error as error:
        print_error(f"{_misuse(error)}: see '{_command()} --help'")
    except BadArgumentError as error:
        print_error(str(error))
    except OSError as error:
        print_error(_of_file(error))
    except MemoryError as error:
        print_error(f"out of memory: {str(error) or 'no more to be had'}: ask for less at once")
    except ConvergenceError as error:
        print_error(str(error))
        code = 1
    except (SystemError, typer.Abort) as error:
        if isinstance(error.__cause__, EOFError):  # the parser takes every end of a file for Ctrl-C
            raise error.__cause__ from None
        if not (isinstance(error, typer.Abort) or is_interrupt(error)):
            raise
        code = INTERRUPTED
    return code


def _misuse(error: Any) -> str:
    """Say what was used wrongly, with the value, which not every parser names."""
    from itertools import pairwise

    text: str = error.format_message().rstrip(".")
    names = getattr(getattr(error, "param", None), "opts", ())
    words = [part for word in sys.argv[1:] for part in word.split("=", 1)]
    values = [value for name, value in pairwise(words) if name in names]
    return f"{text} ({values[-1]!r} was given)" if values and values[-1] not in text else text


def _command() -> str:
    """Return the command that was asked for, which not every error of its options knows."""
    from typer.main import get_command

    from simonides.cli.app import app

    path: list[str] = ["simonides"]
    place: Any = get_command(app)
    for word in sys.argv[1:]:
        place = getattr(place, "commands", {}).get(word)
        path += [word] if place else []
    return " ".join(path)


def _of_file(error: OSError) -> str:
    """Say which file it was about, what the system found, and what to do."""
    if error.filename is None or error.strerror is None:
        return str(error)
    remedy = "check the path" if isinstance(error, FileNotFoundError) else "choose another file"
    return f"file = {error.filename!r} cannot be used: {error.strerror}: {remedy}"
