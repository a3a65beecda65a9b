"""Solutions of one Jones term: tables of real quantities over time, frequency, antenna and direction."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ...arguments import check_fields
from ..errors import CalibrationError
from ..terms.kinds import FREQUENCY_QUANTITIES, KINDS, TIME_QUANTITIES, jones_of, neutral
from .nearest import nearest

Float64Array = NDArray[np.float64]

INTERPOLATIONS = ("nearest", "linear")
_ANGLES = ("phase", "rotation")

#: Convention of values that were drawn: angles go on from one to the next as they are stored, by whole turns, too.
AS_STORED = "drawn, so that angles go on from one to the next as they are stored"


@dataclass(frozen=True, eq=False)
class TermSolutions:
    """What was found for one term.

    Attributes
    ----------
    name, kind : of the term ("G", "diag")
    elements : names of the matrix elements or feeds that have values of their own, as in `Term.elements`
    time_s, time_width_s : [T] centres (MJD, seconds, ascending) and widths of the solution intervals
    frequency_hz, frequency_width_hz : [F] centres (ascending) and widths
    antennas : [A] names; directions : [D] names of patches or sources, ("",) for a term of the whole sky
    value : {quantity: [T, F, A, D, E]}; quantities are "amplitude", "phase" (rad), "clock" (s), "rate" (s/s),
        "tec" (1e16 m^-2), "rotation" (rad)
    sigma : {quantity: the same shape}, one standard deviation; NaN where it is not known
    flag : bool [T, F, A, D, E], True where there is no solution
    field_ids : [T] rows of the FIELD table that they were solved for on; None: not known
    convention : by which its values were chosen among those that fit the data as well; empty: there are no others

    Raises `CalibrationError` where the shapes do not fit together.
    """

    name: str
    kind: str
    elements: tuple[str, ...]
    time_s: Float64Array
    time_width_s: Float64Array
    frequency_hz: Float64Array
    frequency_width_hz: Float64Array
    antennas: tuple[str, ...]
    directions: tuple[str, ...]
    value: dict[str, Float64Array]
    sigma: dict[str, Float64Array]
    flag: NDArray[np.bool_]
    text: str = field(default="")
    convention: str = field(default="")
    field_ids: NDArray[np.integer] | None = None

    def __post_init__(self) -> None:
        check_fields(self, CalibrationError)
        for centres, widths in (("time_s", "time_width_s"), ("frequency_hz", "frequency_width_hz")):
            one, other = np.shape(getattr(self, centres)), np.shape(getattr(self, widths))
            if len(one) != 1 or one != other:
                raise CalibrationError(
                    f"solutions of {self.name}: {centres} has shape {list(one)}, {widths} {list(other)}; expected one "
                    "dimension and the same length"
                )
        for quantity, array in [*self.value.items(), *self.sigma.items(), ("flag", self.flag)]:
            if array.shape != self.shape:
                raise CalibrationError(
                    f"solutions of {self.name}: {quantity} has shape {list(array.shape)}, expected {list(self.shape)} "
                    "(time, freq, ant, dir, element)"
                )
        for what, axis in (("times", self.time_s), ("frequencies", self.frequency_hz)):
            if (np.diff(axis) < 0).any():
                raise CalibrationError(f"solutions of {self.name}: {what} must ascend")

    def __repr__(self) -> str:
        """What it is; not all its numbers."""
        times, frequencies, antennas, directions, _ = self.shape
        flagged = f"{100 * self.flag.mean():.3g} % flagged" if self.flag.size else "nothing"
        return (
            f"<TermSolutions {self.text or f'{self.name}: {self.kind}'!r}: {', '.join(self.value)}; {times} times, "
            f"{frequencies} frequencies, {antennas} antennas, {directions} directions; {flagged}>"
        )

    @classmethod
    def empty(cls, name: str, kind: str, elements: Sequence[str], axes: dict, text: str = "") -> TermSolutions:
        """Solutions that are all flagged, with the values of the unit matrix; `axes` holds the axes' attributes."""
        lengths = [len(axes[key]) for key in ("time_s", "frequency_hz", "antennas", "directions")]
        shape = (*lengths, len(elements))
        quantities = KINDS[kind].quantities
        return cls(
            name=name,
            kind=kind,
            elements=tuple(elements),
            **axes,
            value={q: np.broadcast_to(neutral(q, elements), shape).copy() for q in quantities},
            sigma={q: np.full(shape, np.nan) for q in quantities},
            flag=np.ones(shape, dtype=bool),
            text=text,
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """(times, frequencies, antennas, directions, elements)."""
        axes = (self.time_s, self.frequency_hz, self.antennas, self.directions, self.elements)
        return tuple(len(axis) for axis in axes)

    @property
    def all_flagged(self) -> bool:
        """Whether nothing that there is to find was found."""
        return bool(self.flag[..., [element not in KINDS[self.kind].given for element in self.elements]].all())

    def of_fields(self, field_ids: Collection[int]) -> TermSolutions:
        """The solutions of some fields; all if there are none of these, or where it is not known of which they are."""
        own = None if self.field_ids is None else np.isin(self.field_ids, list(field_ids))
        return self if own is None or not own.any() else self.at_times(own)

    def at_times(self, which: NDArray[np.bool_]) -> TermSolutions:
        """The solutions of some intervals; `which`: [T] booleans."""
        return replace(
            self,
            time_s=self.time_s[which],
            time_width_s=self.time_width_s[which],
            value={quantity: array[which] for quantity, array in self.value.items()},
            sigma={quantity: array[which] for quantity, array in self.sigma.items()},
            flag=self.flag[which],
            field_ids=None if self.field_ids is None else self.field_ids[which],
        )

    @property
    def diagonal(self) -> bool:
        """Whether all matrices are."""
        return KINDS[self.kind].diagonal

    @property
    def of_directions(self) -> bool:
        """Whether directions have solutions of their own."""
        return self.directions != ("",)

    def gain(self) -> NDArray[np.complex128]:
        """[T, F, A, D, 2, 2] matrices, NaN where flagged."""
        frequency = self.frequency_hz[None, :, None, None]
        matrices = jones_of(self.value, self.elements, frequency)
        matrices[self._bad_feeds(self.flag).any(axis=-1)] = np.nan
        return matrices

    def jones(
        self, antenna: str, direction: str, time_s: Float64Array, frequency_hz: Float64Array, method: str = "nearest"
    ) -> tuple[NDArray[np.complex128], NDArray[np.bool_]]:
        """Matrices [time, freq, 2, 2] of an antenna on given cells, and which feeds have none: bool [time, freq, 2].

        "nearest" takes the solution whose interval holds the cell, or the nearest one; "linear" interpolates
        amplitudes, unwrapped phases and other quantities between the centres of good solutions. In both a cell is
        flagged where its nearest solution is. An antenna without solutions is flagged everywhere. Flagged matrices are
        unit matrices. Raises `CalibrationError` for a direction or a method that there is not.
        """
        matrices, bad = self.jones_of([antenna], direction, time_s, frequency_hz, method)
        return matrices[:, :, 0], bad[:, :, 0]

    def jones_of(
        self,
        antennas: Sequence[str],
        direction: str,
        time_s: Float64Array,
        frequency_hz: Float64Array,
        method: str = "nearest",
        *,
        phases: Float64Array | None = None,
        windows: NDArray[np.integer] | None = None,
    ) -> tuple[NDArray[np.complex128], NDArray[np.bool_]]:
        """As `jones`, of several antennas: [time, freq, antenna, 2, 2] and bool [time, freq, antenna, 2].

        `phases`: those of the table, as they go on along time (`continued_phases`); else each changes by less than half
        a turn. `windows`: of which window each interval along frequency is, where windows have nothing in common: those
        of the window count that the nearest one to a cell is of.
        """
        if method not in INTERPOLATIONS:
            raise CalibrationError(f"interpolation must be one of {', '.join(INTERPOLATIONS)}, not {method!r}")
        if direction not in self.directions:
            raise CalibrationError(f"{self.name} has no direction {direction!r}; it has {', '.join(self.directions)}")
        times, frequencies = np.asarray(time_s, dtype=float), np.asarray(frequency_hz, dtype=float)
        matrices = np.empty((len(times), len(frequencies), len(antennas), 2, 2), dtype=complex)
        matrices[...] = np.eye(2)
        bad = np.ones(matrices.shape[:-1], dtype=bool)
        number = {name: index for index, name in enumerate(self.antennas)}
        known = [k for k, name in enumerate(antennas) if name in number] if self.flag.size else []
        if not known:
            return matrices, bad
        own, d = [number[antennas[k]] for k in known], self.directions.index(direction)
        i = nearest(self.time_s, self.time_width_s, times)
        j = nearest(self.frequency_hz, self.frequency_width_hz, frequencies)
        missing = self._bad_feeds(self.flag[..., d, :][np.ix_(i, j, own)])
        if method == "nearest":
            values = {q: table[..., d, :][np.ix_(i, j, own)] for q, table in self.value.items()}
            if "rate" in values:  # so long after the middle it is a delay
                since_s = (times - self.time_s[i])[:, None, None, None]
                values["clock"] = values.get("clock", 0.0) + values.pop("rate") * since_s
        else:
            tables = self.value if phases is None else {**self.value, "phase": phases}
            go_on = phases is not None or self.convention == AS_STORED
            values = {}
            for q, table in tables.items():
                along_time = [
                    self._along_time(q, table[:, :, a, d], self.flag[:, :, a, d], times, go_on=go_on) for a in own
                ]
                values[q] = np.empty((len(times), len(frequencies), len(own), len(self.elements)))
                for window in [None] if windows is None else np.unique(windows):
                    cells, of_window = (
                        (slice(None),) * 2 if window is None else (windows[j] == window, windows == window)
                    )
                    for k, one in enumerate(along_time):
                        values[q][:, cells, k] = self._along_frequency(q, *one, frequencies[cells], of_window)
            if "rate" in values:
                values["clock"] = values.get("clock", 0.0) + values.pop("rate")
        found = jones_of(values, self.elements, frequencies[None, :, None])
        off = missing.any(axis=-1) if not self.diagonal else missing.all(axis=-1)
        found[off] = np.eye(2)
        for feed in (0, 1):
            found[missing[..., feed], feed, feed] = 1.0
        matrices[:, :, known], bad[:, :, known] = found, missing
        return matrices, bad

    def complete(self, antennas: Collection[str]) -> bool:
        """Whether these antennas have solutions at all places, finite ones, that can be inverted."""
        if not self.flag.size or self.flag.any() or not set(antennas) <= set(self.antennas):
            return False
        # Of a table without an axis of frequencies any frequency will do.
        somewhere = replace(self, frequency_hz=np.where(self.frequency_hz == 0, 1.0, self.frequency_hz))
        matrices = somewhere.gain()
        return bool(np.all(np.abs(np.linalg.det(matrices)) > 1e-6 * np.abs(matrices).max(axis=(-2, -1)) ** 2))

    def cell_keys(
        self, time_s: Float64Array, frequency_hz: Float64Array, method: str = "nearest"
    ) -> tuple[Float64Array, Float64Array]:
        """[time], [freq]: numbers by which matrices follow from a cell: where both are the same, so are matrices."""
        times, frequencies = np.asarray(time_s, dtype=float), np.asarray(frequency_hz, dtype=float)
        if method != "nearest" or self.flag.size == 0:
            return times, frequencies
        i = nearest(self.time_s, self.time_width_s, times).astype(float)
        i = times if TIME_QUANTITIES & set(self.value) else i
        if FREQUENCY_QUANTITIES & set(self.value):
            return i, frequencies
        return i, nearest(self.frequency_hz, self.frequency_width_hz, frequencies).astype(float)

    def _bad_feeds(self, flag: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """[..., 2]: which feeds lack a solution, of flags [..., element]."""
        if self.elements == ("0", "1"):
            return flag
        return np.repeat(flag.any(axis=-1, keepdims=True), 2, axis=-1)

    def _along_time(self, quantity, table, flag, times, *, go_on: bool) -> tuple[Float64Array, NDArray[np.bool_]]:
        """[time, F, element] of [T, F, element], and which there are. Of rates the delays that they make, each from the
        middle of its own interval. `go_on`: whether angles do so along time."""
        found = np.empty((len(times), *table.shape[1:]))
        good = np.empty(found.shape, dtype=bool)
        # Those with solutions at the same times together: of channels there may be ten thousands.
        kinds, kind = np.unique(~flag.reshape(len(flag), -1), axis=1, return_inverse=True)
        for k, there in enumerate(kinds.T):
            own = np.nonzero((kind.reshape(-1) == k).reshape(table.shape[1:]))
            places = self.time_s, table[:, *own], there, times
            line, ok = _delays(*places) if quantity == "rate" else _line(*places, quantity in _ANGLES and not go_on)
            found[:, *own], good[:, *own] = line, ok
        return found, good

    def _along_frequency(self, quantity, values, good, frequencies, which) -> Float64Array:
        """[time, freq, element] of [time, F, element], by those of the intervals along F."""
        result = np.empty((len(values), len(frequencies), values.shape[2]))
        for t, e in np.ndindex(len(values), values.shape[2]):
            line = self.frequency_hz[which], values[t, which, e], good[t, which, e], frequencies
            result[t, :, e], _ = _line(*line, quantity in _ANGLES and self.convention != AS_STORED)
        return result


def _line(x: Float64Array, y: Float64Array, good: NDArray[np.bool_], at: Float64Array, unwrap: bool):
    """Straight lines between the good ones of y [x, ...], and whether there are any: [at, ...]."""
    if not good.any():
        return np.zeros((len(at), *y.shape[1:])), False
    x, values = x[good], np.unwrap(y[good], axis=0) if unwrap else y[good]
    place = np.interp(at, x, np.arange(len(x)))
    left = place.astype(int)
    right = np.minimum(left + 1, len(x) - 1)
    share = (place - left).reshape(-1, *[1] * (y.ndim - 1))
    # At a solution another one does not count, which may be no number.
    return np.where(share == 0, values[left], values[left] + share * (values[right] - values[left])), True


def _delays(x: Float64Array, rate: Float64Array, good: NDArray[np.bool_], at: Float64Array):
    """Of rates at some times: between two what they add to delays and phases that go from one to the other along a
    straight line, so that both together have these rates where they are found. They are right for a delay that changes
    as a parabola."""
    if not good.any():
        return np.zeros((len(at), *rate.shape[1:])), False
    x, rate, since = x[good], rate[good], x[good][0]
    x, at = x - since, at - since
    every = np.ones(len(x), dtype=bool)
    (there, _), (then, _) = (_line(x, y, every, at, False) for y in (rate, rate * x[:, None]))
    each = there * at[:, None] - then  # from either, by how near it is
    return np.where((at > x[0]) & (at < x[-1]), 0.5, 1.0)[:, None] * each, True
