"""Angles as sky-model files write them.

`hh:mm:ss` is hours, `dd.mm.ss` degrees (with one more dot for the fraction of a second), `08h13m36s` and `48d12m58s`
say so themselves, and a number may carry a unit: `12.5deg`, `0.2rad`. A bare number has the unit that the format
gives it, if it gives one; colons in a declination are an error in BBS files, where they are too easily taken for hours.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal, localcontext

_NUMBER = r"\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?"
_COLON = re.compile(r"([+-]?)(\d+):(\d+)(?::(\d+(?:\.\d*)?))?")
_DOTS = re.compile(r"([+-]?)(\d+)\.(\d+)\.(\d+(?:\.\d*)?)")
_LETTERS = re.compile(r"([+-]?)(\d+)([hd])(\d+)m(?:(\d+(?:\.\d*)?)s?)?", re.IGNORECASE)
_UNIT = re.compile(rf"([+-]?(?:{_NUMBER}))\s*(deg|rad|arcmin|arcsec|)", re.IGNORECASE)

_ARCSEC_PER_UNIT = {"deg": 3600.0, "arcmin": 60.0, "arcsec": 1.0}
RAD_PER_ARCSEC = math.pi / 648000.0
_PI = Decimal("3.14159265358979323846264338327950288419716939937511")


def parse_angle(text: str, *, bare: str | None = None, colon: str | None = "hours") -> float:
    """The angle in radians.

    `bare` is the unit of a number without one ("rad" or "deg"), None where such a number is an error; `colon` what
    colons separate ("hours", "degrees"), None where they are an error. Raises `ValueError` saying what is wrong.
    """
    text = text.strip()
    if match := _COLON.fullmatch(text):
        if colon is None:
            raise ValueError(f"{text!r}: colons mean hours and are not allowed in a declination; write dd.mm.ss")
        return _sexagesimal(text, match[1], match[2], match[3], match[4] or "0", hours=colon == "hours")
    if match := _DOTS.fullmatch(text):
        return _sexagesimal(text, match[1], match[2], match[3], match[4], hours=False)
    if match := _LETTERS.fullmatch(text):
        return _sexagesimal(text, match[1], match[2], match[4], match[5] or "0", hours=match[3].lower() == "h")
    if match := _UNIT.fullmatch(text):
        unit = match[2].lower() or bare
        if unit is None:
            raise ValueError(f"{text!r} has no unit; write hh:mm:ss, dd.mm.ss, or append deg or rad")
        value = float(match[1])
        return value if unit == "rad" else value * _ARCSEC_PER_UNIT[unit] * RAD_PER_ARCSEC
    raise ValueError(f"{text!r} is not an angle; expected hh:mm:ss, dd.mm.ss, or a number with deg or rad")


def _sexagesimal(text: str, sign: str, whole: str, minutes: str, seconds: str, *, hours: bool) -> float:
    # 60 seconds, exactly, is what rounding writers make of 59.9996; more is a mistake.
    if int(minutes) >= 60 or float(seconds) > 60.0:
        raise ValueError(f"{text!r} has minutes or seconds of 60 or more")
    return from_parts(sign, whole, minutes, seconds, 15.0 if hours else 1.0)


def from_parts(sign: str, whole: str, minutes: str, seconds: str, factor: float) -> float:
    """The angle in radians of degrees (`factor` 1) or hours (15), minutes and seconds."""
    radians = (float(whole) * 3600.0 + float(minutes) * 60.0 + float(seconds)) * factor * RAD_PER_ARCSEC
    return -radians if sign == "-" else radians


def axes_rad(major_arcsec: float, minor_arcsec: float, angle_deg: float) -> tuple[float, float, float]:
    """Axes and position angle of a shape, in radians."""
    return major_arcsec * RAD_PER_ARCSEC, minor_arcsec * RAD_PER_ARCSEC, math.radians(angle_deg)


def format_ra(ra_rad: float) -> str:
    """`hh:mm:ss.sss` with as many digits as it takes to read the same angle back (within 2 ulp)."""
    wrapped = ra_rad % (2 * math.pi)
    return _format(wrapped, hours=True, separator=":")


def format_dec(dec_rad: float) -> str:
    """`+dd.mm.ss.sss` with as many digits as it takes to read the same angle back (within 2 ulp)."""
    sign = "-" if math.copysign(1.0, dec_rad) < 0 else "+"
    return sign + _format(abs(dec_rad), hours=False, separator=".")


def _format(angle_rad: float, *, hours: bool, separator: str) -> str:
    with localcontext() as context:
        context.prec = 45
        exact = Decimal(angle_rad) * (43200 if hours else 648000) / _PI
        text = ""
        for digits in range(3, 33):
            total = exact.quantize(Decimal(1).scaleb(-digits))
            minutes, seconds = divmod(total, 60)
            whole, minutes = divmod(minutes, 60)
            if hours and whole >= 24:
                whole -= 24
            text = f"{int(whole):02d}{separator}{int(minutes):02d}{separator}{seconds:0{digits + 3}.{digits}f}"
            if abs(parse_angle(text) - angle_rad) <= 2 * math.ulp(angle_rad):
                break
        return text
