"""Nothing got worse: sixty decisions, and other ways of storing, give the answers that are stored."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import instances

STORED = json.loads((Path(__file__).parent / "data" / "instances.json").read_text())
SAME_MACHINE = STORED["machine"] == instances.machine()

QUICK = {
    "original, 30 facts, 12 by 12",
    "original, 30 facts, 3 by 3",
    "original, 60 facts, 15 by 15, 40 outputs",
    "decoupled, 25 facts, 10 by 10",
    "decoupled, 30 facts, 12 by 6",
    "a zero input",
    "equal outputs",
    "one input with two targets",
    "stretched inputs and outputs",
    "far beyond capacity, original",
    "rank 8",
    "margin to 1%, original",
    "fit",
    "Hebbian, decoupled",
    "pseudo-inverse with ridge",
    "cross entropy",
    "gradient",
}


def test_there_are_sixty_decisions_and_all_are_stored():
    assert len(instances.DECISIONS) == 60
    assert list(STORED["answers"]) == list(instances.NAMES)
    assert set(instances.NAMES) > QUICK


@pytest.mark.parametrize(
    "name",
    [
        name if name in QUICK else pytest.param(name, marks=pytest.mark.slow)
        for name in instances.NAMES
    ],
)
def test_an_instance_is_answered_as_before(name):
    answer = instances.solve(name)
    changes = instances.differences(STORED["answers"][name], answer, same_machine=SAME_MACHINE)
    assert not changes, "\n".join([f"{name}:", *changes])


@pytest.mark.parametrize("same_machine", [True, False])
@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("fit", {"recalled": 3}),
        ("rank 8", {"verdict": "undecided"}),
        ("rank 8", {"status": "stopped"}),
        ("rank 8", {"problem": "another"}),
        ("rank 8", {"proof left": None}),
        ("margin to 1%, original", {"margin_upper": 0.01}),
        ("Hebbian", {"norm of weights": 1.0}),
    ],
)
def test_what_differs_is_named(name, changed, same_machine):
    stored = STORED["answers"][name]
    assert not instances.differences(stored, stored, same_machine=same_machine)
    changes = instances.differences(stored, {**stored, **changed}, same_machine=same_machine)
    assert any("margin" in line or line.startswith(tuple(changed)) for line in changes)


def test_other_digits_count_on_the_same_machine_only():
    stored = STORED["answers"]["rank 8"]
    answer = {**stored, "weights": "sha256 0", "margin_lower": 0.5 * stored["margin_lower"]}
    assert len(instances.differences(stored, answer, same_machine=True)) == 2
    assert not instances.differences(stored, answer, same_machine=False)
