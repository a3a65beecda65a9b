"""What is left of data when the model with the solutions is taken away, and how much the data vary by themselves."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ...arguments import checked
from ...ms import MsGroup, OpenSet, groups
from ...sky import SkyModel
from ..apply import parts_with_solutions
from ..model.models import ModelColumns, Models
from ..model.predicted_tiles import PredictedTiles
from ..plan.planning import CalibrationOptions
from ..solutions.choosing import chain_for
from ..solutions.solutions import Solutions
from .powers import Powers
from .residual_sums import PARALLEL, ResidualSums

_DATA_BYTES, MODEL_BYTES = 64 << 20, 32 << 20  # of a tile, and of the models of some of its baselines


@dataclass(eq=False)
class GroupResiduals:
    """Of one field and spectral window.

    `of_antennas` [antenna, correlation], `of_times` [time, correlation], `of_channels` [channel, correlation], of
    good data that have solutions; a visibility counts for both its antennas. `noise_by_channels`, `noise_by_times`
    [correlation]: half the mean square of differences of neighbouring data; NaN where there are none. `before`
    [correlation]: power of the data without the model times one number, the best for parallel hands (`factor`),
    without solutions. `missing` [antenna]: good data without solution; `flagged` [antenna]: data that are flagged
    or without weight. `directions`: {name: (what is left of its model in the residuals before, after, its share of
    the power of the data)}.
    """

    group: MsGroup
    correlations: tuple[str, ...]
    time_s: NDArray[np.float64]
    frequency_hz: NDArray[np.float64]
    of_antennas: Powers
    of_times: Powers
    of_channels: Powers
    noise_by_channels: NDArray[np.float64]
    noise_by_times: NDArray[np.float64]
    before: NDArray[np.float64]
    factor: float
    missing: NDArray[np.int64]
    flagged: NDArray[np.int64]
    directions: dict[str, tuple[float, float, float]] = field(default_factory=dict)

    @property
    def of_correlations(self) -> Powers:
        """[correlation]."""
        return self.of_channels.summed(0)

    @property
    def left_before(self) -> NDArray[np.float64]:
        """[correlation] `before` over the power of the data."""
        data = self.of_correlations.data
        return np.divide(self.before, data, out=np.full(len(data), np.nan), where=data > 0)

    @property
    def parallel(self) -> list[int]:
        """Which correlations are parallel hands."""
        return [k for k, name in enumerate(self.correlations) if name in PARALLEL]

    @property
    def noise(self) -> NDArray[np.float64]:
        """[correlation] power of the noise over that of the data: the smaller of what differences of channels and of
        times say."""
        power = self.of_correlations
        mean = np.divide(power.data, power.count, out=np.full(len(power.data), np.nan), where=power.count > 0)
        smaller = np.fmin(self.noise_by_channels, self.noise_by_times)
        return np.divide(smaller, mean, out=np.full(len(mean), np.nan), where=mean > 0)


# Matrices are small: threads that NumPy's linear algebra would start for them take more than they give.
@checked
@threadpool_limits.wrap(limits=1, user_api="blas")
def residuals(
    path: str | os.PathLike,
    sky: SkyModel | ModelColumns | dict[int, SkyModel | ModelColumns],
    files: Sequence[Sequence[Solutions]],
    options: CalibrationOptions | None = None,
) -> list[GroupResiduals]:
    """What is left of the data of each field and window of `options` with the solutions of some files, of which the
    first stands outside the next. Fields without a model are left out."""
    options, opened, found = options or CalibrationOptions(), OpenSet(path), []
    models = Models(sky, options.is_moved)
    for group in groups(path, **options.rows, by_window=True):
        if models.knows(group):
            found.append(_of_group(group, models, chain_for(files, group), options, opened))
    return found


def _of_group(group, models: Models, solutions: Solutions, options: CalibrationOptions, opened) -> GroupResiduals:
    model = models.of(group)
    parts = parts_with_solutions(getattr(model, "sky", model), solutions, group)
    centre = options.phase_centre_rad or group.phase_centre_rad
    how = {"smearing": options.smearing, "opened": opened, "portion_bytes": MODEL_BYTES}
    predicted = PredictedTiles(group, parts, centre, apart=True, **how)
    names = [part.name for part in parts]
    sums = ResidualSums(group, names, solutions, options)
    slots = slots_of_report(group, sum(bool(part.column) for part in parts))
    predicted.each(options.data.column, sums.add_tile, time_slots=slots)
    return _found(group, names, sums)


def slots_of_report(group: MsGroup, n_column: int) -> int:
    """Time slots that are looked at together, with so many columns of the model."""
    of_visibility = 8 + 4 + 1 + 8 * n_column  # data, weight, flag, columns
    return max(1, _DATA_BYTES // (len(group.baselines) * group.n_channel * len(group.correlations) * of_visibility))


def _found(group: MsGroup, parts: Sequence[str], sums: ResidualSums) -> GroupResiduals:
    """What the sums over all tiles say."""
    n, parallel, overlaps = len(sums.names), sums.parallel, sums.overlaps
    every = np.concatenate([time for time, _ in sums.times] or [np.zeros(0)])
    order = np.argsort(every, kind="stable")

    def joined(name: str) -> NDArray:
        return np.concatenate([getattr(one, name) for _, one in sums.times] or [np.zeros((0, n))])[order]

    times = Powers(*(joined(name) for name in ("data", "residual", "count")))
    channels = sums.channels or Powers.zeros(0, n)
    data = channels.data.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        noise = sums.differences[:, 0] / sums.differences[:, 1]
        shares = (
            overlaps.left_before(parallel),
            overlaps.after / overlaps.own,
            overlaps.own / data[parallel].sum(),
        )
    rows = zip(parts, *shares, strict=True)
    return GroupResiduals(
        group,
        sums.names,
        every[order],
        sums.frequency_hz,
        sums.antennas,
        times,
        channels,
        noise[0],
        noise[1],
        overlaps.before(data, parallel),
        overlaps.factor(parallel),
        sums.missing,
        sums.flagged,
        {name: (float(a), float(b), float(c)) for name, a, b, c in rows if name},
    )
