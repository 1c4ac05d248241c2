"""Outputs that score the same: found where they are compared, as vectors or as directions."""

import numpy as np
import pytest
from drawn import fitted, gaussian, shared

from simonides import AssociativeMemory, verify
from simonides.memory.facts import unit_rows
from simonides.problems.contradictions import opposed

FACTORS = [2.0, 3.0, 1 / 7, 1e-60, 1e60]


@pytest.mark.parametrize("factor", FACTORS)
def test_one_direction_is_one_output_where_directions_are_compared(factor):
    X, Y = gaussian(20, 12)
    Y[7] = factor * Y[3]
    memory = AssociativeMemory(normalize_outputs=True)
    with pytest.raises(ValueError, match=r"y\[7\] = 'y\[3\]' must be in another direction"):
        memory.fit(X, Y)
    with pytest.raises(ValueError, match=r"outputs\[7\] = 'outputs\[3\]' must be in another"):
        memory.fit(X, outputs=Y, targets=np.arange(20))
    Y[7] = -Y[3]
    assert memory.fit(X, Y).score(X, Y) == 1


def test_lengths_tell_outputs_apart_where_they_count():
    X, outputs, _ = shared(2, 12, 2)
    outputs[1] = 2 * outputs[0]
    assert AssociativeMemory().fit(X, outputs).n_stored_ == 2


def test_an_output_in_a_known_direction_cannot_be_added():
    memory, _, Y = fitted(20, 12, normalize_outputs=True)
    X, new = gaussian(3, 12, seed=1)
    new[1] = 3 * Y[5]
    with pytest.raises(ValueError, match=r"y\[1\] = 'outputs_\[5\]' must be in another direction"):
        memory.add(X, new)
    new[1] = 3 * new[0]
    with pytest.raises(ValueError, match=r"y\[1\] = 'y\[0\]' must be in another direction"):
        memory.add(X, new)
    new[1] = Y[5]
    assert memory.add(X, new).score(X, new) == 1


def test_equal_rows_stay_one_output_that_facts_share():
    X, Y = gaussian(20, 12)
    Y[7] = Y[3]
    memory = AssociativeMemory(normalize_outputs=True).fit(X, Y)
    assert len(memory.outputs_) == 19
    assert memory.score(X, Y) == 1


def test_directions_that_are_merely_close_are_two():
    rows = np.tile(unit_rows(gaussian(1, 12)[0]), (3, 1))
    rows[1, 0] *= 1 + 1e-12
    rows[2, 0] *= 1 - 1e-12
    assert opposed(rows, np.arange(len(rows))) is None
    rows[2] = rows[0] * (1 + 4e-16)
    assert opposed(rows, np.arange(len(rows))) == (0, 2)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::simonides.memory.shortfall.NotAllStoredWarning")
def test_rows_that_differ_in_the_last_bit_are_taken_at_their_word():
    X, Y = gaussian(20, 12)
    Y[7] = np.nextafter(Y[3], np.inf)
    memory = AssociativeMemory().fit(X, Y)
    assert len(memory.outputs_) == 20
    # No score tells them apart for sure: nothing more is claimed than what is recalled and proved.
    recalled = memory.predict(X) == np.arange(20)
    assert recalled[[fact for fact in range(20) if fact not in (3, 7)]].all()
    assert memory.n_stored_ == recalled.sum()
    proof = memory.certificate_
    assert proof is None or verify(proof, memory.problem()).valid
    with pytest.raises(ValueError, match=r"y\[7\] = 'y\[3\]' must be in another direction"):
        AssociativeMemory(normalize_outputs=True).fit(X, Y)
