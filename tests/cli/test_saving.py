"""Proofs on disk: a verdict is printed whatever becomes of its file, and no file is half written."""

import json
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from running import answer, refused, run

import simonides
from simonides.certificate import Certificate
from simonides.cli.decide import decide
from simonides.failures import BadArgumentError
from simonides.problems.original import OriginalProblem
from simonides.solvers.deciding.decide import decide as prove

DRAWN = ["--dim", "30", "--facts", "60"]


@pytest.fixture
def printed(capsys):
    """Decide here, since starting the program takes longer; return what it prints."""

    def call(**options):
        decide(**options)
        return " ".join(capsys.readouterr().out.split())

    return call


def full_after(size: int) -> dict:
    """Return what makes every file of a program full at so many bytes."""
    if sys.platform != "linux":
        pytest.skip("elsewhere files cannot be limited")
    return {
        "before": f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))"
    }


@pytest.mark.parametrize(
    ("older", "shown"), [(None, ["--json"]), (b"an older proof", [])], ids=["new", "older"]
)
def test_a_disk_that_fills_up_does_not_take_the_verdict_along(tmp_path, older, shown):
    prove(OriginalProblem.gaussian(60, 30, seed=0))  # compiles, and keeps kernels in larger files
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


@pytest.mark.slow
def test_without_a_proof_an_older_file_stays_and_the_answer_says_so(printed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    proof = Path("proof.npz")
    asked = {"dim": 20, "facts": 50, "seed": 1, "rank": 1, "save": str(proof)}
    assert printed(**asked).endswith("There is no proof to save.")
    proof.write_bytes(b"an older proof")
    assert printed(**asked).endswith("There is no proof to save. proof.npz is left as it was.")
    assert proof.read_bytes() == b"an older proof"
    assert json.loads(printed(**asked, as_json=True))["certificate"] is None


def test_a_proof_replaces_what_its_link_points_to(tmp_path):
    problem = OriginalProblem.gaussian(6, 4, seed=0)
    (tmp_path / "there").mkdir()
    link = tmp_path / "link.npz"
    link.symlink_to(tmp_path / "there" / "proof.npz")
    prove(problem).certificate.save(link)
    assert link.is_symlink()
    assert simonides.verify(Certificate.load(tmp_path / "there" / "proof.npz"), problem).valid
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["link.npz", "proof.npz", "there"]


# What a script is told of a proof.


@pytest.fixture
def proof(tmp_path):
    path = tmp_path / "proof.npz"
    return str(prove(OriginalProblem.gaussian(60, 30, seed=0)).certificate.save(path))


def test_a_proof_that_proves_nothing_is_an_answer_with_no_bound(proof):
    other = ["verify", proof, *DRAWN, "--seed", "2", "--no-strict"]
    done = run(*other)
    assert done.returncode == 0
    assert "no: it is about another problem" in done.stdout
    assert "nan" not in done.stdout
    assert "none" in done.stdout
    record = answer(*other)
    assert record["valid"] is False
    assert record["margin_bound"] is None


def test_a_proof_that_no_memory_holds_is_refused_in_one_line(tmp_path):
    path = tmp_path / "vast.npz"
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (100000000000000000000,), }\n"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("weights.npy", b"\x93NUMPY\x01\x00" + bytes([len(header), 0]) + header)
    assert "would unpack to" in refused("verify", str(path), *DRAWN)


def test_a_script_can_tell_by_the_exit_code(proof):
    assert run("verify", proof, *DRAWN).returncode == 0
    for shown in ([], ["--json"]):
        done = run("verify", proof, *DRAWN, "--seed", "2", *shown)
        assert (done.returncode, done.stderr) == (1, "")
        assert "another problem" in done.stdout
    damaged = Path(proof).with_name("damaged.npz")
    damaged.write_bytes(Path(proof).read_bytes()[:100])
    assert "damaged.npz" in refused("verify", str(damaged), *DRAWN)


# What the table says.


def test_bounds_that_are_not_known_are_not_printed_as_numbers(printed):
    storable, beyond = printed(dim=10, facts=10), printed(dim=10, facts=60)
    lost = printed(dim=20, facts=50, seed=1, rank=1)
    assert "at least 0." in storable
    assert "at most " in beyond
    assert "not known" in lost
    for text in (storable, beyond, lost):
        assert "inf" not in text
        assert "nan" not in text


def test_the_margin_of_a_bounded_rank_is_called_so(printed):
    text = printed(dim=20, facts=30, rank=10)
    assert "largest normalised margin at this rank at least " in text
    with pytest.raises(BadArgumentError, match="--largest-margin"):
        printed(dim=20, facts=30, rank=10, largest_margin=True)


def test_a_search_that_failed_is_said_to_prove_nothing(printed):
    assert "were found. That proves nothing" in printed(dim=6, facts=12, rank=1)


def test_far_beyond_capacity_the_first_facts_tell(printed):
    record = json.loads(printed(dim=5, facts=300, as_json=True))
    assert record["verdict"] == "not-storable"
    assert 5 < record["told_by"] < 200
    table = printed(dim=5, facts=300)
    assert f"{record['recalled']} of 300" in table
    assert f"The first {record['told_by']} facts alone do not fit" in table
    assert json.loads(printed(dim=5, facts=12, as_json=True))["told_by"] is None


def test_facts_that_no_weights_could_store_are_named(printed, tmp_path):
    inputs, outputs = np.random.default_rng(0).standard_normal((2, 6, 9))
    outputs[4] = outputs[1]
    files = {"inputs": str(tmp_path / "x.npy"), "outputs": str(tmp_path / "y.npy")}
    np.save(files["inputs"], inputs)
    np.save(files["outputs"], outputs)
    table = printed(**files)
    assert "not-storable" in table
    assert "No weights let fact 1 beat output 4: the fact has a right output equal to it." in table
    inputs[2] = 0
    np.save(files["inputs"], inputs)
    assert "fact 2 beat output 0: the fact has an input of zeros" in printed(**files)
