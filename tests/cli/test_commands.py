"""Each command, run as a user runs it."""

import itertools
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from program import run_file
from running import answer, run

import simonides
from simonides.certificate import Certificate
from simonides.cli.decide import decide
from simonides.problems.decoupled import DecoupledProblem
from simonides.problems.original import OriginalProblem
from simonides.solvers.training.gradient import gradient


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
        (["--dim", "30", "--candidates", "2", "--problem", "decoupled"],
         {"dim_in": 30, "candidates": 2, "problem": "decoupled"}),
        (["--dim", "64", "--dim-out", "32"], {"dim_in": 64, "dim_out": 32}),
    ],
)  # fmt: skip
def test_capacity_passes_every_option_on(flags, keywords):
    assert answer("capacity", *flags)["facts"] == simonides.capacity(**keywords).facts


def test_capacity_table_shows_the_three_rules_side_by_side():
    text = run("capacity", "--dim", "200").stdout
    for piece in ("finite size", "3,904", "leading order", "2,550", "Hebbian", "585", "Trust"):
        assert piece in text


@pytest.mark.slow
def test_capacity_draws_the_curve_around_the_asked_point(tmp_path):
    path = tmp_path / "curve.pdf"
    record = answer("capacity", "--dim", "60", "--plot", str(path))
    assert record["plot"] == str(path)
    assert path.read_bytes().startswith(b"%PDF")


def test_a_large_size_is_answered():
    assert round(answer("capacity", "--dim", "4096")["facts"]) == 867136


@pytest.mark.parametrize(
    "criteria",
    [
        {"rank": 64},
        {"margin": 2},
        {"tail_fraction": 1e-8},
        {"candidates": 1000},
        {"rank": 8, "margin": 1, "candidates": 100000},
    ],
)
def test_any_question_has_an_answer_at_dimension_a_million(criteria):
    capacity = simonides.capacity(10**6, **criteria)
    assert 1 < capacity.facts < simonides.capacity(10**6).facts * 10
    assert capacity.load > 0


def test_require_says_what_would_do_where_a_size_is_too_small():
    record = answer("require", "--facts", "5000", "--dim", "100")
    assert (record["smallest_rank"], record["largest_margin"]) == (None, None)
    enough = record["smallest_dimension"]
    assert answer("capacity", "--dim", str(enough))["facts"] >= 5000
    assert answer("capacity", "--dim", str(enough - 1))["facts"] < 5000
    (note,) = record["notes"]
    assert note.startswith(
        "At 100 x 100 no smallest rank and no largest margin will do: facts = 5000"
    )
    assert f"a square matrix of dimension {enough} or more" in note
    # A margin of one is too much at any rank; some smaller margin is not.
    record = answer("require", "--facts", "1000", "--dim", "100", "--margin", "1")
    assert record["smallest_rank"] is None
    assert 0 < record["largest_margin"] < 1
    assert "At 100 x 100 no smallest rank will do" in " ".join(record["notes"])


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
    assert "509" in run("require", "--facts", "20k").stdout


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


@pytest.mark.slow
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
        other = run("verify", proof, *drawn[:-1], "2", "--json")
        assert other.returncode == 1
        assert json.loads(other.stdout)["valid"] is False
        assert "another problem" in json.loads(other.stdout)["reason"]
    assert "storable" in run("decide", "--dim", "10", "--facts", "10").stdout


def test_a_verdict_on_your_own_arrays(tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "x.npy", rng.standard_normal((12, 5)))
    np.save(tmp_path / "y.npy", rng.standard_normal((4, 6)))
    np.save(tmp_path / "t.npy", rng.integers(4, size=12))
    files = ["--inputs", str(tmp_path / "x.npy"), "--outputs", str(tmp_path / "y.npy")]
    record = answer("decide", *files, "--targets", str(tmp_path / "t.npy"))
    assert record["verdict"] in {"storable", "not-storable"}


def test_a_verdict_says_that_margins_up_to_the_tolerance_count_as_none(tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "x.npy", 1 + 1e-8 * rng.standard_normal((6, 6)))
    np.save(tmp_path / "y.npy", rng.standard_normal((6, 6)))
    problem = ["--inputs", "x.npy", "--outputs", "y.npy"]
    done = run("decide", *problem, "--save", "proof.npz", cwd=tmp_path)
    assert "storable, but no margin above the tolerance" in done.stdout
    done = run("verify", "proof.npz", *problem, cwd=tmp_path)
    assert "storable, but no margin above the tolerance" in done.stdout
    lowered = run("decide", *problem, "--tolerance", "1e-15", cwd=tmp_path)
    assert "tolerance" not in lowered.stdout
    beyond = run("decide", "--dim", "4", "--facts", "40")
    assert "not-storable: no margin above the tolerance" in beyond.stdout


