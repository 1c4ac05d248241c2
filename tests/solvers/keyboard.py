"""Interruptions as they come from the keyboard."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap

from program import PATIENCE

PREAMBLE = """\
import signal, threading
signal.signal(signal.SIGINT, signal.default_int_handler)
"""


def interrupt(code, after):
    """Run a program, interrupt it once it has printed so many lines, and return all it printed.

    It has to end by itself, without a word on the error stream.
    """
    child = subprocess.Popen(
        [sys.executable, "-c", PREAMBLE + textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        lines = [child.stdout.readline() for _ in range(after)]
        os.kill(child.pid, signal.SIGINT)
        rest, errors = child.communicate(timeout=PATIENCE)
    finally:
        child.kill()  # where it does not end, the test fails and nothing is left behind
    assert (child.returncode, errors) == (0, "")
    return "".join(lines) + rest
