"""What theory expects of cities and what rules recall of them, on a small world made here."""

from types import SimpleNamespace

import numpy as np
import pytest

from examples import cities
from simonides import capacity

CITIES, COUNTRIES, DIM = 400, 6, 10


@pytest.fixture(scope="module")
def atlas():
    rng = np.random.default_rng(3)
    home = rng.choice(COUNTRIES, size=CITIES, p=[0.45, 0.35, 0.05, 0.05, 0.05, 0.05])
    vectors = rng.standard_normal((CITIES, DIM)), rng.standard_normal((COUNTRIES, DIM))
    world = SimpleNamespace(
        cities=range(CITIES),
        countries=range(COUNTRIES),
        home=home,
        city_vectors=lambda: vectors[0],
        country_vectors=lambda: vectors[1],
    )
    return cities.Atlas(world)


def test_labels_that_are_drawn_evenly_are_what_theory_is_about(atlas):
    directions = [part.shape[1] for part in atlas.whitened]
    assert directions == [DIM, COUNTRIES - 1]
    found = cities.expected(atlas)
    assert found["true"] is None
    assert found["drawn evenly"] == capacity(DIM, COUNTRIES - 1, candidates=COUNTRIES).facts


def test_two_large_countries_bind_before_all_six(atlas):
    sizes = np.sort(np.bincount(atlas.world.home))[::-1]
    two = capacity(DIM, COUNTRIES - 1, candidates=2).facts * CITIES / sizes[:2].sum()
    found = cities.expected(atlas)
    assert found["shuffled"] == pytest.approx(two)
    assert two < found["drawn evenly"]


def test_labels_keep_what_they_say_they_keep(atlas):
    shuffled, even = atlas.labels["shuffled"], atlas.labels["drawn evenly"]
    np.testing.assert_array_equal(np.bincount(shuffled), np.bincount(atlas.world.home))
    assert (shuffled != atlas.world.home).mean() > 0.5
    # A sixth each, within four deviations of a count of draws.
    counts = np.bincount(even, minlength=COUNTRIES)
    spread = np.sqrt(CITIES * (1 / COUNTRIES) * (1 - 1 / COUNTRIES))
    assert abs(counts - CITIES / COUNTRIES).max() < 4 * spread


def test_rules_recall_what_their_weights_do(atlas, monkeypatch):
    monkeypatch.setattr(cities, "ASKED", (50,))
    rows = list(cities.by_rule(atlas))
    assert [row["asked"] for row in rows] == [50] * 3 + [CITIES] * 3 + ([50] * 3 + [CITIES] * 3) * 2
    keys, values = atlas.vectors
    targets = atlas.labels["true"]
    rule = values[targets].T @ keys
    recalled = int(((keys @ rule.T @ values.T).argmax(axis=1) == targets).sum())
    hebbian = next(row for row in rows if row["asked"] == CITIES and row["method"] == "Hebbian")
    assert hebbian["labels"] == "true"
    assert hebbian["recalled"] == recalled
    white, centred = atlas.whitened
    inverse = np.linalg.lstsq(white, centred[targets], rcond=None)[0]
    best = int(((white @ inverse @ centred.T).argmax(axis=1) == targets).sum())
    named = "pseudo-inverse, whitened"
    (again,) = (
        r for r in rows if (r["labels"], r["asked"], r["method"]) == ("true", CITIES, named)
    )
    assert again["recalled"] == best
