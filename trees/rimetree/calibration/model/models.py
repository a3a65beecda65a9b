"""What is calibrated against: a sky model, which is predicted, or columns of visibilities that the set has already."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...arguments import check_fields, checked
from ...beams import beams_text, kinds_of, require_pointing
from ...ms import CORRELATION_NAMES, MsGroup, sample_tiles, without_averaging
from ...sky import SkyModel
from ...sky_fluxes import stokes_i_at, stokes_through_matrices
from ..errors import CalibrationError
from ..solutions.choosing import SEEN
from ..solutions.solutions import Solutions
from ..terms.gauge import Polarisation, axis_of, polarisation_of, polarisation_of_stokes
from .model_trees import SkyPart, sky_parts

_SAMPLED_SLOTS = 32
_SAMPLED_OF_SLOT = 1 << 12  # visibilities
_ROUNDING = 1e-5  # of visibilities that are kept in single precision
_ROUNDING_OF_PATTERNS = 1e-9
_ELEMENT = {"XX": 0, "XY": 1, "YX": 2, "YY": 3, "RR": 0, "RL": 1, "LR": 2, "LL": 3}


@dataclass(frozen=True)
class PredictedSky:
    """The visibilities of a sky model. `stokes_i`: as of `SkyPart`."""

    sky: SkyModel
    stokes_i: bool = False

    def seen_by(self, group: MsGroup) -> PredictedSky:
        """The model of the data of a group: those of Stokes I alone are two parallel hands that are alike, in which
        nothing is polarised."""
        if group.correlations != ("I",):
            return self
        if self.sky.beam is not None and not all(kind.is_scalar for kind in kinds_of(self.sky.beam)[0]):
            return replace(self, stokes_i=True)  # such beams see polarisation as Stokes I, too
        if not any(source.is_polarised for source in self.sky):
            return self
        return PredictedSky(replace(self.sky, sources=tuple(source.unpolarised() for source in self.sky)))

    @property
    def column_names(self) -> tuple[str, ...]:
        """Columns of the set that the model is made of."""
        return ()

    def parts(self, per: Iterable[str | None]) -> list[SkyPart]:
        """As `sky_parts`."""
        return [replace(part, stokes_i=self.stokes_i) for part in sky_parts(self.sky, per)]

    def directions(self, per: str) -> list[str]:
        """Names of the patches or sources."""
        return list(self.sky.names if per == "source" else self.sky.patches)

    def _of(self, per: str, name: str) -> SkyModel:
        return self.sky.select(**({"names": [name]} if per == "source" else {"patches": [name]}))

    def fluxes_jy(self, per: str, group: MsGroup) -> dict[str, float]:
        """{direction: flux at the middle of the band}."""
        flux_jy = dict(zip(self.sky.names, self._stokes_i(group), strict=True))
        return {name: sum(flux_jy[source.name] for source in self._of(per, name)) for name in self.directions(per)}

    def _stokes_i(self, group: MsGroup) -> list[float]:
        middle_hz = 0.5 * sum(group.frequency_hz)
        return [float(flux) for flux in stokes_i_at(self.sky, middle_hz, group.phase_centre_rad, group.some_times_s)]

    def radec_rad(self, per: str, centre_rad: Sequence[float]) -> dict[str, tuple[float, float]]:
        """{direction: (ra, dec)}."""
        return {name: self._of(per, name).middle_rad for name in self.directions(per)}

    def polarisation(self, group: MsGroup, per: str | None = None, name: str = "") -> Polarisation:
        """Of the whole sky, or (`per` "patch" or "source") of a direction."""
        if self.stokes_i:
            return Polarisation("none", True)
        sky = self.sky if per is None else self._of(per, name)
        stokes = stokes_through_matrices(
            sky, group.frequency_hz, group.phase_centre_rad, group.feed, group.some_times_s
        )
        if stokes is None:
            return polarisation_of(sky, group.feed)
        small = np.abs(stokes) < _ROUNDING_OF_PATTERNS * np.abs(stokes[:, :1])
        return polarisation_of_stokes(np.where(small, 0.0, stokes), group.feed)

    def flux_jy(self, group: MsGroup) -> float:
        """Of a point source whose visibilities are as large as those of the model."""
        return abs(sum(self._stokes_i(group)))

    def seen(self, smearing: bool) -> str:
        """How: what else than the sky and the baselines its visibilities depend on, for readers."""
        beam = "without a primary beam" if self.sky.beam is None else f"through {beams_text(self.sky.beam)}"
        return f"{beam}, {'smeared' if smearing else 'without smearing'}"

    @property
    def fingerprint(self) -> str:
        beam = "" if self.sky.beam is None else repr(self.sky.beam)
        return hashlib.sha256((repr(self.sky.sources) + beam).encode()).hexdigest()


@dataclass(frozen=True)
class ModelColumns:
    """Columns of the Measurement Set as the model: their sum, or each a direction with terms of its own.

    `columns`: {direction: name of the column}, e.g. {"target": "MODEL_DATA", "north": "MODEL_NORTH"}. The brightest
    direction and how the model is polarised are found from a sample of the time slots.
    """

    columns: dict[str, str]

    def __post_init__(self) -> None:
        check_fields(self)

    @classmethod
    @checked
    def parse(cls, texts: Sequence[str]) -> ModelColumns:
        """From "COLUMN" or "DIRECTION=COLUMN" each; a direction has the name of its column unless it is given."""
        found: dict[str, str] = {}
        for text in texts:
            direction, _, column = (part.strip() for part in text.rpartition("="))
            if not column or (not direction and "=" in text):
                raise CalibrationError(f'model column {text!r}: expected a column or "DIRECTION=COLUMN"')
            if (direction or column) in found:
                raise CalibrationError(f"two model columns are for the direction {direction or column!r}")
            found[direction or column] = column
        return cls(found)

    def select(self, keep) -> ModelColumns:
        """The model of the directions for which keep(name) is true."""
        return ModelColumns({name: column for name, column in self.columns.items() if keep(name)})

    def seen_by(self, group: MsGroup) -> ModelColumns:
        """As they are: columns of Stokes I alone have no polarisation."""
        return self

    @property
    def column_names(self) -> tuple[str, ...]:
        """Columns of the set that the model is made of."""
        return tuple(self.columns.values())

    def check(self, group: MsGroup) -> None:
        """Raises `CalibrationError` for a column that the set does not have."""
        for column in self.columns.values():
            if column not in group.columns:
                raise CalibrationError(
                    f"{group.path} has no column {column!r} to take the model from; columns of visibilities are "
                    f"{', '.join(group.columns)}"
                )
            group.require_column(column)  # which warns of one that is not finished

    def parts(self, per: Iterable[str | None]) -> list[SkyPart]:
        """One for each column."""
        del per
        return [SkyPart(name, None, {"patch": name, "source": name}, column) for name, column in self.columns.items()]

    def directions(self, per: str) -> list[str]:
        return list(self.columns)

    def fluxes_jy(self, per: str, group: MsGroup) -> dict[str, float]:
        """{direction: mean magnitude of the parallel hands}."""
        return {name: _magnitude(values) for name, values in self._sample(group).items()}

    def radec_rad(self, per: str, centre_rad: Sequence[float]) -> dict[str, tuple[float, float]]:
        """A column does not say where its sources are: the phase centre."""
        return dict.fromkeys(self.columns, (float(centre_rad[0]), float(centre_rad[1])))

    def polarisation(self, group: MsGroup, per: str | None = None, name: str = "") -> Polarisation:
        """Of the sum of all columns, or (`per` "patch" or "source") of a direction."""
        sample = self._sample(group)
        values = np.concatenate(list(sample.values()) if per is None else [sample[name]])
        scale = np.abs(values).max(initial=0.0)
        if scale == 0:
            return Polarisation("none", True)
        hands = "parallel" if (np.abs(values[:, 0] - values[:, 3]) > _ROUNDING * scale).any() else "none"
        hands = "crossed" if (np.abs(values[:, 1:3]) > _ROUNDING * scale).any() else hands
        total = 0.5 * (values[:, 0] + values[:, 3])
        large = np.abs(total) > 0.1 * np.abs(total).max(initial=0.0)
        shares = values[large] / total[large, None]
        uniform = bool(large.any() and np.abs(shares - shares.mean(axis=0)).max() < 100 * _ROUNDING)
        sums, differences = (values[:, [0, 1]] + sign * values[:, [3, 2]] for sign in (1, -1))
        ways = np.stack([sums[:, 0], differences[:, 0], sums[:, 1], 1j * differences[:, 1]], axis=1)
        axis = axis_of(0.5 * ways, _ROUNDING * scale)
        return Polarisation(hands, uniform, axis)

    def flux_jy(self, group: MsGroup) -> float:
        sample = list(self._sample(group).values())
        return _magnitude(np.sum(sample, axis=0))

    def seen(self, smearing: bool) -> str:
        """Nothing is known of how columns were made."""
        del smearing
        return ""

    @property
    def fingerprint(self) -> str:
        return ", ".join(f"{name}={column}" for name, column in self.columns.items())

    @cached_property
    def _samples(self) -> dict[tuple, dict[str, NDArray[np.complex128]]]:
        return {}

    def _sample(self, group: MsGroup) -> dict[str, NDArray[np.complex128]]:
        """{direction: [visibility, 4]} of finite ones, XX XY YX YY or RR RL LR LL; those that are not there are 0."""
        key = (group.path, group.field_id, group.data_desc_ids)
        if key not in self._samples:
            self.check(group)
            found: dict[str, list] = {name: [] for name in self.columns}
            rows = without_averaging(group.selection)
            for tile in sample_tiles(group.path, list(self.columns.values()), _SAMPLED_SLOTS, **rows):
                names = [CORRELATION_NAMES.get(kind, "") for kind in tile["correlation_type"]]
                picked = _picked(tile["flag"].shape[:3])
                there = (tile["row"] >= 0)[picked[:2]]
                values = {}
                for name, column in self.columns.items():
                    full = np.zeros((len(there), 4), complex)
                    for c, hand in enumerate(names):
                        for element in (0, 3) if hand == "I" else (_ELEMENT[hand],):
                            full[:, element] = tile["columns"][column][(*picked, c)]
                    if names in (["XX"], ["RR"], ["YY"], ["LL"]):
                        full[:, (0, 3)] = full[:, 0:1] + full[:, 3:4]
                    values[name] = full
                    there = there & np.isfinite(full).all(axis=-1)
                for name, full in values.items():
                    found[name].append(full[there])
            self._samples[key] = {name: np.concatenate(parts or [np.zeros((0, 4))]) for name, parts in found.items()}
        return self._samples[key]


def _picked(shape: tuple[int, ...]) -> tuple[NDArray[np.intp], ...]:
    """Indices of all elements of an array, or of `_SAMPLED_OF_SLOT` of them, anywhere and always the same."""
    size = int(np.prod(shape))
    flat = np.arange(size)
    if size > _SAMPLED_OF_SLOT:
        flat = np.unique(np.random.default_rng(1).integers(size, size=_SAMPLED_OF_SLOT))
    return np.unravel_index(flat, shape)


def _magnitude(values: NDArray[np.complex128]) -> float:
    return float(np.abs(values[:, (0, 3)]).mean()) if values.size else 0.0


Model = PredictedSky | ModelColumns


def as_model(model: SkyModel | ModelColumns | PredictedSky) -> Model:
    """Sky models are predicted. Raises `CalibrationError` for one without sources."""
    if not isinstance(model, SkyModel):
        return model
    if not len(model):
        raise CalibrationError("the sky model has no sources")
    return PredictedSky(model)


@checked
def seen_warning(solutions: Solutions, model: SkyModel | ModelColumns, smearing: bool) -> str:
    """What to say where a model that is subtracted is seen in another way than that which was solved with; empty:
    nothing."""
    solved, now = str(solutions.provenance.get(SEEN, "")), as_model(model).seen(smearing)
    if not solved or not now or solved == now:
        return ""
    return f"solutions were found with the sky model seen {solved}; what is subtracted is seen {now}"


class Models:
    """The model of each field: the same for all, or {FIELD_ID: its own}. `moved`: whether it is predicted for another
    phase centre than that of the set. Raises `Error` where beams do not say where they point then."""

    def __init__(self, sky: SkyModel | ModelColumns | dict[int, SkyModel | ModelColumns], moved: bool = False):
        own = sky if isinstance(sky, dict) else {None: sky}
        self._own = {field: as_model(model) for field, model in own.items()}
        for model in self._own.values() if moved else ():
            if isinstance(model, PredictedSky):
                require_pointing(model.sky.beam)

    def of(self, group: MsGroup) -> Model:
        """Raises `CalibrationError` where a field has none."""
        found = self._own.get(group.field_id, self._own.get(None))
        if found is None:
            raise CalibrationError(
                f"there is no model of field {group.field_id} ({group.field_name}); there are some of the fields "
                f"{', '.join(map(str, self._own))}"
            )
        return found.seen_by(group)

    def knows(self, group: MsGroup) -> bool:
        """Whether a field has one."""
        return group.field_id in self._own or None in self._own

    @property
    def column_names(self) -> tuple[str, ...]:
        """Columns of the set that any of them is made of."""
        return tuple(dict.fromkeys(name for model in self._own.values() for name in model.column_names))

    @property
    def fingerprint(self) -> str:
        parts = [("" if field is None else f"field {field}: ") + one.fingerprint for field, one in self._own.items()]
        return "; ".join(parts)
