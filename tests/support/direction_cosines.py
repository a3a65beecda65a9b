"""Direction cosines by spherical trigonometry, for tests that do not go by the node LMN."""

import numpy as np


def direction_cosines(radec_rad, centre_rad):
    """[3, source]: l (to the east), m (to the north) and n of right ascensions and declinations [source, 2]."""
    ra, dec = (np.asarray(radec_rad) - [centre_rad[0], 0]).T
    east = np.cos(dec) * np.sin(ra)
    north = np.sin(dec) * np.cos(centre_rad[1]) - np.cos(dec) * np.sin(centre_rad[1]) * np.cos(ra)
    return np.array([east, north, np.sqrt(1 - east**2 - north**2)])
