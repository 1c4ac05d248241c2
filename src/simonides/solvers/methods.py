"""The one registry of methods: what each is called, takes, promises and returns.

The estimator, sweeps, ``train`` and ``decide`` read it. A method of your own is named ``module:function``:
a function of a problem that returns weights, or a :class:`~simonides.solvers.solution.Solution`. Of the
options below it is passed those that its signature names, or all if it takes any. Other options of a
method may be written behind its name, as in ``gradient(learning_rate=0.1)`` or ``mymodule:rule(rate=0.5)``.

========== =====================================================
``rank``    the inner dimension of two factors, or None
``seed``    an integer for what is drawn
``start``   weights to start from, or None
``threads`` how many to use, or None
``watch``   to be called with the :class:`~simonides.solvers.solution.Progress` of each step, or None
========== =====================================================

Examples
--------
>>> from simonides import methods
>>> [name for name, method in methods.METHODS.items() if method.bounds_rank]
['cross_entropy', 'gradient', 'low_rank', 'feasibility']
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, get_args

from simonides import arguments
from simonides.problems import checked
from simonides.problems.calls import Option, called
from simonides.solvers.deciding.decide import Decision, decide
from simonides.solvers.factors import truncated
from simonides.solvers.hinge.low_rank import low_rank
from simonides.solvers.rules.hebbian import hebbian
from simonides.solvers.rules.pseudo_inverse import pseudo_inverse
from simonides.solvers.solution import Solution, Status, Verdict
from simonides.solvers.training.cross_entropy import cross_entropy
from simonides.solvers.training.gradient import gradient
from simonides.solvers.training.mean_loss import loss_named
from simonides.solvers.training.softmax import Precision

if TYPE_CHECKING:
    from simonides.problems.problem import Problem

Check: TypeAlias = Callable[[str, object], Option]
"""Returns an option as the method takes it, or refuses it by its name."""

_GAP = 1e-2
"""Relative gap at which a margin counts as the largest: one percent."""

_KIND = "of a problem, with options that have defaults"
"""What a user's own method is a function of."""

_CALLER_S = ("rank", "seed", "start", "threads", "watch", "time_limit", "max_steps", "tolerance")
"""Options that come from whoever runs a method; a method is passed those that it takes."""


@dataclass(frozen=True)
class Method:
    """A way of storing facts.

    ``options`` are those a user may set, each with its check. ``bounds_rank``: it searches among weights
    of a given rank. ``strict``: it looks for weights that store every fact. ``proves``: a verdict comes
    with its solution. ``trains``: its loss is the mean cross-entropy. ``streams``: it needs one pass over
    the facts, which may stay in their file. ``whitens``: it chooses coordinates itself.
    """

    name: str
    function: Callable[..., Any]
    options: Mapping[str, Check] = field(default_factory=dict)
    bounds_rank: bool = False
    strict: bool = False
    proves: bool = False
    trains: bool = False
    streams: bool = False
    whitens: bool = False

    @property
    def takes(self) -> frozenset[str]:
        """Names of the options that the function takes, whoever sets them."""
        return frozenset(
            [*_named_parameters(self.function), *(_CALLER_S if self.takes_any else ())]
        )

    @property
    def takes_any(self) -> bool:
        """Whether the function takes options of any name."""
        parameters = inspect.signature(self.function).parameters.values()
        return any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)

    def solve(self, problem: Problem, **options: Any) -> Solution:
        """Store facts; options of the caller's that the method does not take are left out."""
        takes = self.takes if self.bounds_rank else self.takes - {"rank"}
        passed = {
            name: value for name, value in options.items() if name in takes or name not in _CALLER_S
        }
        answer = (
            arguments.own_answer("method", self.name, _KIND, self.function, problem, **passed)
            if ":" in self.name
            else self.function(problem, **passed)
        )
        if isinstance(answer, Decision):
            answer = answer.solution
        solution = answer if isinstance(answer, Solution) else _of_weights(problem, answer)
        return bounded(solution, problem, options.get("rank"))

    def checked(self, key: str, options: Mapping[str, Any]) -> dict[str, Option]:
        """Return options that a user set as the method takes them, or refuse the first that is wrong."""
        for option, value in options.items():
            if option not in self.options and not self.takes_any:
                names = ", ".join(self.options) or "none"
                raise arguments.refuse(
                    f"{key}.{option}", value, "left out", f"the options of {self.name} are {names}"
                )
        return {
            option: self.options.get(option, _as_given)(f"{key}.{option}", options[option])
            for option in sorted(options)
        }


