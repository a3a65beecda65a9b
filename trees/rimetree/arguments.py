"""Arguments of public functions: what a caller gives is looked at before anything is done with it.

A function that is `@checked` has its arguments held to their annotations, and a message names the argument. Where a
name ends in a unit (`duration_s`, `freq_hz`), quantities are converted to it, and plain numbers are in it.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import os
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real

import numpy as np

from ._core import Error
from .units import UnfitError, in_unit, is_quantity
from .writing.state import as_array, short


class ArgumentError(Error, TypeError):
    """An argument that is not what a function takes; the text names it."""


_SUFFIX = re.compile(r"_(hz|m_s|rad_m2|rad|jy|m|s)$")
_UNITS = {"hz": "Hz", "m_s": "m/s", "rad_m2": "rad/m2", "rad": "rad", "jy": "Jy", "m": "m", "s": "s"}


def unit_of_name(name: str) -> str | None:
    """The unit that an argument's name ends in; None where it names none."""
    found = _SUFFIX.search(name)
    return _UNITS[found[1]] if found else None


def numbers(value, what: str, unit: str | None = None, error: type[Exception] = Error) -> np.ndarray:
    """A new array of real numbers (float64) in a unit. Raises `error`, with `what` in the message, for anything else.

    `unit`: what quantities are converted to ("" for pure numbers); None: quantities are refused.
    """
    try:
        accepted = ("" if unit is None else unit,)
        if is_quantity(value):
            value = in_unit(value, accepted, what)[0]
        elif isinstance(value, list | tuple) and any(map(is_quantity, value)):
            value = [in_unit(one, accepted, what)[0] if is_quantity(one) else one for one in value]
        array = as_array(value, what)
    except UnfitError as problem:
        raise error(str(problem)) from None
    if array.dtype.kind == "c":
        raise error(f"{what} must be real numbers, got {short(value)}")
    return array


def number(value, what: str, unit: str | None = None, error: type[Exception] = Error) -> float:
    """A real number in a unit, as `numbers`."""
    array = numbers(value, what, unit, error)
    if array.ndim:
        raise error(f"{what} must be a number, got an array of shape {list(array.shape)}")
    return float(array)


def random_generator(seed: int | Sequence[int]) -> np.random.Generator:
    """NumPy's default generator of a seed. Raises `Error` for what is no seed."""
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise Error(f"seed must be a whole number from 0 on, or a list of these, not {short(seed)}") from None


def checked(function: Callable) -> Callable:
    """The function with its arguments held to their annotations; see the module's text."""
    signature = inspect.signature(function)
    hints: dict[str, object] = {}

    @functools.wraps(function)
    def call(*arguments, **keywords):
        if not hints:  # when it is first called: what annotations refer to may be defined after the function
            hints.update(typing.get_type_hints(function) or {"return": None})
        try:
            bound = signature.bind(*arguments, **keywords)
        except TypeError as problem:
            hint = _unknown_keyword(signature, keywords)
            raise ArgumentError(f"{function.__qualname__}: {hint or problem}") from None
        for name, value in bound.arguments.items():
            kind = signature.parameters[name].kind
            if name in hints and kind not in (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL):
                bound.arguments[name] = fitting(value, hints[name], f"{function.__qualname__}: {name}", name)
        return function(*bound.args, **bound.kwargs)

    return call


def _unknown_keyword(signature: inspect.Signature, keywords: dict) -> str | None:
    """The message for a keyword that a function does not have, with the nearest that it has."""
    known = [name for name, one in signature.parameters.items() if one.kind is not inspect.Parameter.VAR_KEYWORD]
    for name in keywords:
        if name not in known and len(known) == len(signature.parameters):
            near = difflib.get_close_matches(name, known, n=1)
            return f"there is no argument {name!r}" + (f"; did you mean {near[0]!r}?" if near else "")
    return None


def check_fields(record, error: type[Exception] | None = None) -> None:
    """Holds the fields of a dataclass to their annotations, as `checked` does arguments; from its `__post_init__`."""
    kind = type(record)
    for name, hint in _field_hints(kind).items():
        value = getattr(record, name)
        try:
            fits = fitting(value, hint, f"{kind.__name__}: {name}", name)
        except Error as problem:
            raise (error or type(problem))(str(problem)) from None
        if isinstance(fits, list | np.ndarray) and _takes_tuples_only(hint):
            fits = tuple(fits.tolist() if isinstance(fits, np.ndarray) else fits)  # what is compared and hashed
        if fits is not value:
            object.__setattr__(record, name, fits)


@functools.cache
def _field_hints(kind: type) -> dict[str, object]:
    hints = typing.get_type_hints(kind)
    return {name: hints[name] for name in kind.__dataclass_fields__ if name in hints}


