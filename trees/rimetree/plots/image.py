"""Dirty images: Stokes I visibilities gridded (ducc0's wgridder, with w) on the tangent plane of the phase centre."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core import Error, machine
from ..directions import direction_cosines
from ..ms import MsGroup, Selection, groups
from .visibilities import StokesI, hand_names, stokes_i

_MIN_SIZE, _MAX_SIZE = 32, 32768
_EPSILON = 1e-6
_PIXELS_PER_FRINGE = 5  # pixels in 1/(longest baseline in wavelengths)


class Beam(NamedTuple):
    """Full widths at half maximum of the lobe in the centre of the dirty beam, whose logarithm is taken as quadratic,
    and its position angle (north through east); radians."""

    major_rad: float
    minor_rad: float
    angle_rad: float


@dataclass(frozen=True)
class Image:
    """A dirty image.

    Attributes
    ----------
    data_jy : [y, x] Stokes I (mean of `hands`), Jy per dirty beam; y grows with declination, x against right ascension:
        east is left
    psf : [2y, 2x] the dirty beam, 1 at [y, x]; None where it was not asked for
    scale_rad : size of a pixel (SIN projection, direction cosines)
    phase_centre_rad : (ra, dec) at pixel [size/2, size/2], in `frame`, "ICRS" or "J2000"
    frequency_hz, bandwidth_hz : mean frequency of what was imaged, and from the lowest channel's lower edge to the
        highest one's upper edge
    channel_hz, channel_weight : [K] frequencies of channels, ascending, and how much of the image each is; together 1
    hands : correlations whose mean the image is of: I, or parallel hands
    times_s : some of its times, spread evenly
    beam : see `Beam`; None where no such lobe fits (few baselines)
    n_visibility : number of unflagged visibilities of Stokes I
    path, column, field_name : where it comes from
    """

    data_jy: NDArray[np.float64]
    psf: NDArray[np.float64] | None
    scale_rad: float
    phase_centre_rad: tuple[float, float]
    frequency_hz: float
    bandwidth_hz: float
    times_s: NDArray[np.float64]
    beam: Beam | None
    n_visibility: int
    path: str
    column: str
    field_name: str
    channel_hz: NDArray[np.float64]
    channel_weight: NDArray[np.float64]
    hands: tuple[str, ...] = ("I",)
    frame: str = "J2000"

    @property
    def quantity(self) -> str:
        """Stokes I, or the only hand that there is, as XX: that is I + Q."""
        return "Stokes I" if len(self.hands) > 1 or self.hands == ("I",) else self.hands[0]

    @property
    def size(self) -> int:
        """Pixels along each side."""
        return self.data_jy.shape[0]

    def pixels(self, radec_rad: NDArray[np.float64]) -> NDArray[np.float64]:
        """[n, 2] positions (x, y) in pixels of directions [n, 2]; NaN more than 90 degrees from the phase centre."""
        directions = np.asarray(radec_rad, dtype=float).reshape(-1, 2)
        east, north, towards = direction_cosines(directions, self.phase_centre_rad).T
        place = np.column_stack([-east, north]) / self.scale_rad + self.size // 2
        place[towards <= 0] = np.nan
        return place


class _Extent(NamedTuple):
    longest: float  # wavelengths
    count: int
    weight: float
    frequency_hz: float
    low_hz: float
    high_hz: float


def dirty_image(
    path: str | os.PathLike,
    column: str = "DATA",
    *,
    field_id: int | Sequence[int] | None = None,
    data_desc_id: int | Sequence[int] | None = None,
    selection: Selection | None = None,
    size: int = 512,
    scale_rad: float | None = None,
    robust: float | None = None,
    psf: bool = False,
    phase_centre_rad: tuple[float, float] | None = None,
    threads: int | None = None,
) -> Image:
    """Dirty image of Stokes I of one field, all spectral windows together.

    `field_id`, `data_desc_id`, `selection`: only these rows and channels, as of `ms.groups`.
    `size`: pixels along each side (even, at least 32). `scale_rad`: pixel size (None: a fifth of the fringe spacing of
    the longest baseline). `robust`: Briggs' parameter, -2 (uniform) to 2 (natural); None: natural weights. `psf`: also
    keep the dirty beam. `phase_centre_rad`: where the UVW point, if not where FIELD says. Flags and weights are
    honoured, autocorrelations are left out. Raises `Error` where there are several fields to choose from, no such
    column, or nothing that is not flagged.
    """
    found = groups(path, data_desc_id=data_desc_id, field_id=field_id, selection=selection)
    group = _one_group(path, column, found)
    if size % 2 or not _MIN_SIZE <= size <= _MAX_SIZE:
        raise Error(f"an image of {size} pixels cannot be made; size must be even and {_MIN_SIZE} to {_MAX_SIZE}")
    if robust is not None and not -2 <= robust <= 2:
        raise Error(f"robust is {robust:g}; it must be between -2 (uniform) and 2 (natural)")
    extent = _extent(group)
    if scale_rad is None:
        scale_rad = min(1 / (_PIXELS_PER_FRINGE * extent.longest), 1.0 / size)
    if not 0 < scale_rad * size * math.sqrt(0.5) < 1:
        raise Error(
            f"{size} pixels of {math.degrees(scale_rad) * 3600:.4g} arcsec reach beyond the horizon; "
            "make the image or the pixels smaller"
        )
    density = None if robust is None else _Density(group, size * scale_rad, robust)
    options = {
        "nthreads": threads or machine()["threads"],
        "pixsize_x": scale_rad,
        "pixsize_y": scale_rad,
        "epsilon": _EPSILON,
    }
    dirty = np.zeros((size, size))
    # The fit of the beam needs its centre only, and there w does not matter.
    beam_size = 2 * size if psf else min(size, 128)
    response = np.zeros((beam_size, beam_size))
    total, of_channels = 0.0, {}
    for some in stokes_i(group, column):
        weight = some.weight if density is None else density.weighted(some)
        if not weight.any():
            continue
        total += float(weight.sum())
        for frequency_hz, own in zip(some.frequency_hz.tolist(), weight.sum(axis=0).tolist(), strict=True):
            of_channels[frequency_hz] = of_channels.get(frequency_hz, 0.0) + own
        dirty += _grid(some, some.value, weight, size, True, options)
        response += _grid(some, np.ones(weight.shape, complex), weight, beam_size, False, options)
    if total == 0:
        raise Error(f"column {column} of {path} has no finite, unflagged visibilities: no image can be made")
    return Image(
        data_jy=dirty.T / total,
        psf=response.T / total if psf else None,
        scale_rad=scale_rad,
        phase_centre_rad=phase_centre_rad or group.phase_centre_rad,
        frequency_hz=extent.frequency_hz,
        bandwidth_hz=extent.high_hz - extent.low_hz,
        times_s=group.some_times_s,
        beam=_fit_beam(response.T / total, scale_rad),
        n_visibility=extent.count,
        path=os.fspath(path),
        column=column,
        field_name=group.field_name,
        channel_hz=np.array(sorted(of_channels)),
        channel_weight=np.array([of_channels[frequency_hz] for frequency_hz in sorted(of_channels)]) / total,
        hands=hand_names(group.correlations),
        frame=group.frame,
    )


def _one_group(path: str | os.PathLike, column: str, found: Sequence[MsGroup]) -> MsGroup:
    found[0].require_column(column)
    if len(found) > 1:
        choices = "; ".join(
            f"field {g.field_id} ({g.field_name}), data description {','.join(map(str, g.data_desc_ids))} ({g.feed})"
            for g in found
        )
        raise Error(f"{path} has several fields or kinds of feeds, choose one (--field, --ddid): {choices}")
    return found[0]


def _extent(group: MsGroup) -> _Extent:
    longest, count, total, sum_hz, low, high = 0.0, 0, 0.0, 0.0, math.inf, 0.0
    for some in stokes_i(group, None):
        good = some.weight > 0
        if not good.any():
            continue
        longest = max(longest, float(np.hypot(*some.uv_wavelengths[good].T).max()))
        count += int(good.sum())
        total += float(some.weight.sum())
        sum_hz += float((some.weight * some.frequency_hz).sum())
        low = min(low, float((some.frequency_hz - some.width_hz / 2).min()))
        high = max(high, float((some.frequency_hz + some.width_hz / 2).max()))
    if count == 0:
        raise Error(f"{group}: every visibility is flagged or has zero weight: no image can be made")
    if longest == 0:
        raise Error(f"{group}: all baselines have length 0: no image can be made")
    return _Extent(longest, count, total, sum_hz / total, low, high)


class _Density:
    """Briggs' weighting (D. S. Briggs 1995, PhD thesis, New Mexico Tech, section 3.2.2)."""

    def __init__(self, group: MsGroup, field_of_view_rad: float, robust: float):
        self._cell = 1 / field_of_view_rad  # wavelengths
        self._sums: dict[int, float] = {}
        total = 0.0
        keys, weights = [], []
        for some in stokes_i(group, None):
            good = some.weight > 0
            key, inverse = np.unique(self._keys(some)[good], return_inverse=True)
            keys.append(key)
            weights.append(np.bincount(inverse, some.weight[good]))
            total += float(some.weight.sum())
        self._key, inverse = np.unique(np.concatenate(keys), return_inverse=True)
        self._density = np.bincount(inverse, np.concatenate(weights))
        self._factor = (5 * 10**-robust) ** 2 / (float((self._density**2).sum()) / total)

    def _keys(self, some: StokesI) -> NDArray[np.int64]:
        """A number for each cell of the uv plane, the same for a point and its mirror image."""
        uv = some.uv_wavelengths
        uv = np.where((uv[..., :1] < 0) | ((uv[..., :1] == 0) & (uv[..., 1:] < 0)), -uv, uv)
        cells = np.rint(uv / self._cell).astype(np.int64)
        return cells[..., 0] * (1 << 32) + cells[..., 1]

    def weighted(self, some: StokesI) -> NDArray[np.float64]:
        keys = self._keys(some)
        index = np.minimum(np.searchsorted(self._key, keys), len(self._key) - 1)
        return some.weight / (1 + self._density[index] * self._factor)


