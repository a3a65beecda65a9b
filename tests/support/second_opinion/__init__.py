"""A second opinion on trees: every node class once more in plain NumPy.

Written from docs/nodes.md and docs/conventions.md alone, so that what the documentation says and what the runtime does
are held to each other. Each class has a function (`opinion`), a tree is interpreted node by node (`interpret`), and
each value comes with what rounding may do to it (`values`).
"""

from . import elementwise, leaves, matrices, psv, reductions, sky, solver, stations, voltages
from .formulas import FORMULAS  # after all others: what they leave
from .registry import OPINIONS, Interpreter, interpret
from .values import MEMBERS, RefusedError, Value, exact

__all__ = [
    "FORMULAS",
    "MEMBERS",
    "OPINIONS",
    "Interpreter",
    "RefusedError",
    "Value",
    "elementwise",
    "exact",
    "interpret",
    "leaves",
    "matrices",
    "psv",
    "reductions",
    "sky",
    "solver",
    "stations",
    "voltages",
]
