"""A Dask cluster on loopback: a real scheduler and real workers, in processes of their own."""

import contextlib
import json
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import distributed
import pytest
from program import PATIENCE
from sweeping import (
    ENVIRONMENT,
    at_work,
    patient,
    run_sweep,
    same_measurements,
    start,
    wait_for,
    wait_until,
    write_spec,
)

from simonides.experiments.sweep import rows

pytestmark = pytest.mark.slow

DASK = [str(Path(sys.executable).parent / "dask")]
ONE_THREAD = {**ENVIRONMENT, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


class Cluster:
    """A scheduler and its workers, ended with the test."""

    def __init__(self, folder, **environment):
        self._folder = folder
        self._environment = {**ONE_THREAD, **environment}
        self._processes = []
        self.file = folder / "scheduler.json"
        self.scheduler = self._start(
            "scheduler", "--port", "0", "--host", "127.0.0.1", "--no-dashboard",
            "--scheduler-file", str(self.file),
        )  # fmt: skip
        self.address = wait_until(self._address)

    def _address(self):
        try:
            return json.loads(self.file.read_text())["address"]
        except (FileNotFoundError, ValueError):
            return None

    def worker(self, threads=1, name="worker", **environment):
        """Start a worker that nobody starts again when it dies."""
        return self._start(
            "worker", self.address, "--no-nanny", "--nthreads", str(threads), "--no-dashboard",
            "--local-directory", str(self._folder / name), **environment,
        )  # fmt: skip

    def joined(self, number):
        """Wait until so many workers have joined."""
        with distributed.Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(number, timeout=PATIENCE)

    def _start(self, *arguments, **environment):
        with (self._folder / "log.txt").open("ab") as log:
            process = subprocess.Popen(
                [*DASK, *arguments],
                stdout=log,
                stderr=log,
                env={**self._environment, **environment},
            )
        self._processes.append(process)
        return process

    def end(self):
        for process in reversed(self._processes):
            process.kill()
            process.wait()


IMPATIENT = "from simonides.experiments import cluster; cluster._PATIENCE = 1"
"""Makes a run give up soon on a scheduler or a worker that is not there."""


@pytest.fixture
def cluster(tmp_path):
    folder = tmp_path / "cluster"
    folder.mkdir()
    cluster = Cluster(folder)
    yield cluster
    cluster.end()


@pytest.fixture(scope="module")
def waited(tmp_path_factory):
    """What a local run makes of tasks that might have waited and did not."""
    folder = tmp_path_factory.mktemp("waited")
    (folder / "go").touch()
    assert run_sweep(patient(folder / "spec.toml"), folder / "run").returncode == 0
    return folder / "run"


def test_a_cluster_that_loses_a_worker_measures_the_same_bit_for_bit(cluster, waited, tmp_path):
    spec, out = patient(tmp_path / "spec.toml"), tmp_path / "remote"
    victim = cluster.worker()
    cluster.worker(threads=2)
    process = start(spec, out, "--dask", cluster.address, "--json")
    at_work(tmp_path, 2)
    victim.kill()
    victim.wait()
    (tmp_path / "go").touch()
    output, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors
    tally = json.loads(output)
    assert (tally["done"], tally["failed"], tally["total"]) == (6, 0, 6)
    assert same_measurements(waited, out)


def test_a_task_that_workers_die_of_is_a_record(waited, tmp_path):
    spec, out = patient(tmp_path / "spec.toml"), tmp_path / "remote"
    cluster = Cluster(tmp_path, DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0")
    try:
        victim = cluster.worker(threads=4)  # so that tasks which wait leave one for the others
        process = start(spec, out, "--dask", cluster.address, "--json")
        wait_for(process, out, 3)
        at_work(tmp_path)
        cluster.worker()
        victim.kill()
        victim.wait()
        (tmp_path / "go").touch()
        output, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 1, errors  # some tasks failed
        tally = json.loads(output)
        failed = tally["failed"]
        assert 1 <= failed <= 3
        assert tally["done"] == 6 - failed
        assert tally["reasons"] == [f"{failed} x killed: the workers that took it died"]
        again = run_sweep(spec, out, "--dask", cluster.address, "--retry-failed", "--json")
        assert json.loads(again.stdout)["failed"] == 0, again.stderr
    finally:
        cluster.end()
    assert same_measurements(waited, out)


def test_a_lost_scheduler_loses_nothing_that_was_kept(cluster, waited, tmp_path):
    spec, out = patient(tmp_path / "spec.toml"), tmp_path / "remote"
    cluster.worker(threads=4)
    process = start(spec, out, "--dask", cluster.address)
    wait_for(process, out, 3)
    at_work(tmp_path)
    cluster.scheduler.kill()
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2, errors
    assert "Traceback" not in errors
    assert "scheduler" in errors
    assert "was lost" in errors
    assert rows(out).num_rows == 3
    (tmp_path / "go").touch()
    assert run_sweep(spec, out).returncode == 0  # the rest here
    assert same_measurements(waited, out)


def test_workers_without_the_package_are_left_out_in_one_line(cluster, waited, tmp_path):
    spec = patient(tmp_path / "spec.toml")
    # A module of that name which is not the package: what they cannot import they say.
    (tmp_path / "simonides.py").write_text("raise ImportError\n")
    bare = {"PYTHONPATH": str(tmp_path)}
    first = cluster.worker(name="bare", **bare)
    alone = run_sweep(spec, tmp_path / "alone", "--dask", cluster.address)
    assert alone.returncode == 2
    assert "a cluster whose workers have simonides" in alone.stderr.splitlines()[-1]
    assert "Traceback" not in alone.stderr
    cluster.worker()
    cluster.joined(2)
    process = start(spec, tmp_path / "remote", "--dask", cluster.address)
    wait_for(process, tmp_path / "remote", 1)
    cluster.worker(name="late", **bare)
    (tmp_path / "go").touch()
    _, errors = process.communicate(timeout=PATIENCE)
    assert first.poll() is None
    assert process.returncode == 0, errors
    assert "Traceback" not in errors
    left_out = [line for line in errors.splitlines() if "is left out" in line]
    assert 1 <= len(left_out) <= 2
    assert all("lacks simonides" in line for line in left_out)
    assert same_measurements(waited, tmp_path / "remote")


def test_a_cluster_without_workers_is_said_and_an_interrupt_ends_it(cluster, waited, tmp_path):
    spec = patient(tmp_path / "spec.toml")
    out = tmp_path / "remote"
    victim = cluster.worker()
    process = start(spec, out, "--dask", cluster.address)
    wait_for(process, out, 1)
    victim.kill()
    said = ""
    while "has no workers: waiting for one" not in said:
        said = process.stderr.readline()
        assert said, "it ended"
    process.send_signal(signal.SIGINT)
    printed, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "Interrupted" in printed
    without = run_sweep(spec, out, "--dask", cluster.address, before=IMPATIENT)
    assert without.returncode == 2  # no worker comes in time
    assert "a scheduler with workers" in without.stderr
    (tmp_path / "go").touch()
    assert run_sweep(spec, out).returncode == 0
    assert same_measurements(waited, out)


@pytest.mark.parametrize(
    "greeting", [b"", b"SSH-2.0-OpenSSH_9.2\r\n" * 3, b"HTTP/1.1 400 Bad\r\n\r\n"]
)
def test_a_server_that_is_no_scheduler_is_refused(tmp_path, greeting):
    spec = write_spec(tmp_path / "spec.toml")
    with socket.create_server(("127.0.0.1", 0)) as server:

        def greet():
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    connection.sendall(greeting)
                    kept.append(connection)

        kept = []
        threading.Thread(target=greet, daemon=True).start()
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        ended = run_sweep(spec, tmp_path / "run", "--dask", address, before=IMPATIENT)
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"simonides: dask = {address!r} must be")
    assert ended.stderr.count("\n") == 1
    assert "Traceback" not in ended.stderr


def test_an_address_without_a_scheduler_is_refused(tmp_path):
    spec = write_spec(tmp_path / "spec.toml")
    for address in ("nonsense", "ftp://127.0.0.1:8786", "tcp://127.0.0.1:9"):
        assert not (tmp_path / "run").exists()
        ended = run_sweep(spec, tmp_path / "run", "--dask", address, before=IMPATIENT)
        assert ended.returncode == 2
        assert ended.stderr.startswith(f"simonides: dask = {address!r} must be")
        assert ended.stderr.count("\n") == 1
        assert "dask scheduler" in ended.stderr
        assert "Traceback" not in ended.stderr
