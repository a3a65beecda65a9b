"""Annotations of arguments, as Python and NumPy have them in different versions."""

import types
import typing

import astropy.units as u
import numpy as np
import pytest

import rimetree as rt
from rimetree.arguments import fitting


class ArrayAlias:
    """As `numpy.typing.NDArray` is from NumPy 2.5 and Python 3.12 on: what it stands for is an array, not it itself."""

    __value__ = np.ndarray[tuple[int, ...], np.dtype[typing.TypeVar("Scalar", bound=np.generic)]]


def test_aliases_of_annotations_are_looked_through():
    hint = types.GenericAlias(ArrayAlias, (np.float64,))
    for one in (hint, hint | None, tuple[hint, ...]):
        given = ([1, 2] * u.km,) if one == tuple[hint, ...] else [1, 2] * u.km
        found = fitting(given, one, "f: length_m", "length_m")
        np.testing.assert_array_equal(np.ravel(found), [1000, 2000])
    with pytest.raises(rt.Error, match="f: length_m is in s, expected m"):
        fitting([1, 2] * u.s, hint, "f: length_m", "length_m")
    with pytest.raises(rt.Error, match="length_m must be an array of numbers in m, not"):
        fitting(object(), hint, "f: length_m", "length_m")
