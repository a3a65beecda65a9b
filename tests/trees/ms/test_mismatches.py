"""Trees that do not fit the data that they run over: nothing but a warning says so."""

import warnings

import pytest

import rimetree as rt

CENTRE = (0.9, -0.5)
CIRCULAR, LINEAR = (5, 6, 7, 8), (9, 10, 11, 12)


def said(path, sky, feed):
    ns = rt.NodeScope()
    rt.psv_tree(ns, sky, CENTRE, rt.ms.baselines(path), feed=feed)
    return [text for text in rt.Forest(ns).run(path).warnings if "feeds" in text]


@pytest.mark.parametrize("types, feed", [(CIRCULAR, "circular"), (LINEAR, "linear")])
def test_brightness_of_other_feeds_than_those_of_the_data(small_ms, small_sky, types, feed):
    """A script that forgets the feed wrote I + Q where I + V should be."""
    path = small_ms(correlation_type=types)
    other = "linear" if feed == "circular" else "circular"
    assert said(path, small_sky, feed) == []
    (text,) = said(path, small_sky, other)
    assert f"is that of {other} feeds, and data description 0 has {feed} ones" in text and f'feed="{feed}"' in text
    # Both see the same where nothing is polarised.
    plain = rt.sky.SkyModel([rt.sky.Source("a", *CENTRE, (1.0, 0.0, 0.0, 0.0), ref_freq_hz=1.4e9, spectrum=(-0.7,))])
    assert said(path, plain, other) == []


def test_an_objective_of_other_feeds_is_warned_of(small_ms):
    """What is to be found may be polarised."""
    path = small_ms(correlation_type=CIRCULAR)
    for feed in ("linear", "circular"):
        ns = rt.NodeScope()
        ns.flux << rt.Parm(1.0, solvable=True)
        data = rt.Spigot(station_1_index=0, station_2_index=1, input_column="DATA")
        brightness = rt.Stokes(rt.Composer(ns.flux, 0.0, 0.0, 0.0), feed=feed)
        ns.chi2 << rt.ChiSquare(rt.Condeq(data, brightness))
        forest = rt.Forest(ns)
        if feed == "linear":
            with pytest.warns(UserWarning, match="brightness of this tree is that of linear feeds"):
                rt.MsObjective(forest, path)
        else:
            with warnings.catch_warnings(action="error"):
                rt.MsObjective(forest, path)
