"""Users' errors as one message and an exit status, warnings as one line each."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click


class Failed(click.ClickException):
    """An error that is no misuse of the command line: one message, exit status 1."""

    exit_code = 1

    def show(self, file=None) -> None:
        click.echo(f"error: {self.message}", err=True)


class NothingUsable(Failed):
    """Solutions of which nothing can be used: exit status 3."""

    exit_code = 3


class Interrupted(Failed):
    """Ctrl-C, or another signal that asks for the end: exit status 128 + its number, as shells expect."""

    def __init__(self, message: str):
        super().__init__(message)
        self.exit_code = 128 + _asked_to_end[-1]


#: Signals that asked for the end.
_asked_to_end: list[int] = [signal.SIGINT]


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """SIGTERM, as batch systems send it, and SIGHUP end a command as Ctrl-C does: files that are not complete are
    removed, and it is said how far it came. A second one ends it at once."""

    def end(number: int, _frame) -> None:
        signal.signal(number, signal.SIG_DFL)
        _asked_to_end.append(number)
        raise KeyboardInterrupt

    in_main_thread = threading.current_thread() is threading.main_thread()  # which alone gets signals
    numbers = (signal.SIGTERM, signal.SIGHUP) if in_main_thread else ()
    taken = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]  # not if it is ignored
    for number in taken:
        signal.signal(number, end)
    said_of_lost = sys.unraisablehook
    sys.unraisablehook = _ask_again(said_of_lost)
    try:
        yield
    finally:
        sys.unraisablehook = said_of_lost
        for number in taken:
            signal.signal(number, signal.SIG_DFL)
        del _asked_to_end[1:]


def _ask_again(say: Callable) -> Callable:
    """What is told of exceptions that Python lets go, as it does in callbacks that run while a module is imported: if
    one was to end the command, the end is asked for again."""

    def lost(unraisable) -> None:
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            return say(unraisable)
        again = threading.Timer(0.1, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
        again.daemon = True
        again.start()

    return lost


@contextmanager
def guarded(debug: bool) -> Iterator[None]:
    """Turns what users can cause into `Failed`; with `debug` the traceback is printed before."""
    with warnings.catch_warnings(), _ended_in_order():
        # Not the user's code: what libraries deprecate is not for users of a command.
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = _once()
        try:
            yield
        except click.ClickException:
            if debug:
                traceback.print_exc()
            raise
        except KeyboardInterrupt as problem:
            raise Interrupted(str(problem) or "interrupted") from problem
        except Exception as problem:
            if debug:
                traceback.print_exc()
            message = _message(problem)
            if message is None:
                raise
            raise _kind_of(problem)(message) from problem


def _kind_of(problem: Exception) -> type[Failed]:
    from rimetree.calibration.errors import NothingUsableError

    return NothingUsable if isinstance(problem, NothingUsableError) else Failed


def _once() -> Callable:
    """What shows warnings, each text once, whichever steps of a command say it."""
    said: set[str] = set()

    def show(message, category, filename, lineno, file=None, line=None) -> None:
        if str(message) not in said:
            said.add(str(message))
            click.echo(f"warning: {message}", err=True)

    return show


def _failing_stream() -> str:
    """Which of the standard streams cannot be written to, as where one is a file on a full disk; empty if none."""
    for name, stream in (("standard output", sys.stdout), ("standard error", sys.stderr)):
        try:
            stream.flush()
        except OSError:
            return name
    return ""


def _message(problem: Exception) -> str | None:
    """What to tell the user, or None for what must be a mistake of this program."""
    from rimetree import Error

    if isinstance(problem, Error):
        return str(problem)
    if isinstance(problem, BrokenPipeError):  # `rimetree ... | head`: nobody listens any more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return "the output was closed before everything was written"
    if isinstance(problem, OSError):
        what = problem.filename or _failing_stream()
        return f"{what}: {problem.strerror}" if what else problem.strerror or str(problem)
    if isinstance(problem, MemoryError):
        return f"not enough memory ({problem or 'allocation failed'}); use --memory to limit what results may take"
    return None
