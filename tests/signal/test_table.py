"""The table agrees with what it tabulates, and is kept where the user's caches are."""

import math

import numpy as np
import pytest

from simonides.signal.attention import table
from simonides.signal.attention.softmax import attention_statistics

TOKENS = 40


@pytest.fixture(scope="module")
def computed():
    return table.compute(TOKENS)


@pytest.mark.slow
@pytest.mark.parametrize(("low", "high"), [(1e-8, 1e-4), (1e-4, 0.1), (0.1, 40 * math.log(TOKENS))])
def test_interpolation_is_within_half_a_percent(computed, low, high):
    rng = np.random.default_rng(1)
    variances = np.exp(rng.uniform(math.log(low), math.log(high), 25))
    correlations = 1 - rng.uniform(size=25) ** 2
    statistics = computed(variances, correlations)
    for k, (variance, correlation) in enumerate(zip(variances, correlations, strict=True)):
        exact = attention_statistics(float(variance), float(correlation), TOKENS)
        for name in vars(exact):
            interpolated = np.broadcast_to(getattr(statistics, name), variances.shape)[k]
            assert interpolated == pytest.approx(getattr(exact, name), rel=5e-3), name


@pytest.mark.slow
def test_ends_are_continued(computed):
    beyond = computed(np.array(100 * math.log(TOKENS)), np.array(0.3))
    exact = attention_statistics(100 * math.log(TOKENS), 0.3, TOKENS)
    assert float(beyond.participation) == pytest.approx(exact.participation, rel=0.02)
    assert float(beyond.entropy) == pytest.approx(exact.entropy, rel=0.1)
    nothing = computed(np.array(0.0), np.array(1.0))
    assert float(nothing.participation) == pytest.approx(1 / TOKENS)
    assert float(nothing.contrast) == 0
    assert float(nothing.entropy) == pytest.approx(math.log(TOKENS))


def test_a_table_is_kept_and_found_again(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = []
    monkeypatch.setattr(table, "compute", lambda tokens: made.append(tokens) or _flat(tokens))
    table.attention_table.cache_clear()
    first = table.attention_table(7)
    table.attention_table.cache_clear()
    again = table.attention_table(7)
    np.testing.assert_array_equal(first.row_values, again.row_values)
    assert made == [7]
    (path,) = (tmp_path / "simonides").iterdir()
    path.write_bytes(path.read_bytes()[:100])
    table.attention_table.cache_clear()
    table.attention_table(7)
    assert made == [7, 7], "a file cut short is computed again"
    for odd in (np.zeros(3), np.array("x"), np.full((193, 6), np.nan), np.zeros((193, 6), "M8[s]")):
        np.savez(path, row_values=odd, pair_values=_flat(7).pair_values)
        table.attention_table.cache_clear()
        assert table.attention_table(7).row_values.tolist() == first.row_values.tolist()
    assert made == [7] * 6, "and so is what is no table"
    table.attention_table.cache_clear()


def test_a_folder_that_cannot_be_written_is_reported(monkeypatch, tmp_path):
    (tmp_path / "simonides").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.warns(UserWarning, match="not kept"):
        table._keep(table.cache_folder() / "x.npz", _flat(7))


def test_a_folder_that_cannot_be_read_costs_only_time(monkeypatch, tmp_path):
    (tmp_path / "simonides").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(table, "compute", _flat)
    table.attention_table.cache_clear()
    with pytest.warns(UserWarning, match="not kept"):
        assert table.attention_table(7).tokens == 7
    table.attention_table.cache_clear()


def _flat(tokens):
    (_, rows), (_, pairs) = table.ROWS, table.PAIRS
    return table.AttentionTable(float(tokens), np.zeros((rows, 6)), np.zeros((2, pairs, 17)))
