"""``simonides sweep`` from the command line: answers, help and refusals."""

import csv
import json
import subprocess
from pathlib import Path

import program
import pytest

SPEC = """
problem = "original"
dims = [5]
facts = [4, 30]
instances = 2
seed = 1
solvers = ["hebbian", {name = "feasibility", max_steps = 50}]
"""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return program.run("sweep", *arguments)


def answer(*arguments: str) -> dict:
    ended = run(*arguments, "--json")
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""
    return json.loads(ended.stdout)


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "spec.toml"
    path.write_text(SPEC)
    return str(path)


@pytest.mark.slow
def test_run_status_and_export_agree(spec, tmp_path):
    out, file = str(tmp_path / "run"), tmp_path / "rows.csv"
    tally = answer("run", spec, "--out", out, "--workers", "1")
    assert (tally["done"], tally["failed"], tally["total"]) == (8, 0, 8)
    assert answer("status", out) == tally
    exported = answer("export", out, str(file))
    assert (exported["done"], exported["rows"], exported["file"]) == (8, 8, str(file))
    with file.open() as read:
        rows = list(csv.DictReader(read))
    verdicts = {int(row["facts"]): row["outcome"] for row in rows if row["solver"] == "feasibility"}
    assert verdicts == {4: "storable", 30: "not-storable"}
    shown = run("status", out).stdout
    assert "done" in shown
    assert "8" in shown
    assert run("export", out, str(tmp_path / "rows.parquet")).stdout.strip().endswith(": 8 rows")


@pytest.mark.parametrize(
    ("change", "named", "allowed"),
    [
        ("dims = [0]", "dims[0] = 0", "at least 1"),
        ('solvers = ["magic"]', "solvers[0].name = 'magic'", "cross_entropy"),
        ("dim = [5]", "dim = [5]", "dims"),
        ("loads = [1", "spec.toml", "TOML"),
    ],
)
def test_a_malformed_spec_is_refused_in_one_line(spec, tmp_path, change, named, allowed):
    key = change.split(" =")[0]
    kept = [line for line in SPEC.splitlines() if not line.startswith(f"{key} =")]
    Path(spec).write_text("\n".join([*kept, change]))
    ended = run("run", spec, "--out", str(tmp_path / "run"))
    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1
    assert named in ended.stderr
    assert allowed in ended.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["run", "nowhere.toml", "--out", "x"], "nowhere.toml"),
        (["run", "{spec}"], "--out"),
        (["run", "{spec}", "--out", "{out}", "--workers", "0"], "workers = 0"),
        (["run", "{spec}", "--out", "{out}", "--memory-limit", "0"], "memory_limit = 0"),
        (["run", "{spec}", "--out", "{spec}"], "spec.toml"),
        (["status", "{out}"], "sweep run"),
        (["export", "{out}", "rows.csv"], "sweep run"),
        (["export", "{out}", "rows.xlsx"], "rows.xlsx"),
        (["finish"], "finish"),
    ],
)
def test_bad_input_exits_with_two_and_one_line(spec, tmp_path, arguments, named):
    places = {"spec": spec, "out": str(tmp_path / "run")}
    ended = run(*(argument.format(**places) for argument in arguments))
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr.count("\n") == 1
    assert named in ended.stderr


@pytest.mark.parametrize("command", ["run", "status", "export"])
def test_help_is_honest_and_has_an_example(command):
    ended = run(command, "--help")
    assert ended.returncode == 0
    assert f"Example: simonides sweep {command}" in " ".join(ended.stdout.split())
