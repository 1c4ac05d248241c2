"""With PyTorch: the same networks, real models measured, and what training makes of them."""

from dataclasses import fields, replace

import numpy as np
import pytest

from simonides.signal import Architecture, measure, propagate, simulate

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
    asked = replace(SMALL, **change)
    ours, theirs = (simulate(asked, [0, 1], backend=name).mean for name in ("numpy", "torch"))
    for field in fields(ours):
        np.testing.assert_allclose(
            getattr(theirs, field.name), getattr(ours, field.name), rtol=2e-3, atol=2e-4,
            err_msg=field.name,
        )  # fmt: skip


def test_an_unknown_backend_is_refused():
    with pytest.raises(ValueError, match="backend = 'paper'"):
        simulate(SMALL, [0, 1], backend="paper")


def test_measuring_a_random_transformer_finds_what_simulation_finds():
    from simonides.signal.simulation import draw_tokens, one_network
    from simonides.signal.torch_network import draw_transformer, normalised

    asked = replace(SMALL, tokens=40, dim=64)
    children = np.random.SeedSequence(5).spawn(asked.layers + 2)
    batch = torch.from_numpy(draw_tokens(asked, np.random.default_rng(children[0])))[None]
    model = draw_transformer(asked, 5)
    found = measure(model, normalised(batch))
    expected = one_network(asked, 5, backward=False)
    np.testing.assert_allclose(found.cosine, expected.cosine, rtol=1e-3)
    np.testing.assert_allclose(found.entropy, expected.entropy, rtol=1e-3)
    np.testing.assert_allclose(found.participation, expected.participation, rtol=1e-3)
    assert found.theory is not None
    assert found.theory.cosine[0] == pytest.approx(found.cosine[0])
    assert model.training, "left as it was"


@pytest.mark.parametrize("norm_first", [False, True])
def test_measuring_pytorch_s_own_encoder(norm_first):
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(
        96, 4, 192, dropout=0.1, batch_first=True, norm_first=norm_first
    )
    encoder = torch.nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
    for parameter in encoder.parameters():  # its layers are copies of one; draw them anew
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=parameter.shape[1] ** -0.5)
        else:
            torch.nn.init.zeros_(parameter)
    for module in encoder.modules():
        if isinstance(module, torch.nn.LayerNorm):
            torch.nn.init.ones_(module.weight)
    asked = Architecture(
        tokens=48, dim=96, layers=6, heads=4, hidden=192, output_variance=1.0,
        norm="pre" if norm_first else "post", beta=1 / np.log(48) ** 0.5, cosine=0.0,
    )  # fmt: skip
    batch = torch.nn.functional.layer_norm(torch.randn(8, 48, 96) + 0.5 * torch.randn(96), (96,))
    found = measure(encoder, batch, asked)
    assert found.cosine.shape == (7,)
    assert found.entropy.shape == (6,)
    # One network of dimension 96 scatters by about sqrt(2/d) around the mean predicted.
    np.testing.assert_allclose(found.cosine, found.theory.cosine, atol=0.15)
    np.testing.assert_allclose(found.entropy, found.theory.entropy, rtol=0.05)
    np.testing.assert_allclose(found.participation, found.theory.participation, rtol=0.35)


def test_models_that_cannot_be_measured_are_refused():
    with pytest.raises(ValueError, match=r"model = 'str' must be a torch\.nn\.Module"):
        measure("bert", torch.zeros(1))
    with pytest.raises(ValueError, match="keeps its blocks in a ModuleList"):
        measure(torch.nn.Linear(2, 2), torch.zeros(1, 2))

    class Mute(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = torch.nn.ModuleList([torch.nn.Linear(4, 4)])

        def forward(self, x):
            return self.blocks[0](x)

    with pytest.raises(ValueError, match="return attention weights"):
        measure(Mute(), torch.randn(2, 5, 4))


def test_the_text_is_python_s_own_help():
    from simonides.signal.text import ALPHABET, letter_entropy, python_help

    codes = python_help()
    assert codes.size > 300_000
    words = "".join(ALPHABET[code] for code in codes)
    assert "the statement" in words
    assert "  " not in words
    assert letter_entropy(codes) == pytest.approx(3.01, abs=0.05)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::simonides.signal.trust.PoorTheoryWarning")
def test_training_agrees_with_the_class_inside_and_outside():
    from simonides.signal.text import python_help
    from simonides.signal.training import Schedule, train

    text = python_help()
    asked = Architecture(tokens=24, dim=32, layers=16, hidden=32, activation="gelu", beta=0.5)
    schedule = Schedule(steps=60, batch=16, warm_up=5, learning_rate=4e-3)
    outcomes = {}
    for skip in (0.8, 3.0):
        run = train(replace(asked, attention_skip=skip, mlp_skip=skip), 0, schedule, text)
        outcomes[str(propagate(run.architecture).outcome)] = run
    assert set(outcomes) == {"rank collapse", "trainable"}
    assert outcomes["rank collapse"].learned < 0.05
    assert outcomes["trainable"].learned > 0.5


def test_training_follows_its_seed():
    from simonides.signal.training import Schedule, train

    text = np.arange(2000) % 30
    plan = Schedule(steps=2, batch=2)
    first, again, other = (train(SMALL, seed, plan, text) for seed in (1, 1, 2))
    assert first.history == again.history
    assert first.history != other.history
    with pytest.raises(ValueError, match="steps = 0"):
        Schedule(steps=0)
