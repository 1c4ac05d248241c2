"""Criteria are declared in one table, and spectra are graded against what chance can do at their size."""

import copy
import hashlib
from pathlib import Path

import numpy as np
import pytest
from planted import Planted

from simonides.reproduction.claims import mechanism
from simonides.reproduction.claims.catalogue import CHECKS
from simonides.reproduction.claims.claim import Agreement
from simonides.reproduction.claims.criteria import CRITERIA


def test_spectra_of_the_initial_law_are_not_those_at_capacity(results):
    rng = np.random.default_rng(3)

    def initial(row):
        if row.get("singular_values") is not None:
            dim, rank = row["dim"], row["rank"]
            size = 40 * dim  # so large that the law shows
            rank = 40 * rank
            product = rng.standard_normal((size, rank)) @ rng.standard_normal((rank, size))
            values = np.linalg.svd(product, compute_uv=False)
            row["singular_values"] = values / np.sqrt(np.mean(values**2))
            row["dim"], row["rank"] = size, rank
        return row

    kept = results.rows("spectra", problem="original", dim=6, instance=0)
    changed = [initial(copy.deepcopy(row)) for row in kept if row["rank_fraction"] == 0.5]
    planted = Planted(results.plan, spectra=changed)
    verdicts = {check.claim.name: check(planted).verdict for check in mechanism.RANK_SPECTRA}
    assert verdicts.pop("spectra:0.5") is Agreement.DISAGREES
    assert set(verdicts.values()) == {Agreement.UNDECIDED}


@pytest.mark.parametrize("fraction", [0.1, 0.25, 1.0])
def test_gaussian_matrices_have_the_spectra_of_their_limit_at_every_size(fraction):
    # At d = 25 and a tenth of the rank they are 0.16 from eq. 10: no fixed distance can ask for less.
    rng = np.random.default_rng(5)
    rank = round(25 * fraction)
    rows = []
    for instance in range(8):
        values = np.linalg.svd(rng.standard_normal((25, 25)), compute_uv=False)
        values *= np.sqrt(25 / np.sum(values[:rank] ** 2))
        rows.append(
            {"problem": "original", "dim": 25, "rank": rank, "rank_fraction": fraction}
            | {"singular_values": values, "instance": instance}
        )
    (check,) = (c for c in mechanism.RANK_SPECTRA if c.claim.name == f"spectra:{fraction:g}")
    assert check(Planted(spectra=rows)).verdict is Agreement.AGREES
    # A spectrum that is broader than Gaussian matrices of this size can be is told from them.
    for row in rows:
        row["singular_values"] = row["singular_values"] ** 3
        total = np.sum(row["singular_values"][:rank] ** 2)
        row["singular_values"] *= np.sqrt(25 / total)
    assert check(Planted(spectra=rows)).verdict is not Agreement.AGREES


def test_what_gaussian_matrices_reach_shrinks_with_size_and_instances():
    small = mechanism.gaussian_reach(25, 2, 4, 0.1)
    assert small > 0.1
    assert mechanism.gaussian_reach(25, 2, 40, 0.1) < small
    assert mechanism.gaussian_reach(100, 10, 4, 0.1) < small / 2


def test_criteria_are_declared_once_and_their_changes_are_in_the_changelog():
    for check in CHECKS:
        assert check.claim.criterion == CRITERIA[check.claim.name.partition(":")[0]].words
    storage = {check.claim.name.partition(":")[0] for check in CHECKS}
    # Claims on signals have their names only when they are made: see test_signal_claims.
    assert storage < set(CRITERIA)
    sources = (Path(__file__).parents[2] / "src").rglob("*.py")
    assert [path.name for path in sources if '"agrees: ' in path.read_text()] == ["criteria.py"]
    changelog = (Path(__file__).parents[2] / "CHANGELOG.md").read_text()
    digest = hashlib.blake2b(repr(CRITERIA).encode(), digest_size=4).hexdigest()
    assert f"`{digest}`" in changelog, "say in the changelog what changed, and this digest"
