#!/usr/bin/env bash
# Installs what RimeTree needs and RimeTree itself, into the virtual environment .venv of this folder.
#
#   scripts/install.sh [--tests] [--no-apt]
#
# Missing compilers and libraries come from apt (Debian 12 or later, Ubuntu 24.04 or later; as root or with sudo),
# Python packages from PyPI. What is there already is left alone, and a repeated run compiles only what has changed.
#   --tests    also build the C++ tests (build/Release/tests)
#   --no-apt   never call apt; say what is missing and stop
# Environment: PYTHON (which Python >= 3.11 to use), CMAKE_BUILD_PARALLEL_LEVEL (compilers at a time; default: one per
# core, and at most one per 2 GB of memory), RIMETREE_CUDA_ARCHITECTURES (with --tests: GPUs to compile for, as
# CMAKE_CUDA_ARCHITECTURES; default: that of this machine, or 90-real without one).
set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
VENV=$ROOT/.venv
BUILD=$ROOT/build/Release

say() { printf '== %s\n' "$*"; }
die() {
  printf 'install.sh: %s\n' "$*" >&2
  exit 1
}

# name of a facility : what shows that it is there : Debian package
NEEDED=(
  "command:g++:g++" "command:cmake:cmake" "command:ninja:ninja-build" "command:git:git" "command:dot:graphviz"
  "header:boost/version.hpp:libboost-dev" "header:gtest/gtest.h:libgtest-dev" "header:erfa.h:liberfa-dev"
  "header:hwy/highway.h:libhwy-dev" "header:fftw3.h:libfftw3-dev" "header:casacore/ms/MeasurementSets.h:casacore-dev"
  "header:eigen3/Eigen/Core:libeigen3-dev"
)

have_header() { echo "#include <$1>" | g++ -std=c++17 -M -x c++ - >/dev/null 2>&1; }

# A Python of at least 3.11 that can make virtual environments and has the headers for extension modules.
python_is_usable() {
  "$1" - <<'PYTHON' 2>/dev/null
import os, sys, sysconfig, ensurepip, venv
header = os.path.join(sysconfig.get_path("include"), "Python.h")
sys.exit(not (sys.version_info >= (3, 11) and os.path.exists(header)))
PYTHON
}

find_python() {
  local candidate
  for candidate in ${PYTHON:-python3 /usr/bin/python3 python3.14 python3.13 python3.12 python3.11}; do
    if python_is_usable "$candidate"; then
      command -v "$candidate"
      return
    fi
  done
  return 1
}

# Fills `packages` with the Debian packages of what is missing.
find_missing() {
  packages=()
  local entry kind what package
  for entry in "${NEEDED[@]}"; do
    IFS=: read -r kind what package <<<"$entry"
    if [[ $kind == command ]]; then
      command -v "$what" >/dev/null || packages+=("$package")
    else
      have_header "$what" || packages+=("$package")
    fi
  done
  find_python >/dev/null || packages+=(python3 python3-dev python3-venv)
}

install_packages() {
  find_missing
  ((${#packages[@]})) || return 0
  local sudo=()
  ((EUID == 0)) || sudo=(sudo)
  if [[ $use_apt == no ]] || ! command -v apt-get >/dev/null; then
    die "missing: ${packages[*]} (names of Debian packages). Install them with your package manager and run this again."
  fi
  ((EUID == 0)) || command -v sudo >/dev/null ||
    die "missing: ${packages[*]}. Run as root, or: apt-get install ${packages[*]}"
  say "apt: ${packages[*]}"
  "${sudo[@]}" apt-get update -qq
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    ccache "${packages[@]}" >/dev/null
  find_missing
  ((${#packages[@]} == 0)) ||
    die "still missing after apt: ${packages[*]}. RimeTree needs Python >= 3.11, CMake >= 3.25 and casacore >= 3.5" \
      "(Debian 12 or later, Ubuntu 24.04 or later)."
}

make_venv() {
  if [[ -x $VENV/bin/python ]] && python_is_usable "$VENV/bin/python"; then return; fi
  local python
  python=$(find_python) || die "no Python >= 3.11 with headers and venv; set PYTHON to one"
  say "virtual environment in $VENV, with $("$python" --version)"
  "$python" -m venv --clear "$VENV"
}

# Python packages to build, run and test with, as pyproject.toml lists them; pip is asked only if the list has changed.
install_python_packages() {
  local wanted stamp=$VENV/rimetree-packages
  wanted=$("$VENV/bin/python" - "$ROOT/pyproject.toml" <<'PYTHON'
import sys, tomllib
with open(sys.argv[1], "rb") as file:
    table = tomllib.load(file)
project = table["project"]
print(*table["build-system"]["requires"], *project["dependencies"], *project["optional-dependencies"]["test"])
PYTHON
  )
  if [[ -f $stamp && $(<"$stamp") == "$wanted" ]]; then return; fi
  say "Python packages: $wanted"
  local packages
  read -r -a packages <<<"$wanted"
  "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check "${packages[@]}"
  echo "$wanted" >"$stamp"
}

# One compiler per core takes up to 2 GB each; small machines with many cores would run out.
default_parallel_level() {
  local cores memory_gb
  cores=$(nproc)
  memory_gb=$(awk '/MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo 2>/dev/null || echo 4)
  local fit=$((memory_gb / 2 > 1 ? memory_gb / 2 : 1))
  echo $((cores < fit ? cores : fit))
}

install_rimetree() {
  export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(default_parallel_level)}
  local settings=()
  if [[ $with_tests == yes ]]; then
    # Each kind of GPU takes the compiler minutes: tests want that of this machine or, without one, any.
    local gpus=90-real
    if nvidia-smi -L >/dev/null 2>&1; then gpus=native; fi
    settings=("--config-settings=cmake.define.RIMETREE_"{TESTS,CUDA}"=ON"
      "--config-settings=cmake.define.RIMETREE_CUDA_ARCHITECTURES=${RIMETREE_CUDA_ARCHITECTURES:-$gpus}")
  fi
  # A build folder moved with the repository would be refused by CMake.
  if [[ -f $BUILD/CMakeCache.txt ]] && ! grep -qx "CMAKE_HOME_DIRECTORY:INTERNAL=$ROOT" "$BUILD/CMakeCache.txt"; then
    rm -rf "$BUILD"
  fi
  say "building with $CMAKE_BUILD_PARALLEL_LEVEL compilers in $BUILD (minutes when it is the first time)"
  local log=$ROOT/build/install.log
  mkdir -p "$ROOT/build"
  if ! (cd "$ROOT" && "$VENV/bin/python" -m pip install --verbose --disable-pip-version-check --no-build-isolation \
    --no-deps "${settings[@]}" .) >"$log" 2>&1; then
    grep -vE "Building CXX|Linking CXX|-- " "$log" | tail -n 60 >&2
    die "the build failed; all of it is in $log"
  fi
  say "installed: $("$VENV/bin/rimetree" --version)"
}

with_tests=no use_apt=yes
for argument in "$@"; do
  case $argument in
    --tests) with_tests=yes ;;
    --no-apt) use_apt=no ;;
    *) die "unknown option $argument; known are --tests and --no-apt" ;;
  esac
done
install_packages
make_venv
install_python_packages
install_rimetree
