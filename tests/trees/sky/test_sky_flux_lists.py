"""Lists of fluxes at some frequencies: power laws from one to the next."""

import math

import numpy as np
import pytest
from flux_tables import assert_each_is_as_alone

import rimetree as rt
from rimetree.sky import FluxTable, Shapelets, SkyModel, SkyModelError, Source, UnsupportedError
from rimetree.sky.flux_list import fluxes_through
from rimetree.sky_fluxes import flux_text, stokes_at

GLEAM_HZ = np.array([76, 84, 92, 99, 107, 115, 122, 130, 143, 151, 158, 166, 174, 181, 189, 197, 204, 212, 220, 227])
GLEAM_HZ = 1e6 * GLEAM_HZ
WHERE_HZ = np.concatenate([np.linspace(60e6, 260e6, 41), GLEAM_HZ])


def noisy(seed, flux_jy=3.0):
    """[F] measured fluxes of a power law."""
    return flux_jy * (GLEAM_HZ / 150e6) ** -0.8 * np.random.default_rng(seed).normal(1, 0.05, len(GLEAM_HZ))


def entries_of(frequency_hz, stokes):
    stokes = np.asarray(stokes, dtype=float)
    if stokes.ndim == 1:
        stokes = np.outer(stokes, [1, 0, 0, 0])
    return [(float(hz), tuple(own)) for hz, own in zip(frequency_hz, stokes.tolist(), strict=True)]


def source_of(entries, name="s", **more):
    return Source(name, 1.0, 0.5, **fluxes_through(entries), **more)


def between(entries, hz):
    """[4] Stokes parameters as hyperdrive estimates them of a list that Q, U and V follow: its documentation,
    "Estimating flux densities"."""
    first = max(0, min(len(entries) - 2, sum(at <= hz for at, _ in entries) - 1))
    (low_hz, low), (high_hz, high) = entries[first : first + 2]
    index = math.log(high[0] / low[0]) / math.log(high_hz / low_hz)
    return np.array(low) * (hz / low_hz) ** index


def as_yaml(entries, shape="point"):
    rows = "".join(f"    - {{freq: {hz!r}, i: {i!r}, q: {q!r}, u: {u!r}}}\n" for hz, (i, q, u, _) in entries)
    return f"s:\n- ra: 1\n  dec: 2\n  comp_type: {shape}\n  flux_type:\n    list:\n{rows}"


def read(tmp_path, text, **options):
    path = tmp_path / "list.yaml"
    path.write_text(text)
    return rt.sky.read(path, **options)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("shares", [[1, 0, 0, 0], [1, 0.1, -0.3, 0.02]])
def test_power_laws_go_from_one_flux_to_the_next_and_on_beyond_the_ends(sign, shares):
    entries = entries_of(GLEAM_HZ, sign * np.outer(noisy(1), shares))
    source = source_of(entries[::-1])
    assert source.table.power_laws and source.is_polarised == any(shares[1:])
    expected = np.array([between(entries, hz) for hz in WHERE_HZ]).T
    np.testing.assert_allclose(stokes_at(SkyModel((source,)), WHERE_HZ)[0], expected, rtol=2e-14)
    np.testing.assert_allclose([source.table.at(hz) for hz in WHERE_HZ], expected.T, rtol=2e-14)


def test_q_u_and_v_of_their_own_are_fractions_on_straight_lines():
    stokes = noisy(2)[:, None] * np.random.default_rng(3).normal(size=(len(GLEAM_HZ), 4))
    stokes[:, 0] = noisy(2)
    source = source_of(entries_of(GLEAM_HZ, stokes))
    found = stokes_at(SkyModel((source,)), WHERE_HZ)[0]
    for plane in (1, 2, 3):
        share = np.interp(np.log(WHERE_HZ), np.log(GLEAM_HZ), stokes[:, plane] / stokes[:, 0])
        np.testing.assert_allclose(found[plane], share * found[0], rtol=0, atol=1e-13)
    np.testing.assert_allclose(found[:, -len(GLEAM_HZ) :], stokes.T, rtol=1e-13)


