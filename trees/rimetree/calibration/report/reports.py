"""What a calibration has to say: of each chunk while it runs, and of all together at the end."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...ms import MsGroup
from ..data.likeness import Likeness, most_alike
from ..solutions.choosing import window_ids
from ..solutions.solutions import Solutions
from ..solutions.term_solutions import TermSolutions
from ..terms.kinds import KINDS, observed_elements


@dataclass(frozen=True)
class ChunkReport:
    """One solve.

    `index`, `count`: of the chunks of all fields and windows; `data_desc_ids`: of the windows solved together;
    `terms`: names of those that were solved for; `time_s`: first and last slot; `reference`: name of the antenna that
    phases refer to; `chi_square`: before each iteration and at the end; `equations`: real ones; `rank`: number of
    parameters that they determine; `statuses`: how many groups of unknowns ended how; `flagged`: how many values are
    flagged for which reason, `flagged_of` the same of each term, or "term, direction"; `normalised`: names of terms
    of which data tell only the product with others, and that are normalised for that; `scale`: data over model, where
    no term has an amplitude; `noise`: of robust fits, the size of residuals that they found, in units of what the
    weights say (`chi_square` is in its units); `left_out`: visibilities that stood out and were left out;
    `data_noise`: the mean of weight times |noise|^2, as of `DataCounts`; `alike`: numbers of each
    `Likeness`, as of `likeness_of`; `absent`: directions of which phases cannot
    be told, for their model is not found in the data; `hidden`: those of them that would not stand out from noise;
    `method`: how it was solved; `smoothed_hz`: the width along frequency over which the fit itself made solutions
    smooth; `seconds`: wall time; `resumed`: it was read, not solved. Where directions were solved one after the other
    (`in_turns`), iterations are turns over all of them.
    """

    index: int
    count: int
    field_id: int
    data_desc_ids: tuple[int, ...]
    time_s: tuple[float, float]
    reference: str
    chi_square: list[float]
    equations: int
    rank: int
    iterations: int
    statuses: dict[str, int]
    flagged: dict[str, int] = field(default_factory=dict)
    flagged_of: dict[str, dict[str, int]] = field(default_factory=dict)
    normalised: list[str] = field(default_factory=list)
    terms: list[str] = field(default_factory=list)
    scale: float | None = None
    noise: float = 1.0
    data_power: float = 0.0
    data_noise: float | None = None
    alike: list[list[float]] = field(default_factory=list)
    left_out: int = 0
    absent: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    method: str = ""
    smoothed_hz: float = 0.0
    seconds: float = 0.0
    resumed: bool = False

    @property
    def solves(self) -> int:
        return sum(self.statuses.values())

    @property
    def in_turns(self) -> bool:
        return "one term after the other" in self.method

    @property
    def others_held(self) -> bool:
        """Whether errors are those of each term with the others held: equations of all would have been too large."""
        return self.method.endswith("errors hold the other terms")

    @property
    def converged(self) -> int:
        return self.statuses.get("converged", 0)

    @property
    def noise_ratio(self) -> float:
        """The residuals' root mean square over what the weights say: 1 where weights are inverse variances and the
        model is complete; NaN where nothing was solved."""
        freedom = self.equations - self.rank
        return self.noise * math.sqrt(self.chi_square[-1] / freedom) if freedom > 0 and self.chi_square else math.nan

    @property
    def left(self) -> float:
        """Weighted residual power over that of the data; NaN where it is not known (robust fits weigh otherwise)."""
        known = self.chi_square and self.equations > 0 and self.data_power > 0 and self.noise == 1.0
        return self.chi_square[-1] / self.data_power if known else math.nan

    def to_json(self) -> dict:
        """As a dict of JSON types."""
        return {**self.__dict__, "time_s": list(self.time_s), "data_desc_ids": list(self.data_desc_ids)}

    @classmethod
    def from_json(cls, saved: dict) -> ChunkReport:
        """As `to_json` made it, marked as resumed."""
        axes = {"time_s": tuple(saved["time_s"]), "data_desc_ids": tuple(saved["data_desc_ids"])}
        return cls(**{**saved, **axes, "resumed": True})


@dataclass(frozen=True, eq=False)
class CalibrationReport:
    """What was solved: the groups of the Measurement Set, their chunks, and the solutions of each spectral window.

    `good_fraction`: {antenna name: fraction of its data that are neither flagged nor without weight}. `averaging`: how
    the baselines of each field and window were averaged by their loss, as JSON types. `redundant`: {name of a term that
    was held at the unit matrix: name of the full matrix that can do all that it does}. `directions`: {FIELD_ID: {term:
    those of the field's model}}. `standing_out`: {term: how many solutions are flagged because they stand out};
    `faint`: the same for want of signal.
    `without_signal`: {data description ids of a window: antennas, or feeds of them ("ANT-3 X"), whose gains of the
    whole sky are hardly larger than noise gives}.
    """

    path: str
    groups: list[MsGroup]
    chunks: list[ChunkReport]
    solutions: list[Solutions]
    good_fraction: dict[str, float] = field(default_factory=dict)
    averaging: list[dict] = field(default_factory=list)
    redundant: dict[str, str] = field(default_factory=dict)
    directions: dict[int, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    standing_out: dict[str, int] = field(default_factory=dict)
    faint: dict[str, int] = field(default_factory=dict)
    without_signal: dict[tuple[int, ...], list[str]] = field(default_factory=dict)

    @property
    def _last(self) -> list[ChunkReport]:
        """Chunks of the terms that were solved last: of all, where they are solved together."""
        return [chunk for chunk in self.chunks if chunk.terms == self.chunks[-1].terms]

    @property
    def solves(self) -> int:
        return sum(chunk.solves for chunk in self.chunks)

    @property
    def converged(self) -> int:
        return sum(chunk.converged for chunk in self.chunks)

    @property
    def statuses(self) -> dict[str, int]:
        """How many solves ended how."""
        return summed(chunk.statuses for chunk in self.chunks)

    @property
    def flagged(self) -> dict[str, int]:
        """How many values are flagged for which reason, of all chunks."""
        return summed(chunk.flagged for chunk in self.chunks)

    @property
    def flagged_of(self) -> dict[str, dict[str, int]]:
        """{term, or "term, direction": {reason: values flagged}}, of those of which any are."""
        names = dict.fromkeys(name for chunk in self.chunks for name in chunk.flagged_of)
        return {name: summed(chunk.flagged_of.get(name, {}) for chunk in self.chunks) for name in names}

    @property
    def normalised(self) -> list[str]:
        """Names of terms that were normalised in any chunk, because data tell only their product with others."""
        return list(dict.fromkeys(name for chunk in self.chunks for name in chunk.normalised))

    @property
    def scale(self) -> float | None:
        """Data over model in the median of the chunks, where no term has an amplitude."""
        found = [chunk.scale for chunk in self.chunks if chunk.scale is not None]
        return float(np.median(found)) if found else None

    @property
    def left_out(self) -> int:
        """Visibilities that stood out and were left out (of terms in turn: of all of them)."""
        return sum(chunk.left_out for chunk in self.chunks)

    @property
    def useless(self) -> list[str]:
        """Names of terms all solutions of which are flagged, in all windows: nothing can be done with the others."""
        tables: dict[str, list[TermSolutions]] = {}
        for solutions in self.solutions:
            for table in solutions.terms:
                tables.setdefault(table.name, []).append(table)
        return [name for name, own in tables.items() if all(table.all_flagged for table in own)]

    @property
    def usable(self) -> bool:
        """Whether each term has any solution that is not flagged."""
        return not self.useless

    @property
    def noise_ratio(self) -> float:
        """As `ChunkReport.noise_ratio`, of all chunks of the terms that were solved last."""
        chi_square = sum(chunk.noise**2 * chunk.chi_square[-1] for chunk in self._last if chunk.chi_square)
        return math.sqrt(chi_square / self._freedom) if self._freedom > 0 else math.nan

    @property
    def over_weights(self) -> float:
        """By how many standard deviations of noise chi-square is larger than weights say, if they are 1/sigma^2; NaN
        where nothing was solved."""
        return (self.noise_ratio**2 - 1) * math.sqrt(max(0, self._freedom) / 2)

    @property
    def _freedom(self) -> int:
        return sum(chunk.equations - chunk.rank for chunk in self._last)

    @property
    def left(self) -> float:
        """As `ChunkReport.left`, of all chunks of the terms that were solved last."""
        own = [chunk for chunk in self._last if not math.isnan(chunk.left)]
        power = sum(chunk.data_power for chunk in own)
        return sum(chunk.chi_square[-1] for chunk in own) / power if power > 0 else math.nan

    @property
    def over_noise(self) -> float:
        """The residuals' root mean square over that of the data's own noise, by differences of neighbouring channels
        and times; of all chunks of the terms that were solved last. NaN where it is not known."""
        own = [chunk for chunk in self._last if chunk.data_noise and chunk.chi_square and chunk.noise == 1.0]
        expected = sum(0.5 * chunk.data_noise * (chunk.equations - chunk.rank) for chunk in own)
        return math.sqrt(sum(chunk.chi_square[-1] for chunk in own) / expected) if expected > 0 else math.nan

    @property
    def no_noise(self) -> Likeness:
        """How much of what is left is no noise, as neighbouring channels or times tell; of the terms that were solved
        last."""
        return most_alike([Likeness(*one) for one in chunk.alike] for chunk in self._last)

    def flagged_fraction(self, term: str) -> dict[str, float]:
        """{antenna name: fraction of its solutions of a term that are flagged}, of all windows that have some, of the
        feeds that the data of each have, and of the directions that each field has."""
        flags: dict[str, list[NDArray[np.bool_]]] = {}
        for solutions, table in ((one, table) for one in self.solutions for table in one.terms if table.name == term):
            given = KINDS[table.kind].given
            windows = [group for group in self.groups if set(window_ids(solutions)) & set(group.data_desc_ids)]
            seen = observed_elements(table.elements, {name for group in windows for name in group.correlations})
            observed = [one and name not in given for one, name in zip(seen, table.elements, strict=True)]
            asked = self._asked(table)
            for a, antenna in enumerate(table.antennas):
                own = np.swapaxes(table.flag[:, :, a], 1, 2)[asked]
                flags.setdefault(antenna, []).append(own[..., observed].ravel())
        return {antenna: float(np.concatenate(parts).mean()) for antenna, parts in flags.items()}

    def _asked(self, table: TermSolutions) -> NDArray[np.bool_]:
        """[time, direction]: whether a field has the direction, of its solutions."""
        asked = np.ones((len(table.time_s), len(table.directions)), dtype=bool)
        for field_id, of_terms in self.directions.items() if table.field_ids is not None else ():
            if table.name in of_terms:
                asked[table.field_ids == field_id] = [one in of_terms[table.name] for one in table.directions]
        return asked


def summed(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    """Dicts of numbers, added."""
    found: dict[str, int] = {}
    for one in counts:
        for key, count in one.items():
            found[key] = found.get(key, 0) + count
    return found
