"""A sky model as data: an ordered collection of sources, and their fields as arrays. Nothing is evaluated here."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from ..arguments import check_fields, checked
from ..beams import AnyBeam
from ..beams.array import warn_of_mixed_feeds
from ..directions import mean_direction
from .errors import SkyModelError
from .flux_table import PowerLaws, common_lines, common_power_laws
from .projection import axes_at, projected, tangents_at
from .source import PROFILES, Source

Float64Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something a file held and `read(..., skip_unsupported=True)` left out.

    `what` names it ("source 'x'", "column 'y'"), `reason` is the error that it would have been.
    """

    what: str
    reason: SkyModelError

    def __str__(self) -> str:
        return f"{self.what}: {self.reason}"


@dataclass(frozen=True)
class SkyModel(Sequence):
    """An ordered, immutable collection of sources with distinct names.

    Attributes
    ----------
    sources : the sources
    skipped : what reading left out (see `Skipped`)
    patch_radec_rad : positions (ra, dec) that a file gives for its patches
    beam : the primary beam that the sources are seen through, or those of all antennas; fluxes are those without it. No
        file holds it

    Arrays (float64 or bool, read only) come in the order of the sources; S is their number. Raises `SkyModelError`
    where two sources share a name.
    """

    sources: tuple[Source, ...]
    skipped: tuple[Skipped, ...] = ()
    patch_radec_rad: dict[str, tuple[float, float]] = field(default_factory=dict)
    beam: AnyBeam | tuple[AnyBeam, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("sources", "skipped"):
            if np.iterable(getattr(self, name)):
                object.__setattr__(self, name, tuple(getattr(self, name)))
        check_fields(self, SkyModelError)
        if len(set(map(attrgetter("name"), self.sources))) < len(self.sources):
            seen: set[str] = set()
            for source in self.sources:
                if source.name in seen:
                    raise SkyModelError(f"two sources are named {source.name!r}")
                seen.add(source.name)

    def __repr__(self) -> str:
        """How much there is; `sources` has them all."""
        more = [f"{len(self.skipped)} skipped"] if self.skipped else []
        more += [f"{len(self.patches)} patches"] if self.patches else []
        more += ["seen through beams"] if self.beam is not None else []
        about = ", ".join([f"{len(self)} sources", f"{self.total_flux_jy:.6g} Jy", *more])
        return f"<SkyModel: {about}>"

    def __len__(self) -> int:
        return len(self.sources)

    def __iter__(self) -> Iterator[Source]:
        return iter(self.sources)

    def __getitem__(self, index):
        """The source at an index or of a name; a `SkyModel` for a slice."""
        if isinstance(index, slice):
            return self._with(self.sources[index])
        if isinstance(index, str):
            for source in self.sources:
                if source.name == index:
                    return source
            raise KeyError(f"no source is named {index!r}")
        return self.sources[index]

    @property
    def names(self) -> list[str]:
        """Names of the sources."""
        return [source.name for source in self.sources]

    @property
    def patches(self) -> list[str]:
        """Names of the patches in use, in the order of their first source."""
        return list(dict.fromkeys(source.patch for source in self.sources if source.patch))

    @property
    def total_flux_jy(self) -> float:
        """Sum of Stokes I at the reference frequencies."""
        return math.fsum(source.stokes_jy[0] for source in self.sources)

    @checked
    def select(
        self,
        where: Callable[[Source], bool] | None = None,
        *,
        names: str | Iterable[str] | None = None,
        patches: str | Iterable[str] | None = None,
        min_flux_jy: float | None = None,
    ) -> SkyModel:
        """The sources that meet every condition given, in their order.

        `where` is a predicate, `min_flux_jy` a lower bound of |I| at the reference frequency. Raises `SkyModelError`
        for a name or patch that is not in the model.
        """
        chosen = list(self.sources)
        for what, wanted, known in (("source", names, set(self.names)), ("patch", patches, set(self.patches))):
            if wanted is None:
                continue
            wanted = {wanted} if isinstance(wanted, str) else set(wanted)
            if missing := sorted(wanted - known):
                raise SkyModelError(f"no {what} is named {', '.join(map(repr, missing))}")
            chosen = [s for s in chosen if (s.name if what == "source" else s.patch) in wanted]
        if min_flux_jy is not None:
            chosen = [s for s in chosen if abs(s.stokes_jy[0]) >= min_flux_jy]
        if where is not None:
            chosen = [s for s in chosen if where(s)]
        return self._with(chosen)

    def without_patches(self) -> SkyModel:
        """The same sources in no patch, for formats that hold none."""
        sources = tuple(replace(source, patch="") for source in self.sources)
        return replace(self, sources=sources, patch_radec_rad={})

    @checked
    def seen_through(self, beam: AnyBeam | Sequence[AnyBeam] | None) -> SkyModel:
        """The same sources through a primary beam that all antennas have, or through beams, one for each antenna in the
        order of the Measurement Set or telescope (None: without any)."""
        if beam is not None and not isinstance(beam, AnyBeam):
            beam = tuple(beam)
            if not beam:
                raise SkyModelError("seen_through: there must be a beam for each antenna, and there is none")
            beam = beam if len(set(beam)) > 1 else beam[0]
            warn_of_mixed_feeds(beam)
        return replace(self, beam=beam)

    def _with(self, sources: Iterable[Source]) -> SkyModel:
        return replace(self, sources=tuple(sources))

    @cached_property
    def radec_rad(self) -> Float64Array:
        """[S,2] right ascension and declination."""
        return self._array([(s.ra_rad, s.dec_rad) for s in self.sources], 2)

    @property
    def middle_rad(self) -> tuple[float, float]:
        """(ra, dec) of the mean direction of the sources, weighted by |I|."""
        weight = np.abs(self.stokes_jy[:, 0])
        return mean_direction(self.radec_rad, weight if weight.any() else np.ones(len(self)))

    @cached_property
    def stokes_jy(self) -> Float64Array:
        """[S,4] I, Q, U, V at the reference frequencies."""
        return self._array([s.stokes_jy for s in self.sources], 4)

    @cached_property
    def ref_freq_hz(self) -> Float64Array:
        """[S] reference frequencies, 0 where a source needs none."""
        return self._array([s.ref_freq_hz for s in self.sources])

    @cached_property
    def spectrum(self) -> Float64Array:
        """[S,K] spectral coefficients, padded with zeros; K is the longest spectrum (0 if there is none)."""
        count = max((len(s.spectrum) for s in self.sources), default=0)
        return self._array([s.spectrum + (0.0,) * (count - len(s.spectrum)) for s in self.sources], count)

    @cached_property
    def logarithmic(self) -> NDArray[np.bool_]:
        """[S] whether the coefficients are exponents (True) or an ordinary polynomial in Jy (False)."""
        return self._array([s.logarithmic for s in self.sources], dtype=np.bool_)

    @cached_property
    def spectrum_scales_polarisation(self) -> NDArray[np.bool_]:
        """[S] whether Q, U, V follow I(nu)/I0."""
        return self._array([s.spectrum_scales_polarisation for s in self.sources], dtype=np.bool_)

    @cached_property
    def rm_rad_m2(self) -> Float64Array:
        """[S] rotation measures."""
        return self._array([s.rm_rad_m2 for s in self.sources])

    @cached_property
    def has_table(self) -> NDArray[np.bool_]:
        """[S] whether a source's fluxes are those of a `FluxTable`."""
        return self._array([s.table is not None for s in self.sources], dtype=np.bool_)

    @cached_property
    def has_power_laws(self) -> NDArray[np.bool_]:
        """[S] whether that table has power laws between its frequencies, not straight lines."""
        return self._array([s.table is not None and s.table.power_laws for s in self.sources], dtype=np.bool_)

    def flux_table(self) -> tuple[Float64Array, Float64Array]:
        """[F] frequencies of all tables of straight lines (of at least one source), and what they hold there: [F,S]
        Stokes I, or [F,S,4] where any is polarised; 0 of sources without such a table."""
        return common_lines([source.table for source in self.sources])

    def power_laws(self) -> PowerLaws:
        """All tables with power laws (of at least one source)."""
        return common_power_laws([source.table for source in self.sources])

    @cached_property
    def shape_rad(self) -> Float64Array:
        """[S,3] major and minor axis and position angle at the source, of whatever profile; zeros for points and for
        shapelets."""
        return self._array([s.shape or (0.0, 0.0, 0.0) for s in self.sources], 3)

    @cached_property
    def profile(self) -> NDArray[np.int64]:
        """[S] the place of each source's profile in `PROFILES`; 0 for points and for shapelets."""
        return self._array([PROFILES.index(s.profile or PROFILES[0]) for s in self.sources], dtype=np.int64)

    @cached_property
    def has_shapelets(self) -> NDArray[np.bool_]:
        """[S] whether a source is a sum of shapelets."""
        return self._array([s.shapelets is not None for s in self.sources], dtype=np.bool_)

    @cached_property
    def shape_in_plane(self) -> NDArray[np.bool_]:
        """[S] whether `shape_rad` is in the (l, m) plane already, not on the sky."""
        return self._array([s.shape_in_plane for s in self.sources], dtype=np.bool_)

    @checked
    def shapes_in_plane(self, phase_centre_rad: Sequence[float]) -> Float64Array:
        """[S,3] as `shape_rad`, in the (l, m) plane of a phase centre (ra, dec), or [S,4] with the number of the
        profile (`PROFILES`) as nodes take it where not all are of the first one. Sources with `shape_in_plane` have
        theirs already; see `projection`."""
        shapes = self.shape_rad.copy()
        turned = shapes.any(axis=1) & ~self.shape_in_plane
        if turned.any():
            shapes[turned] = projected(shapes[turned], self.radec_rad[turned], phase_centre_rad)
        return np.column_stack([shapes, self.profile]) if self.profile.any() else shapes

    @checked
    def shape_axes(self, phase_centre_rad: Sequence[float]) -> Float64Array:
        """[S,6] components of the axes of each profile along u, v and w of a phase centre (ra, dec), major then minor,
        radians: as sources on the sky see baselines, w included; zeros for points and for shapelets."""
        return axes_at(self.shape_rad, self.tangents(phase_centre_rad))

    @checked
    def shapes_seen_from(self, phase_centre_rad: Sequence[float]) -> Float64Array:
        """`shape_axes` [S,6], or [S,7] with the number of the profile where not all are of the first one;
        `shapes_in_plane` where all lie in the (l, m) plane."""
        if not (self.shape_rad.any(axis=1) & ~self.shape_in_plane).any():
            return self.shapes_in_plane(phase_centre_rad)
        axes = self.shape_axes(phase_centre_rad)
        return np.column_stack([axes, self.profile]) if self.profile.any() else axes

    @checked
    def tangents(self, phase_centre_rad: Sequence[float]) -> Float64Array:
        """[S,2,3] unit vectors to the east and to the north at each source as coordinates u, v, w of a phase centre
        (ra, dec); of sources with `shape_in_plane` those at the phase centre."""
        found = tangents_at(self.radec_rad, phase_centre_rad)
        found[self.shape_in_plane] = np.eye(3)[:2]
        return found

    def _array(self, rows: list, columns: int | None = None, dtype: type = np.float64) -> NDArray:
        shape = (len(rows),) if columns is None else (len(rows), columns)
        array = np.array(rows, dtype=dtype).reshape(shape)
        array.flags.writeable = False
        return array
