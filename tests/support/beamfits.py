"""Files of pyuvdata's UVBeam ("beamfits"), of electric fields in azimuth and zenith angle."""

import numpy as np
from astropy.io import fits

DEG = np.pi / 180
#: What there is along each axis, the fastest first, as pyuvdata writes it.
AXES = ("AZIMUTH", "ZENANGLE", "FREQ", "FEEDIND", "IF", "VECIND", "COMPLEX")


def short_dipoles(azimuth, zenith_angle):
    """[vector,feed,zenith angle,azimuth]: what short dipoles, X to the east and Y to the north, answer to fields along
    azimuth (from east through north) and along zenith angle."""
    z, a = np.meshgrid(zenith_angle, azimuth, indexing="ij")
    return np.array([[-np.sin(a), np.cos(a)], [np.cos(a) * np.cos(z), np.sin(a) * np.cos(z)]])


def some_pattern(frequency_hz, azimuth, zenith_angle):
    """[vector,feed,frequency,zenith angle,azimuth]: short dipoles that see less far from a place beside the zenith,
    with a phase, and leak into each other."""
    z, a = np.meshgrid(zenith_angle, azimuth, indexing="ij")
    east, north = np.sin(z) * np.cos(a), np.sin(z) * np.sin(a)
    nu = (np.asarray(frequency_hz) / 150e6)[:, None, None]
    main = np.exp(-(nu**2) * ((east - 0.1) ** 2 + 1.3 * north**2) + 0.3j * nu * north)
    x, y = np.moveaxis(short_dipoles(azimuth, zenith_angle), 1, 0)
    return np.stack([x[:, None] * main, (y[:, None] * 0.9 + 0.1j * x[:, None]) * main**1.2], axis=1)


def write_beamfits(path, table, frequency_hz, azimuth, zenith_angle, *, vectors=None, unit="deg", axes=AXES, **header):
    """Writes a table [vector,feed,frequency,zenith angle,azimuth] on regular grids (Hz, rad). `vectors`
    [vector,component,zenith angle,azimuth]: to azimuth and to zenith angle, unless given."""
    own = {"BTYPE": "efield", "NORMSTD": "peak", "COORDSYS": "az_za", "FEEDLIST": "[x, y]", "MNTSTA": "fixed"}
    grids = {
        "AZIMUTH": (np.asarray(azimuth) / (DEG if unit == "deg" else 1.0), unit),
        "ZENANGLE": (np.asarray(zenith_angle) / (DEG if unit == "deg" else 1.0), unit),
        "FREQ": (np.asarray(frequency_hz), "Hz"),
    }
    data = np.stack([table.real, table.imag])[:, :, None]
    data = np.transpose(data, [AXES[::-1].index(name) for name in axes[::-1]])
    cards = fits.Header()
    for number, name in enumerate(axes, 1):
        grid, of = grids.get(name, (np.array([1.0, 2.0]), ""))
        cards[f"CTYPE{number}"], cards[f"CUNIT{number}"], cards[f"CRPIX{number}"] = name, of, 1
        cards[f"CRVAL{number}"] = grid[0]
        cards[f"CDELT{number}"] = grid[1] - grid[0] if len(grid) > 1 else 1.0
    for key, value in {**own, **header}.items():
        if value is not None:
            cards[key] = value
    if vectors is None:
        vectors = np.broadcast_to(np.eye(2)[..., None, None], (2, 2, *table.shape[3:]))
    units = [fits.PrimaryHDU(data, cards), fits.ImageHDU(np.array(vectors, float), name="BASISVEC")]
    fits.HDUList(units).writeto(path, overwrite=True)
    return str(path)
