"""Every figure is drawn from stored results, and shows what they hold."""

import math

import numpy as np
import pytest

from simonides.experiments.expand import predicted
from simonides.failures import BadArgumentError
from simonides.figures.paper.catalogue import PICTURES, draw
from simonides.reproduction import catalogue
from simonides.reproduction.catalogue import FIGURES, chosen, needed
from simonides.reproduction.plans import PLANS
from simonides.reproduction.results import SCORE_GRID, score_distribution, where
from simonides.reproduction.run import sweeps_for

HEAVY = {"1", "2", "A.1"} | {
    f"signal-{name}" for name in ("skip", "placement", "trainability", "training")
}
"""Those that solve the theory of training or compute a table of attention, which takes some seconds."""


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n in HEAVY else ()) for n in FIGURES]
)
def test_every_axis_and_line_of_every_figure_is_labelled(name, results):
    if FIGURES[name].extra:
        pytest.importorskip(FIGURES[name].extra)
    tables = FIGURES[name].tables(results)
    assert all(len(table) for table in tables.values())
    picture = draw(name, tables)
    shown = [axes for axes in picture.axes if axes.get_visible()]
    named = [text for axes in shown for text in axes.get_legend_handles_labels()[1]]
    assert named
    assert picture.legends or any(axes.get_legend() for axes in shown)
    for axes in shown:
        assert axes.get_xlabel()
        assert axes.get_title(loc="left")


def test_figures_pictures_and_plans_name_the_same():
    assert list(FIGURES) == list(PICTURES)
    for plan in PLANS.values():
        assert set(needed(list(FIGURES.values()))) <= set(plan.sweeps)


def test_both_scales_hold_what_was_asked_of_them():
    full = PLANS["full"].sweeps["accuracy"]
    sizes = {
        problem: {dim for spec in full if problem in spec.problems for dim in spec.dims}
        for problem in ("original", "decoupled")
    }
    assert sizes == {"original": {25, 50, 100, 200}, "decoupled": {25, 50, 100}}
    assert all(len(spec.loads) >= 25 and spec.instances >= 10 for spec in full)
    assert {0.1, 0.25, 0.5} == {
        f for spec in PLANS["full"].sweeps["rank"] for f in spec.rank_fractions
    }


def test_an_unknown_figure_is_refused_with_those_there_are():
    with pytest.raises(BadArgumentError, match=r"figure = '5' must be one of 1, 2, 3, 4, A\.1"):
        chosen(["1", "5"])
    assert [figure.name for figure in chosen(["D.1", "1"])] == ["1", "D.1"]


def test_without_an_extra_its_figure_is_left_out_or_refused_by_name(monkeypatch):
    monkeypatch.setattr(catalogue, "find_spec", lambda name: None if name == "torch" else name)
    assert [figure.name for figure in chosen([])] == [n for n in FIGURES if n != "signal-training"]
    with pytest.raises(BadArgumentError, match=r"'signal-training' .*: pip install -e '\.\[torch"):
        chosen(["1", "signal-training"])
    everything = sweeps_for(chosen([]))
    monkeypatch.setattr(catalogue, "find_spec", lambda name: name)
    assert chosen([]) == list(FIGURES.values())
    assert sweeps_for(chosen([])) == everything, "claims need theirs either way"
    assert "protocol" in everything
    assert "protocol" not in sweeps_for(chosen(["1"]))


def test_thresholds_are_the_means_of_the_rows(results):
    table = FIGURES["C.1"].tables(results)["measured"]
    rows = where(results.rows("thresholds"), problem="decoupled", dim=8)
    (row,) = table.where("decoupled", 1.0).where("dim", 8.0).records()
    assert row["facts"] == pytest.approx(np.mean([one["threshold"] for one in rows]))
    assert row["instances"] == len(rows) == 4
    assert row["facts_theory"] == predicted("decoupled", 8, None)


def test_the_difference_is_that_of_the_two_thresholds(results):
    excess = FIGURES["difference"].tables(results)["measured"].where("dim", 8.0)["excess"][0]
    found = FIGURES["C.1"].tables(results)["measured"].where("dim", 8.0)
    original, decoupled = (found.where("decoupled", code)["facts"][0] for code in (0.0, 1.0))
    assert excess == pytest.approx(original / decoupled - 1)


def test_histograms_are_densities(results):
    for name in ("4", "D.1"):
        table = FIGURES[name].tables(results)["measured"]
        step = SCORE_GRID[1] - SCORE_GRID[0]
        for regime in table.distinct("regime"):
            part = table.where("regime", regime).where("decoupled", 0.0)
            for kind in ("target", "rival"):
                assert np.sum(part[kind]) * step == pytest.approx(1.0, abs=0.02), (name, regime)


def test_rival_scores_have_variance_one(results):
    row = results.rows("regimes", dim=8)[0]
    below = score_distribution(row, "rival")
    middles = (SCORE_GRID[1:] + SCORE_GRID[:-1]) / 2
    masses = np.diff(below)
    mean = masses @ middles
    assert masses @ (middles - mean) ** 2 == pytest.approx(1.0, rel=0.02)


def test_spectra_are_densities_of_mean_square_one(results):
    table = FIGURES["3"].tables(results)["measured"].where("rank_fraction", 1.0)
    part = table.where("decoupled", 1.0)
    width = part["singular_value"][1] - part["singular_value"][0]
    assert np.sum(part["density"]) * width == pytest.approx(1.0, abs=0.15)  # beyond 2.4 some lie
    second = np.sum(part["density"] * part["singular_value"] ** 2) * width
    assert second == pytest.approx(1.0, abs=0.4)


def test_margins_are_in_off_target_deviations(results):
    table = FIGURES["margin"].tables(results)["measured"].where("decoupled", 0.0)
    rows = where(results.rows("margin"), problem="original", facts=int(table["facts"][0]))
    middle = np.mean([(row["margin_lower"] + row["margin_upper"]) / 2 for row in rows])
    assert table["margin"][0] == pytest.approx(math.sqrt(2) * 6 * middle)
