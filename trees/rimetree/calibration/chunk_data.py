"""The data of the chunks of a plan: as the Solver reads them, and window by window; the next ones are read ahead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..ms import OpenSet, Tiles, run_options, tiles, without_averaging
from .data.data_weights import DataWeights
from .memory import AHEAD_BYTES, is_read_ahead
from .model.predicted_tiles import slots_within
from .plan.planning import GroupPlan
from .terms.grid import Chunk


class ChunkData:
    """`columns`: of the data, and of the model; `slots`: that may be in memory together; `weights`: what has to be said
    of data before they are averaged."""

    def __init__(self, opened: OpenSet, plan: GroupPlan, columns: Sequence[str], slots: int, weights: DataWeights):
        self._set, self._plan, self._weights = opened, plan, weights
        self._columns, self._slots = list(dict.fromkeys(columns)), slots
        self._data_column, self._n_model = columns[0], len(columns) - 1
        self._ahead: tuple[int, Tiles] | None = None  # a chunk that is being read

    def release(self) -> None:
        """Lets go of what has been read ahead."""
        self._ahead = None

    def is_whole(self, chunk: Chunk) -> bool:
        """Whether all of a chunk is in memory at a time."""
        return self._slots >= len(chunk.slot_s)

    def tiles(self, number: int) -> Tiles:
        """The data of a chunk, all windows joined: in one tile if that fits into memory."""
        if self._ahead is not None and self._ahead[0] == number:
            found, self._ahead = self._ahead[1], None
            return found
        chunk, group = self._plan.chunks[number], self._plan.group
        self._weights.before_averaging(self._set, number, self.span_s(chunk))
        # Of baselines that are averaged differently there are several tiles, which are small.
        keep = self._plan.averaging is not None and self.is_whole(chunk)
        options = {"keep": keep} | run_options(join_windows=len(group.data_desc_ids) > 1, **self.options(chunk))
        return Tiles(self._set, self._columns, options, ahead=True)

    def read_ahead(self, number: int) -> None:
        """Begin to read a chunk while another is solved, if it is small."""
        if number >= len(self._plan.chunks):
            return
        if is_read_ahead(self._plan, len(self._plan.chunks[number].slot_s), self._n_model):
            self._ahead = (number, self.tiles(number))
            self._ahead[1].begin()

    def options(self, chunk: Chunk) -> dict:
        """What `run_options` takes for the rows of a chunk, as many slots at a time as there is memory for."""
        slots = min(len(chunk.slot_s), self._slots)
        return {**self._plan.group.selection, "time_range_s": self.span_s(chunk), "time_slots": slots}

    def span_s(self, chunk: Chunk) -> tuple[float, float]:
        """The times (MJD, seconds) between which the rows of a chunk are."""
        return chunk.slot_s[0] - self._plan.margin_s, chunk.slot_s[-1] + self._plan.margin_s

    def by_window(self, chunk: Chunk, *, averaged: bool = True) -> Iterator[dict]:
        """The data of a chunk, window by window; averaged as the group is, or as they are stored."""
        # Few slots at a time: the data of the whole chunk, all windows joined, are in memory beside them.
        some = min(len(chunk.slot_s), self._slots, slots_within(self._plan.group, 0, AHEAD_BYTES))
        selection = self._plan.group.selection
        options = {**(selection if averaged else without_averaging(selection)), "time_range_s": self.span_s(chunk)}
        return tiles(self._set, [self._data_column], **options, time_slots=some)

    def with_rows(self, chunk: Chunk, data: Tiles) -> Iterable[dict]:
        """The same of a chunk's `data` that have been asked for: joined windows do not say any more what the rows of
        each were."""
        return self.by_window(chunk) if len(self._plan.group.data_desc_ids) > 1 else data
