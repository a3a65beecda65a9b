"""What would be solved: the options of a calibration, and its fields, windows, channels and chunks."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ... import ms
from ..._core import SPEED_OF_LIGHT_M_S
from ...arguments import check_fields, checked
from ...ms import MsGroup, groups
from ...ms.group import require_slots
from ..errors import CalibrationError
from ..solutions.solutions import Solutions
from ..solutions.term_solutions import INTERPOLATIONS
from ..terms.grid import Axis, Chunk, channels_of_windows, chunks_of
from ..terms.kinds import TIME_QUANTITIES
from ..terms.terms import Term
from .averaged_like import BaselineAveraging
from .single_channels import single_channels, warn_of_single_channels
from .solve_trees import DataSelection, SolverOptions

_MOST_LOST = 0.01
_LONGER = (
    "data are averaged over more than a solution interval of term {name}: give a smaller {option}, or the term longer "
    "intervals"
)


@dataclass(frozen=True)
class CalibrationOptions:
    """Which data to solve on, how, and where to keep the solutions.

    `data_desc_id`, `field_id`, `selection`: only these rows and channels. `in_turn`: one term is solved for after the
    other, those whose turn has been are held. `held`: solutions (of windows) that are held all the time, outside the
    terms, or lists of them, of several files, the outermost first; `interpolation`: of what is held, "nearest" or
    "linear". `start`: solutions that terms of the same name begin at. `flag_solutions`: flag those that stand out by
    so many standard deviations (0: none). `flag_data`: the same of visibilities, which are left out of the solve.
    `noise_per`: "baseline" or "channel": weights follow the noise that the residuals of each show ("": they are
    believed). `min_fraction`: flag solutions of less than this fraction of good data; `min_snr`: or with less signal
    over noise than this, which wants a term with amplitudes.
    `average_loss`: each baseline is averaged on reading over as many slots and channels as lose at most this part of
    the amplitude of a source `average_radius_rad` from the phase centre (None: the farthest of the sky model); 0: as
    `selection` says. `reference`: name of the antenna that phases refer to (None: one with many good data).
    `phase_centre_rad`: where the UVW point, if not where the FIELD table says; `selection.phase_centre_rad`: where data
    are moved on reading.
    `chunk_bytes`: solution intervals in time whose data, together, are not more are solved in one go.
    `resume`: go on where a run that was interrupted ended. `overwrite`: replace a file of solutions, and forget an
    interrupted run. `precision`, `tolerance`, `device`, `threads`, `memory_bytes`: as of `Forest` and its `run`.
    `provenance`: what to note in the file.
    """

    data: DataSelection = field(default_factory=DataSelection)
    solver: SolverOptions = field(default_factory=SolverOptions)
    data_desc_id: int | Sequence[int] | None = None
    field_id: int | Sequence[int] | None = None
    selection: ms.Selection = field(default_factory=ms.Selection)
    in_turn: bool = False
    held: Sequence[Solutions] | Sequence[Sequence[Solutions]] = ()
    interpolation: str = "nearest"
    start: Sequence[Solutions] = ()
    flag_solutions: float = 0.0
    flag_data: float = 0.0
    noise_per: str = ""
    min_fraction: float = 0.0
    min_snr: float = 0.0
    average_loss: float = 0.0
    average_radius_rad: float | None = None
    reference: str | None = None
    phase_centre_rad: tuple[float, float] | None = None
    smearing: bool = True
    precision: str = "double"
    tolerance: float | None = None
    device: str | None = None
    threads: int | None = None
    memory_bytes: int | None = None
    chunk_bytes: int = 4 << 20
    resume: bool = False
    overwrite: bool = False
    provenance: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_fields(self)
        _check_ranges(self)
        if not 0 <= self.average_loss < 1:
            raise CalibrationError(
                f"average_loss is a part of the amplitude, from 0 to below 1, not {self.average_loss}"
            )
        if self.average_loss > 0 and self.selection.averages:
            raise CalibrationError(
                "baselines are averaged by their loss, or all over the same slots and channels: give the loss or the "
                "numbers, not both"
            )
        if self.average_radius_rad is not None and not (
            self.average_loss > 0 and 0 <= self.average_radius_rad <= np.pi
        ):
            raise CalibrationError("a distance for averaging is from 0 to 180 deg, and goes with a loss: give that too")
        if self.phase_centre_rad is not None and self.selection.phase_centre_rad is not None:
            raise CalibrationError(
                "data can be moved from the phase centre in the FIELD table only, not from another one that is given "
                "for their UVW: correct the FIELD table first"
            )

    @property
    def held_files(self) -> list[list[Solutions]]:
        """What is held, file by file: two files may have terms of the same names."""
        alone = [one for one in self.held if isinstance(one, Solutions)]
        return [*([alone] if alone else []), *(list(one) for one in self.held if not isinstance(one, Solutions))]

    @property
    def is_moved(self) -> bool:
        """Whether the phase centre is not that of the FIELD table."""
        return self.phase_centre_rad is not None or self.selection.phase_centre_rad is not None

    @property
    def rows(self) -> dict:
        """What to give `ms.groups` for the rows and channels chosen, antennas in one order."""
        selection = replace(self.selection, one_order=True)
        return {"data_desc_id": self.data_desc_id, "field_id": self.field_id, "selection": selection}


@dataclass(frozen=True, eq=False)
class GroupPlan:
    """What is solved for one field and spectral window: its channels' intervals for each term, and its chunks; the
    `terms`; the channels of each window as they are stored, from the first chosen one to the last: `bands` {data
    description: (centres, which are chosen)}; and how its baselines are averaged, if that is by their loss."""

    group: MsGroup
    frequencies: dict[str, Axis]
    chunks: list[Chunk]
    margin_s: float  # rows of a slot are this near to its time
    n_channel: int  # of all its windows
    terms: tuple[Term, ...]
    bands: dict[int, tuple[np.ndarray, np.ndarray]]
    averaging: BaselineAveraging | None = None

    def averaging_json(self) -> dict:
        """How baselines are averaged, for which terms of which field and windows, as a dict of JSON types."""
        about = {"field": self.group.field_id, "windows": list(self.group.data_desc_ids)}
        about["terms"] = [term.name for term in self.terms]
        return about | (self.averaging.to_json() if self.averaging is not None else {})


def _check_ranges(options: CalibrationOptions) -> None:
    """Raises for numbers, and names of choices, that mean nothing; None is what is not asked for."""
    ranges = {"min_fraction": (0, 1), "min_snr": (0, np.inf), "flag_solutions": (0, np.inf), "flag_data": (0, np.inf)}
    ranges |= {"memory_bytes": (1, np.inf), "threads": (1, np.inf)}
    for name, (least, most) in ranges.items():
        value = getattr(options, name)
        if value is not None and not least <= value <= most:
            upper = "on" if most == np.inf else f"to {most}"
            raise CalibrationError(f"{name} is a number from {least} {upper}, not {value}")
    for name, choices in (("noise_per", ("", "baseline", "channel")), ("interpolation", INTERPOLATIONS)):
        if getattr(options, name) not in choices:
            known = ", ".join(map(repr, choices))
            raise CalibrationError(f"{name} is one of {known}, not {getattr(options, name)!r}")


@checked
def plan_groups(
    path: str | os.PathLike, terms: Sequence[Term], options: CalibrationOptions, *, summary: dict | None = None
) -> list[GroupPlan]:
    """What would be solved; reads no visibilities. Raises `Error` where nothing is selected.

    Each field and spectral window is a group of its own; the windows of a field are one where a term asks for that.
    `summary`: what `ms.inspect` said, if it was asked already.
    """
    plans, single, opened = [], [], ms.OpenSet(path)
    together = any(term.all_windows for term in terms)
    summary = summary or ms.inspect(path, scan_cells=False)
    found = groups(path, summary=summary, **options.rows, by_window=not together)
    if together:
        _require_same_correlations(found, summary)
    for group in found:
        group.require_column(options.data.column)
        whole = {**_rows(group), "data_desc_ids": [], "channel_ranges": [], "frequency_ranges_hz": []}
        whole |= {"average_slots": 1, "average_channels": 1, "average_width_hz": 0.0}
        first = [
            next(ms.tiles(opened, [], time_slots=1, **{**whole, "data_desc_id": one})) for one in group.data_desc_ids
        ]
        width_s = float(np.median(np.concatenate([tile["interval_s"] for tile in first])))
        if not width_s > 1e-6:
            width_s = _width_without_exposure(opened, group)
        slots, scans = _distinct(ms.numbered_scans(opened, **_rows(group)), width_s)
        # Channels between chosen ones are read, but have no solutions.
        chosen_channels = [options.selection.of_channels(tile["frequency_hz"]) for tile in first]
        windows = [
            (tile["frequency_hz"][own], tile["channel_width_hz"][own])
            for tile, own in zip(first, chosen_channels, strict=True)
        ]
        bands = {}
        for one, tile, own in zip(group.data_desc_ids, first, chosen_channels, strict=True):
            used = slice(np.flatnonzero(own)[0], np.flatnonzero(own)[-1] + 1)
            bands[one] = tile["frequency_hz"][used].copy(), own[used]
        plans.append(
            GroupPlan(
                group,
                {term.name: _channels(windows, term) for term in terms},
                chunks_of(slots, width_s, terms, scans, _slots_of_chunk(group, terms, options), len(found)),
                0.5 * float(np.diff(slots).min()) if len(slots) > 1 else 1.0,
                sum(len(frequency) for frequency, _ in bands.values()),
                tuple(terms),
                bands,
            )
        )
        frequency_hz = np.concatenate([frequency for frequency, _ in windows])
        if options.selection.averages:
            frequency_hz = check_averaging(opened, plans[-1])
        single.append((group, single_channels(terms, plans[-1].frequencies, frequency_hz)))
        if options.selection.phase_centre_rad is not None:
            _warn_of_loss(opened, group, first, whole)
    require_slots(opened, [plan.group for plan in plans], options.selection)
    warn_of_single_channels(single)
    _require_slots_of_rates(plans, terms)
    _require_same_windows(plans)
    return plans


def _require_slots_of_rates(plans: Sequence[GroupPlan], terms: Sequence[Term]) -> None:
    """Refuses terms that are told by how phases go in time, where each of their intervals has one time slot."""
    chunks = [chunk for plan in plans for chunk in plan.chunks]
    for term in terms if chunks else ():
        counts = [np.histogram(one.slot_s, one.times[term.name].edges)[0].max() for one in chunks]
        if TIME_QUANTITIES & set(term.kind.quantities) and max(counts) < 2:
            raise CalibrationError(
                f'term "{term}": its intervals have one time slot each, within which no {term.kind.name} is seen; '
                "give it longer intervals"
            )


def _slots_of_chunk(group: MsGroup, terms: Sequence[Term], options: CalibrationOptions) -> int:
    """How many time slots intervals may have that are solved in one go, which spares work of its own for each. Terms of
    directions are solved interval by interval: which directions there are is found for each."""
    if any(term.per is not None for term in terms):
        return 1
    most = options.chunk_bytes if options.memory_bytes is None else min(options.chunk_bytes, options.memory_bytes // 16)
    return max(1, most // max(1, group.slot_bytes()))


def _warn_of_loss(opened: ms.OpenSet, group: MsGroup, moved: Sequence[dict], rows: dict) -> None:
    """Warns where sources at the new phase centre had lost much to the averaging of the correlator, which tracked
    another one: by sinc(nu/c exposure d(w - w')/dt) and sinc(bandwidth/c (w - w')), with the w of both."""
    worst = 0.0
    for tile, window in zip(moved, group.data_desc_ids, strict=True):
        (stored, *_) = ms.tiles(opened, [], time_slots=1, **{**rows, "data_desc_id": window, "phase_centre_rad": None})
        delay_s, rate = ((tile[key] - stored[key])[..., 2] / SPEED_OF_LIGHT_M_S for key in ("uvw_m", "uvw_rate_m_s"))
        turned = np.max(tile["frequency_hz"]) * tile["exposure_s"] * rate
        left = np.sinc(turned) * np.sinc(np.max(tile["channel_width_hz"]) * delay_s)
        worst = max(worst, float(np.max(1 - np.maximum(left, 0), initial=0.0)))
    if worst > _MOST_LOST:
        warnings.warn(
            f"before data of field {group.field_id} are moved, sources at the new phase centre have lost up to "
            f"{100 * worst:.0f} % on the longest baselines to the averaging of slots and channels as they are stored, "
            "which the model does not know",
            stacklevel=3,
        )


def check_averaging(opened: ms.OpenSet, plan: GroupPlan) -> NDArray[np.float64]:
    """Centres of the channels of averaged data (Hz). Warns where cells that data are averaged to reach over the ends of
    solution intervals, and raises `CalibrationError` where they are longer or wider than these."""
    chunk, group = plan.chunks[0], plan.group
    span_s = (chunk.slot_s[0] - plan.margin_s, chunk.slot_s[-1] + plan.margin_s)
    rows = {**_rows(group), "data_desc_ids": [], "time_range_s": span_s, "time_slots": len(chunk.slot_s)}
    windows = [next(ms.tiles(opened, [], **{**rows, "data_desc_id": one})) for one in group.data_desc_ids]
    frequency = np.concatenate([tile["frequency_hz"] for tile in windows])
    width_hz = np.concatenate([tile["channel_width_hz"] for tile in windows])
    for name, axis in plan.frequencies.items():
        slots = np.histogram(chunk.slot_s, chunk.times[name].edges)[0].max()
        if slots < min(group.selection.get("average_slots", 1), group.n_time):
            raise CalibrationError(_LONGER.format(name=name, option="--average-time"))
        _check_cells(name, axis, frequency, width_hz, "--average-channels")
        _check_cells(name, chunk.times[name], windows[0]["time_s"], windows[0]["interval_s"], "--average-time")
    return frequency


def _check_cells(name: str, axis: Axis, centre, width, option: str) -> None:
    edges = axis.edges[1:-1]
    if not len(edges):
        return
    if 0.99 * np.median(width) > np.median(np.diff(axis.edges)):
        raise CalibrationError(_LONGER.format(name=name, option=option))
    inside = np.abs(centre[:, None] - edges) < 0.49 * np.asarray(width)[:, None]
    if inside.any():
        warnings.warn(
            f"{int(inside.any(axis=1).sum())} of {len(centre)} cells that data are averaged to reach over the end of a "
            f"solution interval of term {name}, and count where their middle is: {option} and interval should divide",
            stacklevel=4,
        )


def _width_without_exposure(opened: ms.OpenSet, group: MsGroup) -> float:
    """Of time slots whose EXPOSURE is no length of time: their smallest distance, or 1 s where there is one slot."""
    warnings.warn(
        f"EXPOSURE is 0, negative or no number in field {group.field_id} of {group.path}: time slots count as as "
        "long as they are apart, and the model is not smeared in time; write the true exposures into the column (often "
        "those of INTERVAL)",
        stacklevel=3,
    )
    apart = np.diff(np.unique([slot for _, _, slot in ms.slot_times(opened, **_rows(group))]))
    return float(apart.min()) if len(apart) else 1.0


def _channels(windows: Sequence[tuple], term: Term) -> Axis:
    try:
        return channels_of_windows(windows, term.frequency, together=term.all_windows)
    except CalibrationError as error:
        raise CalibrationError(f'term "{term}": {error}') from None


def _require_same_correlations(found: Sequence[MsGroup], summary: dict) -> None:
    """Refuses windows of a field that a term of all windows cannot hold for."""
    first: dict[int, tuple[int, list[str]]] = {}
    for field_id, window in ((group.field_id, window) for group in found for window in group.data_desc_ids):
        names = summary["data_descriptions"][window]["correlations"]
        other, others = first.setdefault(field_id, (window, names))
        if names != others:
            raise CalibrationError(
                f"field {field_id}: windows {other} and {window} have different correlations ({' '.join(others)} and "
                f'{" ".join(names)}), and a term of "all windows" wants the same in all; choose windows (--ddid)'
            )


def _require_same_windows(plans: Sequence[GroupPlan]) -> None:
    """Solutions of windows that are solved together are one set, which the fields share."""
    for one in plans:
        for other in plans:
            mine, others = one.group.data_desc_ids, other.group.data_desc_ids
            if mine != others and set(mine) & set(others):
                raise CalibrationError(
                    f"field {one.group.field_id} has the spectral windows {', '.join(map(str, mine))}, field "
                    f'{other.group.field_id} {", ".join(map(str, others))}: with a term of "all windows" they cannot '
                    "be solved in one run; choose a field"
                )


def _distinct(slots: Sequence[tuple[float, int]], width_s: float) -> tuple[list[float], list[int]]:
    """Times that ascend, those of several windows that are one slot once, and their scans."""
    tolerance_s = min(0.1, 0.25 * width_s) if width_s > 0 else 1e-3
    found: list[float] = []
    scans: list[int] = []
    for slot, scan in slots:
        if not found or slot - found[-1] > tolerance_s:
            found.append(slot)
            scans.append(scan)
    return found, scans


def _rows(group: MsGroup) -> dict:
    return {key: value for key, value in group.selection.items() if key != "autocorrelations"}
