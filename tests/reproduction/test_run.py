"""A figure redone in one call: what it returns, writes and says while it works."""

import json
import subprocess
import sys
from dataclasses import replace

import pytest
from tiny import TINY, spec

from simonides import __version__
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


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"version": "0.0.1"}, f"a run of version {__version__}, not 0.0.1"),
        ({"scale": "full"}, "a run of scale tiny, not full"),
    ],
)
def test_a_folder_of_another_version_or_scale_is_refused_and_kept(tmp_path, other, said):
    marker = tmp_path / "reproduction.json"
    marker.write_text(json.dumps({"version": __version__, "scale": "tiny"} | other))
    with pytest.raises(BadArgumentError, match=f"{said}: choose another folder"):
        reproduce(TINY, ["C.2"], tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figures", "reproduction.json"]


def test_a_marker_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "reproduction.json").write_text("[1, ")
    with pytest.raises(BadArgumentError, match=r"a readable reproduction\.json"):
        reproduce(TINY, ["C.2"], tmp_path)


def test_one_figure_does_not_replace_the_report_of_a_whole_run(tmp_path):
    reproduce(TINY, ["C.2"], tmp_path, workers=1)
    marker = tmp_path / "reproduction.json"
    entered = json.loads(marker.read_text())
    assert entered == {"version": __version__, "scale": "tiny", "whole": False}
    marker.write_text(json.dumps(entered | {"whole": True}))
    (tmp_path / "report.html").write_text("of the whole")
    (tmp_path / "claims.json").write_text("theirs")
    assert reproduce(TINY, ["C.2"], tmp_path, workers=1).page == tmp_path / "report-C.2.html"
    assert (tmp_path / "times-C.2.json").exists()
    assert (tmp_path / "report.html").read_text() == "of the whole"
    assert (tmp_path / "claims.json").read_text() == "theirs"
    assert json.loads(marker.read_text())["whole"]


def test_only_a_whole_run_measures_for_all_claims():
    assert "protocol" in sweeps_for(chosen())
    assert sweeps_for(chosen(["1"])) == ["accuracy"]


def test_listing_figures_and_curves_does_not_load_matplotlib():
    code = (
        "import sys, simonides.reproduction.catalogue, simonides.curves.catalogue\n"
        "print('matplotlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
