#!/usr/bin/env bash
# Everything that wants a GPU, in one go: the tests that run on devices, the same under compute-sanitizer, the
# benchmark, and what limits its kernels (ncu). Stands in a folder that tests/gpu/pack.sh made.
#
#   check.sh RESULTS [STAGE ...]        stages: tests sanitizers benchmark profile; default: all
#
# Logs go to the folder RESULTS. The end is a summary: the device, the date, and how each stage ended. The exit status is
# 0 only if all that ran was good; a tool that is not there is said to be skipped.
set -uo pipefail

(($# > 0)) || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$1"
RESULTS=$(cd "$1" && pwd)
shift
STAGES=("$@")
((${#STAGES[@]} > 0)) || STAGES=(tests sanitizers benchmark profile)

export LD_LIBRARY_PATH=$HERE${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export RIMETREE_DEVICE=${RIMETREE_DEVICE:-auto}
SUMMARY=$RESULTS/summary.txt FAILED=0
device=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null) || {
  echo "error: there is no GPU here (nvidia-smi finds none)" >&2
  exit 2
}
{ echo "device: $device"; echo "date: $(date -u +%Y-%m-%dT%H:%M:%SZ)"; } >"$SUMMARY"

# One line of the summary for a command, whose output goes to NAME.log.
run() {
  local name=$1 status=0 start=$SECONDS
  shift
  "$@" >"$RESULTS/$name.log" 2>&1 || status=$?
  ((status == 0)) || FAILED=1
  printf '%-32s status %d, %d s: %s\n' "$name" "$status" $((SECONDS - start)) \
    "$(grep -E 'PASSED|FAILED|ERROR SUMMARY|source-visibilities/s' "$RESULTS/$name.log" | tail -n 1)" | tee -a "$SUMMARY"
}
skip() { echo "$1: skipped, $2" | tee -a "$SUMMARY"; }

tests() {
  local program
  # What loads plugins by the paths of the build folder is no matter of devices.
  for program in memory_tests runtime_tests nodes_tests nodes_psv_device_tests; do
    run "$program" "$HERE/$program" --gtest_filter=-Registry.*:Plugin.* --gtest_brief=1
  done
}

sanitizers() {
  local tool
  command -v compute-sanitizer >/dev/null || { skip sanitizers "compute-sanitizer is not there"; return; }
  for tool in memcheck racecheck initcheck synccheck; do
    # The sweeps over thousands of cases take hours there; each kernel is run by the others too.
    run "psv-$tool" compute-sanitizer --tool "$tool" --error-exitcode 9 "$HERE/nodes_psv_device_tests" \
      --gtest_filter=-*EveryAllocationMayFail*:*ExtendedPrecision*:*AllCombinations* --gtest_brief=1
    run "nodes-$tool" compute-sanitizer --tool "$tool" --error-exitcode 9 "$HERE/nodes_tests" \
      --gtest_filter=*SameBitsFromADevice* --gtest_brief=1
  done
}

benchmark() {
  [[ -x $HERE/gpu_psv_benchmark ]] || { skip benchmark "it was not built (RIMETREE_BENCHMARKS)"; return; }
  run benchmark-64-antennas "$HERE/gpu_psv_benchmark" 1000 64 10 64
  run benchmark-10000-sources "$HERE/gpu_psv_benchmark" 10000 64 2 64
  run benchmark-14-antennas "$HERE/gpu_psv_benchmark" 1000 14 72 64
}

profile() {
  command -v ncu >/dev/null || { skip profile "ncu is not there"; return; }
  [[ -x $HERE/gpu_psv_benchmark ]] || { skip profile "there is no benchmark to look at"; return; }
  run profile ncu --clock-control none --set full --launch-skip 2 --launch-count 40 \
    "$HERE/gpu_psv_benchmark" 1000 64 2 64
}

for stage in "${STAGES[@]}"; do
  case $stage in
    tests | sanitizers | benchmark | profile) "$stage" ;;
    *) echo "error: no stage \"$stage\": tests, sanitizers, benchmark or profile" >&2; exit 2 ;;
  esac
done
cat "$SUMMARY"
exit "$FAILED"
