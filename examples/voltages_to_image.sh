#!/usr/bin/env bash
# Voltages of 32 dual-polarisation tiles, 5 bits in groups of words as four capture computers write them, become
# visibilities, are calibrated and imaged: the table says where the three sources of the sky were found.
#   examples/voltages_to_image.sh [FOLDER]
set -euo pipefail
examples=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1:-voltages}
rimetree=${RIMETREE:-rimetree}
mkdir -p "$folder"
cd "$folder"
recording="--format mwa32t --layout $examples/voltages_to_image.csv --phase-centre 4h00m00s -26d42m00s
  --start 2025-01-01T13:28:32"
sky=$examples/voltages_to_image.skymodel

# A third of a second of 1.28 MHz from 64 inputs with unknown gains and phases: 52 MB.
$rimetree make-voltages volts $recording --sky "$sky" --duration 0.3s --noise 300 --gain-scatter 0.1 \
  --phase-scatter 40 --overwrite

# 128 channels of 10 kHz, 2080 products, the phase centre followed; weights from the counts of samples.
$rimetree correlate volts.0 volts.1 volts.2 volts.3 $recording --integration 0.1s --out obs.ms --overwrite --realtime

$rimetree calibrate obs.ms --sky "$sky" --term "G: diag" --out sol.h5 --overwrite --apply
$rimetree image obs.ms --column CORRECTED_DATA --size 256 --sky "$sky" -o image.png
