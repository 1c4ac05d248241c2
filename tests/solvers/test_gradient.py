"""The paper's protocol: its start, schedule and steps, on both backends, and every way out."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from definition import BOTH, KINDS

from simonides.failures import BadArgumentError
from simonides.problems.original import OriginalProblem
from simonides.solvers.solution import Status
from simonides.solvers.training.cross_entropy import cross_entropy
from simonides.solvers.training.gradient import Schedule, gradient
from simonides.solvers.training.softmax import MeanCrossEntropy

LAYERS = pytest.mark.parametrize("rank", [None, 3])


@pytest.fixture(params=["numpy", "torch"])
def backend(request):
    if request.param == "torch":
        pytest.importorskip("torch")
    return request.param


def make(kind, facts, dim, dim_out=None, *, seed=0, candidates=None):
    return KINDS[kind].gaussian(facts, dim, dim_out, candidates=candidates, seed=seed)


@BOTH
@LAYERS
@pytest.mark.parametrize(("facts", "candidates"), [(40, None), (40, 7), (6, 15)])
def test_backends_agree_to_rounding(kind, rank, facts, candidates):
    pytest.importorskip("torch")
    problem = make(kind, facts, 6, 5, candidates=candidates)
    ours, theirs = (
        gradient(
            problem,
            rank=rank,
            backend=backend,
            max_steps=50,
            warm_up=10,
            dtype="float64",
            threads=1,
            until_stored=False,
        )
        for backend in ("numpy", "torch")
    )
    assert ours.steps == theirs.steps == 50
    assert ours.loss == pytest.approx(theirs.loss, rel=1e-10)
    np.testing.assert_allclose(ours.weights, theirs.weights, atol=1e-8)
    for one, other in zip(ours.history, theirs.history, strict=True):
        assert one.objective == pytest.approx(other.objective, rel=1e-8)
        assert one.violations == other.violations


@LAYERS
def test_the_first_step_is_along_the_signs_of_the_gradient(rank, backend):
    """Adam's first step has the length of the learning rate in every coordinate."""
    problem = make("original", 30, 5)
    options = {"rank": rank, "scale": 0.3, "dtype": "float64", "backend": backend, "seed": 3}
    start = gradient(problem, max_steps=0, **options)
    moved = gradient(problem, max_steps=1, warm_up=4, learning_rate=0.1, **options)
    slope = MeanCrossEntropy(problem).at(start.weights).gradient
    rate = 0.1 / 4
    if rank is None:
        np.testing.assert_allclose(moved.weights, start.weights - rate * np.sign(slope), atol=1e-6)
    else:
        slopes = slope @ start.factors[1], slope.T @ start.factors[0]
        for after, before, step in zip(moved.factors, start.factors, slopes, strict=True):
            np.testing.assert_allclose(after, before - rate * np.sign(step), atol=1e-6)


def test_two_steps_of_adam_by_hand(backend):
    """One fact, one rival, one weight: gradients are -1 / (1 + exp(w))."""
    problem = OriginalProblem(np.ones((1, 1)), np.array([[1.0], [0.0]]))
    solution = gradient(
        problem,
        scale=0.0,
        learning_rate=0.5,
        warm_up=2,
        max_steps=2,
        until_stored=False,
        dtype="float64",
        backend=backend,
    )
    first = 0.25  # half the learning rate, as the warm-up begins
    slopes = -1 / (1 + np.exp([0.0, first]))
    mean = (0.9 * 0.1 * slopes[0] + 0.1 * slopes[1]) / (1 - 0.9**2)
    square = (0.999 * 0.001 * slopes[0] ** 2 + 0.001 * slopes[1] ** 2) / (1 - 0.999**2)
    assert solution.weights[0, 0] == pytest.approx(first - 0.5 * mean / np.sqrt(square), rel=1e-6)


def test_the_schedule_rises_and_falls():
    plan = Schedule(0.1, warm_up=10, max_steps=110, dtype="float32")
    shares = np.array([plan.share(step) for step in range(111)])
    np.testing.assert_allclose(shares[:10], np.arange(1, 11) / 10)
    assert (np.diff(shares[10:]) < 0).all()
    assert shares[10] == 1
    assert shares[60] == pytest.approx(0.5)
    assert shares[110] == pytest.approx(0)
    unwarmed = Schedule(0.1, warm_up=0, max_steps=1, dtype="float32")
    assert unwarmed.share(0) == 1
    cut = Schedule(0.1, warm_up=10, max_steps=5, dtype="float32")
    assert [cut.share(step) for step in (0, 4)] == [0.1, 0.5]


