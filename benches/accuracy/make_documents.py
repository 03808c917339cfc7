#!/usr/bin/env python3
"""T11: one text in two versions, as docx, odt, pdf, html, epub, rtf, eml and plain text.

    make_documents.py TOOLS OUT [--seed 1] [--texts 8] [--words 1500]

A pdf has one or two columns, hyphenated. Every document has the same template: styles, fonts,
thumbnails and scripts of 20 to 60 KB. A tenth of the words of the second version are edited.
OUT/files/doc: the documents. OUT/files/packed: a zip, a tar.gz and a mail with an attached zip,
each with one document of three texts. truth.tsv has every two documents of one text; texts/ has the
texts.
"""

import base64
import gzip
import html
import io
import tarfile
import zipfile

from material import Corpus, Language, arguments

LANGUAGES = ("de", "en", "fr", "es")
ENCODING = "cp1252"  # characters of the standard fonts of a PDF
# Widths of Helvetica, in thousandths, for breaking lines; missing ones are 556.
NARROW = (
    dict.fromkeys("ijl'", 222)
    | dict.fromkeys("It!.,:;/ f\u00ed\u00ec\u00ee\u00ef", 278)
    | dict.fromkeys("r()-", 333)
    | dict.fromkeys("mM", 833)
    | {"w": 722, "W": 944}
)


class Template:
    """The common parts of all documents of one program."""

    def __init__(self, random):
        def names(count):
            return [
                "".join(
                    random.choice("abcdefghijklmnopqrstuvwxyz")
                    for _ in range(random.randrange(4, 10))
                )
                for _ in range(count)
            ]

        self.styles = "".join(
            f'<w:style w:type="paragraph" w:styleId="{name}"><w:name w:val="{name} body"/><w:pPr><w:spacing w:before="{random.randrange(400)}"/></w:pPr></w:style>'
            for name in names(200)
        )
        self.odf = "".join(
            f'<style:style style:name="{name}" style:family="paragraph"><style:text-properties fo:font-size="{random.randrange(6, 30)}pt"/></style:style>'
            for name in names(200)
        )
        self.css = "".join(
            f".{name} {{ margin: {random.randrange(40)}px; color: #{random.randrange(0x1000000):06x}; }}\n"
            for name in names(300)
        )
        self.script = "".join(
            f"function {name}(a, b) {{ return a * {random.randrange(999)} + b; }}\n"
            for name in names(100)
        )
        self.font, self.picture = random.randbytes(40_000), random.randbytes(20_000)
        self.rtf = "".join(
            f"{{\\s{at}\\sb{random.randrange(400)} {name};}}" for at, name in enumerate(names(200))
        )


def zipped(parts, compressed=True):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts:
            how = zipfile.ZIP_DEFLATED if compressed and name != "mimetype" else zipfile.ZIP_STORED
            archive.writestr(zipfile.ZipInfo(name), data, how)
    return out.getvalue()


def docx(template, blocks):
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    body = "".join(
        f'<w:p><w:pPr><w:pStyle w:val="body"/></w:pPr><w:r><w:rPr><w:sz w:val="22"/></w:rPr><w:t xml:space="preserve">{html.escape(" ".join(block), quote=False)}</w:t></w:r></w:p>'
        for block in blocks
    )
    types = '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
    rels = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>'
    return zipped(
        [
            ("[Content_Types].xml", types),
            ("_rels/.rels", rels),
            ("word/document.xml", f"<w:document {space}><w:body>{body}</w:body></w:document>"),
            ("word/styles.xml", f"<w:styles {space}>{template.styles}</w:styles>"),
            ("word/fonts/font1.odttf", template.font),
            ("docProps/thumbnail.jpeg", template.picture),
        ]
    )


def odt(template, blocks):
    space = 'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0" xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0"'
    body = "".join(
        f'<text:p text:style-name="body">{html.escape(" ".join(block), quote=False)}</text:p>'
        for block in blocks
    )
    kind = "application/vnd.oasis.opendocument.text"
    manifest = f'<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/><manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/></manifest:manifest>'
    return zipped(
        [
            ("mimetype", kind),
            (
                "content.xml",
                f"<office:document-content {space}><office:body><office:text>{body}</office:text></office:body></office:document-content>",
            ),
            (
                "styles.xml",
                f"<office:document-styles {space}><office:styles>{template.odf}</office:styles></office:document-styles>",
            ),
            ("Thumbnails/thumbnail.png", template.picture),
            ("META-INF/manifest.xml", manifest),
        ]
    )


