"""Theory curves: every table is whole, and says what theory says."""

import math

import numpy as np
import pytest

from simonides.curves import mechanism, storage
from simonides.curves.catalogue import CURVES, curve
from simonides.curves.table import Table, stacked
from simonides.theory.setting import Setting


@pytest.mark.slow
@pytest.mark.parametrize("name", CURVES)
def test_every_curve_is_finite_where_it_should_be(name):
    table = CURVES[name].make(min(CURVES[name].dim, 12))
    assert table.name == name
    assert len(table) > 5
    for column, values in table.columns.items():
        if column not in {"norm", "norm_stderr", "at_initialisation"}:
            assert np.all(np.isfinite(values)), column


def test_an_unknown_curve_is_refused_with_the_list():
    with pytest.raises(ValueError, match=r"name = 'spectra' must be one of price.*spectrum"):
        curve("spectra")


@pytest.mark.slow
def test_load_falls_towards_one_half():
    table = storage.load(100)
    assert np.all(np.diff(table["load"]) < 0)
    assert np.all(table["load"] > table.settings["limit"])


@pytest.mark.slow
def test_price_lies_below_its_leading_order_without_margin():
    table = storage.price(100).where("margin", 0.0)
    assert np.all(table["price"] < table["leading_order"])
    ratio = table["price"] / table["leading_order"]
    assert ratio[-1] > ratio[len(ratio) // 2]


@pytest.mark.slow
def test_margin_falls_to_zero_at_capacity():
    table = storage.margin(50)
    assert np.all(np.diff(table["margin"]) < 0)
    assert 0 < table["margin"][-1] < 0.05


def test_scores_are_densities():
    table = mechanism.scores(50)
    step = table["score"][1] - table["score"][0]
    for name in ("target", "rival", "hebbian_target", "hebbian_rival"):
        assert np.sum(table[name]) * step == pytest.approx(1.0, abs=2e-3), name


@pytest.mark.slow
def test_around_passes_through_the_asked_point():
    setting = Setting(80, 120, rank=10)
    table = storage.around(setting)
    middle = np.argmin(np.abs(np.log(table["parameters"] / setting.entries)))
    assert table["facts"][middle] == pytest.approx(table.settings["asked_facts"])
    assert table["facts"][0] < table.settings["asked_facts"] < table["facts"][-1]


def test_hebbian_curve_is_drawn_at_the_loads_it_says():
    table = mechanism.hebbian(100)
    loads = table["facts"] * np.log(table["facts"]) / table["dimension"] ** 2
    np.testing.assert_allclose(loads, table["load"], rtol=1e-10)


def test_a_table_knows_its_rows():
    table = stacked("t", "title", [{"a": 1.0, "b": 2.0}, {"a": 3.0, "b": math.inf}], size=7)
    assert len(table) == 2
    assert table.records() == [{"a": 1.0, "b": 2.0}, {"a": 3.0, "b": math.inf}]
    assert table.where("a", 3.0)["b"].tolist() == [math.inf]
    assert table.distinct("a") == [1.0, 3.0]
    assert table.settings == {"size": 7}
    with pytest.raises(ValueError, match="columns"):
        Table("t", "title", {"a": np.zeros(2), "b": np.zeros(3)})
