"""Files that earlier code wrote: certificates still prove what they proved, memories still recall."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from simonides import AssociativeMemory, Certificate, DecoupledProblem, OriginalProblem, verify

FOLDER = Path(__file__).parent / "data"
EXPECTED = json.loads((FOLDER / "files.json").read_text())
"""What each file said on the day it was written."""

FEW = OriginalProblem.gaussian(20, 10, seed=0)
PROBLEMS = {
    "certificate_storable.npz": FEW,
    "certificate_factors.npz": FEW,
    "certificate_not_storable.npz": DecoupledProblem.gaussian(12, 5, seed=1),
    "memory_overfull.safetensors": OriginalProblem.gaussian(14, 3, seed=3),
}


@pytest.mark.parametrize("name", [name for name in EXPECTED if name.startswith("certificate")])
def test_an_old_certificate_still_proves_its_claim(name, tmp_path):
    certificate, problem = Certificate.load(FOLDER / name), PROBLEMS[name]
    outcome = verify(certificate, problem)
    assert outcome.valid, outcome.reason
    assert str(outcome.claim) == EXPECTED[name]["claim"]
    # The last digits are of the bound's own allowance for rounding.
    assert outcome.margin_bound == pytest.approx(EXPECTED[name]["margin_bound"], rel=1e-6)
    assert not verify(certificate, problem.prefix(5)).valid
    again = Certificate.load(certificate.save(tmp_path / "again.npz"))
    assert verify(again, problem) == outcome


@pytest.mark.parametrize("name", [name for name in EXPECTED if name.startswith("memory")])
def test_an_old_memory_still_recalls(name):
    if name.endswith(".safetensors"):
        pytest.importorskip("safetensors")
    memory, problem, expected = (
        AssociativeMemory.load(FOLDER / name),
        PROBLEMS.get(name, FEW),
        EXPECTED[name],
    )
    assert memory.predict(problem.inputs).tolist() == expected["recalled"]
    assert (memory.n_stored_, memory.failed_.tolist()) == (expected["stored"], expected["failed"])
    assert str(memory.certificate_.claim) == expected["claim"]
    assert verify(memory.certificate_, problem).valid
    if memory.rank is not None:
        left, right = memory.factors_
        assert left.shape[1] == memory.rank
        np.testing.assert_allclose(left @ right.T, memory.weights_)
    if "recall_only" in name:
        assert memory.inputs_ is None
    else:
        assert verify(memory.certificate_, memory.problem()).valid
        np.testing.assert_array_equal(memory.inputs_, problem.inputs)
