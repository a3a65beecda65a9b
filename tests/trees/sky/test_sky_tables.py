"""Tables of fluxes: straight lines between frequencies, by themselves and beside spectra."""

import warnings
from dataclasses import replace

import astropy.units as u
import numpy as np
import pytest
from flux_tables import assert_each_is_as_alone

import rimetree as rt
from rimetree.calibration.terms.gauge import polarisation_of
from rimetree.sky import FluxTable, SkyModel, SkyModelError, Source, UnsupportedError
from rimetree.sky_fluxes import flux_text, stokes_at

AT_HZ = np.array([1.0e8, 1.1e8, 1.5e8])
FLUX_JY = np.array([1.0, 3.0, -2.0])
TABLE = FluxTable(AT_HZ, FLUX_JY)
SOURCE = Source("a", 1.0, 0.5, (3.0, 0, 0, 0), ref_freq_hz=1.1e8, table=TABLE)
LIGHT_M_S, BOLTZMANN_J_K = 299792458.0, 1.380649e-23


def polarised_table(seed, at_hz=AT_HZ):
    return FluxTable(at_hz, np.random.default_rng(seed).normal(size=(len(at_hz), 4)))


def with_table(name, table, **more):
    reference_hz = float(table.frequency_hz[0])
    return Source(name, 1.0, 0.5, table.at(reference_hz), ref_freq_hz=reference_hz, table=table, **more)


def test_fluxes_are_on_straight_lines_and_beyond_the_ends_as_there():
    where_hz = [5e7, 1.0e8, 1.05e8, 1.1e8, 1.2e8, 1.5e8, 3e8]
    found = stokes_at(SkyModel((SOURCE,)), where_hz)[0]
    np.testing.assert_allclose(found[0], [1.0, 1.0, 2.0, 3.0, 1.75, -2.0, -2.0], rtol=1e-15)
    assert not found[1:].any()
    with_zeros = replace(SOURCE, table=FluxTable(AT_HZ, np.outer(FLUX_JY, [1, 0, 0, 0])))
    np.testing.assert_array_equal(stokes_at(SkyModel((with_zeros,)), where_hz)[0], found)
    assert TABLE.at(1.05e8) == (2.0, 0.0, 0.0, 0.0)


def test_tables_of_other_frequencies_and_spectra_stand_side_by_side():
    """Each source sees what it sees alone."""
    sources = [
        SOURCE,
        with_table("b", polarised_table(1)),
        with_table("c", polarised_table(2, np.array([0.9e8, 1.07e8, 1.3e8, 2e8]))),
        Source("d", 1.0, 0.5, (2.0, 0.1, 0, 0), ref_freq_hz=1e8, spectrum=(-0.7, 0.1), rm_rad_m2=0.3),
        Source("e", 1.0, 0.5, (2.0, 0, 0, 0.5)),
    ]
    assert_each_is_as_alone(sources, np.linspace(0.8e8, 2.2e8, 57))


def test_visibilities():
    sky = SkyModel((replace(SOURCE, ra_rad=1.001), with_table("b", polarised_table(3))))
    cells = rt.Cells([0.0], np.linspace(0.9e8, 1.6e8, 15), time_width_s=1, freq_width_hz=1)
    uvw_m = np.array([120.0, -40.0, 7.0])
    ns = rt.NodeScope()
    seen = rt.sky_nodes(ns, sky, (1.0, 0.5))
    ns.V << seen.psv(0, 1, rt.Constant(uvw_m))
    found = rt.Forest(ns).evaluate(ns.V, cells)[:, :, 0]
    lmn = rt.Forest(ns).evaluate(ns.lmn, cells)[:, :, 0, 0] - [0, 0, 1]
    phase = np.exp(2j * np.pi / LIGHT_M_S * np.outer(lmn @ uvw_m, cells.freq_hz))
    i, q, u_, v = np.einsum("skf,sf->kf", stokes_at(sky, cells.freq_hz), phase)
    expected = np.array([[i + q, u_ + 1j * v], [u_ - 1j * v, i - q]])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11)


def test_bands_beyond_a_table_are_warned_of():
    sky = SkyModel((SOURCE, Source("d", 1.0, 0.5, (2.0, 0, 0, 0))))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        flux_text(sky, [Group(0.96e8, 1.69e8)])  # half a step beyond
    for band in ((0.94e8, 1.5e8), (1.0e8, 1.71e8)):
        with pytest.warns(UserWarning, match="beyond the frequencies that the sky model has fluxes of, 100 to 150 MHz"):
            flux_text(sky, [Group(*band)])


class Group:
    """What `flux_text` reads of one."""

    field_id = 0

    def __init__(self, *frequency_hz):
        self.frequency_hz = frequency_hz


