"""The direction of the zenith by astropy, for tests that do not go by the node UVW."""


def zenith_angle(radec_rad, xyz_m, time_s):
    """The position angle (rad) of the zenith of a place (ITRF) seen from a direction at a time (MJD, seconds)."""
    from astropy import units as u
    from astropy.coordinates import AltAz, EarthLocation, SkyCoord
    from astropy.time import Time
    from astropy.utils import iers

    with iers.conf.set_temp("auto_download", False):
        place = EarthLocation.from_geocentric(*xyz_m, unit="m")
        frame = AltAz(obstime=Time(time_s / 86400, format="mjd", scale="utc"), location=place)
        zenith = SkyCoord(alt=90 * u.deg, az=0 * u.deg, frame=frame).transform_to("icrs")
        return SkyCoord(*radec_rad, unit="rad").position_angle(zenith).rad
