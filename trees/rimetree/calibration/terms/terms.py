"""What to solve for, as a line of text: `G: diag, 2min, 8chan`.

    term     = NAME ":" kind { "," option }
    kind     = scalar | diag | full | phase | amplitude | delay | rate | tec | rotation | faraday | crosshand
             | leakage | parallactic
    option   = NUMBER time-unit          one solution per so much time; none: one for the whole observation of a field
             | NUMBER "scan"             one solution per so many scans (SCAN_NUMBER)
             | NUMBER frequency-unit     one solution per so much of the band; none: one for the whole window
             | "per patch" { NAME }      one for each patch of the sky model, or for each of these (names, patterns
                                         as A*, or !A*: not these), while others keep the unit matrix
             | "per source" { NAME }     one for each source, or each of these
             | "common" NAME { NAME }    one solution for all antennas of each name or pattern, e.g. "common CS*"
             | "smooth" WIDTH { ANTENNA=WIDTH }   solutions that are smooth along frequency: a Gaussian of this full
                                         width at half maximum, e.g. "smooth 2MHz CS*=4MHz"
             | "on" FIELD { FIELD }      solved for on these fields only (numbers, names or patterns): terms in turn
             | "scalar"                  the same for both feeds (phase, amplitude, delay, rate)
             | "plane"                   values of antennas lie in a plane over the array (tec; scalar phase or delay)
             | "all windows"             the same in all spectral windows, which are then solved together
    time-unit      = ms | s | min | h | slot | slots
    frequency-unit = Hz | kHz | MHz | GHz | chan | chans

Terms stand in the measurement equation in the order in which they are given, the first next to the correlator; those of
directions stand inside those that are not.
"""

from __future__ import annotations

import difflib
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from ...arguments import check_fields, checked
from ..errors import CalibrationError
from .kinds import CAN_BE_SCALAR, IN_PLANES, KINDS, TURNING, Kind

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_AMOUNT = re.compile(r"(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)?\s*([A-Za-z]+)")
#: {unit: seconds}.
TIME_UNITS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_FREQUENCY = {"hz": 1.0, "khz": 1e3, "mhz": 1e6, "ghz": 1e9}
_SLOTS = ("slot", "slots")
_CHANNELS = ("chan", "chans", "channel", "channels")
_SCANS = ("scan", "scans")
_DIRECTIONS = ("patch", "source")
_ALL_WINDOWS = "all windows"
_OPTIONS = (
    '"per patch", "per source", "scalar", "plane", "all windows", "common ANTENNAS", "smooth WIDTH" or "on FIELDS"; '
    "commas stand between options, spaces between names"
)


@dataclass(frozen=True)
class Interval:
    """How much one solution covers: so many seconds or Hz (`quantity`), so many time slots or channels (`count`), or so
    many `scans`."""

    quantity: float | None = None
    count: int | None = None
    scans: int | None = None

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True)
class Term:
    """One Jones term to solve for.

    `text`: as it was given; `time`, `frequency`: how much one solution covers (None: everything); `per`: "patch" or
    "source" for a term of each direction, None for one that is the same for the whole sky; `only`: names or patterns
    of the directions that have it (none: all); `scalar`: whether it acts on both feeds alike; `all_windows`: whether a
    solution holds for all spectral windows together; `fields`: on which it is solved for, where terms are solved in
    turn (none: all); `common`: patterns of antennas, those of each of which share one solution; `smooth`: (pattern of
    antennas, width in Hz) of the kernel along frequency, the last that fits an antenna counts; `plane`: whether the
    values of antennas lie in a plane over the array.
    """

    name: str
    kind: Kind
    time: Interval | None = None
    frequency: Interval | None = None
    per: str | None = None
    scalar: bool = False
    all_windows: bool = False
    only: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    common: tuple[str, ...] = ()
    smooth: tuple[tuple[str, float], ...] = ()
    plane: bool = False
    text: str = ""

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def elements(self) -> tuple[str, ...]:
        """One name for each element of the matrix or feed that has parameters of its own."""
        return ("",) if self.scalar else self.kind.elements

    @property
    def turns(self) -> bool:
        """Whether it turns phases, and does nothing besides."""
        return self.kind.name in TURNING

    def shared_by(self, names: Sequence[str], antenna: str) -> str:
        """The first of some antennas that shares its solutions with one of them."""
        for pattern in ("*",) if self.kind.name == "crosshand" else self.common:
            if is_among(antenna, [pattern]):
                return next(name for name in names if is_among(name, [pattern]))
        return antenna

    def kernel_hz(self, antenna: str) -> float:
        """Full width at half maximum of the kernel along frequency for an antenna; 0: none."""
        return next((width for pattern, width in reversed(self.smooth) if is_among(antenna, [pattern])), 0.0)

    def acts_on(self, direction: str) -> bool:
        """Whether a direction has this term."""
        return not self.only or is_among(direction, self.only)

    def __str__(self) -> str:
        return self.text or f"{self.name}: {self.kind.name}"


