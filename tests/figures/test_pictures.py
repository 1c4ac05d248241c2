"""Pictures draw what the table holds, label it, and are the same every time."""

from functools import cache

import numpy as np
import pytest
from matplotlib.patches import Patch
from matplotlib.text import Text

from simonides.curves import mechanism, storage
from simonides.curves.catalogue import draw
from simonides.curves.table import Table
from simonides.figures.style import WIDEST, save
from simonides.signal.diagram import trainability_diagram
from simonides.signal.maps.architecture import Architecture
from simonides.signal.paper import curves as signal
from simonides.signal.paper.pictures import CLASSES, HATCHES, SHAPES
from simonides.signal.propagation import propagate
from simonides.theory.setting import Setting

pytestmark = pytest.mark.filterwarnings("ignore::simonides.signal.notes.PoorTheoryWarning")

SMALL = Architecture(tokens=16, dim=64, layers=3, attention_skip=2.0, mlp_skip=2.0)

TABLES = {
    "load": lambda: storage.load(100),
    "margin": lambda: storage.margin(30),
    "scores": lambda: mechanism.scores(50),
    "spectrum": lambda: mechanism.spectrum(50),
    "hebbian": lambda: mechanism.hebbian(50),
    "around": lambda: storage.around(Setting(60, 60)),
    "attention": lambda: signal.attention(100),
    "depth": lambda: signal.depth_of(SMALL, range(2)),
    "propagation": lambda: signal.propagation_table(propagate(SMALL)),
    "trainability": lambda: signal.diagram_table(
        trainability_diagram(SMALL, ("beta", (0.2, 1.0, 3.0)), ("skip", (0.5, 3.0)), method="exact")
    ),
}

NAMES = [
    pytest.param(name, marks=pytest.mark.slow if name in ("margin", "around") else ())
    for name in TABLES
]
"""Two of them ask theory for a second or more."""


@cache
def table(name):
    return TABLES[name]()


@pytest.mark.parametrize("name", NAMES)
def test_every_axis_and_line_is_labelled(name):
    figure = draw(table(name))
    assert figure.axes
    for axes in (one for one in figure.axes if one.get_visible()):
        assert axes.get_xlabel()
        assert axes.get_title(loc="left")
        if axes.get_subplotspec().is_first_col() or name != "spectrum":  # its rows share a label
            assert axes.get_ylabel()


@pytest.mark.parametrize("name", NAMES)
def test_a_page_shows_every_picture_unshrunk_with_text_of_seven_points(name):
    figure = draw(table(name))
    assert figure.get_figwidth() <= WIDEST
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text()]
    assert min(text.get_fontsize() for text in texts) >= 7


def test_fields_of_a_diagram_differ_without_colour():
    figure = draw(table("trainability"))
    shown = [one for one in figure.axes[0].get_legend().legend_handles if isinstance(one, Patch)]
    assert len(shown) > 1
    assert len({one.get_hatch() for one in shown}) == len(shown)
    assert len(set(HATCHES)) == len(set(SHAPES)) == len(CLASSES)


@pytest.mark.slow
def test_the_line_is_the_column():
    margins = table("margin")
    (line,) = draw(margins).axes[0].get_lines()
    np.testing.assert_array_equal(line.get_xdata(), margins["share_of_capacity"])
    np.testing.assert_array_equal(line.get_ydata(), margins["margin"])


def test_series_differ_in_dash_so_that_grey_print_is_readable():
    from simonides.figures.style import SERIES

    assert len({style["linestyle"] for style in SERIES}) == len(SERIES)


@pytest.mark.slow
def test_the_same_table_gives_the_same_file(tmp_path):
    first = save(draw(table("spectrum")), tmp_path / "a.svg").read_bytes()
    assert save(draw(table("spectrum")), tmp_path / "b.svg").read_bytes() == first


def test_drawing_leaves_the_caller_s_style_alone():
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    draw(mechanism.spectrum(50))
    assert dict(mpl.rcParams) == before


def test_a_table_without_a_picture_is_refused():
    with pytest.raises(ValueError, match="table = 'poem'"):
        draw(Table("poem", "", {"x": np.zeros(1)}))
