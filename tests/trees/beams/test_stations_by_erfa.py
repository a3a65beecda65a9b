"""Beams of stations at random places, times and pointings, against vectors turned by ERFA."""

import erfa
import numpy as np
import pytest

import rimetree as rt
from rimetree.beams import Place, jones_nodes

LIGHT_M_S = 299792458.0


def celestial_to_terrestrial(time_s):
    day, part = 2400000.5 + np.floor(time_s / 86400), (time_s % 86400) / 86400
    tai = erfa.utctai(day, part)
    return erfa.c2t06a(*erfa.taitt(*tai), *erfa.utcut1(day, part, 0.0), 0.0, 0.0)


def towards(ra, dec):
    return np.array([np.cos(dec) * np.cos(ra), np.cos(dec) * np.sin(ra), np.sin(dec)])


def up_from(azimuth, elevation):
    return np.array([np.sin(azimuth) * np.cos(elevation), np.cos(azimuth) * np.cos(elevation), np.sin(elevation)])


class Station:
    """A random one, and what its Jones matrix is."""

    def __init__(self, rng):
        longitude, latitude = rng.uniform(-3, 3), rng.uniform(-1.5, 1.5)
        self.site_m = np.array(erfa.gd2gc(1, longitude, latitude, 100.0))
        zenith = towards(longitude, latitude)
        east = np.array([-np.sin(longitude), np.cos(longitude), 0.0])
        self.axes = np.stack([east, np.cross(zenith, east), zenith])
        self.layout_m = rng.normal(scale=5.0, size=(rng.integers(1, 6), 3))
        self.element = rng.choice(["isotropic", "short", "half-wave"])
        self.height_m = 0.0 if self.element == "isotropic" else rng.choice([0.0, 0.2])
        self.azimuths = rng.uniform(0, 2 * np.pi, 2)
        self.centre = (rng.uniform(0, 6), rng.choice([-np.pi / 2, np.pi / 2, *rng.uniform(-1.5, 1.5, 2)]))
        self.pointing = rng.choice(["centre", "elsewhere", "standing"])
        self.place = (
            rng.uniform(0, 6),
            rng.uniform(-1.5, 1.5) if self.pointing == "elsewhere" else rng.uniform(0, 1.5),
        )

    def beam(self):
        made = rt.StationBeam.of_elements(
            self.layout_m,
            self.site_m,
            element=str(self.element),
            height_m=float(self.height_m),
            x_azimuth_rad=float(self.azimuths[0]),
            y_azimuth_rad=float(self.azimuths[1]),
        )
        if self.pointing == "elsewhere":
            return made.pointed_at(self.place)
        return made.standing_at(self.place) if self.pointing == "standing" else made

    def jones(self, ra, dec, time_s, frequency_hz):
        """A number, or [2,2]."""
        matrix = self.axes @ celestial_to_terrestrial(time_s)
        source, wave = matrix @ towards(ra, dec), 2 * np.pi * frequency_hz / LIGHT_M_S
        if source[2] < 0:
            return 0.0
        middle = self.place if self.pointing == "elsewhere" else self.centre
        beam = up_from(*self.place) if self.pointing == "standing" else matrix @ towards(*middle)
        factor = np.exp(1j * wave * (self.layout_m @ (source - beam))).mean()
        if self.element == "isotropic":
            return factor
        north = matrix @ np.array([-np.sin(dec) * np.cos(ra), -np.sin(dec) * np.sin(ra), np.cos(dec)])
        east = matrix @ np.array([-np.sin(ra), np.cos(ra), 0.0])
        rows = []
        for azimuth in self.azimuths:
            axis = up_from(azimuth, 0.0)
            c = axis @ source
            gain = np.cos(np.pi / 2 * c) / (1 - c**2) if self.element == "half-wave" else 1.0
            if self.height_m:
                gain *= np.sin(wave * self.height_m * source[2]) / np.sin(wave * self.height_m)
            rows.append([axis @ north * gain, axis @ east * gain])
        return factor * np.array(rows)


@pytest.mark.parametrize("seed", range(40))
def test_stations_anywhere(seed):
    rng = np.random.default_rng(seed)
    station = Station(rng)
    radec = np.stack([rng.uniform(0, 6.28, 6), rng.uniform(-1.5, 1.5, 6)], axis=1)
    time_s, frequency_hz = np.sort(rng.uniform(5.2e9, 5.23e9, 2)), np.sort(rng.uniform(5e7, 3e8, 3))
    ns = rt.NodeScope()
    jones_nodes(ns, [station.beam()], Place.of(ns, radec, station.centre))
    cells = rt.Cells(time_s=time_s, time_width_s=1.0, freq_hz=frequency_hz, freq_width_hz=1e3)
    found = rt.Forest(ns).evaluate(ns.voltage(0), cells)
    for s, (ra, dec) in enumerate(radec):
        for t, f in np.ndindex(2, 3):
            expected = station.jones(ra, dec, time_s[t], frequency_hz[f])
            np.testing.assert_allclose(found[s, ..., t, f], expected, rtol=0, atol=1e-11)