@checked
def is_among(name: str, patterns: Sequence[str]) -> bool:
    """Whether a name fits any of some patterns with * and ?, and none that begins with "!" ("!A*": all but these). No
    patterns: everything."""
    refused = [one[1:] for one in patterns if one.startswith("!")]
    wanted = [one for one in patterns if not one.startswith("!")]
    fits = any(fnmatchcase(name, one) or name == one for one in wanted) or not wanted
    return fits and not any(fnmatchcase(name, one) or name == one for one in refused)


@checked
def parse_term(text: str) -> Term:
    """The term that a line describes. Raises `CalibrationError`, which says what is wrong and what may stand there."""
    name, colon, rest = text.partition(":")
    name = name.strip()
    if not colon or not _NAME.fullmatch(name):
        raise CalibrationError(
            f'term {text!r}: expected a name, a colon and a kind, e.g. "G: diag, 2min, 8chan"; '
            "a name is letters, digits and _, a letter first"
        )
    kind_name, *options = [part.strip() for part in rest.split(",")]
    if kind_name not in KINDS:
        raise CalibrationError(f"term {text!r}: {_unknown('kind', kind_name, KINDS)}")
    found: dict = {}
    for option in options:
        if kind_name == "parallactic":
            raise CalibrationError(f"term {text!r}: parallactic has no options: it is known for each time slot")
        for key, value in _option(text, option, kind_name).items():
            if key in found:
                raise CalibrationError(f"term {text!r}: {option!r} says again what was said before")
            found[key] = value
    if "smooth" in found and "frequency" not in found:
        raise CalibrationError(
            f'term {text!r}: smooth wants several solutions along frequency, e.g. "8chan, smooth 2MHz"'
        )
    term = Term(name, KINDS[kind_name], **found, text=text.strip())
    if term.plane and not (kind_name in IN_PLANES and term.elements == ("",)):
        raise CalibrationError(
            f'term {text!r}: "plane" is an option of {" and ".join(IN_PLANES)}, the same for both feeds, e.g. '
            '"tec, 1slot, plane" or "delay, scalar, plane"'
        )
    if term.plane and term.common:
        raise CalibrationError(f'term {text!r}: antennas in a plane have no solutions in common: "plane" or "common"')
    return term


@checked
def parse_terms(texts: Sequence[str]) -> list[Term]:
    """The terms of several lines. Raises `CalibrationError` for no term, and for a name that is used twice."""
    terms = [parse_term(text) for text in texts]
    require_own_names(terms, '"G: diag, 2min"')
    return terms


def require_own_names(terms: Sequence[Term], example: str) -> None:
    """Raises `CalibrationError` for no term, with an example, and for a name that is used twice."""
    if not terms:
        raise CalibrationError(f"there is no term; give one, e.g. {example}")
    seen: set[str] = set()
    for term in terms:
        if term.name in seen:
            raise CalibrationError(f"two terms are named {term.name!r}")
        seen.add(term.name)


def check_antennas(terms: Sequence[Term], names: Sequence[str]) -> None:
    """Raises `CalibrationError` where a term names antennas of which there are none with data; warns of those that are
    alone with solutions that they are to share."""
    for term in terms:
        for pattern in (*term.common, *(pattern for pattern, _ in term.smooth)):
            if not any(is_among(name, [pattern]) for name in names):
                raise CalibrationError(
                    f'term "{term}": no antenna with data is named {pattern!r}; there are {", ".join(names[:20])}'
                    f"{', ...' if len(names) > 20 else ''}"
                )
        alone = [pattern for pattern in term.common if sum(is_among(name, [pattern]) for name in names) == 1]
        if alone:
            warnings.warn(
                f'term "{term}": {", ".join(alone)}: one antenna each, with a solution of its own; antennas that one '
                "name or pattern fits share theirs, e.g. common ANT-[0-3]",
                stacklevel=2,
            )


