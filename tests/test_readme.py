"""The first thing a reader tries: the README's first block, in a process of its own, without a wait."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
_PATIENCE = 5.0
"""Seconds from the start of Python to the last line of the block."""


@pytest.mark.slow
def test_the_first_block_of_the_readme_is_quick(tmp_path):
    block = re.search(r"```python\n(.*?)```", README.read_text(), re.DOTALL)[1]
    assert "AssociativeMemory" in block
    (tmp_path / "block.md").write_text(block)
    taken = []
    for _ in range(2):
        began = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "doctest", "block.md"],
            cwd=tmp_path,
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kernels")},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        taken.append(time.perf_counter() - began)
        assert done.returncode == 0, done.stdout + done.stderr
    print(taken)
    assert taken[1] < _PATIENCE
