#!/usr/bin/env python3
"""T10: families of near-copies, and files under one large header.

    make_families.py TOOLS OUT [--seed 1] [--sizes 300,700,5000] [--words 250] [--strangers 200]
                     [--header-files 5000] [--relatives 50]

OUT/fN/files: N copies of one page among strangers, each with one line of its own in one of eight
places. OUT/header/files: files under one header that is 60 % of each. For each of 5, 15 and 30 %
there are --relatives pairs whose own part differs by that much. truth.tsv of fN has the first copy
with each other; clusters are judged by families.tsv.
"""

from material import Corpus, Language, arguments


def family(options, language, size):
    corpus = Corpus(options.tools, f"{options.out}/f{size}")
    random = corpus.common.rng(options.seed, "T10", size)
    page = language.take(random, options.words)
    lines = [page[at : at + 10] for at in range(0, len(page), 10)]
    places = [len(lines) * part // 9 for part in range(1, 9)]
    for number in range(size):
        own = {places[number % 8]: [f"copy{number}", *language.take(random, 9)]}
        text = "\n".join(" ".join(own.get(at, line)) for at, line in enumerate(lines))
        corpus.put(f"copies/{number // 1000:02}/{number:05}.txt", text.encode() + b"\n", ["page"])
    for number in range(options.strangers):
        text = language.paragraphs(language.take(random, options.words))
        corpus.put(f"others/{number:04}.txt", text.encode(), [f"other{number}"])
    for number in range(1, min(size, 300)):
        corpus.pair(
            "copies/00/00000.txt",
            f"copies/{number // 1000:02}/{number:05}.txt",
            "copy",
            size,
            bytes_too=False,
        )
    corpus.end()


def headers(options, language):
    corpus = Corpus(options.tools, f"{options.out}/header")
    random = corpus.common.rng(options.seed, "T10", "header")
    header = language.paragraphs(language.take(random, 300))
    kept = []

    def put(name, words, bases):
        corpus.put(name, (header + "\n" + language.paragraphs(words)).encode(), bases)

    for number in range(options.header_files):
        words = language.take(random, 200)
        name = f"all/{number // 500:02}/{number:05}.txt"
        put(name, words, [f"own{number}"])
        if len(kept) < 3 * options.relatives:
            kept.append((name, words))
    for number, (name, words) in enumerate(kept):
        percent = (5, 15, 30)[number % 3]
        edited = f"edited/{number:03}-{percent:02}.txt"
        put(edited, language.edit(random, words, percent), [f"own{number}"])
        corpus.pair(name, edited, "own-part-edited", percent, bytes_too=False)
    corpus.end()


def main():
    options = arguments(
        __doc__, sizes="300,700,5000", words=250, strangers=200, header_files=5000, relatives=50
    )
    language = Language("sv")
    for size in options.sizes.split(","):
        family(options, language, int(size))
    headers(options, language)


main()