def test_polarisation_of_faint_entries_is_kept():
    """It was lost where it was small beside the brightest entry."""
    entries = entries_of([1e8, 4e8, 16e8], [[100, 0, 0, 0], [6.25, 0, 0, 0], [0.390625, 0.09, 0, 0]])
    np.testing.assert_allclose(stokes_at(SkyModel((source_of(entries),)), [1e8, 16e8])[0, 1], [0, 0.09], atol=1e-14)


def test_polarisation_that_turns_over_beside_one_power_law_is_kept():
    source = source_of(entries_of([1e8, 4e8], [[1, 0.1, 0, 0], [1, -0.1, 0, 0]]))
    np.testing.assert_allclose(stokes_at(SkyModel((source,)), [1e8, 2e8])[0, :2], [[1, 1], [0.1, 0]], atol=1e-15)


def test_fluxes_that_are_zero_or_change_sign_are_on_straight_lines():
    for flux in ([1.0, 0.0, 2.0], [1.0, -1.0, 2.0], [0.0, 1.0, 2.0]):
        source = source_of(entries_of([1e8, 1.5e8, 3e8], flux))
        assert not source.table.power_laws
        found = stokes_at(SkyModel((source,)), [1.25e8, 2e8])[0, 0]
        np.testing.assert_allclose(found, np.interp([1.25e8, 2e8], [1e8, 1.5e8, 3e8], flux), rtol=1e-14, atol=1e-15)
    polarised = source_of(entries_of([1e8, 2e8], [[0, 1, 0, 0], [0, 3, 0, 0]]))
    np.testing.assert_allclose(stokes_at(SkyModel((polarised,)), [1.5e8])[0, :, 0], [0, 2, 0, 0])


def test_one_power_law_stays_one(tmp_path):
    flux = np.round(2 * (GLEAM_HZ / 150e6) ** -0.9, 4)
    source = read(tmp_path, as_yaml(entries_of(GLEAM_HZ, np.outer(flux, [1, 0.1, 0, 0]))))[0]
    assert source.table is None and source.spectrum == pytest.approx((-0.9,), abs=1e-3)
    assert read(tmp_path, as_yaml(entries_of([1e8, 2e8], [8.0, 2.0])))[0].spectrum == pytest.approx((-2.0,), rel=1e-12)
    assert source_of(entries_of([1e8], [8.0])).spectrum == (-0.8,)
    assert source_of(entries_of([1e8, 2e8], [-8.0, -2.0])).spectrum == pytest.approx((-2.0,))


def test_lists_with_one_frequency_twice_or_without_flux(tmp_path):
    twice = read(tmp_path, as_yaml(entries_of([1e8, 1e8, 2e8], [4.0, 4.0, 2.0])))[0]
    assert twice.spectrum == pytest.approx((-1.0,))
    with pytest.raises(SkyModelError, match="different fluxes at 100 MHz"):
        read(tmp_path, as_yaml(entries_of([1e8, 1e8], [4.0, 5.0])))
    nothing = read(tmp_path, as_yaml(entries_of([1e8, 2e8], [0.0, 0.0])))[0]
    assert nothing.stokes_jy == (0, 0, 0, 0) and nothing.spectrum == () and nothing.table is None


def test_many_tables_are_what_each_is_alone():
    """Beside each other, with spectra, with straight lines, and with others' frequencies below and above their own."""
    sources = [
        source_of(entries_of(GLEAM_HZ, noisy(4)), "a"),
        source_of(entries_of([20e6, 50e6, 1.4e9], [9.0, 8.0, 0.3]), "b"),
        source_of(entries_of(GLEAM_HZ[3:9], np.outer(-noisy(5)[3:9], [1, 0.2, 0, -0.1])), "c"),
        source_of(entries_of([1e8, 1.5e8, 3e8], [1.0, -1.0, 2.0]), "d"),
        Source("e", 1.0, 0.5, (2.0, 0.1, 0, 0), ref_freq_hz=1e8, spectrum=(-0.7, 0.1), rm_rad_m2=0.3),
    ]
    assert_each_is_as_alone(sources, np.geomspace(5e6, 3e9, 83))


