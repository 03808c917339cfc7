//! The layout of the lines of a file: usually prose or code, sometimes rows of a table or lines of
//! encoded data.
//!
//! # Rows
//!
//! Texts are compared by runs of five words. If lines have fewer words, every run crosses a line
//! end. A reordered copy of such a table then has no run in common with the original. So the rows
//! of such a table are compared as wholes ([`RowReader`]).
//!
//! A row is a line of two to four words. Signs or several blanks separate the words. A single blank
//! shows that the line is a sentence, unless signs form columns. A line that is a single number or
//! digest is a row, too. A text is a table if nine of ten lines with words are rows, and there are
//! at least eight rows. Nine of ten rows must be distinct, and three of four rows must be
//! *distinctive*. Poems, prose, code and lists of words are not tables.
//!
//! A row is distinctive if its words that are not common in the table have at least [`TELLING`]
//! letters in total. At most [`OF_ONE`] letters of each word count. A row such as `17;open` occurs
//! in two tables by chance.
//!
//! # Encoded data
//!
//! The program that writes base64 or hexadecimal digits chooses where the lines end. A file is
//! encoded data if nine of ten bytes are in lines of such characters without blanks. Three of four
//! of these bytes must be in lines of equal length. Encoded data has no words, and is compared
//! without its line ends ([`joined`]). A column of digests of equal length is a table.
//!
//! The first [`DECIDED`] bytes of a file decide its layout. For nearly all files the first
//! [`GLANCE`] bytes already show that the layout is plain.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::hash::shingles::{SHINGLE, ShingleChain, hash};
use crate::words::{CollectedWords, Folding, Sink, Tokenizer};

/// The number of bytes at the start of a file that decide its layout.
pub(crate) const DECIDED: usize = 64 << 10;

/// The first bytes of a file show whether its layout needs to be decided at all. This is their
/// number.
pub(crate) const GLANCE: usize = 4 << 10;

/// The minimum number of rows of a table, and of lines that are examined.
const LEAST_ROWS: usize = 8;

/// The minimum total number of letters in the uncommon words of a distinctive row.
const TELLING: u32 = 7;

/// The maximum number of letters of a word that count towards [`TELLING`]. `MORE` letters are added
/// for a word that is not a plain number.
const OF_ONE: u32 = 8;
const MORE: u32 = 2;

/// A word is common if more than one in `COMMON_IN` rows has it, and more than two rows have it.
const COMMON_IN: usize = 50;

/// The minimum length of a full line of encoded data, and of a file of encoded data.
const LEAST_LINE: usize = 40;
const LEAST_ENCODED: usize = 256;

/// A word of at least this many letters and digits may be a digest.
const DIGEST: usize = 16;

/// The maximum number of words of a row that is compared as a whole. Longer rows contain runs of
/// five words.
const SHORT: usize = SHINGLE - 1;

/// The maximum number of bytes of a line that are buffered when a table arrives in pieces.
const LONGEST_LINE: usize = 64 << 10;

/// The layout of the lines of a file.
#[derive(Clone, Debug, Default)]
pub(crate) enum LineLayout {
    /// Neither a table nor encoded data.
    #[default]
    Plain,
    Table(RowReader),
    Encoded,
}

impl LineLayout {
    /// Returns the layout of a file, determined from all its bytes or from the first [`DECIDED`]
    /// bytes.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let is_whole = bytes.len() < DECIDED;
        let head = &bytes[..bytes.len().min(DECIDED)];
        if !is_worth_deciding(&head[..head.len().min(GLANCE)]) {
            Self::Plain
        } else if is_encoded(head, is_whole) {
            Self::Encoded
        } else {
            let complete = if is_whole { head } else { without_last(head) };
            RowReader::of(complete).map_or(Self::Plain, Self::Table)
        }
    }
}

/// Returns whether a file with this beginning may have another layout than [`LineLayout::Plain`].
pub(crate) fn is_worth_deciding(glance: &[u8]) -> bool {
    let lines = if glance.len() < GLANCE {
        glance
    } else {
        without_last(glance)
    };
    let (mut all, mut rows) = (0, 0);
    for line in lines_of(lines) {
        all += 1;
        rows += usize::from(is_row(line));
        // If most of the first lines are not rows, the text is prose, and the other lines are not
        // examined.
        if all >= LEAST_ROWS && 2 * rows < all {
            break;
        }
    }
    // Encoded data may be one long line, so the number of lines does not show whether the bytes are
    // encoded data.
    4 * rows >= 3 * all && all >= LEAST_ROWS || is_mostly_solid(glance)
}

