"""Proofs on disk: a verdict is printed whatever becomes of its file, and no file is half written."""

import json
import resource
import sys
from pathlib import Path

import numpy as np
import pytest
from running import answer, refused, run

import simonides
from simonides.certificate import Certificate
from simonides.problems.original import OriginalProblem
from simonides.solvers.decide import decide

DRAWN = ["--dim", "30", "--facts", "60"]


def full_after(size: int) -> dict:
    """Return what makes every file of a program full at so many bytes."""
    if sys.platform != "linux":
        pytest.skip("elsewhere files cannot be limited")
    return {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))}


@pytest.mark.parametrize("older", [None, b"an older proof"], ids=["new", "older"])
@pytest.mark.parametrize("shown", [[], ["--json"]], ids=["table", "json"])
def test_a_disk_that_fills_up_does_not_take_the_verdict_along(tmp_path, older, shown):
    answer("decide", *DRAWN)  # kernels are compiled, and kept where files may be large
    proof = tmp_path / "proof.npz"
    if older:
        proof.write_bytes(older)
    done = run("decide", *DRAWN, "--save", str(proof), *shown, **full_after(2000))
    assert done.returncode == 2
    assert done.stderr.startswith(f"simonides: save = '{proof}'")
    assert done.stderr.count("\n") == 1
    assert "storable" in done.stdout
    if shown:
        record = json.loads(done.stdout)
        assert (record["verdict"], record["certificate"]) == ("storable", None)
    else:
        assert "60 of 60" in done.stdout
        assert "proof:" not in done.stdout
    # What was there is there, and nothing else.
    assert [path.read_bytes() for path in tmp_path.iterdir()] == ([older] if older else [])


def test_without_a_proof_an_older_file_stays_and_the_answer_says_so(tmp_path):
    proof = tmp_path / "proof.npz"
    asked = ["decide", "--dim", "20", "--facts", "50", "--seed", "1", "--rank", "1"]
    done = run(*asked, "--save", str(proof))
    assert "There is no proof to save." in done.stdout
    assert "left as it was" not in done.stdout
    proof.write_bytes(b"an older proof")
    done = run(*asked, "--save", str(proof))
    assert done.returncode == 0
    assert f"There is no proof to save. {proof} is left as it was." in " ".join(done.stdout.split())
    assert proof.read_bytes() == b"an older proof"
    assert answer(*asked, "--save", str(proof))["certificate"] is None


def test_a_proof_replaces_what_its_link_points_to(tmp_path):
    problem = OriginalProblem.gaussian(6, 4, seed=0)
    (tmp_path / "there").mkdir()
    link = tmp_path / "link.npz"
    link.symlink_to(tmp_path / "there" / "proof.npz")
    decide(problem).certificate.save(link)
    assert link.is_symlink()
    assert simonides.verify(Certificate.load(tmp_path / "there" / "proof.npz"), problem).valid
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["link.npz", "proof.npz", "there"]


# What a script is told of a proof.


@pytest.fixture
def proof(tmp_path):
    path = tmp_path / "proof.npz"
    answer("decide", *DRAWN, "--save", str(path))
    return str(path)


def test_a_proof_that_proves_nothing_is_an_answer_with_no_bound(proof):
    other = ["verify", proof, *DRAWN, "--seed", "2"]
    done = run(*other)
    assert done.returncode == 0
    assert "no: it is about another problem" in done.stdout
    assert "nan" not in done.stdout
    assert "none" in done.stdout
    record = answer(*other)
    assert record["valid"] is False
    assert record["margin_bound"] is None


def test_a_script_can_tell_by_the_exit_code(proof):
    assert run("verify", proof, *DRAWN, "--strict").returncode == 0
    for shown in ([], ["--json"]):
        done = run("verify", proof, *DRAWN, "--seed", "2", "--strict", *shown)
        assert (done.returncode, done.stderr) == (1, "")
        assert "another problem" in done.stdout
    damaged = Path(proof).with_name("damaged.npz")
    damaged.write_bytes(Path(proof).read_bytes()[:100])
    assert "damaged.npz" in refused("verify", str(damaged), *DRAWN, "--strict")


def test_bounds_that_are_not_known_are_not_printed_as_numbers():
    storable = run("decide", "--dim", "10", "--facts", "10").stdout
    assert "at least 0." in storable
    beyond = run("decide", "--dim", "10", "--facts", "60").stdout
    assert "at most " in beyond
    lost = run("decide", "--dim", "20", "--facts", "50", "--seed", "1", "--rank", "1").stdout
    assert "margin at this rank" in lost
    assert "not known" in lost
    for printed in (storable, beyond, lost):
        assert "inf" not in printed
        assert "nan" not in printed


def test_facts_that_no_weights_could_store_are_named(tmp_path):
    rng = np.random.default_rng(0)
    inputs, outputs = rng.standard_normal((6, 9)), rng.standard_normal((6, 9))
    outputs[4] = outputs[1]
    np.save(tmp_path / "x.npy", inputs)
    np.save(tmp_path / "y.npy", outputs)
    asked = ["decide", "--inputs", str(tmp_path / "x.npy"), "--outputs", str(tmp_path / "y.npy")]
    printed = " ".join(run(*asked).stdout.split())
    assert "not-storable" in printed
    assert (
        "No weights let fact 1 beat output 4: the fact has a right output equal to it." in printed
    )
    inputs[2] = 0
    np.save(tmp_path / "x.npy", inputs)
    assert "fact 2 beat output 0: the fact has an input of zeros" in " ".join(
        run(*asked).stdout.split()
    )


def test_the_margin_of_a_bounded_rank_is_called_so():
    found = run("decide", "--dim", "20", "--facts", "30", "--rank", "10").stdout
    assert "largest normalised margin at this rank" in found
    assert "at least " in found
    line = refused("decide", "--dim", "20", "--facts", "30", "--rank", "10", "--margin")
    assert "--margin" in line


def test_far_beyond_capacity_the_first_facts_tell():
    asked = ["decide", "--dim", "5", "--facts", "300"]
    record = answer(*asked)
    assert record["verdict"] == "not-storable"
    assert 5 < record["told_by"] < 200
    assert record["recalled"] is None  # of all facts: nobody counted
    printed = " ".join(run(*asked).stdout.split())
    assert f"of the first {record['told_by']}" in printed
    assert f"The first {record['told_by']} facts alone do not fit" in printed
    assert answer("decide", "--dim", "5", "--facts", "12")["told_by"] is None
