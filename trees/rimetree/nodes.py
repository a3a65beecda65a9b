"""Node classes as Python functions, made from the registry: `rt.Add(a, b)`, `rt.PSV(lmn=..., uvw=...)`.

Each function takes children by position or by label and state fields by name, and returns a `NodeDef` to be bound to a
name (`ns.x << rt.Add(...)`) or used as a child. Numbers and arrays given as children become Constants. What a class
computes, its children and its state are in its docstring.
"""

from __future__ import annotations

import difflib
import inspect
import keyword
import sys
import textwrap

import numpy as np

from . import _core
from .evaluation.py_node import register
from .writing.definitions import NodeDef
from .writing.signatures import VALUE_FIRST, Signature, define
from .writing.state import STATE_TYPES

_functions: dict[str, object] = {}


def PyNode(  # noqa: N802
    *children,
    evaluate=None,
    pull_back=None,
    dims=(),
    depends_on=("domain",),
    mixes=("time", "freq", "l", "m"),
    version=None,
    masked=False,
) -> NodeDef:
    """A node whose mathematics is Python.

    `evaluate(cells, *children) -> array` is a function, or an object with a method of that name. It gets the request's
    `Cells` and one array per child, shaped [tensor dimensions..., time, freq], where axes along which a child does not
    vary have length 1, and returns an array of the same form with tensor dimensions `dims` (trailing axes may be left
    out, but not that of channels where there are as many times). `depends_on` says what else it depends on, of "domain"
    (the cells; the default), "data" and "iteration". It runs on the calling thread, with the interpreter held.

    It may use anything else that Python knows, such as attributes of its object, as long as that stays the same while a
    call of the forest (`evaluate`, `solve`, `run` ...) runs. The next call asks it anew, for it cannot be seen whether
    something has changed. With `version`, a number from 0 on, you promise that what it uses changes only where you say
    so by another version (`forest.set_state(node, version=2)`): results are then kept from call to call.

    `masked=True`: the arrays are masked arrays (`numpy.ma`), masked where children are flagged; where flags vary along
    an axis and values do not, they are given along it all the same. Returns it one, its mask are the flags of the
    result; a plain array is flagged where any child is, as without `masked`. So a function may flag, and take flags
    back.

    `mixes`: axes along which a cell of the result may depend on other cells of the children; all unless you say less.
    It decides how derivatives with respect to Parms with several solution tiles are formed: one for each tile. For a
    function of each cell by itself say `mixes=[]`, which takes fewer evaluations.

    Derivatives in forward mode are central differences of it. So are those in reverse mode (gradients), one for each
    tensor element of a child, unless there is `pull_back(cells, adjoint, *children)`, a function or a method of the
    same object. `adjoint` has the form of the result and holds dL/dRe + i dL/dIm, the derivatives of a real number L
    with respect to the result's real and imaginary parts; what is returned is the same for each child, an array or None
    (the result does not depend on it), as a sequence if there are several. It may be given on all cells, also where a
    child is shorter: then it is summed over them. Where the result is flagged the adjoint is zero.
    """
    if evaluate is None:
        raise TypeError("PyNode needs evaluate=, a function (cells, *children) -> array")
    number = register(evaluate, pull_back)
    if version is not None and (isinstance(version, bool) or not isinstance(version, int | np.integer) or version < 0):
        raise TypeError(f"PyNode: version must be a number from 0 on, not {version!r}")
    definition = _functions["PyNode"](
        *children,
        object=int(number),
        dims=dims,
        depends_on=depends_on,
        mixes=[mixes] if isinstance(mixes, str) else list(mixes),
        version=-1 if version is None else version,
        masked=masked,
    )
    definition.state["object"] = number  # with the functions, which the definition keeps
    return definition


_WRITTEN = {"PyNode": PyNode}


def refresh() -> dict[str, str]:
    """Make functions for node classes registered since the last call; which of all classes have none, and why."""
    left_out, taken = {}, {*globals(), *dir(sys.modules[__package__])} - {*_WRITTEN}
    for info in _core.node_classes():
        name = info["name"]
        if name in _functions:
            continue
        if problem := _problem_of(info, taken):
            left_out[name] = problem
            continue
        _functions[name] = _make_function(info)
        if name not in _WRITTEN:
            globals()[name] = _functions[name]
            __all__.append(name)
    return left_out


def _problem_of(info: dict, taken: set[str]) -> str:
    """Why no script could write a node class; empty if it can."""
    if not _is_word(info["name"]):
        return "its name is no word that Python takes"
    if info["name"] in taken:
        return "rimetree has something else of this name"
    words = [child["label"] for child in info["children"]] + [field["name"] for field in info["state"]]
    for i, word in enumerate(words):
        if not _is_word(word):
            return f"{word!r} is the name of a child or state field, but no word that Python takes"
        if word in words[:i] or word == "origin":
            return f"the name {word!r} of a child or state field is taken"
    return ""


def _is_word(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name)


def class_infos() -> list[dict]:
    """Everything the registered classes say of themselves, by name."""
    return _core.node_classes()


