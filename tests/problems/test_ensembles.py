"""Ensembles: what is drawn, that more facts are further ones, how they are written, what is refused."""

import re

import numpy as np
import pytest

from simonides.failures import BadArgumentError
from simonides.problems.decoupled import DecoupledProblem
from simonides.problems.ensembles import GAUSSIAN, TARGETS, ensemble
from simonides.problems.original import OriginalProblem
from simonides.problems.vectors import VECTORS, VectorLaw
from simonides.solvers.deciding.decide import decide
from simonides.solvers.solution import Verdict


@pytest.mark.parametrize("candidates", [None, 4, 20])
@pytest.mark.parametrize("kind", [OriginalProblem, DecoupledProblem])
def test_gaussian_problems_are_those_of_before_bit_for_bit(kind, candidates):
    name = "original" if kind is OriginalProblem else "decoupled"
    drawn = GAUSSIAN.draw(9, 5, 3, candidates=candidates, problem=name, seed=7)
    expected = kind.gaussian(9, 5, 3, candidates=candidates, seed=7)
    assert drawn.fingerprint() == expected.fingerprint()
    assert drawn.setting == expected.setting
    assert np.array_equal(drawn.competitors(8)[1], expected.competitors(8)[1])


def test_gaussian_fingerprints_of_decoupled_problems_have_not_changed():
    # Stored certificates name them.
    assert (
        DecoupledProblem.gaussian(9, 5, 3, seed=7).fingerprint()
        == "1cfeaa8163f3c5bdcd172add580bd4939b193a07a2728a5943f43e8e5b627181"
    )


@pytest.mark.parametrize("name", VECTORS)
@pytest.mark.parametrize(("problem", "candidates"), [("original", 30), ("decoupled", None)])
def test_more_facts_are_the_same_facts_and_further_ones(name, problem, candidates):
    law = ensemble(name)
    few, many = (
        law.draw(facts, 6, candidates=candidates, problem=problem, seed=2) for facts in (7, 19)
    )
    first = many.prefix(7)
    for problem in (few, first):
        assert np.array_equal(problem.inputs, many.inputs[:7])
        assert np.array_equal(problem.target_outputs, many.target_outputs[:7])
        rivals = problem.competitors(3)[1]
        assert np.array_equal(rivals, many.competitors(3)[1][: len(rivals)])


@pytest.mark.parametrize("name", TARGETS)
def test_targets_of_more_facts_begin_with_those_of_fewer(name):
    few, many = (ensemble(name).draw(facts, 3, candidates=8, seed=5) for facts in (11, 40))
    assert np.array_equal(few.targets, many.targets[:11])
    assert few.targets.max() < 8


def rows(name, count=4000, dim=12):
    return ensemble(name).draw(count, dim, candidates=2, seed=1).inputs


def test_vectors_are_what_their_names_say():
    assert np.linalg.norm(rows("unit"), axis=1) == pytest.approx(np.ones(4000))
    assert set(np.unique(rows("rademacher"))) == {-1.0, 1.0}
    sparse = rows("sparse(fraction=0.02)")
    assert (sparse != 0).any(axis=1).all()
    # The smallest of twelve is always there: one of twelve, and 0.02 of the others that are not it.
    assert (sparse != 0).mean() == pytest.approx(1 / 12, abs=0.02)
    assert (rows("sparse(fraction=0.5)") != 0).mean() == pytest.approx(0.5, abs=0.02)
    # 48,000 entries: variances are known to within 3 percent, five standard errors and more.
    for name in ("gaussian", "rademacher", "correlated"):
        assert rows(name).var() == pytest.approx(1, rel=0.05)
    assert rows("sparse(fraction=0.5)").var() == pytest.approx(1, rel=0.1)
    spectrum = rows("correlated(exponent=2)").var(axis=0)
    assert spectrum / spectrum[0] == pytest.approx(np.arange(1, 13.0) ** -2, rel=0.2)


def test_student_vectors_have_the_law_of_student():
    from scipy import stats

    drawn = rows("student(degrees=4)", count=2000, dim=3)
    # A right law is refused once in ten thousand seeds; this one is fixed.
    assert stats.kstest(drawn[:, 0], stats.t(4).cdf).pvalue > 1e-4
    squares = (drawn**2).sum(axis=1) / 3
    assert stats.kstest(squares, stats.f(3, 4).cdf).pvalue > 1e-4


def test_targets_are_as_frequent_as_their_names_say():
    def counts(name):
        return np.bincount(
            ensemble(name).draw(4003, 2, candidates=10, seed=3).targets, minlength=10
        )

    assert set(counts("balanced")) == {400, 401}
    assert sorted(ensemble("balanced").draw(10, 2, candidates=10, seed=4).targets) == [*range(10)]
    # Five standard deviations of a binomial count, 95 and less.
    assert abs(counts("random") - 400.3).max() < 95
    chances = np.arange(1, 11) ** -1.5 / (np.arange(1, 11) ** -1.5).sum()
    assert abs(counts("zipf(exponent=1.5)") - 4003 * chances).max() < 160
    assert ensemble("identity").draw(6, 2, candidates=6, seed=3).targets.tolist() == [*range(6)]


@pytest.mark.parametrize("name", VECTORS)
def test_drawn_problems_of_both_kinds_are_decided(name):
    for problem in ("original", "decoupled"):
        drawn = ensemble(name).draw(8, 12, problem=problem, seed=1)
        assert str(decide(drawn, threads=1).verdict) == "storable"


def test_equal_vectors_of_signs_are_seen():
    drawn = ensemble("rademacher").draw(40, 5, problem="decoupled", seed=0)
    fact, rival = drawn.impossible_pair()
    assert np.array_equal(drawn.target_outputs[fact], drawn.competitors(fact)[1][rival - 1])
    assert str(decide(drawn, threads=1).verdict) == "not-storable"
    assert ensemble("rademacher").draw(9, 30, problem="decoupled", seed=0).impossible_pair() is None