/// Returns the hashes by which a table is compared, distinct and ascending. They are the hashes of
/// its distinctive rows, and of the runs of five words in longer rows. `None` if the text is not a
/// table.
pub fn rows_of(bytes: &[u8]) -> Option<Vec<u64>> {
    let LineLayout::Table(reader) = LineLayout::of(bytes) else {
        return None;
    };
    let rows = reader.rows(bytes).into_iter();
    let mut rows: Vec<u64> = rows.flat_map(|row| row.shingles).collect();
    rows.sort_unstable();
    rows.dedup();
    Some(rows)
}

/// Returns the places of the rows that [`rows_of`] hashes, without blanks around them. `None` if
/// the text is not a table.
pub fn telling_rows(bytes: &[u8]) -> Option<Vec<Range<usize>>> {
    let LineLayout::Table(reader) = LineLayout::of(bytes) else {
        return None;
    };
    let mut read = RowWords::default();
    let (mut rows, mut at) = (Vec::new(), 0);
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        let row = line.trim_ascii();
        let start = at + line.len() - line.trim_ascii_start().len();
        let mut is_telling = false;
        reader.row(row, &mut read, &mut |_| is_telling = true);
        if is_telling {
            rows.push(start..start + row.len());
        }
        at += line.len();
    }
    Some(rows)
}

/// Returns the places of the rows that have fewer than five words and whose hash `has` accepts. A
/// text that is not a table has no such rows.
pub(crate) fn short_rows(bytes: &[u8], has: impl Fn(u64) -> bool) -> Vec<Range<usize>> {
    let LineLayout::Table(reader) = LineLayout::of(bytes) else {
        return Vec::new();
    };
    let mut read = RowWords::default();
    let (mut rows, mut at) = (Vec::new(), 0);
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        let mut is_found = false;
        reader.row(line.trim_ascii(), &mut read, &mut |row| is_found = has(row));
        if is_found && read.words.len() <= SHORT {
            rows.push(at..at + line.len());
        }
        at += line.len();
    }
    rows
}

/// Returns encoded data without its line ends; `None` for anything else.
pub(crate) fn joined(bytes: &[u8]) -> Option<Vec<u8>> {
    is_encoded_data(bytes).then(|| without_line_ends(bytes).into_owned())
}

/// Returns whether the bytes are encoded data, which has no words.
pub(crate) fn is_encoded_data(bytes: &[u8]) -> bool {
    matches!(LineLayout::of(bytes), LineLayout::Encoded)
}

pub(crate) fn without_line_ends(bytes: &[u8]) -> Cow<'_, [u8]> {
    let is_end = |byte: u8| matches!(byte, b'\n' | b'\r');
    if !bytes.iter().any(|&byte| is_end(byte)) {
        return Cow::Borrowed(bytes);
    }
    let mut all = bytes.to_vec();
    all.retain(|&byte| !is_end(byte));
    Cow::Owned(all)
}

/// Returns the bytes up to the last line end.
fn without_last(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|&byte| byte == b'\n');
    &bytes[..end.map_or(0, |end| end + 1)]
}

/// Returns the lines that are not blank.
fn lines_of(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = bytes.split(|&byte| byte == b'\n');
    lines
        .map(<[u8]>::trim_ascii)
        .filter(|line| !line.is_empty())
}

const fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 128
}

