#!/usr/bin/env python3
"""T12: quotations of texts of 5 KB to 10 MB, alone and inside another text.

    make_quotations.py TOOLS OUT [--seed 1] [--sizes 5000:100,60000:100,1000000:12,10000000:3]
                       [--languages en,de,ru]

OUT/files: a number of texts of each size; ten of the texts of 60 KB are also in a zip and in a
tar.gz. OUT/queries: extracts of 300 to 3,000 bytes, alone (a-) and in the middle of 3,000 bytes of
other words (i-), cut at the end of a word. queries.tsv: query, the file that holds it, bytes, size
of the text, alone or inside.
"""

import io
import tarfile
import zipfile

from material import Corpus, Language, arguments

LENGTHS = (300, 500, 700, 1000, 3000)


def extract(random, data, length):
    start = random.randrange(max(1, len(data) - length - 200))
    start = data.find(b" ", start) + 1
    end = data.find(b" ", start + length)
    return data[start:end]


def main():
    options = arguments(
        __doc__, sizes="5000:100,60000:100,1000000:12,10000000:3", languages="en,de,ru"
    )
    corpus = Corpus(options.tools, options.out)
    languages = [Language(code) for code in options.languages.split(",")]
    asked = [["query", "source", "bytes", "size", "how"]]
    packed = []
    for size, count in (map(int, part.split(":")) for part in options.sizes.split(",")):
        for number in range(count):
            random = corpus.common.rng(options.seed, "T12", size, number)
            language = languages[number % len(languages)]
            text = b""
            while len(text) < size:
                text += language.paragraphs(
                    language.take(random, 1 + (size - len(text)) // 6)
                ).encode()
            text = text[: text.rfind(b" ", 0, size)] + b"\n"
            name = f"{size}/{number:03}.txt"
            corpus.put(name, text, [name])
            if size == 60000 and number < 10:
                packed.append((name, text))
            every = 1 if count > 12 else 5
            for length in LENGTHS:
                for turn in range(every):
                    quoted = extract(random, text, length)
                    around = language.paragraphs(language.take(random, 600)).encode()[:3000]
                    around = around[: around.rfind(b" ")]
                    middle = around.find(b" ", len(around) // 2)
                    inside = around[:middle] + b"\n\n" + quoted + b"\n\n" + around[middle + 1 :]
                    for how, data in (("alone", quoted), ("inside", inside)):
                        query = f"{size}-{number:03}-{turn}-{length}-{how}.txt"
                        corpus.common.write(corpus.out / "queries" / query, data + b"\n")
                        asked.append([query, name, str(length), str(size), how])
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, text in packed:
            zipped.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)
    corpus.put("packed/texts.zip", archive.getvalue(), [name for name, _ in packed])
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        for name, text in packed:
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text))
    corpus.put("packed/texts.tar.gz", archive.getvalue(), [name for name, _ in packed])
    corpus.common.write_tsv(corpus.out / "queries.tsv", asked[0], asked[1:])
    corpus.end()


main()