def choices_of(class_name: str, field: str) -> tuple[str, ...]:
    """All that a text among the state of a node class may be, as the class has them; empty where it may be any."""
    (info,) = (info for info in class_infos() if info["name"] == class_name)
    (found,) = (one["choices"] for one in info["state"] if one["name"] == field)
    return tuple(found)


def documentation(info: dict) -> str:
    """The docstring of a node class."""
    lines = [info["summary"], ""]
    if info["formula"]:
        lines += [f"    {info['formula']}", ""]
    if info["children"]:
        lines.append("Children")
        for child in info["children"]:
            marks = [child["shape"], child["unit"]]
            marks += ["optional"] * child["optional"] + ["any number"] * child["repeated"]
            lines += _entry(child["label"], marks, child["doc"])
        lines.append("")
    if info["state"]:
        lines.append("State")
        for field in info["state"]:
            default = "required" if field["required"] else f"default {default_text(field)}"
            lines += _entry(field["name"], [type_text(field), field["unit"], default], field["doc"])
        lines.append("")
    lines.append(f"Result: {info['result']}")
    if info["reference"]:
        lines += ["", info["reference"]]
    return "\n".join(lines)


def type_text(field: dict) -> str:
    """What a state field may be: "float, at least 0 and below 1", or its words."""
    if words := [repr(word) for word in field["choices"]]:
        return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]
    return ", ".join(filter(None, [STATE_TYPES[field["type"]], field["limits"]]))


def default_text(field: dict) -> str:
    """A state field's default as Python text."""
    return repr(_default(field))


def _default(field: dict):
    value = field["default"]
    return value if isinstance(value, bool | int | float | str | list) else np.asarray(value).tolist()


def _entry(name: str, marks: list[str], doc: str) -> list[str]:
    head = f"    {name} ({', '.join(mark for mark in marks if mark)})"
    return [head, *textwrap.wrap(doc, 100, initial_indent=" " * 8, subsequent_indent=" " * 8)]


def _make_function(info: dict):
    takes = Signature(info)

    def make(*children, **keywords) -> NodeDef:
        return define(takes, children, keywords)

    make.__name__ = make.__qualname__ = info["name"]
    make.__module__ = "rimetree"
    make.__doc__ = documentation(info)
    make.__signature__ = _signature(info)
    return make


def _signature(info: dict) -> inspect.Signature:
    kind = inspect.Parameter
    parameters = []
    fields = {field["name"]: field for field in info["state"]}
    if info["name"] in VALUE_FIRST:
        fields.pop("value")
        parameters.append(kind("value", kind.POSITIONAL_OR_KEYWORD))
    for child in info["children"]:
        if child["repeated"]:
            parameters.append(kind(child["label"], kind.VAR_POSITIONAL))
        else:
            default = None if child["optional"] else kind.empty
            parameters.append(kind(child["label"], kind.POSITIONAL_OR_KEYWORD, default=default))
    for field in fields.values():
        default = kind.empty if field["required"] else _default(field)
        parameters.append(kind(field["name"], kind.KEYWORD_ONLY, default=default))
    return inspect.Signature(parameters, return_annotation=NodeDef)


#: What is written here for classes of MeqTrees that have no namesake.
_OF_MEQTREES = {
    "Atan": "rt.Atan2(x, 1.0)",
    "AzEl": "rt.azimuth_elevation",
    "Compounder": "rt.Grid, and cells with axes l and m",
    "Cosh": "(rt.Exp(x) + rt.Exp(-x)) / 2",
    "FFTBrick": "rt.Sum over the axes l and m of an image times rt.VisPhaseShift",
    "Fabs": "abs(x)",
    "Functional": "the expression itself, as rt.Cos(a) * b + 2; it runs as one program",
    "Invert": "1 / x",
    "PSVTensor": "rt.PSV",
    "ParAngle": "rt.parallactic_angle",
    "Paster": "rt.Composer",
    "Random": "rt.GaussNoise",
    "RandomNoise": "rt.GaussNoise",
    "Sinh": "(rt.Exp(x) - rt.Exp(-x)) / 2",
    "StdDev": "rt.Sqrt(rt.Mean(rt.Sqr(x - rt.Mean(x))))",
    "Tanh": "1 - 2 / (rt.Exp(2 * x) + 1)",
    "WMean": "(w * a + ...) / (w + ...)",
    "WSum": "w * a + ...",
    **{f"Pow{n}": f"x**{n}" for n in range(2, 9)},
    **dict.fromkeys(("ReqMux", "ReqSeq"), "rt.Composer: Solvers below its children run first"),
    "WSRTCos3Beam": "rt.record, or a plugin such as that of examples/plugin",
}


def __getattr__(name: str):
    if name in _OF_MEQTREES:
        raise AttributeError(
            f"rimetree has no node class or function {name!r}; for what it is in MeqTrees write {_OF_MEQTREES[name]}",
            name=name,
        )
    similar = difflib.get_close_matches(name, _functions, n=3)
    hint = f"; did you mean {', '.join(similar)}?" if similar else ""
    raise AttributeError(f"rimetree has no node class or function {name!r}{hint}", name=name)


__all__: list[str] = ["PyNode"]
