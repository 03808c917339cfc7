//! PDF: the words on the pages.
//!
//! A page has no words, only glyphs at places. pdf-extract knows the encodings of fonts and their
//! maps to Unicode, and tells each glyph and its place; [`page`] makes words of them. Where it
//! gives up on a page (it panics on some fonts), lopdf's simpler way is taken for that page.
//!
//! # So that texts compare
//!
//! A PDF is compared with the document that it was made from, by words:
//!
//! * ligatures become letters (`ﬁ`);
//! * a word divided at the end of a line is put together again, if the document divides words: a
//!   hyphen there may as well belong to the word (`thirty-four`), so only a text with hyphens at
//!   the end of more than one line in fifty is taken to.
//!
//! A file with an empty user password opens for everyone; others are encrypted.

mod page;
mod repair;

use std::panic::{AssertUnwindSafe, catch_unwind};

use pdf_extract::{Document, Error};

use crate::read::{Place, Source, Stop, Take, Walk, damaged};
use crate::{Bound, Skipped};

pub(super) fn read(walk: &mut Walk, source: Source<'_>, place: Place) -> Take {
    let bytes = walk.all(&source)?;
    let mut document = open(&bytes)?;
    drop(bytes);
    let most = walk.limits.memory / 4;
    let mut all = String::new();
    for (number, id) in document.get_pages() {
        let page = caught(|| {
            page::simplify(&mut document, id);
            page::text(&document, number)
        });
        let page = page.or_else(|| caught(|| document.extract_text(&[number]).ok()));
        let Some(page) = page else { continue };
        if (all.len() + page.len()) as u64 > most {
            return Err(Bound::Memory.into());
        }
        all.push_str(&page);
        all.push('\n');
    }
    let mut text = walk.text(place);
    words(&all, |piece| text.push(piece))?;
    text.end()
}

fn open(bytes: &[u8]) -> Take<Document> {
    // What stands before the mark is no part of the file.
    let start = memchr::memmem::find(&bytes[..bytes.len().min(1024)], b"%PDF-").unwrap_or(0);
    let bytes = &bytes[start..];
    let mut document = match Document::load_mem(bytes) {
        Ok(document) => document,
        Err(Error::Decryption(_) | Error::InvalidPassword) => {
            return Err(Stop::This(Skipped::Encrypted));
        }
        Err(error) => repair::with_new_table(bytes)
            .and_then(|repaired| Document::load_mem(&repaired).ok())
            .ok_or_else(|| damaged(error))?,
    };
    if document.get_pages().is_empty()
        && let Some(repaired) = repair::with_new_table(bytes)
        && let Ok(better) = Document::load_mem(&repaired)
    {
        document = better;
    }
    if document.is_encrypted() && document.decrypt("").is_err() {
        return Err(Stop::This(Skipped::Encrypted));
    }
    Ok(document)
}

/// What a library gives, unless it panics.
fn caught(read: impl FnOnce() -> Option<String>) -> Option<String> {
    catch_unwind(AssertUnwindSafe(read)).ok().flatten()
}

/// Gives the text with its ligatures as letters and its divided words whole.
fn words(text: &str, mut to: impl FnMut(&str) -> Take) -> Take {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let (mut all, mut divided) = (0usize, 0usize);
    let mut before = lines.next().unwrap_or_default();
    for line in lines {
        all += 1;
        divided += usize::from(is_divided(before, line));
        before = line;
    }
    let joins = divided >= 3 && divided * 50 > all;
    let mut lines = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .peekable();
    while let Some(line) = lines.next() {
        let joined = joins && lines.peek().is_some_and(|next| is_divided(line, next));
        let line = if joined {
            line.trim_end().trim_end_matches(is_hyphen)
        } else {
            line
        };
        let mut rest = line;
        while let Some(at) = rest.find(|character| ligature(character).is_some()) {
            to(&rest[..at])?;
            let Some(character) = rest[at..].chars().next() else {
                break;
            };
            to(ligature(character).unwrap_or_default())?;
            rest = &rest[at + character.len_utf8()..];
        }
        to(rest)?;
        if !joined {
            to("\n")?;
        }
    }
    Ok(())
}

fn is_hyphen(character: char) -> bool {
    matches!(character, '-' | '\u{2010}' | '\u{ad}')
}

/// Whether a word may go on from one line to the next.
fn is_divided(line: &str, next: &str) -> bool {
    let mut end = line.trim_end().chars().rev();
    end.next().is_some_and(is_hyphen)
        && end.next().is_some_and(char::is_alphabetic)
        && next.trim_start().starts_with(char::is_lowercase)
}

/// The letters of a ligature.
fn ligature(character: char) -> Option<&'static str> {
    Some(match character {
        '\u{fb00}' => "ff",
        '\u{fb01}' => "fi",
        '\u{fb02}' => "fl",
        '\u{fb03}' => "ffi",
        '\u{fb04}' => "ffl",
        '\u{fb05}' | '\u{fb06}' => "st",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {

    fn all(text: &str) -> String {
        let mut words = String::new();
        super::words(text, |piece| {
            words.push_str(piece);
            Ok(())
        })
        .unwrap();
        words
    }

    #[test]
    fn ligatures_are_letters() {
        assert_eq!(all("e\u{fb03}cient \u{fb01}n"), "efficient fin\n");
    }

    #[test]
    fn divided_words_are_put_together_where_words_are_divided() {
        let divided = "one exam-\nple of a di-\nvided text with thirty-\nfour lines";
        assert_eq!(
            all(divided),
            "one example of a divided text with thirtyfour lines\n"
        );
        let once = "one of thirty-\nfour lines\nin a text";
        assert_eq!(all(once), format!("{once}\n"));
        assert_eq!(all("A-\nB-\nC-\nD"), "A-\nB-\nC-\nD\n");
    }
}
