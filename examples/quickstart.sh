#!/usr/bin/env bash
# Installs RimeTree, makes a Measurement Set for MeerKAT, evaluates the tree script quickstart_tree.py over it, makes an
# image, and compares the sources in it with the model. Everything it makes is in quickstart-output/.
#
#   examples/quickstart.sh
#
# Minutes the first time, since it compiles; seconds when it is repeated.
set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
OUTPUT=$ROOT/quickstart-output
SKY=$ROOT/examples/quickstart.skymodel

"$ROOT/scripts/install.sh"
mkdir -p "$OUTPUT"
cd "$OUTPUT"
PATH=$ROOT/.venv/bin:$PATH

echo "== 1. A Measurement Set: 64 antennas of MeerKAT, half an hour, 32 channels"
rimetree make-ms meerkat.ms --overwrite --telescope meerkat --phase-centre 04:00:00 -30.00.00 --field-name fir-tree \
  --duration 30min --integration 30s --freq 1284MHz --bandwidth 107MHz --channels 32

echo "== 2. The sky"
rimetree sky show "$SKY"

echo "== 3. Visibilities: the tree of examples/quickstart_tree.py, evaluated for every baseline"
rimetree run "$ROOT/examples/quickstart_tree.py" meerkat.ms --report timing.txt

echo "== 4. A dirty image, and the sources in it compared with the model"
rimetree image meerkat.ms --column DATA --size 800 --scale 1.2arcsec --sky "$SKY" --output image.png \
  --output image.fits | tee sources.txt

cat <<END

Measurement Set:  $OUTPUT/meerkat.ms  (column DATA)
image:            $OUTPUT/image.png  (and image.fits)
source table:     $OUTPUT/sources.txt
timing report:    $OUTPUT/timing.txt

Next: source .venv/bin/activate; rimetree --help; README.md
END
