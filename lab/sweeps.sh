#!/usr/bin/env bash
# sweeps.sh DIR REPOSITORY PATHS DATE...: makes a folder DIR/DATE for each date, for
# `resemble lab eval sweeps`. It has the files that a Git clone had then at PATHS (a pathspec).
# lab/results has the first of January of 2020 to 2026 of:
#   eips  github.com/ethereum/EIPs            EIPS
#   keps  github.com/kubernetes/enhancements  ':(glob)keps/**/*.md'
#   spdx  github.com/spdx/license-list-XML    src
set -euo pipefail
usage='usage: sweeps.sh DIR REPOSITORY PATHS DATE...'
dir=${1:?$usage} repository=${2:?$usage} paths=${3:?$usage}; shift 3
for date in "${@:?$usage}"; do
  commit=$(git -C "$repository" rev-list -1 --first-parent --before="${date}T00:00:00Z" HEAD)
  mkdir -p "$dir/$date"
  git -C "$repository" archive "${commit:?no commit before $date}" -- "$paths" |
    tar -C "$dir/$date" -x
  echo "$dir/$date: $(find "$dir/$date" -type f | wc -l) files of $commit"
done
