"""Real PyTorch models, measured, with theory for what their weights say beside."""

from dataclasses import replace

import numpy as np
import pytest

from simonides.signal import Architecture, PoorTheoryWarning, beta_of_std, measure

torch = pytest.importorskip("torch")

SMALL = Architecture(tokens=12, dim=16, layers=3, heads=2, hidden=20, beta=1.2, cosine=0.2)


def test_measuring_a_random_transformer_finds_what_simulation_finds():
    from simonides.signal.networks.simulation import draw_tokens, one_network
    from simonides.signal.networks.torch_network import Transformer, normalised

    network = replace(SMALL, tokens=40, dim=64)
    children = np.random.SeedSequence(5).spawn(network.layers + 2)
    batch = torch.from_numpy(draw_tokens(network, np.random.default_rng(children[0])))[None]
    model = Transformer(network, 5)
    measured = measure(model, normalised(batch))
    expected = one_network(network, 5, backward=False)
    np.testing.assert_allclose(measured.cosine, expected.cosine, rtol=1e-3)
    np.testing.assert_allclose(measured.entropy, expected.entropy, rtol=1e-3)
    np.testing.assert_allclose(measured.participation, expected.participation, rtol=1e-3)
    assert measured.theory is not None
    assert measured.theory.cosine[0] == pytest.approx(measured.cosine[0])
    assert model.training, "left as it was"


def encoder(norm_first, *, activation="relu", scale=1.0):
    """Return PyTorch's own encoder with every block drawn apart."""
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(
        96, 4, 192, dropout=0.1, batch_first=True, norm_first=norm_first, activation=activation
    )
    model = torch.nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
    for name, parameter in model.named_parameters():
        if parameter.ndim > 1:
            spread = scale if "in_proj" in name else 1.0
            torch.nn.init.normal_(parameter, std=spread * parameter.shape[1] ** -0.5)
        elif "bias" in name:
            torch.nn.init.zeros_(parameter)
    return model


def sequences(tokens=48):
    torch.manual_seed(1)
    return torch.nn.functional.layer_norm(torch.randn(8, tokens, 96) + 0.5 * torch.randn(96), (96,))


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_pytorch_s_own_encoder_is_read_and_measured(norm_first, activation):
    measured = measure(encoder(norm_first, activation=activation), sequences())
    reading = measured.theory.architecture
    assert (reading.layers, reading.dim, reading.heads, reading.hidden_dim, reading.tokens) == (
        6,
        96,
        4,
        192,
        48,
    )
    assert reading.norm == ("pre" if norm_first else "post")
    assert reading.activation == activation
    # Gains were drawn at one: 96² weights have a mean square within 4 sqrt(2)/96 of it.
    for name in ("value_variance", "output_variance", "mlp_in_variance", "mlp_out_variance"):
        assert getattr(reading, name) == pytest.approx(1, abs=0.06), name
    assert reading.beta == pytest.approx(1 / np.log(48) ** 0.5, rel=0.06)
    assert measured.cosine.shape == measured.norm.shape == (7,)
    assert measured.entropy.shape == (6,)
    # One network of dimension 96 scatters by about sqrt(2/d) around the mean predicted.
    np.testing.assert_allclose(measured.cosine, measured.theory.cosine, atol=0.15)
    np.testing.assert_allclose(measured.entropy, measured.theory.entropy, rtol=0.05)
    np.testing.assert_allclose(measured.participation, measured.theory.participation, rtol=0.35)


def test_theory_follows_the_weights_that_are_there():
    plain, strong = (measure(encoder(False, scale=scale), sequences()) for scale in (1.0, 1.6))
    ratio = strong.theory.architecture.beta / plain.theory.architecture.beta
    assert ratio == pytest.approx(1.6**2, rel=1e-3)
    assert strong.entropy[0] < plain.entropy[0] - 0.3
    # The first block sees tokens that no network has scattered yet.
    assert strong.entropy[0] == pytest.approx(strong.theory.entropy[0], rel=0.05)


def test_an_architecture_that_is_given_wins():
    network = replace(SMALL, tokens=48, dim=96, layers=6, heads=4, beta=0.0)
    measured = measure(encoder(False), sequences(), network)
    assert np.allclose(measured.theory.entropy, np.log(48))


def test_an_architecture_that_is_given_is_asked_at_the_batch_s_tokens_and_norm():
    from simonides.signal.networks.torch_network import Transformer

    network = replace(SMALL, tokens=48, dim=96, hidden=96, norm="pre", beta=1.5)
    batch = 2 * sequences(tokens=10)
    measured = measure(Transformer(network, 3), batch)
    used = measured.theory.architecture
    assert measured.tokens == used.tokens == 10
    assert used.input_variance == pytest.approx(measured.norm[0]) == pytest.approx(4, rel=1e-3)
    assert used.score_gain == pytest.approx(network.score_gain), "the weights are the same"
    # Theory for 48 keys says 1.9 to 2.3, twice what 10 keys have.
    np.testing.assert_allclose(measured.entropy, measured.theory.entropy, rtol=0.1)
    np.testing.assert_allclose(measured.norm, measured.theory.norm, rtol=0.25)


