"""Claims about how it is stored: spectra, scores, strategy, Gaussian equivalence, volume."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from scipy import special

from simonides.arrays import Reals
from simonides.estimate import Estimate
from simonides.reproduction import spectra
from simonides.reproduction.claims.claim import (
    SIGMAS,
    Check,
    Finding,
    MissingError,
    graded,
    is_near,
    stated,
    worst,
)
from simonides.reproduction.claims.complete import FEWEST, has_error, regimes
from simonides.reproduction.claims.criteria import CRITERIA
from simonides.reproduction.plans import ABOVE, BELOW, FRACTIONS, NEAR
from simonides.reproduction.results import (
    SCORE_GRID,
    Results,
    Row,
    groups,
    mean_of,
    score_distribution,
)
from simonides.reproduction.statistics import exponent, mean
from simonides.theory.scores import RivalScoreLaw, TargetScoreLaw
from simonides.theory.spectrum import CapacityLaw, InitialLaw

_VOLUME_DIM, _VOLUME_FACTS = 4, (2, 3, 4)
"""Sizes at which a random matrix solves a problem often enough to be counted: p^-p is 1/256 at p = 4."""

_VOLUME_BATCH = 20_000
"""Draws at a time, which keeps arrays at some ten megabytes."""

_VOLUME_SEED, _GAUSSIAN_SEED = 42, 43  # of their own, as all samples have

_GAUSSIAN_DRAWS = 100
"""Gaussian matrices, of which sets are formed again and again: seconds at d = 200."""


def _spectra_at(fraction: float) -> Check:
    """Return the check of one rank fraction, at every dimension it was measured at."""
    return stated(
        f"spectra:{fraction:g}",
        f"Singular values at capacity with κ = {fraction:g} follow the quarter circle truncated from "
        "below, unlike those at initialisation, and are well predicted already at these dimensions "
        "(Section 3.2, Claim 2, Fig. 3)",
        "distance 0 from eq. 10",
        data="sweeps/spectra, sweeps/regimes, Figure 3",
    )(lambda results: _graded_spectra(results, fraction))


RANK_SPECTRA = tuple(map(_spectra_at, FRACTIONS))


def _graded_spectra(results: Results, fraction: float) -> Finding:
    rows = [row for row in spectra.near_capacity(results) if row["rank_fraction"] == fraction]
    laws = [
        spectra.unit_distribution(law(fraction), spectra.GRID) for law in (CapacityLaw, InitialLaw)
    ]
    words, verdicts = [], []
    for (dim,), part in groups(rows, "dim").items():
        measured = np.mean([spectra.measured_distribution(row) for row in part], axis=0)
        final, initial = (_gap(measured, law) for law in laws)
        reach = gaussian_reach(dim, part[0]["rank"], len(part), fraction)
        verdicts.append(graded(final <= reach, final < initial))
        words.append(
            f"d = {dim}: {final:.2f}, Gaussian matrices up to {reach:.2f}, {initial:.2f} from the law of "
            f"two random layers ({verdicts[-1]})"
        )
    if not words:
        raise MissingError(f"singular values at capacity with κ = {fraction:g}")
    return Finding(
        f"largest difference of distribution functions from eq. 10: {'; '.join(words)}",
        worst(verdicts),
    )


@cache
def gaussian_reach(dim: int, rank: int, instances: int, fraction: float) -> float:
    """Return how far from eq. 10 sets of Gaussian matrices cut to a rank are, all but a few of them."""
    law = spectra.unit_distribution(CapacityLaw(fraction), spectra.GRID)
    rng = np.random.default_rng(_GAUSSIAN_SEED)
    drawn = []
    for _ in range(_GAUSSIAN_DRAWS):
        values = np.linalg.svd(rng.standard_normal((dim, dim)), compute_uv=False)
        values *= math.sqrt(dim / np.sum(values[:rank] ** 2))
        row = {"singular_values": values, "rank": rank, "dim": dim}
        drawn.append(spectra.measured_distribution(row))
    criterion = CRITERIA["spectra"]
    chosen = rng.integers(len(drawn), size=(round(criterion["sets"]), instances))
    gaps = [_gap(np.mean([drawn[place] for place in places], axis=0), law) for places in chosen]
    return float(np.quantile(gaps, criterion["share"]))


def _gap(measured: Reals, law: Reals) -> float:
    return float(np.max(np.abs(measured - law)))


@stated(
    "off-target",
    "Off-target scores follow a standard Gaussian at all loads (Section 3.3, Fig. 4)",
    "distance 0 from the normal law",
    data="sweeps/regimes, Figure 4",
)
def rivals_standard_normal(results: Results) -> Finding:
    """Check that off-target scores are standard normal."""
    words, far = [], []
    for regime, part in regimes(results).items():
        measured = np.mean([score_distribution(row, "rival") for row in part], axis=0)
        gaussian = _gap(measured, special.ndtr(SCORE_GRID))
        text = f"{regime:g} of capacity: {gaussian:.4f}"
        if regime == NEAR:
            law = RivalScoreLaw(part[0]["facts"])
            limit = law.cdf(math.sqrt(law.variance) * SCORE_GRID)
            text += f" ({_gap(measured, limit):.4f} from min(g, t))"
        words.append(text)
        far.append(gaussian)
    return Finding(
        f"largest difference of distribution functions: {'; '.join(words)}",
        graded(*(max(far) < limit for limit in CRITERIA["off-target"].limits.values())),
    )


@stated(
    "target-level",
    "Below capacity target scores concentrate near √(2 log p) (Sections 3.3, 4, C.2)",
    "mean / √(2 log p) tends to 1",
    data="sweeps/regimes, Figure 4",
)
def targets_concentrate(results: Results) -> Finding:
    """Check that target scores lie near sqrt(2 log p) below capacity."""
    by_regime = regimes(results)
    below, ratio = (_level(by_regime[regime]) for regime in (BELOW, NEAR))
    dim, facts = by_regime[NEAR][0]["dim"], by_regime[NEAR][0]["facts"]
    slack = CRITERIA["target-level"]["slack"]
    law, rivals = TargetScoreLaw(facts), RivalScoreLaw(facts)
    expected = law.mean / math.sqrt(rivals.variance) / math.sqrt(2 * math.log(facts))
    return Finding(
        f"{below} at {BELOW:g} of capacity, {ratio} at {NEAR:g}, d = {dim}, p = {facts}; the finite-size "
        f"law at capacity says {expected:.3f}",
        graded(is_near(ratio, 1.0, slack), is_near(ratio, expected, slack)),
    )


@stated(
    "target-spread",
    "Below capacity the variance of target scores is much smaller than that of off-target ones, and it "
    "grows significantly as capacity is crossed (Sections 4, C.2, Fig. 4)",
    "deviation well below 1, growing above capacity",
    data="sweeps/regimes, Figure 4",
)
def targets_broaden(results: Results) -> Finding:
    """Check that target scores spread little below capacity and more above it."""
    spreads = {
        regime: mean(row["target_std"] / row["rival_std"] for row in part)
        for regime, part in regimes(results).items()
    }
    error = math.hypot(spreads[ABOVE].stderr, spreads[NEAR].stderr)
    grows = spreads[ABOVE].value - spreads[NEAR].value > SIGMAS * error
    narrow = max(spreads[BELOW].value, spreads[NEAR].value) < CRITERIA["target-spread"]["narrow"]
    words = "; ".join(f"{spread} at {regime:g} of capacity" for regime, spread in spreads.items())
    return Finding(f"deviation of target scores: {words}", graded(narrow and grows, grows))


@stated(
    "strategy",
    "Memories raise target scores and leave off-target ones essentially unchanged: strategy (1) of "
    "Section 3.3",
    "targets move, rivals do not",
    data="sweeps/regimes, Figure 4",
)
def raises_targets(results: Results) -> Finding:
    """Check that learning raises targets and leaves the rest: strategy (1)."""
    by_regime = regimes(results)
    part = by_regime[BELOW] + by_regime[NEAR]
    target, rival, spread = (
        mean_of(part, column) for column in ("target_mean", "rival_mean", "rival_std")
    )
    moved = max(abs(rival.value), abs(spread.value - 1))
    return Finding(
        f"in units of an unlearnt score's deviation, up to capacity: targets move by {target}, rivals by "
        f"{rival}, the rivals' deviation is {spread} instead of 1",
        graded(*(moved < share * target.value for share in CRITERIA["strategy"].limits.values())),
    )


@stated(
    "gaussian-equivalence",
    "Given the inputs, the covariance of the scores, |Wx|² for one memory, concentrates as the "
    "dimension grows (Appendix C.1.1, Hanson–Wright)",
    "relative deviation of order d^-1/2; 2/√d for a quarter circle",
    data="sweeps/regimes, sweeps/spectra (singular values)",
)
def gaussian_equivalence(results: Results) -> Finding:
    """Check that the conditional covariance of scores concentrates like d^-1/2."""
    near = [row for row in spectra.near_capacity(results) if row["rank_fraction"] == 1]
    measured = {dim: mean(map(image_spread, part)) for (dim,), part in groups(near, "dim").items()}
    spreads = {dim: spread for dim, spread in measured.items() if has_error(spread)}
    if len(spreads) < 2:
        raise MissingError(
            f"singular values of full rank at two dimensions, {FEWEST} instances or more at each"
        )
    slope = exponent(list(spreads), list(spreads.values()))
    words = ", ".join(f"{spread} at d = {dim}" for dim, spread in spreads.items())
    return Finding(
        f"relative deviation of |Wx|² over fresh inputs at capacity: {words}; exponent {slope}",
        graded(
            is_near(slope, -0.5, CRITERIA["gaussian-equivalence"]["slack"]),
            slope.value < -SIGMAS * slope.stderr,
        ),
    )


def image_spread(row: Row) -> float:
    """Return the relative deviation of |Wx|^2 over Gaussian x: sqrt(2 sum s^4) / sum s^2."""
    squares = spectra.unit_values(row) ** 2
    return float(math.sqrt(2 * np.sum(squares**2)) / np.sum(squares))


@stated(
    "first-moment",
    "A random matrix solves the decoupled problem with probability exactly p^-p; for the original "
    "there is no closed form (Section 5.1, Appendix B)",
    "p^-p",
    data="random draws at d = 4 for each p",
    needs=("accuracy",),
)
def first_moment(results: Results) -> Finding:
    """Check that the mean volume of solutions is p^-p for the decoupled problem."""
    chances = volumes(results.plan.draws)
    words = "; ".join(
        f"p = {facts}: decoupled {decoupled} (p^-p = {facts**-facts:.5f}), original {original}"
        for facts, (original, decoupled) in chances.items()
    )
    whole = all(is_near(decoupled, facts**-facts) for facts, (_, decoupled) in chances.items())
    return Finding(f"{results.plan.draws:,} draws: {words}", graded(whole, False))


def _level(part: list[Row]) -> Estimate:
    """Return the mean of target scores over sqrt(2 log p)."""
    return mean(
        row["target_mean"] / row["rival_std"] / math.sqrt(2 * math.log(row["facts"]))
        for row in part
    )


@cache
def volumes(draws: int) -> dict[int, tuple[Estimate, Estimate]]:
    """Return the chance that a random matrix solves a random problem: original, decoupled, by facts."""
    rng = np.random.default_rng(_VOLUME_SEED)
    return {
        facts: (_chance(rng, facts, draws, True), _chance(rng, facts, draws, False))
        for facts in _VOLUME_FACTS
    }


def _chance(rng: np.random.Generator, facts: int, draws: int, shared: bool) -> Estimate:
    solved = 0
    for start in range(0, draws, _VOLUME_BATCH):
        size = min(_VOLUME_BATCH, draws - start)
        weights = rng.standard_normal((size, _VOLUME_DIM, _VOLUME_DIM))
        images = rng.standard_normal((size, facts, _VOLUME_DIM)) @ weights
        if shared:
            scores = images @ rng.standard_normal((size, _VOLUME_DIM, facts))
        else:
            outputs = rng.standard_normal((size, facts, facts, _VOLUME_DIM))
            scores = np.einsum("nid,nijd->nij", images, outputs)
        targets = np.arange(facts) if shared else 0
        solved += int(np.sum(np.all(scores.argmax(axis=2) == targets, axis=1)))
    share = solved / draws
    return Estimate(share, math.sqrt(share * (1 - share) / draws))