def fitting(value, hint, what: str, name: str):
    """A value as an annotation has it, quantities as numbers. Raises `Error`, with `what`."""
    unit = unit_of_name(name)
    if unit is not None and _takes_numbers(hint) and not isinstance(value, str) and value is not None:
        if is_quantity(value) or (isinstance(value, list | tuple) and any(map(is_quantity, value))):
            array = numbers(value, what, unit)
            value = array if _takes_arrays(hint) else array.item() if array.ndim == 0 else tuple(array.tolist())
    elif is_quantity(value) and _takes_numbers(hint):
        raise Error(f"{what} takes no unit, but is in {value.unit}")
    if not _fits(value, hint):
        wanted = _text(hint) + (f" in {unit}" if unit and _takes_numbers(hint) else "")
        raise ArgumentError(f"{what} must be {wanted}, not {short(value)}")
    return value


_NUMBERS = (int, float, np.ndarray)


def _origin_and_parts(hint) -> tuple[object, tuple]:
    """Origin and arguments of an annotation. Behind a `type` alias, which NumPy's `NDArray` is from NumPy 2.5 and
    Python 3.12 on, those of what it stands for."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if hasattr(hint, "__value__") and origin is None:
        return _origin_and_parts(hint.__value__)
    if hasattr(origin, "__value__"):
        return _origin_and_parts(origin.__value__[parts])
    return origin, parts


def _takes_arrays(hint) -> bool:
    origin, parts = _origin_and_parts(hint)
    return origin is np.ndarray or any(map(_takes_arrays, parts))


def _takes_numbers(hint) -> bool:
    origin, parts = _origin_and_parts(hint)
    if hint in _NUMBERS or origin is np.ndarray:
        return True
    return any(_takes_numbers(one) for one in parts if one is not type(None))


def _takes_tuples_only(hint) -> bool:
    """Whether no other sequences are meant to be kept."""
    origin, parts = _origin_and_parts(hint)
    options = parts if origin in (typing.Union, types.UnionType) else (hint,)
    origins = [_origin_and_parts(one)[0] for one in options if one is not type(None)]
    return bool(origins) and all(one is tuple for one in origins)


def _fits(value, hint) -> bool:
    origin, parts = _origin_and_parts(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, part) for part in parts)
    if hint is typing.Any or hint is object or isinstance(hint, str):
        return True
    if hint is None or hint is type(None):
        return value is None
    if hint is bool:
        return isinstance(value, bool | np.bool_)
    if hint is int:
        return isinstance(value, Integral) and not isinstance(value, bool)
    if hint is float:
        return isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    if origin is typing.Literal:
        return value in parts
    if origin is Callable or hint is Callable:
        return callable(value)
    if origin is os.PathLike or hint is os.PathLike:
        return isinstance(value, os.PathLike)
    if origin is tuple:
        return _fits_tuple(value, parts)
    if origin in (Sequence, Iterable, list, set):
        if isinstance(value, str) or not isinstance(value, Iterable):
            return False
        return not parts or not hasattr(value, "__len__") or _has_elements_that_fit(value, parts[0])
    if origin in (dict, Mapping):
        return isinstance(value, Mapping)
    kind = origin or hint
    return not isinstance(kind, type) or isinstance(value, kind) or (kind is np.ndarray and _is_array_like(value))


def _has_elements_that_fit(value, hint) -> bool:
    try:
        len(value)
    except TypeError:  # of one direction, say, in an object that may also hold several
        return False
    return _all_fit(value, hint)


def _all_fit(values, hint) -> bool:
    """Whether each fits. If only their types matter, and there may be millions, each type is looked at once."""
    if isinstance(hint, type) and hint is not np.ndarray:
        values = {type(one): one for one in values}.values()
    return all(_fits(one, hint) for one in values)


def _fits_tuple(value, parts: tuple) -> bool:
    if isinstance(value, str) or not isinstance(value, Sequence | np.ndarray):
        return False
    if len(parts) == 2 and parts[1] is Ellipsis:
        return _all_fit(value, parts[0])
    return len(value) == len(parts) and all(_fits(one, part) for one, part in zip(value, parts, strict=True))


def _is_array_like(value) -> bool:
    try:
        as_array(value)
    except UnfitError:
        return False
    return True


_WORDS = {int: "an integer", float: "a number", bool: "True or False", str: "text", type(None): "None", None: "None"}


def _text(hint) -> str:
    """An annotation in words."""
    origin, parts = _origin_and_parts(hint)
    if hint in _WORDS:
        return _WORDS[hint]
    if origin in (typing.Union, types.UnionType):
        return " or ".join(dict.fromkeys(_text(part) for part in parts))
    if origin is typing.Literal:
        return " or ".join(map(repr, parts))
    if origin is Callable or hint is Callable:
        return "a function"
    if origin is os.PathLike or hint is os.PathLike:
        return "a path"
    if origin is tuple and not (len(parts) == 2 and parts[1] is Ellipsis):
        return f"{len(parts)} values ({', '.join(_text(part) for part in parts)})"
    if origin in (Sequence, Iterable, list, set, tuple):
        return "a sequence" + (f" (each {_text(parts[0])})" if parts else "")
    kind = origin or hint
    return "an array of numbers" if kind is np.ndarray else f"a {getattr(kind, '__name__', str(kind))}"
