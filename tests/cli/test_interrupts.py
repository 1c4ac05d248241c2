"""Ctrl-C: what is known by then is printed, and the exit code tells."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from program import PATIENCE
from running import interrupt, interrupted_record, run, start, wait_until, watched

LONG = ["--dim", "150", "--facts", "2000", "--rank", "55"]


BEGUN = """
from pathlib import Path
from simonides.curves import mechanism

def begun(*sizes, minimum=mechanism.minimum_of_risk, **options):
    Path("begun").touch()
    return minimum(*sizes, **options)

mechanism.minimum_of_risk = begun
"""


def interrupted_once(condition, *arguments, **options):
    """Start a command, interrupt it once something is so, and return how it ended."""
    with start(*arguments, **options) as process:
        wait_until(lambda: condition(process) or process.poll() is not None)
        interrupt(process)
        printed, errors = process.communicate(timeout=PATIENCE)
    return process.returncode, printed, errors


@pytest.mark.slow
def test_interrupting_leaves_no_traceback(tmp_path):
    ended = interrupted_once(
        lambda _: (tmp_path / "begun").exists(), "theory", "trained", before=BEGUN, cwd=tmp_path
    )
    assert ended == (130, "", "simonides: interrupted\n")


WHILE_IMPORTING = """
import os, signal, sys

class Press:
    def find_spec(self, name, *_):
        if name == sys.argv[1]:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Press())
from simonides.cli import main
main()
"""


@pytest.mark.parametrize("module", ["typer", "simonides.cli.decide", "simonides.text"])
def test_an_interrupt_while_importing_leaves_one_line(module):
    done = subprocess.run(
        [sys.executable, "-c", WHILE_IMPORTING, module],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "simonides: interrupted\n")


LOST = """
import os, signal
from simonides.cli.progress import live
from simonides.interrupts import PRESSES, Keyboard

class Finalized:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000):
            pass

PRESSES.listen()
with live(str, quiet=True) as watch:
    watch(1)
    Finalized()
    print("it goes on")
    with Keyboard() as keyboard:
        watch(2)
        print("lost")
    print("until the next step", keyboard.interrupted)
    watch(3)
    print("and once only")
"""


def test_an_interrupt_that_python_drops_is_heeded_at_the_next_step():
    done = subprocess.run(
        [sys.executable, "-c", LOST], capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    assert "KeyboardInterrupt" in done.stderr  # dropped: said on the way, raised nowhere
    assert done.stdout.splitlines() == ["it goes on", "until the next step True", "and once only"]


PRESSED_WHILE_COMPILING = """
import os, signal, sys
import simonides.compiled
from numba.core import pythonapi
from numba.core.compiler_lock import global_compiler_lock

class Parts(dict):
    left = int(sys.argv.pop(1))

    def __setitem__(self, name, part):
        super().__setitem__(name, part)
        self.left -= global_compiler_lock.is_locked()
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGINT)

pythonapi._unboxers.functions = Parts(pythonapi._unboxers.functions)
sys.argv[1:1] = ["decide", "--dim", "30", "--facts", "170"]
from simonides.cli import main
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize(("part", "bound"), [(1, []), (3, ["--rank", "12"]), (8, [])])
def test_an_interrupt_waits_for_the_compiler(bound, part):
    # Pressed while the compiler, to load its first kernel, is importing a part of its own.
    done = subprocess.run(
        [sys.executable, "-c", PRESSED_WHILE_COMPILING, str(part), *bound],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 130, done.stderr
    assert "Interrupted" in done.stdout
    assert done.stderr == "simonides: interrupted\n"


@pytest.mark.slow
def test_decide_prints_the_best_so_far():
    code, printed, shown = watched("decide", *LONG, until="step 3")
    assert code == 130
    assert "undecided" in printed
    assert "of 2,000" in printed
    assert "Interrupted" in printed
    assert shown.rstrip().endswith("simonides: interrupted")


@pytest.mark.slow
@pytest.mark.parametrize(
    "problem", [LONG, ["--dim", "150", "--facts", "2000"]], ids=["rank", "full"]
)
def test_before_its_first_step_decide_has_the_weights_it_starts_from(problem):
    # That is while kernels are being loaded, or in the first pass.
    code, printed, shown = watched("decide", *problem, until="starting")
    assert code == 130
    assert "undecided" in printed
    assert "Interrupted" in printed
    assert "of 2,000" in printed
    assert shown.rstrip().endswith("simonides: interrupted")


@pytest.mark.slow
def test_the_record_of_a_decision_says_that_it_was_interrupted(tmp_path):
    record = interrupted_record(tmp_path, "decide", *LONG)
    assert record["interrupted"] is True
    assert record["verdict"] == "undecided"
    assert 0 < record["recalled"] < 2000


@pytest.mark.slow
def test_a_proof_stands_though_its_margin_is_not_yet_the_largest(tmp_path):
    proof = tmp_path / "proof.npz"
    code, printed, _ = watched(
        "decide", "--dim", "150", "--facts", "1500", "--largest-margin", "--save", str(proof),
        until="margin in [",
    )  # fmt: skip
    assert code == 130
    assert "verdict" in printed
    assert "Interrupted" in printed
    assert proof.exists()


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["gradient", "cross_entropy"])
def test_train_prints_where_it_was(solver):
    code, printed, shown = watched(
        "train", "--dim", "100", "--facts", "1300", "--solver", solver, until="step 2"
    )
    assert code == 130
    assert "accuracy" in printed
    assert "Interrupted" in printed
    assert shown.rstrip().endswith("simonides: interrupted")


