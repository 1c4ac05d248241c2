"""When a measurement counts as agreeing with a claim, and why then: declared here, before any run.

Claims read their limits, and reports their words, from this one table. A change to it is a line in the
changelog that names the table's new digest, which a test asks for.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Criterion:
    """The words of a criterion with its limits filled in, and the limits by their names in the words."""

    words: str
    limits: dict[str, float]

    def __getitem__(self, limit: str) -> float:
        """Return a limit."""
        return self.limits[limit]


def _when(words: str, **limits: float) -> Criterion:
    return Criterion(words.format(**limits), limits)


_SAME_LAW = (
    "agrees: distances below {far:g}, a third of that between the laws at capacity and at initialisation, "
    "and smallest p times their number at least {level:g}, the chance of calling equal laws different, "
    "with instances enough for p to be lower; disagrees: a distance of {far:g} or more whose p is lower; "
    "not decided: too few instances everywhere for p to be lower; in part: otherwise"
)

CRITERIA = {
    "capacity": _when(
        "agrees: both ratios within 3 standard errors and {slack:.0%}, as theory leaves out terms of order "
        "1/d (2% at d = 50), and both lines within 3 standard errors of those through theory, as a line "
        "over these d need not lead even theory to its limit 1/2; in part: only the decoupled ratio",
        slack=0.02,
    ),
    "rate": _when(
        "agrees: within 3 standard errors and {slack_of_limit:g} of -1, which theory itself has reached "
        "only for d in the thousands, with an error below {coarse:g}; in part: within 3 and {slack:g} of "
        "theory, whose own exponent moves by so much if the smallest d is left out, with an error below "
        "{too_coarse:.2g}, three of which are half of what is claimed",
        slack=0.03,
        slack_of_limit=0.1,
        coarse=0.05,
        too_coarse=1 / 6,
    ),
    "equal-thresholds": _when(
        "two one-sided tests at each d, at the level {level:g}, of a difference within {tolerance:.0%}, "
        "terms of order 1/d at d = 20; agrees: shown within it at every d, and p for no difference at "
        "least {told:g}, as the paper cannot tell them apart; in part: shown within it at the largest d; "
        "disagrees: shown beyond it there; not decided: neither is shown",
        tolerance=0.05,
        level=0.05,
        told=0.01,
    ),
    "equal-curves": _when(
        "agrees: within 3 standard errors and {slack:g}, less than a mark's height in the figure; in "
        "part: {small:g}, what a load higher by a few percent costs",
        slack=0.005,
        small=0.05,
    ),
    "equal-spectra": _when(
        "Each rank at the largest d with instances enough. " + _SAME_LAW, far=0.1, level=0.01
    ),
    "equal-scores": _when("Of either kind of scores. " + _SAME_LAW, far=0.1, level=0.01),
    "hebbian": _when(
        "agrees: the load at the largest d within 3 standard errors and half the grid's step there of "
        "theory at this size; in part: what that makes of the limit within {half:g} of it, far from the "
        "1/2 of almost all facts",
        half=0.5,
    ),
    "fourfold-gap": _when(
        "agrees: all within 3 standard errors of 4 and the slacks of both loads together, {slack:.0%} and "
        "half the grid's step; in part: so close to the finite-size theory over the finite-size law of the "
        "rule, {draws:.0f} fresh draws of which keep the clusters in which its failures come",
        slack=0.02,
        draws=200,
    ),
    "rank-capacity": _when(
        "agrees: all within 3 standard errors and {slack:.0%}, 1/d at d = 25, with errors below "
        "{coarse:.0%}; in part: within 3 and {apart:.0%}, less than the difference eq. 9 makes between "
        "half and full rank, with errors below {too_coarse:.2g}",
        slack=0.04,
        apart=0.1,
        coarse=0.05,
        too_coarse=1 / 6,
    ),
    "spectra": _when(
        "each d by itself. Agrees: no further from eq. 10 than {share:.0%} of {sets:.0f} sets of as many "
        "Gaussian matrices of the same size cut to the same rank, whose limit is eq. 10: at small rank and "
        "size they are far from it themselves; in part: further, but closer to eq. 10 than to the law of "
        "two random layers. The rank's verdict is its worst",
        share=0.99,
        sets=200,
    ),
    "off-target": _when(
        "agrees: all below {slack:g}, half of what one bin of the histograms holds at most; in part: "
        "{nearly:g}, the widest at which a histogram still looks normal",
        slack=0.01,
        nearly=0.03,
    ),
    "target-level": _when(
        "agrees: within 3 standard errors and {slack:g} of 1, less than half the targets' own deviation "
        "in these units; in part: so close to the finite-size law",
        slack=0.05,
    ),
    "target-spread": _when(
        "agrees: below {narrow:g} up to capacity, where off-target scores have 1, and larger above it by "
        "over 3 standard errors; in part: only larger",
        narrow=0.5,
    ),
    "strategy": _when(
        "agrees: rivals' mean and deviation change by less than {unmoved:.0%} of what targets move, too "
        "little to see in the figure; in part: {hardly:.0%}",
        unmoved=0.05,
        hardly=0.2,
    ),
    "gaussian-equivalence": _when(
        "agrees: exponent within 3 standard errors and {slack:g} of -1/2, room for terms of relative order "
        "1/d at these d; in part: it falls",
        slack=0.1,
    ),
    "first-moment": _when(
        "agrees: decoupled within 3 standard errors, with no slack: the statement is exact"
    ),
    "protocol": _when(
        "agrees: the group furthest off, of either problem, rank and side of capacity, has a mean "
        "difference below {limit:g}, one of the hundred facts of an instance, and no group an error over "
        "instances above it; in part: {part:g}; not decided: a group is missing and no other is that far "
        "off",
        limit=0.01,
        part=0.03,
    ),
    "rank-collapse": _when(
        "agrees: the cosine, where theory has the two betas furthest apart, within 3 standard errors and "
        "{slack:g}, about what 128 tokens change in theory, and its rate of collapse within 3 and "
        "{share:g} of what theory has between the betas, so that neither is taken for the other; in part: "
        "so close to finite-size theory",
        slack=0.03,
        share=0.25,
    ),
    "signal-preserved": _when(
        "agrees: half way through, lower than below freezing by over 3 standard errors, and within 3 and "
        "{slack:g} of the limit, about what 128 tokens change in theory; in part: of finite-size theory",
        slack=0.03,
    ),
    "entropy-collapse": _when(
        "agrees: Y and H / log T on both sides within 3 standard errors and {slack:g} of the limit, a "
        "quarter of what 128 tokens change Y by in theory above freezing; in part: of finite-size theory",
        slack=0.02,
    ),
    "critical-skip": _when(
        "agrees: within 3 standard errors and {slack:g}, less than a skip 10% off changes the cosine by; "
        "in part: {wide:g}, less than one 25% off does",
        slack=0.03,
        wide=0.09,
    ),
    "layer-norm": _when(
        "agrees: each curve closer to its own kind of line, and cosines, plain ones where theory has them "
        "furthest apart and centred ones after the last block, within 3 standard errors and {slack:g} of "
        "the limit, about what 128 tokens change in theory; in part: of finite-size theory",
        slack=0.03,
    ),
    "query-gradients": _when(
        "agrees: at half β_c within 3 standard errors and {none:g} of 0, 2% of the limit at the largest β, "
        "and there within 3 and {slack:g}, less than a tenth of it; in part: below less than {less:.2g} of "
        "above, growth that the figure shows",
        none=0.005,
        slack=0.02,
        less=1 / 3,
    ),
    "trainability": _when(
        "agrees: all points; in part: {share:.0%}, as a class changes at once across a border, which a "
        "point may lie near",
        share=0.8,
    ),
    "training-outcomes": _when(
        "agrees: trainable models remove more than {learned:g} of the loss of guessing by frequency, those "
        "of collapsed rank less than {lost:g}, a tenth of that, and frozen ones take longer than every "
        "trainable one; in part: but for the frozen",
        learned=0.5,
        lost=0.05,
    ),
}
"""Criteria by the names of claims of both papers; standard errors are three, by ``claim.SIGMAS``."""
