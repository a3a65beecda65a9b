"""Children and state fields of every node class, given wrong: of another type, unit, shape or out of range. The message
names the field, the node and the line."""

import astropy.units as u
import numpy as np
import pytest

import rimetree as rt


def errors_of(definition) -> str:
    """What is said of a definition, when it is bound or when a forest is made of it."""
    ns = rt.NodeScope()
    try:
        ns.x << definition
        rt.Forest(ns)
    except (TypeError, rt.Error) as problem:
        return str(problem)
    return ""


def test_children_and_state_fields_of_every_class_are_named():
    silent = []
    for info in rt.nodes.class_infos():
        make = getattr(rt, info["name"])
        if info["name"] == "PyNode":
            continue
        for field in info["state"]:
            for wrong in (object(), 3 * u.K, np.ma.masked_all(2)):
                if info["name"] == "Constant" and isinstance(wrong, np.ma.MaskedArray):
                    continue  # it is flagged
                said = errors_of(make(**{field["name"]: wrong}))
                if f"'{field['name']}'" not in said or "node 'x'" not in said or __file__ not in said:
                    silent.append(f"{info['name']}({field['name']}={wrong}): {said}")
        for position, child in enumerate(info["children"]):
            for wrong in (object(), 3 * u.K):
                given = {child["label"]: wrong}
                said = errors_of(make(*[None] * position, wrong) if child["repeated"] else make(**given))
                if (f"'{child['label']}'" not in said and "as a child" not in said) or "node 'x'" not in said:
                    silent.append(f"{info['name']}({child['label']}={wrong}): {said}")
        said = errors_of(make(colour="red"))
        if "'colour'" not in said:
            silent.append(f"{info['name']}(colour): {said}")
    assert not silent


#: Children that a class of a certain shape takes, by the shape that it declares.
RIGHT_CHILDREN = {"[3]": [0.0, 0.0, 1.0], "[2]": [0.0, 0.0], "[4]": [1.0, 0.0, 0.0, 0.0], "[K]": [0.0]}
RIGHT_CHILDREN |= {"[S,3]": [[0.0, 0.0, 1.0]], "[S,2,2]": [np.eye(2)], "[S]": [1.0], "[2,2]": np.eye(2), "[2,3]": 1.0}
RIGHT_CHILDREN |= {"[3,3]": np.eye(3), "[element,3]": np.zeros((1, 3)), "[j,k]": np.eye(2)}
REQUIRED_STATE = {
    "Channelise": {"n_channel": 1},
    "Constant": {"value": 1.0},
    "Correlate": {"integration": 1},
    "Correlation": {"station_1_index": 0, "station_2_index": 1},
    "DishBeam": {"ref_freq_hz": 1e9},
    "Parm": {"value": 1.0},
    "Selector": {"index": 0},
    "Grid": {"axis": "time"},
    "Sink": {"station_1_index": 0, "station_2_index": 1},
    "Spigot": {"station_1_index": 0, "station_2_index": 1},
}


#: Classes that take other tensors as well: matrices in stacks of any dimensions, whatever a Solver is below.
TAKE_MORE = ("ConjTranspose", "Transpose", "VisDataMux", "PyNode")


def test_children_of_another_shape_are_named():
    """Those whose class declares a shape, and not any tensor."""
    silent = []
    for info in rt.nodes.class_infos():
        children = [child for child in info["children"] if not child["optional"]]
        for wrong in info["children"]:
            if not wrong["shape"].startswith("[") or info["name"] in TAKE_MORE:
                continue
            given = {
                child["label"]: RIGHT_CHILDREN.get(child["shape"].split(" ")[0].rstrip(","), 1.0)
                for child in children
                if not child["repeated"]
            }
            more = [np.ones((7, 5, 3, 2))] * 2 if wrong["repeated"] else []
            if not more:
                given[wrong["label"]] = np.ones((7, 5, 3, 2))
            make = getattr(rt, info["name"])
            state = REQUIRED_STATE.get(info["name"], {})
            if more:
                left_out = [None for child in info["children"] if child["optional"] and not child["repeated"]]
                said = errors_of(make(*given.values(), *left_out, *more, **state))
            else:
                said = errors_of(make(**given, **state))
            if wrong["label"] not in said or "[7,5,3,2]" not in said:
                silent.append(f"{info['name']}({wrong['label']}): {said}")
    assert not silent


#: Fields that take all integers of 64 bits, or that other numbers bound.
WIDE = {("GaussNoise", "seed"), ("DeviceMemory", "budget_bytes"), ("Solver", "iterations")}
WIDE |= {("Voltages", "n_channel"), ("Voltages", "n_input")}
WIDE |= {("Correlate", name) for name in ("integration", "gate_length", "gate_offset")}
ANYTHING = {"integer": 1, "real": 1.0, "text": "int8", "array": 1.0, "text_list": ["file"]}


def test_numbers_out_of_range_are_named():
    wrong = {"integer": [2**40, -(2**62), 2**70], "real": [float("nan"), float("inf"), -float("inf"), 1e400, 10**400]}
    silent = []
    for info in rt.nodes.class_infos():
        for field in info["state"]:
            for value in wrong.get(field["type"], []):
                if info["name"] == "PyNode" or ((info["name"], field["name"]) in WIDE and value == 2**40):
                    continue
                if (info["name"], field["name"]) == ("GaussNoise", "seed") and value == -(2**62):
                    continue
                required = {one["name"]: ANYTHING[one["type"]] for one in info["state"] if one["required"]}
                state = {**required, field["name"]: value}
                if field["name"] not in errors_of(getattr(rt, info["name"])(**state)):
                    silent.append(f"{info['name']}({field['name']}={value})")
    assert not silent


@pytest.mark.parametrize(
    "name, state",
    [
        ("Spigot", {"station_1_index": -1, "station_2_index": 0}),
        ("Max", {"tensor_axis": 4}),
        ("MergeFlags", {"flag_mask": 2**31}),
        ("Constant", {"value": 1.0, "cells_rank": 1}),
        ("Parm", {"value": 1.0, "minimum": np.inf}),
        ("Parm", {"value": 1.0, "prior_mean": np.inf, "prior_sigma": 1.0}),
        ("Parm", {"value": 1.0, "time_edges_s": [1.0, 0.0]}),
        ("GaussNoise", {"stddev": -1.0}),
        ("GaussNoise", {"dims": [0.5]}),
        ("Solver", {"iterations": -1}),
    ],
)
def test_values_that_no_node_can_have_are_refused(name, state):
    said = errors_of(getattr(rt, name)(**state))
    assert any(field in said for field in state), said


def test_python_written_nodes_name_their_arguments():
    for name, wrong in (("evaluate", 3), ("pull_back", 3), ("dims", object()), ("depends_on", 3), ("dims", [1.5])):
        arguments = {"evaluate": lambda cells: 1.0, name: wrong}
        try:
            said = errors_of(rt.PyNode(**arguments))
        except TypeError as problem:
            said = str(problem)
        assert name in said, (name, said)
