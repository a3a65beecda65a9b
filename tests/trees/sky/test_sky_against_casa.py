"""What CASA predicts of calibrators (task setjy) and of its components and images (task ft), against `simulate`.

RIMETREE_CASA_PYTHON names a Python that has casatasks and its data; without it these tests are skipped.
"""

import os
import subprocess
import tarfile
from pathlib import Path

import numpy as np
import pytest

import rimetree as rt
from rimetree import sky

pytestmark = pytest.mark.skipif("RIMETREE_CASA_PYTHON" not in os.environ, reason="RIMETREE_CASA_PYTHON is not set")

SETJY = "setjy(vis=given[0], standard=given[1], usescratch=True, scalebychan=True)"
COMPONENTS = "ft(vis=given[0], complist=given[1], usescratch=True)"
IMAGES = """
import numpy as np
sys.path.append(given[1])
from make_tables import image
stokes, names = given[2], given[3:]
pixels = np.zeros((300, 280, len(stokes.split()), 1))
pixels[130, 150], pixels[190, 110, 0], pixels[151, 120, -1] = 1.0, -0.5, 0.7
for k, name in enumerate(names):
    image(name, (-0.7) ** k * pixels, stokes=stokes)
ft(vis=given[0], model=names, nterms=len(names), usescratch=True)
"""


def observed(folder, telescope, centre_rad, frequency_hz, width_hz):
    """A set of eight channels and one time."""
    path = folder / "obs.ms"
    band = rt.ms.Band.regular(frequency_hz, width_hz, 8)
    when = {"start_mjd_s": 5.24e9, "duration_s": 10, "integration_s": 10}
    rt.ms.create(path, telescope, bands=band, phase_centre_rad=centre_rad, **when)
    return path


def both(path, command, *given, model):
    """What CASA's command leaves in MODEL_DATA, and what a model (or a file, when it is there) predicts."""
    script = f"import sys\nfrom casatasks import ft, setjy\ngiven = sys.argv[1:]\n{command}\n"
    subprocess.run(
        [os.environ["RIMETREE_CASA_PYTHON"], "-c", script, str(path), *map(str, given)],
        check=True, capture_output=True, timeout=300, cwd=path.parent,
    )  # fmt: skip
    model = model if isinstance(model, sky.SkyModel) else sky.read(model)
    (group,) = rt.ms.groups(path)
    ns, how = rt.NodeScope(), {"feed": group.feed, "column": "OURS", "smearing": False}
    rt.psv_tree(ns, model, group.phase_centre_rad, group.baselines, **how)
    rt.Forest(ns).run(path)
    (tile,) = rt.ms.tiles(path, ["MODEL_DATA", "OURS"], time_slots=100)
    return tile["columns"]["MODEL_DATA"], tile["columns"]["OURS"]


@pytest.mark.parametrize(
    ("name", "scale", "standard", "frequency_hz"),
    [
        *((name, None, "Perley-Butler 2017", 1.5e9) for name in ("3C48", "3C138", "3C147", "3C286", "3C295", "3C196")),
        *((name, None, "Perley-Butler 2017", 30e9) for name in ("3C48", "3C147", "3C286")),
        *((name, "Scaife-Heald 2012", "Scaife-Heald 2012", 150e6) for name in ("3C48", "3C196", "3C295", "3C380")),
        ("1934-638", None, "Stevens-Reynolds 2016", 2.1e9),
    ],
)
def test_calibrators(tmp_path, name, scale, standard, frequency_hz):
    model = sky.calibrator(name, scale)
    path = observed(tmp_path, "vla-d", tuple(model.radec_rad[0]), frequency_hz, frequency_hz / 20)
    casa, ours = both(path, SETJY, standard, model=model)
    feeds = [0, 3]  # CASA's models of these scales are not polarised
    np.testing.assert_allclose(ours[..., feeds], casa[..., feeds], atol=5e-6 * abs(casa).max())


@pytest.fixture
def tables(tmp_path):
    """The folder with images and components that CASA made."""
    with tarfile.open(Path(__file__).parent / "casa" / "tables.tar.gz") as packed:
        packed.extractall(tmp_path / "tables", filter="data")
    return tmp_path / "tables"


CENTRE_RAD = tuple(np.radians([15 * (10 + 5 / 3600), 30 + 0.5 / 60]))


def test_components(tmp_path, tables):
    """CASA's shapes are not exact: 2e-4 (a Gaussian) and 5e-4 (a disk) of what points in their place would be."""
    path = observed(tmp_path, "vla-d", CENTRE_RAD, 1.5e9, 60e6)
    casa, ours = both(path, COMPONENTS, tables / "all.cl", model=tables / "all.cl")
    assert abs(casa).max() > 1
    np.testing.assert_allclose(ours, casa, atol=1e-3 * abs(casa).max())


@pytest.mark.parametrize(
    ("stokes", "names"), [("I", ["a"]), ("I V", ["a"]), ("I Q U V", ["a"]), ("I", ["a.tt0", "a.tt1"])]
)
def test_images(tmp_path, stokes, names):
    """CASA predicts images by gridding, to about a per cent."""
    path = observed(tmp_path, "kat-7", CENTRE_RAD, 1.5e9, 10e6)
    files = [tmp_path / name for name in names]
    casa, ours = both(path, IMAGES, Path(__file__).parent / "casa", stokes, *files, model=files[0])
    assert abs(casa).max() > 1
    np.testing.assert_allclose(ours, casa, atol=0.02 * abs(casa).max())
