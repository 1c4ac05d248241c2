from pathlib import Path

import pytest
from tiny import measured

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def results(tmp_path_factory):
    return measured(tmp_path_factory.mktemp("tiny"))


def pytest_collection_modifyitems(items):
    """Mark as slow what asks for the results of a run: the first to ask waits for all of them."""
    for item in items:
        if "results" in getattr(item, "fixturenames", ()) and item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.slow)
