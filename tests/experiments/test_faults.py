"""Faults, each done for real: what was finished is kept, and running again completes it."""

import json
import os
import pty
import signal
import subprocess

import pytest
from sweeping import (
    ONE_BY_ONE,
    TEN,
    alive,
    at_work,
    children,
    command,
    done,
    fingerprint,
    patient,
    run_sweep,
    same_measurements,
    same_results,
    start,
    wait_for,
    wait_until,
    write_spec,
)

from simonides.experiments.sweep import rows, status

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """A run that nothing happened to, to compare with."""
    folder = tmp_path_factory.mktemp("undisturbed")
    spec = write_spec(folder / "spec.toml", **TEN)
    ended = run_sweep(spec, folder / "run", "--workers", "1", "--json")
    assert json.loads(ended.stdout)["done"] == 10
    assert ended.stderr == ""
    return folder


@pytest.fixture(scope="module")
def waited(tmp_path_factory):
    """A run of tasks that might have waited and did not."""
    folder = tmp_path_factory.mktemp("waited")
    (folder / "go").touch()
    assert run_sweep(patient(folder / "spec.toml"), folder / "run").returncode == 0
    return folder / "run"


def test_a_sweep_that_is_done_is_not_done_again(undisturbed):
    before = fingerprint(undisturbed / "run")
    ended = run_sweep(undisturbed / "spec.toml", undisturbed / "run", "--json")
    assert json.loads(ended.stdout)["done"] == 10
    after = fingerprint(undisturbed / "run")
    assert {**after, "lock": ""} == {**before, "lock": ""}


def test_results_do_not_depend_on_the_number_of_workers(undisturbed, tmp_path):
    assert run_sweep(undisturbed / "spec.toml", tmp_path, "--workers", "2").returncode == 0
    assert same_results(undisturbed / "run", tmp_path)


def test_killed_twice_it_loses_only_what_was_under_way(waited, tmp_path):
    spec, out = patient(tmp_path / "spec.toml"), tmp_path / "run"
    for kills in (1, 2):
        process = start(spec, out, "--workers", "1")
        at_work(tmp_path, kills)  # of each run the one process
        wait_for(process, out, 1)
        process.kill()
        process.communicate()
        assert (status(out).done, status(out).damaged) == (1, 0)
    (tmp_path / "go").touch()
    assert run_sweep(spec, out).returncode == 0
    assert same_measurements(waited, out)


def test_workers_end_with_a_run_that_is_killed_in_the_middle_of_a_task(tmp_path):
    spec = patient(tmp_path / "spec.toml", facts=[5], instances=2)
    process = start(spec, tmp_path / "run", "--workers", "2")
    workers = at_work(tmp_path, 2)
    process.kill()
    process.communicate()
    wait_until(lambda: not any(map(alive, workers)))
    assert status(tmp_path / "run").left == 2


def test_an_interrupt_keeps_what_is_finished(waited, tmp_path):
    spec = patient(tmp_path / "spec.toml")
    out = tmp_path / "run"
    process = start(spec, out, "--workers", "2")
    at_work(tmp_path)
    wait_for(process, out, 1)
    workers = children(process.pid)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    printed, errors = process.communicate()
    assert process.returncode == 130
    assert errors.endswith("simonides: interrupted\n")
    assert "Interrupted: what was finished by then is kept" in " ".join(printed.split())
    assert "Traceback" not in errors
    assert not any(map(alive, workers))
    finished = rows(out)
    assert set(finished["facts"].to_pylist()) == {9}  # those that do not wait
    assert set(finished["status"].to_pylist()) == {"done"}
    (tmp_path / "go").touch()
    assert run_sweep(spec, out).returncode == 0
    assert same_measurements(waited, out)


def test_two_runs_of_a_folder_are_refused_until_the_first_has_ended(waited, tmp_path):
    spec, out = patient(tmp_path / "spec.toml"), tmp_path / "run"
    first = start(spec, out, "--workers", "1")
    at_work(tmp_path)
    second = run_sweep(spec, out)
    assert second.returncode == 2
    assert second.stderr.count("\n") == 1
    assert f"process {first.pid} is running a sweep there" in second.stderr
    assert status(out).total == 6  # readers are not kept out
    first.kill()
    first.communicate()
    (tmp_path / "go").touch()
    third = run_sweep(spec, out)
    assert third.returncode == 0, third.stderr
    assert same_measurements(waited, out)


def test_a_killed_worker_costs_nothing(waited, tmp_path):
    spec = patient(tmp_path / "spec.toml")
    out = tmp_path / "run"
    process = start(spec, out, "--workers", "2", "--json")
    os.kill(at_work(tmp_path)[0], signal.SIGKILL)
    (tmp_path / "go").touch()
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    tally = json.loads(output)
    assert (tally["done"], tally["failed"], tally["total"]) == (6, 0, 6)
    assert same_measurements(waited, out)


def test_a_task_that_kills_its_process_is_tried_thrice_and_retried_on_request(waited, tmp_path):
    spec = patient(tmp_path / "spec.toml", instances=1)
    out = tmp_path / "run"
    process = start(spec, out, "--workers", "1", "--json")
    killed = set()
    for times in (1, 2, 3):
        (worker,) = set(at_work(tmp_path, times)) - killed
        os.kill(worker, signal.SIGKILL)
        killed.add(worker)
    output, errors = process.communicate()
    assert process.returncode == 1, errors
    tally = json.loads(output)
    assert (tally["done"], tally["failed"]) == (1, 1)
    assert tally["reasons"] == ["1 x killed: 3 times its process ended with signal SIGKILL"]
    (tmp_path / "go").touch()
    again = run_sweep(spec, out, "--json")
    assert (again.returncode, json.loads(again.stdout)["failed"]) == (1, 1)
    ended = run_sweep(spec, out, "--retry-failed", "--json")
    assert (ended.returncode, json.loads(ended.stdout)["failed"]) == (0, 0)


