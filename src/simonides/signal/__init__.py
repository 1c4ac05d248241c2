"""Signal propagation: how to initialise a transformer so that it trains."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simonides.signal.attention.softmax import AttentionStatistics as AttentionStatistics
    from simonides.signal.attention.softmax import attention_statistics as attention_statistics
    from simonides.signal.critical import beta_of_std as beta_of_std
    from simonides.signal.critical import chaotic_residual as chaotic_residual
    from simonides.signal.critical import critical_beta as critical_beta
    from simonides.signal.critical import critical_residual as critical_residual
    from simonides.signal.critical import std_of_beta as std_of_beta
    from simonides.signal.diagram import Axis as Axis
    from simonides.signal.diagram import Diagram as Diagram
    from simonides.signal.diagram import trainability_diagram as trainability_diagram
    from simonides.signal.maps.activations import Activation as Activation
    from simonides.signal.maps.architecture import Architecture as Architecture
    from simonides.signal.models.measurement import ModelMeasurement as ModelMeasurement
    from simonides.signal.models.measurement import measure as measure
    from simonides.signal.models.reading import read_config as read_config
    from simonides.signal.networks.simulation import Simulation as Simulation
    from simonides.signal.networks.simulation import simulate as simulate
    from simonides.signal.notes import PoorTheoryWarning as PoorTheoryWarning
    from simonides.signal.outcome import ClassThresholds as ClassThresholds
    from simonides.signal.outcome import Outcome as Outcome
    from simonides.signal.propagation import Propagation as Propagation
    from simonides.signal.propagation import propagate as propagate
    from simonides.signal.recommendation import Initialisation as Initialisation
    from simonides.signal.recommendation import recommend as recommend

_HOMES = {
    "attention.softmax": "AttentionStatistics attention_statistics",
    "critical": "beta_of_std chaotic_residual critical_beta critical_residual std_of_beta",
    "diagram": "Axis Diagram trainability_diagram",
    "maps.activations": "Activation",
    "maps.architecture": "Architecture",
    "models.measurement": "ModelMeasurement measure",
    "models.reading": "read_config",
    "networks.simulation": "Simulation simulate",
    "notes": "PoorTheoryWarning",
    "outcome": "Outcome ClassThresholds",
    "propagation": "Propagation propagate",
    "recommendation": "Initialisation recommend",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
