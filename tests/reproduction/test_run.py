"""A figure redone in one call: what it returns, writes and says while it works."""

from dataclasses import replace

import pytest
from tiny import TINY, spec

from simonides.experiments.sweep import Tally
from simonides.failures import BadArgumentError
from simonides.reproduction.catalogue import chosen
from simonides.reproduction.run import Began, reproduce, sweeps_for


def test_a_figure_is_redone_in_one_call(tmp_path):
    small = spec("original", (4,), ("threshold",), 2, rank_fractions=(0.5, 1.0))
    plan = replace(TINY, sweeps=TINY.sweeps | {"bounded": (small,)})
    events = []
    reproduction = reproduce(plan, ["rank"], tmp_path, workers=1, watch=events.append)
    assert reproduction.page == tmp_path / "report.html"
    assert reproduction.page.read_text().count("<figure>") == 1
    assert [claim.name for claim in reproduction.claims] == ["rank-capacity"]
    measured = reproduction.tables["rank"]["measured"]
    assert measured["rank_fraction"].tolist() == [0.5, 1.0]
    assert reproduction.tallies["bounded-1"].done == 4
    assert set(reproduction.seconds) == {"bounded-1", "figures", "claims"}
    begun = [event for event in events if isinstance(event, Began)]
    assert begun == [Began("measuring", "bounded-1", 1, 1), Began("computing figure", "rank", 1, 1)]
    assert [event for event in events if isinstance(event, Tally)][-1].left == 0


def test_a_plan_of_another_scale_is_refused_in_its_folder(tmp_path):
    reproduce(TINY, ["C.2"], tmp_path, workers=1)
    with pytest.raises(BadArgumentError, match="a run of scale other, not tiny"):
        reproduce(replace(TINY, name="other"), ["C.2"], tmp_path)


def test_only_a_whole_run_measures_for_all_claims():
    assert "protocol" in sweeps_for(chosen())
    assert sweeps_for(chosen(["1"])) == ["accuracy"]


def test_listing_figures_and_curves_does_not_load_matplotlib():
    import subprocess
    import sys

    code = (
        "import sys, simonides.reproduction.catalogue, simonides.curves.catalogue\n"
        "print('matplotlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
