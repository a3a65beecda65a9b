"""Fluxes of a sky model at frequencies, as its beams let them through, and tapers of its shapes: by the nodes that the
sky has in trees."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from . import nodes as rt
from ._core import SPEED_OF_LIGHT_M_S
from .beams import beams_text, kinds_of, mean_power, voltages
from .evaluation.cells import Cells
from .forest import Forest
from .sky import SkyModel, Source
from .sky_trees import sky_nodes
from .writing.scope import NodeDef, NodeScope

_STEEPEST = 4.0  # spectral index of all sources together
_APART = 1.15  # from a frequency to a band: an index of -0.7 makes a tenth of it
_NEAR = 0.1  # in the logarithm of frequency: nearer than this to the reference the index does not count


def stokes_at(
    sky: SkyModel,
    frequency_hz: Sequence[float],
    phase_centre_rad: Sequence[float] | None = None,
    time_s: Sequence[float] | None = None,
) -> NDArray[np.float64]:
    """[source,4,freq] Stokes parameters (Jy) of a sky model at frequencies, by the `Spectrum` node; as its beam, if it
    has one, lets through around a phase centre (mean over times, and over pairs of antennas where beams differ);
    without a phase centre as they are. Raises `Error` where a beam varies in time, and no times are given."""
    if phase_centre_rad is None:
        sky, phase_centre_rad = sky.seen_through(None), (0.0, 0.0)
    ns = NodeScope()
    sky_nodes(ns, sky.seen_through(None), phase_centre_rad)
    written = ns.AllNodes()
    cells = Cells(freq_hz=frequency_hz, freq_width_hz=1.0, time_s=[0.0])
    found = Forest(ns).evaluate(ns["stokes" if "stokes" in written else "stokes_0"], cells)[:, :, 0]
    if sky.beam is not None:
        found = found * mean_power(voltages_at(sky, frequency_hz, phase_centre_rad, time_s))[:, None]
    return np.broadcast_to(found, (*found.shape[:2], len(frequency_hz)))


def stokes_i_at(
    sky: SkyModel,
    frequency_hz: float,
    phase_centre_rad: Sequence[float] | None = None,
    time_s: Sequence[float] | None = None,
) -> NDArray[np.float64]:
    """[source] Stokes I (Jy) of a sky model at a frequency, as `stokes_at`."""
    return stokes_at(sky, [frequency_hz], phase_centre_rad, time_s)[:, 0, 0]


def flux_text(sky: SkyModel, groups: Sequence) -> str:
    """ "3.2 Jy at 1400 MHz": the sum of Stokes I at the middle of the band of some `MsGroup`s. Each source counts with
    its spectrum: sums over different reference frequencies mean nothing. With a beam also what it lets through; warns
    where that is nothing."""
    low, high = min(g.frequency_hz[0] for g in groups), max(g.frequency_hz[1] for g in groups)
    _warn_beyond_tables(sky, low, high)
    _warn_of_other_frequencies(sky, low, high)
    middle_hz = 0.5 * (low + high)
    of_ends, flux_jy = np.split(stokes_at(sky, [low, high, middle_hz])[:, 0], [2], axis=1)
    flux_jy = flux_jy[:, 0]
    _warn_of_steep_ends(sky, np.array([low, high]), of_ends)
    text = f"{flux_jy.sum():.6g} Jy at {middle_hz / 1e6:.9g} MHz"
    if sky.beam is None:
        return text
    fields = {group.field_id: group for group in groups}
    power = {
        k: mean_power(voltages_at(sky, [middle_hz], g.phase_centre_rad, g.some_times_s))[:, 0]
        for k, g in fields.items()
    }
    if dark := [str(k) for k, own in power.items() if len(sky) and not own.any()]:
        warnings.warn(
            f"field {', '.join(dark[:5])}{', ...' if len(dark) > 5 else ''}: nothing of the sky model comes through "
            "the beams; are all sources below the horizon, or far from where the antennas point?",
            stacklevel=2,
        )
    seen = [f"{flux_jy @ own:.6g}" for own in power.values()]
    return f"{text}, of which {', '.join(seen[:5])}{', ...' if len(seen) > 5 else ''} Jy through {beams_text(sky.beam)}"


def _warn_beyond_tables(sky: SkyModel, low_hz: float, high_hz: float) -> None:
    tables = [source.table for source in sky if source.table is not None]
    told = {(id(table.frequency_hz), table.power_laws): table for table in tables}  # most share their frequencies
    beyond = [table for table in told.values() if not table.covers(low_hz, high_hz)]
    if beyond:
        first, last = (value / 1e6 for value in beyond[0].range_hz)
        seen = "the power law through the nearest two" if beyond[0].power_laws else "those of the nearest one"
        warnings.warn(
            f"the band, {low_hz / 1e6:.6g} to {high_hz / 1e6:.6g} MHz, is beyond the frequencies that the sky model "
            f"has fluxes of, {first:.6g} to {last:.6g} MHz{', ...' if len(beyond) > 1 else ''}: channels out there see "
            f"{seen}",
            stacklevel=3,
        )


def _warn_of_other_frequencies(sky: SkyModel, low_hz: float, high_hz: float) -> None:
    """Where fluxes of sources without a spectrum are those of a frequency far from the band, as of model images."""
    flat = [source for source in sky if source.ref_freq_hz and not source.spectrum and source.table is None]
    other = [one for one in flat if not low_hz / _APART <= one.ref_freq_hz <= high_hz * _APART]
    if other:
        warnings.warn(
            f"{len(other)} sources of the sky model have fluxes of {other[0].ref_freq_hz / 1e6:.6g} MHz, no spectrum, "
            f"and the band is {low_hz / 1e6:.6g} to {high_hz / 1e6:.6g} MHz: they are taken as they are",
            stacklevel=3,
        )


def _warn_of_steep_ends(sky: SkyModel, ends_hz: NDArray[np.float64], flux_jy: NDArray[np.float64]) -> None:
    """Where fluxes [source,end] at an end of the band are far from those at the reference frequencies, more than real
    spectra go."""
    bent = (sky.spectrum[:, 1:] != 0).any(axis=1) | (~sky.logarithmic & sky.spectrum.any(axis=1)) | sky.has_power_laws
    own = bent & (sky.stokes_jy[:, 0] != 0)
    if not own.any():
        return
    weight = np.abs(sky.stokes_jy[own, 0])
    before, found = weight.sum(), np.abs(flux_jy[own]).sum(axis=0)
    away = weight @ np.abs(np.log(ends_hz / sky.ref_freq_hz[own, None])) / before
    with np.errstate(divide="ignore"):
        steep = np.abs(np.log(found / before)) > _STEEPEST * np.maximum(away, _NEAR)
    signed = flux_jy[own].sum(axis=0)
    turned = signed * sky.stokes_jy[own, 0].sum() < 0
    found, steep = np.where(turned, signed, found), steep | turned
    if steep.any():
        k = int(np.argmax(steep * away))
        warnings.warn(
            f"at {ends_hz[k] / 1e6:.6g} MHz, an end of the band, {own.sum()} sources have {found[k]:.4g} Jy by their "
            f"spectra, and {before:.4g} Jy at their reference frequencies: polynomials, and what continues lists of "
            "fluxes, mean nothing far from the frequencies that they were fitted to",
            stacklevel=3,
        )


def voltages_at(
    sky: SkyModel,
    frequency_hz: Sequence[float],
    phase_centre_rad: Sequence[float],
    time_s: Sequence[float] | None = None,
) -> NDArray[np.float64]:
    """[antenna,source,freq] what the beams of antennas leave of the amplitude of a sky model's sources;
    [1,source,freq] where one beam is that of all. As `beams.voltages`."""
    kinds, of_antenna = kinds_of(sky.beam)
    return voltages(kinds, sky.radec_rad, phase_centre_rad, frequency_hz, time_s)[of_antenna or [0]]


def stokes_through_matrices(
    sky: SkyModel,
    frequency_hz: Sequence[float],
    phase_centre_rad: Sequence[float],
    feed: str,
    time_s: Sequence[float],
) -> NDArray[np.float64] | None:
    """[any,4] Stokes parameters of all sources as beams that are matrices leave them, at frequencies and times; None if
    no antenna has such a beam."""
    kinds = [] if sky.beam is None else kinds_of(sky.beam)[0]
    found = []
    for kind in kinds:
        if kind.is_scalar:
            continue
        ns = NodeScope()
        seen = sky_nodes(ns, sky.seen_through(kind), phase_centre_rad, feed=feed)
        cells = Cells(freq_hz=frequency_hz, freq_width_hz=1.0, time_s=time_s, time_width_s=1.0)
        xx, xy, _, yy = np.moveaxis(Forest(ns).evaluate(seen.brightness, cells), 0, -1).reshape(4, -1)
        one, other, third = (xx - yy).real / 2, xy.real, xy.imag
        rest = (one, other, third) if feed == "linear" else (other, third, one)
        found.append(np.stack([(xx + yy).real / 2, *rest], axis=1))
    return np.concatenate(found) if found else None


def taper_at(
    shape: Sequence[float], u: NDArray[np.float64], v: NDArray[np.float64], w: NDArray[np.float64] | float = 0.0
) -> NDArray[np.float64]:
    """What a shape (numbers as the node `SourceShape` takes them, radians) leaves of the visibility of a point at
    (u, v, w) in wavelengths, which are broadcast."""
    return _factor_at(u, v, w, lambda ns: rt.SourceShape(np.asarray(shape, dtype=float), ns.uvw))


def shapelets_at(
    source: Source, phase_centre_rad: Sequence[float], u: NDArray[np.float64], v: NDArray[np.float64]
) -> NDArray[np.complex128]:
    """As `taper_at` of a source that is a sum of shapelets, where w is 0."""
    sky = SkyModel((source,))
    return _factor_at(u, v, 0.0, lambda ns: sky_nodes(ns, sky, phase_centre_rad).taper(ns.uvw))


def _factor_at(u, v, w, taper: Callable[[NodeScope], NodeDef]) -> NDArray:
    """[..] a factor of one source, a node of `ns.uvw`, at (u, v, w) in wavelengths."""
    u, v, w = np.broadcast_arrays(u, v, w)
    ns = NodeScope()
    ns.uvw << rt.Constant(np.stack([u.ravel(), v.ravel(), w.ravel()]), cells_rank=1)
    ns.taper << taper(ns)
    one_metre = Cells(freq_hz=[SPEED_OF_LIGHT_M_S], time_s=np.arange(u.size, dtype=float))
    return np.broadcast_to(Forest(ns).evaluate(ns.taper, one_metre).ravel(), u.size).reshape(u.shape)