def test_visibilities():
    sky = SkyModel([source_of(entries_of(GLEAM_HZ, noisy(seed)), f"s{seed}") for seed in range(5)])
    cells = rt.Cells([0.0], WHERE_HZ[:41], time_width_s=1, freq_width_hz=1)
    uvw_m = np.array([120.0, -40.0, 7.0])
    ns = rt.NodeScope()
    seen = rt.sky_nodes(ns, sky, (1.001, 0.5))
    ns.V << seen.psv(0, 1, rt.Constant(uvw_m))
    lmn = rt.Forest(ns).evaluate(ns.lmn, cells)[:, :, 0, 0] - [0, 0, 1]
    phase = np.exp(2j * np.pi / 299792458.0 * np.outer(lmn @ uvw_m, cells.freq_hz))
    flux = np.array([[source.table.at(hz)[0] for hz in cells.freq_hz] for source in sky])
    for options in ({}, {"as_written": True}):
        found = rt.Forest(ns, **options).evaluate(ns.V, cells)[:, :, 0]
        np.testing.assert_allclose(found[0, 0], (flux * phase).sum(axis=0), rtol=0, atol=1e-11)


def test_shapelets_of_another_flux_than_one(tmp_path):
    """Fluxes of hyperdrive's lists are times what the coefficients give; here they are integrated ones, all of them."""
    entries = entries_of(GLEAM_HZ, noisy(6))
    shape = "{shapelet: {maj: 20, min: 10, pa: 30, coeffs: [{n1: 0, n2: 0, value: 2}, {n1: 1, n2: 0, value: 1}]}}"
    source = read(tmp_path, as_yaml(entries, shape))[0]
    assert source.shapelets.flux == pytest.approx(1)
    times = Shapelets(1, 1, 0, [(0, 0, 2.0), (1, 0, 1.0)]).flux
    np.testing.assert_allclose(source.table.stokes_jy, times * noisy(6), rtol=1e-14)


def test_lists_are_written_and_read_again(tmp_path):
    model = SkyModel(
        [
            source_of(entries_of(GLEAM_HZ, noisy(7)), "a", patch="a"),
            source_of(entries_of(GLEAM_HZ[:5], np.outer(noisy(8)[:5], [1, 0.2, 0, -0.1])), "b", patch="b"),
            source_of(entries_of([1e8, 1.5e8, 3e8], [1.0, -1.0, 2.0]), "c", patch="c"),
        ]
    )
    file = tmp_path / "model.yaml"
    rt.sky.write(model, file)
    back = rt.sky.read(file)
    assert all(a.isclose(b) for a, b in zip(model, back, strict=True)) and back.names == model.names
    assert [source.table for source in back] == [source.table for source in model]


@pytest.mark.parametrize(
    ("format", "power_laws"), [("bbs", True), ("bbs", False), ("wsclean", True), ("hyperdrive", False)]
)
def test_formats_without_tables_hold_the_spectrum_through_one(tmp_path, format, power_laws):
    """Of two power laws together, rounded to five digits."""
    flux = np.round(2 * (GLEAM_HZ / 150e6) ** -0.9 + 1.5 * (GLEAM_HZ / 150e6) ** -0.3, 5)
    table = FluxTable(GLEAM_HZ, flux, power_laws=power_laws)
    source = Source("s", 1.0, 0.5, (flux[0], 0, 0, 0), ref_freq_hz=GLEAM_HZ[0], table=table)
    file = tmp_path / "model"
    rt.sky.write(SkyModel((source,)), file, format)
    found = rt.sky.read(file, format)
    assert len(found[0].spectrum) == 2
    np.testing.assert_allclose(stokes_at(found, GLEAM_HZ)[0, 0], flux, rtol=1e-3)


