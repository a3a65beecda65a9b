#!/usr/bin/env bash
# Copies what tests/gpu/check.sh runs from a build folder into one that works on any machine with a GPU: test programs,
# benchmark, plugins, and the libraries they need but the C library's own.
#
#   cmake -B build/gpu -DCMAKE_BUILD_TYPE=Release -DRIMETREE_TESTS=ON -DRIMETREE_BENCHMARKS=ON -DRIMETREE_PYTHON=OFF \
#         -DRIMETREE_MS=OFF -DRIMETREE_CUDA_ARCHITECTURES=90-real -DCMAKE_BUILD_RPATH='$ORIGIN' &&
#     cmake --build build/gpu --parallel
#   tests/gpu/pack.sh build/gpu gpu-check
#   gpu-check/check.sh results          # there
#
# With a virtual environment into which scripts/install.sh has installed RimeTree, and the version of Python there, the
# tests of trees go along, with all packages that they need:
#
#   tests/gpu/pack.sh build/gpu gpu-check .venv 3.12
set -euo pipefail

if (($# != 2 && $# != 4)); then
  sed -n '2,15s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
BUILD=$1 FOLDER=$2 ENVIRONMENT=${3:-} PYTHON_VERSION=${4:-}
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
PROGRAMS=(tests/{memory,runtime,runtime_solve,nodes,nodes_psv_device,nodes_correlator_device}_tests)

mkdir -p "$FOLDER/compiler"
for file in "${PROGRAMS[@]}" librimetree_nodes.so librimetree_nodes_cuda.so; do
  [[ -f $BUILD/$file ]] || { echo "error: $BUILD/$file is missing; build it first" >&2; exit 1; }
  cp "$BUILD/$file" "$FOLDER/"
done
benchmark=$(find "$BUILD" -name gpu_psv_benchmark -type f -print -quit)
[[ -z $benchmark ]] || cp "$benchmark" "$FOLDER/"
# The libraries that files need, but the C library's own, into a folder; those of the compiler into another: they are used
# only where there are none, or older ones (check.sh), as tools may need newer ones.
take_libraries() {
  local into=$1 file
  shift
  mkdir -p "$into"
  for file in "$@"; do
    [[ -f $file && -x $file ]] || continue
    ldd "$file" 2>/dev/null | awk '$2 == "=>" && $3 ~ /^\// {print $3}'
  done | sort -u | grep -v -E '/(libc|libm|libdl|libpthread|librt|ld-linux[^/]*|librimetree_[^/]*)\.so' |
    while read -r file; do
      case $file in
        */libstdc++.so* | */libgcc_s.so*) cp -L "$file" "$FOLDER/compiler/" ;;
        *) cp -L "$file" "$into/" ;;
      esac
    done
}
cp "$BUILD"/librimetree_*.so "$FOLDER/"
take_libraries "$FOLDER" "$FOLDER"/*
cp "$ROOT/tests/gpu/check.sh" "$FOLDER/"

# The package, what it and its tests import, and the tests with what they read.
if [[ -n $ENVIRONMENT ]]; then
  package=$("$ENVIRONMENT/bin/python" -c 'import os, rimetree; print(os.path.dirname(rimetree.__file__))')
  mkdir -p "$FOLDER/trees/bin"
  "$ENVIRONMENT/bin/python" -c '
import sys, tomllib
with open(sys.argv[1], "rb") as file:
    project = tomllib.load(file)["project"]
needed = {*project["dependencies"], *project["optional-dependencies"]["test"]}
print(*sorted(one for one in needed if not one.startswith("ruff")), sep="\n")
' "$ROOT/pyproject.toml" >"$FOLDER/trees/requirements.txt"
  "$ENVIRONMENT/bin/python" -m pip install --quiet --target "$FOLDER/trees/packages" --python-version "$PYTHON_VERSION" \
    --only-binary=:all: --no-compile --requirement "$FOLDER/trees/requirements.txt"
  cp -r "$package" "$FOLDER/trees/packages/"
  take_libraries "$FOLDER/trees/libraries" "$package"/*.so
  cp -r "$ROOT"/{tests,examples,docs,pyproject.toml} "$FOLDER/trees/"
  printf '#!/bin/sh\nexec python3 -m rimetree.cli "$@"\n' >"$FOLDER/trees/bin/rimetree"
  chmod +x "$FOLDER/trees/bin/rimetree"
  find "$FOLDER/trees" -name __pycache__ -prune -exec rm -r {} +
fi
du -sh "$FOLDER"
