"""Skies seen through patterns from FITS cubes, against SciPy's interpolation and sums in NumPy."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from beam_cubes import between, some_pattern, write_cubes
from direction_cosines import direction_cosines

import rimetree as rt
from rimetree.beams import Place, jones_nodes
from rimetree.sky_fluxes import stokes_at

LIGHT_M_S = 299792458.0
CENTRE = (1.0, -0.5)
GRID = np.linspace(-0.05, 0.05, 21)
CUBE_HZ = np.linspace(1.2e9, 1.6e9, 5)
FREQUENCY_HZ = np.array([1.25e9, 1.31e9, 1.58e9])
UVW_M = np.array([120.0, -40.0, 30.0])
TIMES = np.array([5.24e9, 5.24e9 + 3600.0])
SITE = (5109270.0, 2006780.0, -3239050.0)
SKY = rt.sky.SkyModel(
    [
        rt.sky.Source("a", 1.0, -0.5, (2.0, 0.4, -0.3, 0.1)),
        rt.sky.Source("b", 1.014, -0.513, (3.0, -0.2, 0.5, 0.2)),
        rt.sky.Source("c", 0.99, -0.49, (1.0, 0.1, 0.2, -0.3)),
    ]
)


@pytest.fixture
def files(tmp_path):
    return write_cubes(tmp_path, some_pattern(CUBE_HZ, GRID, GRID), CUBE_HZ, GRID, GRID)


def angle_of(site, pointing=CENTRE):
    """[time] parallactic angles, or zeros."""
    if site is None:
        return np.zeros(len(TIMES))
    ns = rt.NodeScope()
    ns.chi << rt.parallactic_angle(pointing, site)
    return rt.Forest(ns).evaluate(ns.chi, rt.Cells(time_s=TIMES))[:, 0]


def jones(pattern, site, pointing=CENTRE, frequency_hz=FREQUENCY_HZ):
    """[time, source, channel, 2, 2] of the table `some_pattern`."""
    l, m, _ = direction_cosines(SKY.radec_rad, pointing)  # noqa: E741
    found = []
    for chi in angle_of(site, pointing):
        across, up = l * np.cos(chi) - m * np.sin(chi), m * np.cos(chi) + l * np.sin(chi)
        seen_by = between(pattern, CUBE_HZ, GRID, GRID, frequency_hz, up, across)
        turn = np.array([[np.cos(chi), np.sin(chi)], [-np.sin(chi), np.cos(chi)]])
        found.append(turn.T @ seen_by @ turn)
    return np.array(found)


def visibilities(one, other):
    """[time, channel, 2, 2] of Jones matrices [time, source, channel, 2, 2] of two antennas."""
    l, m, n = direction_cosines(SKY.radec_rad, CENTRE)  # noqa: E741
    turns = (UVW_M @ [l, m, n - 1])[:, None] * FREQUENCY_HZ / LIGHT_M_S
    i, q, u, v = SKY.stokes_jy.T
    brightness = np.moveaxis(np.array([[i + q, u + 1j * v], [u - 1j * v, i - q]]), 2, 0)[:, None]
    seen = one @ brightness @ np.conj(np.swapaxes(other, -1, -2))
    return (np.exp(2j * np.pi * turns)[..., None, None] * seen).sum(axis=1)


def predicted(sky, psv=True):
    ns = rt.NodeScope()
    seen = rt.sky_nodes(ns, sky, CENTRE)
    uvw = rt.Constant(UVW_M)
    if psv:
        ns.V << seen.psv(0, 1, uvw)
    else:
        left, right = seen.terms(0, 1)
        ns.V << rt.Add(
            *(
                rt.VisPhaseShift(lmn=seen.lmn[s], uvw=uvw)
                * (left[s, :, :] @ seen.inner_brightness[s, :, :] @ right[s, :, :])
                for s in range(len(sky))
            )
        )
    found = rt.Forest(ns).evaluate(ns.V, rt.Cells(freq_hz=FREQUENCY_HZ, time_s=TIMES))
    return np.moveaxis(np.broadcast_to(found, (2, 2, len(TIMES), len(FREQUENCY_HZ))), (0, 1), (2, 3))


@pytest.mark.parametrize("pointing", [None, (1.003, -0.497)])
@pytest.mark.parametrize("site", [None, SITE])
def test_visibilities_through_a_pattern(files, site, pointing):
    pattern = rt.BeamPattern.read(files, site_m=site, pointing_rad=pointing)
    seen_by = jones(some_pattern(CUBE_HZ, GRID, GRID), site, pointing or CENTRE)
    np.testing.assert_allclose(predicted(SKY.seen_through(pattern)), visibilities(seen_by, seen_by), rtol=0, atol=1e-10)


@pytest.mark.parametrize("psv", [True, False])
def test_antennas_of_different_patterns(files, psv):
    pattern = rt.BeamPattern.read(files)
    seen_by = jones(some_pattern(CUBE_HZ, GRID, GRID), None)
    turning = jones(some_pattern(CUBE_HZ, GRID, GRID), SITE)
    found = predicted(SKY.seen_through([pattern, replace(pattern, site_m=SITE)]), psv)
    np.testing.assert_allclose(found, visibilities(seen_by, turning), rtol=0, atol=1e-10)
    # A pattern and a dish, whose voltage is that of both feeds.
    dish = rt.Beam("gaussian", 0.05, 1.4e9)
    found = predicted(SKY.seen_through([dish, pattern]), psv)
    l, m, _ = direction_cosines(SKY.radec_rad, CENTRE)  # noqa: E741
    voltage = 2.0 ** (-2 * ((l**2 + m**2)[:, None] * (FREQUENCY_HZ / 1.4e9 / 0.05) ** 2))
    np.testing.assert_allclose(found, visibilities(voltage[..., None, None] * np.eye(2)[None], seen_by), atol=1e-10)


def test_dishes_that_point_to_places_of_their_own_share_a_table(files):
    """Each had a copy: of a cube of half a gigabyte and 64 antennas that was more memory than there is."""
    places = [(1.0 + 0.001 * k, -0.5) for k in range(20)]
    beams = [rt.BeamPattern.read(files, pointing_rad=place) for place in places]
    tracemalloc.start()
    rt.sky_nodes(rt.NodeScope(), SKY.seen_through(beams), CENTRE)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 6 * beams[0].table.nbytes
    seen_by = [jones(some_pattern(CUBE_HZ, GRID, GRID), None, place) for place in places[:2]]
    np.testing.assert_allclose(predicted(SKY.seen_through(beams[:2])), visibilities(*seen_by), rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    "axes, unit", [(("FREQ", "L", "M"), "rad"), (("M", "FREQ", "L"), "deg"), (("-X", "-Y", "FREQ"), "deg")]
)
def test_axes_come_in_any_order_and_direction(tmp_path, files, axes, unit):
    table = some_pattern(CUBE_HZ, GRID, GRID)
    other = write_cubes(tmp_path, table, CUBE_HZ, GRID, GRID, name="other", axes=axes, unit=unit)
    found = [predicted(SKY.seen_through(rt.BeamPattern.read(each))) for each in (files, other)]
    np.testing.assert_allclose(found[1], found[0], rtol=0, atol=1e-10)


def test_beyond_the_grid_there_is_nothing_and_frequencies_keep_the_nearest(files):
    pattern = rt.BeamPattern.read(files)
    far = rt.sky.SkyModel([rt.sky.Source("far", 1.2, -0.5, (1.0, 0.0, 0.0, 0.0))])
    assert (predicted(far.seen_through(pattern)) == 0).all()
    ns = rt.NodeScope()
    seen = rt.sky_nodes(ns, SKY.seen_through(pattern), CENTRE)
    forest = rt.Forest(ns)
    below, first = (forest.evaluate(seen.brightness, rt.Cells(freq_hz=[hz])) for hz in (0.7e9, 1.2e9))
    np.testing.assert_array_equal(below, first)
    assert pattern.reaches(1.2e9, 1.6e9) and not pattern.reaches(1.1e9, 1.3e9) and not pattern.reaches(1.3e9, 1.7e9)


@pytest.mark.parametrize("site", [None, SITE])
def test_coarse_grids_end_where_they_end(tmp_path, site):
    """What was a step beyond was let through in part, which is as far as such a grid reaches itself."""
    ends = np.array([-0.01, 0.01])
    files = write_cubes(tmp_path, np.tile([1.0, 0.0, 0.0, 1.0], (1, 2, 2, 1)), [1.4e9], ends, ends)
    pattern = rt.BeamPattern.read(files, site_m=site)

    def power(east, north):
        source = rt.sky.Source("a", CENTRE[0] + east / np.cos(CENTRE[1]), CENTRE[1] + north, (1.0, 0.0, 0.0, 0.0))
        return stokes_at(rt.sky.SkyModel([source]).seen_through(pattern), [1.4e9], CENTRE, TIMES[:1])[0, 0, 0]

    assert power(0.006, -0.006) == pytest.approx(1.0, rel=1e-12)
    for beyond in [(0.015, 0.0), (-0.02, 0.005), (0.0, 0.015), (0.0, -0.016), (0.3, 0.3)]:
        assert power(*beyond) == 0


@pytest.mark.parametrize("site", [None, SITE])
def test_behind_the_dish_there_is_nothing(files, site):
    """There l and m are as small as in front of it: such sources had been seen as if they were in the middle."""
    pattern = rt.BeamPattern.read(files, site_m=site)
    behind = rt.sky.SkyModel(
        [rt.sky.Source("behind", CENTRE[0] + np.pi + 0.001, -CENTRE[1] + 0.002, (1.0, 0.0, 0.0, 0.0))]
    )
    assert (predicted(behind.seen_through(pattern)) == 0).all()
    assert (stokes_at(behind.seen_through(pattern), FREQUENCY_HZ, CENTRE, TIMES) == 0).all()


def test_patterns_of_one_frequency_and_what_was_not_measured(tmp_path):
    table = some_pattern([1.4e9], GRID, GRID)
    table[0, 0, 0] = np.nan
    pattern = rt.BeamPattern.read(write_cubes(tmp_path, table, [1.4e9], GRID, GRID))
    assert pattern.table[0, 0, 0, 0] == 0 and pattern.frequency.count == 1
    l, m, _ = direction_cosines(SKY.radec_rad, CENTRE)  # noqa: E741
    seen_by = between(np.nan_to_num(table), [1.4e9], GRID, GRID, FREQUENCY_HZ, m, l)[None]
    np.testing.assert_allclose(
        predicted(SKY.seen_through(pattern)), np.repeat(visibilities(seen_by, seen_by), 2, 0), atol=1e-10
    )


def test_infinite_values_are_refused(tmp_path):
    table = some_pattern([1.4e9], GRID, GRID)
    table[0, 0, 0, 1] = np.inf
    with pytest.raises(rt.Error, match="some values are infinite"):
        rt.BeamPattern.read(write_cubes(tmp_path, table, [1.4e9], GRID, GRID))


def test_circular_feeds_turn_by_phases(tmp_path):
    files = write_cubes(tmp_path, some_pattern(CUBE_HZ, GRID, GRID), CUBE_HZ, GRID, GRID, feed="circular")
    pattern = rt.BeamPattern.read(files, site_m=SITE)
    assert pattern.feed == "circular"
    with pytest.raises(rt.Error, match="has circular feeds, but the visibilities are of linear ones"):
        rt.sky_nodes(rt.NodeScope(), SKY.seen_through(pattern), CENTRE)
    ns = rt.NodeScope()
    seen = rt.sky_nodes(ns, SKY[:1].seen_through(pattern), CENTRE, feed="circular")
    found = rt.Forest(ns).evaluate(seen.brightness, rt.Cells(freq_hz=[1.4e9], time_s=TIMES))[0, :, :, :, 0]
    seen_by = between(some_pattern(CUBE_HZ, GRID, GRID), CUBE_HZ, GRID, GRID, [1.4e9], [0.0], [0.0])[0, 0]
    i, q, u, v = SKY.stokes_jy[0]
    for t, chi in enumerate(angle_of(SITE)):
        turn = np.diag([np.exp(-1j * chi), np.exp(1j * chi)])
        whole = turn.conj().T @ seen_by @ turn
        expected = whole @ np.array([[i + v, q + 1j * u], [q - 1j * u, i - v]]) @ whole.conj().T
        np.testing.assert_allclose(found[:, :, t], expected, atol=1e-10)


def test_what_is_reported_is_the_power_of_unpolarised_sources(files):
    from rimetree.beams import beams_text
    from rimetree.sky_fluxes import stokes_i_at

    pattern = rt.BeamPattern.read(files)
    seen_by = jones(some_pattern(CUBE_HZ, GRID, GRID), None, frequency_hz=np.array([1.3e9]))[0, :, 0]
    power = 0.5 * (np.abs(seen_by) ** 2).sum(axis=(1, 2))
    np.testing.assert_allclose(
        stokes_i_at(SKY.seen_through(pattern), 1.3e9, CENTRE), power * SKY.stokes_jy[:, 0], rtol=1e-10
    )
    turning = SKY.seen_through(replace(pattern, site_m=SITE))
    seen_by = jones(some_pattern(CUBE_HZ, GRID, GRID), SITE, frequency_hz=np.array([1.3e9]))[:, :, 0]
    power = 0.5 * (np.abs(seen_by) ** 2).sum(axis=(2, 3)).mean(axis=0)
    np.testing.assert_allclose(stokes_i_at(turning, 1.3e9, CENTRE, TIMES), power * SKY.stokes_jy[:, 0], rtol=1e-10)
    with pytest.raises(rt.Error, match="without the times"):
        stokes_i_at(turning, 1.3e9, CENTRE)
    for group in [replace(pattern, site_m=SITE), [pattern, rt.Beam.of_dish(12.0)]]:
        assert "pattern beam_$(corr)_$(reim).fits" in beams_text(SKY.seen_through(group).beam)


def test_by_cubics_patterns_are_closer_and_end_where_the_grid_does(tmp_path):
    coarse, hz = np.linspace(-0.05, 0.05, 11), np.linspace(1.2e9, 1.6e9, 4)
    files = write_cubes(tmp_path, some_pattern(hz, coarse, coarse), hz, coarse, coarse)
    l, m, _ = direction_cosines(SKY.radec_rad, CENTRE)  # noqa: E741
    exact = np.stack([some_pattern([f], m, l)[0] for f in FREQUENCY_HZ], axis=1)  # [m,freq,l,4] of all pairs
    exact = np.stack([exact[s, :, s] for s in range(len(SKY))]).reshape(len(SKY), len(FREQUENCY_HZ), 2, 2)
    worst = {}
    for method in ("linear", "cubic"):
        pattern = rt.BeamPattern.read(files, method=method)
        ns = rt.NodeScope()
        jones_nodes(ns, [pattern], Place.of(ns, SKY.radec_rad, CENTRE))
        found = rt.Forest(ns).evaluate(ns.voltage(0), rt.Cells(freq_hz=FREQUENCY_HZ))
        worst[method] = np.abs(np.moveaxis(found[:, :, :, 0], -1, 1) - exact).max()
        far = np.array([[CENTRE[0], CENTRE[1] + 0.0501], [CENTRE[0], CENTRE[1] + 0.0499]])
        ns = rt.NodeScope()
        jones_nodes(ns, [pattern], Place.of(ns, far, CENTRE))
        beyond, within = rt.Forest(ns).evaluate(ns.voltage(0), rt.Cells(freq_hz=FREQUENCY_HZ))
        assert not beyond.any() and within.all(axis=-1).any()
    assert worst["cubic"] < 0.4 * worst["linear"] and worst["cubic"] < 5e-3
    assert ", cubic)" in str(pattern) and pattern != rt.BeamPattern.read(files)
    with pytest.raises(rt.Error, match="the method of a pattern is linear or cubic, not 'square'"):
        rt.BeamPattern.read(files, method="square")


@pytest.mark.parametrize("feed", ["linear", "circular"])
def test_stokes_parameters_through_a_pattern_that_changes_nothing_are_the_skys(tmp_path, feed):
    from rimetree.sky_fluxes import stokes_through_matrices

    unit = np.tile([1.0, 0.0, 0.0, 1.0], (5, 21, 21, 1))
    pattern = rt.BeamPattern.read(write_cubes(tmp_path, unit, CUBE_HZ, GRID, GRID, feed=feed))
    found = stokes_through_matrices(SKY.seen_through(pattern), [1.3e9], CENTRE, feed, TIMES)
    np.testing.assert_allclose(found.reshape(-1, len(SKY), 4), SKY.stokes_jy[None], atol=1e-12)
    assert stokes_through_matrices(SKY, [1.3e9], CENTRE, feed, TIMES) is None


def test_patterns_are_told_apart_by_their_numbers(tmp_path, files):
    table = some_pattern(CUBE_HZ, GRID, GRID)
    table[2, 3, 4, 1] += 1e-6
    other = write_cubes(tmp_path, table, CUBE_HZ, GRID, GRID, name="other")
    one = rt.BeamPattern.read(files)
    assert one == rt.BeamPattern.read(files) and hash(one) == hash(rt.BeamPattern.read(files))
    assert replace(rt.BeamPattern.read(other), name=one.name) != one
    assert one.fingerprint in repr(one) and len(repr(one)) < 1000
    assert SKY.seen_through([one, rt.BeamPattern.read(files)]).beam == one


def test_files_that_are_no_pattern(tmp_path, files):
    def message(name):
        with pytest.raises(rt.Error) as caught:
            rt.BeamPattern.read(str(name))
        return str(caught.value)

    assert "expected names of files with $(corr) and $(reim)" in message(tmp_path / "beam.fits")
    assert "there is no file" in message(tmp_path / "none_$(corr)_$(reim).fits")
    (tmp_path / "beam_xy_im.fits").rename(tmp_path / "gone.fits")
    assert message(files).endswith(f"there is no file {tmp_path / 'beam_xy_im.fits'}")
    (tmp_path / "beam_xy_im.fits").write_text("SIMPLE")
    assert "no FITS image that can be read" in message(files)
    write_cubes(tmp_path, some_pattern(CUBE_HZ, GRID, GRID), CUBE_HZ, GRID, GRID, name="a", axes=("X", "Y", "FREQ"))
    write_cubes(tmp_path, some_pattern(CUBE_HZ, GRID, 2 * GRID), CUBE_HZ, GRID, 2 * GRID, name="b")
    (tmp_path / "b_yx_re.fits").rename(tmp_path / "a_yx_re.fits")
    assert "a_yx_re.fits: the axes are not those of" in message(tmp_path / "a_$(corr)_$(reim).fits")


def test_images_may_be_in_extensions_and_numbers_as_text(tmp_path, files):
    from astropy.io import fits

    expected = rt.BeamPattern.read(files)
    for file in tmp_path.glob("beam_*.fits"):
        data, header = fits.getdata(file, header=True)
        header.update({key: str(header[key]) for key in ("CRVAL1", "CRPIX2", "CDELT3")})
        fits.HDUList([fits.PrimaryHDU(), fits.ImageHDU(data, header)]).writeto(file, overwrite=True)
    assert rt.BeamPattern.read(files) == expected


def test_grids_without_places_are_refused(tmp_path, files):
    from astropy.io import fits

    data, header = fits.getdata(tmp_path / "beam_xx_re.fits", header=True)
    fits.writeto(tmp_path / "beam_xx_re.fits", data[:, :0], header, overwrite=True)
    with pytest.raises(rt.Error, match="there are no places along m"):
        rt.BeamPattern.read(files)


def test_steps_as_a_cd_matrix(tmp_path, files):
    from astropy.io import fits

    expected = rt.BeamPattern.read(files)
    for file in tmp_path.glob("beam_*.fits"):
        with fits.open(file, mode="update") as units:
            for axis in (1, 2, 3):
                units[0].header[f"CD{axis}_{axis}"] = units[0].header.pop(f"CDELT{axis}")
    assert rt.BeamPattern.read(files) == expected


@pytest.mark.parametrize("descending", [False, True])
def test_frequencies_that_are_not_regular(tmp_path, descending):
    """CRVAL and CDELT say nothing of them then; they had been refused."""
    from astropy.io import fits

    cube_hz = np.array([1.1e9, 1.2e9, 1.27e9, 1.5e9, 1.52e9])[:: -1 if descending else 1]
    table = some_pattern(cube_hz, GRID, GRID)
    files = write_cubes(tmp_path, table, CUBE_HZ, GRID, GRID)
    for file in tmp_path.glob("beam_*.fits"):
        with fits.open(file, mode="update") as units:
            units[0].header.update({f"GFREQ{k + 1}": place for k, place in enumerate(cube_hz)})
    pattern = rt.BeamPattern.read(files)
    assert pattern.reaches(1.1e9, 1.52e9) and not pattern.reaches(1.0e9, 1.2e9) and not pattern.reaches(1.2e9, 1.53e9)
    ns = rt.NodeScope()
    seen = rt.sky_nodes(ns, SKY.seen_through(pattern), CENTRE)
    frequency_hz = np.array([1.0e9, 1.1e9, 1.25e9, 1.31e9, 1.52e9, 1.6e9])
    found = rt.Forest(ns).evaluate(seen.brightness, rt.Cells(freq_hz=frequency_hz))[:, :, :, 0]
    l, m, _ = direction_cosines(SKY.radec_rad, CENTRE)  # noqa: E741
    order = slice(None, None, -1 if descending else 1)
    inside = np.clip(frequency_hz, 1.1e9, 1.52e9)
    seen_by = between(table[order], cube_hz[order], GRID, GRID, inside, m, l)  # [source, channel, 2, 2]
    i, q, u, v = SKY.stokes_jy.T
    brightness = np.moveaxis(np.array([[i + q, u + 1j * v], [u - 1j * v, i - q]]), 2, 0)[:, None]
    expected = seen_by @ brightness @ np.conj(np.swapaxes(seen_by, -1, -2))
    np.testing.assert_allclose(found, np.moveaxis(expected, 1, -1), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "key, value, text",
    [
        ("CTYPE1", "RA---SIN", "axis 1 is RA---SIN, expected X or L"),
        ("CTYPE2", "X", "axis 2 is X, expected X or L, Y or M, and FREQ, once each"),
        ("CUNIT1", "arcmin", "axis X is in arcmin, expected deg, rad"),
        ("CUNIT3", "m/s", "axis FREQ is in m/s, expected hz"),
        ("CDELT2", 0.0, "CDELT is 0"),
        ("CRVAL1", "a", "CRVAL1 is no number: 'a'"),
        ("GFREQ2", "b", "GFREQ2 is no number: 'b'"),
        ("CRVAL3", 1400.0, "Hz is below what reaches the ground; are frequencies in MHz"),
        ("PC1_2", 0.6, r"the grid is turned \(PC1_2\), which is not supported"),
        ("CROTA2", 30.0, r"the grid is turned \(CROTA2\)"),
        ("GX1", 1.2e9, "the places along X are not regular"),
        ("GFREQ1", 1.2e9, "GFREQ1, ... must be a number for each of 5 planes, which ascend or descend"),
    ],
)
def test_headers_that_are_not_understood(tmp_path, files, key, value, text):
    from astropy.io import fits

    fits.setval(tmp_path / "beam_xx_re.fits", key, value=value)
    with pytest.raises(rt.Error, match=text):
        rt.BeamPattern.read(files)