def _grid(some: StokesI, values, weight, size: int, with_w: bool, options: dict) -> NDArray[np.float64]:
    """[x, y] sum of weighted fringes; x = -l, so that east is left."""
    from ducc0.wgridder import experimental

    # V = sum I exp(+2 pi i (ul + vm + w(n-1))); ducc's kernel is exp(-2 pi i (ux + vy - w(n-1))), and x = -l.
    return experimental.vis2dirty(
        uvw=some.uvw_m,
        freq=some.frequency_hz,
        vis=values,
        wgt=weight,
        npix_x=size,
        npix_y=size,
        flip_v=True,
        do_wgridding=with_w,
        divide_by_n=False,
        **options,
    )


def _fit_beam(psf: NDArray[np.float64], scale_rad: float) -> Beam | None:
    """The main lobe: a quadratic fitted to the logarithm where it is above 0.4."""
    centre = psf.shape[0] // 2
    reach = min(centre - 1, 40)
    patch = psf[centre - reach : centre + reach + 1, centre - reach : centre + reach + 1]
    lobe = _connected(patch > 0.4, reach)
    y, x = np.nonzero(lobe)
    if len(x) < 5 or lobe[0].any() or lobe[-1].any() or lobe[:, 0].any() or lobe[:, -1].any():
        return None
    x, y, drop = x - reach, y - reach, -np.log(patch[lobe])
    weight = patch[lobe]
    terms = np.column_stack([x * x, 2 * x * y, y * y]) * weight[:, None]
    (xx, xy, yy), *_ = np.linalg.lstsq(terms, drop * weight, rcond=None)
    sharpness, axes = np.linalg.eigh([[xx, xy], [xy, yy]])
    if sharpness[0] <= 0:
        return None
    widths = 2 * np.sqrt(math.log(2) / sharpness) * scale_rad  # the softest axis first
    # The axis is (x, y) with x to the west; position angles count from north (y) to east (-x).
    angle = math.atan2(-axes[0, 0], axes[1, 0]) % math.pi
    return Beam(float(widths[0]), float(widths[1]), angle)


def _connected(mask: NDArray[np.bool_], centre: int) -> NDArray[np.bool_]:
    """The part of a mask that hangs together with its centre."""
    reached = np.zeros_like(mask)
    reached[centre, centre] = mask[centre, centre]
    while True:
        grown = reached.copy()
        grown[1:] |= reached[:-1]
        grown[:-1] |= reached[1:]
        grown[:, 1:] |= reached[:, :-1]
        grown[:, :-1] |= reached[:, 1:]
        grown &= mask
        if (grown == reached).all():
            return reached
        reached = grown
