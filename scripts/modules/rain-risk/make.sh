#!/bin/sh
# Rain points in, risk cells out. Runs in the directory of the run, with a POSIX shell and awk.
set -eu
awk -v step="${DATAPROC_PARAM_step:-0.01}" -f "$DATAPROC_MODULE_DIR/cells.awk" input/rain.csv > work/risk.csv
mv work/risk.csv output/risk.csv
