"""How many facts fit in a matrix, and how to put them there."""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, which takes longer to import than all the rest here
if TYPE_CHECKING:
    from simonides.certificate import Certificate as Certificate
    from simonides.certificate import ChangeCertificate as ChangeCertificate
    from simonides.certificate import ChangeVerification as ChangeVerification
    from simonides.certificate import Claim as Claim
    from simonides.certificate import Verification as Verification
    from simonides.certificate import verify as verify
    from simonides.certificate import verify_change as verify_change
    from simonides.editing.edit import edit as edit
    from simonides.editing.folder import undo_edit as undo_edit
    from simonides.editing.folder import verify_edit as verify_edit
    from simonides.editing.outcome import Edit as Edit
    from simonides.estimate import Estimate as Estimate
    from simonides.failures import BadArgumentError as BadArgumentError
    from simonides.failures import ConvergenceError as ConvergenceError
    from simonides.memory.diagnosis import Diagnosis as Diagnosis
    from simonides.memory.estimator import AssociativeMemory as AssociativeMemory
    from simonides.memory.noise import NoisyRecall as NoisyRecall
    from simonides.memory.shortfall import NotAllStoredWarning as NotAllStoredWarning
    from simonides.planner.plan import Plan as Plan
    from simonides.planner.plan import plan as plan
    from simonides.planner.recommend import Recommendation as Recommendation
    from simonides.planner.recommend import recommend as recommend
    from simonides.planner.source import read_model as read_model
    from simonides.problems import ensembles as ensembles
    from simonides.problems.decoupled import DecoupledProblem as DecoupledProblem
    from simonides.problems.ensembles import ensemble as ensemble
    from simonides.problems.original import OriginalProblem as OriginalProblem
    from simonides.reproduction.run import reproduce as reproduce
    from simonides.solvers import methods as methods
    from simonides.solvers.change.least_change import least_change as least_change
    from simonides.solvers.deciding.decide import Decision as Decision
    from simonides.solvers.deciding.decide import decide as decide
    from simonides.solvers.deciding.threshold import Threshold as Threshold
    from simonides.solvers.deciding.threshold import threshold as threshold
    from simonides.solvers.hinge.low_rank import low_rank as low_rank
    from simonides.solvers.hinge.margin import maximum_margin as maximum_margin
    from simonides.solvers.rules.hebbian import hebbian as hebbian
    from simonides.solvers.rules.pseudo_inverse import pseudo_inverse as pseudo_inverse
    from simonides.solvers.solution import Progress as Progress
    from simonides.solvers.solution import Solution as Solution
    from simonides.solvers.solution import Status as Status
    from simonides.solvers.solution import Verdict as Verdict
    from simonides.solvers.training.cross_entropy import cross_entropy as cross_entropy
    from simonides.solvers.training.gradient import gradient as gradient
    from simonides.theory.capacity import Capacity as Capacity
    from simonides.theory.capacity import capacity as capacity
    from simonides.theory.cone import statistical_dimension as statistical_dimension
    from simonides.theory.outputs import capacity_for_outputs as capacity_for_outputs
    from simonides.theory.requirements import largest_margin as largest_margin
    from simonides.theory.requirements import smallest_dimension as smallest_dimension
    from simonides.theory.requirements import smallest_rank as smallest_rank
    from simonides.theory.setting import Setting as Setting
    from simonides.theory.spectrum import critical_load as critical_load
    from simonides.writing import StorageError as StorageError

__version__ = "0.1.0"

# Names are imported when they are first used, so that importing the package costs nothing.
_HOMES = {
    "certificate": "Certificate Claim Verification verify",
    "certificate.change": "ChangeCertificate ChangeVerification verify_change",
    "editing.edit": "edit",
    "editing.folder": "undo_edit verify_edit",
    "editing.outcome": "Edit",
    "estimate": "Estimate",
    "failures": "BadArgumentError ConvergenceError",
    "memory.diagnosis": "Diagnosis",
    "memory.estimator": "AssociativeMemory",
    "memory.noise": "NoisyRecall",
    "memory.shortfall": "NotAllStoredWarning",
    "planner.plan": "Plan plan",
    "planner.recommend": "Recommendation recommend",
    "planner.source": "read_model",
    "problems": "ensembles",
    "problems.decoupled": "DecoupledProblem",
    "problems.ensembles": "ensemble",
    "problems.original": "OriginalProblem",
    "reproduction.run": "reproduce",
    "solvers": "methods",
    "solvers.change.least_change": "least_change",
    "solvers.deciding.decide": "Decision decide",
    "solvers.deciding.threshold": "Threshold threshold",
    "solvers.hinge.low_rank": "low_rank",
    "solvers.hinge.margin": "maximum_margin",
    "solvers.rules.hebbian": "hebbian",
    "solvers.rules.pseudo_inverse": "pseudo_inverse",
    "solvers.solution": "Progress Solution Status Verdict",
    "solvers.training.cross_entropy": "cross_entropy",
    "solvers.training.gradient": "gradient",
    "theory.capacity": "Capacity capacity",
    "theory.cone": "statistical_dimension",
    "theory.outputs": "capacity_for_outputs",
    "theory.requirements": "largest_margin smallest_dimension smallest_rank",
    "theory.setting": "Setting",
    "theory.spectrum": "critical_load",
    "writing": "StorageError",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = import_module(f"{__name__}.{_HOME[name]}")
    if hasattr(home, name):
        return getattr(home, name)
    return import_module(f"{home.__name__}.{name}")  # a module itself: a registry


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