def test_a_contradiction_among_your_own_facts_is_named(tmp_path):
    x, y = np.random.default_rng(0).standard_normal((2, 12, 6))
    x[5] = x[1]
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    done = run("decide", "--inputs", "x.npy", "--outputs", "y.npy", cwd=tmp_path)
    assert "not-storable" in done.stdout
    assert "Facts 1 and 5 have equal inputs and different outputs" in done.stdout


@pytest.mark.parametrize(("factor", "target"), [(0.01, 7), (-0.01, 1)])
def test_a_contradiction_in_single_precision_is_named_with_the_tolerance_that_proves_it(
    tmp_path, factor, target
):
    x, y = np.random.default_rng(0).standard_normal((2, 60, 6)).astype(np.float32)
    x[5] = np.float32(factor) * x[1]
    targets = np.arange(60)
    targets[5] = target
    words = ["decide", "--max-steps", "0"]
    for name, array in (("inputs", x), ("outputs", y), ("targets", targets)):
        np.save(tmp_path / f"{name}.npy", array)
        words += [f"--{name}", f"{name}.npy"]
    record = answer(*words, cwd=tmp_path)
    (note,) = record["notes"]
    assert record["verdict"] == "undecided"
    assert note.startswith("Facts 1 and 5 have inputs that are")
    assert note.endswith("--tolerance 1e-06 counts them as a contradiction.")
    record = answer(*words, "--tolerance", "1e-06", cwd=tmp_path)
    assert record["verdict"] == "not-storable"
    assert "facts 1 and 5 are multiples of each other up to single precision" in record["notes"][0]


def test_version():
    assert run("--version").stdout.strip() == f"simonides {simonides.__version__}"


@pytest.mark.slow
def test_threshold_reports_the_mean_its_error_and_theory():
    record = answer("threshold", "--dim", "5", "--instances", "4", "--workers", "2")
    values = record["thresholds"]
    assert len(values) == 4
    assert record["mean"] == sum(values) / 4
    assert record["stderr"] == pytest.approx(np.std(values, ddof=1) / 2)
    assert record["theory"] == simonides.capacity(5).facts
    assert record["open"] == 0
    # Instances follow from their seeds, whoever measures them.
    assert (
        answer("threshold", "--dim", "5", "--instances", "4", "--workers", "1")["thresholds"]
        == values
    )
    later = answer("threshold", "--dim", "5", "--instances", "1", "--seed", "2", "--workers", "1")
    assert later["thresholds"] == values[2:3]
    assert later["stderr"] is None


def test_threshold_of_a_decoupled_problem_in_words():
    drawn = ["--dim", "5", "--problem", "decoupled", "--instances", "2"]
    done = run("threshold", *drawn, "--workers", "1")
    assert done.returncode == 0, done.stderr
    assert "2 decoupled instances in a 5 x 5 matrix" in done.stdout
    assert "theory" in done.stdout
    # What is added up is the time of each instance, not what processors or the user spent.
    assert "seconds, all instances together" in done.stdout


def test_one_instance_has_neither_a_mean_nor_an_error():
    done = run("threshold", "--dim", "5", "--instances", "1", "--workers", "1")
    assert "1 original instance in" in done.stdout
    assert "mean" not in done.stdout
    assert "One instance has no standard error" in done.stdout


def test_brackets_in_the_name_of_a_proof_are_no_styles(tmp_path):
    (tmp_path / "runs[").mkdir()
    path, drawn = str(tmp_path / "runs[" / "b]proof.npz"), ["--dim", "5", "--facts", "9"]
    answer("decide", *drawn, "--save", path)
    done = run("verify", path, *drawn)
    assert done.returncode == 0, done.stderr
    assert done.stdout.replace("\n", "").startswith(path)