def test_copies_of_one_block_are_announced():
    layer = torch.nn.TransformerEncoderLayer(32, 2, 32, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    with pytest.warns(PoorTheoryWarning) as caught:
        measure(model, torch.randn(2, 9, 32))
    assert any("same weights" in str(warning.message) for warning in caught)


@pytest.mark.slow
def test_padding_does_not_count():
    model, batch = encoder(True), sequences()
    padded = torch.cat([batch[:, :30], 9 * torch.ones(8, 6, 96)], dim=1)
    mask = torch.zeros(8, 36, dtype=torch.bool)
    mask[:, 30:] = True
    measured = measure(model, {"src": padded, "src_key_padding_mask": mask})
    expected = measure(model, batch[:, :30])
    assert measured.tokens == 30
    np.testing.assert_allclose(measured.cosine, expected.cosine, atol=1e-5)
    np.testing.assert_allclose(measured.entropy, expected.entropy, rtol=1e-5)
    np.testing.assert_allclose(measured.theory.cosine, expected.theory.cosine, atol=1e-5)


def bert(**changes):
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(2)
    sizes = {
        "hidden_size": 128, "num_hidden_layers": 5, "num_attention_heads": 4, "intermediate_size": 256,
        "vocab_size": 300, "max_position_embeddings": 40, "initializer_range": 0.09,
    }  # fmt: skip
    config = transformers.BertConfig(**(sizes | changes))
    return transformers.BertModel(config, add_pooling_layer=False)


@pytest.mark.slow  # importing transformers takes seconds
def test_a_hugging_face_bert_is_read_and_measured():
    model = bert()
    usual = model.config._attn_implementation
    tokens = torch.randint(0, 300, (6, 40), generator=torch.Generator().manual_seed(0))
    measured = measure(model, {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)})
    network = measured.theory.architecture
    assert (network.layers, network.dim, network.heads, network.hidden_dim) == (5, 128, 4, 256)
    assert (network.norm, network.activation, network.causal) == ("post", "gelu", False)
    assert network.beta == pytest.approx(beta_of_std(0.09, 128, 40), rel=0.05)
    assert network.mlp_out_variance == pytest.approx(256 * 0.09**2, rel=0.05)
    assert measured.cosine[-1] > measured.cosine[0] + 0.3, "these weights make tokens collapse"
    np.testing.assert_allclose(measured.cosine, measured.theory.cosine, atol=0.12)
    np.testing.assert_allclose(measured.entropy, measured.theory.entropy, rtol=0.05)
    assert model.config._attn_implementation == usual, "left as it was"


@pytest.mark.slow  # importing transformers takes seconds
def test_trained_layer_norms_are_announced():
    model = bert()
    with torch.no_grad():
        model.encoder.layer[1].output.LayerNorm.weight.mul_(1.4)
    with pytest.warns(PoorTheoryWarning, match="a trained model"):
        measure(model, torch.randint(0, 300, (2, 40)))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::simonides.signal.notes.PoorTheoryWarning")
def test_gpt2_is_causal_and_its_late_positions_follow_theory():
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(
        n_embd=128, n_layer=4, n_head=4, vocab_size=300, n_positions=64, initializer_range=0.08,
        bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    runs = []
    for seed in range(1, 5):
        torch.manual_seed(seed)
        runs.append(measure(transformers.GPT2Model(config), torch.randint(0, 300, (8, 64))))
    theory = runs[0].theory
    network = theory.architecture
    assert (network.norm, network.causal, network.activation) == ("pre", True, "gelu")
    assert network.value_variance == pytest.approx(128 * 0.08**2, rel=0.05)
    assert network.output_variance == pytest.approx(128 * 0.08**2 / 8, rel=0.05)
    # Single networks of this dimension scatter by 0.08 at the last block.
    cosine = np.mean([run.cosine for run in runs], axis=0)
    np.testing.assert_allclose(cosine, theory.cosine, atol=0.12)
    np.testing.assert_allclose(runs[0].entropy, theory.entropy, rtol=0.05)


def test_a_model_that_cannot_be_read_is_measured_without_theory():
    class Named(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = torch.nn.ModuleList([Wrapped(), Wrapped()])

        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return x

    class Wrapped(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.mix = torch.nn.MultiheadAttention(8, 2, batch_first=True)

        def forward(self, x):
            return x + self.mix(x, x, x)[0]

    with pytest.warns(
        UserWarning, match="measured without theory: model = 'Named'.*pass the architecture"
    ):
        unread = measure(Named(), torch.randn(3, 6, 8))
    assert unread.theory is None
    assert unread.entropy.shape == (2,)


def test_tokens_that_repel_are_measured_without_theory():
    batch = torch.cat([torch.eye(64)[:2], -torch.eye(64)[:2]])[None]
    layer = torch.nn.TransformerEncoderLayer(64, 1, 4, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
    with pytest.warns(UserWarning, match=r"tokens start at cosine -0\.333, which is not covered"):
        assert measure(model, batch).theory is None


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
