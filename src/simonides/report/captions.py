"""What each picture of the report says, in a few sentences."""

from __future__ import annotations

CAPTIONS = {
    "price": (
        "Each stored fact uses up parameters. How many is the mean squared distance of a Gaussian "
        "score vector from the set in which the target wins: its statistical dimension. It grows "
        "like 2 log K with the number of candidates, but lies well below that leading order at every "
        "size people use, which is why memories hold more than the asymptotic formula says."
    ),
    "load": (
        "The best memory's load tends to 1/2 only as fast as 1/log p: at every practical dimension it "
        "holds a quarter to two thirds more facts than the leading order says (table above). The Hebbian "
        "rule stores several times fewer, and how many depends on whether all facts are meant or "
        "most of them."
    ),
    "rank": (
        "A rank bound leaves the memory only its leading directions. The first ones are worth the "
        "most: at low rank a free parameter stores about twice as much as at full rank."
    ),
    "margin": (
        "Below capacity the best memory can keep every target above its rivals by a margin, here in "
        "units of a fresh output's score. It vanishes at capacity. The curve is that of independent "
        "features; small matrices keep less. Half full, a gap that is the same for all facts was measured "
        "a quarter to a third below it at dimension 12 to 28; one over the lengths of its own vectors, as "
        "certificates prove it, 8 to 15% below at dimension 25 and 3 to 10% at 50. At nine tenths of "
        "capacity no difference could be told."
    ),
    "tail": (
        "If the target need only exceed the mean of its strongest rivals, the price no longer grows "
        "with the number of candidates. Averaging a single rival is the usual criterion (stars)."
    ),
    "scores": (
        "The best memory lifts every target just above the level its rivals reach, and leaves the "
        "rivals alone; the Hebbian rule lets the targets fluctuate as much as the rivals do. The "
        "extreme value √(2 log p) is where the lifted level tends, slowly, as facts grow."
    ),
    "spectrum": (
        "At capacity the singular values follow a quarter circle cut off from below: a memory under "
        "a rank bound spreads its strength evenly, unlike the two random layers it was trained from."
    ),
    "overlap": (
        "Two random solutions grow alike as facts are added, and the volume of solutions shrinks; "
        "both end at capacity. Dots are the finite-size saddle point, dotted lines the closed form "
        "q = 2α, Φ = ½ log(1 − 2α) of the limit."
    ),
    "hebbian": (
        "The same rule, two criteria. In the limit the fraction of facts recalled falls below one at a "
        "load of 1/2 and the chance that all are recalled drops at 1/8; at finite size the first "
        "happens much earlier, and slowly. Crosstalk with the "
        "rivals' own facts, which the leading order leaves out, is included."
    ),
    "trained": (
        "Beyond capacity a memory trained to the minimum of its cross-entropy recalls fewer and "
        "fewer facts. Below, the loss falls to zero and the weights grow without end."
    ),
    "attention": (
        "A row of attention weights is a Random Energy Model: as scores grow stronger it condenses on "
        "few keys. The sharp transition of infinitely many tokens (dotted) is a wide crossover at every "
        "number of tokens in use, which is why all predictions here are made at finite size."
    ),
    "depth": (
        "Cosine of two tokens through post-norm blocks, below and above the critical beta: lines are "
        "theory, dots random networks. Weak scores let attention average, and tokens collapse onto one "
        "direction within tens of layers; strong ones delay it, at the price of frozen attention."
    ),
    "placement": (
        "The same blocks with LayerNorm after or before each sum, and with attention weights less 1/T "
        "(centred). Pre-norm turns exponential collapse into a power law; centring removes the common "
        "direction that collapse feeds on."
    ),
    "gradients": (
        "Squared gradient of the query weights of one layer on independent tokens. Far below the critical "
        "beta it would vanish for infinitely many tokens and dimensions; at finite size it stays above "
        "zero, because preferred keys lean towards their query."
    ),
    "trainability": (
        "What becomes of 24 post-norm blocks for each strength of scores and skip, with lines of equal "
        "cosine after the last block. Entropy collapse is a warning more than a verdict: a strong skip "
        "can hide it, and the theory is least exact where attention is frozen and the skip weak."
    ),
}
