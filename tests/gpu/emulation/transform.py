"""Turns the project's CUDA sources into C++ for the emulated device.

Usage: transform.py PROJECT FOLDER

Writes what must be changed to FOLDER, by the paths that it has in the project, and prints the sources of the plugin
for GPUs, one a line, the changed ones by their new paths. Which sources there are is read from CMakeLists.txt. What is
not understood is an error: that a source has changed must not mean that less of it is tested.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

# Matrix instructions and conversions by their text, and functions of matrix_units.h with operands in the same order.
INSTRUCTIONS = {
    "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};": "mma_m8n8k4",
    "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};":
        "mma_m16n8k4",
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
    "{%0, %1, %2, %3};": "mma_m16n8k8",
    "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
    "{%0, %1, %2, %3};": "mma_m16n8k32",
    "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};": "mma_m8n8k16",
    "cvt.rna.tf32.f32 %0, %1;": "cvt_rna_tf32",
}  # fmt: skip
LAUNCH = re.compile(r"([A-Za-z_]\w*(?:<[^<>;()]*>)?)\s*<<<(.*?)>>>\(", re.DOTALL)
LAUNCHERS = re.compile(r'#include "runtime/(?:cell/cuda_reductions|device/cuda_(?:cells|blocks))\.h"')
DYNAMIC_SHARED = re.compile(r"extern __shared__ (?:__align__\(\d+\) )?unsigned char (\w+)\[\];")
STATIC_SHARED = re.compile(r"(?<!extern )__shared__ ([^;]*?\b(\w+)(?:\[[^\];]*\])*);")
ASSEMBLY = re.compile(r'\basm(?:\s+volatile)?\s*\(\s*((?:"[^"\\]*"\s*)+):')
# What of CUDA's language kernel_language.h has.
KNOWN = {
    "__CUDA_ARCH__", "__device__", "__global__", "__grid_constant__", "__host__", "__launch_bounds__",
    "__syncthreads", "__uint_as_float",
}  # fmt: skip
EMULATION = "::rimetree::emulation::"


class NotUnderstoodError(Exception):
    """A source has something that the emulation does not know."""


def closing(text: str, start: int) -> int:
    """Where the parenthesis that opens at `start` is closed."""
    depth = 0
    for at in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return at
    raise NotUnderstoodError("a parenthesis is not closed")


def operands(text: str) -> Iterator[str]:
    """The expressions in `"+d"(a), "+d"(b) : "d"(c)`."""
    while found := re.match(r'[\s,:]*"[+=]?\w"\s*\(', text):
        end = closing(text, found.end() - 1)
        yield text[found.end() : end]
        text = text[end + 1 :]
    if text.strip():
        raise NotUnderstoodError(f"operands: {text.strip()}")


def without_assembly(text: str) -> str:
    """Calls of functions instead of instructions."""
    while found := ASSEMBLY.search(text):
        instruction = "".join(re.findall(r'"([^"]*)"', found[1]))
        if instruction not in INSTRUCTIONS:
            raise NotUnderstoodError(f"instruction: {instruction}")
        end = closing(text, text.index("(", found.start()))
        values = list(operands(text[found.end() : end]))
        numbered = {int(n) for n in re.findall(r"%(\d)", instruction)}
        if len(values) != len(numbered):
            raise NotUnderstoodError(f"{len(values)} operands of {instruction}")
        call = f"{EMULATION}{INSTRUCTIONS[instruction]}({', '.join(values)})"
        lines = "\n" * (text.count("\n", found.start(), end) - call.count("\n"))
        text = text[: found.start()] + call + lines + text[end + 1 :]
    return text


def transformed(text: str) -> str:
    """A source as C++, every line where it was."""
    text = LAUNCH.sub(rf"{EMULATION}launch(\1, {EMULATION}LaunchShape{{\2}}, ", text)
    text = DYNAMIC_SHARED.sub(rf"auto* \1 = {EMULATION}dynamic_shared();", text)
    text = STATIC_SHARED.sub(rf"static \1; {EMULATION}share(&\2, sizeof(\2));", text)
    text = without_assembly(text)
    code = re.sub(r"//[^\n]*", "", text)
    left = set(re.findall(r"<<<|>>>|\basm\b|\b__[a-z]\w*", code)) - KNOWN
    left |= set(re.findall(r"\b(?:atomic[A-Z]\w*|cooperative_groups|nvcuda)\b", code))
    if left:
        raise NotUnderstoodError(", ".join(sorted(left)))
    return text


def one(pattern: str, text: str) -> str:
    """The group of a pattern that CMakeLists.txt must have exactly once."""
    found = re.findall(pattern, text)
    if len(found) != 1:
        raise NotUnderstoodError(f"CMakeLists.txt has {pattern} {len(found)} times")
    return found[0]


def plugin_sources(project: Path) -> tuple[list[Path], str]:
    """The sources of the plugin, relative to the project, and the text of the one that its build makes of nodes."""
    rules = (project / "CMakeLists.txt").read_text(encoding="utf-8")
    globs = one(r"file\(GLOB cuda_sources CONFIGURE_DEPENDS ([^)]*)\)", rules).split()
    sources = [path.relative_to(project) for glob in globs for path in sorted(project.glob(glob))]
    heading = one(r'set\(cuda_nodes "((?:[^"\\]|\\.)*)"\)', rules).replace('\\"', '"').replace("\\n", "\n")
    bodies = one(r"file\(GLOB cuda_bodies RELATIVE \S+ CONFIGURE_DEPENDS ([^)]*)\)", rules)
    includes = [f'#include "{path.relative_to(project)}"\n' for path in sorted(project.glob(bodies))]
    if not sources or not includes:
        raise NotUnderstoodError(f"no files are {globs} or {bodies}")
    return sources, heading + "".join(includes)


def device_headers(project: Path) -> list[Path]:
    """Headers that are written in CUDA's language themselves."""
    headers = [path for folder in ("memory", "runtime", "nodes") for path in sorted((project / folder).rglob("*.*h"))]
    cuda = re.compile(r"__global__|mma\.sync|<<<")
    return [path.relative_to(project) for path in headers if cuda.search(path.read_text(encoding="utf-8"))]


def write(path: Path, text: str) -> None:
    """Leaves files alone that would not change, so that they are not compiled again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def main(project: Path, folder: Path) -> None:
    """Transforms everything."""
    sources, nodes = plugin_sources(project)
    kernels = [path for path in sources if path.suffix == ".cu"]
    for path in kernels + device_headers(project):
        text = (project / path).read_text(encoding="utf-8")
        try:
            new = transformed(text)
            # Launches of programs of nodes, and of kernels by blocks, are in these headers.
            if new == text and not LAUNCHERS.search(text):
                raise NotUnderstoodError("no launch, shared memory or instruction is found in it")
        except NotUnderstoodError as unknown:
            raise NotUnderstoodError(f"{path}: {unknown}") from None
        write(folder / path, f'#line 1 "{project / path}"\n{new}')
    write(folder / "cuda_nodes.cu", nodes)
    print(*(folder / path for path in kernels), folder / "cuda_nodes.cu", sep="\n")
    print(*(project / path for path in sources if path.suffix != ".cu"), sep="\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
    except NotUnderstoodError as error:
        sys.exit(f"error: the emulation does not know {error}; see tests/gpu/emulation/transform.py")
