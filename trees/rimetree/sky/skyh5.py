"""SkyH5, the HDF5 files of pyradiosky: points, and maps of the whole sky in HEALPix pixels, of one or many frequencies.

Each pixel that is not 0 is a point at its middle. Positions in ICRS, FK5 or galactic coordinates are turned to ICRS.
Fluxes are in Jy or K sr, those of pixels in Jy/sr or K (brightness temperature). Spectra of the kind

- "flat" are constant in the file's unit, and those of "spectral_index" power laws in it: fluxes of a file in K rise
  with nu^2 in addition;
- "full" and "subband" are fluxes at frequencies, and become a `FluxTable` of each source. Frequencies at which a point
  is NaN are not in its table.

An `extended_model_group` is the patch of its components. Stokes Q, U and V are not read, as the format does not say
along which directions they are measured.

Source: Hazelton et al. 2023, "Memo: SkyH5 file format" (pyradiosky, docs/references/skyh5_memo); pyradiosky 1.1.2 for
files older than that.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .errors import SkyModelError, UnsupportedError
from .flux_table import FluxTable, tables_of
from .healpix_grid import jy_sr_per_kelvin, pixel_positions, pixel_sr, require_pixels
from .map_pixels import pixels_with_flux
from .model import SkyModel
from .reading import Cell, Reading

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_REFERENCE_HZ = 1e9  # of spectra that are constant in K: which frequency it is does not matter
_FRAMES = ("icrs", "fk5", "galactic")


def is_hdf5(file: str) -> bool:
    """Whether a file begins as HDF5 files do. What cannot be opened does not. A pipe can be read once only, and is
    taken to be text."""
    if not os.path.isfile(file):
        return False
    try:
        with open(file, "rb") as stream:
            return stream.read(len(_SIGNATURE)) == _SIGNATURE
    except OSError:
        return False


def read_skyh5(reading: Reading, text: str = "") -> SkyModel:
    """The sources in a file. Raises `SkyModelError` where it is no SkyH5, or does not say what is needed, and
    `UnsupportedError` for what a `Source` cannot express."""
    import h5py

    try:
        with h5py.File(reading.file, "r") as file:
            if "Header" not in file or "Data/stokes" not in file:
                raise SkyModelError("an HDF5 file without Header and Data/stokes, expected SkyH5", file=reading.file)
            return _model_of(_Group(file["Header"], reading.file), file["Data/stokes"], reading)
    except SkyModelError as problem:
        raise (problem if problem.file else type(problem)(problem.message, file=reading.file)) from None
    except (OSError, KeyError, TypeError, ValueError) as problem:
        raise SkyModelError(f"no SkyH5 file that can be read: {problem}", file=reading.file) from problem


class _Group:
    """The datasets of a group."""

    def __init__(self, group, file: str) -> None:
        self._group, self._file = group, file

    def __contains__(self, name: str) -> bool:
        return name in self._group

    def text(self, name: str, default: str | None = None) -> str:
        """A word, in lower case."""
        if default is not None and name not in self:
            return default
        return _text(self._value(name)).strip().lower()

    def texts(self, name: str) -> list[str]:
        return [_text(one) for one in self._value(name)]

    def whole(self, name: str) -> NDArray[np.int64]:
        """A whole number or several."""
        return np.asarray(self._value(name)).astype(np.int64)

    def quantity(self, name: str, unit: str) -> NDArray[np.float64]:
        """Numbers in a unit. Those that name none are in it."""
        from astropy import units

        values = np.asarray(self._value(name), float)
        return values * units.Unit(str(self._group[name].attrs.get("unit", unit))).to(unit)

    def below(self, name: str) -> _Group | None:
        """A group in this one; None where there is none."""
        found = self._group.get(name)
        return _Group(found, self._file) if hasattr(found, "keys") else None

    def require(self, name: str) -> None:
        if name not in self:
            raise SkyModelError(f"{self._group.name[1:]}/{name} is missing", file=self._file)

    def _value(self, name: str):
        self.require(name)
        return self._group[name][()]


def _text(value) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


@dataclass(frozen=True)
class _Components:
    """Some components of a file: `names` and `patches` [component], `radec_rad` [component,2]; `flux` [F,component] of
    Stokes I, of which one is `jy` Jy, or Jy/K if it is a temperature; `reference_hz` and `index` [component], 0 where
    spectra are no power laws."""

    names: NDArray
    patches: NDArray
    radec_rad: NDArray[np.float64]
    flux: NDArray[np.float64]
    reference_hz: NDArray[np.float64]
    index: NDArray[np.float64]
    jy: float
    in_kelvin: bool

    def of(self, held: NDArray[np.intp]) -> _Components:
        """Some of them."""
        arrays = {
            name: getattr(self, name)[held] for name in ("names", "patches", "radec_rad", "reference_hz", "index")
        }
        return replace(self, flux=self.flux[:, held], **arrays)

    def flux_jy(self, frequency_hz: NDArray[np.float64] | float) -> NDArray[np.float64]:
        """Fluxes at frequencies [F,1], or [component]."""
        return self.flux * self.jy * (jy_sr_per_kelvin(frequency_hz) if self.in_kelvin else 1.0)


def _model_of(header: _Group, stokes, reading: Reading) -> SkyModel:
    if stokes.ndim != 3 or stokes.shape[0] != 4:
        raise SkyModelError(
            f"Data/stokes is of shape {list(stokes.shape)}, expected [4,frequency,component]", file=reading.file
        )
    if any(np.nan_to_num(stokes[k]).any() for k in (1, 2, 3)):
        reason = "Stokes Q, U and V: SkyH5 does not say along which directions they are measured"
        reading.leave_out("Stokes Q, U and V", UnsupportedError(reason, file=reading.file))
    kind = header.text("component_type")
    if kind not in ("point", "healpix"):
        raise SkyModelError(f"component_type is {kind!r}, expected point or healpix", file=reading.file)
    factor, in_kelvin = _unit_of(str(stokes.attrs.get("unit", "")), kind, reading.file)
    found = (_points if kind == "point" else _pixels)(header, np.asarray(stokes[0], float), reading.file)
    found = replace(found, jy=found.jy * factor, in_kelvin=in_kelvin)
    if np.isinf(found.flux).any():
        raise SkyModelError("some fluxes are infinite", file=reading.file)
    left_out: tuple = ()
    if kind == "healpix":
        held, left_out = pixels_with_flux(found.flux, lambda k: found.names[k], reading.file)
    else:
        held = np.flatnonzero(np.isfinite(found.flux).any(axis=0))
        for name in np.delete(found.names, held):
            reading.leave_out(f"source {name!r}", UnsupportedError(f"source {name!r} has no flux", file=reading.file))
    found = found.of(held)
    sources = [
        reading.build(Cell(name, None, None), name=name, ra_rad=ra, dec_rad=dec, patch=patch, **fluxes)
        for name, (ra, dec), patch, fluxes in zip(
            found.names, found.radec_rad.tolist(), found.patches, _spectra(header, found, reading.file), strict=True
        )
    ]
    return SkyModel(tuple(sources), (*left_out, *reading.model().skipped))


def _unit_of(unit: str, kind: str, file: str) -> tuple[float, bool]:
    """What a unit is in Jy or K sr, of pixels in Jy/sr or K, and whether it is one of temperatures."""
    from astropy import units

    wanted = (units.Jy, units.K * units.sr) if kind == "point" else (units.Jy / units.sr, units.K)
    try:
        found = units.Unit(unit)
        in_kelvin = found.is_equivalent(wanted[1])
        return found.to(wanted[int(in_kelvin)]), in_kelvin
    except (ValueError, TypeError) as problem:
        expected = " or ".join(map(str, wanted))
        raise SkyModelError(f"fluxes are in {unit or 'no unit'}, expected {expected}", file=file) from problem


def _points(header: _Group, flux: NDArray[np.float64], file: str) -> _Components:
    names = np.array(header.texts("name"), dtype=object)
    count = flux.shape[1]
    patches = np.array([""] * count, dtype=object)
    if "extended_model_group" in header:
        patches = np.array(header.texts("extended_model_group"), dtype=object)
    radec_rad = _positions(header, file)
    for name, values in (("name", names), ("extended_model_group", patches), ("skycoord", radec_rad)):
        _require_count(name, len(values), count, file)
    return _Components(names, patches, radec_rad, flux, *_power_law_of(header, count), 1.0, False)


def _pixels(header: _Group, flux: NDArray[np.float64], file: str) -> _Components:
    numbers, side, order = header.whole("hpx_inds"), int(header.whole("nside")), header.text("hpx_order", "ring")
    count = flux.shape[1]
    _require_count("hpx_inds", len(numbers), count, file)
    require_pixels(numbers, side, order, file)
    own = header.below("hpx_frame")
    frame = own.text("frame") if own else header.text("hpx_frame" if "hpx_frame" in header else "frame", "icrs")
    _require_frame(frame, file)
    names = np.array([f"pixel{number}" for number in numbers.tolist()], dtype=object)
    patches = np.array([""] * count, dtype=object)
    radec_rad = pixel_positions(numbers, side, order, frame)
    return _Components(names, patches, radec_rad, flux, *_power_law_of(header, count), pixel_sr(side), False)


def _require_count(name: str, own: int, count: int, file: str) -> None:
    if own != count:
        raise SkyModelError(f"Header/{name} has {own} entries for {count} components", file=file)


def _require_frame(frame: str, file: str) -> None:
    if frame not in _FRAMES:
        raise UnsupportedError(f"positions are in the frame {frame}, expected {', '.join(_FRAMES)}", file=file)


def _power_law_of(header: _Group, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """[component] reference frequencies and spectral indices, 0 where there are none."""
    return tuple(
        np.broadcast_to(header.quantity(name, unit), (count,)) if name in header else np.zeros(count)
        for name, unit in (("reference_frequency", "Hz"), ("spectral_index", ""))
    )


def _positions(header: _Group, file: str) -> NDArray[np.float64]:
    """[component,2] right ascension and declination in ICRS."""
    from astropy import units
    from astropy.coordinates import SkyCoord
    from astropy.time import Time

    at = header.below("skycoord") or header
    frame = at.text("frame", "icrs")
    _require_frame(frame, file)
    if (kind := at.text("representation_type", "spherical")) not in ("spherical", "unitspherical"):
        raise UnsupportedError(f"positions are {kind}, expected spherical", file=file)
    own = ("l", "b") if frame == "galactic" else ("ra", "dec")
    longitude, latitude = own if own[0] in at else ("lon", "lat")  # as older files call them
    equinox = {"equinox": Time(at.text("equinox").upper())} if frame == "fk5" and "equinox" in at else {}
    place = SkyCoord(
        at.quantity(longitude, "rad") * units.rad, at.quantity(latitude, "rad") * units.rad, frame=frame, **equinox
    ).icrs
    return np.column_stack([place.ra.rad % (2 * np.pi), place.dec.rad])


def _spectra(header: _Group, of: _Components, file: str) -> list[dict]:
    """Fields of each component's `Source` that say its fluxes."""
    kind = header.text("spectral_type")
    if kind in ("full", "subband"):
        return _tables(of, header.quantity("freq_array", "Hz"), file)
    if len(of.flux) != 1:
        raise SkyModelError(f"there are {len(of.flux)} frequencies, expected one, as spectra are {kind}", file=file)
    if kind == "flat":
        return _power_laws(of, np.full(len(of.names), _REFERENCE_HZ), np.zeros(len(of.names)))
    if kind == "spectral_index":
        for name in ("reference_frequency", "spectral_index"):
            header.require(name)
        return _power_laws(of, of.reference_hz, of.index)
    raise SkyModelError(f"spectral_type is {kind!r}, expected flat, spectral_index, subband or full", file=file)


