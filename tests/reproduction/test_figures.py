"""Every figure is drawn from stored results, and shows what they hold."""

import math
from itertools import product

import numpy as np
import pytest
from looks import assert_fits_a_page, nameless, twins
from matplotlib.figure import Figure

from simonides.curves.catalogue import CURVES
from simonides.curves.table import Table
from simonides.experiments.expand import predicted
from simonides.failures import BadArgumentError
from simonides.reproduction import catalogue
from simonides.reproduction.catalogue import FIGURES, chosen
from simonides.reproduction.plans import PLANS
from simonides.reproduction.results import SCORE_GRID, score_distribution, where
from simonides.reproduction.run import sweeps_for
from simonides.reproduction.training import between_nodes
from simonides.theory.hebbian import signal
from simonides.theory.setting import Setting

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
    tables = results.tables(FIGURES[name])
    assert all(len(table) for table in tables.values())
    picture = FIGURES[name].draw(tables)
    shown = [axes for axes in picture.axes if axes.get_visible()]
    legends = [*picture.legends, *(axes.get_legend() for axes in shown if axes.get_legend())]
    assert legends
    for axes in shown:
        assert axes.get_xlabel()
        assert axes.get_title(loc="left")
        assert axes.get_ylabel() or not axes.get_subplotspec().is_first_col()
        assert nameless(axes, legends) == []
        assert twins(axes) == []
    assert_fits_a_page(picture)


def test_the_check_sees_lines_without_a_name_and_lines_alike():
    axes = Figure().subplots()
    axes.plot([0, 1], [0, 1], "r-", label="named")
    axes.plot([0, 1], [1, 0], "r-")
    axes.errorbar([0, 1], [1, 1], [0.1, 0.1], fmt="bo", label="bars")
    axes.plot([0, 1], [0, 0], "g--")
    axes.axvline(0.5)
    legend = axes.legend()
    assert len(nameless(axes, [legend])) == 2, "the dashes, and the vertical"
    assert len(twins(axes)) == 1
    axes.text(0.5, 1, "half")
    axes.plot([], [], "g--", label="dashes")
    assert nameless(axes, [axes.legend()]) == []


@pytest.mark.parametrize("name", ["A.2", "C.2"])
def test_tables_say_their_dimension(name, results):
    tables = results.tables(FIGURES[name])
    dims = {key: tables[key].distinct("dim") for key in tables if key != "theory"}
    assert set(map(tuple, dims.values())) == {(8.0,) if name == "A.2" else (200.0,)}


def test_curves_of_theory_are_smooth_and_pass_through_their_nodes():
    load = np.array([0.1, 0.89, 0.9, 0.94, 1.05, 1.3])
    accuracy, loss = np.array([1, 1, 0.68, 0.52, 0.42, 0.25]), np.array([0, 0, 1.7, 2.2, 2.8, 3.7])
    columns = {"dim": np.full(6, 50.0), "load": load, "accuracy": accuracy, "loss": loss}
    curve = between_nodes(Table("theory", "", columns))
    x = curve["load"]
    assert np.all(np.diff(x) > 0)
    assert (x[0], x[-1]) == (0.1, 1.3)
    assert np.all(np.diff(curve["accuracy"]) <= 0)
    assert np.all(np.diff(curve["loss"]) >= 0)
    chord = np.interp(x, load, accuracy)
    np.testing.assert_allclose(np.interp(load, x, curve["accuracy"]), accuracy, atol=0.01)
    below = (x > 0.95) & (x < 1.04)
    assert np.all(curve["accuracy"][below] < chord[below])
    np.testing.assert_array_equal(curve["accuracy"][x <= 0.89], 1.0)


def test_nodes_that_small_sizes_round_together_count_once():
    columns = {
        "dim": np.full(4, 6.0), "load": np.array([0.3, 1.4, 1.4, 2.0]),
        "accuracy": np.array([1, 0.8, 0.8, 0.6]), "loss": np.array([0, 0.5, 0.5, 1.0]),
    }  # fmt: skip
    curve = between_nodes(Table("theory", "", columns))
    assert np.all(np.isfinite(curve["accuracy"]))
    assert curve["accuracy"][-1] == pytest.approx(0.6)


def test_theory_is_drawn_through_many_sizes(results):
    dims = results.tables(FIGURES["C.1"])["theory"]["dim"]
    assert np.max(dims[1:] / dims[:-1]) < 1.35


