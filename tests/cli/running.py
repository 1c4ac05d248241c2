"""The program, run as a user runs it."""

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from program import PATIENCE, PROGRAM, run

__all__ = ["PROGRAM", "run"]


def answer(*arguments: str, **options: object) -> dict:
    done = run(*arguments, "--json", **options)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


def refused(*arguments: str, **options: object) -> str:
    """Return the one line with which bad input is refused."""
    return refusal(run(*arguments, **options))


def refusal(done: subprocess.CompletedProcess[str]) -> str:
    """Return the one line of a run that was refused."""
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("simonides: ")
    return done.stderr.removeprefix("simonides: ")


def start(*arguments: str, before: str = "", **options: object) -> subprocess.Popen[str]:
    """Start the program in its own group, where the keyboard's interrupt reaches it.

    ``before`` is Python that its process runs first.
    """
    program = [sys.executable, "-c", f"{before}\nfrom simonides.cli import main; main()"]
    return subprocess.Popen(
        [*(program if before else [PROGRAM]), *arguments],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        **{"stderr": subprocess.PIPE, **options},
    )


def wait_until(condition: Callable[[], bool]) -> None:
    """Return once something is so; it takes as long as a busy machine needs."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.01)


def interrupt(process: subprocess.Popen[str]) -> None:
    """Send what Ctrl-C sends: the signal to all processes of the group."""
    os.killpg(process.pid, signal.SIGINT)


def watched(*arguments: str, until: str | None = None) -> tuple[int, str, str]:
    """Run with a terminal to show progress on; interrupt it once that shows some words.

    Return the exit code, what was printed and what the terminal showed.
    """
    ours, theirs = pty.openpty()
    shown, pressed = "", False
    with start(*arguments, stderr=theirs) as process:
        os.close(theirs)
        with contextlib.suppress(OSError):  # how a terminal says that the other side is closed
            while more := os.read(ours, 4096).decode():
                shown += more
                if until is not None and until in shown and not pressed:
                    interrupt(process)
                    pressed = True
        os.close(ours)
        printed, _ = process.communicate(timeout=PATIENCE)
    return process.returncode, printed, shown


NOTING = """
from contextlib import contextmanager
from pathlib import Path
from simonides.cli import progress

@contextmanager
def noting(line, *, quiet, live=progress.live):
    with live(line, quiet=quiet) as show:
        numbers = iter(range(1, 10**6))
        def watch(item):
            Path(f"step-{next(numbers)}").touch()
            return show(item)
        yield watch

progress.live = noting
"""
"""Makes a command leave a file behind at each step of its progress."""


def interrupted_record(folder: Path, *arguments: str) -> dict:
    """Return the JSON of a run that was interrupted after its third step."""
    with start(*arguments, "--json", before=NOTING, cwd=folder) as process:
        wait_until(lambda: (folder / "step-3").exists() or process.poll() is not None)
        interrupt(process)
        printed, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (130, "simonides: interrupted\n"), printed
    return json.loads(printed)
