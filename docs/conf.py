"""Sphinx configuration; pictures are computed by the package when the site is built."""

from __future__ import annotations

import sys
from pathlib import Path

from sphinx.util.inspect import TypeAliasForwardRef

import simonides

HERE = Path(__file__).parent
PICTURES = HERE / "_generated"

project = "Simonides"
author = "The Simonides authors"
copyright = "2026, The Simonides authors"  # noqa: A001
release = version = simonides.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
]
myst_enable_extensions = ["dollarmath", "deflist", "attrs_inline"]
myst_heading_anchors = 3
exclude_patterns = ["_generated", "measured"]
# Words such as facts and dim_in are attributes of many classes: types in docstrings link to none of them.
suppress_warnings = ["ref.python"]
html_theme = "furo"
html_title = "Simonides"
html_static_path = ["_static"]
html_css_files = ["drawing.css"]
pygments_style = "friendly"

autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
autodoc_typehints = "description"
# Types by the names that the source has for them, also inside others.
_ALIASES = ("Complexes", "Integers", "Method", "Option", "Reals", "Row", "TableRow", "Truths")
autodoc_type_aliases = {name: name for name in _ALIASES}
TypeAliasForwardRef.__repr__ = lambda alias: alias.name


def compute_pictures(_app: object) -> None:
    """Draw the curves that the pages show."""
    from simonides.curves.catalogue import CURVES, draw
    from simonides.figures.style import save

    PICTURES.mkdir(exist_ok=True)
    for curve in CURVES.values():
        sys.stdout.write(f"computing {curve.name}\n")
        save(draw(curve.table()), PICTURES / f"{curve.name}.svg")
    _draw_memory()


def _draw_memory() -> None:
    """Draw the memory of the guide: 300 facts of 50 dimensions."""
    import numpy as np

    from simonides import AssociativeMemory
    from simonides.figures import memory as pictures
    from simonides.figures.style import save

    inputs, outputs = np.random.default_rng(0).standard_normal((2, 300, 50))
    memory = AssociativeMemory().fit(inputs, outputs)
    save(pictures.diagnosis(memory.diagnose()), PICTURES / "diagnosis.svg")
    save(pictures.noisy_recall(memory.recall_under_noise()), PICTURES / "noise.svg")


def setup(app: object) -> None:
    """Compute pictures before pages are read."""
    app.connect("builder-inited", compute_pictures)  # type: ignore[attr-defined]
