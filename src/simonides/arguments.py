"""Checks of what callers pass in: every refusal names argument, value, condition and remedy."""

from __future__ import annotations

import inspect
import math
import time
import traceback
from collections.abc import Callable, Iterable
from importlib import import_module
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import Any

from simonides.failures import BadArgumentError, ConvergenceError

RIVAL = "a fact competes with at least one rival output"
"""What to do about fewer than two candidates."""


_LONGEST_SHOWN = 1_000
"""Characters of a value in a refusal: some lines of a terminal; a file may hold megabytes."""


def refuse(name: str, value: object, condition: str, remedy: str) -> BadArgumentError:
    """Return the error to raise when ``value`` breaks ``condition``.

    >>> print(refuse("dim", -3, "a whole number of at least 1", "pass the embedding dimension"))
    dim = -3 must be a whole number of at least 1: pass the embedding dimension
    """
    try:
        shown = repr(value)
    except ValueError:  # a number of more digits than Python writes
        shown = f"{type(value).__name__} of thousands of digits"
    if len(shown) > _LONGEST_SHOWN:
        shown = f"{shown[:_LONGEST_SHOWN]}..."
    refusal = BadArgumentError(f"{name} = {shown} must be {condition}: {remedy}")
    refusal.argument = name
    return refusal


def install(extra: str) -> str:
    """Return the remedy for a library that is missing: the extra it comes with, from a clone.

    >>> print(install("torch"))
    pip install -e '.[torch]' in the clone of simonides
    """
    return f"pip install -e '.[{extra}]' in the clone of simonides"


def whole(name: str, value: object, *, least: int = 1, most: float = math.inf, remedy: str) -> int:
    """Return ``value`` as an int if it is a whole number from ``least`` to ``most``."""
    number = _finite(value)
    if number is None or number != math.floor(number) or number < least:
        raise refuse(name, value, f"a whole number of at least {least}", remedy)
    if number > most:
        raise refuse(name, value, f"at most {most:g}", "no theory or machine reaches further")
    # An integer of any type keeps digits that a float would round away.
    return int(value) if isinstance(value, Integral) else int(number)


def real(
    name: str,
    value: object,
    *,
    least: float = -math.inf,
    most: float = math.inf,
    open_least: bool = False,
    open_most: bool = False,
    remedy: str,
) -> float:
    """Return ``value`` as a finite float inside the given interval."""
    number = _finite(value)
    if number is not None:
        above = number > least if open_least else number >= least
        below = number < most if open_most else number <= most
        if above and below:
            return number
    raise refuse(name, value, _interval(least, most, open_least, open_most), remedy)


def fraction(name: str, value: object, *, remedy: str) -> float:
    """Return ``value`` as a float if it is above 0 and at most 1."""
    return real(name, value, least=0, most=1, open_least=True, remedy=remedy)


def positive(name: str, value: object, *, remedy: str) -> float:
    """Return ``value`` as a finite float above 0."""
    return real(name, value, least=0, open_least=True, remedy=remedy)


def candidates(value: object, *, most: float = math.inf) -> int:
    """Return a whole number of outputs that compete for an input: the target and at least one rival."""
    return whole("candidates", value, least=2, most=most, remedy=RIVAL)


def facts(value: object) -> int:
    """Return a whole number of facts, at least one."""
    return whole("facts", value, remedy="pass the number of facts to store")


def seed(value: object) -> int:
    """Return a whole number that random numbers follow from."""
    return whole("seed", value, least=0, remedy="pass the integer to reproduce it by")


def time_limit(value: object) -> float:
    """Return a number of seconds; without a limit, of which there is no end."""
    if value is None:
        return math.inf
    return real("time_limit", value, least=0, remedy="pass a number of seconds")


def deadline(seconds: object) -> float:
    """Return the value of ``time.monotonic()`` at which a time limit is reached, infinity for none."""
    return time.monotonic() + time_limit(seconds)


def new_file(name: str, path: str | Path, *endings: str) -> Path:
    """Return the path of a file to write, if it ends in one of these and its folder is there."""
    file = file_name(name, path)
    if endings and file.suffix.lower() not in endings:
        condition = f"a file ending in {' or '.join(endings)}"
        raise refuse(name, str(path), condition, "choose another name")
    if not file.parent.is_dir():
        raise refuse(name, str(path), "in a folder that exists", f"create {file.parent} first")
    return file


