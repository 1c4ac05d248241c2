"""What fitting takes is what was allowed, measured as the growth of a fresh process."""

import subprocess
import sys

import numpy as np
import pytest
from program import PATIENCE

from simonides import AssociativeMemory
from simonides.failures import BadArgumentError
from simonides.memory.budget import bytes_needed
from simonides.memory.facts import Facts
from simonides.memory.recipe import Recipe
from simonides.problems.scan import Scanned

LARGEST = """
import re, resource, sys, warnings
from pathlib import Path

def largest():
    # Where a process begins as a copy of its parent, its largest size by getrusage begins as the parent's.
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.search(r"VmHWM:\\s+(\\d+)", status.read_text())[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
"""

GROWTH = """
import numpy as np
from simonides import AssociativeMemory
from simonides.memory.recipe import Recipe

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
for method in ("feasibility", "pseudo_inverse", "hebbian"):  # so that what is loaded once is loaded
    AssociativeMemory(method).fit(*rng.standard_normal((2, 60, 4)))
before = largest()

def grown(method, facts, dim, candidates, megabytes, clash=False):
    X, outputs = rng.standard_normal((facts, dim)), rng.standard_normal((candidates, dim))
    targets = rng.integers(candidates, size=facts)
    if clash:
        X[-1], targets[-1] = X[0], (targets[0] + 1) % candidates
    given = X.nbytes + outputs.nbytes + targets.nbytes
    try:
        memory = AssociativeMemory(method, max_memory=megabytes * 10**6)
        memory.fit(X, outputs=outputs, targets=targets)
        outcome = "fitted"
    except ValueError as refusal:
        assert f"max_memory = {megabytes * 10**6} must be" in str(refusal), refusal
        outcome = "refused"
    growth = largest() - before - given
    assert growth <= 1.1 * megabytes * 10**6, (method, facts, dim, candidates, megabytes, growth)
    print(outcome)

# Limits rise, as the largest size that a process ever had does.
grown("feasibility", 1_000, 10, 500, 40)
grown("feasibility", 1_000, 20, 1_000, 90)  # where more pairs are close than have room
grown("pseudo_inverse", 60_000, 50, 20, 100)
grown("pseudo_inverse", 60_000, 50, 20, 170)
grown("hebbian", 300, 1_200, 50, 180)  # weights are most of it
grown("feasibility", 300, 1_200, 50, 190)
grown("feasibility", 300, 1_200, 50, 190, clash=True)  # where training would take more
grown("hebbian", 1_000, 20, 100_000, 260)  # scores are
grown("feasibility", 20_000, 100, 2_000, 300)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the largest size is not known there")
def test_no_more_is_taken_than_was_allowed():
    ended = subprocess.run(
        [sys.executable, "-c", LARGEST + GROWTH],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ended.stderr == ""
    ends = ["fitted"] * 8 + ["refused"]
    assert ended.stdout.split() == ends


PEAK = """
import numpy as np
from simonides import AssociativeMemory
from simonides.memory import budget
from simonides.memory.facts import Facts
from simonides.memory.recipe import Recipe

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
method, way, *sizes = sys.argv[1:7]
facts, dim_in, dim_out, candidates = map(int, sizes)
AssociativeMemory(method).fit(*rng.standard_normal((2, 60, 4)))  # so that what is loaded once is loaded
X, outputs = rng.standard_normal((facts, dim_in)), rng.standard_normal((candidates, dim_out))
if sys.argv[7:] == ["rows"]:
    planted = rng.integers(candidates, size=facts)
    classes, given = None, {"y": outputs[planted]}
else:
    planted = (X @ rng.standard_normal((dim_in, dim_out)) @ outputs.T).argmax(axis=1)
    classes, given = np.arange(candidates), {"outputs": outputs, "targets": planted}
before = largest()
announced = getattr(budget, way)(Facts(X, outputs, planted, classes), Recipe(method))
AssociativeMemory(method, max_memory=int(1.05 * announced)).fit(X, **given)
growth = largest() - before
assert announced / 1.7 < growth < 1.1 * announced, (announced, growth)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the largest size is not known there")
@pytest.mark.parametrize(
    "case",
    [
        "hebbian bytes_needed 2000 1200 1200 50",
        "pseudo_inverse bytes_needed 20000 400 20 20",
        "pseudo_inverse bytes_streamed 20000 400 20 20",
        "feasibility bytes_needed 300 1200 1200 50",
        "feasibility bytes_needed 20000 300 20 20",
        "cross_entropy bytes_needed 400 20 3000 50",
        "hebbian bytes_streamed 100000 10 40 50 rows",
    ],
)
def test_what_is_announced_is_about_what_is_taken(case):
    ended = subprocess.run(
        [sys.executable, "-c", LARGEST + PEAK, *case.split()],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.filterwarnings("ignore::simonides.memory.shortfall.NotAllStoredWarning")
def test_inputs_are_read_block_by_block_only_where_that_takes_less():
    """A rule adds up dim_in x dim_in numbers then."""
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((300, 1500)), rng.standard_normal((300, 20))
    assert AssociativeMemory("hebbian", max_memory=20e6).fit(X, Y).n_stored_ > 200
    with pytest.raises(
        BadArgumentError, match=r"max_memory = 1000000.0 must be at least 1\d{7} bytes"
    ):
        AssociativeMemory("hebbian", max_memory=1e6).fit(X, Y)


def facts_for(kind: str) -> Facts:
    """Return facts that some weights store, or far more than any do."""
    rng = np.random.default_rng(0)
    inputs, outputs = rng.standard_normal((2000, 8)), rng.standard_normal((200, 8))
    planted = (inputs @ rng.standard_normal((8, 8)) @ outputs.T).argmax(axis=1)
    targets = planted if kind == "planted" else rng.integers(200, size=2000)
    return Facts(inputs, outputs, targets)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "pairs", "begins"),
    [("random", 300, False), ("random", 2000, True), ("planted", 300, True), ("planted", 1, False)],
)
@pytest.mark.filterwarnings("ignore::simonides.memory.shortfall.NotAllStoredWarning")
def test_a_search_is_refused_before_it_begins_or_not_at_all(monkeypatch, kind, pairs, begins):
    scans = []
    plain = Scanned.scan_within

    def noted(*arguments):
        scans.append(plain(*arguments))
        return scans[-1]

    monkeypatch.setattr(Scanned, "scan_within", noted)
    facts = facts_for(kind)
    needed = bytes_needed(facts, Recipe())
    memory = AssociativeMemory(max_memory=needed + 220 * pairs)
    if begins:
        memory.fit(facts.inputs, outputs=facts.outputs, targets=facts.targets)
        assert memory.n_stored_ >= (2000 if kind == "planted" else 30)
        assert max(len(scan.gaps) for scan in scans if scan is not None) <= pairs
    else:
        with pytest.raises(BadArgumentError, match=r"max_memory = \d+ must be larger"):
            memory.fit(facts.inputs, outputs=facts.outputs, targets=facts.targets)
        assert scans == [None]
    assert None in scans


@pytest.mark.slow
def test_where_memory_is_short_the_warning_says_so():
    facts = facts_for("random")
    needed = bytes_needed(facts, Recipe())
    with pytest.warns(UserWarning, match="max_memory kept the search from going further"):
        AssociativeMemory(max_memory=needed + 220 * 2000).fit(
            facts.inputs, outputs=facts.outputs, targets=facts.targets
        )
