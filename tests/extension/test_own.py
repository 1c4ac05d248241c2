"""What a user adds from outside: the package is not edited, only ``PYTHONPATH`` names the folder."""

import csv
import importlib
import json
import os
from pathlib import Path

import numpy as np
import program
import pytest

import simonides
from simonides.theory.losses import CrossEntropy
from simonides.theory.risk import minimum_of_risk

HERE = Path(__file__).parent

SPEC = """
problem = "original"
ensemble = ["gaussian", "granary:shells(radius=2.0)"]
dims = [8]
facts = [6, 12]
instances = 2
seed = 1
solvers = ["hebbian", "granary:centred_hebbian", {name = "granary:centred_hebbian", strength = 0},
           {name = "gradient", loss = "granary:Sharper", max_steps = 50}]
"""


def run(*arguments):
    path = os.pathsep.join(filter(None, (str(HERE), os.environ.get("PYTHONPATH"))))
    return program.run(*arguments, env={**os.environ, "PYTHONPATH": path})


def answer(*arguments):
    done = run(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_an_ensemble_of_ones_own_is_decided_and_trained_on():
    drawn = ["--dim", "8", "--facts", "10", "--ensemble", "granary:shells"]
    assert answer("decide", *drawn)["verdict"] == "storable"
    assert answer("train", *drawn)["facts"] == 10


@pytest.mark.slow
def test_its_threshold_is_measured_on_other_processes_too():
    drawn = ["threshold", "--dim", "5", "--instances", "2", "--ensemble", "granary:shells"]
    alone, shared = (answer(*drawn, "--workers", workers) for workers in "12")
    assert alone["thresholds"] == shared["thresholds"]
    # Values in one orthant: lengths and directions of keys alone would leave the count as it is.
    plain = answer("threshold", "--dim", "5", "--instances", "2", "--workers", "1")
    assert alone["thresholds"] != plain["thresholds"]


@pytest.mark.slow
def test_a_sweep_measures_them(tmp_path):
    spec, out = tmp_path / "spec.toml", str(tmp_path / "run")
    spec.write_text(SPEC)
    tally = answer("sweep", "run", str(spec), "--out", out, "--workers", "1")
    assert (tally["done"], tally["failed"], tally["total"]) == (32, 0, 32)
    answer("sweep", "export", out, str(tmp_path / "rows.csv"))
    with (tmp_path / "rows.csv").open() as file:
        rows = list(csv.DictReader(file))
    by_solver = {}
    for row in rows:
        cell = row["ensemble"], row["facts"], row["instance"]
        by_solver.setdefault((row["solver"], row["options"]), {})[cell] = row["recalled"]
    hebbian = by_solver["hebbian", "{}"]
    # Without its strength it is the Hebbian rule; with it, it is not.
    assert by_solver["granary:centred_hebbian", '{"strength": 0}'] == hebbian
    assert by_solver["granary:centred_hebbian", "{}"] != hebbian
    assert {name for name, _, _ in hebbian} == {"gaussian", "granary:shells(radius=2)"}


def test_a_method_of_ones_own_is_proved_and_trained_by():
    drawn = ["--dim", "12", "--facts", "4"]
    assert answer("train", *drawn, "--solver", "granary:centred_hebbian")["accuracy"] <= 1
    assert answer("decide", *drawn, "--method", "granary:centred_hebbian")["verdict"] == "storable"


@pytest.mark.slow
def test_a_loss_of_ones_own_is_trained_and_predicted(monkeypatch):
    drawn = ["--dim", "10", "--facts", "60", "--max-steps", "300"]
    plain, sharp = (answer("train", *drawn, *loss) for loss in ([], ["--loss", "granary:Sharper"]))
    assert sharp["loss"] != plain["loss"]
    monkeypatch.syspath_prepend(HERE)
    loss = importlib.import_module("granary").Sharper()
    # Scores at half the temperature: half the loss at half the norm, and the same recall.
    whole, halved = (
        minimum_of_risk(60, 100, loss=each, rng=np.random.default_rng(0))
        for each in (CrossEntropy(), loss)
    )
    error = 4 * (whole.loss.stderr + 2 * halved.loss.stderr)
    assert 2 * halved.loss.value == pytest.approx(whole.loss.value, abs=error)
    error = 4 * (whole.accuracy.stderr + halved.accuracy.stderr)
    assert halved.accuracy.value == pytest.approx(whole.accuracy.value, abs=error)
    assert error < 0.2


def test_the_estimator_takes_a_method_of_ones_own(monkeypatch):
    monkeypatch.syspath_prepend(HERE)
    X, Y = np.random.default_rng(0).standard_normal((2, 4, 12))
    memory = simonides.AssociativeMemory("granary:centred_hebbian").fit(X, Y)
    rule = importlib.import_module("granary").centred_hebbian
    np.testing.assert_allclose(memory.weights_, rule(memory.problem()))
    assert memory.score(X, Y) == memory.n_stored_ / 4


@pytest.mark.parametrize("kind", [simonides.OriginalProblem, simonides.DecoupledProblem])
@pytest.mark.parametrize(
    "how", [{}, {"rank": 3}, {"margin_gap": 0.1}, {"method": "cross_entropy"}], ids=str
)
def test_a_kind_of_problem_of_ones_own_is_decided_and_verified(monkeypatch, kind, how):
    monkeypatch.syspath_prepend(HERE)
    known = kind.gaussian(14, 6, seed=2)
    own = importlib.import_module("granary").Silo(known)
    decisions = [simonides.decide(problem, **how) for problem in (own, known)]
    weights = [decision.solution.weights for decision in decisions]
    np.testing.assert_array_equal(*weights)
    certificate = decisions[0].certificate
    assert certificate is None or simonides.verify(certificate, own).valid
    assert decisions[0].verdict == decisions[1].verdict


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["decide", "--dim", "5", "--facts", "4", "--ensemble", "granary:nothing"], "nothing"),
        (["decide", "--dim", "5", "--facts", "4", "--ensemble", "barn:shells"], "barn"),
        (["threshold", "--dim", "5", "--problem", "decoupled", "--ensemble", "granary:shells"],
         "a law of vectors alone"),
        (["threshold", "--dim", "5", "--workers", "1", "--ensemble", "granary:too_wide"],
         "simonides: granary:too_wide inputs.shape = (12, 6) must be (12, 5)"),
        (["decide", "--dim", "5", "--facts", "4", "--ensemble", "granary:shells(radius=wide)"],
         "ensemble = 'granary:shells(radius=wide)' must be a function that does not fail: "),
        (["threshold", "--dim", "5", "--workers", "2", "--ensemble", "granary:shells(radius=wide)"],
         "ensemble = 'granary:shells(radius=wide)' must be a function that does not fail: "),
        (["decide", "--dim", "5", "--facts", "4", "--method", "granary:centred_hebbian(strength=abc)"],
         "method = 'granary:centred_hebbian(strength=abc)' must be a function that does not fail: "),
        (["train", "--dim", "5", "--facts", "4", "--solver", "granary:centred_hebbian(strength=abc)"],
         "granary.py; mend it or what it is given"),
    ],
)  # fmt: skip
def test_what_cannot_be_had_is_refused_in_one_line(arguments, said):
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert said in done.stderr
    assert "most =" not in done.stderr
