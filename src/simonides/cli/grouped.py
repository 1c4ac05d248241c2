"""Options that belong together: named once, as the fields of a dataclass that commands take."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Any, get_type_hints

if TYPE_CHECKING:
    from collections.abc import Callable


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command one option for every field of the dataclasses among its parameters.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Size:
    ...     width: int = 2
    ...     height: int = 3
    >>> @grouped
    ... def area(size: Size, unit: str = "m") -> None:
    ...     print(size.width * size.height, unit)
    >>> area(height=5)
    10 m
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, type[Any]] = {}
    spread: list[Parameter] = []
    for parameter in signature(command).parameters.values():
        kind = hints[parameter.name]
        if is_dataclass(kind):
            assert isinstance(kind, type)
            groups[parameter.name] = kind
            spread += _options(kind)
        else:
            spread.append(parameter.replace(annotation=kind, kind=Parameter.KEYWORD_ONLY))

    @wraps(command)
    def run(**values: Any) -> None:
        made = {}
        for name, kind in groups.items():
            own = {field.name for field in fields(kind)} & values.keys()
            made[name] = kind(**{option: values.pop(option) for option in own})
        command(**made, **values)

    # What reads a signature finds the options; so does what reads annotations.
    run.__signature__ = Signature(spread)  # type: ignore[attr-defined]
    run.__annotations__ = {option.name: option.annotation for option in spread}
    return run


def _options(kind: type[Any]) -> list[Parameter]:
    hints = get_type_hints(kind, include_extras=True)
    return [
        Parameter(
            field.name,
            Parameter.KEYWORD_ONLY,
            default=field.default,
            annotation=hints[field.name],
        )
        for field in fields(kind)
    ]
