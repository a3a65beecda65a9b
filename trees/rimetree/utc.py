"""UTC as texts, and how far the Earth's rotation is from it."""

from __future__ import annotations

import warnings

from ._core import Error


def parse_utc(text: str) -> float:
    """Seconds of MJD of a date and time such as "2025-01-01T20:30:00"; raises `Error` where it is none."""
    from astropy.time import Time

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that leap seconds of the future are not known
            return float(Time(text.strip().removesuffix("Z"), scale="utc").mjd * 86400)
    except ValueError:
        raise Error(f"start is {text!r}; expected a UTC date and time such as 2025-01-01T20:30:00") from None


def dut1(time_s: float) -> float:
    """UT1 - UTC in seconds from the tables that come with astropy; nothing is downloaded."""
    from astropy.time import Time
    from astropy.utils import iers

    quiet = warnings.catch_warnings(action="ignore")
    with quiet, iers.conf.set_temp("auto_download", False), iers.conf.set_temp("auto_max_age", None):
        time = Time(time_s / 86400, format="mjd", scale="utc")
        value, status = iers.IERS_Auto.open().ut1_utc(time, return_status=True)
    if int(status) in (iers.TIME_BEFORE_IERS_RANGE, iers.TIME_BEYOND_IERS_RANGE):
        warnings.warn("UT1 - UTC is not known for this date: 0 s is used (UVW turn by up to 14 arcsec)", stacklevel=3)
        return 0.0
    return float(value.to_value("s"))
