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
    diagnosis = memory.diagnose()
    scores = memory.decision_function(X)
    scores -= scores.mean(axis=1, keepdims=True)
    unit = np.sqrt(np.mean(scores[~np.eye(30, dtype=bool)] ** 2))
    own = np.diag(scores) / unit
    rivals = scores[~np.eye(30, dtype=bool)] / unit
    width = diagnosis.score[1] - diagnosis.score[0]
    for density, values in ((diagnosis.target_density, own), (diagnosis.rival_density, rivals)):
        assert np.sum(density) * width == pytest.approx(1)
        assert np.sum(diagnosis.score * density) * width == pytest.approx(values.mean(), abs=width)
    np.fill_diagonal(scores, -np.inf)
    np.testing.assert_allclose(diagnosis.leads, own - scores.max(axis=1) / unit, atol=1e-12)
    assert (diagnosis.leads > 0).all()
    assert "30 of 30 facts stored" in str(diagnosis)


def test_scores_and_spectrum_at_capacity_are_theory_s():
    X, Y = gaussian(261, 40)
    diagnosis = AssociativeMemory().fit(X, Y).diagnose()
    assert diagnosis.fullness == pytest.approx(1, abs=0.005)
    width = diagnosis.score[1] - diagnosis.score[0]
    mean, theory = (
        np.sum(diagnosis.score * density) * width
        for density in (diagnosis.target_density, diagnosis.target_density_theory)
    )
    assert mean == pytest.approx(theory, rel=0.05)
    np.testing.assert_allclose(
        diagnosis.singular_values, diagnosis.singular_values_theory, atol=0.4
    )
    assert np.mean(diagnosis.singular_values**2) == pytest.approx(1)


def test_the_spectrum_of_a_narrow_memory_is_cut_at_its_rank():
    memory, _, _ = fitted(rank=5)
    diagnosis = memory.diagnose()
    assert np.count_nonzero(diagnosis.singular_values > 1e-9) == 5
    assert np.count_nonzero(diagnosis.singular_values_theory) == 5


@pytest.mark.slow
def test_pictures_draw_what_was_found(tmp_path):
    X, Y = gaussian(60, 12)
    with pytest.warns(NotAllStoredWarning):
        memory = AssociativeMemory("hebbian").fit(X, Y)
    diagnosis = memory.diagnose()
    figure = pictures.diagnosis(diagnosis)
    for axes in figure.axes:
        assert axes.get_title(loc="left")
        assert axes.get_xlabel()
    counts = sum(patch.get_height() for patch in figure.axes[1].patches)
    assert counts == 60
    np.testing.assert_array_equal(
        figure.axes[2].get_lines()[0].get_ydata(), diagnosis.singular_values
    )
    lengths = [bar.get_width() for bar in figure.axes[3].patches]
    assert lengths[:2] == [60, memory.n_stored_]
    curve = memory.recall_under_noise([0.0, 0.5])
    noisy = pictures.noisy_recall(curve)
    np.testing.assert_array_equal(noisy.axes[0].get_lines()[0].get_ydata(), curve.predicted)
    assert (
        save(figure, tmp_path / "a.svg").read_bytes()
        == save(pictures.diagnosis(diagnosis), tmp_path / "b.svg").read_bytes()
    )