@pytest.mark.parametrize(
    ("spectrum", "logarithmic", "band", "warned"),
    [
        ((-0.8, -0.1), True, (0.5e8, 2.0e8), False),
        ((-0.8,), True, (0.1e8, 2.0e8), False),
        ((1.3, 40.0, -300.0), False, (0.99e8, 1.01e8), False),
        ((1.3, 40.0, -300.0), False, (0.5e8, 1.0e8), True),
        ((-3.0, -200.0), True, (1.0e8, 3.0e8), True),
    ],
)
def test_polynomials_far_from_where_they_were_fitted_are_warned_of(spectrum, logarithmic, band, warned):
    """Model cubes of few planes, and lists of fluxes, had 10 000 times the flux, or none, without a word."""
    own = Source("a", 1.0, 0.5, (2.0, 0, 0, 0), ref_freq_hz=1e8, spectrum=spectrum, logarithmic=logarithmic)
    sky = SkyModel((own, Source("b", 1.0, 0.5, (9.0, 0, 0, 0))))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        flux_text(sky, [Group(*band)])
    assert bool(said) == warned
    if warned:
        assert "1 sources have" in str(said[0].message) and "and 2 Jy at their reference" in str(said[0].message)


@pytest.mark.parametrize(
    ("at_hz", "flux_jy", "said"),
    [
        ([1e8], [1.0], r"of shape \[1\], expected \[F\] of at least two"),
        ([1e8, 1e8], [1.0, 2.0], "must be ascending, and none of them twice"),
        ([2e8, 1e8], [1.0, 2.0], "must be ascending"),
        ([100.0, 200.0], [1.0, 2.0], "is it in MHz"),
        ([1e8, 2e8], [1.0, np.nan], "stokes_jy of a table must be finite"),
        ([1e8, 2e8], np.ones((2, 2)), r"of shape \[2, 2\], expected \[2\] or \[2,4\]"),
        ([1e8, 2e8], np.ones(3), r"of shape \[3\]"),
        ([1e8, 2e8] * u.s, [1.0, 2.0], "frequency_hz of a table"),
    ],
)
def test_what_is_no_table(at_hz, flux_jy, said):
    with pytest.raises(SkyModelError, match=said):
        FluxTable(at_hz, flux_jy)


def test_frequencies_in_mhz_are_no_places_of_tables():
    with pytest.raises(SkyModelError, match="is it in MHz"):
        TABLE.at(120.0)


def test_tables_take_quantities_and_are_compared():
    same = FluxTable([100, 110, 150] * u.MHz, [1000, 3000, -2000] * u.mJy)
    assert same == TABLE and hash(same) == hash(TABLE) and replace(SOURCE, table=same) == SOURCE
    other = FluxTable(AT_HZ, FLUX_JY * (1 + 1e-14))
    assert other != TABLE and SOURCE.isclose(replace(SOURCE, table=other))
    assert not SOURCE.isclose(replace(SOURCE, table=FluxTable(AT_HZ, [1.0, 3.0, -2.1])))
    assert not SOURCE.isclose(replace(SOURCE, table=None))
    assert TABLE.isclose(FluxTable(AT_HZ, np.outer(FLUX_JY, [1, 0, 0, 0])))
    with pytest.raises(ValueError, match="read-only"):
        TABLE.stokes_jy[0] = 2.0


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"stokes_jy": (2.9, 0, 0, 0)}, "stokes_jy are not those of its table at 110000000 Hz, 3, 0, 0, 0 Jy"),
        ({"ref_freq_hz": 0.0}, "has a table of fluxes but no reference frequency"),
        ({"spectrum": (-0.7,)}, "has a table of fluxes, and with it no spectrum or rotation measure"),
        ({"rm_rad_m2": 3.0}, "has a table of fluxes, and with it no spectrum"),
        ({"table": [1.0, 2.0]}, "table must be a FluxTable or None"),
    ],
)
def test_a_source_is_what_its_table_says(fields, said):
    with pytest.raises(SkyModelError, match=said):
        replace(SOURCE, **fields)


def test_polarisation_of_a_table_is_seen_though_there_is_none_at_the_reference():
    table = FluxTable(AT_HZ, [[1.0, 0, 0, 0], [2.0, 0.1, 0, 0], [2.0, 0.1, 0.3, 0]])
    source = Source("a", 1.0, 0.5, (1.0, 0, 0, 0), ref_freq_hz=1e8, table=table)
    assert source.is_polarised and not source.unpolarised().is_polarised
    assert source.unpolarised().table.at(1.1e8) == (2.0, 0.0, 0.0, 0.0)
    assert not polarisation_of(SkyModel((source,)), "linear").uniform
    assert polarisation_of(SkyModel((source.unpolarised(),)), "linear").uniform


@pytest.mark.parametrize("format", ["bbs", "wsclean", "hyperdrive"])
def test_other_formats_hold_no_tables(tmp_path, format):
    flux_jy = np.array([1.0, 3.0, 2.0, 4.0, 1.0, 2.0])  # a list of hyperdrive's would have power laws between them
    source = with_table("a", FluxTable(1e8 * np.arange(1, 7), flux_jy))
    with pytest.raises(
        UnsupportedError, match="source 'a': no spectrum of 4 coefficients goes through its fluxes at 6"
    ):
        rt.sky.write(SkyModel((source,)), tmp_path / "sky.txt", format)