def _power_laws(of: _Components, reference_hz: NDArray[np.float64], index: NDArray[np.float64]) -> list[dict]:
    flux_jy, index = of.flux_jy(reference_hz)[0], index + (2.0 if of.in_kelvin else 0.0)
    return [
        {"stokes_jy": (flux, 0.0, 0.0, 0.0), "ref_freq_hz": frequency_hz, "spectrum": (power,) if power else ()}
        for flux, frequency_hz, power in zip(flux_jy.tolist(), reference_hz.tolist(), index.tolist(), strict=True)
    ]


def _tables(of: _Components, frequency_hz: NDArray[np.float64], file: str) -> list[dict]:
    if len(frequency_hz) != len(of.flux):
        raise SkyModelError(f"freq_array has {len(frequency_hz)} entries for {len(of.flux)} frequencies", file=file)
    order = np.argsort(frequency_hz)
    frequency_hz, flux_jy = frequency_hz[order], of.flux_jy(frequency_hz[:, None])[order].T
    sound = np.isfinite(flux_jy)
    if not sound.all():
        return [_table(frequency_hz[own], flux[own]) for own, flux in zip(sound, flux_jy, strict=True)]
    if len(frequency_hz) == 1:
        return [_table(frequency_hz, flux) for flux in flux_jy]
    middle = len(frequency_hz) // 2
    return [
        {"stokes_jy": (flux, 0.0, 0.0, 0.0), "ref_freq_hz": float(frequency_hz[middle]), "table": table}
        for flux, table in zip(flux_jy[:, middle].tolist(), tables_of(frequency_hz, flux_jy), strict=True)
    ]


def _table(frequency_hz: NDArray[np.float64], flux_jy: NDArray[np.float64]) -> dict:
    """Of one source: of one frequency there is no spectrum."""
    middle = len(frequency_hz) // 2
    found = {"stokes_jy": (float(flux_jy[middle]), 0.0, 0.0, 0.0), "ref_freq_hz": float(frequency_hz[middle])}
    return found if len(frequency_hz) == 1 else found | {"table": FluxTable(frequency_hz, flux_jy)}
