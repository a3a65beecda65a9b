"""Functions that are written for arrays, as nodes.

`rt.record(function, *children)` is a definition like any other. When it gets a name, the function is called once with
objects that stand for the values of the children: what it does with them becomes nodes below that name.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Protocol, runtime_checkable

from .._core import Error
from ..arguments import checked
from .definitions import NodeDef, by_position
from .recorded_values import NotRecordableError, RecordedCells, Step, Value, step_of
from .script_lines import PASSED, script_line


@runtime_checkable
class RecordableObject(Protocol):
    """An object with a method `evaluate(cells, *children)`."""

    def evaluate(self, cells, *children): ...


@checked
def record(function: Callable | RecordableObject, *children) -> Recorded:
    """Nodes from a function `function(cells, *children) -> value` that is written for arrays of values, as `PyNode`
    takes it; or from an object with a method `evaluate`.

    The function is called when the definition gets a name, once for each name, and its arithmetic becomes nodes: they
    are as fast as any others, on the host and on devices, have exact derivatives in both modes, and are read by sums
    over sources. What else the function uses, such as attributes of an object, is taken as it is then.

    What can be recorded: operators, NumPy's functions of numbers (`np.exp`, `np.sin`, `np.sqrt`, `np.arctan2`, ...),
    `np.stack` of new first dimensions, `x.real`, `x.imag`, `np.angle`, `x.sum(axis=k)` and indices of tensor
    dimensions; with numbers, arrays of shape [tensor dimensions..., 1, 1], `cells.freq_hz` and `cells.time_s[:, None]`.
    Products are element by element. `y += x` changes an array that the function has made, under all its names, as with
    NumPy; what the function gets, and parts of arrays, cannot be changed. What mixes cells, decides by values or needs
    their number cannot be recorded: the Forest says so, with the line; use a `PyNode` for it.
    """
    return Recorded(getattr(function, "evaluate", function), children, script_line())


class Recorded(NodeDef):
    """A definition that is a function still; `Repository` asks for its nodes when it has a name."""

    __slots__ = ("function",)

    def __init__(self, function: Callable, children: tuple, origin: str):
        name = getattr(function, "__name__", "record")
        super().__init__(name, by_position(len(children)), children, {}, origin)
        self.function = function

    def with_nodes(self, nodes: tuple, state: dict) -> Recorded:
        return Recorded(self.function, nodes, self.origin)

    def _same_but_children(self, other: NodeDef) -> bool:
        return isinstance(other, Recorded) and self.function == other.function and len(self.nodes) == len(other.nodes)

    def steps(self, children: list) -> list[Step]:
        """What the function does with nodes, the result last. Raises `Error` for what cannot be recorded."""
        try:
            result = self.function(RecordedCells(), *(Value.of_node(child) for child in children))
            result = step_of(result, "what the function returned")
        except NotRecordableError as problem:
            raise Error(f"{problem}{self._place()}") from None
        except Exception as problem:
            called = "" if _place_in_script() or not isinstance(problem, TypeError) else self._how_it_is_called()
            raise Error(f"{type(problem).__name__}: {problem}{called}{self._place()}") from problem
        if result.cell_rank == 1:
            raise Error("the result has one axis, which would be that of time: write cells.freq_hz[None, :]")
        return result.in_order()

    def _how_it_is_called(self) -> str:
        count = len(self.nodes)
        return f"; it is called with the cells and the values of {count} node{'' if count == 1 else 's'}"

    def _place(self) -> str:
        """ " (file:line)": of the line of the function that raised what is being handled, or of the function itself,
        where that was its outcome or its call; nothing for functions that are not written in Python."""
        code = getattr(self.function, "__code__", None)
        place = _place_in_script() or (f"{code.co_filename}:{code.co_firstlineno}" if code else "")
        return f" ({place})" if place else ""


def _place_in_script() -> str:
    """ "file:line" of the innermost frame of the exception that is being handled which is the script's."""
    trace, place = sys.exc_info()[2], ""
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not file.startswith(PASSED):
            place = f"{file}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place
