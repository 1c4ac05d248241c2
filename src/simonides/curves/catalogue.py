"""The theory curves of both papers by name, each with the question it answers."""

from __future__ import annotations

from simonides import arguments
from simonides.curves import mechanism, storage
from simonides.curves.table import Curve
from simonides.signal.paper import curves as signal

STORAGE = (
    Curve(
        "price",
        "What does one fact cost?",
        "Each stored fact uses up parameters. How many is the mean squared distance of a Gaussian "
        "score vector from the set in which the target wins: its statistical dimension. It grows "
        "like 2 log K with the number of candidates, but lies well below that leading order at every "
        "size people use, which is why memories hold more than the asymptotic formula says.",
        storage.price,
        100,
    ),
    Curve(
        "load",
        "How does capacity grow with the dimension?",
        "The best memory's load tends to 1/2 only as fast as 1/log p: at every practical dimension it "
        "holds a quarter to two thirds more facts than the leading order says (table above). The Hebbian "
        "rule stores several times fewer, and how many depends on whether all facts are meant or "
        "most of them.",
        storage.load,
        100,
    ),
    Curve(
        "rank",
        "What does a rank bound cost?",
        "A rank bound leaves the memory only its leading directions. The first ones are worth the "
        "most: at low rank a free parameter stores about twice as much as at full rank.",
        storage.rank,
        100,
        10**6,
    ),
    Curve(
        "margin",
        "How much margin is left below capacity?",
        "Below capacity the best memory can keep every target above its rivals by a margin, here in "
        "units of a fresh output's score. It vanishes at capacity. The curve is that of independent "
        "features; small matrices keep less. Half full, a gap that is the same for all facts was measured "
        "a quarter to a third below it at dimension 12 to 28; one over the lengths of its own vectors, as "
        "certificates prove it, 8 to 15% below at dimension 25 and 3 to 10% at 50. At nine tenths of "
        "capacity no difference could be told.",
        storage.margin,
        100,
        10**6,
    ),
    Curve(
        "tail",
        "What if the target need only beat its top rivals' mean?",
        "If the target need only exceed the mean of its strongest rivals, the price no longer grows "
        "with the number of candidates. Averaging a single rival is the usual criterion (stars).",
        storage.tail,
        100,
    ),
    Curve(
        "scores",
        "How does the best memory score?",
        "The best memory lifts every target just above the level its rivals reach, and leaves the "
        "rivals alone; the Hebbian rule lets the targets fluctuate as much as the rivals do. The "
        "extreme value √(2 log p) is where the lifted level tends, slowly, as facts grow.",
        mechanism.scores,
        100,
        10**6,
    ),
    Curve(
        "spectrum",
        "What do the weights look like at capacity?",
        "At capacity the singular values follow a quarter circle cut off from below: a memory under "
        "a rank bound spreads its strength evenly, unlike the two random layers it was trained from.",
        mechanism.spectrum,
        100,
    ),
    Curve(
        "overlap",
        "How much freedom is left below capacity?",
        "Two random solutions grow alike as facts are added, and the volume of solutions shrinks; "
        "both end at capacity. Dots are the finite-size saddle point, dotted lines the closed form "
        "q = 2α, Φ = ½ log(1 − 2α) of the limit.",
        mechanism.overlap,
        25,
        60,
    ),
    Curve(
        "hebbian",
        "How far does the Hebbian rule get?",
        "The same rule, two criteria. In the limit the fraction of facts recalled falls below one at a "
        "load of 1/2 and the chance that all are recalled drops at 1/8; at finite size the first "
        "happens much earlier, and slowly. Crosstalk with the "
        "rivals' own facts, which the leading order leaves out, is included.",
        mechanism.hebbian,
        100,
        10**6,
    ),
    Curve(
        "trained",
        "What does training reach beyond capacity?",
        "Beyond capacity a memory trained to the minimum of its cross-entropy recalls fewer and "
        "fewer facts. Below, the loss falls to zero and the weights grow without end.",
        mechanism.trained,
        25,
        60,
    ),
)

CURVES = {curve.name: curve for curve in (*STORAGE, *signal.CURVES)}


def curve(name: str) -> Curve:
    """Return the curve of that name, or say which there are."""
    if name not in CURVES:
        raise arguments.refuse("name", name, f"one of {', '.join(CURVES)}", "pick a curve")
    return CURVES[name]
