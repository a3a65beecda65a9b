"""What `rimetree calibrate` was asked for."""

from __future__ import annotations

from dataclasses import dataclass

from .asked_rows import AskedRows
from .beams import AskedBeams
from .fields import chosen_fields

_Names = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class AskedCalibration(AskedRows):
    """The options of the command but for --term and --out, by the names of its parameters. Of what was not said: None,
    an empty tuple or False, or the default that the option's help tells."""

    # the data, beside the rows
    data_column: str
    uvmin: float | None  # metres, or wavelengths less than 0
    uvmax: float | None
    average_loss: float | None
    average_radius: float | None  # radians

    # the model
    sky: _Names
    sky_format: str | None
    skip_unsupported: bool
    patches: _Names | None
    beams: AskedBeams
    model_columns: _Names
    no_smearing: bool
    phase_centre: tuple[float, float] | None  # ra and dec, radians

    # the fit
    in_turn: bool
    start: _Names
    hold: _Names
    hold_terms: _Names | None
    min_fraction: float
    min_snr: float
    flag_solutions: float | None
    flag_data: float | None
    noise_per: str | None
    robust: float | None
    iterations: int
    scale_errors: bool
    successive: bool
    reference: str | None
    resume: bool
    overwrite: bool

    # what is done with solutions
    apply_: bool
    subtract: bool
    apply_to: _Names | None
    from_field: _Names | None
    flux_from: _Names | None
    direction: str | None
    interpolation: str
    output_column: str
    no_flag_version: bool
    weights: bool
    report: _Names
    wait: float  # seconds
    dry_run: bool

    # how it is computed
    precision: str
    tolerance: float | None
    device: str | None
    threads: int | None
    memory: float | None  # bytes
    time_slots: int | None

    @property
    def applies(self) -> bool:
        """Whether data are to be written."""
        return self.apply_ or self.subtract


@dataclass(frozen=True)
class ChosenFields:
    """FIELD_IDs that options chose; None where one was not given."""

    solved_on: list[int] | None
    apply_to: list[int] | None
    from_field: list[int] | None
    flux_from: list[int] | None

    @classmethod
    def of(cls, asked: AskedCalibration, summary: dict) -> ChosenFields:
        names = (asked.field_names, asked.apply_to, asked.from_field, asked.flux_from)
        return cls(*(chosen_fields(summary, one) for one in names))

    def applied_to(self, asked: AskedCalibration) -> list[int] | None:
        """Those to whose data solutions are applied."""
        return self.apply_to if asked.apply_to else self.solved_on

    def with_model(self, asked: AskedCalibration) -> list[int] | None:
        """Those in which the model is looked at: that are solved on, or that it is subtracted from."""
        if self.solved_on is None or not (asked.subtract and asked.apply_to):
            return self.solved_on
        return None if self.apply_to is None else [*self.solved_on, *self.apply_to]
