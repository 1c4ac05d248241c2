"""Ctrl-C at any moment of a fit: the best so far is left on the memory, and the script does not go on."""

import signal
import sys
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
from drawn import gaussian
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import simonides
from simonides import AssociativeMemory, verify
from simonides.memory.facts import Facts

HOUSE = Path(simonides.__file__).parent
SAMPLES = 4


@cache
def is_ours(code):
    return Path(code.co_filename).is_relative_to(HOUSE)


def pressed(work, number=None):
    """Do some work, Ctrl-C pressed at a given call within the package; return how many there were."""
    made = 0

    def note(frame, event, argument):
        nonlocal made
        if event == "call" and is_ours(frame.f_code):
            made += 1
            if made == number:
                sys.setprofile(None)
                signal.raise_signal(signal.SIGINT)

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return made


def moments(work):
    """Return calls of the package at which to press: the first, the last, and some in between."""
    work()  # compiled, and what is cached is cached
    made = pressed(work)
    spread = np.linspace(1, made, SAMPLES).astype(int).tolist()
    return sorted({*range(1, SAMPLES), *spread, *range(made - SAMPLES, made)})


def is_sound(memory, X):
    """Check that all that a memory says of itself is true."""
    missed = np.flatnonzero(memory.predict(X) != memory.targets_)
    assert memory.n_stored_ == len(X) - len(memory.failed_)
    assert set(missed) <= set(memory.failed_)
    if memory.margin == 0:
        assert len(missed) == len(memory.failed_)
    if memory.rank is not None:
        assert np.linalg.matrix_rank(memory.weights_) <= memory.rank
    if memory.certificate_ is not None:
        assert verify(memory.certificate_, memory.problem()).valid