def page(template, blocks):
    body = "\n".join(
        f'<p class="body">{html.escape(" ".join(block), quote=False)}</p>' for block in blocks
    )
    return f'<!DOCTYPE html>\n<html><head><meta charset="utf-8"><style>\n{template.css}</style>\n<script>\n{template.script}</script></head><body class="page">\n{body}\n</body></html>\n'


def epub(template, blocks):
    half = len(blocks) // 2
    chapter = (
        lambda part: f'<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title></title></head><body>'
        + "".join(f"<p>{html.escape(' '.join(block), quote=False)}</p>" for block in part)
        + "</body></html>"
    )
    container = '<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
    items = "".join(
        f'<item id="c{at}" href="c{at}.xhtml" media-type="application/xhtml+xml"/>' for at in (1, 2)
    )
    opf = f'<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata/><manifest>{items}<item id="s" href="style.css" media-type="text/css"/></manifest><spine><itemref idref="c1"/><itemref idref="c2"/></spine></package>'
    return zipped(
        [
            ("mimetype", "application/epub+zip"),
            ("META-INF/container.xml", container),
            ("OEBPS/book.opf", opf),
            ("OEBPS/style.css", template.css),
            ("OEBPS/c1.xhtml", chapter(blocks[:half])),
            ("OEBPS/c2.xhtml", chapter(blocks[half:])),
            ("OEBPS/font.otf", template.font),
        ]
    )


def rtf(template, blocks):
    def escaped(text):
        return "".join(
            (
                character
                if ord(character) < 128 and character not in "\\{}"
                else f"\\{character}" if character in "\\{}" else f"\\u{ord(character)}?"
            )
            for character in text
        )

    body = "".join(f"\\pard\\s1 {escaped(' '.join(block))}\\par\n" for block in blocks)
    return f"{{\\rtf1\\ansi\\ansicpg1252\\deff0{{\\fonttbl{{\\f0 Helvetica;}}}}{{\\stylesheet{template.rtf}}}\n{body}}}"


def mail(template, blocks, attached=None):
    text = "\n\n".join(
        "\n".join(" ".join(block[at : at + 12]) for at in range(0, len(block), 12))
        for block in blocks
    )
    head = "From: Anna <anna@example.org>\nTo: Ben <ben@example.org>\nDate: Mon, 2 Mar 2026 10:00:00 +0100\nMessage-ID: <1@example.org>\nMIME-Version: 1.0\n"
    plain = (
        "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n" + text + "\n"
    )
    if attached is None:
        return head + plain
    name, data = attached
    lines = base64.encodebytes(data).decode()
    part = f'Content-Type: application/zip; name="{name}"\nContent-Disposition: attachment; filename="{name}"\nContent-Transfer-Encoding: base64\n\n{lines}'
    return f'{head}Content-Type: multipart/mixed; boundary="=bound"\n\n--=bound\n{plain}\n--=bound\n{part}\n--=bound--\n'


def broken(words, width, hyphenated):
    """Returns lines of at most that width; a long word at the start of a line is hyphenated."""
    size = lambda text: sum(NARROW.get(character, 556) for character in text) / 100
    lines, line = [], ""
    for word in words:
        longer = f"{line} {word}" if line else word
        if size(longer) <= width:
            line = longer
            continue
        cut = (
            next(
                (
                    at
                    for at in range(len(word) - 3, 2, -1)
                    if word[:at].isalpha()
                    and word.isalpha()
                    and size(f"{line} {word[:at]}-") <= width
                ),
                None,
            )
            if hyphenated
            else None
        )
        if cut and line:
            lines.append(f"{line} {word[:cut]}-")
            line = word[cut:]
        else:
            lines.append(line)
            line = word
    return lines + [line]


