"""Opinions on classes that work on each element by itself: functions of one, two or any number of children."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .registry import Call, opinion
from .values import RefusedError, Value, lifted


def together(call: Call) -> list[np.ndarray]:
    """The children's arrays, scalars lifted to the dimensions of the tensors, which must be equal."""
    tensors = {child.dims for child in call.children if child.dims}
    if len(tensors) > 1:
        raise RefusedError(f"tensors of dimensions {sorted(tensors)}")
    dims = tensors.pop() if tensors else ()
    return [lifted(child.x, 1, dims) for child in call.children]


def real_only(call: Call) -> None:
    if any(child.is_complex for child in call.children):
        raise RefusedError(f"{call.class_name} of complex numbers")


KEEP_ZERO = {"Add", "Subtract", "Negate", "Conj"}


def mapped(call: Call, x: np.ndarray, scale=None) -> Value:
    value = call.result(x, scale, by_element=True)
    if call.class_name in KEEP_ZERO:
        value.zeros = ~np.any([np.broadcast_to(child.has, value.dims) for child in call.children], axis=0)
    return value


FUNCTIONS = {
    "Abs": np.abs,
    "Conj": np.conj,
    "Imag": lambda x: np.array(np.imag(x)),
    "Real": lambda x: np.array(np.real(x)),
}


@opinion(*FUNCTIONS)
def function_of_one(call: Call) -> Value:
    (x,) = together(call)
    y = FUNCTIONS[call.class_name](x)
    # Parts of a complex number are as exact as the whole.
    return mapped(call, y, np.abs(x) if call.class_name in ("Real", "Imag") and np.iscomplexobj(x) else None)


@opinion("Arg")
def arg(call: Call) -> Value:
    (x,) = together(call)
    value = mapped(call, np.angle(x))
    value.doubt = value.doubt | np.any(x == 0, axis=0)  # by the sign of zero, which is nobody's business
    return value


@opinion("Log")
def log(call: Call) -> Value:
    (x,) = together(call)
    # ln|z| of a complex number near the unit circle is exact to rounding of 1.
    return mapped(call, np.log(x), 1 + np.abs(np.log(x)) if np.iscomplexobj(x) else None)


@opinion("Tan")
def tan(call: Call) -> Value:
    (x,) = together(call)
    y = np.tan(x)
    value = mapped(call, y, np.abs(y) + np.abs(y) ** 2 if np.iscomplexobj(x) else None)
    # As a quotient of sine and cosine, both of which overflow far from the real axis.
    value.doubt = value.doubt | np.any(np.abs(np.imag(x)) > 350, axis=0)
    return value


@opinion("Acos", "Asin")
def inverse(call: Call) -> Value:
    real_only(call)
    (x,) = together(call)
    return mapped(call, {"Acos": np.arccos, "Asin": np.arcsin}[call.class_name](x))


@opinion("Atan2")
def atan2(call: Call) -> Value:
    real_only(call)
    y, x = together(call)
    return mapped(call, np.arctan2(y, x))


@opinion("ToComplex")
def to_complex(call: Call) -> Value:
    real_only(call)
    re, im = together(call)
    both = np.empty(np.broadcast_shapes(re.shape, im.shape), complex)
    both.real, both.imag = re, im
    return mapped(call, both, 0.0)


@opinion("Polar")
def polar(call: Call) -> Value:
    real_only(call)
    ampl, phase = together(call)
    return mapped(call, ampl * (np.cos(phase) + 1j * np.sin(phase)))


@opinion("Add")
def add(call: Call) -> Value:
    together(call)
    # Terms without data are left out.
    there = [child for child in call.children if not child.missing] or call.children
    missing = there[0].missing
    dims = max((child.dims for child in call.children), key=len)
    call = replace(call, children=there, labels=["term"] * len(there))
    terms = [lifted(child.x, 1, dims) for child in there]
    total = sum(terms[1:], terms[0])
    total = np.broadcast_to(total, (*total.shape[:1], *dims, *total.shape[-4:]))
    value = mapped(call, total, sum(np.abs(term) for term in terms))
    value.missing = missing
    return value


@opinion("Subtract")
def subtract(call: Call) -> Value:
    a, b = together(call)
    return mapped(call, a - b)


@opinion("Multiply")
def multiply(call: Call) -> Value:
    product = together(call)[0]
    for factor in together(call)[1:]:
        product = product * factor
    value = mapped(call, product, len(call.children) * np.abs(product))
    for child in call.children:
        value.zeros = ~(value.has & (child.has if child.dims else np.full(value.dims, child.has)))
    return value


@opinion("Divide")
def divide(call: Call) -> Value:
    a, b = together(call)
    return mapped(call, a / b)


@opinion("Pow")
def power(call: Call) -> Value:
    a, b = together(call)
    y = np.power(a, b)
    if not np.iscomplexobj(y):
        return mapped(call, y)
    # As exp(b ln a): what ln rounds by is multiplied by b.
    value = mapped(call, y, np.abs(y) * (1 + np.abs(b) + np.abs(b * np.log(np.abs(a) + (a == 0)))))
    value.doubt = value.doubt | np.any(a == 0, axis=0)  # powers of a complex zero: by convention
    return value
