"""Solving one field and spectral window, or several windows together, chunk after chunk."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from .._core import machine
from ..evaluation.solving import SolutionFlag, SolveReport
from ..forest import Forest
from ..ms import OpenSet, Tiles
from ..writing.scope import NodeScope
from .chunk_data import ChunkData
from .collected import chunk_arrays, flag_absent, flag_apart, flag_reasons, flag_untold
from .data.baseline_averaging import cells_averaged
from .data.data_counts import DataCounts, count_data, good_fractions_of, starting_amplitudes
from .data.data_weights import DataWeights
from .data.likeness import likeness_of
from .errors import CalibrationError
from .memory import check_directions, check_memory
from .model.held import Held
from .model.models import Model
from .model.predicted_tiles import KeptTiles
from .plan.chain_gauge import ChainGauge
from .plan.given_start import GivenStart
from .plan.moves import Moves
from .plan.planning import CalibrationOptions, GroupPlan
from .plan.solve_trees import SolveTree, directions_of, solve_tree
from .report.fit_reports import said_of_fit
from .report.reports import ChunkReport, summed
from .searches.smoothing import width_inside_hz
from .starts.fewer_directions import BestFit
from .starts.fits import fit_chunk
from .starts.made_fits import MadeFits
from .starts.named_values import tables_of
from .starts.signs import make_references_positive, turned_in_forest
from .starts.solved_directions import ChunkSearch
from .starts.starting_search import StartingSearch
from .starts.starting_values import StartingValues
from .terms.conventions import ranks
from .terms.full_chains import ExchangePair
from .terms.gauge import reference_antenna, reference_direction
from .terms.grid import Axis, Chunk
from .terms.redundant import flag_redundant, redundant_terms
from .terms.terms import Term

_LOOKS = 5  # at residuals, after each of which it is solved again if anything has changed
_COMPARED = 4  # chunks of which neighbours are compared in any case
_LOOKED_BYTES = 16 << 20  # of residuals at a time
_STANDING_OUT = 6.0  # standard deviations of magnitudes, in searches for robust fits


class Session:
    """Solving one field and its spectral window or windows: the forest is made once, for all chunks."""

    def __init__(
        self,
        plan: GroupPlan,
        model: Model,
        terms: Sequence[Term],
        options: CalibrationOptions,
        on_iteration: Callable[[int, float], None] | None = None,
        opened: OpenSet | None = None,
        held: Held | None = None,
    ):
        self.plan = plan
        self._held = held or Held(plan.group)
        self._set = opened or OpenSet(plan.group.path)
        self._every = list(terms)
        self.redundant = redundant_terms(terms, map(self._axes, plan.chunks), self._on_all_directions(model))
        self._terms = [term for term in terms if term.name not in self.redundant]
        self._options = options
        self._on_iteration = on_iteration
        check_directions(plan, self._terms, {term.name: directions_of(term, model) for term in self._terms}, options)
        ns = NodeScope()
        bands = {one: frequency for one, (frequency, _) in plan.bands.items()} if plan.averaging else {}
        weighed = plan.group, options.data, options.flag_data, options.noise_per, bands
        self._weights = DataWeights(*weighed, looks_before=True)
        self.tree: SolveTree = solve_tree(
            ns,
            plan.group,
            model,
            terms,
            data=options.data,
            options=options.solver,
            phase_centre_rad=options.phase_centre_rad,
            smearing=options.smearing,
            held=self._held,
            weights=self._weights.nodes if self._weights else None,
            redundant=self.redundant,
            smooth_hz=width_inside_hz(terms, plan, options),
        )
        self._gauge = ChainGauge(self.tree, self._terms, model)
        self._looked = KeptTiles(self.tree.looked, _LOOKED_BYTES) if self._weights else None
        self.need = check_memory(plan, self.tree, terms, options, self._held)
        columns = [options.data.column, *self.tree.columns]
        self._data = ChunkData(self._set, plan, columns, self.need.slots, self._weights)
        self._scope = ns
        self._forest: Forest | None = None
        self._threads = options.threads
        self._preferred = self._antenna_index(options.reference)
        self._fits = MadeFits()  # to the chunk
        self._values: dict[str, np.ndarray | float] = {}  # of each Parm, [freq] at the end of the last chunk
        self._model = model
        self.seen = model.seen(options.smearing)  # how the model is, for readers
        self._given = GivenStart(options.start, plan.group)
        # What is left out of the fit counts no more in searches; nor does what a robust one hardly looks at.
        robust = 0.0 if self._weights else _STANDING_OUT * (options.solver.robust_dof > 0)
        self._searched = DataWeights(plan.group, options.data, robust, "", bands) if robust else self._weights
        factors = self._searched.factors if self._searched else None
        self._search = StartingSearch(plan, model, self.tree, self._terms, self._set, self._held, factors)

    def _antenna_index(self, name: str | None) -> int | None:
        if name is None:
            return None
        names = [self.plan.group.antenna_names[antenna] for antenna in self.plan.group.antennas]
        if name in names:
            return names.index(name)
        there = f"there are {', '.join(names)}"
        raise CalibrationError(f"there is no antenna {name!r} with data to refer phases to; {there}")

    @property
    def errors_from_residuals(self) -> bool:
        """Whether errors of solutions say how large residuals are, whatever weights are."""
        return self._options.solver.errors_from_residuals

    @property
    def min_snr(self) -> float:
        """Solutions with less signal over noise are flagged."""
        return self._options.min_snr

    def release(self) -> None:
        """Lets go of data and results, after the last chunk."""
        self._forest = self._looked = None
        self._fits = MadeFits()  # which compare chunks in the forest
        self._data.release()
        self._search.release()
        self._weights.end(self._set)

    def keep(self, arrays: dict) -> None:
        """Take the solutions of a chunk, solved or read, as the starting values of the next one."""
        for term in self._every:
            value, flag = arrays[f"{term.name}:value"], arrays[f"{term.name}:flag"]
            own = [one for one in self.tree.parameters if one.term == term.name]
            for k, one in enumerate(own):
                usable = np.isfinite(value[k, -1]) & (flag[k, -1] == 0)
                self._values[one.node] = np.where(usable, value[k, -1], self._values.get(one.node, one.start))

    def solve(self, number: int, index: int, count: int) -> tuple[ChunkReport, dict]:
        """The report and the arrays of one chunk."""
        group, chunk = self.plan.group, self.plan.chunks[number]
        began = time.monotonic()
        data = self._data.tiles(number)
        counts = self._count(chunk, data)
        self._data.read_ahead(number + 1)
        good = counts.good
        if not self._values and good.any() and not self._held.has_amplitude:
            self._begin_with_amplitudes(starting_amplitudes(counts.magnitude, self._model.flux_jy(group)))
        reference = self._reference(chunk, good)
        if self._searched:
            self._searched.begin(number, chunk.slot_s, lambda: self._data.with_rows(chunk, data))
        fitted = BestFit(StartingValues({}), None)
        if good.any() and self.tree.solved(reference):  # else nothing is told of any term
            fitted = self._fitted(chunk, data, reference)
        arrays, scale = self._arrays(chunk, fitted, reference, counts)
        arrays |= {"good": good, "all": counts.all}
        flagged_of = flag_reasons(self._every, self.tree.parameters, arrays, group.correlations)
        report = ChunkReport(
            index=index,
            count=count,
            field_id=group.field_id,
            data_desc_ids=group.data_desc_ids,
            time_s=(float(chunk.slot_s[0]), float(chunk.slot_s[-1])),
            reference=group.antenna_names[reference],
            terms=[term.name for term in self._every],
            scale=scale,
            data_power=0.0 if self._weights else counts.power,  # which are of other weights
            data_noise=None if self._weights else counts.noise,
            alike=[[one.common, one.power, one.variance] for one in self._fits.alike(fitted.solved)],
            left_out=self._weights.left_out,
            absent=list(fitted.begin.absent),
            hidden=list(fitted.hidden),
            **said_of_fit(fitted, self._terms, self.tree.parameters),
            flagged=summed(flagged_of.values()),
            flagged_of=flagged_of,
            seconds=time.monotonic() - began,
        )
        return report, arrays

    def _reference(self, chunk: Chunk, good: np.ndarray) -> int:
        """The number of the antenna that phases of a chunk refer to; `good`: how many data of each antenna are."""
        group = self.plan.group
        if self._preferred is None:
            # Cells of which some data are flagged do not show how many are good.
            stored = None if self.plan.averaging is None else self._data.by_window(chunk, averaged=False)
            known = good if stored is None else count_data(group, self._options.data, stored, magnitudes=False).good
            self._preferred = reference_antenna(known, None)
        return group.antennas[reference_antenna(good, self._preferred)]

    def _fitted(self, chunk: Chunk, data: Tiles, reference: int) -> BestFit:
        run = functools.partial(self._run, chunk, data, reference)
        in_memory = self._data.is_whole(chunk) and len(self.plan.group.data_desc_ids) == 1
        self._search.take_tiles(data if in_memory else None)
        self._search.known = self._values
        of_what = self.forest(), self.tree, data, self._options.data, self._weights.factors
        always = any(chunk is one for one in self.plan.chunks[:: -(-len(self.plan.chunks) // _COMPARED)])
        self._fits = MadeFits(functools.partial(likeness_of, *of_what), always=always)
        where = ChunkSearch(self._search, self.tree, self._terms, self._options, chunk, reference)
        found = fit_chunk(where, run, self._fits)
        self._fits.end()
        self._search.take_tiles(None)
        return found

    def _arrays(self, chunk: Chunk, fitted: BestFit, reference: int, counts: DataCounts) -> tuple[dict, float | None]:
        """Solutions as arrays, and how much larger the data are than the model, where no term has an amplitude."""
        begin, solved = fitted.begin, fitted.solved
        moves = self._fits.moves(solved) or Moves(self.tree)
        tables = {} if solved is None else {name: tables_of(parm) for name, parm in solved.parms.items()}
        scale = tables.pop(self.tree.scale.name, None) if self.tree.scale is not None else None
        if tables:  # steps that data do not see may have led away again
            pairs = self._gauge.pairs(ranks(self._terms, self._shapes(chunk)), self._axes(chunk))
            moves.exchange(pairs, tables, self._axes(chunk), reference)
            moves.add_held(tables)
        make_references_positive(self._terms, self.tree.parameters, tables, reference)
        solved_for = self.tree.solved(reference, begin.absent, begin.released)
        asked = {one.node for one in solved_for if not moves.is_held(one.node)}
        arrays = chunk_arrays(self._every, self.tree.parameters, asked, tables, self._shapes(chunk))
        flag_absent(self._terms, self.tree.parameters, arrays, fitted)
        flag_redundant(self.redundant, self.tree.parameters, arrays)
        flag_apart(self.tree.parameters, arrays, counts.links, self._axes(chunk), reference)
        flag_untold(self.tree.parameters, arrays, self.tree.untold)
        self._flag_thin(chunk, arrays)
        return arrays, None if scale is None else float(np.median(np.abs(scale["value"])))

    def _flag_thin(self, chunk: Chunk, arrays: dict) -> None:
        """Flags solutions of which less than the least fraction of the data is good."""
        if not self._options.min_fraction > 0:
            return
        group, data = self.plan.group, self._options.data
        found = self._data.by_window(chunk, averaged=False)
        axes = {t.name: (chunk.times[t.name].edges, self.plan.frequencies[t.name].edges) for t in self._every}
        for name, fraction in good_fractions_of(group, data, found, axes).items():
            own = [one for one in self.tree.parameters if one.term == name]
            thin = fraction[[group.antennas.index(one.antenna) for one in own]] < self._options.min_fraction
            arrays[f"{name}:flag"] |= np.where(thin, SolutionFlag.NO_DATA, 0).astype(np.int32)

    def _count(self, chunk: Chunk, data: Tiles) -> DataCounts:
        rows, counted = self._data.with_rows(chunk, data), functools.partial(cells_averaged, self.plan, chunk.slot_s)
        return count_data(
            self.plan.group,
            self._options.data,
            rows,
            magnitudes=not self._values,
            stands_for=counted,
            links_by_channel=any(len(axis.centre) > 1 for axis in self.plan.frequencies.values()),
        )

    def _begin_with_amplitudes(self, amplitudes: np.ndarray) -> None:
        """Starting values with these amplitudes, for the first term of the whole sky that has any."""
        name = next((t.name for t in self._terms if t.per is None and "amplitude" in t.kind.quantities), None)
        for one in self.tree.parameters:
            if one.term == name and one.start == 1:
                self._values[one.node] = amplitudes[self.plan.group.antennas.index(one.antenna)]

    def _set_scale(self, chunk: Chunk, scale: float) -> None:
        """One scale wherever solutions are connected: for each of the longest intervals."""
        times = min((chunk.times[term.name] for term in self._terms), key=lambda axis: len(axis.centre))
        frequencies = min((self.plan.frequencies[term.name] for term in self._terms), key=lambda axis: len(axis.centre))
        value = np.full((len(times.centre), len(frequencies.centre), 1, 1), scale)
        edges = {"time_edges_s": times.edges, "freq_edges_hz": frequencies.edges}
        self.forest().set_state(self.tree.scale.name, **edges, value=value)

    @property
    def exchanging(self) -> set[str]:
        """Names of terms of such pairs."""
        pairs = self._gauge.pairs({term.name: 0 for term in self._terms}, self._axes(self.plan.chunks[0]))
        return {name for pair in pairs for name in pair.names}

    def _axes(self, chunk: Chunk) -> dict[str, tuple[Axis, Axis]]:
        return {term.name: (chunk.times[term.name], self.plan.frequencies[term.name]) for term in self._every}

    def _on_all_directions(self, model: Model) -> Callable[[Term, Sequence[Term]], bool]:
        """Whether all directions have a term, and none is held because others of the whole sky can do the same."""

        def there(term: Term, terms: Sequence[Term]) -> bool:
            every = all(term.acts_on(name) for name in model.directions(term.per))
            return every and reference_direction(term, terms, model.fluxes_jy(term.per, self.plan.group)) is None

        return there

    def _shapes(self, chunk: Chunk) -> dict[str, tuple[int, int]]:
        """(times, frequencies) of the solutions of each term in a chunk."""
        frequencies = self.plan.frequencies
        return {t.name: (len(chunk.times[t.name].centre), len(frequencies[t.name].centre)) for t in self._every}

    def share(self, others: int) -> None:
        """Before anything is solved: so many sessions are solved at a time, and each gets its part of the cores."""
        if others > 1:
            self._threads = max(1, (self._threads or int(machine()["threads"])) // others)

    def forest(self) -> Forest:
        """The compiled tree, made when it is first asked for."""
        if self._forest is None:
            memory, device = self._options.memory_bytes, self._options.device
            self._forest = Forest(self._scope, threads=self._threads, memory_bytes=memory, device=device)
        return self._forest

    def _run(
        self, chunk: Chunk, data: Tiles, reference: int, begin: StartingValues, only: set[str] | None = None
    ) -> SolveReport | None:
        """The Solver's report on a chunk; None if it solved nothing. `only`: Parms that are solved for (None: all)."""
        forest = self.forest()
        rank = ranks(self._terms, self._shapes(chunk))
        pairs = self._gauge.pairs(rank, self._axes(chunk))
        asked = self._begin_at(chunk, reference, begin, only, rank, pairs)
        solved = self._solved(data, reference)
        if only is not None:
            return solved
        if solved is not None and turned_in_forest(forest, self._terms, self.tree.parameters, solved, reference):
            solved = self._solved(data, reference).after(solved)
        moves = Moves(self.tree)
        if (pairs or self.tree.axes) and solved is not None:
            tables = {name: tables_of(parm) for name, parm in solved.parms.items()}
            moves.exchange(pairs, tables, self._axes(chunk), reference)
            moves.turn(tables, reference)
            moves.into(forest)
            left = [node for node in asked if not moves.is_held(node)]
            forest.set_state(self.tree.solver, parms=self.tree.planes.parms(left))
            again = self._solved(data, reference)
            solved = again if pairs else again.after(solved)
        for _ in range(_LOOKS if self._weights else 0):
            if solved is None or not self._look(chunk):
                break
            solved = self._solved(data, reference)
        self._fits.add(solved, moves, in_doubt=begin.lowest is False)
        return solved

    def _begin_at(
        self,
        chunk: Chunk,
        reference: int,
        begin: StartingValues,
        only: set[str] | None,
        rank: Mapping[str, int],
        pairs: Sequence[ExchangePair],
    ) -> set[str]:
        """Gives all Parms the solution tiles of a chunk and their starting values. The names of those that are solved
        for. `rank`, `pairs`: as of `ChainGauge.rank`."""
        forest, shapes = self.forest(), self._shapes(chunk)
        solved_for = self.tree.solved(reference, begin.absent, begin.released)
        asked = {one.node for one in solved_for if only is None or one.node in only}
        gone = {one.node for one in self.tree.parameters if one.scales and one.direction in begin.absent}
        asked -= gone
        for direction, node in self.tree.presence.items():
            # Of each antenna's matrix, of which a baseline has two.
            there = 1.0 if only is None else math.sqrt(begin.share.get(direction, 1.0))
            forest.set_state(node.name, value=0.0 if direction in begin.absent else there)
        for name, node in self.tree.middles.items():
            times, frequencies = chunk.times[name], self.plan.frequencies[name]
            edges = {"time_edges_s": times.edges, "freq_edges_hz": frequencies.edges[[0, -1]]}
            forest.set_state(node.name, **edges, value=times.centre.reshape(-1, 1, 1, 1))
        held, starts = self.tree.held_turns(), {}
        for one in self.tree.parameters:
            axes = chunk.times[one.term], self.plan.frequencies[one.term]
            known = self._given.value(one, *axes, reference, held.get((one.term, one.direction), ()))
            if known is None:
                known = begin.values.get(one.node, self._values.get(one.node, one.start))
            known = 0.0 if one.node in gone else known if one.node in asked else one.start
            start = np.broadcast_to(known, shapes[one.term])
            state = {"time_edges_s": axes[0].edges, "freq_edges_hz": axes[1].edges}
            starts[one.node] = start, {**state, "normalised": self._gauge.rank(one, rank, pairs, reference)}
        for name, (start, state) in self.tree.planes.starts(starts).items():
            forest.set_state(name, value=np.ascontiguousarray(start[:, :, None, None]), **state)
        if self.tree.scale is not None:
            asked.add(self.tree.scale.name)
            self._set_scale(chunk, 1.0 if begin.scale is None else begin.scale)
        forest.set_state(self.tree.solver, parms=self.tree.planes.parms(asked))
        return asked

    def _look(self, chunk: Chunk) -> bool:
        """Looks at the residuals of a chunk; whether the weights have changed."""
        return self._weights.look(self._looked, self.forest(), self._set, self._data.options(chunk))

    def _solved(self, data: Tiles, reference: int) -> SolveReport | None:
        show, forest = self._on_iteration, self.forest()
        accuracy = {"precision": self._options.precision, "tolerance": self._options.tolerance}
        tell = None if show is None else lambda _, iteration, chi_square, *__: show(iteration, chi_square)
        solves = forest.solve_tiles(data, **accuracy, progress=tell)
        # Rows of a baseline that a slot has twice are in a tile of their own: the one with most data counts.
        found = max(solves, key=lambda one: sum(g.equations for g in one.groups), default=None)
        return self.tree.planes.expanded(found, reference)
