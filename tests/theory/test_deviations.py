"""Stored measurements against theory and its notes, at sizes that notes come from and at fresh ones."""

import pytest

from benchmarks import deviations, published

_SIGMAS = 2.5
"""One of eighty cells is further off by chance."""

_SLACK = 0.03
"""By which theory may be off without a note."""

ROWS = published.read()["deviations"]


def test_fresh_cells_are_others():
    first, fresh = (
        {tuple(case) for case in cases} for cases in (deviations.FIRST, deviations.FRESH)
    )
    assert not first & fresh
    assert [row["cells"] for row in ROWS] == ["first"] * len(first) + ["fresh"] * len(fresh)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['shape']}-{row['ensemble']}")
def test_theory_is_off_by_what_its_notes_say(row):
    error = _SIGMAS * row["over_theory_stderr"]
    said = row["said"] or 0.0
    if row["sized"]:
        assert abs(row["over_theory"] - said) < _SLACK + error
    # A note with a size is nearer to what was measured than silence would be.
    assert abs(row["over_theory"] - said) < abs(row["over_theory"]) + error
    if not row["note"]:
        assert abs(row["over_theory"]) < _SLACK + error
