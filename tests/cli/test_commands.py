"""Each command, run as a user runs it."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import simonides

PROGRAM = str(Path(sys.executable).parent / "simonides")


def run(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAM, *arguments], capture_output=True, text=True, timeout=120, check=False, **options
    )


def answer(*arguments: str) -> dict:
    done = run(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


def test_capacity_has_the_promised_keys_and_the_library_s_numbers():
    record = answer("capacity", "--dim", "200")
    expected = simonides.capacity(200)
    for key in (
        "facts",
        "load",
        "statistical_dimension",
        "effective_parameters",
        "facts_asymptotic",
        "facts_hebbian",
        "facts_hebbian_fraction",
        "bits_per_parameter",
    ):
        assert record[key] == getattr(expected, key)


@pytest.mark.parametrize(
    ("flags", "keywords"),
    [
        (["--dim-in", "20", "--dim-out", "45", "--candidates", "300"],
         {"dim_in": 20, "dim_out": 45, "candidates": 300}),
        (["--dim", "100", "--rank", "25"], {"dim_in": 100, "rank": 25}),
        (["--dim", "50", "--margin", "1.5"], {"dim_in": 50, "margin": 1.5}),
        (["--dim", "50", "--tail-fraction", "0.5"], {"dim_in": 50, "tail_fraction": 0.5}),
        (["--dim", "30", "--candidates", "2", "--outputs", "decoupled"],
         {"dim_in": 30, "candidates": 2, "outputs": "decoupled"}),
        (["--dim", "64", "--dim-out", "32"], {"dim_in": 64, "dim_out": 32}),
    ],
)  # fmt: skip
def test_capacity_passes_every_option_on(flags, keywords):
    assert answer("capacity", *flags)["facts"] == simonides.capacity(**keywords).facts


def test_capacity_table_shows_the_three_rules_side_by_side():
    text = run("capacity", "--dim", "200").stdout
    for piece in ("finite size", "3,904", "leading order", "2,550", "Hebbian", "585", "Trust"):
        assert piece in text


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_capacity_draws_the_curve_around_the_asked_point(tmp_path, ending):
    path = tmp_path / f"curve.{ending}"
    record = answer("capacity", "--dim", "60", "--plot", str(path))
    assert record["plot"] == str(path)
    magic = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[ending]
    assert path.read_bytes().startswith(magic)


def quickest(*arguments: str) -> float:
    """Return the least processor time of three runs, start-up included.

    On an idle machine that is the time a user waits; unlike it, it hardly depends on other work.
    """
    times = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert answer(*arguments)["facts"] > 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


def test_large_sizes_answer_quickly():
    assert round(answer("capacity", "--dim", "4096")["facts"]) == 867136
    assert quickest("capacity", "--dim", "4096") < 1.5
    assert quickest("capacity", "--dim", "1000000") < 3


@pytest.mark.slow
@pytest.mark.parametrize(
    "flags",
    [
        ["--rank", "64"],
        ["--margin", "2"],
        ["--tail-fraction", "1e-8"],
        ["--candidates", "1000"],
        ["--rank", "8", "--margin", "1", "--candidates", "100000"],
    ],
)
def test_any_question_at_dimension_a_million_answers_within_three_seconds(flags):
    assert quickest("capacity", "--dim", "1000000", *flags) < 3


def test_require_inverts_capacity():
    record = answer("require", "--facts", "20000", "--dim", "4096")
    rank = record["smallest_rank"]
    assert simonides.capacity(4096, rank=rank).facts >= 20000
    assert simonides.capacity(4096, rank=rank - 1).facts < 20000
    small = record["smallest_dimension"]
    assert simonides.capacity(small).facts >= 20000 > simonides.capacity(small - 1).facts
    margin = record["largest_margin"]
    assert simonides.capacity(4096, margin=margin).facts == pytest.approx(20000, rel=1e-6)
    assert answer("require", "--facts", "20000")["smallest_rank"] is None
    assert "509" in run("require", "--facts", "20000").stdout


def test_theory_lists_its_curves():
    from simonides.curves.catalogue import CURVES

    assert set(answer("theory")["curves"]) == set(CURVES)
    assert "spectrum" in run("theory").stdout


def test_theory_prints_and_draws_a_curve(tmp_path):
    path = tmp_path / "hebbian.png"
    record = answer("theory", "hebbian", "--dim", "50", "--plot", str(path))
    lengths = {len(values) for values in record["columns"].values()}
    assert len(lengths) == 1
    assert lengths.pop() > 50
    assert min(record["columns"]["dimension"]) == 50
    assert path.stat().st_size > 10_000
    text = run("theory", "hebbian").stdout
    assert "all recalled" in text
    assert "--json gives all" in text


@pytest.mark.parametrize("command", ["capacity", "require", "decide", "verify", "theory", "report"])
def test_help_is_honest_and_has_an_example(command):
    done = run(command, "--help")
    assert done.returncode == 0
    assert f"Example: simonides {command}" in " ".join(done.stdout.split())


def test_a_verdict_is_proved_saved_and_verified(tmp_path):
    for facts, verdict in ((60, "storable"), (130, "not-storable")):
        proof = str(tmp_path / f"{facts}.npz")
        drawn = ["--dim", "20", "--facts", str(facts), "--seed", "1"]
        record = answer("decide", *drawn, "--save", proof)
        assert record["verdict"] == verdict
        assert record["facts"] == facts
        assert record["certificate"] == proof
        checked = answer("verify", proof, *drawn)
        assert checked["valid"] is True
        assert checked["claim"] == verdict
        other = answer("verify", proof, "--dim", "20", "--facts", str(facts), "--seed", "2")
        assert other["valid"] is False
        assert "another problem" in other["reason"]
    assert "storable" in run("decide", "--dim", "10", "--facts", "10").stdout


def test_a_verdict_on_your_own_arrays(tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "x.npy", rng.standard_normal((12, 5)))
    np.save(tmp_path / "y.npy", rng.standard_normal((4, 6)))
    np.save(tmp_path / "t.npy", rng.integers(4, size=12))
    np.save(tmp_path / "o.npy", np.array([{}], dtype=object), allow_pickle=True)
    files = ["--inputs", str(tmp_path / "x.npy"), "--outputs", str(tmp_path / "y.npy")]
    record = answer("decide", *files, "--targets", str(tmp_path / "t.npy"))
    assert record["verdict"] in {"storable", "not-storable"}
    for bad in (
        files,
        ["--inputs", str(tmp_path / "o.npy"), "--outputs", str(tmp_path / "y.npy")],
        ["--inputs", str(tmp_path / "none.npy"), "--outputs", str(tmp_path / "y.npy")],
        [*files, "--dim", "5"],
    ):
        done = run("decide", *bad)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1


def test_version():
    assert run("--version").stdout.strip() == f"simonides {simonides.__version__}"


BAD = [
    (["capacity"], "dim"),
    (["capacity", "--dim", "0"], "dim = 0"),
    (["capacity", "--dim", "-3"], "dim = -3"),
    (["capacity", "--dim", "1.5"], "--dim"),
    (["capacity", "--dim", "many"], "--dim"),
    (["capacity", "--dim-in", "5"], "dim"),
    (["capacity", "--dim", "10", "--rank", "11"], "rank = 11"),
    (["capacity", "--dim", "10", "--rank", "0"], "rank = 0"),
    (["capacity", "--dim", "10", "--candidates", "1"], "candidates = 1"),
    (["capacity", "--dim", "10", "--margin", "-1"], "margin = -1"),
    (["capacity", "--dim", "10", "--margin", "nan"], "margin = nan"),
    (["capacity", "--dim", "10", "--margin", "inf"], "margin = inf"),
    (["capacity", "--dim", "10", "--tail-fraction", "0"], "tail_fraction = 0"),
    (["capacity", "--dim", "10", "--tail-fraction", "1.01"], "tail_fraction = 1.01"),
    (["capacity", "--dim", "10", "--outputs", "mixed"], "outputs = 'mixed'"),
    (["capacity", "--dim", "10", "--plot", "curve.gif"], "curve.gif"),
    (["capacity", "--dim", "10", "--plot", "no/such/folder/curve.png"], "no/such/folder"),
    (["require", "--facts", "0"], "facts = 0"),
    (["require", "--facts", "100000", "--dim", "10"], "facts = 100000"),
    (["require"], "--facts"),
    (["theory", "nonsense"], "name = 'nonsense'"),
    (["theory", "scores", "--dim", "1"], "dim = 1"),
    (["theory", "scores", "--plot", "x"], "plot = 'x'"),
    (["decide", "--dim", "5"], "facts"),
    (["decide", "--dim", "5", "--facts", "4", "--problem", "other"], "problem = 'other'"),
    (["decide", "--dim", "5", "--facts", "4", "--save", "proof.txt"], "proof.txt"),
    (["verify", "no-such-proof.npz", "--dim", "5", "--facts", "4"], "no-such-proof.npz"),
    (["unheard-of"], "unheard-of"),
    (["capacity", "--dim", "10", "--colour"], "--colour"),
]


@pytest.mark.parametrize(("arguments", "named"), BAD, ids=[" ".join(a) for a, _ in BAD])
def test_bad_input_exits_with_two_and_one_line(arguments, named):
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert named in done.stderr
    assert ":" in done.stderr.removeprefix("simonides:"), "a remedy follows the reason"


def test_an_unwritable_picture_is_refused_in_one_line(tmp_path):
    if os.geteuid() == 0:
        path = Path("/proc/curve.png")  # where even root cannot write
    else:
        tmp_path.chmod(0o500)
        path = tmp_path / "curve.png"
    done = run("capacity", "--dim", "10", "--plot", str(path))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert str(path) in done.stderr


def test_a_full_disk_is_reported_in_one_line():
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no full device on this system")
    with full.open("w") as sink:
        done = subprocess.run(
            [PROGRAM, "capacity", "--dim", "50", "--json"],
            stdout=sink, stderr=subprocess.PIPE, text=True, timeout=60, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_reader_that_leaves_is_no_error():
    command = [PROGRAM, "theory", "hebbian", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 0


def test_interrupting_leaves_no_traceback():
    command = [PROGRAM, "theory", "trained"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        time.sleep(2.0)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors == b"simonides: interrupted\n"


def test_threshold_reports_the_mean_its_error_and_theory():
    record = answer("threshold", "--dim", "6", "--instances", "4", "--workers", "2")
    values = record["thresholds"]
    assert len(values) == 4
    assert record["mean"] == sum(values) / 4
    assert record["stderr"] == pytest.approx(np.std(values, ddof=1) / 2)
    assert record["theory"] == simonides.capacity(6).facts
    assert record["open"] == 0
    # Instances follow from their seeds, whoever measures them.
    assert (
        answer("threshold", "--dim", "6", "--instances", "4", "--workers", "1")["thresholds"]
        == values
    )
    later = answer("threshold", "--dim", "6", "--instances", "1", "--seed", "2")
    assert later["thresholds"] == values[2:3]
    assert later["stderr"] is None


def test_threshold_of_a_decoupled_problem_in_words():
    done = run("threshold", "--dim", "5", "--problem", "decoupled", "--instances", "2")
    assert done.returncode == 0, done.stderr
    assert "2 decoupled instances in a 5 x 5 matrix" in done.stdout
    assert "theory" in done.stdout


@pytest.mark.parametrize("solver", ["gradient", "cross-entropy"])
@pytest.mark.parametrize("rank", [None, 5])
def test_train_reports_what_it_recalls(solver, rank):
    bound = [] if rank is None else ["--rank", str(rank)]
    record = answer("train", "--dim", "10", "--facts", "60", "--solver", solver, *bound)
    assert record["accuracy"] == record["recalled"] / 60
    assert 0 < record["accuracy"] < 1
    assert record["loss"] > 0
    assert record["steps"] > 0
    assert record["seconds"] > 0
    shown = run("train", "--dim", "10", "--facts", "60", "--solver", solver, "--steps", "5")
    assert "60 facts in a 10 x 10 matrix" in shown.stdout


def test_decide_at_bounded_rank_and_verify_its_factors(tmp_path):
    proof = str(tmp_path / "proof.npz")
    problem = ["--dim", "20", "--facts", "50", "--seed", "1"]
    record = answer("decide", *problem, "--rank", "10", "--save", proof)
    assert record["verdict"] == "storable"
    assert record["certificate"] == proof
    checked = answer("verify", proof, *problem)
    assert checked["valid"] is True
    assert checked["margin_bound"] == record["margin_lower"]
    assert answer("decide", *problem, "--rank", "1")["verdict"] == "not-found"


def test_decide_goes_on_to_the_largest_margin():
    record = answer("decide", "--dim", "12", "--facts", "25", "--margin")
    assert 0 < record["margin_lower"] <= record["margin_upper"]
    assert record["margin_upper"] < 1.002 * record["margin_lower"]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["threshold", "--dim", "6", "--instances", "0"], "instances = 0"),
        (["threshold", "--dim", "6", "--problem", "odd"], "problem = 'odd'"),
        (["threshold", "--dim", "6", "--workers", "-1"], "workers = -1"),
        (["threshold", "--dim", "6", "--rank", "7"], "rank = 7"),
        (["threshold"], "dim = None"),
        (["train", "--dim", "6", "--facts", "9", "--solver", "magic"], "solver = 'magic'"),
        (["train", "--dim", "6", "--facts", "9", "--rank", "7"], "rank = 7"),
        (["train", "--dim", "6", "--facts", "9", "--backend", "jax"], "backend = 'jax'"),
        (["train", "--dim", "6", "--facts", "9", "--steps", "-1"], "max_steps = -1"),
        (["train", "--facts", "9"], "dim"),
        (["decide", "--dim", "6", "--facts", "9", "--rank", "7"], "rank = 7"),
        (["decide", "--dim", "6", "--facts", "9", "--rank", "2", "--margin"], "rank = 2"),
    ],
)
def test_bad_input_to_solving_commands(arguments, named):
    done = run(*arguments)
    assert done.returncode == 2
    assert named in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
