"""What fitting takes is what was allowed, measured as the growth of a fresh process."""

import subprocess
import sys

import pytest

GROWTH = """
import resource, sys, warnings
import numpy as np
from simonides import AssociativeMemory
from simonides.memory.recipe import Recipe

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
for method in ("feasibility", "pseudo_inverse"):  # so that what is loaded once is loaded
    AssociativeMemory(method).fit(*rng.standard_normal((2, 60, 4)))
unit = 1024 if sys.platform == "linux" else 1  # of ru_maxrss
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit

def grown(method, facts, dim, candidates, megabytes):
    X, outputs = rng.standard_normal((facts, dim)), rng.standard_normal((candidates, dim))
    targets = rng.integers(candidates, size=facts)
    given = X.nbytes + outputs.nbytes + targets.nbytes
    try:
        memory = AssociativeMemory(method, max_memory=megabytes * 10**6)
        memory.fit(X, outputs=outputs, targets=targets)
        outcome = "fitted"
    except ValueError as refusal:
        assert f"max_memory = {megabytes * 10**6} must be" in str(refusal), refusal
        outcome = "refused"
    growth = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit - before - given
    assert growth <= 1.1 * megabytes * 10**6, (method, facts, dim, candidates, megabytes, growth)
    print(outcome)

# Limits rise, as the largest size that a process ever had does.
grown("pseudo_inverse", 60_000, 50, 20, 100)
grown("feasibility", 2_000, 20, 500, 160)
grown("pseudo_inverse", 60_000, 50, 20, 170)
grown("feasibility", 1_000, 10, 500, 260)
grown("feasibility", 20_000, 100, 2_000, 298)
grown("feasibility", 20_000, 100, 2_000, 300)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the largest size is not known there")
def test_no_more_is_taken_than_was_allowed():
    ended = subprocess.run(
        [sys.executable, "-c", GROWTH], capture_output=True, text=True, timeout=600, check=False
    )
    assert ended.stderr == ""
    assert ended.stdout.split() == ["refused", "fitted", "fitted", "fitted", "refused", "refused"]