/// Returns whether a line is a row: a single number or digest, or two to four words that are
/// separated by signs or by several blanks. A single blank between two words marks a sentence,
/// unless other signs form columns. A line that ends with a comma or a semicolon is code.
fn is_row(line: &[u8]) -> bool {
    let (mut words, mut has_digits) = (0, false);
    let (mut is_set_apart, mut blanks) = (false, 0);
    let (mut is_sentence, mut has_columns) = (false, false);
    let mut before = b'\n';
    for &byte in line {
        if is_letter(byte) {
            if !is_letter(before) {
                is_sentence |= words > 0 && !is_set_apart && blanks == 1;
                words += 1;
                (is_set_apart, blanks) = (false, 0);
            }
            has_digits |= byte.is_ascii_digit();
        } else {
            match byte {
                b' ' => blanks += 1,
                b',' | b';' | b'|' | b'\t' | b':' | b'@' | b'.' | b'/' | b'-' | b'+' | b'"'
                | b'\'' | b'$' | b'%' | b'&' => is_set_apart = true,
                _ => return false,
            }
        }
        has_columns |= byte == b'\t' || matches!(before, b',' | b';' | b'|') && byte != b' ';
        if words > SHORT {
            return false;
        }
        before = byte;
    }
    // A single word is a row only if it is a number or a digest.
    let is_number = words == 1
        && has_digits
        && (line.len() >= DIGEST || line.iter().all(|byte| !byte.is_ascii_alphabetic()));
    (is_number || words > 1) && (!is_sentence || has_columns) && !matches!(before, b',' | b';')
}

/// Returns whether eight of ten bytes are in lines of [`LEAST_LINE`] or more characters of encoded
/// data.
fn is_mostly_solid(bytes: &[u8]) -> bool {
    let enough = |solid: usize| solid * 10 >= bytes.len() * 8;
    let mut solid = 0;
    let mut rest = bytes;
    // Each line counts with its line end, even the last line. The loop ends as soon as too few
    // bytes are left. In prose, this is after a fifth of the bytes.
    while !rest.is_empty() && enough(solid + rest.len() + 1) {
        let end = rest.iter().position(|&byte| byte == b'\n');
        let (line, behind) = rest.split_at(end.unwrap_or(rest.len()));
        let line = line.trim_ascii();
        if line.len() >= LEAST_LINE && is_solid(line) {
            solid += line.len() + 1;
        }
        rest = behind.get(1..).unwrap_or_default();
    }
    enough(solid)
}

fn is_solid(line: &[u8]) -> bool {
    line.iter().all(|&byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_')
    })
}

fn is_encoded(head: &[u8], is_whole: bool) -> bool {
    let mut lines = lines_of(head).filter(|line| line.len() >= LEAST_LINE && is_solid(line));
    let Some(length) = lines.next().map(<[u8]>::len) else {
        return false;
    };
    let (mut full, mut taken, mut hex) = (0, 0, true);
    let mut last = 0;
    for line in lines_of(head).filter(|line| is_solid(line)) {
        last = line.len();
        if last <= length {
            full += usize::from(last == length);
            // A shorter line counts as well, because it may be the last line of a block of encoded
            // data.
            taken += last + 1;
            hex &= line.iter().all(u8::is_ascii_hexdigit);
        }
    }
    let of_digests = match length {
        // Lines as long as SHA-1 or SHA-224 in hexadecimal digits.
        40 | 56 => true,
        64 | 96 | 128 => is_whole && last == length,
        _ => false,
    };
    let is_list = hex && of_digests && full > 1;
    !is_list
        && head.len() >= LEAST_ENCODED
        && taken * 10 >= head.len() * 9
        && full * length * 4 >= taken * 3
}

#[derive(Default)]
struct RowWords {
    folding: Folding,
    letters: u32,
    has_more_than_digits: bool,
    bytes: u32,
    /// The words of the row. Each has its hash, the number of its letters that count, and its end.
    /// The end is in bytes of UTF-8, including one byte for each separator.
    words: Vec<(u64, u32, u32)>,
}

impl RowWords {
    fn of(&mut self, line: &[u8]) {
        self.words.clear();
        self.bytes = 0;
        let mut tokens = Tokenizer::without_markup();
        tokens.update(line, self);
        tokens.finish(self);
    }

    fn word(&mut self, separator: u32) {
        if let Some(word) = self.folding.take_word() {
            let is_more = std::mem::take(&mut self.has_more_than_digits);
            let letters = std::mem::take(&mut self.letters) + if is_more { MORE } else { 0 };
            self.bytes += separator;
            self.words.push((word, letters.min(OF_ONE), self.bytes));
        }
    }
}

impl Sink for RowWords {
    fn letter(&mut self, letter: u32) {
        self.folding.letter(letter);
        self.letters += 1;
        self.has_more_than_digits |= !matches!(letter, 0x30..=0x39);
        self.bytes += char::from_u32(letter).map_or(1, char::len_utf8) as u32;
    }

    fn end_word(&mut self) {
        self.word(1);
    }

