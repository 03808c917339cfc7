#!/usr/bin/env python3
"""T14: the same modules of two builds of a kernel (or the same libraries of two versions of packages), by name.

    make_code.py TOOLS OUT OLD NEW [--seed 1] [--count 500] [--ending .ko]

OLD and NEW are two trees, such as two `dpkg -x` of linux-image packages. A file of one is the same module as the file
of the other with the same path below the folder with the version in its name. Files are copied to OUT/files/a and b.
"""

import os
import re
import sys
from pathlib import Path

from material import Corpus, arguments

VERSION = re.compile(r"\d+\.\d+\.\d+[^/]*")


def modules(top, ending):
    found = {}
    for folder, _, names in os.walk(top):
        for name in names:
            path = Path(folder) / name
            if (
                (name.endswith(ending) or ending == ".so" and ".so." in name)
                and path.is_file()
                and not path.is_symlink()
                and path.stat().st_size <= 400_000
            ):
                key = VERSION.sub("*", str(path.relative_to(top)))
                found[key] = path
    return found


def main():
    # Two positional arguments more than other makers have.
    old, new = sys.argv[3:5] if len(sys.argv) > 4 else ("", "")
    if len(sys.argv) > 4:
        del sys.argv[3:5]
    options = arguments(__doc__, count=500, ending=".ko")
    corpus = Corpus(options.tools, options.out)
    one, other = modules(old, options.ending), modules(new, options.ending)
    both = sorted(set(one) & set(other))
    random = corpus.common.rng(options.seed, "T14")
    nothing = corpus.common.shingles(b"")
    cover, grams = corpus.common.cover, corpus.common.gram_set
    for key in random.sample(both, min(options.count, len(both))):
        name = key.rsplit("*/", 1)[-1]
        a, b = one[key].read_bytes(), other[key].read_bytes()
        corpus.put(f"a/{name}", a, [name])
        corpus.put(f"b/{name}", b, [name])
        long = cover(a, grams(b)), cover(b, grams(a))
        corpus.rows.append(
            corpus.common.row(
                f"a/{name}", f"b/{name}", "same_module", 0, (1, 1), long, long, nothing, nothing
            )
        )
    corpus.end()


main()
