"""Running sweeps as a user runs them, and comparing what they leave."""

import hashlib
import json
import os
import subprocess
import time
from pathlib import Path

import program
from program import PROGRAM

from simonides.experiments.record import TIMES
from simonides.experiments.sweep import arrays, rows, status


def write_spec(path, *, solver="hebbian", **keys):
    """Write a spec of a few quick tasks, but for what is said otherwise."""
    spec = {"problem": "original", "dims": [6], "facts": [5, 9], "instances": 3, "seed": 1, **keys}
    spec["solvers"] = [solver]
    path.write_text("".join(f"{key} = {toml(value)}\n" for key, value in spec.items()))
    return path


def toml(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def patient(path, **keys):
    """Write a spec of which every second task waits for a file ``go`` beside it."""
    solver = {"name": "patience:waiting", "folder": str(path.parent)}
    return write_spec(path, solver=solver, **keys)


def at_work(folder, number=1):
    """Wait until so many processes are in the middle of a task, and return them."""

    def processes():
        marks = [int(mark.name.split("-")[1]) for mark in folder.glob("process-*")]
        return marks if len(marks) >= number else None

    return wait_until(processes)


ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join(
        filter(None, (str(Path(__file__).parent), os.environ.get("PYTHONPATH")))
    ),
}
"""In which the methods of these tests can be imported."""

TEN = {"facts": [40, 41], "instances": 5}
"""Tasks enough to run out of room after some of them."""

ONE_BY_ONE = "from simonides.experiments import local; local._QUICK = 0"
"""Makes a sweep keep each task by itself, however quick."""


def command(spec, out, *flags):
    return [PROGRAM, "sweep", "run", str(spec), "--out", str(out), *flags]


def run_sweep(spec, out, *flags, **options):
    """Run a sweep, on one process unless it is said otherwise: each takes seconds to start."""
    if not {"--workers", "--dask"} & set(flags):
        flags = (*flags, "--workers", "1")
    return program.run(*command(spec, out, *flags)[1:], env=ENVIRONMENT, **options)


def start(spec, out, *flags):
    """Start a sweep, in a process group of its own as a shell does."""
    return subprocess.Popen(
        command(spec, out, *flags),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env=ENVIRONMENT,
    )  # fmt: skip


def wait_until(condition, seconds=600):
    """Return what the condition returns once it is true; it takes as long as a busy machine needs."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        answer = condition()
        if answer:
            return answer
        time.sleep(0.02)
    raise TimeoutError("it did not come to pass")


def wait_for(process, out, number):
    """Wait until a running sweep has done some tasks."""
    wait_until(lambda: done(out) >= number or process.poll() is not None)
    assert done(out) >= number, process.communicate()


def done(out):
    """Return how many tasks are done, 0 before there is a run."""
    return status(out).done if (Path(out) / "run.json").exists() else 0


def children(pid):
    """Return the processes that a process started and that still run."""
    running = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            running.append(int(entry.name))
    return running


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def same_measurements(left, right):
    """Return whether runs of patient specs, which name folders of their own, measured the same."""
    columns = ["facts", "instance", "accuracy", "rival_mean"]
    return rows(left).select(columns).equals(rows(right).select(columns))


def same_results(one, other):
    """Return whether two runs hold the same, bit for bit, in all columns but the times."""
    tables = [(rows(out).drop_columns(list(TIMES)), arrays(out)) for out in (one, other)]
    return all(left.equals(right) for left, right in zip(*tables, strict=True))


def fingerprint(folder):
    """Return the digest of every file under a folder."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file()
    }
