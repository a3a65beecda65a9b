#!/usr/bin/env bash
# Copies what tests/gpu/check.sh runs from a build folder into one that works on any machine with a GPU: test programs,
# benchmark, plugins, and the libraries they need but the C library's own.
#
#   cmake -B build/gpu -DCMAKE_BUILD_TYPE=Release -DRIMETREE_TESTS=ON -DRIMETREE_BENCHMARKS=ON -DRIMETREE_PYTHON=OFF \
#         -DRIMETREE_MS=OFF -DRIMETREE_CUDA_ARCHITECTURES=90-real -DCMAKE_BUILD_RPATH='$ORIGIN' &&
#     cmake --build build/gpu --parallel
#   tests/gpu/pack.sh build/gpu gpu-check
#   gpu-check/check.sh results          # there
set -euo pipefail

if (($# != 2)); then
  sed -n '2,10s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
BUILD=$1 FOLDER=$2
PROGRAMS=(tests/{memory,runtime,runtime_solve,nodes,nodes_psv_device,nodes_correlator_device}_tests)
PLUGINS=(librimetree_nodes.so librimetree_nodes_cuda.so)

mkdir -p "$FOLDER/compiler"
for file in "${PROGRAMS[@]}" "${PLUGINS[@]}"; do
  [[ -f $BUILD/$file ]] || { echo "error: $BUILD/$file is missing; build it first" >&2; exit 1; }
  cp "$BUILD/$file" "$FOLDER/"
done
benchmark=$(find "$BUILD" -name gpu_psv_benchmark -type f -print -quit)
[[ -z $benchmark ]] || cp "$benchmark" "$FOLDER/"
for file in "$FOLDER"/*; do
  [[ -f $file && -x $file ]] || continue
  ldd "$file" 2>/dev/null | awk '$2 == "=>" && $3 ~ /^\// {print $3}'
done | sort -u | grep -v -E '/(libc|libm|libdl|libpthread|librt|ld-linux[^/]*)\.so' | while read -r library; do
  # Those of the compiler are used only where there are none, or older ones (check.sh): tools may need newer ones.
  case $library in
    */libstdc++.so* | */libgcc_s.so*) cp -L "$library" "$FOLDER/compiler/" ;;
    *) cp -L "$library" "$FOLDER/" ;;
  esac
done
cp "$(dirname "${BASH_SOURCE[0]}")/check.sh" "$FOLDER/"
du -sh "$FOLDER"
