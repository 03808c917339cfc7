#!/usr/bin/env python3
"""T9: edited copies of texts in 19 languages and 20 encodings.

    make_languages.py TOOLS OUT [--seed 1] [--words 900]

Of each language there are two texts, of each text copies with 0 to 30 % of the words edited, one in HTML and one in a
UTF-16 file. Copies take turns with the encodings of the language. All texts have the same dates and numbers in the same
places and their pages the same markup: strangers share these only. Truth is about the words, whatever the encoding.
"""

from material import Corpus, Language, arguments

LANGUAGES = {
    "en": ("utf-8", "ascii"),
    "de": ("utf-8", "iso8859-1", "cp1252"),
    "fr": ("utf-8", "iso8859-15"),
    "pl": ("utf-8", "iso8859-2", "cp1250"),
    "tr": ("utf-8", "iso8859-9"),
    "el": ("utf-8", "iso8859-7"),
    "ru": ("utf-8", "koi8-r", "cp1251"),
    "uk": ("utf-8", "cp1251"),
    "he": ("utf-8", "cp1255"),
    "ar": ("utf-8", "cp1256"),
    "hi": ("utf-8",),
    "ta": ("utf-8",),
    "ka": ("utf-8",),
    "th": ("utf-8", "tis-620"),
    "km": ("utf-8",),
    "ja": ("utf-8", "shift_jis", "euc-jp"),
    "zh_CN": ("utf-8", "gb18030"),
    "zh_TW": ("utf-8", "big5"),
    "ko": ("utf-8", "euc-kr"),
}
EDITED = (0, 1, 5, 10, 20, 30)  # % of the words
LINE = 11  # words between two numbers


def numbered(language, words):
    """Lines with the numbers that all texts have."""
    lines = []
    for at in range(0, len(words), LINE):
        number = at // LINE
        line = language.between.join(words[at : at + LINE])
        lines.append(f"{number + 1}. {line} ({number * 37 % 97},{number * 13 % 90 + 10})")
    return lines


def page(lines):
    rows = "\n".join(
        f'<tr class="row" id="r{at}"><td style="width:40%"><span class="cell text">{line}</span></td></tr>'
        for at, line in enumerate(lines)
    )
    head = '<!DOCTYPE html>\n<html><head><meta charset="utf-8"></head><body class="page" id="top"><table border="0" cellpadding="4">'
    return f"{head}\n{rows}\n</table></body></html>\n"


def main():
    options = arguments(__doc__, words=900)
    corpus = Corpus(options.tools, options.out)
    for code, encodings in LANGUAGES.items():
        language = Language(code, encodings)
        for number in range(2):
            family = f"{code}{number}"
            random = corpus.common.rng(options.seed, "T9", family)
            words = language.take(random, options.words if language.between else options.words // 2)
            original = f"{code}/{number}-00.utf-8.txt"

            def put(name, text, encoding, markup=None):
                data = (markup or text).encode(encoding)
                corpus.put(name, data, [family], text.encode())
                return name

            text = "\n".join(numbered(language, words)) + "\n"
            put(original, text, "utf-8")
            for at, percent in enumerate(EDITED):
                edited = numbered(language, language.edit(random, words, percent))
                text = "\n".join(edited) + "\n"
                turn = encodings[(at + 1) % len(encodings)] if percent else encodings[-1]
                if percent:
                    name = put(f"{code}/{number}-{percent:02}.{turn}.txt", text, turn)
                    corpus.pair(original, name, f"{code}-{turn}", percent)
                elif len(encodings) > 1:
                    name = put(f"{code}/{number}-{percent:02}.{turn}.txt", text, turn)
                    corpus.pair(original, name, f"{code}-{turn}", percent)
                if percent == 10:
                    name = put(f"{code}/{number}-{percent:02}.utf-16.txt", text, "utf-16")
                    corpus.pair(original, name, f"{code}-utf-16", percent)
                if percent == 5:
                    name = put(
                        f"{code}/{number}-{percent:02}.utf-8.html", text, "utf-8", page(edited)
                    )
                    corpus.pair(original, name, f"{code}-html", percent)
    corpus.end()


main()