def pdf(template, blocks, columns=1, hyphenated=False):
    width = 480 if columns == 1 else 225
    lines = []
    for block in blocks:
        lines += broken(block, width, hyphenated) + [""]
    height, streams = 54, []
    for at in range(0, len(lines), height * columns):
        drawn = []
        for column in range(columns):
            here = lines[at + column * height : at + (column + 1) * height]
            for row, line in enumerate(here):
                if line:
                    shown = (
                        line.encode(ENCODING)
                        .replace(b"\\", b"\\\\")
                        .replace(b"(", b"\\(")
                        .replace(b")", b"\\)")
                    )
                    drawn.append(
                        b"BT /F1 10 Tf %d %d Td (%s) Tj ET"
                        % (60 + column * 255, 770 - 13 * row, shown)
                    )
        streams.append(b"\n".join(drawn))
    kids = " ".join(f"{5 + 2 * at} 0 R" for at in range(len(streams)))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Kids[{kids}]/Count {len(streams)}>>".encode(),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
        b"<</Length %d>>\nstream\n%s\nendstream" % (len(template.font), template.font),
    ]
    for at, stream in enumerate(streams):
        objects.append(
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents {6 + 2 * at} 0 R/Resources<</Font<</F1 3 0 R>>>>>>".encode()
        )
        objects.append(b"<</Length %d>>\nstream\n%s\nendstream" % (len(stream), stream))
    out, offsets = bytearray(b"%PDF-1.4\n"), []
    for at, each in enumerate(objects):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (at + 1, each)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + b"".join(
        b"%010d 00000 n \n" % offset for offset in offsets
    )
    out += b"trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, table)
    return bytes(out)


def forms(template, blocks):
    yield "txt", "\n\n".join(" ".join(block) for block in blocks) + "\n"
    yield "docx", docx(template, blocks)
    yield "odt", odt(template, blocks)
    yield "one.pdf", pdf(template, blocks)
    yield "two.pdf", pdf(template, blocks, 2)
    yield "hyphens.pdf", pdf(template, blocks, 2, True)
    yield "html", page(template, blocks)
    yield "epub", epub(template, blocks)
    yield "rtf", rtf(template, blocks)
    yield "eml", mail(template, blocks)


def main():
    options = arguments(__doc__, texts=8, words=1500)
    corpus = Corpus(options.tools, options.out)
    template = Template(corpus.common.rng(options.seed, "T11", "template"))
    languages = [Language(code, ("utf-8", ENCODING)) for code in LANGUAGES]
    made = {}
    for number in range(options.texts):
        random = corpus.common.rng(options.seed, "T11", number)
        language = languages[number % len(languages)]
        words = [word for word in language.take(random, 2 * options.words) if word.strip("-")][
            : options.words
        ]
        names = []
        for version, text in enumerate((words, language.edit(random, words, 10)), 1):
            blocks = [text[at : at + 60] for at in range(0, len(text), 60)]
            plain = " ".join(text).encode()
            for form, data in forms(template, blocks):
                name = f"doc/{number}-v{version}.{form}"
                data = data.encode() if isinstance(data, str) else data
                corpus.put(name, data, [str(number)], plain)
                made[number, version, form] = data
                for other in names:
                    versions = "two versions" if f"-v{version}." not in other else "one text"
                    kinds = sorted((other.split(".", 1)[1], form))
                    corpus.pair(
                        other, name, f"{versions}: {' and '.join(kinds)}", number, bytes_too=False
                    )
                names.append(name)
    for at in range(0, options.texts - 2, 3):
        chosen = [(at, 1, "docx"), (at + 1, 1, "odt"), (at + 2, 1, "one.pdf")]
        parts = [
            (f"papers/{number}.{form}", made[number, version, form])
            for number, version, form in chosen
        ]
        family = [str(number) for number, _, _ in chosen]
        archive = zipped(parts)
        corpus.put(f"packed/{at}.zip", archive, family)
        tar = io.BytesIO()
        with tarfile.open(fileobj=tar, mode="w") as out:
            for name, data in parts:
                info = tarfile.TarInfo(name)
                info.size = len(data)
                out.addfile(info, io.BytesIO(data))
        corpus.put(f"packed/{at}.tar.gz", gzip.compress(tar.getvalue(), mtime=0), family)
        corpus.put(
            f"packed/{at}.eml",
            mail(template, [["see", "the", "attached", "papers"]], (f"{at}.zip", archive)).encode(),
            family,
        )
    corpus.end()


main()
