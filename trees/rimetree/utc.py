"""UTC as texts, and how far the Earth's rotation is from it."""

from __future__ import annotations

import datetime
import warnings
from typing import TYPE_CHECKING

from ._core import Error

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: When MJD begins.
_MJD_0 = datetime.datetime(1858, 11, 17)
#: MJD (s) of the year 2175, after all data.
NEVER_S = 1e10
#: Of 1933, when radio waves of the sky became known; and of 9999, the last that has a name.
_FIRST_S, _NAMED_S = 27073 * 86400.0, 2.56e11


def utc_text(mjd_s: float) -> str:
    """ "2025-01-01T20:30:00.000" of seconds of MJD."""
    moment = _MJD_0 + datetime.timedelta(milliseconds=round(mjd_s * 1000))
    return moment.isoformat(timespec="milliseconds")


def parse_utc(text: str) -> float:
    """Seconds of MJD of a date and time such as "2025-01-01T20:30:00"; raises `Error` where it is none.

    They count 86400 s for each day before, as Measurement Sets do. Astropy's MJD has fractions of the day's own length,
    which are less on a day that ends with a leap second.
    """
    from astropy.time import Time

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that leap seconds of the future are not known
            found = Time(text.strip().removesuffix("Z"), scale="utc").ymdhms
        days = (datetime.date(int(found["year"]), int(found["month"]), int(found["day"])) - _MJD_0.date()).days
        return days * 86400.0 + int(found["hour"]) * 3600 + int(found["minute"]) * 60 + float(found["second"])
    except ValueError:
        raise Error(f"start is {text!r}; expected a UTC date and time such as 2025-01-01T20:30:00") from None


def require_date(mjd_s: float) -> None:
    """Raises `Error` where seconds of MJD are of no time at which there may be an observation: days may be meant."""
    if not _FIRST_S < mjd_s < NEVER_S:
        when = f", which is {utc_text(mjd_s)[:10]}" if 0 <= mjd_s < _NAMED_S else ""
        raise Error(
            f"the observation starts at {mjd_s:.10g} s of MJD{when}: expected is a time of the years 1933 to 2175, in "
            "seconds since 1858-11-17, which are 86400 times the days of MJD"
        )


def dut1(time_s: float) -> float:
    """UT1 - UTC in seconds from the tables that come with astropy; nothing is downloaded."""
    from astropy import units
    from astropy.time import Time
    from astropy.utils import iers

    day, second = divmod(time_s, 86400)
    quiet = warnings.catch_warnings(action="ignore")
    with quiet, iers.conf.set_temp("auto_download", False), iers.conf.set_temp("auto_max_age", None):
        time = Time(day, format="mjd", scale="utc") + second * units.s
        value, status = iers.IERS_Auto.open().ut1_utc(time, return_status=True)
    if int(status) in (iers.TIME_BEFORE_IERS_RANGE, iers.TIME_BEYOND_IERS_RANGE):
        warnings.warn("UT1 - UTC is not known for this date: 0 s is used (UVW turn by up to 14 arcsec)", stacklevel=3)
        return 0.0
    return float(value.to_value("s"))


def with_dut1(time_s: NDArray[np.float64], reference_s: float, dut1_s: float) -> list[tuple[NDArray, float]]:
    """Ascending times with UT1 - UTC, which is `dut1_s` at a reference time: it is another one by a second for times on
    the other side of a leap second."""
    import erfa
    import numpy as np

    with warnings.catch_warnings(action="ignore"):  # that leap seconds of the future are not known
        year, month, date, _ = erfa.jd2cal(2400000.5, np.append(time_s, reference_s) // 86400)
        leaps = np.round(erfa.dat(year, month, date, 0.0))
    leaps = leaps[:-1] - leaps[-1]
    cuts = np.flatnonzero(np.diff(leaps)) + 1
    return [(part, dut1_s + leap[0]) for part, leap in zip(np.split(time_s, cuts), np.split(leaps, cuts), strict=True)]
