"""Users' tree scripts: running the file and getting the scope of a tree from it.

A script is a Python file that defines the function

    def define_forest(ns, ms):
        for p, q in ms.baselines:
            ...
            ns.sink(p, q) << rt.Sink(ns.V(p, q), station_1_index=p, station_2_index=q)

which is called with an empty `NodeScope` and the `MsGroup` that the tree is for (None where there is no Measurement
Set), once for each group; or that makes a `NodeScope` called `ns` at module level, where `ms` is the same object; the
script is then run once for each group. Inside it `__name__` is "__rimetree__" and `sys.argv` holds the script's own
arguments.
"""

from __future__ import annotations

import inspect
import os
import runpy
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ._core import Error
from .ms.group import MsGroup
from .writing.scope import NodeScope


class ScriptError(Error):
    """An exception raised by a script; the text says at which line of which file."""


class Script:
    """A tree script. Raises `Error` where there is no such file; see the module's text for what it must define."""

    def __init__(self, path: str | os.PathLike, arguments: Sequence[str] = ()):
        self.path = os.fspath(path)
        self._arguments = list(arguments)
        self._names: dict | None = None
        if not os.path.isfile(self.path):
            raise Error(f"there is no script {self.path}")

    def scope(self, group: MsGroup | None) -> NodeScope:
        """The scope of the tree for a group of rows. Raises `ScriptError` with the line where the script failed, and
        `Error` where it defines no tree."""
        if self._names is None or "define_forest" not in self._names:
            self._names = self._execute(group)
        define = self._names.get("define_forest")
        if define is not None:
            self._check_arguments(define)
            ns = NodeScope()
            with self._arguments_in_place():
                self._guarded(lambda: define(ns, group), group)
        else:
            ns = self._names.get("ns")
        if not isinstance(ns, NodeScope):
            raise Error(f"{self.path} defines no tree: neither a function define_forest(ns, ms) nor a NodeScope ns")
        if not ns.AllNodes():
            raise Error(f"{self.path} defines no nodes" + (" in define_forest(ns, ms)" if define else ""))
        return ns

    def _check_arguments(self, define) -> None:
        """Raises `ScriptError` where the function cannot be called with a scope and a group."""
        try:
            signature = inspect.signature(define)
        except (TypeError, ValueError):  # a callable that does not say what it takes, or none
            return
        try:
            signature.bind(None, None)
        except TypeError:
            line = getattr(getattr(define, "__code__", None), "co_firstlineno", 1)
            raise ScriptError(
                f"{self.path}:{line}: define_forest{signature} must take two arguments, the scope of the tree and what "
                "is known of the rows that it is for: define_forest(ns, ms)"
            ) from None

    def _execute(self, group: MsGroup | None) -> dict:
        names = {"ms": group}
        with self._arguments_in_place():
            return self._guarded(lambda: runpy.run_path(self.path, init_globals=names, run_name="__rimetree__"), group)

    @contextmanager
    def _arguments_in_place(self) -> Iterator[None]:
        """`sys.argv` and `sys.path` as if the script were run by Python."""
        arguments, places = sys.argv, list(sys.path)
        sys.argv = [self.path, *self._arguments]
        sys.path.insert(0, os.path.dirname(os.path.abspath(self.path)))
        try:
            yield
        finally:
            sys.argv, sys.path[:] = arguments, places

    def _guarded(self, call, group: MsGroup | None):
        try:
            return call()
        except SyntaxError as problem:
            raise ScriptError(f"{problem.filename}:{problem.lineno}: SyntaxError: {problem.msg}") from problem
        except (AttributeError, TypeError) as problem:
            if group is None and "NoneType" in str(problem):
                raise ScriptError(
                    f"{self._place(problem)}: this script needs a Measurement Set (ms is None without one): give one"
                ) from problem
            raise ScriptError(f"{self._place(problem)}: {type(problem).__name__}: {problem}") from problem
        except Exception as problem:
            raise ScriptError(f"{self._place(problem)}: {type(problem).__name__}: {problem}") from problem

    def _place(self, problem: Exception) -> str:
        """ "file:line" of the innermost frame in the script, or in what it imported from its folder."""
        folder = os.path.dirname(os.path.abspath(self.path)) + os.sep
        frames = traceback.extract_tb(problem.__traceback__)
        own = [
            f for f in frames if os.path.abspath(f.filename).startswith(folder) and "site-packages" not in f.filename
        ]
        exact = [f for f in frames if os.path.abspath(f.filename) == os.path.abspath(self.path)]
        frame = (own or exact or frames)[-1]
        return f"{frame.filename}:{frame.lineno}"
