#!/usr/bin/env bash
# trees.sh A B [BIN]: `resemble compare A B` and `covered A --by B` beside diff -rq and git, in one
# run, with memory.
#
# From nothing (no daemon, no cache), with a warm cache, and through a daemon that watches both trees. Each
# figure is the least of three. BIN is the folder of the two programs (default target/release).
set -euo pipefail
a=$(readlink -f "${1:?usage: trees.sh A B [BIN]}") b=$(readlink -f "${2:?usage: trees.sh A B [BIN]}")
bin=$(readlink -f "${3:-target/release}")
work=$(mktemp -d)
trap 'kill "${daemon:-}" 2>/dev/null || true; rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache XDG_STATE_HOME=$work/state RESEMBLE_SOCKET=$work/socket

best() { # NAME BEFORE COMMAND...: runs BEFORE and COMMAND three times, prints the least seconds and its memory
  local name=$1 before=$2 least=
  shift 2
  for _ in 1 2 3; do
    eval "$before"
    /usr/bin/time -o "$work/time" -f '%e %M' "$@" >"$work/out" 2>"$work/err" || true
    read -r seconds memory < <(tail -n 1 "$work/time")
    if [ -z "$least" ] || [ "$(echo "$seconds < $least" | bc)" = 1 ]; then least=$seconds kept=$memory; fi
  done
  [ -n "${base:-}" ] || base=$least
  printf '| %s | %s | %s | %d MB |\n' "$name" "$least" "$(echo "scale=2; $least / $base" | bc)" "$((kept / 1024))"
}

find "$a" "$b" -type f -print0 | xargs -0 -P2 cat >/dev/null
printf '| what | seconds | ratio to diff | memory |\n|---|---|---|---|\n'
best 'diff -rq' : diff -rq "$a" "$b"
best 'git diff --no-index -M -C --name-status' : git diff --no-index -M -C --name-status "$a" "$b"
best 'git, no rename limit' : git -c diff.renameLimit=0 diff --no-index -M -C --name-status "$a" "$b"
best 'resemble compare, from nothing' "rm -rf '$work/cache'" "$bin/resemble" --local compare "$a" "$b"
best 'resemble compare, nothing kept' : "$bin/resemble" --local compare --no-cache "$a" "$b"
best 'resemble compare, warm cache' : "$bin/resemble" --local compare "$a" "$b"
best 'resemble compare --format json, warm cache' : "$bin/resemble" --local compare --format json "$a" "$b"
best 'resemble covered, nothing kept' : "$bin/resemble" --local covered --no-cache "$a" --by "$b"
"$bin/resembled" --state "$work/state" --socket "$work/socket" "$a" "$b" 2>"$work/log" &
daemon=$!
until "$bin/resemble" status >/dev/null 2>&1 || [ $? -eq 1 ]; do :; done
"$bin/resemble" sync
best 'resemble compare, daemon' : "$bin/resemble" compare "$a" "$b"
best 'resemble compare --format json, daemon' : "$bin/resemble" compare --format json "$a" "$b"
best 'resemble covered, daemon' : "$bin/resemble" covered "$a" --by "$b"
