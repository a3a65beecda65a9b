#!/usr/bin/env bash
# Installs RimeTree as scripts/install.sh does, then builds and runs every test: C++ (ctest), Python and examples
# (pytest), and, if asked to, the C++ tests again under AddressSanitizer and UBSan.
#
#   tests/run.sh
#
# The last line is "N passed, N failed, N skipped" over all of them. The exit status is 0 only if nothing failed.
# Environment: RIMETREE_SANITIZER_TESTS=always|if-time|never (default: never); RIMETREE_INSTRUCTION_SET=AVX2 for what
# machines without AVX-512 do; see also scripts/install.sh.
set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
RESULTS=$ROOT/build/test-results
TIME_LIMIT_S=1140
cd "$ROOT"
rm -rf "$RESULTS"
mkdir -p "$RESULTS"

say() { printf '== %s\n' "$*"; }

# Runs a stage and notes how it ended; what it tested is in RESULTS/name.xml, if it got that far.
stage() {
  local name=$1 status=0
  shift
  say "$name"
  "$@" || status=$?
  echo "$status" >"$RESULTS/$name.status"
  return "$status"
}

# Sums up all stages, also when this script ends early. A stage that failed without a failed test counts as one.
summary() {
  local status=$?
  trap - EXIT
  python3 - "$RESULTS" "$status" <<'PYTHON'
import sys
from pathlib import Path
from xml.etree import ElementTree

results, script_status = Path(sys.argv[1]), int(sys.argv[2])
passed = failed = skipped = 0
for path in sorted(results.glob("*.status")):
    count = dict.fromkeys(("tests", "failures", "errors", "skipped", "disabled"), 0)
    try:
        for suite in ElementTree.parse(path.with_suffix(".xml")).getroot().iter("testsuite"):
            for name in count:
                count[name] += int(suite.get(name, 0))
    except (OSError, ElementTree.ParseError):
        pass  # a stage without tests, or one that crashed
    bad = count["failures"] + count["errors"]
    if path.read_text().strip() != "0" and not bad:
        print(f"{path.stem}: ended with status {path.read_text().strip()}")
        bad, count["tests"] = 1, count["tests"] + 1
    idle = count["skipped"] + count["disabled"]
    passed, failed, skipped = passed + count["tests"] - bad - idle, failed + bad, skipped + idle
for path in results.glob("*.skipped"):
    reason = path.read_text().strip()
    print(f"{path.stem}: skipped, {reason}")
    count = reason.split(" tests", 1)[0]  # "12 tests, as ..."
    skipped += int(count) if count.isdecimal() else 1
if script_status and not failed:
    failed = 1
print(f"{passed} passed, {failed} failed, {skipped} skipped")
sys.exit(failed > 0)
PYTHON
}
trap summary EXIT

# What single tests compare or count with: WSClean images, valgrind counts instructions. Without them these tests are
# skipped and say so.
install_for_tests() {
  local package sudo=()
  ((EUID == 0)) || sudo=(sudo -n)
  for package in wsclean valgrind; do
    command -v "$package" >/dev/null && continue
    if ! "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$package" \
      >"$RESULTS/$package.log" 2>&1; then
      say "$package is not there and cannot be installed; tests that use it will be skipped"
    fi
  done
}

run_ctest() {
  ctest --test-dir build/Release --output-on-failure --no-tests=error -j "$(nproc)" \
    --output-junit "$RESULTS/ctest.xml" >"$RESULTS/ctest.log" 2>&1 || {
    local status=$?
    grep -v -e ' Start ' -e ' Passed ' "$RESULTS/ctest.log" | tail -n 200
    return "$status"
  }
  tail -n 3 "$RESULTS/ctest.log"
}

# By a process for each core: much of a fit's search is Python, which one core does.
pytest_in_processes() { .venv/bin/python -m pytest -q -rs -n auto --maxprocesses 8 --dist worksteal "$@"; }
run_pytest() { pytest_in_processes --junit-xml="$RESULTS/pytest.xml" tests; }

# What has to do with devices is tested on simulated ones, and the same tests again on a GPU where there is one; elsewhere
# they are counted as skipped.
has_gpu() {
  .venv/bin/python -c 'import sys, rimetree._core as core, rimetree; sys.exit(not core.machine()["devices"])' 2>/dev/null
}
run_gpu() {
  RIMETREE_DEVICE=auto ctest --test-dir build/Release -L device --output-on-failure --no-tests=error \
    --output-junit "$RESULTS/gpu.xml" >"$RESULTS/gpu.log" 2>&1 || {
    local status=$?
    grep -v -e ' Start ' -e ' Passed ' "$RESULTS/gpu.log" | tail -n 200
    return "$status"
  }
  tail -n 3 "$RESULTS/gpu.log"
}
run_gpu_trees() {
  RIMETREE_DEVICE=auto pytest_in_processes --junit-xml="$RESULTS/gpu-trees.xml" \
    tests/trees/test_*.py tests/trees/{beams,evaluation,ms,observing,psv,solving,sums,voltages,writing}
}
gpu_tests() {
  if has_gpu; then
    stage gpu run_gpu || true
    stage gpu-trees run_gpu_trees
  else
    echo "$(ctest --test-dir build/Release -L device -N | sed -n 's/^Total Tests: //p') tests, as there is no GPU here" \
      >"$RESULTS/gpu.skipped"
  fi
}

# In a build folder of its own (preset "asan"), which is kept, so that only the first time takes long.
run_sanitizers() {
  if ! { cmake --preset asan && cmake --build --preset asan --parallel "$(nproc)"; } >"$RESULTS/sanitizers.log" 2>&1; then
    tail -n 60 "$RESULTS/sanitizers.log"
    return 1
  fi
  ctest --preset asan -j "$(nproc)" --output-junit "$RESULTS/sanitizers.xml" >>"$RESULTS/sanitizers.log" 2>&1 || {
    local status=$?
    grep -v -e ' Start ' -e ' Passed ' "$RESULTS/sanitizers.log" | tail -n 200
    return "$status"
  }
  tail -n 3 "$RESULTS/sanitizers.log"
}
export -f run_sanitizers
export RESULTS

sanitizers_in_the_time_left() {
  local left=$((TIME_LIMIT_S - SECONDS)) wanted=${RIMETREE_SANITIZER_TESTS:-never}
  [[ $wanted != always ]] || left=86400
  if [[ $wanted == never ]] || ((left < 60)); then
    echo "RIMETREE_SANITIZER_TESTS=always runs them" >"$RESULTS/sanitizers.skipped"
    return
  fi
  local status=0
  stage sanitizers timeout "$left" bash -euo pipefail -c run_sanitizers || status=$?
  if ((status == 124)); then
    rm -f "$RESULTS"/sanitizers.{status,xml}
    echo "not finished in the ${left} s that were left; RIMETREE_SANITIZER_TESTS=always takes the time" \
      >"$RESULTS/sanitizers.skipped"
  fi
}

stage install scripts/install.sh --tests || exit 1
install_for_tests
stage ctest run_ctest || true
stage pytest run_pytest || true
gpu_tests || true
sanitizers_in_the_time_left
