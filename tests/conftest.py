"""Helpers that assert explain themselves as tests do."""

import signal

import pytest

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # As shells start what they run in the background. Programs that tests interrupt would inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)

pytest.register_assert_rewrite("definition", "keyboard", "proofs")


def pytest_collection_modifyitems(items):
    """Mark as slow the pages of the documentation: each runs all its examples."""
    for item in items:
        if item.path.suffix == ".md":
            item.add_marker(pytest.mark.slow)
