"""Solving several fields and windows at a time, where one of them is too small for all cores.

What is found is the same: each is solved by itself, and what it gives comes out in the order of the fields and windows.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from .._core import machine
from ..machine import resident_bytes
from .plan.planning import CalibrationOptions
from .report.reports import ChunkReport
from .session import Session

_SMALL_BYTES = 64 << 20  # of the largest chunk, search included: more keeps all cores busy

#: Report and arrays of a chunk: (session, number of the chunk, of all chunks) -> them.
Solve = Callable[[Session, int, int], tuple[ChunkReport, dict]]


def at_a_time(sessions: Sequence[Session], options: CalibrationOptions) -> int:
    """How many are solved at a time: as many as there are threads, within the memory that may be taken."""
    if options.device not in (None, "none") or len(sessions) < 2:
        return 1
    needs = sorted((one.need.total + one.need.search for one in sessions), reverse=True)
    if needs[0] > _SMALL_BYTES:
        return 1
    most = min(len(sessions), options.threads or int(machine()["threads"]))
    if options.memory_bytes is not None:
        left = options.memory_bytes - resident_bytes()
        while most > 1 and sum(needs[:most]) > left:
            most -= 1
    return most


def in_order(
    sessions: Sequence[Session], first: int, workers: int, solve: Solve
) -> Iterator[tuple[Session, int, ChunkReport, dict]]:
    """(session, number of the chunk, report, arrays) of all chunks, one session after the other, `workers` of which are
    solved at a time. `first`: how many chunks were there before. Each session keeps what it has found, and lets go of
    its data at its end."""

    def chunks(session: Session, index: int) -> Iterator[tuple[Session, int, ChunkReport, dict]]:
        for number in range(len(session.plan.chunks)):
            report, arrays = solve(session, number, index + number)
            session.keep(arrays)
            yield session, number, report, arrays
        session.release()

    begins = [first]
    for session in sessions:
        begins.append(begins[-1] + len(session.plan.chunks))
    if workers < 2:
        for session, begin in zip(sessions, begins, strict=False):
            yield from chunks(session, begin)
        return
    yield from _ahead(sessions, begins, workers, chunks)


def _ahead(sessions, begins, workers: int, chunks) -> Iterator[tuple[Session, int, ChunkReport, dict]]:
    found: list[queue.SimpleQueue] = [queue.SimpleQueue() for _ in sessions]
    stop = threading.Event()

    def work(which: int) -> None:
        try:
            for one in chunks(sessions[which], begins[which]):
                found[which].put(one)
                if stop.is_set():
                    return
            found[which].put(None)
        except BaseException as error:  # is raised where it is waited for
            found[which].put(error)

    with ThreadPoolExecutor(workers, thread_name_prefix="window") as pool, contextlib.ExitStack() as at_end:
        at_end.callback(pool.shutdown, wait=False, cancel_futures=True)
        at_end.callback(stop.set)
        for which in range(len(sessions)):
            pool.submit(work, which)
        for own in found:
            while (one := own.get()) is not None:
                if isinstance(one, BaseException):
                    raise one
                yield one
