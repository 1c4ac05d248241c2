"""The program as a user runs it: each run a process of its own, with its exit code and its streams.

Importing takes longer than most commands. A run is therefore forked from a process that has imported what
commands import and compile, and has done nothing else. ``run_file`` starts the installed script itself.

Run as a script, this file is that process: it reads a request a line, and answers with the exit code.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib
import io
import json
import os
import pkgutil
import re
import select
import subprocess
import sys
import tempfile
import threading
import traceback
from pathlib import Path

PROGRAM = str(Path(sys.executable).parent / "simonides")

PATIENCE = 600
"""Seconds after which a command counts as hung, however busy the machine."""

_HEAVY = ("torch", "dask")
"""What few commands import, and not at all where it is not installed."""

_DRAWING = (
    "matplotlib.figure",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_svg",
)
"""What commands import once they draw."""


def run(
    *arguments: str,
    cwd: object = None,
    env: dict[str, str] | None = None,
    before: str = "",
) -> subprocess.CompletedProcess[str]:
    """Run a command, in some folder and environment; ``before`` is Python that its process runs first."""
    with tempfile.TemporaryDirectory() as folder:
        streams = [Path(folder, name) for name in ("output", "errors")]
        for stream in streams:
            stream.touch()
        request = {
            "arguments": arguments,
            "cwd": str(cwd or Path.cwd()),
            "environment": dict(env or os.environ),
            "before": before,
            "streams": [str(stream) for stream in streams],
        }
        code = _ask(json.dumps(request))
        output, errors = (stream.read_text() for stream in streams)
    return subprocess.CompletedProcess(arguments, code, output, errors)


def documented(command: str) -> set[str]:
    """Return the keys of a command's JSON that the page of commands lists."""
    page = (Path(__file__).parents[1] / "docs" / "commands.md").read_text()
    section = page.split(f"## `simonides {command}`")[1].split("\n## ")[0]
    return set(re.findall(r"`(\w+)`", section[section.index("\nJSON") :]))


def run_file(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    """Run the installed script."""
    return subprocess.run(
        [PROGRAM, *arguments],
        capture_output=True, text=True, timeout=PATIENCE, check=False, **options,
    )  # fmt: skip


@functools.cache
def _server() -> subprocess.Popen[str]:
    server = subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    atexit.register(server.communicate)  # which closes its input, so that it ends
    return server


def _ask(request: str) -> int:
    server = _server()
    server.stdin.write(f"{request}\n")
    server.stdin.flush()
    if not select.select([server.stdout], [], [], PATIENCE)[0]:
        server.kill()
        raise TimeoutError(f"{request}: hung")
    return int(server.stdout.readline())


def _serve() -> dict | None:
    """Return a request in a process of its own, and nothing once there are no more."""
    for line in sys.stdin.buffer:
        child = os.fork()
        if child == 0:
            return json.loads(line)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
    return None


class _Absent:
    """Finds the heavy packages missing."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        if name in _HEAVY:
            raise ModuleNotFoundError(name)


def _import_all() -> None:
    """Import every module of the package, but for those that need a heavy one."""
    sys.meta_path.insert(0, _Absent)
    for name in ("simonides", *_DRAWING):
        importlib.import_module(name)
    package = sys.modules["simonides"]
    for module in pkgutil.walk_packages(package.__path__, "simonides."):
        if not module.name.endswith("__main__"):
            with contextlib.suppress(ModuleNotFoundError):
                importlib.import_module(module.name)
    from simonides.cli.app import app

    with contextlib.redirect_stdout(io.StringIO()):  # what a first command imports, or compiles
        for command in ("capacity --dim 2", "decide --dim 3 --facts 4"):
            app(command.split(), standalone_mode=False)
    sys.meta_path.remove(_Absent)


def _become(request: dict) -> None:
    """Take the place, the environment, the streams and the arguments of a run."""
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = [PROGRAM, *request["arguments"]]
    named = request["environment"].get("PYTHONPATH", "").split(os.pathsep)
    sys.path[1:1] = [folder for folder in named if folder and folder not in sys.path]
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, path in enumerate(request["streams"], start=1):
        os.dup2(os.open(path, os.O_WRONLY), number)
    sys.stdin = os.fdopen(0)


def _exit_code(before: str) -> int:
    from simonides.cli import main

    try:
        exec(before, {})
        main()
    except SystemExit as ended:
        return int(ended.code or 0)
    except BaseException:  # noqa: BLE001 - as the interpreter itself does
        traceback.print_exc()
        return 1
    return 0


def _end_with(code: int) -> None:
    """End as the interpreter does, but for taking apart all that was imported."""
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    sys.path[0] = str(Path(PROGRAM).parent)
    _import_all()
    gc.freeze()  # so that runs share its memory
    if request := _serve():
        _become(request)
        _end_with(_exit_code(request["before"]))
