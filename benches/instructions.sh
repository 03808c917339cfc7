#!/usr/bin/env bash
# Counts the instructions of digests of fixed inputs and of whole questions of the command, and fails
# if there are over 5 % more than benches/instructions.tsv says. Seconds depend on who else is at
# work; these do not.
#
#   benches/instructions.sh             compares
#   UPDATE=1 benches/instructions.sh    records anew
#
# Each question is asked about two fixed trees, from nothing and again. The command is the one that
# the tests have built, and has one processor: then it works on one thread, and runs differ by
# less than 1 %.
#
# Valgrind knows no AVX-512: what is counted is what processors with AVX2 do. Where there is no AVX2
# nothing is compared.
set -euo pipefail
cd "$(dirname "$0")/.."

recorded=benches/instructions.tsv
target=${CARGO_TARGET_DIR:-target}
cargo build --quiet --release --locked -p resemble-core --example instructions
program=$target/release/examples/instructions
resemble=$target/debug/resemble
[ -x "$resemble" ] || cargo build --quiet --locked --bin resemble

count() { # [VALGRIND'S OPTION...] PROGRAM WORD...
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" 2>&1 >/dev/null |
    sed -n 's/.*Collected *: *\([0-9][0-9]*\).*/\1/p'
}

platform=$(valgrind -q --tool=none "$program" platform)
if [ "$platform" != Avx2 ]; then
  echo "no AVX2 here but $platform: nothing is compared"
  exit
fi

failed=0 lines=
compare() { # CASE INSTRUCTIONS
  local name=$1 now=$2 was
  [ "${now:-0}" -gt 0 ] || { echo "$name: nothing was counted"; exit 1; }
  lines+="$name"$'\t'"$now"$'\n'
  [ -z "${UPDATE:-}" ] || { echo "$name: $now instructions"; return; }
  was=$(awk -F'\t' -v name="$name" '$1 == name { print $2 }' "$recorded")
  [ -n "$was" ] || { echo "$name: not recorded in $recorded"; exit 1; }
  awk -v name="$name" -v now="$now" -v was="$was" 'BEGIN {
    printf "%-13s %d instructions, %+.1f %% of what is recorded\n", name, now, 100 * (now - was) / was
    exit now > was * 1.05
  }' || failed=1
}

folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
"$program" "$folder/trees"
made=$SECONDS

for case in text markup noise small; do
  compare "$case" "$(count --toggle-collect='*counted*' "$program" "$case")"
done

# A younger file is read again by every question.
settled=$((made + 36 - SECONDS))
[ "$settled" -le 0 ] || sleep "$settled"

# One processor of those that are allowed here.
processors=$(taskset -cp $$ | sed 's/.*: //')
taskset -cp "${processors%%[,-]*}" $$ >/dev/null
export HOME=$folder/home XDG_CACHE_HOME=$folder/cache
trees=$folder/trees
for question in "compare $trees/one $trees/two" "covered $trees/one --by $trees/two" \
  "groups $trees" "dirs $trees" "pairs $trees" "find $trees/one/part/3/3 --in $trees"; do
  read -ra words <<<"$question"
  rm -rf "$XDG_CACHE_HOME"
  for time in "" " again"; do
    compare "${words[0]}$time" "$(count "$resemble" --local "${words[@]}")"
  done
done

if [ -n "${UPDATE:-}" ]; then
  printf '%s' "$lines" >"$recorded"
elif [ "$failed" -ne 0 ]; then
  echo "over 5 % more instructions: make it faster, or record with UPDATE=1 $0 and say why"
  exit 1
fi