@pytest.mark.slow
def test_the_record_of_training_says_that_it_was_interrupted(tmp_path):
    record = interrupted_record(tmp_path, "train", "--dim", "100", "--facts", "1300")
    assert record["interrupted"] is True
    assert record["status"] == "stopped"
    assert 0 < record["steps"] < 5000


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_threshold_prints_what_was_measured(workers):
    code, printed, shown = watched(
        "threshold", "--dim", "12", "--instances", "500", "--workers", workers,
        until="3 of 500 instances measured",
    )  # fmt: skip
    assert code == 130
    assert "± " in printed
    assert "of 500 instances" in printed
    assert shown.rstrip().endswith("simonides: interrupted")


@pytest.mark.slow
def test_the_record_of_a_threshold_has_the_instances_that_were_measured(tmp_path):
    record = interrupted_record(
        tmp_path, "threshold", "--dim", "12", "--instances", "3000", "--workers", "1"
    )
    values = record["thresholds"]
    assert record["interrupted"] is True
    assert 2 <= len(values) < 3000
    assert record["mean"] == sum(values) / len(values)


ONE_MEASURED = """
from simonides.experiments import thresholds

def measure(*sizes, watch, measure=thresholds.measure_thresholds, **options):
    def interrupt_after(measured):
        watch(measured)
        raise KeyboardInterrupt
    return measure(*sizes, watch=interrupt_after, **options)

thresholds.measure_thresholds = measure
"""
"""Interrupts a measurement when it has told of its first instance."""


def test_one_instance_that_was_measured_is_kept():
    sizes = ["--dim", "5", "--instances", "3", "--workers", "1"]
    done = run("threshold", *sizes, "--json", before=ONE_MEASURED)
    assert done.returncode == 130
    record = json.loads(done.stdout)
    assert record["interrupted"] is True
    assert len(record["thresholds"]) == 1


STARTED = """
from pathlib import Path
from simonides.experiments import local

class Started(local.subprocess.Popen):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        Path("at-work-0").touch()

local.subprocess.Popen = Started
"""
"""Leaves a file behind when processes have been asked for, and are being started."""

HERE = Path(__file__).parent


@pytest.mark.slow
@pytest.mark.parametrize("moment", [STARTED, "import simonides"], ids=["starting", "at work"])
def test_threshold_says_nothing_before_its_first_instance(moment, tmp_path):
    path = os.pathsep.join(filter(None, (str(HERE), os.environ.get("PYTHONPATH"))))

    def at_work(process):
        marks = {mark.name for mark in tmp_path.glob("at-work-*")}
        return marks - {f"at-work-{process.pid}"}

    ended = interrupted_once(
        at_work,
        *("threshold", "--dim", "200", "--instances", "5", "--ensemble", "marked:gaussian"),
        before=moment,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert ended == (130, "", "simonides: interrupted\n")


@pytest.mark.slow
def test_progress_shows_both_bounds_of_the_margin():
    code, printed, shown = watched("decide", "--dim", "20", "--facts", "50", "--largest-margin")
    assert code == 0
    assert "storable" in printed
    assert "margin in [" in shown
    # Bounds that nothing is known about are not shown.
    _, _, shown = watched("decide", "--dim", "20", "--facts", "100", "--rank", "7")
    assert "step " in shown
    assert "inf" not in shown
