"""A small model to edit, and an edit of it."""

from pathlib import Path

import pytest

import simonides


@pytest.fixture(scope="session")
def place(tmp_path_factory) -> Path:
    """A folder with a model, a text and facts."""
    import tiny_model
    from edits import FACTS, write

    folder = tmp_path_factory.mktemp("editing")
    tiny_model.saved(folder / "model")
    (folder / "text.txt").write_text(tiny_model.text())
    write(folder / "facts.csv", [("prompt", "answer"), *FACTS])
    return folder


@pytest.fixture(scope="session")
def outcome(place) -> simonides.Edit:
    from edits import FACTS

    return simonides.edit(place / "model", FACTS, keep=place / "text.txt")
