"""Ctrl-C: the first is heeded, and what is known by then is returned; the next ends everything."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, NoReturn, TypeVar

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


class Hold:
    """Ctrl-C put off while the main thread does what must not be cut in two, and heeded right after.

    Other threads are never interrupted, so that there is nothing to hold for them.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._pressed = False
        self._handler: Callable[[int, FrameType | None], Any] | None = None

    def begin(self) -> None:
        """Put off what is pressed from now on."""
        if threading.current_thread() is not threading.main_thread():
            return
        if self._depth == 0:
            handler = signal.getsignal(signal.SIGINT)
            if callable(handler):  # not ignored, nor left to the system
                self._handler = handler
                signal.signal(signal.SIGINT, self._press)
        self._depth += 1

    def _press(self, *_: object) -> None:
        self._pressed = True

    def end(self) -> None:
        """Heed what was pressed since the first ``begin``, at the last ``end``."""
        if threading.current_thread() is not threading.main_thread():
            return
        self._depth -= 1
        if self._depth or self._handler is None:
            return
        handler, self._handler = self._handler, None
        signal.signal(signal.SIGINT, handler)
        if self._pressed:
            self._pressed = False
            handler(signal.SIGINT, None)

    def __enter__(self) -> None:
        self.begin()

    def __exit__(self, *_: object) -> None:
        self.end()


HOLD = Hold()


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
