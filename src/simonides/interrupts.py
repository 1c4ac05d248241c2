"""Ctrl-C: the first is heeded, and what is known by then is returned; the next ends everything."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, NoReturn, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

Result = TypeVar("Result")


class Presses:
    """Ctrl-C of a program, kept until heeded: Python drops an interrupt that it meets in a finalizer."""

    def __init__(self) -> None:
        self._waiting = False

    def listen(self) -> None:
        """Take over the keyboard's signal, unless it is ignored; the first press interrupts as ever."""
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._press)

    def _press(self, *_: object) -> NoReturn:
        self._waiting = True
        raise KeyboardInterrupt

    def heed(self) -> None:
        """Interrupt now if a press is waiting: work that still goes on has missed it."""
        if self._waiting:
            raise KeyboardInterrupt

    def heard(self) -> None:
        """Forget a press that has ended the work it was meant for."""
        self._waiting = False


PRESSES = Presses()


class Keyboard:
    """A block that an interrupt ends early; ``interrupted`` says whether one did.

    >>> with Keyboard() as keyboard:
    ...     raise KeyboardInterrupt
    >>> keyboard.interrupted
    True
    """

    def __init__(self) -> None:
        self.interrupted = False

    def __enter__(self) -> Keyboard:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _trace: TracebackType | None,
    ) -> bool:
        self.interrupted = is_interrupt(error)
        if self.interrupted:
            PRESSES.heard()
        return self.interrupted


def completed(work: Callable[[], Result]) -> tuple[Result, bool]:
    """Return what a piece of work gives, and whether it was interrupted and done once more."""
    with Keyboard():
        return work(), False
    return work(), True


def is_interrupt(error: BaseException | None) -> bool:
    """Return whether an error is the keyboard's.

    An interrupt that meets a compiled kernel while it is being loaded shows as a ``SystemError``.
    """
    if isinstance(error, SystemError):
        error = error.__cause__ or error.__context__
    return isinstance(error, KeyboardInterrupt)