CASES = {
    "stored": (10, {}),
    "too many": (30, {}),
    "rank": (6, {"rank": 2}),
    "whitened": (10, {"whiten": True}),
    "margin": (8, {"margin": 0.3}),
    "rule": (6, {"method": "pseudo_inverse"}),
    "trained": (8, {"method": "gradient"}),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::simonides.memory.shortfall.NotAllStoredWarning")
@pytest.mark.parametrize("case", CASES)
def test_an_interrupted_fit_leaves_the_best_so_far_and_raises(case):
    facts, options = CASES[case]
    X, Y = gaussian(facts, 5)
    fitted = 0
    for number in moments(partial(AssociativeMemory(**options).fit, X, Y)):
        memory = AssociativeMemory(**options)
        with pytest.raises(KeyboardInterrupt) as caught:
            pressed(partial(memory.fit, X, Y), number)
        if hasattr(memory, "weights_"):
            is_sound(memory, X)
            fitted += 1
        else:  # the options were not read yet, or the work was over
            assert not str(caught.value)
            with pytest.raises(NotFittedError):
                check_is_fitted(memory)
    assert fitted >= SAMPLES


@pytest.mark.slow
@pytest.mark.parametrize("change", ["add", "forget"])
def test_an_interrupted_change_leaves_the_memory_before_or_after_it(change):
    X, Y = gaussian(12, 6)
    part = slice(0, 9) if change == "add" else slice(0, 12)
    arguments = (X[9:], Y[9:]) if change == "add" else ([9, 10, 11],)

    def fresh():
        return AssociativeMemory().fit(X[part], Y[part])

    def work(memory):
        return getattr(memory, change)(*arguments)

    sizes = set()
    work(fresh())  # compiled, and what is cached is cached
    made = pressed(partial(work, fresh()))
    for number in sorted({*range(1, SAMPLES), *np.linspace(1, made, 2 * SAMPLES).astype(int)}):
        memory = fresh()
        with pytest.raises(KeyboardInterrupt):
            pressed(partial(work, memory), number)
        sizes.add(len(memory.targets_))
        is_sound(memory, memory.inputs_)
    assert sizes == {9, 12}


def interrupted(*_, **__):
    raise KeyboardInterrupt


@pytest.mark.parametrize("rank", [None, 2])
def test_before_the_search_there_are_the_weights_it_starts_from(monkeypatch, rank):
    X, Y = gaussian(12, 6)
    monkeypatch.setattr("simonides.memory.storing.attempt", interrupted)
    memory = AssociativeMemory(rank=rank)
    with pytest.raises(KeyboardInterrupt, match=r"best weights by then: .* facts are not stored"):
        memory.fit(X, Y)
    if rank is None:
        np.testing.assert_allclose(memory.weights_, Y.T @ X)
    is_sound(memory, X)


def test_while_the_facts_are_read_there_are_the_weights_to_start_from(monkeypatch):
    X, Y = gaussian(12, 6)
    plain = Facts.read
    reads = [interrupted, plain]
    monkeypatch.setattr(Facts, "read", lambda *given, **options: reads.pop(0)(*given, **options))
    memory = AssociativeMemory()
    with pytest.raises(KeyboardInterrupt, match=r"best weights by then: .* facts are not stored"):
        memory.fit(X, Y)
    np.testing.assert_allclose(memory.weights_, Y.T @ X)
    is_sound(memory, X)


@pytest.mark.filterwarnings("ignore::simonides.memory.shortfall.NotAllStoredWarning")
@pytest.mark.parametrize("method", ["gradient", "cross_entropy", "feasibility"])
def test_out_of_time_no_fewer_facts_are_stored_than_by_the_weights_to_start_from(method):
    X, Y = gaussian(40, 12)
    rule = AssociativeMemory("hebbian").fit(X, Y)
    memory = AssociativeMemory(method, time_limit=0).fit(X, Y)
    assert memory.n_stored_ >= rule.n_stored_ > 3
    is_sound(memory, X)


def test_a_second_interrupt_ends_everything(monkeypatch):
    X, Y = gaussian(12, 6)
    monkeypatch.setattr("simonides.memory.storing.attempt", interrupted)
    monkeypatch.setattr("simonides.memory.storing.leading", interrupted)
    memory = AssociativeMemory()
    with pytest.raises(KeyboardInterrupt):
        memory.fit(X, Y)
    assert not hasattr(memory, "weights_")


def test_an_interrupt_while_the_best_run_is_looked_for_is_no_quiet_end(monkeypatch):
    X, Y = gaussian(30, 5)
    monkeypatch.setattr("simonides.memory.storing.cross_entropy", interrupted)
    memory = AssociativeMemory()
    with pytest.raises(KeyboardInterrupt, match=r"30 facts are not stored"):
        memory.fit(X, Y)
    is_sound(memory, X)
    assert memory.certificate_ is not None  # the proof was there before


@pytest.mark.filterwarnings("ignore::simonides.memory.shortfall.NotAllStoredWarning")
@pytest.mark.parametrize("method", ["hebbian", "pseudo_inverse"])
def test_an_interrupted_pass_over_a_file_knows_what_it_has_read(tmp_path, monkeypatch, method):
    X, Y = gaussian(40, 12)
    np.save(tmp_path / "x.npy", X)
    inputs = np.load(tmp_path / "x.npy", mmap_mode="r")
    monkeypatch.setattr(
        "simonides.memory.streaming.row_blocks",
        lambda rows, *_, **__: [slice(k, k + 10) for k in range(0, rows, 10)],
    )
    plain = simonides.memory.streaming.Sums.joined

    def read(sums, *block):
        return interrupted() if sums.facts == 20 else plain(sums, *block)

    monkeypatch.setattr("simonides.memory.streaming.Sums.joined", read)
    memory = AssociativeMemory(method)
    with pytest.raises(KeyboardInterrupt):
        memory.fit(inputs, Y)
    is_sound(memory, X)
    half = AssociativeMemory(method).fit(X[:20], outputs=Y, targets=np.arange(20))
    np.testing.assert_allclose(memory.weights_, half.weights_, atol=1e-12)
