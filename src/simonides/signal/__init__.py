"""Signal propagation: how to initialise a transformer so that it trains."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simonides.signal.attention.attention import AttentionStatistics, attention_statistics
    from simonides.signal.critical import (
        beta_of_std,
        chaotic_residual,
        critical_beta,
        critical_residual,
        std_of_beta,
    )
    from simonides.signal.diagram import Axis, Diagram, trainability_diagram
    from simonides.signal.maps.architecture import Architecture
    from simonides.signal.models.config import read_config
    from simonides.signal.models.measurement import measure
    from simonides.signal.networks.simulation import Simulation, simulate
    from simonides.signal.notes import PoorTheoryWarning
    from simonides.signal.outcome import Outcome, Thresholds
    from simonides.signal.propagation import Propagation, propagate
    from simonides.signal.recommendation import Recommendation, recommend

_HOMES = {
    "Architecture": "maps.architecture",
    "AttentionStatistics": "attention.attention",
    "Axis": "diagram",
    "Diagram": "diagram",
    "Outcome": "outcome",
    "PoorTheoryWarning": "notes",
    "Propagation": "propagation",
    "Recommendation": "recommendation",
    "Simulation": "networks.simulation",
    "Thresholds": "outcome",
    "attention_statistics": "attention.attention",
    "beta_of_std": "critical",
    "chaotic_residual": "critical",
    "critical_beta": "critical",
    "critical_residual": "critical",
    "measure": "models.measurement",
    "propagate": "propagation",
    "read_config": "models.config",
    "recommend": "recommendation",
    "simulate": "networks.simulation",
    "std_of_beta": "critical",
    "trainability_diagram": "diagram",
}

__all__ = [
    "Architecture",
    "AttentionStatistics",
    "Axis",
    "Diagram",
    "Outcome",
    "PoorTheoryWarning",
    "Propagation",
    "Recommendation",
    "Simulation",
    "Thresholds",
    "attention_statistics",
    "beta_of_std",
    "chaotic_residual",
    "critical_beta",
    "critical_residual",
    "measure",
    "propagate",
    "read_config",
    "recommend",
    "simulate",
    "std_of_beta",
    "trainability_diagram",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
