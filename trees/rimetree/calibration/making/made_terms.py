"""How the values of a term scatter, as a line of text: `G: diag, 1min, amplitude 10%, phase 20deg, over 1h`.

Beside a kind, intervals, directions and antennas, as `parse_term` takes them, these options say what is drawn:

    | "amplitude" PART         gains: standard deviation of the logarithm of amplitudes, and
    | "phase" ANGLE              of phases
    | "leakage" PART           full matrices: root mean square of the modulus of what is off the diagonal, likewise
    | "spread" AMOUNT          other kinds: standard deviation of values; of leakages as above
    | "mean" AMOUNT            what values scatter around: 0, or 1 for amplitudes; of screens a value towards the zenith
    | "over" TIME | FREQUENCY  values so far apart have a correlation of 1/e (none: each interval has its own)
    | "spread" AMOUNT "at" LENGTH    a turbulent screen above the array (tec; scalar delay or phase): root mean square
                               of the difference between lines of sight that are so far apart where they cross it
    | "height" LENGTH | "outer" LENGTH | "wind" SPEED [AZIMUTH]    of the screen

    PART = NUMBER | NUMBER "%"      ANGLE = NUMBER ( rad | deg )      LENGTH = NUMBER ( m | km )
    AMOUNT = a part, an angle, or a number of ns, ps (or mm, cm, m of path), ps/s, TECU, rad/m2: as the kind has it
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..._core import SPEED_OF_LIGHT_M_S
from ...arguments import check_fields, checked
from ..errors import CalibrationError
from ..terms.terms import TIME_UNITS, Term, parse_term, require_own_names
from .screens import USUAL_SCREENS, Screen

_AMOUNT = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(\S*)")
_TWO_AMOUNTS = re.compile(r"(\S*\d\s*[A-Za-z/]+)\s+(\S*\d\s*[A-Za-z]+)")
_PART = {"": 1.0, "%": 0.01}
_ANGLE = {"rad": 1.0, "deg": math.pi / 180}
_LENGTH = {"m": 1.0, "km": 1e3}
_PATH = {unit: metres / SPEED_OF_LIGHT_M_S for unit, metres in (("mm", 1e-3), ("cm", 1e-2), ("m", 1.0))}
_FREQUENCY = {"Hz": 1.0, "kHz": 1e3, "MHz": 1e6, "GHz": 1e9}
_SPEED = {"m/s": 1.0, "km/s": 1e3, "km/h": 1 / 3.6}

#: {quantity of a table: its units}.
_UNITS = {
    "amplitude": _PART,
    "phase": _ANGLE,
    "clock": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12, **_PATH},
    "rate": {"s/s": 1.0, "ns/s": 1e-9, "ps/s": 1e-12, "fs/s": 1e-15},
    "tec": {"TECU": 1.0, "mTECU": 1e-3},
    "rotation": _ANGLE,
    "rotationmeasure": {"rad/m2": 1.0},
}
_OF_GAINS = {"amplitude": _PART, "phase": _ANGLE}
_OF_SCREENS = ("height", "outer", "wind")
EXAMPLE = '"G: diag, 1min, phase 20deg"'


@dataclass(frozen=True)
class MadeTerm:
    """A term whose values are drawn.

    `spread`: {"amplitude", "phase", "leakage" or "spread": how far values scatter, in the units of tables}; `mean`:
    around what (None: what changes nothing); `over_s`, `over_hz`: how far apart values have a correlation of 1/e (None:
    none have any); `screen`: what values are taken from, if they are not each antenna's own; `text`: as it was given.
    """

    term: Term
    spread: Mapping[str, float] = field(default_factory=dict)
    mean: float | None = None
    over_s: float | None = None
    over_hz: float | None = None
    screen: Screen | None = None
    text: str = ""

    def __post_init__(self) -> None:
        check_fields(self, CalibrationError)
        _require_meaning(self)

    def __str__(self) -> str:
        return self.text or str(self.term)


@checked
def parse_made_term(text: str) -> MadeTerm:
    """The term that a line describes. Raises `CalibrationError`, which says what is wrong and what may stand there."""
    head, *options = [part.strip() for part in text.split(",")]
    own = [one for one in options if one.split()[:1] and one.split()[0] in _readers({})]
    own = [] if head.endswith("parallactic") else own  # which has no options
    try:
        term = parse_term(", ".join([head, *(one for one in options if one not in own)]))
    except CalibrationError as problem:
        raise CalibrationError(f"{problem}{_hint(options)}") from None
    units = _units_of(term)
    found: dict = {}
    for option in own:
        word, *rest = option.split(maxsplit=1)
        for key, value in _readers(units)[word](text, option, rest[0] if rest else "").items():
            if key in found:
                raise CalibrationError(f"term {text!r}: {option!r} says again what was said before")
            found[key] = value
    about = {key: found.pop(key) for key in ("mean", "over_s", "over_hz") if key in found}
    at_m, of_screen = found.pop("at_m", None), {key: found.pop(key) for key in list(found) if key not in _SPREADS}
    if of_screen and at_m is None:
        raise CalibrationError(
            f"term {text!r}: {', '.join(_OF_SCREENS)} are of a screen: say how rough it is, e.g. "
            '"spread 0.02TECU at 10km"'
        )
    if at_m is not None:
        usual = USUAL_SCREENS.get(term.kind.name, USUAL_SCREENS["tec"])
        about["screen"] = replace(usual, spread=found.pop("spread"), at_m=at_m, **of_screen)
    return MadeTerm(term, found, **about, text=text.strip())


@checked
def parse_made_terms(texts: Sequence[str]) -> list[MadeTerm]:
    """The terms of several lines. Raises `CalibrationError` for no term, and for a name that is used twice."""
    terms = [parse_made_term(text) for text in texts]
    require_own_names([made.term for made in terms], EXAMPLE)
    return terms


_SPREADS = ("amplitude", "phase", "leakage", "spread")


def _units_of(term: Term) -> dict[str, dict[str, float]]:
    """{option: units} that a kind takes."""
    kind = term.kind
    if kind.name == "parallactic":
        return {}
    if kind.name == "leakage":
        return {"spread": _PART}
    if kind.quantities == ("amplitude", "phase"):
        leaking = {} if kind.diagonal else {"leakage": _PART}
        return {**_OF_GAINS, **leaking, "mean": _PART}
    units = _UNITS[kind.quantities[0]]
    return {"spread": units, "mean": units}


def _readers(units: Mapping[str, Mapping[str, float]]) -> dict:
    """{first word of an option: what reads it}; `units` are those of a kind."""

    def amount(text, option, rest, *, at: bool = False) -> dict:
        word = option.split()[0]
        if word not in units:
            known = ", ".join(units) or "none"
            raise CalibrationError(f"term {text!r}: this kind has no {word!r}; what its values can be given: {known}")
        number, found_at, length = rest.partition(" at ") if at else (rest, "", "")
        value = {word: _number(text, option, number, units[word], negative=word == "mean")}
        at_m = _number(text, option, length, _LENGTH) if found_at else None
        if at_m == 0:
            raise CalibrationError(f"term {text!r}: {option!r}: the distance must not be 0")
        return value | ({"at_m": at_m} if found_at else {})

    def spread(text, option, rest) -> dict:
        return amount(text, option, rest, at=True)

    def over(text, option, rest) -> dict:
        value = _number(text, option, rest, {**TIME_UNITS, **_FREQUENCY})
        return {"over_s" if rest.strip().endswith(tuple(TIME_UNITS)) else "over_hz": value}

    def length(text, option, rest) -> dict:
        value = _number(text, option, rest, _LENGTH)
        if value == 0:
            raise CalibrationError(f"term {text!r}: {option!r} must not be 0")
        return {f"{option.split()[0]}_m": value}

    def wind(text, option, rest) -> dict:
        match = _TWO_AMOUNTS.fullmatch(rest.strip())
        speed, azimuth = match.groups() if match else (rest, None)
        found = {"wind_m_s": _number(text, option, speed, _SPEED)}
        return found | ({"towards_rad": _number(text, option, azimuth, _ANGLE, negative=True)} if azimuth else {})

    return {
        **dict.fromkeys(("amplitude", "phase", "leakage", "mean"), amount),
        **{"spread": spread, "over": over, "height": length, "outer": length, "wind": wind},
    }


def _number(text: str, option: str, said: str, units: Mapping[str, float], *, negative: bool = False) -> float:
    match = _AMOUNT.fullmatch(said.strip())
    factor = units.get(match[2]) if match else None
    if factor is not None and float(match[1]) < 0 and not negative:
        raise CalibrationError(f"term {text!r}: {option!r} must not be negative")
    if factor is None or not math.isfinite(float(match[1])):
        names = ", ".join(unit or "no unit" for unit in units)
        raise CalibrationError(f"term {text!r}: {option!r}: expected a number and {names}, found {said.strip()!r}")
    return float(match[1]) * factor


def _hint(options: Sequence[str]) -> str:
    """What an option that nobody knows may have meant."""
    words = [option.split()[0] for option in options if option]
    similar = [one for word in words for one in difflib.get_close_matches(word, list(_readers({})), n=1, cutoff=0.75)]
    meant = [one for one in similar if one not in words]
    return f"; or did you mean {meant[0]!r}?" if meant else ""


def _require_meaning(made: MadeTerm) -> None:
    """Raises where a term says too little, or things that do not go together."""
    term, text = made.term, f'term "{made}"'
    if term.kind.name == "parallactic":
        return
    for what in made.spread:
        if what not in _units_of(term):
            raise CalibrationError(f"{text}: this kind has no {what!r}")
    if made.screen is not None and (term.kind.name not in USUAL_SCREENS or term.elements != ("",)):
        raise CalibrationError(
            f"{text}: {' and '.join(USUAL_SCREENS)} can be of a screen, the same for both feeds, e.g. "
            '"tec, 10s, spread 0.02TECU at 10km" or "delay, scalar, 10s, spread 1mm at 1km"'
        )
    for what, part in made.spread.items():
        if part > 1 and ("amplitude" in term.kind.quantities and what != "phase"):
            raise CalibrationError(f"{text}: {what} is {part:g}, which is {part:.0%}; expected at most 100 %")
    for what, given in (("smooth", term.smooth), ("on", term.fields)):
        if given:
            raise CalibrationError(f'{text}: "{what}" is an option of terms that are solved for')
    if not (made.spread or made.screen or made.mean is not None):
        wanted = ", ".join(_units_of(term))
        raise CalibrationError(f"{text}: say what its values are: {wanted}, with an amount each")
    if made.mean is not None and made.mean <= 0 and "amplitude" in term.kind.quantities:
        raise CalibrationError(f"{text}: the mean of amplitudes must be positive")
    for scale, interval, example in ((made.over_s, term.time, "1min"), (made.over_hz, term.frequency, "1chan")):
        if scale is not None and made.screen is not None:
            raise CalibrationError(f'{text}: how a screen changes is said by its wind, not by "over"')
        if scale is not None and interval is None:
            raise CalibrationError(f'{text}: "over" wants several values there, e.g. "{example}"')
        if scale is not None and not scale > 0:
            raise CalibrationError(f'{text}: "over" must be positive')
    if made.screen is not None and (term.plane or term.common or term.frequency):
        raise CalibrationError(
            f"{text}: a screen has a value for each antenna, at all frequencies; it goes without "
            '"plane", "common" and intervals along frequency'
        )
