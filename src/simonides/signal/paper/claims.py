"""Claims about signals in transformers at initialisation, checked on networks that were run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from simonides.curves.table import Table, estimate_in
from simonides.estimate import Estimate
from simonides.figures.marks import part_of
from simonides.reproduction.claims.claim import SIGMAS, Agreement, PaperClaim, graded, is_near
from simonides.reproduction.claims.criteria import CRITERIA
from simonides.signal.outcome import OUTCOMES, Outcome
from simonides.signal.paper.curves import ABOVE, BELOW, PLACEMENTS

Tables = Mapping[str, Table]

_COLLAPSED = 1e-9
"""Of 1 - cosine: below it rounding is what is left."""

_NAMES = ("post-norm", "pre-norm", "centred post-norm", "centred pre-norm")
"""Of ``PLACEMENTS``."""


def _claim(
    name: str, statement: str, paper: str, finding: str, verdict: Agreement, data: str
) -> PaperClaim:
    return PaperClaim(
        name, statement, paper, finding, verdict, data, CRITERIA[name].words, topic="signal"
    )


def rank_collapse(tables: Tables) -> PaperClaim:
    """Check that tokens collapse below freezing as fast as the limit says, and faster than above it."""
    table = tables["measured"]
    below, above = (table.where("beta", beta).records() for beta in (BELOW, ABOVE))
    place = _furthest_apart(below, above)
    row, cosine = below[place], estimate_in(below[place], "cosine_simulated")
    rate, other = _rate(below, "cosine_simulated"), _rate(above, "cosine_simulated")
    limit, exact, slower = (
        _rate(rows, column).value
        for rows, column in ((below, "cosine_limit"), (below, "cosine"), (above, "cosine_limit"))
    )
    when = CRITERIA["rank-collapse"]
    slack, tilt = when["slack"], when["share"] * abs(limit - slower)
    return _claim(
        "rank-collapse",
        f"Low-variance regime, β = {BELOW:g} below β_c: attention averages, and the tokens of "
        "post-norm blocks collapse onto one direction (its Fig. 1)",
        f"cosine {row['cosine_limit']:.3f} after {row['layer']:.0f} blocks, and log(1 − cosine) falls by "
        f"{-limit:.3f} per block in the second half, in the limit of many tokens",
        f"{cosine} and {rate.scaled(-1)} (at β = {ABOVE:g} {other.scaled(-1)}); finite-size theory "
        f"{row['cosine']:.3f} and {-exact:.3f}",
        graded(
            is_near(cosine, row["cosine_limit"], slack) and is_near(rate, limit, tilt),
            is_near(cosine, row["cosine"], slack) and is_near(rate, exact, tilt),
        ),
        "signal/depth.json, Figure signal-depth",
    )


def signal_preserved(tables: Tables) -> PaperClaim:
    """Check that strong scores delay the collapse."""
    table = tables["measured"]
    above, below = (table.where("beta", beta).records() for beta in (ABOVE, BELOW))
    middle = len(above) // 2
    rows = above[middle:]
    gap = max(abs(row["cosine"] - row["cosine_simulated"]) for row in rows)
    high, low = (estimate_in(rows[middle], "cosine_simulated") for rows in (above, below))
    apart = low.value - high.value > SIGMAS * math.hypot(low.stderr, high.stderr)
    slack = CRITERIA["signal-preserved"]["slack"]
    expected = above[middle]["cosine_limit"]
    return _claim(
        "signal-preserved",
        f"High-variance regime, β = {ABOVE:g} above β_c: tokens stay apart for longer (its Fig. 1)",
        f"cosine {expected:.3f} after {above[middle]['layer']:.0f} blocks, in the limit",
        f"{high} (below freezing {low}); finite-size theory {above[middle]['cosine']:.3f}, at most "
        f"{gap:.3f} off in the second half",
        graded(
            apart and is_near(high, expected, slack),
            apart and is_near(high, above[middle]["cosine"], slack),
        ),
        "signal/depth.json, Figure signal-depth",
    )


def entropy_collapse(tables: Tables) -> PaperClaim:
    """Check participation and entropy of attention on both sides of freezing."""
    words, whole, part = [], [], []
    slack = CRITERIA["entropy-collapse"]["slack"]
    for row in tables["attention"].records():
        values = []
        for symbol, name in (("Y", "participation"), ("H / log T", "entropy")):
            value = estimate_in(row, name)
            limit, theory = row[f"{name}_limit"], row[f"{name}_theory"]
            whole.append(is_near(value, limit, slack))
            part.append(is_near(value, theory, slack))
            values.append(f"{symbol} = {value} (limit {limit:.3f}, finite size {theory:.3f})")
        words.append(f"β = {row['beta']:g}: {', '.join(values)}")
    return _claim(
        "entropy-collapse",
        "Attention is a Random Energy Model: above β_c it condenses on few keys, Y = 1 − β_c/β, and its "
        "entropy is lost",
        "Y = max(0, 1 − β_c/β)",
        "; ".join(words),
        graded(all(whole), all(part)),
        "signal/depth.json",
    )


def critical_skip(tables: Tables) -> PaperClaim:
    """Check that the critical skip leads to the target cosine."""
    table = tables["measured"]
    critical, target = table.settings["critical"], table.settings["target"]
    row = min(table.records(), key=lambda row: abs(row["skip"] - critical))
    cosine, when = estimate_in(row, "cosine"), CRITERIA["critical-skip"]
    return _claim(
        "critical-skip",
        f"Low-variance regime: the critical skip for {table.settings['layers']:.0f} post-norm blocks of "
        f"attention to keep the cosine below {target:g}",
        f"cosine {target:g} at α = {critical:.3f}",
        f"{cosine} there",
        graded(*(is_near(cosine, target, when[limit]) for limit in ("slack", "wide"))),
        "signal/skip.json, Figure signal-skip",
    )


def layer_norm(tables: Tables) -> PaperClaim:
    """Check how each place of the LayerNorm collapses, and that centred attention does not."""
    table = tables["measured"]
    cases = [table.where("placement", float(number)).records() for number in range(len(PLACEMENTS))]
    post, pre = (straightness(rows) for rows in cases[:2])
    shapes = post[0] < post[1] and pre[1] < pre[0]
    early = _furthest_apart(cases[0], cases[1])
    words, expected, whole, part = [], [], [], []
    slack = CRITERIA["layer-norm"]["slack"]
    for name, (_, centred), rows in zip(_NAMES, PLACEMENTS, cases, strict=True):
        row = rows[-1 if centred else early]
        cosine = estimate_in(row, "cosine_simulated")
        whole.append(is_near(cosine, row["cosine_limit"], slack))
        part.append(is_near(cosine, row["cosine"], slack))
        words.append(
            f"{name} {cosine.value:.3f} ± {cosine.stderr:.3f} (finite size {row['cosine']:.3f})"
        )
        expected.append(f"{name} {row['cosine_limit']:.3f}")
    return _claim(
        "layer-norm",
        "Post-norm collapses exponentially, pre-norm by a power law, and gain-controlled (centred) "
        "attention prevents collapse",
        "log(1 − cosine) straight in depth for post-norm, in its logarithm for pre-norm; cosine after "
        f"{early} blocks, centred {len(cases[0]) - 1}, in the limit: {', '.join(expected)}",
        f"{', '.join(words)}; rms distance from a line in depth and in log depth: post-norm {post[0]:.2f} "
        f"and {post[1]:.2f}, pre-norm {pre[0]:.2f} and {pre[1]:.2f}",
        graded(shapes and all(whole), shapes and all(part)),
        "signal/placement.json, Figure signal-placement",
    )


def straightness(rows: list[dict[str, float]]) -> tuple[float, float]:
    """Return the rms distances of log(1 - cosine) from a line in depth, and in its logarithm.

    Of the blocks after which tokens are nearer to one direction than not, and rounding does not show;
    infinite where these are too few for a line to be missed.
    """
    blocks = [(row["layer"], 1 - row["cosine_simulated"]) for row in rows]
    blocks = [(layer, gap) for layer, gap in blocks if layer and _COLLAPSED < gap < 0.5]
    if len(blocks) < 3:
        return math.inf, math.inf
    depth, height = np.array(blocks)[:, 0], np.log([gap for _, gap in blocks])
    in_depth, in_log = (
        float(np.std(height - np.polyval(np.polyfit(across, height, 1), across)))
        for across in (depth, np.log(depth))
    )
    return in_depth, in_log


def query_gradients(tables: Tables) -> PaperClaim:
    """Check that query weights see no gradient below freezing, and the predicted one above."""
    table = tables["measured"]
    critical = table.settings["critical"]
    dim, tokens = table["dim"].max(), table["tokens"].max()
    rows = part_of(table, dim=dim, tokens=tokens).records()
    low = min(rows, key=lambda row: abs(row["beta"] - critical / 2))
    high = rows[-1]
    weak, strong = (estimate_in(row, "query_simulated") for row in (low, high))
    when = CRITERIA["query-gradients"]
    words = [
        f"{value} at β = {row['beta']:.2f} (finite size {row['query']:.3f})"
        for value, row in ((weak, low), (strong, high))
    ]
    off = [abs(row["query"] / row["query_simulated"] - 1) for row in rows[len(rows) // 2 :]]
    return _claim(
        "query-gradients",
        "Gradients of the query weights vanish below β_c and grow above it",
        f"0 below, {high['query_limit']:.3f} at β = {high['beta']:g} (T |∂W_Q|² / d² √log T)",
        f"d = {dim:g}, T = {tokens:g}: {', '.join(words)}; finite-size theory at most "
        f"{100 * max(off):.0f}% off in the upper half",
        graded(
            is_near(weak, 0.0, when["none"])
            and is_near(strong, high["query_limit"], when["slack"]),
            weak.value < when["less"] * strong.value,
        ),
        "signal/gradients.json, Figure signal-gradients",
    )


def diagram(tables: Tables) -> PaperClaim:
    """Check predicted classes on networks run at points of the diagram."""
    rows = tables["measured"].records()
    agreeing = sum(row["predicted"] == row["outcome"] for row in rows)
    errors = [row["cosine_predicted"] - row["cosine"] for row in rows]
    return _claim(
        "trainability",
        "Trainability diagrams identify which initialisations fail, and how",
        "classes as predicted",
        f"networks have the predicted class at {agreeing} of {len(rows)} points; rms error of the last "
        f"cosine {math.sqrt(float(np.mean(np.square(errors)))):.3f}",
        graded(agreeing == len(rows), agreeing >= CRITERIA["trainability"]["share"] * len(rows)),
        "signal/trainability.json, Figure signal-trainability",
    )


def training_outcomes(tables: Tables) -> PaperClaim:
    """Check that models train where the diagram says so."""
    by_class: dict[Outcome, list[dict[str, float]]] = {}
    learned: dict[Outcome, list[float]] = {}
    for row in tables["measured"].records():
        name = OUTCOMES[int(row["predicted"])]
        by_class.setdefault(name, []).append(row)
        learned.setdefault(name, []).append(1 - row["loss"] / row["guessing"])
    fit, lost = learned.get(Outcome.TRAINABLE, []), learned.get(Outcome.RANK_COLLAPSE, [])
    when = CRITERIA["training-outcomes"]
    apart = bool(fit and lost) and min(fit) > when["learned"] and max(lost) < when["lost"]
    slowest = max((row["halfway"] for row in by_class.get(Outcome.TRAINABLE, [])), default=math.nan)
    frozen = [row["halfway"] for row in by_class.get(Outcome.ENTROPY_COLLAPSE, [])]
    later = all(math.isnan(steps) or steps > slowest for steps in frozen)
    words = [
        f"{name} {', '.join(f'{100 * share:.0f}%' for share in shares)}"
        for name, shares in learned.items()
    ]
    return _claim(
        "training-outcomes",
        "Models train from initialisations in the trainable region, and not from collapsed ones",
        "as the class says",
        f"share of the guessing loss that training removed: {'; '.join(words)}. Half of it was gone after "
        f"{slowest:.0f} steps at the latest in trainable models, in frozen ones after "
        f"{', '.join('never' if math.isnan(steps) else f'{steps:.0f}' for steps in frozen) or 'none run'}",
        graded(apart and later, apart),
        "signal/training.json, Figure signal-training",
    )


_CLAIMS: tuple[tuple[str, Callable[[Tables], PaperClaim]], ...] = (
    ("signal-depth", rank_collapse),
    ("signal-depth", signal_preserved),
    ("signal-depth", entropy_collapse),
    ("signal-skip", critical_skip),
    ("signal-placement", layer_norm),
    ("signal-gradients", query_gradients),
    ("signal-trainability", diagram),
    ("signal-training", training_outcomes),
)


def signal_claims(tables: Mapping[str, Tables]) -> list[PaperClaim]:
    """Return the claims that the tables of these figures can check; ``tables`` by the figure's name."""
    return [check(tables[figure]) for figure, check in _CLAIMS if figure in tables]


def _furthest_apart(case: list[dict[str, float]], other: list[dict[str, float]]) -> int:
    """Return after how many blocks two cases differ most in the limit."""
    gaps = [abs(a["cosine_limit"] - b["cosine_limit"]) for a, b in zip(case, other, strict=True)]
    return int(np.argmax(gaps))


def _rate(rows: list[dict[str, float]], column: str) -> Estimate:
    """Return the slope of log(1 - cosine) over the second half of the blocks, from its two ends."""
    ends = rows[len(rows) // 2], rows[-1]
    start, end = (math.log(max(1 - row[column], _COLLAPSED)) for row in ends)
    error = math.hypot(*(row.get(f"{column}_stderr", 0.0) / (1 - row[column]) for row in ends))
    blocks = ends[1]["layer"] - ends[0]["layer"]
    return Estimate((end - start) / blocks, error / blocks)