def has_amplitude(terms: Sequence[Term]) -> bool:
    """Whether any term can scale a model: else the data's own scale belongs to none."""
    return any(term.kind.name in ("scalar", "diag", "full", "amplitude") for term in terms)


def _option(text: str, option: str, kind_name: str) -> dict[str, object]:
    words = option.split()
    if words[:1] == ["per"]:
        if len(words) < 2 or words[1] not in _DIRECTIONS:
            raise CalibrationError(f'term {text!r}: expected "per patch" or "per source", found {option!r}')
        return {"per": words[1], **({"only": tuple(words[2:])} if words[2:] else {})}
    if words[:1] == ["on"]:
        if len(words) < 2:
            raise CalibrationError(f'term {text!r}: "on" wants fields behind it, by number or name, e.g. "on 3C286"')
        return {"fields": tuple(words[1:])}
    if words[:1] == ["common"]:
        if len(words) < 2:
            raise CalibrationError(f'term {text!r}: "common" wants names of antennas behind it, e.g. "common CS*"')
        return {"common": tuple(words[1:])}
    if words[:1] == ["smooth"]:
        return {"smooth": _smooth(text, words[1:])}
    if words == _ALL_WINDOWS.split():
        return {"all_windows": True}
    if option == "plane":
        return {"plane": True}
    if option == "scalar":
        if kind_name not in CAN_BE_SCALAR:
            raise CalibrationError(
                f'term {text!r}: "scalar" is an option of {", ".join(CAN_BE_SCALAR)}, not of {kind_name}'
                + ("; a complex gain for both feeds alike is the kind scalar" if kind_name == "diag" else "")
            )
        return {"scalar": True}
    key, interval = _interval(text, option)
    return {key: interval}


def _smooth(text: str, words: Sequence[str]) -> tuple[tuple[str, float], ...]:
    found = []
    for word in words:
        pattern, equals, width = word.rpartition("=")
        match = _AMOUNT.fullmatch(width)
        factor = _FREQUENCY.get(match[2].lower()) if match and match[1] else None
        if factor is None or not float(match[1]) > 0 or (equals and not pattern):
            raise CalibrationError(
                f'term {text!r}: {word!r} is no width to smooth over; expected e.g. "smooth 2MHz" or '
                '"smooth 2MHz CS*=4MHz"'
            )
        found.append((pattern or "*", float(match[1]) * factor))
    if not found:
        raise CalibrationError(f'term {text!r}: "smooth" wants a width behind it, e.g. "smooth 2MHz"')
    return tuple(found)


def _interval(text: str, option: str) -> tuple[str, Interval]:
    match = _AMOUNT.fullmatch(option)
    units = [*TIME_UNITS, "slots", "scans", "Hz", "kHz", "MHz", "GHz", "chan"]
    bare = match and match[1] is None and match[2].lower() not in _SLOTS + _CHANNELS + _SCANS
    if not match or bare:
        similar = difflib.get_close_matches(option, ["per patch", "per source", "scalar", "plane", _ALL_WINDOWS], n=1)
        hint = f" (did you mean {similar[0]}?)" if similar else ""
        raise CalibrationError(
            f"term {text!r}: there is no option {option!r}{hint}; expected an interval (a number and "
            f"{', '.join(units)}), {_OPTIONS}"
        )
    unit = match[2].lower()
    amount = float(match[1] or 1)
    if not amount > 0:
        raise CalibrationError(f"term {text!r}: the interval {option!r} must be positive")
    if unit in _SLOTS + _CHANNELS + _SCANS:
        if amount != int(amount):
            raise CalibrationError(f"term {text!r}: {option!r} must be a whole number of {match[2]}")
        if unit in _SCANS:
            return "time", Interval(scans=int(amount))
        return ("time" if unit in _SLOTS else "frequency"), Interval(count=int(amount))
    if unit in TIME_UNITS:
        return "time", Interval(quantity=amount * TIME_UNITS[unit])
    if unit in _FREQUENCY:
        return "frequency", Interval(quantity=amount * _FREQUENCY[unit])
    raise CalibrationError(f"term {text!r}: {_unknown('unit', match[2], units)}")


def _unknown(what: str, found: str, known) -> str:
    similar = difflib.get_close_matches(found, list(known), n=1)
    hint = f" (did you mean {similar[0]}?)" if similar else ""
    return f"there is no {what} {found!r}{hint}; known are {', '.join(known)}"
