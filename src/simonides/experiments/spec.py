"""What a sweep is asked for: a frozen spec, read from TOML."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from simonides import arguments, reading
from simonides.experiments.task import THRESHOLD
from simonides.failures import BadArgumentError
from simonides.problems.calls import Option
from simonides.problems.ensembles import PROBLEMS, ensemble
from simonides.solvers.methods import METHODS, named

AMOUNTS = ("loads", "relative_loads", "facts")
"""The three ways to say how many facts; a spec uses one."""

_MOST_DIM, _MOST_FACTS, _MOST_INSTANCES = 10**5, 10**8, 10**6
"""Beyond what any machine measures, and below where a mistyped number of tasks fills the memory."""

_MOST_COMBINATIONS = 10**6
"""Of all that a spec lists, beside instances: more than anyone reads, and a table that any memory holds."""

_MOST_SEED = 2**63 - 1
"""The largest integer that a column of the results holds."""


@dataclass(frozen=True)
class Choice:
    """A solver and its options, in the order of their names."""

    name: str
    options: tuple[tuple[str, Option], ...] = ()


@dataclass(frozen=True)
class Spec:
    """All combinations that a sweep measures.

    How many facts is said once: as ``loads``, p log K / d^2 with K candidates, p of them where all compete;
    as ``relative_loads``, in units of the predicted capacity at that dimension and rank; or as ``facts``.
    """

    problems: tuple[str, ...]
    dims: tuple[int, ...]
    solvers: tuple[Choice, ...]
    instances: int
    seed: int
    loads: tuple[float, ...] = ()
    relative_loads: tuple[float, ...] = ()
    facts: tuple[int, ...] = ()
    rank_fractions: tuple[float, ...] = (1.0,)
    ensembles: tuple[str, ...] = ("gaussian",)
    candidates: tuple[int | None, ...] = (None,)

    @classmethod
    def of(cls, keys: Mapping[str, Any]) -> Spec:
        """Return the spec that these keys describe, or refuse the first that is wrong, by its name."""
        for key, value in keys.items():
            if key not in KEYS:
                raise BadArgumentError(
                    f"{key} = {value!r} must be left out: the keys of a spec are {', '.join(KEYS)}"
                )
        for key, rule in KEYS.items():
            if rule.required and key not in keys:
                raise BadArgumentError(f"{key} must be given: {rule.allowed}")
        values = {
            rule.field or key: rule.read(key, keys[key])
            for key, rule in KEYS.items()
            if key in keys
        }
        return _consistent(cls(**values))

    def mapping(self) -> dict[str, Any]:
        """Return the keys that describe this spec.

        >>> keys = {"problem": ["original"], "dims": [5], "facts": [9], "solvers": ["hebbian"],
        ...         "instances": 1, "seed": 0}
        >>> Spec.of(Spec.of(keys).mapping()) == Spec.of(keys)
        True
        """
        defaults = {field.name: field.default for field in fields(self)}
        keys = {}
        for key, rule in KEYS.items():
            value = getattr(self, rule.field or key)
            if value != defaults[rule.field or key]:
                keys[key] = list(value) if isinstance(value, tuple) else value
        keys["solvers"] = [{"name": solver.name, **dict(solver.options)} for solver in self.solvers]
        return keys


def read_spec(path: str | Path) -> Spec:
    """Return the spec in a TOML file."""
    with reading.expecting("spec", path, "a TOML file", "see docs/experiments.md"):
        keys = reading.read_toml(path)
    try:
        return Spec.of(keys)
    except BadArgumentError as error:
        raise BadArgumentError(f"{path}: {error}") from None


@dataclass(frozen=True)
class Key:
    """A key of a spec: what it may be, how each of its values is read, and the field it is kept in.

    ``lone`` is the type of a value that may stand without a list; ``single`` keys have no list.
    """

    allowed: str
    check: Callable[[str, object], Any]
    field: str | None = None
    lone: type | None = None
    single: bool = False
    required: bool = False

    def read(self, key: str, value: object) -> Any:
        """Return what the spec keeps, or refuse the value or the first item that is wrong."""
        if self.single:
            return self.check(key, value)
        if self.lone is not None and isinstance(value, self.lone):
            value = [value]
        if not isinstance(value, (list, tuple)) or not (value or key in AMOUNTS):
            raise arguments.refuse(key, value, "a list of at least one", f"pass {self.allowed}")
        items = tuple(self.check(f"{key}[{place}]", item) for place, item in enumerate(value))
        seen = set()
        for place, item in enumerate(items):
            if item in seen:
                raise arguments.refuse(
                    f"{key}[{place}]", value[place], "new", "drop the repetition"
                )
            seen.add(item)
        return items


def _problem(key: str, value: object) -> str:
    arguments.one_of(key, value, PROBLEMS)
    return str(value)


def _ensemble(key: str, value: object) -> str:
    if not isinstance(value, str):
        raise arguments.refuse(key, value, "the text of an ensemble", "such as 'unit'")
    try:
        return str(ensemble(value))
    except BadArgumentError as error:
        raise BadArgumentError(f"{key}: {error}") from None


def _whole(most: int, remedy: str, least: int = 1) -> Callable[[str, object], int]:
    return partial(arguments.whole, least=least, most=most, remedy=remedy)


def _share(most: float, remedy: str) -> Callable[[str, object], float]:
    return partial(arguments.real, least=0, open_least=True, most=most, remedy=remedy)


def _solver(key: str, value: object) -> Choice:
    table = {"name": value} if isinstance(value, str) else value
    if not isinstance(table, dict) or "name" not in table:
        raise arguments.refuse(key, value, "a name or a table with one", KEYS["solvers"].allowed)
    options = {option: table[option] for option in table if option != "name"}
    if table["name"] == THRESHOLD:
        for option, setting in options.items():
            raise arguments.refuse(
                f"{key}.{option}", setting, "left out", "a threshold has no options"
            )
        return Choice(THRESHOLD)
    method = named(table["name"], f"{key}.name")
    return Choice(method.name, tuple(method.checked(key, options).items()))


_LOADS = "a list of numbers above 0"

KEYS: Mapping[str, Key] = {
    "problem": Key(
        f"one or several of {', '.join(map(repr, PROBLEMS))}",
        _problem,
        "problems",
        str,
        required=True,
    ),
    "ensemble": Key("an ensemble such as 'unit', or a list of them", _ensemble, "ensembles", str),
    "candidates": Key(
        "a number of outputs, or a list of them; left out, all facts compete",
        _whole(_MOST_FACTS, "a fact competes with at least one rival", least=2),
        lone=int,
    ),
    "dims": Key(
        "a list of dimensions", _whole(_MOST_DIM, "pass the embedding dimension"), required=True
    ),
    # A thousand times what fits is a mistyped load.
    "loads": Key(_LOADS, _share(1e3, "pass facts over what fits")),
    "relative_loads": Key(_LOADS, _share(1e3, "pass facts over what fits")),
    "facts": Key("a list of whole numbers", _whole(_MOST_FACTS, "pass a number of facts")),
    "rank_fractions": Key(
        "a list of numbers above 0 and at most 1, where 1 is no bound",
        _share(1, "pass rank over dimension; 1 is no bound"),
    ),
    "solvers": Key(
        "a list of names, or of tables with a name and options; "
        f"the names are {', '.join(METHODS)}, {THRESHOLD}, or yours as module:function",
        _solver,
        required=True,
    ),
    "instances": Key(
        "pass how many problems to draw",
        _whole(_MOST_INSTANCES, "pass how many problems to draw"),
        single=True,
        required=True,
    ),
    "seed": Key(
        "pass the integer to reproduce the sweep by",
        _whole(_MOST_SEED, "pass the integer to reproduce the sweep by", least=0),
        single=True,
        required=True,
    ),
}
"""The keys of a spec."""


def _consistent(spec: Spec) -> Spec:
    """Return the spec if its keys go together."""
    lists = [
        value for field in fields(spec) if isinstance(value := getattr(spec, field.name), tuple)
    ]
    combinations = math.prod(len(values) or 1 for values in lists)
    if combinations > _MOST_COMBINATIONS:
        raise BadArgumentError(
            f"the lists of a spec must have at most {_MOST_COMBINATIONS:,} combinations, "
            f"not {combinations:,}: split it into several"
        )
    for law, problem, candidates in product(spec.ensembles, spec.problems, spec.candidates):
        ensemble(law).check(problem, candidates)
    amounts = [key for key in AMOUNTS if getattr(spec, key)]
    needed = any(solver.name != THRESHOLD for solver in spec.solvers)
    if len(amounts) > 1 or (needed and not amounts):
        raise BadArgumentError(
            f"{' and '.join(amounts) or 'the number of facts'} must be said once: "
            f"pass one of {', '.join(AMOUNTS)}"
        )
    if amounts and not needed:
        raise BadArgumentError(
            f"{amounts[0]} = {list(getattr(spec, amounts[0]))} must be left out: "
            "a threshold chooses its own numbers of facts"
        )
    if any(fraction < 1 for fraction in spec.rank_fractions):
        for place, solver in enumerate(spec.solvers):
            if solver.name != THRESHOLD and not named(solver.name).bounds_rank:
                able = ", ".join(name for name, method in METHODS.items() if method.bounds_rank)
                raise BadArgumentError(
                    f"rank_fractions = {list(spec.rank_fractions)} must be [1.0] for solvers[{place}] = "
                    f"{solver.name!r}: those with a rank bound are {able}, {THRESHOLD}"
                )
    return spec
