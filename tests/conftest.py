"""Helpers that assert explain themselves as tests do."""

import pytest

pytest.register_assert_rewrite("definition", "keyboard", "proofs")