@pytest.mark.parametrize(
    ("at_mhz", "flux_jy", "power_laws"),
    [
        ([80, 150, 160, 408, 1400], [16.5, 10, 8.6, 4.5, 1.67], True),
        ([100, 120, 150, 170, 200], [1, 1.02, 1, 1.2, 1], False),
        ([100, 150, 200], [1, 2, 1.5], False),
        ([100, 150, 200], [1, 2, 1.5], True),
    ],
)
def test_few_fluxes_are_not_written_as_another_spectrum(tmp_path, at_mhz, flux_jy, power_laws):
    """Four coefficients go through any five fluxes, and anywhere between and beyond them."""
    table = FluxTable(1e6 * np.array(at_mhz), flux_jy, power_laws=power_laws)
    source = Source("s", 1.0, 0.5, table.at(1e6 * at_mhz[1]), ref_freq_hz=1e6 * at_mhz[1], table=table)
    with pytest.raises(UnsupportedError, match=r"source 's': no spectrum of 4 coefficients .* to 0\.01 between them"):
        rt.sky.write(SkyModel((source,)), tmp_path / "sky.skymodel")
    smooth = FluxTable(
        1e6 * np.array(at_mhz), np.array(at_mhz) ** -0.7 * 1.05 ** (np.log(at_mhz) ** 2), power_laws=True
    )
    source = Source("s", 1.0, 0.5, smooth.at(1e6 * at_mhz[1]), ref_freq_hz=1e6 * at_mhz[1], table=smooth)
    if at_mhz[-1] < 1000:
        rt.sky.write(SkyModel((source,)), tmp_path / "sky.skymodel")


def test_only_what_skyh5_has_is_written_as_skyh5(tmp_path):
    curved = source_of(entries_of(GLEAM_HZ, (GLEAM_HZ / 150e6) ** -0.9 + (GLEAM_HZ / 150e6) ** -0.3))
    with pytest.raises(UnsupportedError, match="no spectra that are no power laws"):
        rt.sky.write(SkyModel((curved,)), tmp_path / "sky.skyh5")


@pytest.mark.parametrize("format", ["bbs", "wsclean", "skyh5"])
def test_fluxes_that_no_spectrum_goes_through_are_not_written(tmp_path, format):
    source = source_of(entries_of(GLEAM_HZ, noisy(9)))
    with pytest.raises(UnsupportedError, match=r"source 's': no spectrum of 4 coefficients .* at 20 frequencies"):
        rt.sky.write(SkyModel((source,)), tmp_path / "sky.txt", format)


@pytest.mark.parametrize(
    ("flux_jy", "said"),
    [
        ([1.0, 0.0], "Stokes I of a table is 0 somewhere, or changes its sign"),
        ([1.0, -1.0], "only straight lines"),
        ([[0, 1.0, 0, 0], [0, 1.0, 0, 0]], "Stokes I of a table is 0 somewhere"),
    ],
)
def test_what_no_power_laws_go_through(flux_jy, said):
    with pytest.raises(SkyModelError, match=said):
        FluxTable([1e8, 2e8], flux_jy, power_laws=True)
    with pytest.raises(SkyModelError, match="power_laws of a table must be True or False, not 'log'"):
        FluxTable([1e8, 2e8], [1.0, 2.0], power_laws="log")


def test_power_laws_are_another_table():
    lines, laws = (FluxTable(GLEAM_HZ, noisy(1), power_laws=which) for which in (False, True))
    assert lines != laws and hash(lines) != hash(laws) and not lines.isclose(laws) and laws.isclose(laws)
    assert "power laws" in repr(laws) and "power laws" not in repr(lines)
    polarised = FluxTable(GLEAM_HZ, np.outer(noisy(1), [1, 0.2, 0, 0]), power_laws=True)
    assert polarised.unpolarised() == laws and polarised.unpolarised().power_laws


def test_bands_beyond_a_list_are_warned_of():
    class Group:
        field_id, frequency_hz = 0, (1.5e8, 4e8)

    sky = SkyModel((source_of(entries_of(GLEAM_HZ, noisy(1))),))
    with pytest.warns(UserWarning, match="76 to 227 MHz: channels out there see the power law through the nearest two"):
        flux_text(sky, [Group()])
    steep = SkyModel((source_of(entries_of([147.5e6, 151e6, 160e6], [10.0, 8.8, 8.0])),))
    Group.frequency_hz = (0.8e8, 1.5e8)
    with pytest.warns(UserWarning, match="at 80 MHz, an end of the band, 1 sources have 280.8 Jy by their spectra"):
        flux_text(steep, [Group()])


def test_lists_of_the_same_frequencies_share_them():
    first, second = (source_of(entries_of(GLEAM_HZ, noisy(seed))) for seed in (1, 2))
    assert first.table.frequency_hz is second.table.frequency_hz
