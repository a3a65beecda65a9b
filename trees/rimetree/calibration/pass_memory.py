"""What goes over the data takes in memory once solutions are there: reports of residuals, and subtracting the model."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ..arguments import checked
from ..machine import give_back_freed_memory, resident_bytes
from ..ms import MsGroup, groups
from ..sky import SkyModel
from .apply import slots_of_tree
from .memory import SMALL_BYTES
from .model.models import ModelColumns, Models, PredictedSky
from .plan.planning import CalibrationOptions
from .report.residual_data import MODEL_BYTES, slots_of_report
from .terms.terms import Term

_OF_VISIBILITY = 8 + 4 + 1  # column, weight, flag
# Bytes of a cell while a model is subtracted, as plans of such trees say: data, model, what is left, what is corrected,
# and their flags; of columns of a model, and of each direction, more.
_SUBTRACTED, _OF_COLUMNS, _OF_DIRECTION = 390, 64, 72


@checked
def memory_of_passes(
    path: str | os.PathLike,
    sky: SkyModel | ModelColumns | dict[int, SkyModel | ModelColumns],
    terms: Sequence[Term],
    options: CalibrationOptions,
    *,
    report: bool,
    subtract: bool,
) -> int:
    """Bytes that the whole command takes while it goes over the data of its fields and windows for a report, or to
    subtract the model, whichever is more; 0 without either. Raises what reading the set does."""
    if not (report or subtract):
        return 0
    models, most = Models(sky), 0
    for group in groups(path, **options.rows, by_window=True):
        if models.knows(group):
            model, pers = models.of(group), {term.per for term in terms if term.per is not None}
            most = max(most, *_of_group(group, model, pers, options.memory_bytes, report, subtract))
    give_back_freed_memory()
    return resident_bytes() + most + SMALL_BYTES


def _of_group(
    group: MsGroup, model: PredictedSky | ModelColumns, pers: set[str], memory_bytes: int | None, report, subtract
) -> list[int]:
    n_column = len(model.column_names)
    n_part = n_column or sum(len(model.directions(per)) for per in pers) or 1
    cells_of_slot = len(group.baselines) * group.n_channel
    needs = []
    if report:
        slots = min(group.n_time, slots_of_report(group, n_column))
        values = min(MODEL_BYTES, cells_of_slot * slots * 64 * n_part)
        # The next tile is read meanwhile; models are there as nodes make them, and in one array.
        needs.append(_tiles(group, slots, n_column) + 2 * values)
    if subtract:
        slots = min(group.n_time, slots_of_tree(group))
        of_cell = _SUBTRACTED + _OF_COLUMNS * bool(n_column) + _OF_DIRECTION * n_part * bool(pers)
        results = cells_of_slot * slots * of_cell
        results = results if memory_bytes is None else min(results, memory_bytes)
        needs.append(_tiles(group, slots, n_column) + _tiles(group, slots, 0) + results)
    return needs


def _tiles(group: MsGroup, slots: int, n_column: int) -> int:
    """A tile of so many slots, and the next one."""
    of_slot = len(group.baselines) * group.n_channel * len(group.correlations) * (_OF_VISIBILITY + 8 * n_column)
    return of_slot * min(2 * slots, group.n_time)
