"""The compiled tree: evaluating it, running it over Measurement Sets, and what it costs."""

from __future__ import annotations

import atexit
import contextlib
import os
import warnings
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from . import _core
from ._core import Error, ForestError
from .arguments import ArgumentError, numbers
from .evaluation import py_node  # noqa: F401 - py_node installs what evaluates Python nodes
from .evaluation.asking import (
    cells_asked,
    count,
    forest_error,
    function_or_none,
    node_name,
    node_names,
    scope_to_build,
    state_changes,
)
from .evaluation.cells import Cells
from .evaluation.parameters import DerivativeCheck, Parameter
from .evaluation.result import Result, failure_text, result_from_runtime
from .evaluation.solving import SolveReport, report_from_runtime, solved_anew
from .evaluation.timing import TimingReport
from .evaluation.verification import Verification, tolerance_of
from .ms.mismatches import mismatches
from .ms.objective import MsObjective
from .ms.reading import OpenSet, Tiles, source_of
from .ms.run import RunReport, run_options
from .writing.scope import NodeScope, NodeStub, errors_of, identity_of, tree_of
from .writing.state import from_runtime

atexit.register(_core.end_of_interpreter)  # which waits for daemon threads that evaluate


class Forest:
    """All nodes of a scope's tree, checked and compiled.

    Raises `ForestError` listing everything that is wrong with the tree, and warns (`UserWarning`) of what is allowed
    but hardly meant, such as `*` between two 2x2 matrices. `threads`: how many cores to use (None:
    the environment variable RIMETREE_NUM_THREADS, else OMP_NUM_THREADS, else all that this process may use).
    `memory_bytes`: what results may take (None: half of the memory free now); larger problems are evaluated in parts.
    `device`: what nodes that know how are evaluated on where the tree has no `DeviceMemory` node: "auto" (all GPUs),
    "none" (the host only), or names with commas between them (`rimetree info` lists those of this machine); None: the
    environment variable RIMETREE_DEVICE, else the host. Raises `Error` for a device that cannot be used.
    `as_written`: True evaluates every node as the script has it; False takes sums over sources together, however they
    are written, and evaluates them as PSV does (`notes` and `describe` tell which); None: as the environment variable
    RIMETREE_AS_WRITTEN (1 or 0) says, else False. `solves`: what Solvers had to report in the last run or solve, also
    where that failed or was interrupted.
    """

    def __init__(
        self,
        scope: NodeScope,
        *,
        threads: int | None = None,
        memory_bytes: int | None = None,
        device: str | None = None,
        as_written: bool | None = None,
    ):
        scope = scope_to_build(scope)
        cores = 0 if threads is None else count(threads, "threads", 1)
        budget = 0 if memory_bytes is None else count(memory_bytes, "memory_bytes", 1)
        if not isinstance(device, str | None):
            raise ArgumentError(f"device must be the name of one, not {device!r}")
        if as_written is not None and not isinstance(as_written, bool):
            raise ArgumentError(f"as_written must be True or False, not {as_written!r}")
        errors = list(errors_of(scope))
        try:
            most = 2**31 - 1
            self._core = _core.build_forest(*tree_of(scope), min(cores, most), budget, device or "", as_written)
        except ForestError as error:
            said = {name for name, *_ in errors}  # what follows from it is no error of its own
            raise forest_error(errors + [one for one in error.args[1] if one[0] not in said]) from None
        if errors:
            raise forest_error(errors)
        for text in self._core.warnings():
            warnings.warn(text, stacklevel=2)
        self._tree, self.solves = identity_of(scope), list[SolveReport]()
        self._tolerance = tolerance_of("double", None)  # of the last evaluation

    def __repr__(self) -> str:
        nodes, classes = self._core.counts()
        return f"<Forest of {nodes} nodes of {classes} classes>"

    def _name(self, node: NodeStub | str) -> str:
        return node_name(node, self._tree)

    def evaluate(
        self,
        node: NodeStub | str,
        cells: Cells | None = None,
        *,
        precision: str = "double",
        tolerance: float | None = None,
        verify: int = 0,
    ) -> np.ndarray:
        """Values of a node: [tensor dimensions..., time, freq], length 1 along axes on which they do not vary.

        On cells with l or m these two axes follow. The array is a read-only view of the runtime's memory. `precision`
        is "double" or "single" for monolithic kernels; or `tolerance` says what they may be wrong by, as a fraction of
        the total flux (1e-12 to 1), and they take the cheapest method that meets it (`notes` tells which). `verify`:
        about so many of their values, chosen at random, are computed again in extended precision, unless they are
        still known from before (`verification` tells the largest error). Raises `Error` where the node or one below it
        failed or has no data.
        """
        result = self.result(node, cells, precision=precision, tolerance=tolerance, verify=verify)
        if result.value is None:
            raise Error(f"node {self._name(node)!r} has no data for this request")
        return result.value

    def result(
        self,
        node: NodeStub | str,
        cells: Cells | None = None,
        *,
        precision: str = "double",
        tolerance: float | None = None,
        derivatives: bool = False,
        verify: int = 0,
    ) -> Result:
        """As `evaluate`, with flags and, if asked for, derivatives with respect to all solvable parameters."""
        (result,) = self.results(
            [self._name(node)], cells, precision=precision, tolerance=tolerance, derivatives=derivatives, verify=verify
        )
        return result

    def results(
        self,
        nodes: Iterable[NodeStub | str],
        cells: Cells | None = None,
        *,
        precision: str = "double",
        tolerance: float | None = None,
        derivatives: bool = False,
        verify: int = 0,
    ) -> list[Result]:
        """As `result`, for several nodes at once: what they share is evaluated once, what is alike in one call."""
        self._tolerance = tolerance_of(precision, tolerance)
        cells = cells_asked(cells)
        if not isinstance(derivatives, bool | np.bool_):
            raise ArgumentError(f"derivatives must be True or False, not {derivatives!r}")
        names, verify = node_names(nodes, self._tree), count(verify, "verify")
        raw = self._core.evaluate(names, cells.to_runtime(), precision, tolerance or 0.0, derivatives, verify)
        return [result_from_runtime(one, cells.rank) for one in raw]

    def solve(
        self,
        solver: NodeStub | str,
        cells: Cells | None = None,
        *,
        precision: str = "double",
        tolerance: float | None = None,
        progress: Callable | None = None,
    ) -> SolveReport:
        """Run a Solver node: its Parms have the solution afterwards.

        `progress(solver, iteration, chi_square, groups_running, groups)` is called after every iteration; an exception
        that it raises (or Ctrl-C) ends the solve, and the Parms keep the values they had before. Raises `Error` where
        there is nothing to solve for or a node failed; what could not be solved is no error but in the report.
        """
        name = node_name(solver, self._tree, "solver")
        with self._reports(progress) as reports:
            self.result(name, cells, precision=precision, tolerance=tolerance)
        if not reports:
            raise Error(f"node {name!r} is no Solver")
        return reports[-1]

    def solve_tiles(
        self,
        tiles: Tiles,
        *,
        precision: str = "double",
        tolerance: float | None = None,
        progress: Callable | None = None,
    ) -> list[SolveReport]:
        """Run the only Solver of the forest on all tiles together: one solve, for what is the same in all of them.

        It looks at one tile after the other, so that only one need be in memory: Jones terms are solved on sums over
        the data, which are made once; of other trees each iteration reads all tiles again. The tiles must follow each
        other in time and be of one field and data description (or of windows that are joined). Rows that a baseline has
        twice in a time slot are more data of it. `progress` and errors: as of `solve`.
        """
        self._tolerance = tolerance_of(precision, tolerance)
        if not isinstance(tiles, Tiles):
            raise ArgumentError(f"tiles must be rt.ms.Tiles, not {tiles!r}")
        with self._reports(progress) as reports:
            _core.solve_tiles(self._core, tiles._core, {"precision": precision, "tolerance": tolerance})
        return reports

    @contextlib.contextmanager
    def _reports(self, progress: Callable | None) -> Iterator[list[SolveReport]]:
        """A list which at the end, however it comes, has the reports of the Solvers that ran inside."""
        found = self.solves = []
        function_or_none(progress, "progress")
        self._core.take_solve_reports()
        self._core.set_solve_progress(progress)
        try:
            yield found
        finally:
            self._core.set_solve_progress(None)
            found += [report_from_runtime(raw) for raw in self._core.take_solve_reports()]

    def run(
        self,
        path: str | os.PathLike | OpenSet,
        *,
        progress: Callable | None = None,
        solve_progress: Callable | None = None,
        **options,
    ) -> RunReport:
        """Evaluate the Sinks over a Measurement Set and write what they produce.

        Options are those of `rimetree.ms.run_options`. `progress(tiles_done, tiles, rows_done, rows, time_s)` is called
        after every time-slot group, `solve_progress` (see `solve`) after every iteration of a Solver. Interrupted or
        failed runs leave the set readable and say in it up to which time the column is complete
        (`rimetree inspect-ms`).
        """
        chosen = run_options(**options)
        function_or_none(progress, "progress"), function_or_none(solve_progress, "solve_progress")
        self._tolerance = tolerance_of(chosen["precision"], chosen["tolerance"])
        with self._reports(solve_progress) as solves:
            raw = _core.run_forest(self._core, source_of(path), chosen, progress)
        verification = self.verification() if chosen["verify"] else None
        warnings = [*self.warnings(), *raw.pop("warnings"), *mismatches(self, path, chosen)]
        return RunReport(
            **raw,
            timing=self.timing(),
            warnings=warnings,
            notes=[*self.notes(), *solved_anew(solves)],
            verification=verification,
            solves=solves,
        )

    def get_state(self, node: NodeStub | str) -> dict:
        """All state fields of a node."""
        return {name: from_runtime(value) for name, value in self._core.get_state(self._name(node)).items()}

    def set_state(self, node: NodeStub | str, **fields) -> None:
        """Change state fields of a node; what depends on it is computed anew at the next evaluation."""
        name = self._name(node)
        changed = state_changes(name, self._core.class_of(name), fields)
        self._core.set_state(name, changed)

    def parameters(self) -> list[Parameter]:
        """The solvable Parms, in the order of the script, which is that of the vector of unknowns."""
        result, first = [], 0
        for raw in _core.forest_parameters(self._core):
            n = len(np.asarray(raw["value"]))
            limits = (np.array(raw[key]) for key in ("minimum", "maximum", "prior_mean", "prior_sigma"))
            result.append(Parameter(raw["name"], slice(first, first + n), tuple(raw["shape"]), *limits))
            first += n
        return result

    def parameter_vector(self) -> np.ndarray:
        """The values of all unknowns: those of each solvable Parm in turn, [tile, coefficient] row-major."""
        values = [np.asarray(raw["value"]) for raw in _core.forest_parameters(self._core)]
        return np.concatenate(values) if values else np.zeros(0)

    def set_parameters(self, x: np.ndarray) -> None:
        """Set all unknowns. Only what depends on those that changed is computed anew at the next evaluation."""
        vector = numbers(x, "x")
        if vector.ndim != 1:
            raise Error(f"x has shape {list(vector.shape)}, expected [unknown] as parameter_vector() gives it")
        _core.set_forest_parameters(self._core, vector)

    def value_and_gradient(
        self,
        node: NodeStub | str,
        cells: Cells | None = None,
        x: np.ndarray | None = None,
        *,
        precision: str = "double",
        tolerance: float | None = None,
    ) -> tuple[float, np.ndarray]:
        """A real number without axes, such as a ChiSquare or a LogLikelihood, and its derivatives by all unknowns.

        `x`: vector of unknowns to set first. The gradient has the shape of `parameter_vector()` and is computed in
        reverse mode: it costs a few evaluations of the node, however many unknowns there are. Raises `Error` where a
        node failed, there are no data, or the node is something else.
        """
        self._tolerance = tolerance_of(precision, tolerance)
        if x is not None:
            self.set_parameters(x)
        raw, gradient = _core.forest_gradient(
            self._core, self._name(node), cells_asked(cells).to_runtime(), precision, tolerance or 0.0
        )
        if raw["status"] == "failed":
            raise Error(failure_text(raw["failures"]))
        if gradient is None:
            raise Error(f"node {self._name(node)!r} has no data for this request")
        return float(np.asarray(raw["value"]).item()), np.array(gradient)

    def chi_square(
        self,
        node: NodeStub | str | None = None,
        cells: Cells | None = None,
        x: np.ndarray | None = None,
        *,
        ms: str | None = None,
        **options,
    ) -> tuple[float, np.ndarray]:
        """`value_and_gradient` of a ChiSquare node: on cells, or with `ms` over a whole Measurement Set.

        Over a set, options are those of `MsObjective`, and `node` may be left out where there is only one. The data are
        read at each call: make an `MsObjective` to keep them.
        """
        if ms is not None:
            if cells is not None:
                raise Error("give cells or a Measurement Set, not both: a set has cells of its own")
            objective = MsObjective(self, ms, node, **options)
            self._require_chi_square(objective.node)
            return objective(x)
        if node is None:
            raise Error("say which ChiSquare node")
        self._require_chi_square(self._name(node))
        return self.value_and_gradient(node, cells, x, **options)

    def _require_chi_square(self, name: str) -> None:
        if self._core.class_of(name) != "ChiSquare":
            raise Error(f"node {name!r} is no ChiSquare")

    def check_derivatives(
        self,
        node: NodeStub | str,
        cells: Cells | None = None,
        *,
        precision: str = "double",
        tolerance: float | None = None,
    ) -> DerivativeCheck:
        """Whether the derivatives of a node and all below it are right.

        Each node's derivative in forward mode is compared with finite differences of that node's function, in extended
        precision where its class can be evaluated in it; so an error shows at the node that makes it. If the node is a
        real number without axes, its derivatives in both modes are compared too.
        """
        tolerance_of(precision, tolerance)
        return DerivativeCheck.from_runtime(
            *_core.check_forest_derivatives(
                self._core, self._name(node), cells_asked(cells).to_runtime(), precision, tolerance or 0.0
            )
        )

    def nodes(self, class_name: str | None = None) -> list[dict]:
        """Every node, or those of a class: name, class, origin, dims, level, batch, dependencies, children (numbers of
        nodes, from 0 in the order of the script)."""
        return [self._core.node(n) for n, own in enumerate(self._core.classes()) if class_name in (None, own)]

    def plan(self, n_time: int = 1, n_freq: int = 1) -> dict:
        """What an evaluation on so many cells would do and take; nothing is executed."""
        return self._core.plan(count(n_time, "n_time"), count(n_freq, "n_freq"))

    def describe(self, cells: Cells, *, precision: str = "double", tolerance: float | None = None) -> list[dict]:
        """What the nodes that know several methods would choose on these cells, and why; nothing is executed.

        A list of dicts: `node` (the first of its batch), `text`, `seconds` (estimate on one core; 0: none).
        """
        tolerance_of(precision, tolerance)
        described = self._core.describe(cells_asked(cells).to_runtime(), precision, tolerance or 0.0)
        return [dict(zip(("node", "text", "seconds"), one, strict=True)) for one in described]

    def verification(self) -> Verification:
        """What `verify` has found since the forest was built, or in its last run."""
        return Verification(*self._core.verification(), tolerance=self._tolerance)

    def notes(self) -> list[str]:
        """How nodes with a choice did what they did, and why, each message once."""
        return self._core.notes()

    def timing(self) -> TimingReport:
        """Where the time went since the forest was built, or since `reset_timing`."""
        return TimingReport(**self._core.timing(), devices=self.device_statistics())

    def device_statistics(self) -> list[dict]:
        """What each device has been used for since the forest was built; an empty list on the host.

        Dicts of `name`; `budget_bytes`, `resident_bytes` (now) and `peak_bytes` of the memory taken there; `bytes_up`
        and `bytes_down` copied to and from it, and the `copy_seconds` that took; `hits` (arrays that were there
        already), `uploads`, `evictions`, and `spills` (evicted arrays that had to be copied to the host).
        """
        return self._core.devices()

    def reset_timing(self) -> None:
        self._core.reset_timing()

    def forget(self) -> None:
        """Let go of all results kept between evaluations."""
        self._core.forget()

    def warnings(self) -> list[str]:
        """What nodes had to say that is no error, each message once."""
        return self._core.warnings()