@pytest.mark.slow
def test_figure_4_draws_the_standard_normal_beside_its_laws(results):
    tables = results.tables(FIGURES["4"])
    (line,) = (
        line
        for line in FIGURES["4"].draw(tables).axes[0].get_lines()
        if "normal" in line.get_label()
    )
    x = line.get_xdata()
    np.testing.assert_allclose(line.get_ydata(), np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi))


@pytest.mark.slow
def test_laws_of_figure_4_are_whole_and_smooth_in_every_regime(results):
    theory = results.tables(FIGURES["4"])["theory"]
    step = SCORE_GRID[1] - SCORE_GRID[0]
    for regime in theory.distinct("regime"):
        law = theory.where("regime", regime)
        for kind in ("target", "rival"):
            assert law[kind].sum() * step == pytest.approx(1, abs=0.01), (regime, kind)
        # One hill: up to its top and down again.
        turns = np.flatnonzero(np.diff(np.sign(np.diff(law["target"]))) != 0)
        high = law["target"][turns + 1] > 0.2 * law["target"].max()
        assert high.sum() == 1, regime


def test_the_hebbian_laws_are_those_of_each_problem(results):
    theory = results.tables(FIGURES["D.1"])["theory"].where("regime", 1.0)
    facts = results.tables(FIGURES["D.1"])["measured"].where("regime", 1.0)["facts"][0]
    for code, problem in enumerate(("original", "decoupled")):
        law = theory.where("decoupled", float(code))
        mean = law["score"] @ law["target"] / law["target"].sum()
        assert mean == pytest.approx(signal(Setting(8, 8, problem=problem), facts), abs=0.01)


def test_plans_are_whole():
    for plan in PLANS.values():
        assert set(sweeps_for(chosen())) <= set(plan.sweeps)
        assert set(plan.curves) <= set(CURVES)
    drawn_with_networks = {"depth", "placement", "gradients", "trainability"}
    assert set(PLANS["full"].curves) == set(CURVES) - drawn_with_networks


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
    table = results.tables(FIGURES["C.1"])["measured"]
    rows = where(results.rows("thresholds"), problem="decoupled", dim=8)
    (row,) = table.where("decoupled", 1.0).where("dim", 8.0).records()
    assert row["facts"] == pytest.approx(np.mean([one["threshold"] for one in rows]))
    assert row["instances"] == len(rows) == 4
    assert row["facts_theory"] == predicted("decoupled", 8, None)


def test_the_difference_is_that_of_the_two_thresholds(results):
    excess = results.tables(FIGURES["difference"])["measured"].where("dim", 8.0)["excess"][0]
    thresholds = results.tables(FIGURES["C.1"])["measured"].where("dim", 8.0)
    original, decoupled = (thresholds.where("decoupled", code)["facts"][0] for code in (0.0, 1.0))
    assert excess == pytest.approx(original / decoupled - 1)


@pytest.mark.slow
def test_histograms_are_densities(results):
    for name in ("4", "D.1"):
        table = results.tables(FIGURES[name])["measured"]
        step = SCORE_GRID[1] - SCORE_GRID[0]
        for regime in table.distinct("regime"):
            for code, kind in product((0.0, 1.0), ("target", "rival")):
                part = table.where("regime", regime).where("decoupled", code)
                assert np.sum(part[kind]) * step == pytest.approx(1.0, abs=0.02), (name, regime)


def test_rival_scores_have_variance_one(results):
    row = results.rows("regimes", dim=8)[0]
    below = score_distribution(row, "rival")
    middles = (SCORE_GRID[1:] + SCORE_GRID[:-1]) / 2
    masses = np.diff(below)
    mean = masses @ middles
    assert masses @ (middles - mean) ** 2 == pytest.approx(1.0, rel=0.02)


def test_spectra_are_densities_of_mean_square_one(results):
    table = results.tables(FIGURES["3"])["measured"].where("rank_fraction", 1.0)
    part = table.where("decoupled", 1.0)
    width = part["singular_value"][1] - part["singular_value"][0]
    assert np.sum(part["density"]) * width == pytest.approx(1.0, abs=0.15)  # beyond 2.4 some lie
    second = np.sum(part["density"] * part["singular_value"] ** 2) * width
    assert second == pytest.approx(1.0, abs=0.4)


def test_margins_are_in_off_target_deviations(results):
    table = results.tables(FIGURES["margin"])["measured"].where("decoupled", 0.0)
    rows = where(results.rows("margin"), problem="original", facts=int(table["facts"][0]))
    middle = np.mean([(row["margin_lower"] + row["margin_upper"]) / 2 for row in rows])
    assert table["margin"][0] == pytest.approx(math.sqrt(2) * 6 * middle)
