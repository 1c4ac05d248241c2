"""What a sweep is asked for: a frozen spec, read from TOML."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from simonides import arguments
from simonides.experiments.task import THRESHOLD
from simonides.failures import BadArgumentError
from simonides.problems.ensembles import PROBLEMS, ensemble
from simonides.solvers.methods import METHODS, named

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from simonides.solvers.methods import Option

Item = TypeVar("Item")

KEYS = (
    "problem", "ensemble", "candidates", "dims", "loads", "relative_loads", "facts", "rank_fractions",
    "solvers", "instances", "seed",
)  # fmt: skip
"""The keys of a spec."""

AMOUNTS = ("loads", "relative_loads", "facts")
"""The three ways to say how many facts; a spec uses one."""

_MOST_DIM, _MOST_FACTS, _MOST_INSTANCES = 10**5, 10**8, 10**6
"""Beyond what any machine measures, and below where a mistyped number of tasks fills the memory."""

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
        for key in ("problem", "dims", "solvers", "instances", "seed"):
            if key not in keys:
                raise BadArgumentError(f"{key} must be given: {_ALLOWED[key]}")
        spec = cls(
            problems=_several("problem", _listed(keys["problem"], str), _kind),
            dims=_several("dims", keys["dims"], _dim),
            solvers=_several("solvers", keys["solvers"], _choice),
            instances=arguments.whole(
                "instances", keys["instances"], most=_MOST_INSTANCES, remedy=_ALLOWED["instances"]
            ),
            seed=arguments.whole(
                "seed", keys["seed"], least=0, most=_MOST_SEED, remedy=_ALLOWED["seed"]
            ),
            loads=_several("loads", keys.get("loads", ()), _load, empty=True),
            relative_loads=_several(
                "relative_loads", keys.get("relative_loads", ()), _load, empty=True
            ),
            facts=_several("facts", keys.get("facts", ()), _facts, empty=True),
            rank_fractions=_several("rank_fractions", keys.get("rank_fractions", [1.0]), _fraction),
            ensembles=_several(
                "ensemble", _listed(keys.get("ensemble", "gaussian"), str), _ensemble
            ),
            candidates=_several("candidates", _listed(keys["candidates"], int), _candidates)
            if "candidates" in keys
            else (None,),
        )
        return _consistent(spec)

    def mapping(self) -> dict[str, Any]:
        """Return the keys that describe this spec.

        >>> keys = {"problem": ["original"], "dims": [5], "facts": [9], "solvers": ["hebbian"],
        ...         "instances": 1, "seed": 0}
        >>> Spec.of(Spec.of(keys).mapping()) == Spec.of(keys)
        True
        """
        keys: dict[str, Any] = {"problem": list(self.problems), "dims": list(self.dims)}
        if self.ensembles != ("gaussian",):
            keys["ensemble"] = list(self.ensembles)
        if self.candidates != (None,):
            keys["candidates"] = list(self.candidates)
        for key in AMOUNTS:
            if getattr(self, key):
                keys[key] = list(getattr(self, key))
        return {
            **keys,
            "rank_fractions": list(self.rank_fractions),
            "solvers": [{"name": solver.name, **dict(solver.options)} for solver in self.solvers],
            "instances": self.instances,
            "seed": self.seed,
        }


def read_spec(path: str | Path) -> Spec:
    """Return the spec in a TOML file."""
    try:
        keys = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise arguments.refuse("spec", str(path), "a TOML file", str(error)) from None
    try:
        return Spec.of(keys)
    except BadArgumentError as error:
        raise BadArgumentError(f"{path}: {error}") from None


_ALLOWED = {
    "problem": f"one or several of {', '.join(map(repr, PROBLEMS))}",
    "ensemble": "an ensemble such as 'unit', or a list of them",
    "candidates": "a number of outputs, or a list of them; left out, all facts compete",
    "dims": "a list of dimensions",
    "solvers": f"a list of names, or of tables with a name and options; "
    f"the names are {', '.join(METHODS)}, {THRESHOLD}, or yours as module:function",
    "instances": "pass how many problems to draw",
    "seed": "pass the integer to reproduce the sweep by",
    "loads": "a list of numbers above 0",
    "relative_loads": "a list of numbers above 0",
    "facts": "a list of whole numbers",
    "rank_fractions": "a list of numbers above 0 and at most 1, where 1 is no bound",
}


def _several(
    key: str, value: object, check: Callable[[str, object], Item], *, empty: bool = False
) -> tuple[Item, ...]:
    if not isinstance(value, (list, tuple)) or not (value or empty):
        raise arguments.refuse(key, value, "a list of at least one", f"pass {_ALLOWED[key]}")
    items = tuple(check(f"{key}[{place}]", item) for place, item in enumerate(value))
    for place, item in enumerate(items):
        if item in items[:place]:
            raise arguments.refuse(f"{key}[{place}]", value[place], "new", "drop the repetition")
    return items


def _listed(value: object, kind: type) -> object:
    """Return a lone value of a kind as a list of one."""
    return [value] if isinstance(value, kind) else value


def _ensemble(key: str, value: object) -> str:
    if not isinstance(value, str):
        raise arguments.refuse(key, value, "the text of an ensemble", "such as 'unit'")
    try:
        return str(ensemble(value))
    except BadArgumentError as error:
        raise BadArgumentError(f"{key}: {error}") from None


def _candidates(key: str, value: object) -> int:
    return arguments.whole(
        key, value, least=2, most=_MOST_FACTS, remedy="a fact competes with at least one rival"
    )


def _kind(key: str, value: object) -> str:
    if value not in PROBLEMS:
        raise arguments.refuse(key, value, f"one of {', '.join(map(repr, PROBLEMS))}", "choose one")
    return str(value)


def _dim(key: str, value: object) -> int:
    return arguments.whole(key, value, most=_MOST_DIM, remedy="pass the embedding dimension")


def _facts(key: str, value: object) -> int:
    return arguments.whole(key, value, most=_MOST_FACTS, remedy="pass a number of facts")


def _load(key: str, value: object) -> float:
    return arguments.real(
        key, value, least=0, open_least=True, most=1e3, remedy="pass facts over what fits"
    )


def _fraction(key: str, value: object) -> float:
    return arguments.real(
        key,
        value,
        least=0,
        open_least=True,
        most=1,
        remedy="pass rank over dimension; 1 is no bound",
    )


def _choice(key: str, value: object) -> Choice:
    table = {"name": value} if isinstance(value, str) else value
    if not isinstance(table, dict) or "name" not in table:
        raise arguments.refuse(key, value, "a name or a table with one", _ALLOWED["solvers"])
    options = {option: table[option] for option in table if option != "name"}
    if table["name"] == THRESHOLD:
        for option, setting in options.items():
            raise arguments.refuse(
                f"{key}.{option}", setting, "left out", "a threshold has no options"
            )
        return Choice(THRESHOLD)
    method = named(table["name"], f"{key}.name")
    return Choice(method.name, tuple(method.checked(key, options).items()))


def _consistent(spec: Spec) -> Spec:
    """Return the spec if its keys go together."""
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
