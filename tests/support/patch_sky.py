"""A sky of a few patches, half a degree apart, for tests of terms per patch."""

import rimetree as rt

CENTRE_RAD = (0.93, -0.485)  # right ascension, declination

_FLUXES_JY = {"p0": 60.0, "p1": 25.0, "p2": 40.0, "p3": 30.0, "p4": 35.0, "p5": 20.0}
_FROM_CENTRE_RAD = {
    "p0": (0.0002, 0.0090),
    "p1": (-0.0071, 0.0090),
    "p2": (-0.0038, -0.0015),
    "p3": (0.006, -0.004),
    "p4": (0.005, 0.006),
    "p5": (-0.006, -0.007),
}


def patch_sky(count: int, fluxes_jy: dict[str, float] | None = None) -> tuple[dict[str, float], rt.sky.SkyModel]:
    """The fluxes (Jy) by patch of the first so many, up to six, and the sky: a point in each; `fluxes_jy`: of patches
    that have others than they always have."""
    fluxes_jy = {name: (fluxes_jy or {}).get(name, flux) for name, flux in list(_FLUXES_JY.items())[:count]}
    sources = []
    for name, flux in fluxes_jy.items():
        ra, dec = (centre + offset for centre, offset in zip(CENTRE_RAD, _FROM_CENTRE_RAD[name], strict=True))
        sources.append(rt.sky.Source(name, ra, dec, (flux, 0, 0, 0), patch=name))
    return fluxes_jy, rt.sky.SkyModel(sources)
