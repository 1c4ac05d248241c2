"""Claims about signals in transformers at initialisation, checked on networks that were run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from simonides.curves.signal import PLACEMENTS
from simonides.estimate import Estimate
from simonides.reproduction import signals
from simonides.reproduction.claims.claim import Claim, graded, is_near

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from simonides.reproduction.catalogue import Figure
    from simonides.reproduction.results import Results

_COSINE_SLACK = 0.03
"""What a cosine may be off by at finite width and depth, beyond its error."""

_NAMES = {("post", False): "post-norm", ("pre", False): "pre-norm"} | {
    ("post", True): "centred post-norm",
    ("pre", True): "centred pre-norm",
}


def rank_collapse(results: Results) -> Claim:
    """Check that tokens collapse below freezing as the limit says."""
    row = signals.depth(results)["measured"].where("beta", signals.BELOW).records()[-1]
    found = _cosine(row)
    return Claim(
        "rank-collapse",
        f"Low-variance regime, β = {signals.BELOW:g} below β_c: attention averages, and the tokens of "
        "post-norm blocks collapse onto one direction (its Fig. 1)",
        f"cosine {row['cosine_limit']:.3f} after {row['layer']:.0f} blocks, in the limit of many tokens",
        f"{found}; finite-size theory {row['cosine']:.3f}",
        graded(
            is_near(found, row["cosine_limit"], _COSINE_SLACK),
            is_near(found, row["cosine"], _COSINE_SLACK),
        ),
        "signal/depth, Figure signal-depth",
        topic="signal",
    )


def signal_preserved(results: Results) -> Claim:
    """Check that strong scores delay the collapse."""
    table = signals.depth(results)["measured"]
    above, below = (table.where("beta", beta).records() for beta in (signals.ABOVE, signals.BELOW))
    middle = len(above) // 2
    rows = above[middle:]
    gap = max(abs(row["cosine"] - row["cosine_simulated"]) for row in rows)
    found, low = _cosine(above[middle]), _cosine(below[middle])
    apart = low.value - found.value > 3 * math.hypot(low.stderr, found.stderr)
    expected = above[middle]["cosine_limit"]
    return Claim(
        "signal-preserved",
        f"High-variance regime, β = {signals.ABOVE:g} above β_c: tokens stay apart for longer (its Fig. 1)",
        f"cosine {expected:.3f} after {above[middle]['layer']:.0f} blocks, in the limit",
        f"{found} (below freezing {low}); finite-size theory {above[middle]['cosine']:.3f}, at most "
        f"{gap:.3f} off in the second half",
        graded(
            apart and is_near(found, expected, _COSINE_SLACK),
            apart and is_near(found, above[middle]["cosine"], _COSINE_SLACK),
        ),
        "signal/depth, Figure signal-depth",
        topic="signal",
    )


def entropy_collapse(results: Results) -> Claim:
    """Check participation and entropy of attention on both sides of freezing."""
    words, whole, part = [], [], []
    for row in signals.depth(results)["attention"].records():
        share = Estimate(row["participation"], row["participation_stderr"])
        entropy = Estimate(row["entropy"], row["entropy_stderr"])
        whole += [
            is_near(share, row["participation_limit"], 0.02),
            is_near(entropy, row["entropy_limit"], 0.02),
        ]
        part += [
            is_near(share, row["participation_theory"], 0.02),
            is_near(entropy, row["entropy_theory"], 0.02),
        ]
        words.append(
            f"β = {row['beta']:g}: Y = {share} (limit {row['participation_limit']:.3f}, finite size "
            f"{row['participation_theory']:.3f}), H / log T = {entropy} (limit "
            f"{row['entropy_limit']:.3f}, finite size {row['entropy_theory']:.3f})"
        )
    return Claim(
        "entropy-collapse",
        "Attention is a Random Energy Model: above β_c it condenses on few keys, Y = 1 − β_c/β, and its "
        "entropy is lost",
        "Y = max(0, 1 − β_c/β)",
        "; ".join(words),
        graded(all(whole), all(part)),
        "signal/depth",
        topic="signal",
    )


def critical_skip(results: Results) -> Claim:
    """Check that the critical skip leads to the target cosine."""
    table = signals.skip(results)["measured"]
    critical, target = table.settings["critical"], table.settings["target"]
    row = min(table.records(), key=lambda one: abs(one["skip"] - critical))
    found = Estimate(row["cosine"], row["cosine_stderr"])
    return Claim(
        "critical-skip",
        f"Low-variance regime: the critical skip for {table.settings['layers']:.0f} post-norm blocks of "
        f"attention to keep the cosine below {target:g}",
        f"cosine {target:g} at α = {critical:.3f}",
        f"{found} there",
        graded(is_near(found, target, _COSINE_SLACK), is_near(found, target, 3 * _COSINE_SLACK)),
        "signal/skip, Figure signal-skip",
        topic="signal",
    )


def layer_norm(results: Results) -> Claim:
    """Check where each place of the LayerNorm ends, plain and centred."""
    table = signals.placement(results)["measured"]
    words, expected, whole, part = [], [], [], []
    for number, place in enumerate(PLACEMENTS):
        row = table.where("placement", float(number)).records()[-1]
        found = _cosine(row)
        whole.append(is_near(found, row["cosine_limit"], _COSINE_SLACK))
        part.append(is_near(found, row["cosine"], _COSINE_SLACK))
        words.append(
            f"{_NAMES[place]} {found.value:.3f} ± {found.stderr:.3f} (finite size {row['cosine']:.3f})"
        )
        expected.append(f"{_NAMES[place]} {row['cosine_limit']:.3f}")
    return Claim(
        "layer-norm",
        "Post-norm collapses exponentially, pre-norm by a power law, and gain-controlled (centred) "
        "attention prevents collapse",
        f"cosine after {int(table['layer'].max())} blocks, in the limit: {', '.join(expected)}",
        ", ".join(words),
        graded(all(whole), all(part)),
        "signal/placement, Figure signal-placement",
        topic="signal",
    )


def query_gradients(results: Results) -> Claim:
    """Check that query weights see no gradient below freezing, and the predicted one above."""
    table = signals.gradients(results)["measured"]
    critical = table.settings["critical"]
    dim, tokens = table["dim"].max(), table["tokens"].max()
    largest = table.where("dim", dim).where("tokens", tokens)
    rows = largest.records()
    low = min(rows, key=lambda row: abs(row["beta"] - critical / 2))
    high = rows[-1]
    words = [
        f"{_gradient(row)} at β = {row['beta']:.2f} (finite size {row['query']:.3f})"
        for row in (low, high)
    ]
    off = [abs(row["query"] / row["query_simulated"] - 1) for row in rows[len(rows) // 2 :]]
    return Claim(
        "query-gradients",
        "Gradients of the query weights vanish below β_c and grow above it",
        f"0 below, {high['query_limit']:.3f} at β = {high['beta']:g} (T |∂W_Q|² / d² √log T)",
        f"d = {dim:g}, T = {tokens:g}: {', '.join(words)}; finite-size theory at most "
        f"{100 * max(off):.0f}% off in the upper half",
        graded(
            is_near(_gradient(low), 0.0, 0.005)
            and is_near(_gradient(high), high["query_limit"], 0.02),
            _gradient(low).value < _gradient(high).value / 3,
        ),
        "signal/gradients, Figure signal-gradients",
        topic="signal",
    )


def diagram(results: Results) -> Claim:
    """Check predicted classes on networks run at points of the diagram."""
    rows = signals.trainability(results)["measured"].records()
    agreeing = sum(row["predicted"] == row["outcome"] for row in rows)
    errors = [row["cosine_predicted"] - row["cosine"] for row in rows]
    return Claim(
        "trainability",
        "Trainability diagrams identify which initialisations fail, and how",
        "classes as predicted",
        f"networks have the predicted class at {agreeing} of {len(rows)} points; rms error of the last "
        f"cosine {math.sqrt(float(np.mean(np.square(errors)))):.3f}",
        graded(agreeing == len(rows), agreeing >= 0.8 * len(rows)),
        "signal/trainability, Figure signal-trainability",
        topic="signal",
    )


_CLAIMS: tuple[tuple[str, Callable[[Results], Claim]], ...] = (
    ("signal-depth", rank_collapse),
    ("signal-depth", signal_preserved),
    ("signal-depth", entropy_collapse),
    ("signal-skip", critical_skip),
    ("signal-placement", layer_norm),
    ("signal-gradients", query_gradients),
    ("signal-trainability", diagram),
)


def signal_claims(results: Results, figures: Iterable[Figure]) -> list[Claim]:
    """Return the claims that the networks behind these figures can check."""
    names = {figure.name for figure in figures}
    return [check(results) for figure, check in _CLAIMS if figure in names]


def _cosine(row: dict[str, float]) -> Estimate:
    return Estimate(row["cosine_simulated"], row["cosine_simulated_stderr"])


def _gradient(row: dict[str, float]) -> Estimate:
    return Estimate(row["query_simulated"], row["query_simulated_stderr"])
