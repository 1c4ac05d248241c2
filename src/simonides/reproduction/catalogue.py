"""The figures of the reproduction by name: what each needs, and what it says."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from simonides import arguments
from simonides.reproduction import capacities, scoring, spectra, training
from simonides.reproduction.figure import Figure
from simonides.signal.paper import figures as signal

if TYPE_CHECKING:
    from collections.abc import Sequence


FIGURES = {
    figure.name: figure
    for figure in (
        Figure(
            "1",
            "Training accuracy against the load",
            "Facts recalled at the minimum of the cross-entropy, means over instances with their standard "
            "deviation for the decoupled problem. The line is the finite-size theory of that minimum for "
            "the decoupled problem, with nothing fitted: computed at the crosses, and between them a "
            "monotone interpolation. Verticals are the finite-size capacity (dotted) and the paper's limit "
            "1/2 (dashed).",
            ("accuracy",),
            training.figure_1,
        ),
        Figure(
            "2",
            "Accuracy by rank, and the Hebbian rule",
            "As Figure 1 for matrices of bounded rank m = κd (two linear layers). Verticals: the "
            "limit of eq. 9 and, for the largest dimension drawn, the finite-size capacity. Lines of "
            "theory, for κ = 1, interpolate the points that Figure 1 marks. The Hebbian rule (marks) and "
            "its theory (lines) are drawn with κ = 1, at the largest dimension at which both problems were "
            "measured.",
            ("accuracy", "rank", "hebbian"),
            training.figure_2,
        ),
        Figure(
            "3",
            "Singular values at capacity",
            "Non-zero singular values of trained matrices just below capacity, scaled to a mean square of "
            "one, against the quarter circle truncated from below (eq. 10) and the law of two random "
            "layers (eq. C.70).",
            ("spectra", "regimes"),
            spectra.figure_3,
        ),
        Figure(
            "4",
            "Scores below, near and above capacity",
            "Target and off-target scores, off-target variance one, at the dimension that titles say. "
            "Theory: below capacity the law at the largest margin (training stops as soon as all is "
            "recalled, so it need not follow it); near capacity the laws of t and min(g, t); both widened "
            "by the spread of |Wx| between inputs, 1/√d; above, the scores at the loss's minimum, "
            "unwidened. The standard normal is what off-target scores tend to.",
            ("regimes",),
            scoring.figure_4,
        ),
        Figure(
            "A.1",
            "Training loss against the load",
            "Mean cross-entropy of the runs of Figure 2, with the standard deviation for the decoupled "
            "problem. Runs that recall everything stop there, so their loss is small but not zero; theory "
            "is zero below capacity, and beyond interpolates the points of Figure 1.",
            ("accuracy", "rank", "hebbian"),
            training.figure_a1,
        ),
        Figure(
            "A.2",
            "Scores of a single constraint",
            "All rivals of one input, the first of one instance, and its target (line from below), at the "
            "dimension that titles say; √(2 log p) hangs from above. Stored facts have the target beyond "
            "the strongest rival; above capacity most facts are not stored.",
            (),
            scoring.figure_a2,
        ),
        Figure(
            "C.1",
            "Load at capacity against the dimension",
            "Largest number of facts that fit, found by bisection with a proof on both sides, means and "
            "standard errors over instances; the curve is the finite-size theory without a free "
            "parameter. Right: the same against 1/log d, with a straight line through the limit 1/2.",
            ("thresholds",),
            capacities.figure_c1,
        ),
        Figure(
            "C.2",
            "Singular values at initialisation",
            "Products of two random layers of width κd, scaled to a mean square of one, against the free "
            "product of two Marchenko–Pastur laws.",
            (),
            spectra.figure_c2,
        ),
        Figure(
            "D.1",
            "Scores of the Hebbian rule",
            "Both laws are Gaussian of unit variance, and only the distance of their means falls with the "
            "load: another mechanism than that of Figure 4. Both problems, at the largest dimension at "
            "which both were measured.",
            ("hebbian",),
            scoring.figure_d1,
        ),
        Figure(
            "difference",
            "Original against decoupled thresholds",
            "Relative difference of the measured capacities, and each over the finite-size theory, with "
            "standard errors. The paper finds the transitions indistinguishable; proofs tell them apart. "
            "Not in the paper.",
            ("thresholds",),
            capacities.difference,
        ),
        Figure(
            "rank",
            "Facts per free parameter against the rank",
            "Measured by search (with a rank bound a failed search proves nothing, so these are lower "
            "bounds), against finite-size theory and the leading order. Not in the paper.",
            ("bounded",),
            capacities.facts_per_parameter,
        ),
        Figure(
            "margin",
            "Largest margin against the load",
            "Middle of the certified bracket, in units of the off-target deviation (√2 d times the "
            "normalised margin). The theory treats the d² products of inputs and outputs as independent "
            "features; small matrices keep less. Not in the paper.",
            ("margin",),
            capacities.margins,
        ),
        Figure(
            "cost",
            "Cost against the dimension",
            "Median seconds on one thread, with quartiles: training at 1.1 to 1.4 times capacity, and one "
            "decision with its proof near capacity. Not in the paper.",
            ("accuracy", "thresholds"),
            capacities.cost,
        ),
        *signal.FIGURES,
    )
}


def left_out() -> list[Figure]:
    """Return the figures that cannot be made here, for want of an extra."""
    return [one for one in FIGURES.values() if one.extra and find_spec(one.extra) is None]


def chosen(names: Sequence[str]) -> list[Figure]:
    """Return the figures of these names, or all that can be made here if there are none.

    A name that there is not is refused, and one whose extra is missing.
    """
    for name in names:
        if name not in FIGURES:
            raise arguments.refuse("figure", name, f"one of {', '.join(FIGURES)}", "name those")
    missing = left_out()
    for one in missing:
        if one.name in names:
            raise arguments.refuse(
                "figure",
                one.name,
                f"one that can be made without {one.extra}",
                arguments.install(str(one.extra)),
            )
    return [
        figure
        for figure in FIGURES.values()
        if (figure.name in names if names else figure not in missing)
    ]


def needed(figures: Sequence[Figure]) -> list[str]:
    """Return the sweeps that figures need, each once."""
    return list(dict.fromkeys(sweep for figure in figures for sweep in figure.needs))
