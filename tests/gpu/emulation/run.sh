#!/usr/bin/env bash
# Runs the tests of devices on an emulated GPU: the project's CUDA sources, compiled for the host, on a stand-in for the
# CUDA runtime. Finds missing barriers, copies that nobody waits for, wrong indices and launches without a GPU;
# docs/gpu.md says what it cannot show. Wants g++ on x86-64, CMake, Python and the headers of a CUDA toolkit, found by
# CUDA_PATH or nvcc. Not part of CI.
#
#   run.sh BUILD [FILTER]        BUILD: a build folder of these sources with tests and RIMETREE_CUDA=OFF
#                                FILTER: of GoogleTest; by default all tests of all device programs
#
# Environment:
#   RIMETREE_EMULATION_FOLDER        where it compiles and leaves logs (BUILD/emulation)
#   RIMETREE_EMULATION_ARCHITECTURE  compute capability: 75 (of matrix units m8n8k16), 80 (m8n8k4) or 90 (m16n8k4) (90)
#   RIMETREE_EMULATION_SEED          of the order of threads and of random progress (1)
#   RIMETREE_EMULATION_STREAMS       late: work is done when it is waited for; random: some of it earlier (late)
#   RIMETREE_EMULATION_DEVICES       how many there are (1)
#   RIMETREE_EMULATION_MEMORY        bytes of each (2 GiB)
#   RIMETREE_EMULATION_FOURIER       none: no stand-in for cuFFT, so that the own transforms are used
#   RIMETREE_EMULATION_SHARED        bytes of shared memory that a block may ask for (as the architecture has)
#   RIMETREE_EMULATION_LIMIT_S       seconds that a test program may take (1800)
#   RIMETREE_EMULATION_JOBS          compilers at a time (all processors)
#   RIMETREE_DEVICE                  which device tests use (cuda:0)
set -euo pipefail

if (($# < 1 || $# > 2)) || [[ $1 == -h || $1 == --help ]]; then
  sed -n '2,/^set /{s/^# \{0,1\}//p}' "$0"
  [[ ${1:-} == -h || ${1:-} == --help ]] && exit 0
  exit 2
fi
die() { echo "error: $1" >&2; exit 2; }

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PROJECT=$(cd "$HERE/../../.." && pwd)
[[ -d $1 ]] || die "there is no build folder $1"
BUILD=$(cd "$1" && pwd) FILTER=${2:-*}
[[ -f $BUILD/librimetree_psv.so ]] || die "$BUILD has no librimetree_psv.so; build it first"
[[ ! -f $BUILD/librimetree_nodes_cuda.so ]] ||
  die "$BUILD has a plugin for GPUs, whose place the emulation takes; configure it with -DRIMETREE_CUDA=OFF"
built_from=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$BUILD/CMakeCache.txt" 2>/dev/null || true)
[[ $built_from == "$PROJECT" ]] ||
  echo "warning: $BUILD was built from $built_from; if that differs from $PROJECT, nothing of this means anything" >&2

ARCHITECTURE=${RIMETREE_EMULATION_ARCHITECTURE:-90}
[[ $ARCHITECTURE =~ ^(75|80|90)$ ]] || die "RIMETREE_EMULATION_ARCHITECTURE is not 75, 80 or 90: $ARCHITECTURE"
FOLDER=${RIMETREE_EMULATION_FOLDER:-$BUILD/emulation}
mkdir -p "$FOLDER/$ARCHITECTURE"
FOLDER=$(cd "$FOLDER/$ARCHITECTURE" && pwd)

# The folder of the toolkit's headers.
headers() {
  local root nvcc folder
  nvcc=$(command -v nvcc || true)
  for root in "${CUDA_PATH:-}" "${nvcc:+$(dirname "$(dirname "$(readlink -f "$nvcc")")")}"; do
    [[ -n $root ]] || continue
    for folder in "$root/include" "$root"/targets/x86_64-linux/include; do
      [[ ! -f $folder/cuda_runtime.h ]] || { echo "$folder"; return; }
    done
  done
  die "no headers of a CUDA toolkit; set CUDA_PATH to the folder that has include/cuda_runtime.h, or put nvcc on PATH"
}
CUDA_INCLUDE=$(headers)

python3 "$HERE/transform.py" "$PROJECT" "$FOLDER/sources" >"$FOLDER/sources.txt"
cmake -S "$HERE" -B "$FOLDER" -DPROJECT_SOURCES="$PROJECT" -DPROJECT_BUILD="$BUILD" -DCUDA_INCLUDE="$CUDA_INCLUDE" \
  -DARCHITECTURE="$ARCHITECTURE" -DCMAKE_CXX_COMPILER="${CXX:-g++}" >"$FOLDER/cmake.log" ||
  die "CMake failed; see $FOLDER/cmake.log"
cmake --build "$FOLDER" --parallel "${RIMETREE_EMULATION_JOBS:-$(nproc)}" >"$FOLDER/build.log" 2>&1 ||
  { grep -E -m 10 'error|undefined' "$FOLDER/build.log" >&2 || true; die "it does not compile; see $FOLDER/build.log"; }
PLUGIN=$FOLDER/librimetree_emulated_cuda.so

failed=0 tests=0 launches=0
# As in check.sh: what loads plugins by the paths of the build folder is no matter of devices.
[[ $FILTER == *-* ]] || FILTER="$FILTER-Registry.*:Plugin.*"
for name in memory_tests runtime_tests runtime_solve_tests nodes_tests nodes_psv_device_tests \
  nodes_correlator_device_tests; do
  program=$BUILD/tests/$name log=$FOLDER/$name.log report=$FOLDER/$name.launches status=0 start=$SECONDS
  [[ -x $program ]] || { echo "$name: not built, left out"; continue; }
  rm -f "$report"
  timeout --kill-after 10 "${RIMETREE_EMULATION_LIMIT_S:-1800}" \
    env LD_PRELOAD="$PLUGIN" RIMETREE_DEVICE="${RIMETREE_DEVICE:-cuda:0}" RIMETREE_EMULATION_REPORT="$report" \
    "$program" --gtest_filter="$FILTER" >"$log" 2>&1 || status=$?
  ((status == 0)) || failed=1
  passed=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$log")
  counted=$(cat "$report" 2>/dev/null || echo "0 launches")
  tests=$((tests + ${passed:-0})) launches=$((launches + ${counted%% *}))
  printf '%s: status %d, %s passed, %s, %d s\n' "$name" "$status" "${passed:-none}" "$counted" $((SECONDS - start))
  # What failed, and why the device stopped if it did.
  ((status == 0)) || { grep -E '^\[  FAILED  \]|^emulated device:|^\[ RUN' "$log" | tail -n 5; echo "see $log"; }
done
((tests > 0 && launches > 0)) ||
  { echo "nothing ran on the emulated device: $tests tests, $launches launches"; exit 1; }
((failed == 0)) && echo "all good: $tests tests, $launches launches (compute capability $ARCHITECTURE)"
exit $failed