def between(name: str, value: object, least: float, most: float, *, remedy: str) -> float:
    """Return ``value`` as a float if it lies between the two, and is neither."""
    return real(name, value, least=least, most=most, open_least=True, open_most=True, remedy=remedy)


def one_of(name: str, value: object, choices: Iterable[str], remedy: str = "choose one") -> None:
    """Refuse what is none of the choices.

    >>> one_of("norm", "post", ("pre", "post"))
    """
    choices = tuple(choices)
    if not isinstance(value, str) or value not in choices:
        raise refuse(name, value, f"one of {', '.join(choices)}", remedy)


def instance(name: str, value: object, kind: type, remedy: str) -> None:
    """Refuse what is not of a class.

    >>> instance("count", 3, int, "pass a number")
    """
    if not isinstance(value, kind):
        raise refuse(name, value, f"of the kind {kind.__name__}", remedy)


def able(name: str, value: object, methods: Iterable[str], remedy: str) -> None:
    """Refuse what lacks a method, and a class in place of its instance."""
    lacking = [method for method in methods if not callable(getattr(value, method, None))]
    if lacking or isinstance(value, type):
        raise refuse(name, value, f"an object with {', '.join(methods)}", remedy)


def function(name: str, value: object, remedy: str) -> None:
    """Refuse what cannot be called."""
    if not callable(value):
        raise refuse(name, value, "a function", remedy)


def file_name(name: str, value: object) -> Path:
    """Return the path that ``value`` names."""
    if not isinstance(value, str | PathLike):
        raise refuse(name, value, "the name of a file", "pass it as text or a Path")
    return Path(value)


def tolerance(value: object) -> float:
    """Return the normalised margin that counts as none, one by which not every margin does."""
    return between("tolerance", value, 0, 1, remedy="pass a small margin such as 1e-9")


def imported(name: str, value: str) -> Callable[..., Any]:
    """Return the function that ``module:function`` names, or refuse what cannot be imported.

    >>> imported("method", "math:sqrt")(9)
    3.0
    """
    module, _, function = value.partition(":")
    try:
        named = getattr(import_module(module), function)
    except (ImportError, AttributeError, ValueError, TypeError, SyntaxError, NameError) as error:
        raise refuse(
            name,
            value,
            "module:function that can be imported",
            f"{type(error).__name__}: {error}; is it in PYTHONPATH?",
        ) from None
    if not callable(named):
        raise refuse(name, value, "the name of a function", f"it is a {type(named).__name__}")
    return named  # type: ignore[no-any-return]


def own_answer(
    name: str,
    text: str,
    kind: str,
    function: Callable[..., Any],
    *passed: object,
    **options: object,
) -> Any:
    """Return what a user's function of some kind gives, or refuse one that cannot be called or fails.

    >>> own_answer("method", "math:sqrt", "of a number", math.sqrt, 9)
    3.0
    >>> own_answer("method", "math:sqrt", "of a number", math.sqrt, -1)
    Traceback (most recent call last):
    simonides.failures.BadArgumentError: method = 'math:sqrt' must be a function that does not fail: ...
    """
    try:
        inspect.signature(function).bind(*passed, **options)
    except TypeError as error:
        raise refuse(name, text, f"a function {kind}", f"{error}") from None
    try:
        return function(*passed, **options)
    except (MemoryError, SystemError, ConvergenceError):  # none of them a fault of its code
        raise
    except Exception as error:
        # The first place is the call above, the second the line of the function.
        places = traceback.extract_tb(error.__traceback__)[1:2]
        lines = "".join(f" in line {place.lineno} of {place.filename}" for place in places)
        remedy = f"{type(error).__name__}: {error}{lines}; mend it or what it is given"
        raise refuse(name, text, "a function that does not fail", remedy) from error


def _finite(value: object) -> float | None:
    """Return a finite number as float; None for anything else, truth values included."""
    if type(value) is bool or not isinstance(value, Real):
        return None
    try:
        number = float(value)
    except OverflowError:  # a whole number beyond the largest float
        return None
    return number if math.isfinite(number) else None


def _interval(least: float, most: float, open_least: bool, open_most: bool) -> str:
    if math.isinf(least) and math.isinf(most):
        return "a finite number"
    low = "" if math.isinf(least) else f"{'above' if open_least else 'at least'} {least:g}"
    high = "" if math.isinf(most) else f"{'below' if open_most else 'at most'} {most:g}"
    return "a finite number " + " and ".join(part for part in (low, high) if part)
