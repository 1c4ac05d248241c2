"""Whether a reader can tell what is drawn: every line named, no two alike, text of a readable size."""

from matplotlib.colors import to_hex
from matplotlib.container import ErrorbarContainer
from matplotlib.lines import Line2D
from matplotlib.text import Text

from simonides.figures.style import WIDEST

SMALLEST_TEXT = 7.0
_NONE = (None, "None", "none", "", " ")


def nameless(axes, legends):
    """Return the labels of lines that are neither in a legend nor have a text of their own."""
    names = {text.get_text() for legend in legends for text in legend.get_texts()}
    shown = [one for legend in legends for one in legend.legend_handles if isinstance(one, Line2D)]
    return [
        label
        for line, label in _lines(axes)
        if label not in names
        and not (_has_text(axes, line) if _is_reference(axes, line) else _is_among(line, shown))
    ]


def twins(axes):
    """Return the looks that more than one curve of a panel has."""
    looks = [
        (*_look(line), to_hex(line.get_markerfacecolor(), keep_alpha=True))
        for line, _ in _lines(axes)
        if not _is_reference(axes, line)
    ]
    return sorted({str(look) for look in looks if looks.count(look) > 1})


def assert_fits_a_page(picture):
    """Assert that a picture need not be shrunk for a page, and that its text can be read there."""
    assert picture.get_figwidth() <= WIDEST, "wider than a page"
    texts = [text for text in picture.findobj(Text) if text.get_visible() and text.get_text()]
    small = [text.get_text() for text in texts if text.get_fontsize() < SMALLEST_TEXT]
    assert not small, "too small to read"


def _lines(axes):
    """Return what was plotted, with labels: bars bring lines for their caps, and keep their label."""
    bars = [one for one in axes.containers if isinstance(one, ErrorbarContainer)]
    caps = {id(cap) for one in bars for cap in one.lines[1]}
    labels = {id(one.lines[0]): one.get_label() for one in bars}
    return [
        (line, str(labels.get(id(line), line.get_label())))
        for line in axes.get_lines()
        if id(line) not in caps and len(line.get_xdata())
    ]


def _is_reference(axes, line):
    """Return whether a line marks a value of one axis all across the other."""
    return line.get_transform() != axes.transData


def _has_text(axes, line):
    upright = line.get_xdata()[0] == line.get_xdata()[-1]
    value = (line.get_xdata() if upright else line.get_ydata())[0]
    return any(text.get_position()[0 if upright else 1] == value for text in axes.texts)


def _is_among(line, shown):
    """Return whether a legend shows the line's colour with its dash and its mark."""
    colour, dash, mark = _look(line)
    return any(
        colour == its_colour and dash in (None, its_dash) and mark in (None, its_mark)
        for its_colour, its_dash, its_mark in map(_look, shown)
    )


def _look(line):
    dash, mark = line.get_linestyle(), line.get_marker()
    return (
        to_hex(line.get_color()),
        None if dash in _NONE else dash,
        None if mark in _NONE else mark,
    )