def test_the_module_is_the_program():
    done = subprocess.run(
        [sys.executable, "-m", "simonides", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == run_file("--version").stdout


@pytest.mark.parametrize(
    ("solver", "rank"), [("gradient", None), ("gradient", 5), ("cross_entropy", 5)]
)
def test_train_reports_what_it_recalls(solver, rank):
    bound = [] if rank is None else ["--rank", str(rank)]
    bound += ["--max-steps", "500"] if solver == "gradient" else []
    record = answer("train", "--dim", "10", "--facts", "60", "--solver", solver, *bound)
    assert record["accuracy"] == record["recalled"] / 60
    assert 0 < record["accuracy"] < 1
    assert record["loss"] > 0
    assert record["steps"] > 0
    assert record["seconds"] > 0
    shown = run("train", "--dim", "10", "--facts", "60", "--solver", solver, "--max-steps", "5")
    assert "60 facts in a 10 x 10 matrix" in shown.stdout


@pytest.mark.parametrize("kind", ["original", "decoupled"])
def test_problems_of_any_shape_are_the_library_s(tmp_path, kind):
    proof = str(tmp_path / "proof.npz")
    shape = ["--dim-in", "8", "--dim-out", "5", "--candidates", "3", "--problem", kind]
    drawn = [*shape, "--facts", "12", "--seed", "2"]
    record = answer("decide", *drawn, "--save", proof)
    draw = {"original": OriginalProblem, "decoupled": DecoupledProblem}[kind].gaussian
    problem = draw(12, 8, 5, candidates=3, seed=2)
    assert record["load"] == pytest.approx(12 * np.log(3) / 40)
    assert Certificate.load(proof).fingerprint == problem.fingerprint()
    assert answer("verify", proof, *drawn)["valid"] is True
    other = answer("verify", proof, *drawn, "--candidates", "4", "--no-strict")
    assert other["valid"] is False
    assert "12 facts in a 5 x 8 matrix" in run("train", *drawn, "--max-steps", "20").stdout
    trained = answer("train", *drawn, "--max-steps", "20")
    assert trained["loss"] == gradient(problem, seed=2, max_steps=20).loss


def test_seconds_are_all_that_the_verdict_took(capsys, monkeypatch):
    ticks = itertools.count()
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(ticks)))
    decide(dim=20, facts=150, rank=2, as_json=True)
    # The clock moves on when it is read: in the search at that rank, and in the proof that no rank will do.
    record = json.loads(capsys.readouterr().out)
    assert record["verdict"] == "not-storable"
    assert record["seconds"] == next(ticks) - 1


@pytest.mark.slow
def test_decide_at_bounded_rank_and_verify_its_factors(tmp_path):
    proof = str(tmp_path / "proof.npz")
    problem = ["--dim", "20", "--facts", "50", "--seed", "1"]
    record = answer("decide", *problem, "--rank", "10", "--save", proof)
    assert record["verdict"] == "storable"
    assert record["certificate"] == proof
    checked = answer("verify", proof, *problem)
    assert checked["valid"] is True
    assert checked["margin_bound"] == record["margin_lower"]
    lost = str(tmp_path / "lost.npz")
    record = answer("decide", *problem, "--rank", "1", "--save", lost)
    assert record["verdict"] == "not-found"
    assert record["certificate"] is None
    told = run("decide", *problem, "--rank", "1", "--save", lost)
    assert "no proof to save" in told.stdout
    assert not Path(lost).exists()


def test_all_facts_recalled_beside_a_refutation_are_explained(tmp_path):
    rng = np.random.default_rng(0)
    inputs, outputs = rng.standard_normal((8, 4)), rng.standard_normal((5, 4))
    targets = (inputs @ rng.standard_normal((4, 4)) @ outputs.T).argmax(axis=1)
    near = inputs[0] * (1 + 1e-13 * rng.standard_normal(4))
    arrays = {
        "inputs": np.vstack([inputs, near]),
        "outputs": outputs,
        "targets": np.append(targets, (targets[0] + 1) % 5),
    }
    options = []
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
        options += [f"--{name}", str(tmp_path / f"{name}.npy")]
    record = answer("decide", *options)
    assert (record["verdict"], record["recalled"], record["facts"]) == ("not-storable", 9, 9)
    assert any("no more than what rounding may do" in note for note in record["notes"])


def test_decide_goes_on_to_the_largest_margin():
    record = answer("decide", "--dim", "12", "--facts", "25", "--largest-margin")
    assert 0 < record["margin_lower"] <= record["margin_upper"]
    assert record["margin_upper"] < 1.002 * record["margin_lower"]


def test_a_step_limit_ends_a_decision():
    record = answer("decide", "--dim", "20", "--facts", "86", "--max-steps", "1")
    assert (record["verdict"], record["steps"]) == ("undecided", 1)
