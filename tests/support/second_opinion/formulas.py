"""Opinions on classes that no other file speaks of: functions of one number whose formula NumPy can evaluate."""

from __future__ import annotations

import ast
import operator
import re
from typing import NamedTuple

import numpy as np

from rimetree.nodes import class_infos

from .registry import OPINIONS, Call
from .values import RefusedError, Value, moved

FUNCTIONS = {name: getattr(np, name) for name in ("exp", "log10", "log2", "sqrt", "cbrt", "sin", "cos", "tan")}
FUNCTIONS |= {name: getattr(np, name) for name in ("sinh", "cosh", "tanh")}
FUNCTIONS |= {"ln": np.log, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan}
CONSTANTS = {"pi": np.pi}
OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
}


def parsed(formula: str, label: str) -> ast.expr | None:
    """A formula such as "sin x" or "(exp(x) - exp(-x)) / 2"; None if there is something else in it."""
    text = re.sub(rf"\b({'|'.join(FUNCTIONS)}) ({label})\b", r"\1(\2)", formula).replace("^", "**")
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError:
        return None
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    known = (ast.BinOp, ast.UnaryOp, ast.Call, ast.Name, ast.Constant, ast.operator, ast.unaryop, ast.expr_context)
    kinds_known = all(isinstance(node, known) for node in ast.walk(tree))
    return tree if kinds_known and label in names and names <= {label, *FUNCTIONS, *CONSTANTS} else None


def evaluated(tree: ast.expr, x: np.ndarray, rng=None) -> np.ndarray:
    """Each operation rounds by itself, unless there are no random numbers for that."""
    if isinstance(tree, ast.Constant):
        return np.asarray(float(tree.value))
    if isinstance(tree, ast.Name):
        return np.asarray(CONSTANTS[tree.id]) if tree.id in CONSTANTS else x
    if isinstance(tree, ast.Call):
        y = FUNCTIONS[tree.func.id](evaluated(tree.args[0], x, rng))
    elif isinstance(tree, ast.UnaryOp):
        return OPERATORS[type(tree.op)](evaluated(tree.operand, x, rng))
    else:
        y = OPERATORS[type(tree.op)](evaluated(tree.left, x, rng), evaluated(tree.right, x, rng))
    return y if rng is None or np.ndim(y) == 0 else moved(y, np.abs(y), rng)


class Formula(NamedTuple):
    tree: ast.expr
    label: str  # of the child
    takes_complex: bool

    def is_defined(self, x: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return np.isfinite(evaluated(self.tree, x))


def functions_of_one() -> dict[str, Formula]:
    """By class. Those that others speak of are left out."""
    found = {}
    for info in class_infos():
        if info["name"] in OPINIONS or info["state"] or len(info["children"]) != 1:
            continue
        child = info["children"][0]
        tree = parsed(info["formula"], child["label"])
        if tree is not None and child["shape"] == "scalar or tensor" and not child["repeated"]:
            found[info["name"]] = Formula(tree, child["label"], "complex" in info["result"])
    return found


FORMULAS = functions_of_one()


def function_of_one(call: Call) -> Value:
    formula = FORMULAS[call.class_name]
    (child,) = call.children
    if child.is_complex and not formula.takes_complex:
        raise RefusedError(f"{call.class_name} of complex numbers")
    return call.result(evaluated(formula.tree, child.x, call.rng), by_element=True)


OPINIONS.update(dict.fromkeys(FORMULAS, function_of_one))
