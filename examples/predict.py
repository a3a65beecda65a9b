"""Visibilities from arrays, without a tree: two sources seen by three baselines.

Run it: python examples/predict.py
"""

import numpy as np

import rimetree as rt

# Baselines as a Measurement Set stores them, metres, and how fast they change, metres per second.
uvw_m = np.array([[120.0, 35.0, 4.0], [480.0, -60.0, 11.0], [-900.0, 310.0, -25.0]])
duvw_m_s = 7.292115e-5 * np.array([[-20.0, 62.0, -104.0], [40.0, 250.0, -415.0], [-200.0, -465.0, 780.0]])
frequency_hz = np.linspace(1.30e9, 1.50e9, 5)

# Direction cosines l, m, n of a point at the phase centre and of a Gaussian 10 arcminutes west of it.
west = -np.sin(np.radians(10 / 60))
lmn = np.array([[0.0, 0.0, 1.0], [west, 0.0, np.sqrt(1 - west**2)]])
stokes = np.array([[1.0, 0.0, 0.0, 0.0], [3.0, 0.2, 0.1, 0.0]])  # I, Q, U, V in Jy
arcsec = np.radians(1 / 3600)
gaussian = np.array([[0.0, 0.0, 0.0], [40 * arcsec, 20 * arcsec, np.radians(30)]])  # FWHM and position angle; 0: point

visibilities = rt.predict(
    uvw_m,
    frequency_hz,
    lmn,
    stokes,
    duvw_m_s=duvw_m_s,
    exposure_s=10.0,
    channel_width_hz=1e6,
    gaussian=gaussian,
)
stokes_i = 0.5 * (visibilities[:, :, 0, 0] + visibilities[:, :, 1, 1])
for uvw, row in zip(uvw_m, stokes_i, strict=True):
    print(f"{np.hypot(*uvw[:2]):6.0f} m:", " ".join(f"{abs(value):.4f} Jy" for value in row))
