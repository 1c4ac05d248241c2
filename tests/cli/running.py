"""The program, run as a user runs it."""

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

_PATIENCE = 600
"""Seconds after which a command counts as hung, however busy the machine."""

PROGRAM = str(Path(sys.executable).parent / "simonides")


def run(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAM, *arguments],
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        check=False,
        **options,
    )


def answer(*arguments: str) -> dict:
    done = run(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


def refused(*arguments: str, **options: object) -> str:
    """Return the one line with which bad input is refused."""
    done = run(*arguments, **options)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("simonides: ")
    return done.stderr.removeprefix("simonides: ")


def start(*arguments: str, **options: object) -> subprocess.Popen[str]:
    """Start the program in its own group, where the keyboard's interrupt reaches it."""
    return subprocess.Popen(
        [PROGRAM, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        **{"stderr": subprocess.PIPE, **options},
    )


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
        printed, _ = process.communicate(timeout=60)
    return process.returncode, printed, shown


def interrupted_record(*arguments: str) -> dict:
    """Return the JSON of a run that was interrupted; sooner is tried first, and may be too soon."""
    for wait in (4, 8, 16, 32):
        with start(*arguments, "--json") as process:
            time.sleep(wait)
            interrupt(process)
            printed, errors = process.communicate(timeout=60)
        assert process.returncode == 130, f"{printed}{errors}: it ended before the interrupt"
        assert errors == "simonides: interrupted\n"
        if printed:
            return json.loads(printed)
    raise AssertionError("it had no answer after all that time")
