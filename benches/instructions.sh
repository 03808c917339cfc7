#!/usr/bin/env bash
# Counts the instructions of digests of fixed inputs, and fails if there are over 5 % more than
# benches/instructions.tsv says. Seconds depend on who else is at work; these do not.
#
#   benches/instructions.sh             compares
#   UPDATE=1 benches/instructions.sh    records anew
#
# Valgrind knows no AVX-512: what is counted is what processors with AVX2 do. Where there is no AVX2
# nothing is compared.
set -euo pipefail
cd "$(dirname "$0")/.."

recorded=benches/instructions.tsv
cargo build --quiet --release --locked -p resemble-core --example instructions
program=${CARGO_TARGET_DIR:-target}/release/examples/instructions

count() { # CASE
  valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect='*counted*' \
    "$program" "$1" 2>&1 | sed -n 's/.*Collected *: *\([0-9][0-9]*\).*/\1/p'
}

platform=$(valgrind -q --tool=none "$program" platform)
if [ "$platform" != Avx2 ]; then
  echo "no AVX2 here but $platform: nothing is compared"
  exit
fi

failed=0 lines=
for case in text markup noise small; do
  now=$(count "$case")
  [ -n "$now" ] && [ "$now" -gt 0 ] || { echo "$case: nothing was counted"; exit 1; }
  lines+="$case"$'\t'"$now"$'\n'
  [ -z "${UPDATE:-}" ] || { echo "$case: $now instructions"; continue; }
  then=$(awk -F'\t' -v case="$case" '$1 == case { print $2 }' "$recorded")
  [ -n "$then" ] || { echo "$case: not recorded in $recorded"; exit 1; }
  awk -v name="$case" -v now="$now" -v then="$then" 'BEGIN {
    printf "%-8s %d instructions, %+.1f %% of what is recorded\n", name, now, 100 * (now - then) / then
    exit now > then * 1.05
  }' || failed=1
done

if [ -n "${UPDATE:-}" ]; then
  printf '%s' "$lines" >"$recorded"
elif [ "$failed" -ne 0 ]; then
  echo "over 5 % more instructions: make it faster, or record with UPDATE=1 $0 and say why"
  exit 1
fi
