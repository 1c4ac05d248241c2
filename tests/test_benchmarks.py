"""The tables of the documentation are what the stored results of benchmarks say."""

import pytest

from benchmarks import published, spectra


def test_tables_follow_from_the_results():
    tables = published.tables(published.read())
    assert {"thresholds", "spectra", "spectra_loads", "outcomes"} <= set(tables)
    for name, text in tables.items():
        assert text == (published.FOLDER / f"{name}.md").read_text(), name


@pytest.mark.slow
def test_random_matrices_near_the_law_as_they_grow():
    small, large = (spectra.of_random(dim, dim // 2, 0.5, None) for dim in (24, 96))
    few, many = (spectra.of_random(96, 48, 0.5, facts) for facts in (200, 5_000))
    assert large < small / 2
    # A sum of many facts is as Gaussian entries are; of few it is further off.
    assert large < many < 1.5 * large < few
    # Without the cut nothing is truncated, and the law is another.
    assert spectra.of_random(96, 96, 0.5, None) > 5 * large
