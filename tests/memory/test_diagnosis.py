"""A diagnosis counts what is there, and its picture draws it."""

import numpy as np
import pytest
from drawn import fitted, gaussian

from simonides import AssociativeMemory
from simonides.figures import memory as pictures
from simonides.figures.style import save
from simonides.memory.shortfall import NotAllStoredWarning


def test_counts_are_those_of_all_scores():
    memory, X, _ = fitted(30, 20)
    found = memory.diagnose()
    scores = memory.decision_function(X)
    scores -= scores.mean(axis=1, keepdims=True)
    unit = np.sqrt(np.mean(scores[~np.eye(30, dtype=bool)] ** 2))
    own = np.diag(scores) / unit
    rivals = scores[~np.eye(30, dtype=bool)] / unit
    width = found.score[1] - found.score[0]
    for density, values in ((found.target_density, own), (found.rival_density, rivals)):
        assert np.sum(density) * width == pytest.approx(1)
        assert np.sum(found.score * density) * width == pytest.approx(values.mean(), abs=width)
    np.fill_diagonal(scores, -np.inf)
    np.testing.assert_allclose(found.leads, own - scores.max(axis=1) / unit, atol=1e-12)
    assert (found.leads > 0).all()
    assert "30 of 30 facts stored" in str(found)


def test_scores_and_spectrum_at_capacity_are_theory_s():
    X, Y = gaussian(261, 40)
    found = AssociativeMemory().fit(X, Y).diagnose()
    assert found.fullness == pytest.approx(1, abs=0.005)
    width = found.score[1] - found.score[0]
    mean, theory = (
        np.sum(found.score * density) * width
        for density in (found.target_density, found.target_density_theory)
    )
    assert mean == pytest.approx(theory, rel=0.05)
    np.testing.assert_allclose(found.singular_values, found.singular_values_theory, atol=0.4)
    assert np.mean(found.singular_values**2) == pytest.approx(1)


def test_the_spectrum_of_a_narrow_memory_is_cut_at_its_rank():
    memory, _, _ = fitted(rank=5)
    found = memory.diagnose()
    assert np.count_nonzero(found.singular_values > 1e-9) == 5
    assert np.count_nonzero(found.singular_values_theory) == 5


@pytest.mark.slow
def test_pictures_draw_what_was_found(tmp_path):
    X, Y = gaussian(60, 12)
    with pytest.warns(NotAllStoredWarning):
        memory = AssociativeMemory("hebbian").fit(X, Y)
    found = memory.diagnose()
    figure = pictures.diagnosis(found)
    for axes in figure.axes:
        assert axes.get_title(loc="left")
        assert axes.get_xlabel()
    counts = sum(patch.get_height() for patch in figure.axes[1].patches)
    assert counts == 60
    np.testing.assert_array_equal(figure.axes[2].get_lines()[0].get_ydata(), found.singular_values)
    lengths = [bar.get_width() for bar in figure.axes[3].patches]
    assert lengths[:2] == [60, memory.n_stored_]
    curve = memory.recall_under_noise([0.0, 0.5])
    noisy = pictures.noisy_recall(curve)
    np.testing.assert_array_equal(noisy.axes[0].get_lines()[0].get_ydata(), curve.predicted)
    assert (
        save(figure, tmp_path / "a.svg").read_bytes()
        == save(pictures.diagnosis(found), tmp_path / "b.svg").read_bytes()
    )
