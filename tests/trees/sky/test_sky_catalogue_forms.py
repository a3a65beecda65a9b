"""Catalogues in the forms that archives give: VOTable, and tabs with lines of units and of dashes, as VizieR's."""

import gzip
import math
import tracemalloc

import numpy as np
import pytest
from astropy import units
from astropy.io import votable
from astropy.table import MaskedColumn, Table

from rimetree import sky
from rimetree.sky import SkyModelError

DEG = math.pi / 180
VIZIER = """#
#   VizieR Astronomical Server vizier.cds.unistra.fr
#Coosys\tJ2000:\teq_FK5 J2000
#Column\tRAJ2000\t(F10.6)\tRight ascension\t[ucd=pos.eq.ra;meta.main]
Name\tRAJ2000\tDEJ2000\tS_200\talpha\ta\tb\tpa
\tdeg\tdeg\tmJy\t\tarcsec\tarcmin\tdeg
----------\t----------\t---------\t-----\t---\t-\t-\t---
GLEAM-X J0 \t 10.500000\t-20.000000\t 2500\t-0.7\t72\t0.6\t 15
GLEAM-X J1 \t 11.500000\t-21.000000\t 1500\t    \t  \t   \t
"""


def check(model):
    assert model.names == ["GLEAM-X J0", "GLEAM-X J1"]
    np.testing.assert_allclose(np.degrees(model.radec_rad), [[10.5, -20], [11.5, -21]])
    shaped, bare = model
    assert [one.stokes_jy[0] for one in model] == pytest.approx([2.5, 1.5]) and shaped.spectrum == (-0.7,)
    assert shaped.gaussian == pytest.approx((0.02 * DEG, 0.01 * DEG, 15 * DEG))
    assert not bare.is_extended and bare.spectrum == (-0.8,)


@pytest.mark.parametrize("separator", ["\t", ";"])
def test_lines_of_units_and_of_dashes(tmp_path, separator):
    path = tmp_path / "vizier.tsv"
    path.write_text(VIZIER.replace("\t", separator))
    check(sky.read(path))
    lines = path.read_text().splitlines()
    del lines[5]  # the units, which are those that the table has by itself but for the flux and an axis
    text = "\n".join(lines).replace(" 2500", "2.5").replace(" 1500", "1.5").replace("0.6", "36")
    path.write_text(text)
    check(sky.read(path))
    path.write_text(text.replace("11.5", "1h5m"))
    with pytest.raises(SkyModelError, match=r"vizier.tsv:8:1: column raj2000 is '1h5m00000', expected a number"):
        sky.read(path)


def table():
    found = Table({"Name": ["GLEAM-X J0", "GLEAM-X J1"]})
    found["RAJ2000"] = [10.5, 11.5] * units.deg
    found["DEJ2000"] = [-20.0, -21.0] * units.deg
    found["S_200"] = [2500, 1500] * units.mJy
    for name, value, unit in (("alpha", -0.7, None), ("a", 72.0, "arcsec"), ("b", 0.6, "arcmin"), ("pa", 15.0, "deg")):
        found[name] = MaskedColumn([value, 7.0], mask=[False, True], unit=unit)
    return found


@pytest.mark.parametrize("form", ["tabledata", "binary", "binary2", "gzip"])
def test_a_votable(tmp_path, form):
    path = tmp_path / "x.vot"
    votable.writeto(votable.from_table(table()), str(path), tabledata_format="binary" if form == "gzip" else form)
    if form == "gzip":
        path.write_bytes(gzip.compress(path.read_bytes()))
    check(sky.read(path))


def test_what_a_votable_says_of_positions_and_frequency(tmp_path):
    rows = Table({"RA": [10.0], "DEC": [20.0], "Spec_Indx": [-0.7]}, units={"RA": "deg", "DEC": "deg"})
    rows["Total_flux"] = [3000.0] * units.mJy
    parsed = votable.from_table(rows)
    parsed.resources[0].params.append(votable.tree.Param(parsed, name="FREQ0", value=1.5e8, datatype="double"))
    parsed.resources[0].coordinate_systems.append(votable.tree.CooSys(ID="system", equinox="J2000", system="eq_FK5"))
    path = tmp_path / "x.xml"
    votable.writeto(parsed, str(path))
    (source,) = sky.read(path)
    assert (source.stokes_jy[0], source.ref_freq_hz, source.spectrum) == (3.0, 1.5e8, (-0.7,))
    whole = path.read_text()
    path.write_text(whole.replace("J2000", "B1950"))
    with pytest.raises(SkyModelError, match="positions are of equinox B1950, expected 2000"):
        sky.read(path)
    path.write_text(whole[: len(whole) // 2])
    with pytest.raises(SkyModelError, match=r"x.xml: no VOTable that can be read: "):
        sky.read(path)
    path.write_text(whole.replace("Total_flux", "S"))
    with pytest.raises(SkyModelError, match=r"the table has ra, dec, spec_indx, s;"):
        sky.read(path)


def test_columns_that_are_not_used_are_not_kept(tmp_path):
    path = tmp_path / "wide.csv"
    row = ", ".join(["0.123456789012"] * 100)
    others = ", ".join(f"c{i}" for i in range(100))
    path.write_text(f"# PyBDSF\n# RA, DEC, Total_flux, {others}\n" + f"1.5, 2.5, 3.5, {row}\n" * 5000)
    tracemalloc.start()
    assert len(sky.read(path)) == 5000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5 * path.stat().st_size  # the columns as texts would be 12 times as much
