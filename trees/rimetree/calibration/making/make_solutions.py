"""Solutions that nobody has solved for: terms with values drawn at random, or of turbulent screens, for simulations."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from ...arguments import checked
from ...machine import free_memory_bytes
from ...observing.antenna_uvw import evaluate_uvw
from ...observing.mounts import horizon
from ...sky import SkyModel
from ..errors import CalibrationError
from ..model.models import PredictedSky
from ..plan.solve_trees import directions_of
from ..solutions.choosing import FIELDS, fields_text
from ..solutions.parallactic import is_known, parallactic_solutions
from ..solutions.solutions import WINDOWS, Solutions, windows_text
from ..solutions.term_solutions import AS_STORED, TermSolutions
from ..terms.grid import Axis, channels_of
from ..terms.kinds import ROTATIONS
from ..terms.terms import Term, check_antennas, require_own_names
from .made_terms import EXAMPLE, MadeTerm
from .observed import Intervals, Observed
from .random_values import Scatter, scattered, with_given
from .screens import crossings, over_ground, screen_values

Float64Array = NDArray[np.float64]

#: In the provenance: that values are none of data, and what was asked for.
DRAWN = "drawn"


@checked
def make_solutions(
    path: str | os.PathLike, terms: Sequence[MadeTerm], sky: SkyModel | None = None, *, seed: int = 0
) -> list[Solutions]:
    """Solutions of some terms for a Measurement Set, one for each of its spectral windows.

    `path`: of the set, which is only read. Values are the same in all fields and windows but for intervals along time
    and frequency. `sky`: whose patches and sources are the directions of terms; those without a term keep the unit
    matrix. The same seed gives the same values of a term of a name, whatever the others are. Warns of lines of sight
    below the horizon. Raises `CalibrationError` where terms, sky and set do not fit together, or into memory.
    """
    require_own_names([made.term for made in terms], EXAMPLE)
    if any(made.term.per for made in terms) and sky is None:
        raise CalibrationError("terms of directions want the sky model whose patches or sources they are of")
    observed = Observed.of(os.fspath(path))
    check_antennas([made.term for made in terms], list(observed.antenna_xyz_m))
    model = None if sky is None else PredictedSky(sky)
    made_terms = [_Made(made, observed, model, seed) for made in terms]
    pinned = (
        {} if model is None else _pinned([made.term for made in terms], model, next(iter(observed.centres.values())))
    )
    return [_solutions(observed, window, made_terms, pinned, seed) for window in observed.windows]


def _pinned(terms: Sequence[Term], model: PredictedSky, centre_rad: tuple[float, float]) -> dict:
    """{direction: place} of those that keep the unit matrix while terms act on others."""
    found: dict[str, tuple[float, float]] = {}
    for per in {term.per for term in terms} - {None}:
        acting = [term for term in terms if term.per == per]
        places = model.radec_rad(per, centre_rad)
        found |= {name: place for name, place in places.items() if not any(term.acts_on(name) for term in acting)}
    return found


class _Made:
    """The values of a term on all its intervals, of all windows."""

    def __init__(self, made: MadeTerm, observed: Observed, model: PredictedSky | None, seed: int):
        self.made, term = made, made.term
        self.directions_rad: dict[str, tuple[float, float]] = {}
        if is_known(term):
            self._known = parallactic_solutions(observed.path, term)[term.name]
            return
        self._known = None
        if made.screen is not None or term.plane:
            observed.require_positions(made)
        if term.kind.name in ROTATIONS and observed.feed != "linear":
            raise CalibrationError(
                f'term "{made}": {term.kind.name} turns linear feeds; those of {observed.path} are circular, where '
                "it is a phase between the feeds: draw a phase"
            )
        times = Intervals.of(made, observed)
        bands = _bands(observed, made)
        frequencies = np.unique(np.concatenate([axis.centre for axis in bands.values()]))
        directions: tuple[str, ...] = ("",)
        if model is not None and term.per is not None:
            directions = directions_of(term, model)
            places = model.radec_rad(term.per, next(iter(observed.centres.values())))
            self.directions_rad = {name: places[name] for name in directions}
        axes = {"time_s": times.centre_s, "frequency_hz": frequencies, "antennas": tuple(observed.antenna_xyz_m)}
        shape = (len(times.centre_s), len(frequencies), len(axes["antennas"]), len(directions), len(term.elements))
        _require_memory(made, shape)
        random = np.random.default_rng([seed % 2**64, *term.name.encode()])
        if made.screen is None:
            xyz_m = observed.antenna_xyz_m
            values = with_given(made, scattered(made, Scatter(made, axes, shape, xyz_m, random)))
        else:
            (quantity,) = term.kind.quantities
            of_screen = _of_screen(made, observed, times, self.directions_rad, random)  # [T, A, D]
            values = {quantity: np.broadcast_to(of_screen[:, None, :, :, None], shape).copy()}
        self._times, self._bands, self._frequencies, self._values = times, bands, frequencies, values
        self._antennas, self._directions = axes["antennas"], directions

    def of_window(self, window: int) -> TermSolutions:
        """Those of the intervals along frequency of a data description."""
        if self._known is not None:
            return self._known
        term, axis = self.made.term, self._bands[window]
        own = np.searchsorted(self._frequencies, axis.centre)
        values = {quantity: array[:, own] for quantity, array in self._values.items()}
        shape = next(iter(values.values())).shape
        return TermSolutions(
            term.name,
            term.kind.name,
            term.elements,
            time_s=self._times.centre_s,
            time_width_s=self._times.width_s,
            frequency_hz=axis.centre,
            frequency_width_hz=axis.width,
            antennas=self._antennas,
            directions=self._directions,
            value=values,
            sigma={quantity: np.broadcast_to(0.0, shape) for quantity in values},
            flag=np.zeros(shape, dtype=bool),
            text=term.text,
            convention=AS_STORED,
            field_ids=self._times.field,
        )


def _require_memory(made: MadeTerm, shape: tuple[int, ...]) -> None:
    """Raises `CalibrationError` where solutions of [T, F, A, D, E] do not fit into memory."""
    # Values, random numbers, and what is written, of each quantity.
    need, free = 6 * 8 * math.prod(shape) * len(made.term.kind.quantities), free_memory_bytes()
    if need > free:
        times, frequencies, antennas, directions, _ = shape
        raise CalibrationError(
            f'term "{made}": {times} times, {frequencies} frequencies, {antennas} antennas and {directions} directions '
            f"take {need / 2**30:.3g} GiB, and {free / 2**30:.3g} GiB are free; give longer intervals"
        )


def _bands(observed: Observed, made: MadeTerm) -> dict[int, Axis]:
    """{data description: intervals along frequency}: of each window, or one for all of them."""
    windows, interval = observed.windows, made.term.frequency
    if interval is not None and not made.term.all_windows:
        return {one: channels_of(*channels, interval) for one, channels in windows.items()}
    every = [np.concatenate([channels[k] for channels in windows.values()]) for k in (0, 1)]
    return dict.fromkeys(windows, channels_of(*every, interval))


def _of_screen(
    made: MadeTerm, observed: Observed, times: Intervals, directions_rad: dict, random: np.random.Generator
) -> Float64Array:
    """[time, antenna, direction]; of the whole sky at the phase centre of the field that is observed then."""
    xyz_m, time_s = np.array(list(observed.antenna_xyz_m.values())), times.centre_s
    towards = np.empty((len(time_s), max(1, len(directions_rad)), 3))
    for k, radec in enumerate(directions_rad.values()):
        towards[:, k] = _unit_vectors(radec, time_s)
    for one in np.unique(times.field) if not directions_rad else ():
        own = times.field == one
        towards[own, 0] = _unit_vectors(observed.centres[int(one)], time_s[own])
    _warn_of_horizon(made, xyz_m, towards, list(directions_rad))
    places, slant = crossings(xyz_m[:, None], towards[:, None], made.screen.height_m)
    on_screen = over_ground(places, xyz_m.mean(axis=0))
    return slant * ((made.mean or 0.0) + screen_values(made.screen, on_screen, time_s, random))


def _warn_of_horizon(made: MadeTerm, xyz_m: Float64Array, towards: Float64Array, names: Sequence[str]) -> None:
    """`towards` [time, direction, 3]."""
    sines = np.einsum("ak,tdk->tad", horizon(xyz_m)[:, 2], towards).min(axis=(0, 1))
    if (low := np.flatnonzero(sines < 0)).size:
        of = ", ".join(names[k] for k in low) if names else "the phase centre"
        warnings.warn(
            f'term "{made}": {of} goes down to {math.degrees(math.asin(sines.min())):.1f} deg of elevation; what lines '
            "of sight below the horizon have of a screen means nothing",
            stacklevel=4,
        )


def _unit_vectors(radec_rad: tuple[float, float], time_s: Float64Array) -> Float64Array:
    """[time, 3] towards a direction, ITRF: w of a metre along each axis."""
    return evaluate_uvw(np.eye(3), np.zeros(3), np.asarray(radec_rad, dtype=float), time_s, 0.0)[..., 2]


def _solutions(observed: Observed, window: int, made_terms: Sequence[_Made], pinned: dict, seed: int) -> Solutions:
    from ... import __version__

    directions_rad = {name: radec for made in made_terms for name, radec in made.directions_rad.items()}
    return Solutions(
        tuple(made.of_window(window) for made in made_terms),
        observed.feed,
        antenna_xyz_m=observed.antenna_xyz_m,
        direction_radec_rad={**directions_rad, **pinned},
        provenance={
            "program": f"RimeTree {__version__}",
            "measurement_set": os.path.realpath(observed.path),
            "data_desc_id": float(window),
            "data_desc_ids": str(window),
            WINDOWS: windows_text([observed.windows[window][0]]),
            FIELDS: fields_text(observed.field_names),
            "uvw_family": observed.uvw_family,
            **({"pinned_directions": "\n".join(sorted(pinned))} if pinned else {}),
            "created_utc": datetime.now(UTC).isoformat(timespec="seconds"),
            DRAWN: f"at random, seed {seed}: {'; '.join(str(one.made) for one in made_terms)}",
        },
    )