def bounded(solution: Solution, problem: Problem, rank: int | None) -> Solution:
    """Return the solution, cut to the rank if its method knows of none.

    What was proved against any weights stands; what was known of the uncut ones does not.
    """
    refuted = solution.verdict is Verdict.NOT_STORABLE
    if rank is None or solution.factors is not None or refuted:
        return solution
    factors = truncated(solution.weights, rank)
    cut = _of_weights(problem, factors[0] @ factors[1].T)
    return replace(
        solution,
        weights=cut.weights,
        factors=factors,
        status=cut.status,
        recalled=cut.recalled,
        smallest_gap=cut.smallest_gap,
        margin_lower=-math.inf,
        loss=None,
        verdict=None,
        certificate=None,
    )


def _of_weights(problem: Problem, weights: object) -> Solution:
    if weights is None:
        raise arguments.refuse("weights", None, "returned by the method", "return an array")
    weights = checked.weights("weights", weights, problem)
    return Solution.of_weights(problem, weights, Status.STOPPED)


def _whole(least: int, remedy: str) -> Check:
    return lambda name, value: arguments.whole(name, value, least=least, remedy=remedy)


def _real(remedy: str, *, positive: bool = True, most: float = math.inf) -> Check:
    return lambda name, value: arguments.real(
        name, value, least=0, open_least=positive, most=most, remedy=remedy
    )


def _loss(_name: str, value: object) -> str:
    loss_named(value)
    return str(value)


def _precision(name: str, value: object) -> str:
    arguments.one_of(name, value, get_args(Precision))
    return str(value)


_STEPS = _whole(0, "pass a step limit")
_TOLERANCE = _real("pass a small number such as 1e-7")

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("hebbian", hebbian, streams=True),
        Method(
            "pseudo_inverse",
            pseudo_inverse,
            {"ridge": _real("in units of the inputs' mean eigenvalue", positive=False)},
            streams=True,
        ),
        Method(
            "cross_entropy",
            cross_entropy,
            {
                "max_steps": _STEPS,
                "tolerance": _TOLERANCE,
                "until_stored": checked.truth,
                "least_gain": _real("pass a share of the loss", positive=False, most=1),
            },
            bounds_rank=True,
            trains=True,
            whitens=True,
        ),
        Method(
            "gradient",
            gradient,
            {
                "learning_rate": _real("pass the largest step"),
                "max_steps": _STEPS,
                "warm_up": _whole(0, "pass a number of steps"),
                "scale": _real("pass a standard deviation"),
                "dtype": _precision,
                "until_stored": checked.truth,
                "loss": _loss,
            },
            bounds_rank=True,
            trains=True,
        ),
        Method("low_rank", low_rank, {"max_steps": _STEPS}, bounds_rank=True, strict=True),
        Method(
            "feasibility",
            decide,
            {"tolerance": _TOLERANCE, "max_steps": _STEPS},
            bounds_rank=True,
            strict=True,
            proves=True,
        ),
        Method(
            "margin",
            partial(decide, margin_gap=_GAP),
            {
                "margin_gap": _real("pass a relative gap such as 1e-3", most=1),
                "tolerance": _TOLERANCE,
                "max_steps": _STEPS,
            },
            strict=True,
            proves=True,
        ),
    )
}
"""The methods by name."""


def named(name: object, argument: str = "method") -> Method:
    """Return the method of a name, or that which ``module:function`` names, with the options behind it.

    >>> named("hebbian").streams
    True
    >>> named("pseudo_inverse(ridge=0.1)").function.keywords
    {'ridge': 0.1}
    """
    call = called(argument, name) if isinstance(name, str) and "(" in name else None
    if call is not None:
        method = named(call[0], argument)
        options = method.checked(argument, call[1])
        return replace(method, name=str(name), function=partial(method.function, **options))
    if isinstance(name, str) and ":" in name:
        return _of_function(name, arguments.imported(argument, name))
    if not isinstance(name, str) or name not in METHODS:
        raise arguments.refuse(
            argument,
            name,
            f"one of {', '.join(METHODS)}, or yours as module:function",
            "choose one",
        )
    return METHODS[name]


def _of_function(name: str, function: Callable[..., Any]) -> Method:
    """Return a user's own method; its options beyond the caller's may be any value that TOML has."""
    method = Method(name, function)
    own = [option for option in _named_parameters(function)[1:] if option not in _CALLER_S[:5]]
    return replace(
        method, options=dict.fromkeys(own, _as_given), bounds_rank="rank" in method.takes
    )


def _named_parameters(function: Callable[..., Any]) -> list[str]:
    parameters = inspect.signature(function).parameters.values()
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [parameter.name for parameter in parameters if parameter.kind not in several]


def _as_given(name: str, value: object) -> Option:
    if not isinstance(value, bool | int | float | str):
        raise arguments.refuse(name, value, "a number, a string or a truth value", "pass one")
    return value
