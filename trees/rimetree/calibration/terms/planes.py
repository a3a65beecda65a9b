"""Terms of which the values of all antennas lie in a plane over the array (option "plane"): two slopes are solved for
instead of a value of each antenna.

So the ionosphere looks from an array that is small beside its structures, and so does a source that stands a little
beside its place: TEC in a plane shifts it by an angle that grows with the square of the wavelength, a delay in a plane
by the same angle at all frequencies. Places of antennas are their coordinates along the axes along which the array is
widest, in units of the root mean square of these; an array on a line has one slope.

Source: Cotton et al. 2004, Proc. SPIE 5489, 180 (field-based calibration); Mitchell et al. 2008, IEEE JSTSP 2, 707
(shifts of calibrators, the RTS).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...evaluation.solving import SolvedParm, SolveReport
from ...ms import MsGroup
from ..errors import CalibrationError

#: Of a plane.
MOST_SLOPES = 2

_NARROW = 1e-3  # of the largest extent: along such an axis there is nothing to tell


def places_in_plane(xyz_m: Mapping[int, NDArray[np.float64]], names: Mapping[int, str]) -> dict[int, NDArray]:
    """{antenna: [slope] its coordinates}, without unit and about 1 each, of geocentric positions [3] in metres.

    Raises `CalibrationError` where positions are not known, or are all the same.
    """
    antennas = list(xyz_m)
    if missing := [names[antenna] for antenna in antennas if not np.any(xyz_m[antenna])]:
        raise CalibrationError(
            f"a plane over the array wants positions of antennas; there are none of {', '.join(missing)}"
        )
    offsets = np.array([xyz_m[antenna] for antenna in antennas])
    offsets = offsets - offsets.mean(axis=0)
    _, sizes, axes = np.linalg.svd(offsets, full_matrices=False)
    count = int((sizes[:MOST_SLOPES] > _NARROW * sizes[0]).sum()) if sizes[0] > 0 else 0
    if count == 0:
        raise CalibrationError("a plane over the array wants antennas at different positions")
    units = axes[:count].T * np.sqrt(len(antennas)) / sizes[:count]
    return dict(zip(antennas, offsets @ units, strict=True))


def places_of(group: MsGroup) -> dict[int, NDArray]:
    """`places_in_plane` of the antennas of a group."""
    return places_in_plane({a: group.antenna_xyz_m[a] for a in group.antennas}, group.antenna_names)


@dataclass(frozen=True, eq=False)
class Plane:
    """Of one term and direction. `slopes`: names of the Parms that are solved for; `places`: {node of the values of an
    antenna: [slope] its coordinates}; `antennas`: {node: the antenna's number}."""

    slopes: tuple[str, ...]
    places: dict[str, NDArray[np.float64]]
    antennas: dict[str, int]

    def slopes_of(self, values: Mapping[str, NDArray[np.float64]]) -> list[NDArray[np.float64]]:
        """Values [time, freq] of the slopes that are nearest to those of antennas, {node: [time, freq]}."""
        places = np.array([self.places[node] for node in values])
        known = np.array(list(values.values()))
        design = np.column_stack([np.ones(len(places)), places])
        found, *_ = np.linalg.lstsq(design, known.reshape(len(known), -1), rcond=None)
        return [own.reshape(known.shape[1:]) for own in found[1:]]

    def at_antennas(self, slopes: Sequence[SolvedParm], reference: int) -> dict[str, SolvedParm]:
        """{node: what was found, relative to the reference antenna} of what was found of the slopes. Errors of slopes
        count as independent of each other, as they nearly are along the axes of the array."""
        origin = next((self.places[n] for n, a in self.antennas.items() if a == reference), np.zeros(len(slopes)))
        flag = np.bitwise_or.reduce([np.asarray(own.flag) for own in slopes])
        found = {}
        for node, place in self.places.items():
            factors = place - origin
            pairs = list(zip(factors, slopes, strict=True))
            found[node] = replace(
                slopes[0],
                value=sum(factor * np.asarray(own.value) for factor, own in pairs),
                sigma=np.sqrt(sum((factor * np.asarray(own.sigma)) ** 2 for factor, own in pairs)),
                cross=np.zeros(np.shape(slopes[0].cross)),
                flag=flag,
            )
        return found


class Planes:
    """Those of a tree: what stands between its parameters, of antennas, and the Parms that are solved for."""

    def __init__(self, planes: Sequence[Plane]):
        self._planes = list(planes)
        self._of = {node: plane for plane in planes for node in plane.places}

    def parms(self, nodes: Collection[str]) -> list[str]:
        """Names of the Parms behind parameters, in order."""
        return sorted({parm for node in nodes for parm in (self._of[node].slopes if node in self._of else (node,))})

    def starts(self, given: Mapping[str, tuple[NDArray[np.float64], dict]]) -> dict:
        """{name of a Parm: (values [time, freq], its other state)} of {parameter: the same}."""
        found = {node: own for node, own in given.items() if node not in self._of}
        for plane in self._planes:
            own = {node: given[node] for node in plane.places}
            slopes = plane.slopes_of({node: values for node, (values, _) in own.items()})
            found |= {name: (value, own[next(iter(own))][1]) for name, value in zip(plane.slopes, slopes, strict=True)}
        return found

    def expanded(self, solved: SolveReport | None, reference: int) -> SolveReport | None:
        """A report with what was found of antennas instead of slopes."""
        if solved is None or not self._planes:
            return solved
        parms = dict(solved.parms)
        for plane in self._planes:
            own = [parms.pop(name) for name in plane.slopes if name in parms]
            if own:
                parms |= plane.at_antennas(own, reference)
        return replace(solved, parms=parms)
