"""What a user wrote, by its name: ``module:function``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from simonides import arguments

if TYPE_CHECKING:
    from collections.abc import Callable


def load(argument: str, name: str) -> Callable[..., Any]:
    """Return the function that ``module:function`` names.

    The module is imported as Python imports any other: it is installed, or in a folder of ``PYTHONPATH``.

    Parameters
    ----------
    argument : str
        What the name was passed as, for the refusal.
    name : str
        Module and function with a colon between them.

    Raises
    ------
    BadArgumentError
        If there is no such module, or nothing in it of that name that can be called.

    Examples
    --------
    >>> load("ensemble", "math:sqrt")(9)
    3.0

    """
    module, _, function = name.partition(":")
    try:
        home = import_module(module)
    except (ImportError, ValueError) as error:
        raise arguments.refuse(
            argument, name, "a module:function that Python can import", f"{error}; see PYTHONPATH"
        ) from None
    # Whatever else a module does wrong while it is imported is its author's to see, as it is.
    value = getattr(home, function, None)
    if not callable(value):
        raise arguments.refuse(argument, name, f"a function of {module}", f"define {function!r}")
    return value  # type: ignore[no-any-return]
