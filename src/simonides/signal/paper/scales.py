"""What the paper's figures are measured on: its own settings, and sizes for each plan."""

from __future__ import annotations

from dataclasses import dataclass, replace

from simonides.signal.maps.architecture import Architecture

FIRST_FIGURE = Architecture(
    tokens=512,
    dim=720,
    layers=50,
    hidden=720,
    value_variance=0.2,
    value_bias_variance=4e-4,
    mlp_in_variance=0.2,
    mlp_out_variance=0.2,
    mlp_bias_variance=4e-4,
    cosine=0.026,
)
"""The setting of the paper's first figure: post-norm blocks below and above the critical beta."""

PLACEMENT = replace(
    FIRST_FIGURE, layers=100, beta=0.1, value_variance=1.0, value_bias_variance=0.0, cosine=0.2
)
"""The setting in which the paper compares placements of the LayerNorm, and centred attention."""


@dataclass(frozen=True)
class SignalScale:
    """Sizes of the networks of one plan, and how many are run."""

    depth: Architecture
    skip: Architecture
    placement: Architecture
    gradients: tuple[tuple[int, int], ...]
    betas: int
    diagram: Architecture
    points: tuple[tuple[float, ...], tuple[float, ...]]
    networks: int
    seed: int = 0

    def seeds(self, times: int = 1) -> range:
        """Return the networks' seeds, for ``times`` as many of them as usual."""
        return range(self.seed, self.seed + times * self.networks)


_SKIP = Architecture(tokens=128, dim=192, layers=12, activation=None, beta=0.3, cosine=0.1)
_DIAGRAM = Architecture(tokens=128, dim=192, layers=12, hidden=192, cosine=0.1)

QUICK_SCALE = SignalScale(
    depth=replace(FIRST_FIGURE, tokens=128, dim=192, hidden=192, layers=30),
    skip=_SKIP,
    placement=replace(PLACEMENT, tokens=128, dim=128, hidden=128),
    gradients=((96, 192), (192, 384)),
    betas=8,
    diagram=replace(_DIAGRAM, dim=128, hidden=128),
    points=((0.4, 1.0, 2.2, 3.6), (0.7, 2.2, 3.5)),
    networks=3,
)

FULL_SCALE = SignalScale(
    depth=FIRST_FIGURE,
    skip=replace(_SKIP, tokens=256, dim=512, layers=24),
    placement=PLACEMENT,
    gradients=((256, 2048), (512, 2048)),
    betas=15,
    diagram=replace(_DIAGRAM, layers=24),
    points=((0.3, 0.8, 1.3, 1.9, 2.4, 2.9, 3.5, 4.0), (0.5, 0.8, 1.2, 1.7, 2.3, 3.0, 4.0)),
    networks=3,
)
"""The paper's sizes, gradients aside."""


@dataclass(frozen=True)
class TrainingCourse:
    """Models to train: at which beta and skip, from how many seeds, and for how many steps."""

    model: Architecture
    points: tuple[tuple[float, float], ...]
    seeds: int
    steps: int

    def at(self, point: tuple[float, float]) -> Architecture:
        """Return the model of a point."""
        beta, skip = point
        return replace(self.model, beta=beta, attention_skip=skip, mlp_skip=skip)


QUICK_COURSE = TrainingCourse(
    Architecture(tokens=24, dim=32, layers=16, hidden=32, activation="gelu"),
    points=((0.5, 0.8), (0.5, 3.0), (4.0, 2.0)),
    seeds=2,
    steps=60,
)

FULL_COURSE = TrainingCourse(
    Architecture(tokens=32, dim=48, layers=24, hidden=96, activation="gelu"),
    points=(
        *((0.5, 0.8), (0.5, 1.3), (0.5, 3.0), (1.0, 2.5)),
        *((4.0, 1.0), (4.0, 2.0), (4.0, 3.5)),
    ),
    seeds=2,
    steps=100,
)
