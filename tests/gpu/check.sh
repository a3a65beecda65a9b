#!/usr/bin/env bash
# Everything that wants a GPU, in one go: the tests that run on devices, the same under compute-sanitizer, the
# benchmark, and what limits its kernels (ncu). Stands in a folder that tests/gpu/pack.sh made.
#
#   check.sh RESULTS [STAGE ...]        stages: tests trees sanitizers benchmark profile; default: all
#
# Logs go to the folder RESULTS. The end is a summary: the device, the date, and how each stage ended. The exit status
# is 0 only if all that ran was good; a tool that is not there is said to be skipped. RIMETREE_DEVICE names the device
# (by default cuda:0), RIMETREE_GPU_LIMIT_S the seconds that one command may take (900), RIMETREE_GPU_JOBS how many
# processes share the tests of a program and the device (by default one for each core, at most 12).
set -uo pipefail

(($# > 0)) || { sed -n '2,11s/^# \{0,1\}//p' "$0" >&2; exit 2; }
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$1"
RESULTS=$(cd "$1" && pwd)
shift
STAGES=("$@")
((${#STAGES[@]} > 0)) || STAGES=(tests trees sanitizers benchmark profile)

# By its name, so that tests fail rather than take a simulated one where it cannot be used.
export RIMETREE_DEVICE=${RIMETREE_DEVICE:-cuda:0}
SUMMARY=$RESULTS/summary.txt FAILED=0 LIMIT_S=${RIMETREE_GPU_LIMIT_S:-900}
cores=$(nproc)
JOBS=${RIMETREE_GPU_JOBS:-$((cores < 12 ? cores : 12))}

# The libraries here are for programs that do not find them by themselves; tools had better not see them.
starts() { "$HERE/memory_tests" --gtest_list_tests >/dev/null 2>&1; }
inherited=${LD_LIBRARY_PATH:-}
for libraries in "$HERE" "$HERE:$HERE/compiler"; do
  starts || export LD_LIBRARY_PATH=$libraries${inherited:+:$inherited}
done
timeout 300 "$HERE/runtime_tests" --gtest_filter=ChosenDevice.CopiesAtOnce >"$RESULTS/start.log" 2>&1 || {
  cat "$RESULTS/start.log" >&2
  echo "error: $RIMETREE_DEVICE cannot be used" >&2
  exit 2
}
device=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null) || device="no nvidia-smi here"
{ echo "device: $device"; echo "date: $(date -u +%Y-%m-%dT%H:%M:%SZ)"; } >"$SUMMARY"

# One line of the summary for a command, whose output goes to NAME.log.
run() {
  local name=$1 status=0 start=$SECONDS
  shift
  timeout --kill-after 10 "$LIMIT_S" "$@" >"$RESULTS/$name.log" 2>&1 || status=$?
  ((status == 0)) || FAILED=1
  ((status != 124)) || echo "stopped after $LIMIT_S s" >>"$RESULTS/$name.log"
  local last
  last=$(grep -E 'PASSED|FAILED|SUMMARY:| passed| failed|source-visibilities/s|^stopped' "$RESULTS/$name.log" | tail -n 1)
  printf '%-32s status %d, %d s: %s\n' "$name" "$status" $((SECONDS - start)) "$last" | tee -a "$SUMMARY"
}
# The same for a test program, whose tests are shared among processes: most of a test is the host's work.
run_tests() {
  local name=$1 status=0 start=$SECONDS shard one processes=()
  shift
  for ((shard = 0; shard < JOBS; ++shard)); do
    GTEST_TOTAL_SHARDS=$JOBS GTEST_SHARD_INDEX=$shard timeout --kill-after 10 "$LIMIT_S" "$@" \
      >"$RESULTS/$name.$shard.log" 2>&1 &
    processes+=($!)
  done
  for ((shard = 0; shard < JOBS; ++shard)); do
    one=0
    wait "${processes[shard]}" || one=$?
    ((one != 124)) || echo "stopped after $LIMIT_S s" >>"$RESULTS/$name.$shard.log"
    ((one == 0)) || status=$one
    cat "$RESULTS/$name.$shard.log"
    rm "$RESULTS/$name.$shard.log"
  done >"$RESULTS/$name.log"
  ((status == 0)) || FAILED=1
  # Those of GoogleTest that were good, and what is wrong: tests, errors of the sanitizer, and processes that were stopped.
  awk -v name="$name" -v status="$status" -v seconds=$((SECONDS - start)) '
    /^\[  PASSED  \]/ { good += $4 }
    /^\[  FAILED  \] [^ ]+ \(|^stopped after/ { ++bad }
    /ERROR SUMMARY:|RACECHECK SUMMARY:/ { bad += $4 }
    END { printf "%-32s status %d, %d s: %d passed, %d failures or errors\n", name, status, seconds, good, bad }
  ' "$RESULTS/$name.log" | tee -a "$SUMMARY"
}
skip() { echo "$1: skipped, $2" | tee -a "$SUMMARY"; }

tests() {
  local program
  # What loads plugins by the paths of the build folder is no matter of devices.
  for program in memory_tests runtime_tests runtime_solve_tests nodes_tests nodes_psv_device_tests \
    nodes_correlator_device_tests; do
    run_tests "$program" "$HERE/$program" --gtest_filter=-Registry.*:Plugin.* --gtest_brief=1
  done
}

# Those that compute on devices. Processes must number the cases alike, some of which are made of sets.
trees() {
  [[ -d $HERE/trees ]] || { skip trees "pack.sh was given no virtual environment"; return; }
  local here=$HERE/trees
  (
    cd "$here" || exit 1
    export PYTHONPATH=$here/packages PATH=$here/bin:$PATH PYTHONHASHSEED=0
    export LD_LIBRARY_PATH=$here/libraries:${LD_LIBRARY_PATH:-}
    run trees python3 -m pytest -q -p no:cacheprovider -n "$JOBS" \
      tests/trees/test_*.py tests/trees/{beams,evaluation,ms,observing,psv,solving,sums,voltages,writing}
    exit "$FAILED"
  ) || FAILED=1
}

# Runs some tests of a program under one tool of the sanitizer.
sanitize() {
  run_tests "$1" compute-sanitizer --tool "$tool" --error-exitcode 9 "$HERE/$2" "--gtest_filter=$3" --gtest_brief=1
}
sanitizers() {
  local tool
  command -v compute-sanitizer >/dev/null || { skip sanitizers "compute-sanitizer is not there"; return; }
  for tool in memcheck racecheck initcheck synccheck; do
    # The sweeps over thousands of cases take hours there; each kernel is run by the others too. What asks for more
    # memory than there is makes the runtime report an error, as it should.
    sanitize "psv-$tool" nodes_psv_device_tests \
      '-*AllocationMayFail*:*FailedAllocations*:*ExtendedPrecision*:*AllCombinations*'
    sanitize "correlator-$tool" nodes_correlator_device_tests '*-*AreTheSumsOfWholeNumbers*'
    sanitize "nodes-$tool" nodes_tests '*OnADevice*'
    sanitize "runtime-$tool" runtime_tests 'ChosenDevice*:EvaluatorDevices*-*NoRoom*:*AllocationMayFail*'
    sanitize "solve-$tool" runtime_solve_tests 'DeviceSums*'
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
  # Two launches of each kernel: every case by the direct sum, and the first ones by the matrix product. Where their time
  # goes, instruction by instruction: ncu --import profile-NAME.ncu-rep --page source --csv.
  local name
  for name in Direct Matrix; do
    run "profile-$name" ncu --clock-control none --set full --kernel-name-base demangled --kernel-name "regex:${name}Kernel" \
      --launch-count 16 --force-overwrite --export "$RESULTS/profile-$name" "$HERE/gpu_psv_benchmark" 2000 64 2 64 1
    ncu --import "$RESULTS/profile-$name.ncu-rep" --page details >"$RESULTS/profile-$name.txt" 2>&1 || FAILED=1
  done
}

for stage in "${STAGES[@]}"; do
  case $stage in
    tests | trees | sanitizers | benchmark | profile) "$stage" ;;
    *) echo "error: no stage \"$stage\": tests, trees, sanitizers, benchmark or profile" >&2; exit 2 ;;
  esac
done
cat "$SUMMARY"
exit "$FAILED"