def test_laws_of_decoupled_problems_tell_them_apart():
    texts = ("gaussian", "unit", "student", "student(degrees=4)")
    drawn = [ensemble(text).draw(5, 3, problem="decoupled", seed=0) for text in texts]
    assert len({problem.fingerprint() for problem in drawn}) == len(texts)
    assert drawn[1].prefix(3).vectors == VectorLaw("unit")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("gaussian", "gaussian"),
        ("identity + gaussian", "gaussian"),
        ("zipf", "gaussian+zipf(exponent=1)"),
        ("balanced+ unit", "unit+balanced"),
        ("student( degrees = 4.50 )", "student(degrees=4.5)"),
        ("sparse(fraction=1e-1)+zipf(exponent=1e+0)", "sparse(fraction=0.1)+zipf(exponent=1)"),
    ],
)
def test_an_ensemble_has_one_text(text, written):
    assert str(ensemble(text)) == written
    assert ensemble(written) == ensemble(text) == ensemble(ensemble(text))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cauchy", "vectors: gaussian, unit"),
        ("", "a law of vectors"),
        ("unit+sparse", "both with a plus"),
        ("zipf+zipf", "both with a plus"),
        ("student(4)", "mend '4'"),
        ("student(degrees=2", "a law of vectors"),
        ("student(degrees=1)", "student.degrees = 1"),
        (
            "student(rate=1)",
            "student.rate = 1 must be left out: the options of student are: degrees",
        ),
        ("unit(x=1)", "the options of unit are: none"),
        ("sparse(fraction=many)", "sparse.fraction = 'many'"),
        ("nowhere:draw", "No module named 'nowhere'"),
        ("math:nothing", "has no attribute 'nothing'"),
    ],
)
def test_a_text_that_names_nothing_is_refused(text, said):
    with pytest.raises(BadArgumentError, match=re.escape(said)):
        ensemble(text)


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("unit", {"problem": "odd"}, "problem = 'odd'"),
        ("zipf", {"problem": "decoupled", "candidates": 4}, "a law of vectors alone"),
        ("random", {}, "candidates = None must be given for random targets"),
        ("unit", {"candidates": 1}, "candidates = 1"),
        ("unit", {"facts": 0}, "facts = 0"),
        ("unit", {"seed": -1}, "seed = -1"),
    ],
)
def test_what_cannot_be_drawn_is_refused(text, options, said):
    with pytest.raises(BadArgumentError, match=re.escape(said)):
        ensemble(text).draw(**{"facts": 5, "dim_in": 4, "seed": 0, **options})


# A function of one's own, as a user writes it.


def shells(rng, facts, dim_in, dim_out, candidates, radius=2.0):
    of_inputs, of_outputs = rng.spawn(2)
    keys = of_inputs.standard_normal((facts, dim_in))
    keys *= radius / np.linalg.norm(keys, axis=1, keepdims=True)
    return keys, of_outputs.standard_normal((candidates, dim_out))


def with_targets(rng, facts, dim_in, dim_out, candidates):
    return *shells(rng, facts, dim_in, dim_out, candidates), np.arange(facts) // 2


def from_a_single_stream(rng, facts, dim_in, dim_out, candidates):
    return rng.standard_normal((facts, dim_in)), rng.standard_normal((candidates, dim_out))


def of_a_wrong_shape(rng, facts, dim_in, dim_out, candidates):
    return rng.standard_normal((facts, dim_in + 1)), np.ones((candidates, dim_out))


def of_nothing_but_inputs(rng, facts, dim_in, dim_out, candidates):
    return rng.standard_normal((facts, dim_in))


def of_nan(rng, facts, dim_in, dim_out, candidates):
    return np.full((facts, dim_in), np.nan), np.ones((candidates, dim_out))


OWN = f"{__name__}:"


def test_a_function_of_ones_own_draws_nested_problems():
    law = ensemble(f"{OWN}shells(radius=3)")
    few, many = law.draw(5, 4, 3, seed=1), law.draw(11, 4, 3, seed=1)
    assert np.linalg.norm(few.inputs, axis=1) == pytest.approx(np.full(5, 3.0))
    assert few.fingerprint() == many.prefix(5).fingerprint()
    assert few.all_compete
    assert law.draw(5, 4, 3, seed=2).fingerprint() != few.fingerprint()
    assert ensemble(f"{OWN}with_targets").draw(5, 4, candidates=6, seed=1).targets[-1] == 2
    shared = ensemble(f"{OWN}shells+balanced").draw(12, 4, candidates=6, seed=1)
    assert np.bincount(shared.targets).tolist() == [2] * 6


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("from_a_single_stream", "first outputs are the same however many are drawn"),
        ("of_a_wrong_shape", "inputs.shape = (5, 5) must be (5, 4)"),
        ("of_nothing_but_inputs", "returns inputs and outputs, not ndarray"),
        ("of_nan", "finite"),
        ("with_targets+zipf", "returns its own"),
    ],
)
def test_what_a_function_of_ones_own_returns_is_checked(text, said):
    with pytest.raises(BadArgumentError, match=re.escape(said)):
        ensemble(OWN + text).draw(5, 4, candidates=6, seed=0)
    with pytest.raises(BadArgumentError, match="a law of vectors alone"):
        ensemble(OWN + text).draw(5, 4, candidates=6, problem="decoupled", seed=0)


def test_unit_outputs_of_one_dimension_coincide_and_that_is_seen():
    problem = ensemble("unit").draw(6, 3, 1, problem="decoupled", seed=0)
    assert decide(problem).verdict is Verdict.NOT_STORABLE
