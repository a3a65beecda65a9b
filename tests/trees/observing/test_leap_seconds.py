"""The last day of 2016, which had 86401 seconds."""

import numpy as np
import pytest

import rimetree as rt
from rimetree.utc import dut1, parse_utc

LAST_DAY_S = 57753 * 86400.0
CENTRE = (1.2, -0.5)
BANDS = rt.ms.Band.regular(1.3e9, 1e6, 1)


@pytest.mark.parametrize("clock, second", [("00:00:00", 0.0), ("18:00:00", 64800.0), ("23:59:59.25", 86399.25)])
def test_seconds_are_those_of_the_clock(clock, second):
    """18:00:00 was 0.75 s earlier: Astropy's MJD is a fraction of the day's own length."""
    assert parse_utc(f"2016-12-31T{clock}") == LAST_DAY_S + second


def test_the_earth_goes_on_turning():
    """UT1 - UTC jumps by a second; coordinates had jumped instead, and been off by up to a second's turn before."""
    assert dut1(LAST_DAY_S + 86399) == pytest.approx(-0.4087, abs=1e-3)
    assert dut1(LAST_DAY_S + 86401) == pytest.approx(0.5913, abs=1e-3)


def coordinates(path, start, scans):
    rt.ms.create(path, "kat-7", scans=scans, start=start, integration_s=10.0, bands=BANDS, frame="ICRS")
    (uvw,) = {tile["field_id"]: tile for tile in rt.ms.tiles(path, [])}.values()
    return uvw["time_s"], uvw["uvw_m"], uvw["uvw_rate_m_s"]


@pytest.mark.parametrize("lengths_s", [[60.0], [20.0, 40.0]], ids=["in a scan", "after a scan"])
@pytest.mark.filterwarnings("ignore:the phase centre is below the horizon")
def test_sets_go_on_across_the_leap_second(tmp_path, lengths_s):
    scans = [rt.ms.Scan(CENTRE, length, "a") for length in lengths_s]
    time_s, uvw_m, rate_m_s = coordinates(tmp_path / "a.ms", "2016-12-31T23:59:30", scans)
    # Six times, three on either side, between which a second more goes by than TIME counts.
    elapsed_s = np.diff(time_s) + np.array([0, 0, 1, 0, 0])
    np.testing.assert_allclose(np.diff(time_s), 10, rtol=0, atol=1e-6)
    turned_m = 0.5 * (rate_m_s[:, 1:] + rate_m_s[:, :-1]) * elapsed_s[:, None]
    # Rates take the frame's pole for the Earth's, which precession has moved by 0.1 degrees. A second's turn is 3e-3 m.
    np.testing.assert_allclose(np.diff(uvw_m, axis=1), turned_m, rtol=0, atol=3e-4)
