"""Who may include whom: memory <- runtime <- nodes, and each outside library behind one wall."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("memory", "runtime", "nodes")
SOURCES = sorted(p for folder in FOLDERS for p in (ROOT / folder).rglob("*") if p.suffix in {".h", ".cc", ".cu"})
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)

# Which folders of the project a folder may include, besides itself.
CORE = {"memory", "runtime/math", "runtime/core"}
EVALUATION = CORE | {"runtime/device", "runtime/program", "runtime/cell", "runtime/rewrite", "runtime/evaluate"}
MAY_INCLUDE = {
    "memory": set(),
    "runtime/math": set(),
    "runtime/core": CORE,
    "runtime/device": CORE | {"runtime/program"},
    "runtime/program": {"runtime/math", "runtime/core"},
    "runtime/cell": CORE | {"runtime/device", "runtime/program"},
    "runtime/rewrite": CORE,
    "runtime/evaluate": EVALUATION,
    "runtime/fit": set(),  # pure mathematics
    "runtime/solve": EVALUATION | {"runtime/fit"},
    "runtime/ms": EVALUATION | {"runtime/fit"},
    "runtime/python": EVALUATION | {"runtime/fit", "runtime/solve", "runtime/ms"},
    "nodes": EVALUATION | {"runtime/solve"},
    "nodes/": EVALUATION,  # the folder of a node with several files, e.g. nodes/psv
}
# Headers that stand alone: they may be included wherever Highway may.
FOR_HIGHWAY = {"runtime/math/simd_targets.h"}
# Rooms of a folder, and which others each may include. Of nodes/psv: methods know nothing of each other. The files
# beside the rooms say what a sum is over (rooms include these), or put the node together (those include rooms).
ROOMS = {
    "runtime/core": {
        "threads": set(),
        "cells": set(),
        "values": {"cells"},
        "classes": {"cells", "values"},
        "node": {"threads", "cells", "values", "classes"},
        "forest": {"classes", "node"},
    },
    "runtime/solve": {
        "problem": set(),
        "sums": {"problem"},
        "equations": {"problem", "sums"},
        "jones": {"problem", "sums", "equations"},
    },
    "nodes/psv": {
        "direct": set(),
        "fourier": set(),
        "delay": {"fourier"},
        "uv_grid": {"fourier"},
        "general": set(),
        "pipeline": set(),
        "matrix": {"pipeline"},
        "adjoint": {"direct", "pipeline", "matrix", "uv_grid"},
        "device": {"pipeline", "adjoint"},
        "planner": {"direct", "fourier", "delay", "uv_grid", "pipeline", "matrix", "adjoint", "device"},
    },
    "runtime/ms": {
        "tables": set(),
        "set": {"tables"},
        "tiles": {"tables", "set"},
        "runs": {"tables", "set", "tiles"},
        "inspect": {"tables", "set"},
    },
}
# Headers of other libraries, and the only folders that may include them.
WALLS = {
    r"casacore/": {"runtime/ms"},
    r"Python\.h|numpy/|pybind11/|nanobind/": {"runtime/python"},
    r"boost/": {"runtime/core", "runtime/device", "runtime/ms", "nodes/psv"},
    r"hwy/": {
        "runtime/math",
        "runtime/program",
        "runtime/fit",
        "runtime/solve",
        "runtime/python",
        "nodes/psv",
        "nodes/correlator",
    },
    r"fftw3": {"nodes/psv", "nodes/correlator"},
    r"Eigen/": {"runtime/fit"},
    r"erfa\.h": {"nodes"},
    r"cufft": {"nodes/correlator"},
    r"nvrtc": {"runtime/device"},
    r"cuda": {"memory"},  # and there, as a test below says, files named cuda_* only
}
NOT_FOR_THE_DEVICE = re.compile(r"casacore/|boost/|Python\.h|numpy/")


def folder_of(path: str) -> str:
    """The folder that the rules speak of: "runtime/ms", "nodes/psv", or a top folder."""
    parts = path.split("/")
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


def violations(path: str, text: str) -> list[str]:
    """What a file of the project includes but may not."""
    here = folder_of(path)
    allowed = MAY_INCLUDE["nodes/" if here.startswith("nodes/") else here] | {here}
    found = []
    for header in INCLUDE.findall(text):
        if path == "nodes/plugin.cc" and header.startswith("nodes/"):
            continue  # no node: it says of all nodes what they run on
        if header in FOR_HIGHWAY and here in WALLS[r"hwy/"]:
            continue
        if "/" in header and header.split("/")[0] in (*FOLDERS, "tests", "trees", "examples"):  # <memory> is of C++
            if folder_of(header) not in allowed or (here == "nodes" and header.startswith("nodes/")):
                found.append(f"{path} includes {header}: {here} may include {', '.join(sorted(allowed)) or 'nothing'}")
            continue
        for library, walls in WALLS.items():
            if re.match(library, header) and here not in walls:
                found.append(f"{path} includes {header}: only {', '.join(walls)} may")
        if path.endswith(".cu") and NOT_FOR_THE_DEVICE.match(header):
            found.append(f"{path} includes {header}: device compilers do not take it")
    return found


def room_of(path: str, folder: str) -> str | None:
    """The room of a folder that a file is in; "" beside the rooms, None elsewhere."""
    if not path.startswith(folder + "/"):
        return None
    parts = path.split("/")
    return parts[2] if len(parts) > 3 else ""


def room_violations(path: str, text: str) -> list[str]:
    """What a file of a room includes of other rooms of its folder but may not."""
    folder = folder_of(path)
    here = room_of(path, folder) if folder in ROOMS else None
    if not here:
        return []
    allowed = ROOMS[folder][here] | {here}
    found = []
    for header in INCLUDE.findall(text):
        room = room_of(header, folder)
        if room and room not in allowed:
            found.append(f"{path} includes {header}: {here}/ may include {', '.join(sorted(allowed))}")
        if room == "" and any(room_of(h, folder) for h in INCLUDE.findall((ROOT / header).read_text(encoding="utf-8"))):
            found.append(f"{path} includes {header}, which puts rooms together")
    return found


def test_there_is_something_to_check():
    assert {folder_of(str(p.relative_to(ROOT))) for p in SOURCES} <= set(MAY_INCLUDE) | {
        "nodes/psv",
        "nodes/correlator",
    }
    assert len(SOURCES) > 50
    for folder, rooms in ROOMS.items():
        found = {room_of(str(p.relative_to(ROOT)), folder) for p in SOURCES}
        assert found - {""} == set(rooms) | {None}


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_includes_follow_the_arrows(path):
    name, text = str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
    assert not violations(name, text) + room_violations(name, text)


def test_only_files_for_gpus_need_a_cuda_toolkit():
    needing = {
        str(p.relative_to(ROOT))
        for p in SOURCES
        if p.suffix in {".h", ".cc"} or "cuda" in p.name
        if re.search(r"#include [<\"](?:cuda|memory/cuda_)|<<<", p.read_text(encoding="utf-8"))
    }
    assert needing
    assert not [path for path in needing if not path.rsplit("/", 1)[1].startswith("cuda_")]


def test_project_headers_are_found_from_the_root():
    relative = [
        f"{p.relative_to(ROOT)} includes {header}"
        for p in SOURCES
        for header in re.findall(r'#include "([^"]+)"', p.read_text(encoding="utf-8"))
        if not header.startswith("hwy/") and not (ROOT / header).is_file()
    ]
    assert not relative


@pytest.mark.parametrize(
    "path, header",
    [
        ("memory/pool.cc", "runtime/core/error.h"),
        ("runtime/evaluate/plan.cc", "nodes/psv/kernel.h"),
        ("runtime/evaluate/plan.cc", "runtime/ms/runs/run.h"),
        ("runtime/evaluate/plan.cc", "runtime/python/array.h"),
        ("runtime/evaluate/plan.cc", "runtime/solve/solve.h"),
        ("runtime/fit/covariance.cc", "runtime/core/error.h"),
        ("runtime/solve/solve.cc", "Eigen/Core"),
        ("runtime/math/complex.h", "runtime/core/error.h"),
        ("runtime/math/complex.h", "memory/device.h"),
        ("runtime/ms/runs/run.cc", "runtime/python/array.h"),
        ("runtime/python/module.cc", "nodes/psv/kernel.h"),
        ("nodes/add.cu", "nodes/sum.h"),
        ("nodes/add.cu", "nodes/psv/kernel.h"),
        ("nodes/psv/psv.cc", "nodes/correlator/kernel.h"),
        ("nodes/psv/psv.cc", "nodes/add.h"),
        ("nodes/spigot.cc", "runtime/ms/runs/run.h"),
        ("nodes/spigot.cc", "casacore/ms/MeasurementSets.h"),
        ("nodes/psv/planner/device_solve.cc", "cuda_runtime.h"),
        ("nodes/add.cu", "boost/dll.hpp"),
        ("runtime/evaluate/evaluator.cc", "Python.h"),
        ("runtime/evaluate/plan.cc", "tests/support/test_nodes.h"),
    ],
)
def test_a_wrong_include_is_noticed(path, header):
    assert violations(path, f"// comment\n#include <vector>\n#  include <{header}>\n")


@pytest.mark.parametrize(
    "path, header",
    [
        ("runtime/core/classes/registry.cc", "boost/dll/shared_library.hpp"),
        ("runtime/ms/runs/run.cc", "casacore/tables/Tables.h"),
        ("nodes/psv/psv.cc", "nodes/psv/kernel.h"),
        ("memory/cuda_device.h", "cuda_runtime_api.h"),
        ("nodes/add.cu", "runtime/math/complex.h"),
        ("runtime/core/values/vells.h", "memory/pool.h"),
    ],
)
def test_a_right_include_passes(path, header):
    assert not violations(path, f'#include "{header}"\n')


@pytest.mark.parametrize(
    "path, header, above",
    [
        *(
            (path, header, "nodes/psv/planner/device_solve.cc")
            for path, header in [
                ("nodes/psv/device/direct.h", "nodes/psv/matrix/shape.h"),
                ("nodes/psv/matrix/plan.h", "nodes/psv/device/direct_job.h"),
                ("nodes/psv/matrix/plan.h", "nodes/psv/delay/delay.h"),
                ("nodes/psv/pipeline/device_sky.h", "nodes/psv/matrix/matrix_job.h"),
                ("nodes/psv/matrix/plan.h", "nodes/psv/planner/device_solve.h"),
            ]
        ),
        ("runtime/core/classes/state.h", "runtime/core/node/node.h", "runtime/core/forest/forest.cc"),
        ("runtime/solve/equations/assembly.h", "runtime/solve/jones/jones_sums.h", "runtime/solve/solve.cc"),
        ("runtime/ms/tables/casacore_create.h", "runtime/ms/set/create.h", "runtime/ms/runs/run.cc"),
        ("runtime/ms/tiles/tile_reader.cc", "runtime/ms/runs/run.h", "runtime/ms/runs/solve_tiles.cc"),
        ("runtime/ms/inspect/inspect.cc", "runtime/ms/tiles/tile_reader.h", "runtime/ms/runs/run.cc"),
    ],
)
def test_rooms_know_nothing_of_those_above_or_beside(path, header, above):
    assert room_violations(path, f'#include "{header}"\n')
    assert not room_violations(above, f'#include "{header}"\n')
