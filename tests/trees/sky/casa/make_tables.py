"""Makes tables.tar.gz: images and lists of components as CASA writes them. Run it with a Python that has casatools.

python make_tables.py tables.tar.gz
"""

import glob
import os
import shutil
import sys
import tarfile
import tempfile

import casatools
import numpy as np

AT = ["10h00m05s", "30d00m30s"]
HZ = 1.5e9


def image(name, pixels, stokes="I", freq_hz=(HZ,), frame="J2000", projection="SIN", unit="Jy/pixel"):
    """An image of pixels [x,y,stokes,freq] of 20 arcsec."""
    axes = casatools.coordsys().newcoordsys(direction=True, stokes=stokes, spectral=True)
    axes.setprojection(projection)
    cell, middle = ["-20arcsec", "20arcsec"], [pixels.shape[0] // 2, pixels.shape[1] // 2]
    axes.setdirection(refcode=frame, refval=AT, incr=cell, refpix=middle)
    if len(set(np.diff(freq_hz))) > 1:
        axes.setspectral(frequencies=casatools.quanta().quantity(np.array(freq_hz), "Hz"))
    else:
        axes.setreferencevalue(f"{freq_hz[0]}Hz", "spectral")
        axes.setincrement(f"{freq_hz[1] - freq_hz[0] if len(freq_hz) > 1 else 1e9}Hz", "spectral")
        axes.setreferencepixel(0, "spectral")
    made = casatools.image()
    made.fromshape(name, list(pixels.shape), overwrite=True)
    made.setcoordsys(axes.torecord())
    made.putchunk(pixels)
    made.setbrightnessunit(unit)
    made.close()


def components(name, *all_of_them):
    """A list of components."""
    made = casatools.componentlist()
    for one in all_of_them:
        correlations, own = one.pop("correlations", None), one.pop("own", None)
        assert made.addcomponent(fluxunit=one.pop("fluxunit", "Jy"), freq="1.4GHz", **one)
        if own:
            made.setstokesspectrum(made.length() - 1, type="spectral index", index=own)
        if correlations:
            made.convertfluxpol(made.length() - 1, correlations)
    made.rename(name)
    made.close()


def main(archive):
    """All tables in the current folder, and then in the archive."""
    one = np.zeros((8, 6, 1, 1))
    one[2, 1], one[5, 4] = 2.0, -0.5
    image("one.model", one)
    image("tan.model", one, projection="TAN")
    image("icrs.model", one, frame="ICRS")
    image("galactic.model", one, frame="GALACTIC")
    image("restored.image", one, unit="Jy/beam")
    image("iv.model", np.concatenate([one, one / 4], axis=2), stokes="I V")
    image("iqv.model", np.concatenate([one, one / 4, one / 8], axis=2), stokes="I Q V")
    image("xx.model", one, stokes="XX")
    image("cube.model", one * [1.0, 2.0, 3.0], freq_hz=[1.0e9, 1.2e9, 1.4e9])
    image("irregular.model", one * [1.0, 2.0, 5.0], freq_hz=[1.0e9, 1.2e9, 1.7e9])
    image("mfs.tt0", one)
    image("mfs.tt1", -0.7 * one)
    image("mfs.tt2", 0.3 * one)
    image("masked.model", one + 0.001 * (one == 0))
    masked = casatools.image()
    masked.open("masked.model")
    masked.calcmask('abs("masked.model") > 0.01')
    masked.close()

    polarised = {"flux": [1.0, 0.1, 0.2, 0.05], "polarization": "Stokes"}
    shape = {"majoraxis": "60arcsec", "minoraxis": "20arcsec", "positionangle": "30deg"}
    power_law = {"spectrumtype": "spectral index", "index": [-0.7]}
    at = "J2000 10h00m10.0s 30d04m00.0s"
    components(
        "all.cl",
        {"dir": at, **polarised, **power_law},
        {"dir": "J2000 10h00m10.0s 30d01m00.0s", "flux": 2.0, "shape": "Gaussian", **shape},
        {
            "dir": "ICRS 10h00m00.0s 30d01m00.0s",
            "flux": 3000.0,
            "fluxunit": "mJy",
            "shape": "disk",
            "label": "it",
            **shape,
        },
        {"dir": at, **polarised, "spectrumtype": "plp", "index": [-0.7, 0.1], "label": "bent"},
        {"dir": at, **polarised, "correlations": "circular", "label": "circular"},
        {"dir": at, **polarised, "correlations": "linear", "label": "linear"},
    )
    late = "J2000 15h00m10.0s 30d04m00.0s"  # which CASA writes as less than 0
    components("b1950.cl", {"dir": "B1950 10h00m10.0s 30d04m00.0s", "flux": 1.0}, {"dir": late, "flux": 2.0})
    components("own_spectra.cl", {"dir": at, **polarised, **power_law, "own": [-0.7, 0.1, 3.0, 0.0]})
    for file in glob.glob("*.log"):
        os.remove(file)
    with tarfile.open(archive, "w:gz") as packed:
        for name in sorted(os.listdir()):
            shutil.rmtree(os.path.join(name, "logtable"), ignore_errors=True)
            packed.add(name, filter=lambda entry: None if entry.name.endswith(".lock") else entry)


if __name__ == "__main__":
    target = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        main(target)
        os.chdir("/")
