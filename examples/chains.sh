#!/usr/bin/env bash
# Four calibrations as they are done with VLA and MeerKAT, LOFAR, MWA and ALMA, each on a small set of KAT-7's dishes that
# is made here with effects that nobody is told of.
#   examples/chains.sh [FOLDER]
set -euo pipefail
examples=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1:-chains}
rimetree=${RIMETREE:-rimetree}
mkdir -p "$folder"
cd "$folder"
point() { printf '# (Name, Type, Ra, Dec, I) = format\n%s, POINT, %s, %s, %s\n' "$@"; }
band="--telescope kat-7 --integration 10s --freq 1.3GHz --bandwidth 32MHz --channels 8 --overwrite"

# Two calibrators and a target. The flux of the second calibrator is 3 Jy, but that is what we want to find: its model
# says 1 Jy.
$rimetree make-ms fields.ms $band --scan FLUX 4h00m00s -30d00m 80s --scan GAIN 4h30m00s -31d00m 40s \
  --scan TARGET 4h40m00s -31d30m 60s --scan GAIN 4h30m00s -31d00m 40s
point flux 04:00:00 -30.00.00 15 > flux.skymodel
point gain 04:30:00 -31.00.00 3 > gain-true.skymodel
point gain 04:30:00 -31.00.00 1 > gain.skymodel
point target 04:40:00 -31.30.00 2 > target.skymodel
for field in 0=flux 1=gain-true 2=target; do
  $rimetree run "$examples/chain_tree.py" fields.ms --field "${field%%=*}" -- "${field#*=}.skymodel" delay band gain leakage
done

# VLA, MeerKAT: delay, bandpass, gains and leakages in turn, from calibrators to the target.
$rimetree calibrate fields.ms --in-turn --field FLUX,GAIN --sky FLUX=flux.skymodel --sky GAIN=gain.skymodel \
  --term "K: delay, on FLUX" --term "B: diag, 1chan, on FLUX" --term "G: diag, 1min" --term "D: leakage, on FLUX" \
  --flux-from FLUX --out fields.h5 --overwrite \
  --apply --apply-to TARGET --from-field GAIN --interpolation linear --report fields.html

# LOFAR: diagonal gains of the whole field, then a TEC for each patch on top of them; at last both together, from there.
$rimetree make-ms lofar.ms --telescope kat-7 --phase-centre 4h00m00s -30d00m --duration 60s --integration 10s \
  --freq 150MHz --bandwidth 40MHz --channels 8 --overwrite
$rimetree run "$examples/chain_tree.py" lofar.ms -- "$examples/calibrate.skymodel" gain tec
$rimetree calibrate lofar.ms --in-turn --sky "$examples/calibrate.skymodel" \
  --term "G: diag, 1chan" --term "T: tec, 30s, per patch" --out lofar.h5 --overwrite
$rimetree calibrate lofar.ms --start lofar.h5 --sky "$examples/calibrate.skymodel" \
  --term "G: diag, 1chan" --term "T: tec, 30s, per patch" --out both.h5 --overwrite --subtract --report -

# MWA: one bandpass for each two minutes, without the edges of the band and without solutions of few data.
$rimetree make-ms mwa.ms $band --phase-centre 4h00m00s -30d00m --duration 4min
$rimetree run "$examples/chain_tree.py" mwa.ms -- flux.skymodel band gain
$rimetree calibrate mwa.ms --sky flux.skymodel --term "B: diag, 2min, 1chan" --channels 1~6 \
  --min-fraction 0.3 --flag-solutions 8 --out mwa.h5 --overwrite --apply

# ALMA: phases of each time slot first; on top of them a bandpass, then amplitudes.
$rimetree make-ms alma.ms $band --phase-centre 4h00m00s -30d00m --duration 2min
$rimetree run "$examples/chain_tree.py" alma.ms -- flux.skymodel drift band gain
$rimetree calibrate alma.ms --in-turn --sky flux.skymodel --term "P: phase, 1slot" --term "B: diag, 1chan" \
  --term "A: amplitude, 1min" --out alma.h5 --overwrite --apply --report alma.json
