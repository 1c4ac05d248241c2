"""Skips a test where the extra ``examples`` is missing, and only then."""

from importlib.util import find_spec

import pytest


def needs(*packages: str) -> pytest.MarkDecorator:
    """Return the mark of a slow test that needs packages of the extra."""
    missing = [package for package in packages if find_spec(package) is None]
    return pytest.mark.skipif(
        bool(missing), reason=f"{', '.join(missing)} not installed (extra 'examples')"
    )
