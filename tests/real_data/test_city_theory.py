"""What theory expects of cities and what rules recall of them, on a small world made here."""

from types import SimpleNamespace

import numpy as np
import pytest

from examples import cities
from simonides import capacity, decide, verify

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
    expected = cities.expected(atlas)
    assert expected["true"] is None
    assert expected["drawn evenly"] == capacity(DIM, COUNTRIES - 1, candidates=COUNTRIES).facts


def test_two_large_countries_bind_before_all_six(atlas):
    sizes = np.sort(np.bincount(atlas.world.home))[::-1]
    two = capacity(DIM, COUNTRIES - 1, candidates=2).facts * CITIES / sizes[:2].sum()
    expected = cities.expected(atlas)
    assert expected["shuffled"] == pytest.approx(two)
    assert two < expected["drawn evenly"]


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


def test_a_part_asks_some_of_what_the_whole_asks(atlas):
    homes = atlas.labels["shuffled"][:60]
    part = atlas.part("shuffled", 60, 2)
    largest = np.argsort(-np.bincount(atlas.world.home))[:2]
    kept = np.flatnonzero(np.isin(homes, largest))
    assert part.facts == len(kept) < 60
    # Whatever a map of the whole scores, some map of the part scores up to a shift: its own two countries
    # differ along one direction, which the whole's span.
    whole = atlas.problem("shuffled", 60, whitened=True)
    weights = np.random.default_rng(1).standard_normal((whole.dim_out, whole.dim_in))
    gaps = whole.inputs[kept] @ weights.T @ (whole.outputs[largest[0]] - whole.outputs[largest[1]])
    first, second = part.outputs[np.searchsorted(np.sort(largest), largest)]
    fitted = np.linalg.lstsq(part.inputs * (first - second), gaps, rcond=None)[0]
    np.testing.assert_allclose(part.inputs @ fitted * (first - second), gaps, rtol=1e-9)
    targets = np.where(part.targets == np.searchsorted(np.sort(largest), largest[0]), *largest)
    np.testing.assert_array_equal(targets, homes[kept])


def test_where_a_part_cannot_be_stored_the_whole_cannot(atlas):
    decision = decide(atlas.part("shuffled", CITIES, 2), threads=1)
    assert str(decision.verdict) == "not-storable"
    assert verify(decision.certificate, atlas.part("shuffled", CITIES, 2)).valid
    row = cities.part_decision(atlas, "shuffled", CITIES, 2)
    assert (row["countries"], row["verdict"]) == (2, "not-storable")
    assert row["inside"] == np.sort(np.bincount(atlas.world.home))[-2:].sum()
    assert cities.decision(atlas, "shuffled", CITIES)["verdict"] == "not-storable"
    few = cities.decision(atlas, "shuffled", 12)
    assert few["verdict"] == cities.part_decision(atlas, "shuffled", 12, 2)["verdict"] == "storable"