@LAYERS
def test_the_start_is_gaussian_at_the_given_scale(rank, backend):
    problem = make("original", 10, 60, 50)
    options = {"rank": rank, "scale": 0.2, "max_steps": 0, "backend": backend}
    solution = gradient(problem, seed=1, **options)
    layers = (solution.weights,) if rank is None else solution.factors
    for layer in layers:
        assert layer.std() == pytest.approx(0.2, rel=4 / np.sqrt(2 * layer.size))
        assert layer.mean() == pytest.approx(0, abs=4 * 0.2 / np.sqrt(layer.size))
    again, other = (gradient(problem, seed=seed, **options) for seed in (1, 2))
    np.testing.assert_array_equal(solution.weights, again.weights)
    assert (solution.weights != other.weights).all()


@BOTH
def test_beyond_capacity_it_comes_to_the_minimum(kind, backend):
    problem = make(kind, 120, 8)
    solution = gradient(problem, max_steps=600, backend=backend)
    assert (solution.status, solution.steps) == (Status.STOPPED, 600)
    assert solution.loss == pytest.approx(cross_entropy(problem).loss, rel=1e-5)
    risk = MeanCrossEntropy(problem).at(solution.weights)
    assert (solution.loss, solution.recalled) == (
        pytest.approx(risk.loss, rel=1e-12),
        risk.recalled,
    )


@BOTH
@LAYERS
def test_it_stops_when_every_fact_is_recalled(kind, rank, backend):
    problem = make(kind, 12, 8)
    solution = gradient(problem, rank=rank, max_steps=1000, backend=backend)
    assert (solution.status, solution.recalled) == (Status.STORED, 12)
    assert 0 < solution.steps < 1000
    assert solution.smallest_gap > 0
    assert solution.history[-2].violations > 0
    if rank is not None:
        left, right = solution.factors
        np.testing.assert_allclose(left @ right.T, solution.weights, atol=1e-12)
    further = gradient(problem, rank=rank, max_steps=1000, backend=backend, until_stored=False)
    assert (further.status, further.steps) == (Status.STORED, 1000)
    assert further.loss < solution.loss


def test_every_step_is_watched_and_an_interruption_returns_the_weights_so_far(backend):
    seen = []

    def watch(progress):
        seen.append(progress)
        if progress.step == 7:
            raise KeyboardInterrupt

    problem = make("original", 120, 8)
    solution = gradient(problem, watch=watch, backend=backend)
    assert (solution.status, solution.steps) == (Status.STOPPED, 7)
    assert tuple(seen) == solution.history
    assert [progress.step for progress in seen] == list(range(8))
    assert solution.loss == pytest.approx(seen[-1].objective, rel=1e-5)
    assert solution.recalled == 120 - seen[-1].violations


@BOTH
def test_threads_do_not_change_the_answer(kind):
    problem = make(kind, 600, 12, candidates=20)
    one, two = (gradient(problem, max_steps=20, threads=count) for count in (1, 2))
    np.testing.assert_array_equal(one.weights, two.weights)


def test_threads_of_torch_are_put_back():
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    during = []
    gradient(
        make("original", 20, 3),
        backend="torch",
        threads=before + 1,
        max_steps=1,
        watch=lambda progress: during.append(torch.get_num_threads()),
    )
    assert (set(during), torch.get_num_threads()) == ({before + 1}, before)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"rank": 0}, "rank = 0"),
        ({"rank": 4}, "rank = 4"),
        ({"seed": -1}, "seed = -1"),
        ({"learning_rate": 0.0}, "learning_rate = 0"),
        ({"max_steps": -1}, "max_steps = -1"),
        ({"warm_up": -1}, "warm_up = -1"),
        ({"scale": -0.1}, "scale = -0.1"),
        ({"rank": 2, "scale": 0.0}, "scale = 0"),
        ({"backend": "jax"}, "backend = 'jax'"),
        ({"dtype": "float16"}, "dtype = 'float16'"),
        ({"device": "cuda"}, "device = 'cuda'"),
        ({"threads": 0}, "threads = 0"),
    ],
)
def test_what_is_wrong_is_named(options, word):
    with pytest.raises(BadArgumentError, match=word):
        gradient(make("original", 5, 3, 4), **options)


def test_a_device_that_is_not_there_is_named():
    pytest.importorskip("torch")
    with pytest.raises(BadArgumentError, match="device = 'nonsense'"):
        gradient(make("original", 5, 3), backend="torch", device="nonsense")


def test_a_missing_torch_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "simonides.solvers.training.torch_gradient", raising=False)
    with pytest.raises(BadArgumentError, match=r"pip install -e '\.\[torch\]' in the clone"):
        gradient(make("original", 5, 3), backend="torch")


def test_torch_is_loaded_only_when_asked_for():
    code = "import sys, simonides.solvers.training.gradient; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_precision_may_be_a_type_of_numpy():
    problem = OriginalProblem.gaussian(6, 4, seed=0)
    named, typed = (gradient(problem, dtype=kind) for kind in ("float64", np.dtype("float64")))
    np.testing.assert_array_equal(named.weights, typed.weights)
