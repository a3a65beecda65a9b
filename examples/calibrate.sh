#!/usr/bin/env bash
# Makes a small KAT-7 observation with unknown gains, calibrates it, applies and plots the solutions.
#   examples/calibrate.sh [FOLDER]
set -euo pipefail
examples=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1:-calibration}
rimetree=${RIMETREE:-rimetree}
mkdir -p "$folder"
cd "$folder"

# The observation: the gains of gains_tree.py and noise of 0.1 Jy.
$rimetree make-ms obs.ms --telescope kat-7 --phase-centre 4h00m00s -30d00m --duration 20min --integration 30s \
  --channels 8 --overwrite
$rimetree run "$examples/gains_tree.py" obs.ms

# One complex gain per antenna and feed every two minutes.
$rimetree calibrate obs.ms --sky "$examples/calibrate.skymodel" --term "G: diag, 2min" --out sol.h5 --overwrite \
  --scale-errors --apply
$rimetree plot-solutions sol.h5 -o gains.png

# The image of the corrected data shows the sky again.
$rimetree image obs.ms --column CORRECTED_DATA --size 256 --sky "$examples/calibrate.skymodel" -o corrected.png
