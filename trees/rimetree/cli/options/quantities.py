"""Numbers with units on the command line, as click parameter types; values come out in Hz, s, rad, bytes."""

from __future__ import annotations

import math
import re

import click

_NUMBER = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([A-Za-z\"']*)\s*")


class Number(click.FloatRange):
    """A finite number within limits."""

    name = "number"

    def convert(self, value, param, ctx) -> float:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number")
        return number


class Count(click.IntRange):
    """A whole number within limits."""

    name = "whole number"


class Quantity(click.ParamType):
    """A number with one of the given units (name: factor); a bare number has the factor `bare`. `positive`: no negative
    one is taken, and 0 only if `zero`."""

    def __init__(
        self, name: str, units: dict[str, float], bare: float | None, *, positive: bool = True, zero: bool = False
    ):
        self.name = name
        self._zero = zero
        self._units = units
        self._bare = bare
        self._positive = positive

    def with_unit(self) -> Quantity:
        """This quantity, but bare numbers are refused."""
        return Quantity(self.name, self._units, None, positive=self._positive, zero=self._zero)

    def convert(self, value, param, ctx) -> float:
        if isinstance(value, float | int):
            return float(value)
        match = _NUMBER.fullmatch(value)
        factor = None
        if match:
            factor = self._bare if not match[2] else self._units.get(match[2], self._units.get(match[2].lower()))
        if factor is None:
            bare = next((unit for unit, one in self._units.items() if one == self._bare), None)
            hint = f"a number without a unit is in {bare}" if bare else "a unit is needed"
            self.fail(f"{value!r} is no {self.name}; expected a number and {', '.join(self._units)} ({hint})")
        number = float(match[1]) * factor
        if self._positive and not (number > 0 or (self._zero and number == 0)):
            self.fail(f"{value!r}: must {'not be negative' if self._zero else 'be positive'}")
        return number


FREQUENCY = Quantity("frequency", {"hz": 1.0, "khz": 1e3, "mhz": 1e6, "ghz": 1e9}, 1.0)
BANDWIDTH = Quantity("bandwidth", {"hz": 1.0, "khz": 1e3, "mhz": 1e6, "ghz": 1e9}, 1.0, positive=False)
_SECONDS = {"s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "ms": 1e-3, "us": 1e-6}
DURATION = Quantity("duration", _SECONDS, 1.0)
_ARCSEC = math.pi / 648000
ANGLE = Quantity(
    "angle",
    {"rad": 1.0, "deg": 3600 * _ARCSEC, "arcmin": 60 * _ARCSEC, "arcsec": _ARCSEC, "mas": _ARCSEC / 1000},
    _ARCSEC,
)
AZIMUTH_OR_ELEVATION = Quantity("angle", {"rad": 1.0, "deg": 3600 * _ARCSEC}, None, positive=False)
LENGTH = Quantity("length", {"m": 1.0, "cm": 1e-2, "km": 1e3}, 1.0, zero=True)
# Mega and milli differ by their case alone.
FLUX = Quantity("flux density", {"Jy": 1.0, "jy": 1.0, "kJy": 1e3, "mJy": 1e-3, "uJy": 1e-6}, 1.0, zero=True)
BYTES = Quantity(
    "memory size",
    {"b": 1.0, "kib": 2.0**10, "mib": 2.0**20, "gib": 2.0**30, "kb": 1e3, "mb": 1e6, "gb": 1e9, "k": 2.0**10}
    | {"m": 2.0**20, "g": 2.0**30, "tib": 2.0**40, "tb": 1e12, "t": 2.0**40},
    1.0,
)


class Sexagesimal(click.ParamType):
    """Right ascension or declination, in radians: sexagesimal, or a number with deg or rad; bare numbers are degrees.

    Colons separate hours in a right ascension and degrees in a declination.
    """

    def __init__(self, name: str, colon: str, most_rad: float):
        self.name = name
        self._colon = colon
        self._most = most_rad

    def convert(self, value, param, ctx) -> float:
        if isinstance(value, float | int):
            return float(value)
        from rimetree.sky.angles import parse_angle

        whole = re.fullmatch(r"\s*([+-]?\d+(?:\.\d*)?)([dh])\s*", value)
        try:
            if whole:
                angle = math.radians(float(whole[1]) * (15 if whole[2] == "h" else 1))
            else:
                angle = parse_angle(value, bare="deg", colon=self._colon)
        except ValueError as problem:
            self.fail(f"{self.name} {problem}")
        if not abs(angle) <= self._most:
            self.fail(f"{self.name} {value!r} is outside +-{math.degrees(self._most):g} degrees")
        return angle


RA = Sexagesimal("right ascension", "hours", 2 * math.pi)
DEC = Sexagesimal("declination", "degrees", math.pi / 2)


class HourAngle(click.ParamType):
    """An hour angle in radians: `-3h`, `-2:30:00` or a bare number of hours."""

    name = "hour angle"

    def convert(self, value, param, ctx) -> float:
        if isinstance(value, float | int):
            return float(value)
        match = re.fullmatch(r"\s*([+-]?)(\d+(?:\.\d*)?|\.\d+)\s*h?\s*", value)
        if match:
            hours = float(match[2]) * (-1 if match[1] == "-" else 1)
        else:
            from rimetree.sky.angles import parse_angle

            try:
                hours = parse_angle(value, colon="hours") * 12 / math.pi
            except ValueError:
                self.fail(f"{value!r} is no hour angle; expected e.g. -3h, 1.5h or -2:30:00")
        if abs(hours) > 12:
            self.fail(f"hour angle {value!r} is outside +-12 h")
        return hours * math.pi / 12


def frequency_text(hz: float) -> str:
    """ "1.420406 GHz"."""
    for factor, unit in ((1e9, "GHz"), (1e6, "MHz"), (1e3, "kHz")):
        if abs(hz) >= factor:
            return f"{hz / factor:.9g} {unit}"
    return f"{hz:.9g} Hz"


def ra_text(rad: float) -> str:
    """ "03h32m30.00s"."""
    total = round(math.degrees(rad % (2 * math.pi)) * 240 * 100)
    total %= 24 * 3600 * 100
    return f"{total // 360000:02d}h{total // 6000 % 60:02d}m{total % 6000 / 100:05.2f}s"


def dec_text(rad: float) -> str:
    """ "-27d48m00.0s"."""
    total = round(abs(math.degrees(rad)) * 36000)
    return f"{'-' if rad < 0 else '+'}{total // 36000:02d}d{total // 600 % 60:02d}m{total % 600 / 10:04.1f}s"
