"""Which rows and channels of a Measurement Set are looked at, beyond fields and data descriptions."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

import numpy as np
from numpy.typing import NDArray

from .._core import Error
from ..arguments import check_fields, checked
from ..utc import NEVER_S, utc_text


class NothingSelectedError(Error):
    """Nothing is left of some rows."""


@dataclass(frozen=True)
class Selection:
    """What to take; each choice is everything where it is empty.

    `scans`: SCAN_NUMBERs. `times_s`: ranges (first, last) of TIME, MJD in seconds. `antennas`: names, patterns (CS*) or
    numbers; "!CS*" leaves out; baselines of which both antennas are chosen. `baselines`: such pairs, "CS*&RS*" or
    "!CS001&*"; of either order. `channels`: ranges (first, stop) in each spectral window. `frequencies_hz`: ranges of
    channel centres. `average_slots`, `average_channels`: so many time slots and channels are averaged on reading;
    `average_s`, `average_hz`: as many as are not longer, or wider, together. `phase_centre_rad`: data are
    moved there on reading, before they are averaged. `one_order`: as of `ms.run_options`.
    """

    scans: Sequence[int] = ()
    times_s: Sequence[Sequence[float]] = ()
    antennas: Sequence[str] = ()
    baselines: Sequence[str] = ()
    channels: Sequence[Sequence[int]] = ()
    frequencies_hz: Sequence[Sequence[float]] = ()
    average_slots: int = 1
    average_channels: int = 1
    average_s: float = 0.0
    average_hz: float = 0.0
    phase_centre_rad: tuple[float, float] | None = None
    one_order: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("times_s", "channels", "frequencies_hz"):
            for pair in getattr(self, name):
                if len(pair) != 2 or not pair[0] <= pair[1]:
                    raise Error(f"{name} holds {pair!r}; expected two numbers, the smaller one first")

    @property
    def all(self) -> bool:
        """Whether nothing is left out, and nothing averaged."""
        return not self.averages and not any(
            (self.scans, self.times_s, self.antennas, self.baselines, self.channels, self.frequencies_hz)
        )

    @property
    def of_some_channels(self) -> bool:
        """Whether channels are chosen."""
        return bool(self.channels or self.frequencies_hz)

    @property
    def text(self) -> str:
        """What is chosen, for people."""
        lists = {name: getattr(self, name) for name in ("scans", "antennas", "baselines")}
        choices = [f"{name} {', '.join(map(str, chosen))}" for name, chosen in lists.items() if chosen]
        choices += [f"times {times_text(low, high)}" for low, high in self.times_s]
        choices += [f"channels {first} to {stop - 1}" for first, stop in self.channels]
        choices += [f"{low / 1e6:.6g} to {high / 1e6:.6g} MHz" for low, high in self.frequencies_hz]
        return ", ".join(choices) or "everything"

    @property
    def averages(self) -> bool:
        """Whether data are averaged."""
        return max(self.average_slots, self.average_channels) > 1 or max(self.average_s, self.average_hz) > 0

    def slots_averaged(self, slots_s: Sequence[float]) -> int:
        """Of slots at these times (seconds, ascending) so many are averaged."""
        distance_s = np.diff(np.asarray(slots_s, dtype=float))
        distance_s = distance_s[distance_s > 0]
        if self.average_s > 0 and len(distance_s):
            return max(1, int(self.average_s / float(np.median(distance_s)) + 1e-3))
        return self.average_slots

    def of_channels(self, frequency_hz: NDArray[np.float64]) -> NDArray[np.bool_]:
        """[channel] which of a whole spectral window are chosen; `frequency_hz`: centres of all of them."""
        number = np.arange(len(frequency_hz))
        by_number = [(number >= first) & (number < stop) for first, stop in self.channels]
        by_frequency = [(frequency_hz >= low) & (frequency_hz <= high) for low, high in self.frequencies_hz]
        chosen = np.ones(len(frequency_hz), dtype=bool)
        for choices in filter(None, (by_number, by_frequency)):
            chosen &= np.any(choices, axis=0)
        return chosen

    def check_channels(self, windows: Mapping[int, NDArray[np.float64]]) -> None:
        """Raises `Error` for a range of channels that no window {data description: channel centres} has as a whole, and
        of frequencies within which none has a channel; warns of windows that do not have all channels of a range."""
        for first, stop in self.channels:
            short = {window: len(centres) for window, centres in windows.items() if len(centres) < stop}
            text = f"channels {first} to {stop - 1} are selected, but " + ", ".join(
                f"data description {window} has the channels 0 to {n - 1}" for window, n in list(short.items())[:5]
            )
            if len(short) == len(windows):
                raise Error(f"{text}; select channels that there are")
            if short:
                taken = "only these are taken" if any(n > first for n in short.values()) else "none is taken"
                warnings.warn(f"{text}: of it {taken}", stacklevel=2)
        for low, high in self.frequencies_hz:
            if not any(((centres >= low) & (centres <= high)).any() for centres in windows.values()):
                every = np.concatenate(list(windows.values()))
                raise Error(
                    f"no channel is between {low / 1e6:.9g} and {high / 1e6:.9g} MHz; there are channels from "
                    f"{every.min() / 1e6:.9g} to {every.max() / 1e6:.9g} MHz"
                )

    def options(self, names: dict[int, str], pairs: Sequence[tuple[int, int]]) -> dict:
        """The options of `ms.run_options` for antennas of these names and baselines of which there are rows. Raises
        `Error` for an antenna that there is not, `NothingSelectedError` where no baseline is left."""
        found: dict = {
            "scans": list(self.scans),
            "times_s": list(self.times_s),
            "channel_ranges": list(self.channels),
            "frequency_ranges_hz": list(self.frequencies_hz),
            "average_width_hz": self.average_hz,
            "average_channels": self.average_channels if self.average_channels > 1 else 0,
        }
        if self.antennas or self.baselines:
            chosen = chosen_baselines(names, pairs, self.antennas, self.baselines)
            if not chosen:
                raise NothingSelectedError(
                    f"no baseline is left of antennas {', '.join(self.antennas) or 'all'} and baselines "
                    f"{', '.join(self.baselines) or 'all'}; choose others"
                )
            for one in self.baselines:
                if not one.startswith("!") and not chosen_baselines(names, pairs, (), [one]):
                    warnings.warn(f"there are no data of a baseline {one!r}", stacklevel=2)
            found["baselines"] = chosen
        return {key: value for key, value in found.items() if value}


@checked
def chosen_baselines(
    names: dict[int, str], pairs: Iterable[tuple[int, int]], antennas: Sequence[str], baselines: Sequence[str]
) -> list[tuple[int, int]]:
    """The pairs whose antennas are both chosen, and which fit one of the baselines (none: all); what begins
    with "!" leaves out. Raises `Error` for a pattern that fits no antenna."""
    kept = set(fitting_antennas(names, [one for one in antennas if not one.startswith("!")])) or set(names)
    kept -= set(fitting_antennas(names, [one[1:] for one in antennas if one.startswith("!")]))
    wanted = [_sides(names, one) for one in baselines if not one.startswith("!")]
    refused = [_sides(names, one[1:]) for one in baselines if one.startswith("!")]

    def fits(pair: tuple[int, int], sides: Sequence[tuple[set, set]]) -> bool:
        p, q = pair
        return any((p in one and q in other) or (q in one and p in other) for one, other in sides)

    return [
        (p, q)
        for p, q in pairs
        if {p, q} <= kept and (not wanted or fits((p, q), wanted)) and not fits((p, q), refused)
    ]


def fitting_antennas(names: dict[int, str], patterns: Sequence[str]) -> list[int]:
    """Numbers of the antennas whose names, or numbers, fit a pattern. Raises `Error` for a pattern that fits none."""
    found: list[int] = []
    for pattern in patterns:
        own = [number for number, name in names.items() if name == pattern or fnmatchcase(name, pattern)]
        if not own and pattern.isdigit() and int(pattern) in names:
            own = [int(pattern)]
        if not own:
            every = ", ".join(list(names.values())[:20])
            raise Error(f"there is no antenna {pattern!r}; there are {every}{', ...' if len(names) > 20 else ''}")
        found += own
    return found


def _sides(names: dict[int, str], text: str) -> tuple[set[int], set[int]]:
    one, ampersand, other = (part.strip() for part in text.partition("&"))
    if not ampersand or not one or not other:
        raise Error(f"baseline {text!r}: expected two antennas (names or patterns) with & between them, e.g. CS*&RS*")
    return set(fitting_antennas(names, [one])), set(fitting_antennas(names, [other]))


def times_text(first_s: float, last_s: float) -> str:
    """From when to when, of TIME."""
    first = utc_text(round(first_s))[:19]
    return f"{first} to {utc_text(round(last_s))[:19] if last_s < NEVER_S else 'the end'}"
