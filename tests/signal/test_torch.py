"""With PyTorch: the same networks, and what training makes of them."""

from dataclasses import fields, replace

import numpy as np
import pytest

from simonides.signal import Architecture, propagate, simulate

torch = pytest.importorskip("torch")

SMALL = Architecture(tokens=12, dim=16, layers=3, heads=2, hidden=20, beta=1.2, cosine=0.2)


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"norm": "pre", "activation": "gelu", "output_variance": 0.7, "mlp_bias_variance": 0.1},
        {"activation": None, "causal": True},
        {"activation": "tanh", "centred": True, "value_bias_variance": 0.2},
        {"centred": True, "causal": True, "norm": "pre"},
    ],
)
def test_numpy_and_torch_run_the_same_networks(change):
    network = replace(SMALL, **change)
    ours, theirs = (simulate(network, [0, 1], backend=name).mean for name in ("numpy", "torch"))
    for field in fields(ours):
        np.testing.assert_allclose(
            getattr(theirs, field.name), getattr(ours, field.name), rtol=2e-3, atol=2e-4,
            err_msg=field.name,
        )  # fmt: skip


def test_an_unknown_backend_is_refused():
    with pytest.raises(ValueError, match="backend = 'paper'"):
        simulate(SMALL, [0, 1], backend="paper")


def test_the_text_is_python_s_own_help():
    from simonides.signal.models.training import ALPHABET, letter_entropy, python_help

    codes = python_help()
    assert codes.size > 300_000
    words = "".join(ALPHABET[code] for code in codes)
    assert "the statement" in words
    assert "  " not in words
    assert letter_entropy(codes) == pytest.approx(3.01, abs=0.05)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::simonides.signal.notes.PoorTheoryWarning")
def test_training_agrees_with_the_class_inside_and_outside():
    from simonides.signal.models.training import TrainingSchedule, python_help, train

    text = python_help()
    network = Architecture(tokens=16, dim=32, layers=12, hidden=32, activation="gelu", beta=0.5)
    schedule = TrainingSchedule(steps=50, batch=16, warm_up=5, learning_rate=4e-3)
    for beta, skip, outcome in (
        (0.5, 0.8, "rank collapse"),
        (0.5, 3.0, "trainable"),
        (4.0, 2.0, "entropy collapse"),
    ):
        here = replace(network, beta=beta, attention_skip=skip, mlp_skip=skip)
        run = train(here, 0, schedule, text)
        assert str(propagate(replace(here, cosine=max(run.cosine, 0.0))).outcome) == outcome
        learned = 1 - run.loss / run.guessing
        if outcome == "trainable":
            assert learned > 0.5
            best = learned
        elif outcome == "rank collapse":
            assert learned < 0.05
        else:  # frozen attention slows training, which a skip may carry all the same
            assert learned < best


@pytest.mark.slow
def test_training_follows_its_seed():
    from simonides.signal.models.training import TrainingSchedule, train

    text = np.arange(2000) % 30
    plan = TrainingSchedule(steps=2, batch=2)
    first, again, other = (train(SMALL, seed, plan, text) for seed in (1, 1, 2))
    assert first.history == again.history
    assert first.history != other.history
    with pytest.raises(ValueError, match="steps = 0"):
        TrainingSchedule(steps=0)
