"""What solving a chunk takes in memory, before anything is read."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..machine import free_memory_bytes, give_back_freed_memory, resident_bytes, size_text
from .data.coherence import SEARCHED_BYTES
from .errors import CalibrationError
from .model.held import Held
from .model.predicted_tiles import slots_within
from .plan.planning import CalibrationOptions, GroupPlan
from .plan.solve_trees import SolveTree
from .terms.grid import Chunk
from .terms.kinds import FREQUENCY_QUANTITIES, ROTATIONS, TIME_QUANTITIES, observed_elements
from .terms.planes import MOST_SLOPES
from .terms.terms import Term, has_amplitude

_COMPLEX, _REAL, _FLAG = 16, 8, 4  # bytes of a number of a result
_FROM_SET = 8 + 4 + 1  # of a visibility in a column, its weight and its flag
_MARGIN = 1.2  # what was taken in trials was at most so much, and 60 MiB
AHEAD_BYTES = 16 << 20  # chunks up to this are read while the one before is solved
SMALL_BYTES = 32 << 20  # what passes by: parts of arrays that are converted, and the like
_MORE_THAN_HELD = 1.1  # what is counted of unknowns, over those that are solved for at least
_PORTION = 4 << 20  # of results at a time, where none are looked at again
_AT_ONCE = 512 << 20  # of data: more is read in parts, which costs no more where it is looked at once
_FEW_UNKNOWNS, _MOST_DENSITY, _SPARSE_ELEMENT = 500, 0.3, 80
_MOST_ELEMENTS, _STEPS = 2e7, 6 * _REAL
_LOOKED = 4 * (4 + 1) + 4 * 4  # of a cell: magnitudes, outliers, and what medians are made of
_RESIDUALS = 32 << 20  # values and results of some baselines while residuals are looked at
_SCALARS = 8 * _REAL  # of sums over a block: powers, chi-squares, counts
_PART = 32 << 20  # of stored data, of which averaged ones are made at a time
_FEW_DIRECTIONS, _FAR_TOO_MUCH = 50, 2.0  # of the estimate before there is a tree
_SPARE = 128 << 20  # of arrays of averaged tiles, at most, that wait for tiles of the next chunks


@dataclass(frozen=True)
class MemoryNeed:
    """Bytes for one chunk. `data`: visibilities, weights and flags as read; `results`: the same and the model as nodes
    have them, of all baselines, or of some at a time where that is too much; `equations`: matrices of the unknowns, and
    sums over the data. `search`: of what is looked at for starting values, before results and equations are there.
    `reading`: of what averaged data are made of, as far as it is more than what is there later, and of arrays that wait
    for the next ones.
    `matrices`: of `equations`, what is of the unknowns alone, however few slots are in memory.
    `slots`: time slots that are in memory at a time, of so many (`all_slots`) in the chunk."""

    data: int
    results: int
    equations: int
    slots: int = 1
    all_slots: int = 1
    search: int = 0
    reading: int = 0
    matrices: int = 0

    @property
    def total(self) -> int:
        return self.data + self.results + self.equations

    def of_command(self) -> int:
        """What the process takes in all: this, and what it has already once trees are made."""
        give_back_freed_memory()  # which is not needed, but counted with what is
        return resident_bytes() + self.total + self.search + self.reading + SMALL_BYTES

    def __str__(self) -> str:
        some = f", {self.slots} of {self.all_slots} time slots at a time" if self.slots < self.all_slots else ""
        return (
            f"{size_text(self.total)} (data {size_text(self.data)}, results of nodes {size_text(self.results)}, "
            f"equations {size_text(self.equations)}{some})"
        )


def memory_need(
    plan: GroupPlan,
    chunk: Chunk,
    tree: SolveTree,
    terms: Sequence[Term],
    budget: int,
    slots: int | None = None,
    *,
    robust: bool = False,
    successive: bool = False,
    held: Held | None = None,
) -> MemoryNeed:
    """An estimate for one chunk of a plan: what is large, without small change such as UVW.

    `budget`: what results may take, as of the forest. `slots`: that are looked at at a time; None: all. `robust`:
    whether data are looked at in each iteration. `successive`: whether directions are solved for in turns. `held`:
    terms that are known.
    """
    n_baseline, all_slots = len(plan.group.baselines), len(chunk.slot_s)
    slots = all_slots if slots is None else min(slots, all_slots)
    cells = int(n_baseline * slots * plan.n_channel * _left_by_averaging(plan))
    data = data_bytes(plan, slots, tree.n_column)
    if slots < all_slots:
        data *= 2  # the next are read meanwhile
    per_cell = 4 * (_COMPLEX + _FLAG) + 4 * (_REAL + _FLAG)  # data and weights [2,2]
    per_cell += 4 * (_COMPLEX * tree.n_part + _FLAG * tree.n_column)
    of_antenna, of_baseline = (held or Held(plan.group)).bytes_per_cell(tree.n_part)
    per_cell += of_baseline
    magnitudes = int(n_baseline * all_slots * plan.n_channel * _left_by_averaging(plan) * _LOOKED)  # of all data
    per_cell += 8 * _REAL * bool(tree.looked)  # factors of weights
    tiles = {t.name: (len(chunk.times[t.name].centre), len(plan.frequencies[t.name].centre)) for t in terms}
    counts = Counter((one.term, one.direction) for one in tree.parameters if not one.fixed)
    planes = {term.name for term in terms if term.plane}
    counts = {key: min(count, MOST_SLOPES) if key[0] in planes else count for key, count in counts.items()}
    sums = _sums(plan, tiles, tree.n_part, terms, len(chunk.slot_s))
    results = cells * per_cell
    if sums <= budget // 2:  # as the Solver: so many baselines at a time
        kept = budget // 2 if robust else min(budget // 2, _PORTION)
        if results > kept:
            results = max(min(budget // 8, _PORTION), results // n_baseline)
    results += len(plan.group.antennas) * slots * plan.n_channel * of_antenna
    parts = [(count, tiles[name]) for (name, _), count in counts.items()]
    matrices = _matrices(parts, budget, successive=successive, has_sums=sums <= budget // 2) if parts else 0
    equations = matrices + sums
    if tree.looked:  # read again with the residuals, once equations are solved
        data += max(0, data + magnitudes + min(_RESIDUALS, cells * per_cell) - equations)
    search = _search_bytes(plan, all_slots, tree, terms, held, in_memory=slots == all_slots)
    if robust and not tree.looked:  # before there are results
        search = max(search, magnitudes - results)
    again = len(plan.chunks) > 1 or bool(tree.looked)
    reading = _reading_bytes(plan, slots, tree.n_column, again=again)
    ahead = plan.averaging is not None or is_read_ahead(plan, all_slots, tree.n_column)
    if not (again and ahead):  # that is over before results and equations are there
        reading = max(0, reading - results - equations)
    return MemoryNeed(data, results, equations, slots, all_slots, search, reading, matrices)


def _search_bytes(
    plan: GroupPlan, all_slots: int, tree: SolveTree, terms: Sequence[Term], held: Held | None, *, in_memory: bool
) -> int:
    """Tiles with the model beside them, as far as starting values are searched for or parts of the sky looked at one by
    one (`StartingSearch`); `in_memory`: all data of a chunk are there already."""
    turning = [term for term in terms if term.turns or term.kind.name in ROTATIONS]
    if has_amplitude(terms) and not turning and not tree.gains_of:
        return 0
    n_baseline = len(plan.group.baselines)
    apart = bool(tree.gains_of) or any(term.per is not None for term in turning)
    n_part = tree.n_part if apart else 1
    of_columns = tree.n_column > 0 and not (held and held.inner)  # which are looked at as they are read
    if of_columns and in_memory and len(plan.group.data_desc_ids) == 1:
        return SMALL_BYTES
    n_model, n_column = (0, tree.n_column) if of_columns else (n_baseline * n_part, 0)
    slots = min(all_slots, slots_within(plan.group, n_model, SEARCHED_BYTES, n_column))
    models = 2 * n_model * slots * plan.n_channel * 4 * _COMPLEX  # as results, and beside the data
    return 2 * data_bytes(plan, slots, tree.n_column) + models


def data_bytes(plan: GroupPlan, slots: int, n_column: int) -> int:
    """What the data of so many time slots and the columns of the model take as they are read."""
    return int(_stored_bytes(plan, slots, n_column) * _left_by_averaging(plan))  # they are read in small parts


def is_read_ahead(plan: GroupPlan, slots: int, n_column: int) -> bool:
    """Whether a chunk of so many time slots is read while the one before is solved."""
    return data_bytes(plan, slots, n_column) < AHEAD_BYTES


def _stored_bytes(plan: GroupPlan, slots: int, n_column: int) -> int:
    """Bytes of the data of so many time slots as they are stored, before they are averaged."""
    cells = len(plan.group.baselines) * slots * plan.n_channel
    return cells * len(plan.group.correlations) * (_FROM_SET + 8 * n_column)


def _reading_bytes(plan: GroupPlan, slots: int, n_column: int, *, again: bool) -> int:
    """What averaging takes besides what it leaves, and one window beside all of them joined. `again`: whether more than
    one chunk is read, or one more than once."""
    largest = max(len(frequency) for frequency, _ in plan.bands.values())
    window = int(data_bytes(plan, slots, n_column) * largest / plan.n_channel) if len(plan.bands) > 1 else 0
    if _left_by_averaging(plan) == 1.0:
        return window
    part = min(_PART, _stored_bytes(plan, slots, n_column))
    if not again:
        return window + part
    if plan.averaging is None:
        ahead = is_read_ahead(plan, slots, n_column)
        return window + part + ahead * data_bytes(plan, slots, n_column)
    # Tiles of a chunk are of several sizes: arrays of the last chunk are there beside those of the next one.
    return min(_SPARE, window + part + 2 * data_bytes(plan, slots, n_column))


def _left_by_averaging(plan: GroupPlan) -> float:
    """Which part of the cells is left where all baselines are averaged alike, or each by its loss."""
    if plan.averaging is not None and plan.averaging.cells_before > 0:
        return plan.averaging.cells / plan.averaging.cells_before
    options = plan.group.selection
    slots, channels = max(1, options.get("average_slots", 1)), max(1, options.get("average_channels", 0))
    if width_hz := options.get("average_width_hz", 0.0):
        steps = [abs(float(np.median(np.diff(one)))) for one, _ in plan.bands.values() if len(one) > 1]
        channels = max([channels, *(int(width_hz / step + 1e-3) for step in steps if step > 0)])
    return 1.0 / (slots * min(channels, max(1, plan.n_channel)))


def _sums(plan: GroupPlan, tiles: dict[str, tuple[int, int]], n_part: int, terms: Sequence[Term], slots: int) -> int:
    # Sums over the data of each block on which no solution changes (Jones terms; see the Solver).
    blocks = [max(count[axis] for count in tiles.values()) for axis in (0, 1)]
    quantities = {quantity for term in terms for quantity in term.kind.quantities}
    if FREQUENCY_QUANTITIES & quantities:
        blocks[1] = plan.n_channel
    if TIME_QUANTITIES & quantities:
        blocks[0] = slots
    basis = n_part if all(term.kind.diagonal for term in terms) else 4 * n_part
    of_element = _COMPLEX * (basis + basis * (basis + 1) // 2) + _SCALARS
    return len(plan.group.baselines) * blocks[0] * blocks[1] * 4 * of_element


def _matrices(
    parts: Sequence[tuple[int, tuple[int, int]]], budget: int, *, successive: bool, has_sums: bool = True
) -> int:
    """Normal matrices. `parts`: of each direction of each term, how many unknowns an interval has, and how many
    intervals there are in time and frequency. `successive`: directions are solved for in turns where that is needed.
    `has_sums`: whether there are sums over the data, without which nothing is solved for in turns.

    Solutions that share no data are solved apart; those of the longest intervals connect the others.
    """
    groups = min(t for _, (t, _) in parts) * min(f for _, (_, f) in parts)
    unknowns = sum(n * t * f for n, (t, f) in parts) / groups
    if unknowns <= _FEW_UNKNOWNS:
        return int(groups * 3 * _REAL * unknowns**2)
    elements = sum(n * n * t * f / 2 for n, (t, f) in parts) / groups
    alike: dict[tuple[int, int], list[int]] = {}
    for n, tiles in parts:
        alike.setdefault(tiles, []).append(n)
    for (t, f), own in alike.items():
        elements += (sum(own) ** 2 - sum(n * n for n in own)) / 2 * t * f / groups
    for (one, own), (other, others) in itertools.combinations(alike.items(), 2):
        elements += sum(own) * sum(others) * max(one[0], other[0]) * max(one[1], other[1]) / groups
    # As the Solver: large matrices that are mostly empty are kept so, and their factors take some times as much.
    is_sparse = elements < _MOST_DENSITY * unknowns**2 / 2
    size = groups * (elements * _SPARSE_ELEMENT if is_sparse else 3 * _REAL * unknowns**2)
    several = len({tiles for _, tiles in parts}) > 1
    if has_sums and ((several and elements > _MOST_ELEMENTS) or size > (budget or math.inf)):
        turns: dict[tuple, int] = {}
        for k, (n, tiles) in enumerate(parts):  # of one kind of intervals, or one direction, after the other
            turn = (tiles, k) if successive or not several else (tiles,)
            turns[turn] = turns.get(turn, 0) + n
        own = sum(n * n * turn[0][0] * turn[0][1] / 2 for turn, n in turns.items())
        # What data leave open between terms is a step of all unknowns for each of those of one interval.
        return int(own * _SPARSE_ELEMENT + min(turns.values()) * unknowns * groups * _STEPS)
    return int(size)


def check_memory(
    plan: GroupPlan,
    tree: SolveTree,
    terms: Sequence[Term],
    options: CalibrationOptions,
    held: Held | None = None,
) -> MemoryNeed:
    """What the largest chunk of a plan needs: with all its time slots in memory if they fit, else with as many as do.

    They fit if the command takes no more than `memory_bytes` of the options, or the chunk no more than is free, and if
    data that are looked at once are not too much to be worth it. Raises `CalibrationError`, with what to do, where one
    slot at a time is more than there is.
    """
    there_is = options.memory_bytes or free_memory_bytes()
    budget = options.memory_bytes or there_is // 2
    robust = options.solver.robust_dof > 0
    how = {"robust": robust, "successive": options.solver.successive, "held": held}

    def needed(slots: int | None) -> MemoryNeed:
        needs = (memory_need(plan, chunk, tree, terms, budget, slots, **how) for chunk in plan.chunks)
        return max(needs, key=lambda one: one.total)

    def too_much(need: MemoryNeed) -> bool:
        if there_is and _MARGIN * need.total > there_is:
            return True
        if need.slots == 1 or need.total < SMALL_BYTES:
            return False
        again = robust or bool(tree.looked)
        beside = bool(options.memory_bytes) and need.of_command() > options.memory_bytes
        return beside or (not again and need.data > _AT_ONCE)

    need = needed(None)
    # What the Solver refuses: known before starting values are searched for.
    if budget and need.matrices > _MORE_THAN_HELD * budget:
        raise _of_equations(plan, terms, need.matrices, budget)
    while too_much(need):
        if need.slots == 1:
            group = plan.group
            raise CalibrationError(
                f"field {group.field_id}: solving for {', '.join(repr(str(t)) for t in terms)} on {need.all_slots} "
                f"time slots, {len(group.baselines)} baselines and {plan.n_channel} channels takes about {need}, and "
                f"with a margin for what is not in this estimate {size_text(_MARGIN * need.total)}; there "
                f"{'may be' if options.memory_bytes else 'is'} {size_text(there_is)}. Give the term of the longest "
                "interval a shorter one, or average the data"
            )
        need = needed((need.slots + 1) // 2)
    return need


def check_directions(
    plan: GroupPlan, terms: Sequence[Term], directions: dict[str, Sequence[str]], options: CalibrationOptions
) -> None:
    """Raises `CalibrationError` where equations are too large by far: trees of thousands of directions take minutes to
    make, and gigabytes. `directions`: of each term."""
    there_is = options.memory_bytes or free_memory_bytes()
    n_part = max(len(own) for own in directions.values())
    if not there_is or n_part < _FEW_DIRECTIONS:
        return
    budget = options.memory_bytes or there_is // 2
    group = plan.group
    names = [group.antenna_names[antenna] for antenna in group.antennas]
    chunk = plan.chunks[0]
    tiles = {t.name: (len(chunk.times[t.name].centre), len(plan.frequencies[t.name].centre)) for t in terms}
    parts = []
    for term in (term for term in terms if term.kind.name != "parallactic"):
        free = [e for e in term.elements if e not in term.kind.given]
        seen = sum(observed_elements(free, group.correlations)) * len(term.kind.quantities)
        n = seen * (len({term.shared_by(names, name) for name in names}) - 1)  # without the reference antenna
        n = min(n, MOST_SLOPES) if term.plane else n
        parts += [(n, tiles[term.name])] * (len(directions[term.name]) if n > 0 else 0)
    has_sums = _sums(plan, tiles, n_part, terms, len(chunk.slot_s)) <= budget // 2
    size = _matrices(parts, budget, successive=options.solver.successive, has_sums=has_sums) if parts else 0
    if size > _FAR_TOO_MUCH * budget:
        raise _of_equations(plan, terms, size, budget, f" in {n_part} directions")


def _of_equations(plan: GroupPlan, terms: Sequence[Term], size: int, budget: int, where: str = "") -> CalibrationError:
    return CalibrationError(
        f"field {plan.group.field_id}: solving for {', '.join(repr(str(t)) for t in terms)}{where} takes equations of "
        f"{size_text(size)}, and the budget for these is {size_text(budget)}. Give the term of the longest interval a "
        "shorter one, others longer ones, solve for terms in turn, or in fewer directions"
    )