def test_a_worker_killed_while_it_starts_is_replaced(tmp_path):
    spec = write_spec(tmp_path / "spec.toml", instances=1)
    process = start(spec, tmp_path / "run", "--workers", "1", "--json")
    (worker,) = wait_until(lambda: children(process.pid))  # importing what it needs
    os.kill(worker, signal.SIGKILL)
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    assert json.loads(output)["done"] == 2


def test_out_of_time_what_is_finished_is_the_answer_and_the_rest_goes_on(waited, tmp_path):
    spec = patient(tmp_path / "spec.toml")
    out = tmp_path / "run"
    ended = run_sweep(spec, out, "--workers", "2", "--time-limit", "2", "--json")
    tally = json.loads(ended.stdout)
    assert ended.returncode == 0, ended.stderr
    assert tally["left"] >= 3  # those that wait
    assert tally["interrupted"] is False
    assert tally["notes"][0].startswith("Out of time: what was finished by then is kept")
    (tmp_path / "go").touch()
    assert run_sweep(spec, out).returncode == 0
    assert same_measurements(waited, out)


def test_a_task_that_needs_too_much_memory_is_a_record(tmp_path):
    spec = write_spec(tmp_path / "spec.toml", dims=[6, 3000], facts=[9000], instances=1)
    ended = run_sweep(spec, tmp_path / "run", "--memory-limit", "500", "--workers", "1", "--json")
    tally = json.loads(ended.stdout)
    assert (ended.returncode, tally["done"], tally["failed"]) == (1, 1, 1)
    table = {row["dim"]: row for row in rows(tmp_path / "run").to_pylist()}
    assert table[6]["status"] == "done"
    assert table[3000]["status"] == "out-of-memory"
    assert "Unable to allocate" in table[3000]["reason"]
    shown = run_sweep(spec, tmp_path / "run", "--memory-limit", "500")
    assert "out-of-memory" in shown.stdout
    assert "--retry-failed" in shown.stdout


def test_a_task_that_fails_is_a_record_and_the_others_go_on(tmp_path):
    solver = {"name": "gradient", "learning_rate": 1e300, "max_steps": 5}
    spec = write_spec(tmp_path / "spec.toml", solver=solver, facts=[40], instances=2)
    ended = run_sweep(spec, tmp_path / "run", "--json")
    assert ended.returncode == 1
    tally = json.loads(ended.stdout)
    assert (tally["done"], tally["failed"], tally["left"]) == (0, 2, 0)
    assert "ConvergenceError" in tally["reasons"][0]


@pytest.fixture
def small_disk(tmp_path):
    """A disk with room for a first batch but not for all tasks, and how to enlarge it."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=40k", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small disk needs root; the file size limit below stands in for it")
    yield disk, lambda: subprocess.run(["mount", "-o", "remount,size=10m", str(disk)], check=True)
    subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_loses_nothing_that_was_kept(undisturbed, small_disk):
    disk, enlarge = small_disk
    out = disk / "run"
    ended = run_sweep(undisturbed / "spec.toml", out, before=ONE_BY_ONE)
    assert ended.returncode == 2
    lines = ended.stderr.strip().splitlines()
    assert "no space for" in lines[-1]
    assert "run the same command again" in lines[-1]
    assert "Traceback" not in ended.stderr
    assert 0 < done(out) < 10
    assert status(out).damaged == 0
    assert not list(out.rglob("*.part"))
    enlarge()
    assert run_sweep(undisturbed / "spec.toml", out).returncode == 0
    assert same_results(undisturbed / "run", out)


def test_a_file_size_limit_loses_nothing_that_was_kept(undisturbed, tmp_path):
    first = write_spec(tmp_path / "spec.toml", **{**TEN, "instances": 1})
    out = tmp_path / "run"
    assert run_sweep(first, out).returncode == 0
    before = fingerprint(out / "rows")
    smallest = min(path.stat().st_size for path in out.rglob("*.parquet"))
    size = smallest // 2
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))"
    ended = run_sweep(undisturbed / "spec.toml", out, before=limit)
    assert ended.returncode == 2
    assert "no space for" in ended.stderr.splitlines()[-1]
    assert fingerprint(out / "rows") == before
    assert run_sweep(undisturbed / "spec.toml", out).returncode == 0
    assert same_results(undisturbed / "run", out)


def test_an_unwritable_folder_is_refused_in_one_line(undisturbed, tmp_path):
    if os.geteuid() == 0:
        out = "/proc/sweep"  # where even root cannot write
    else:
        tmp_path.chmod(0o500)
        out = tmp_path / "run"
    ended = run_sweep(undisturbed / "spec.toml", out)
    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1
    assert str(out) in ended.stderr


def test_on_a_terminal_there_is_a_bar_and_elsewhere_lines(tmp_path):
    spec = write_spec(tmp_path / "spec.toml")
    elsewhere = run_sweep(spec, tmp_path / "lines")
    lines = elsewhere.stderr.splitlines()
    assert lines[0] == "0 of 6 done, 0 failed"
    assert lines[-1].startswith("6 of 6 done, 0 failed, ")
    assert lines[-1].endswith(" 0:00:00 left")
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        command(spec, tmp_path / "bar", "--workers", "1"),
        stdout=subprocess.DEVNULL, stderr=theirs, env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
    ) as process:  # fmt: skip
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            shown += part
    os.close(ours)
    assert process.returncode == 0
    assert b"\x1b[" in shown
    assert b"6 of 6 done, 0 failed" in shown
    assert b"left" in shown
