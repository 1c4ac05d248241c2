import pytest
from tiny import measured


@pytest.fixture(scope="session")
def results(tmp_path_factory):
    return measured(tmp_path_factory.mktemp("tiny"))
