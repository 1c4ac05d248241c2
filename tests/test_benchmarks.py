"""The tables of the documentation are what the stored results of benchmarks say."""

from benchmarks import published


def test_tables_follow_from_the_results():
    tables = published.tables(published.read())
    assert {"thresholds", "spectra", "spectra_loads", "outcomes"} <= set(tables)
    for name, text in tables.items():
        assert text == (published.FOLDER / f"{name}.md").read_text(), name