    fn break_word(&mut self) {
        self.word(0);
    }
}

/// Reads the rows of a table one by one.
#[derive(Clone, Debug)]
pub(crate) struct RowReader {
    /// The hashes of the words that many rows have.
    common: HashSet<u64>,
    /// The current row, when a table arrives in pieces.
    line: Vec<u8>,
}

impl RowReader {
    /// Makes a reader for the table that begins with these lines. `None` if the lines are not the
    /// beginning of a table.
    fn of(lines: &[u8]) -> Option<Self> {
        let (mut all, mut rows) = (0usize, 0);
        let mut read = RowWords::default();
        let mut in_rows: HashMap<u64, usize> = HashMap::new();
        let mut distinct = HashSet::new();
        let mut words: Vec<Vec<(u64, u32)>> = Vec::new();
        for line in lines_of(lines).filter(|line| line.iter().any(|&byte| is_letter(byte))) {
            all += 1;
            if !is_row(line) {
                continue;
            }
            rows += 1;
            read.of(line);
            let of_row: Vec<(u64, u32)> = read
                .words
                .iter()
                .map(|&(word, letters, _)| (word, letters))
                .collect();
            let of_row_alone: HashSet<u64> = of_row.iter().map(|&(word, _)| word).collect();
            for word in of_row_alone {
                *in_rows.entry(word).or_default() += 1;
            }
            distinct.insert(of_row.iter().map(|&(word, _)| word).collect::<Vec<u64>>());
            words.push(of_row);
        }
        if rows < LEAST_ROWS || rows * 10 < all * 9 || distinct.len() * 10 < rows * 9 {
            return None;
        }
        in_rows.retain(|_, &mut count| count > 2 && count * COMMON_IN > rows);
        let reader = Self {
            common: in_rows.into_keys().collect(),
            line: Vec::new(),
        };
        let telling = words.iter().filter(|row| reader.tells(row.iter().copied()));
        (telling.count() * 4 >= rows * 3).then_some(reader)
    }

    fn tells(&self, words: impl Iterator<Item = (u64, u32)>) -> bool {
        let rare = words.filter(|(word, _)| !self.common.contains(word));
        rare.map(|(_, told)| told).sum::<u32>() >= TELLING
    }

    /// Takes the next bytes of a table that arrives in pieces; `sink` receives the hashes of the
    /// rows that end in these bytes.
    pub(crate) fn update(&mut self, bytes: &[u8], sink: &mut impl FnMut(u64)) {
        let mut line = std::mem::take(&mut self.line);
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            let room = LONGEST_LINE.saturating_sub(line.len());
            line.extend_from_slice(&part[..part.len().min(room)]);
            if part.ends_with(b"\n") {
                self.row(&line, &mut RowWords::default(), sink);
                line.clear();
            }
        }
        self.line = line;
    }

    /// Ends the table.
    pub(crate) fn finish(&mut self, sink: &mut impl FnMut(u64)) {
        let line = std::mem::take(&mut self.line);
        self.row(&line, &mut RowWords::default(), sink);
    }

    /// Passes on the shingles of a row. A row of fewer than five words is one shingle, if it is
    /// distinctive.
    fn row(&self, line: &[u8], read: &mut RowWords, sink: &mut impl FnMut(u64)) {
        read.of(line);
        let mut chain = ShingleChain::default();
        for &(word, ..) in &read.words {
            chain.push(word);
            if chain.words >= SHINGLE as u64 {
                sink(hash(chain.shingle));
            }
        }
        let is_short = (1..=SHORT).contains(&read.words.len());
        if is_short && self.tells(read.words.iter().map(|&(word, letters, _)| (word, letters))) {
            sink(hash(chain.shingle));
        }
    }

    /// Reads all rows of a whole table, each as a text of its own.
    pub(crate) fn rows(&self, bytes: &[u8]) -> Vec<CollectedWords> {
        let mut read = RowWords::default();
        let mut rows = Vec::new();
        for line in lines_of(bytes) {
            let mut shingles = Vec::new();
            self.row(line, &mut read, &mut |shingle| shingles.push(shingle));
            rows.push(CollectedWords {
                shingles,
                ends: read.words.iter().map(|&(.., end)| end).collect(),
                ..CollectedWords::default()
            });
        }
        rows
    }
}

#[cfg(test)]
mod tests;
