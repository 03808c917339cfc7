#!/usr/bin/env bash
# collections.sh DIR NAME...: makes collections of texts of a Debian machine for `resemble lab eval`.
#   code      the standard library of Python
#   fs        the file systems of a Linux kernel, in C (a download of its source package)
#   licences  copyright files and the licences that they name, below 64 KB
#   perl      the modules of Perl
#   texts     READMEs, changelogs and news of packages, below 64 KB
set -euo pipefail
dir=${1:?usage: collections.sh DIR NAME...}; shift

# Copies the files below $1 that `find` selects with the further arguments to $to. Unpacks what ends
# in .gz. With $most, larger files are left out: a few long changelogs would be the collection.
copied() {
  (cd "$1" && find . -type f "${@:2}" -print0 | xargs -0 cp --parents -t "$to")
  find "$to" -name '*.gz' -exec gunzip -f {} +
  [ -z "${most-}" ] || find "$to" -type f -size "+$most" -delete
}

for name in "$@"; do
  to=$(realpath -m "$dir/$name")
  [ ! -e "$to" ] || { echo "$to is there already"; continue; }
  mkdir -p "$to"
  case $name in
    code) copied /usr/lib/python3.* -name '*.py' ;;
    fs)
      work=$(mktemp -d)
      (cd "$work" && apt-get download -qq linux-source-6.1 && dpkg -x ./*.deb .)
      tar -C "$to" --strip-components=2 --wildcards -xf "$work"/usr/src/linux-source-6.1.tar.xz '*/fs/*.[ch]'
      rm -rf "$work" ;;
    licences) most=63k copied /usr/share \( -path './common-licenses/*' -o -path './doc/*/copyright' \) ;;
    perl) copied /usr/share/perl ;;
    texts) most=63k copied /usr/share/doc \( -iname 'readme*' -o -iname 'changelog*' -o -iname 'news*' \) ;;
    *) echo "collections.sh: no collection is called $name" >&2; exit 2 ;;
  esac
  echo "$to: $(find "$to" -type f | wc -l) files"
done
