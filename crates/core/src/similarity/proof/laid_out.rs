//! Measures tables and encoded data. In these contents, line ends have another meaning than in a
//! text.
//!
//! Two *tables* of short rows are measured by their rows, if that gives a larger containment than
//! runs of words. Each row is then a text of its own. A row of fewer than five words is covered if
//! the other table has it. The resemblance compares the sets of short rows and of the shingles of
//! longer rows. So the order of rows has no effect. A short row that is not distinctive is never
//! covered, because another table may have the same row by chance.
//!
//! Two files of *encoded data* are measured in bytes without their line ends.
//!
//! Rows are used only if both contents are tables. Line ends are removed only if both contents are
//! encoded data. In any other pair a table is measured as a text, and encoded data as bytes. So
//! exchanging the contents of a pair only exchanges the sides of its measure.

use std::sync::OnceLock;

use crate::ids::ByteLen;
use crate::similarity::Templates;
use crate::similarity::proof::{CommonText, ShingledText};
use crate::words::{LineLayout, joined};

/// A text that is ready to be measured.
#[derive(Clone, Debug, Default)]
pub struct ComparedText {
    words: ShingledText,
    /// Each row as a text, if the text is a table.
    rows: Option<ShingledText>,
}

impl ComparedText {
    /// Makes the text of a content from all its bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self::without(&Templates::default(), bytes)
    }

    /// Makes the text, without the text of the templates.
    pub fn without(templates: &Templates, bytes: &[u8]) -> Self {
        let bytes = &*templates.worded(bytes);
        let template = templates.shingles();
        let rows = match LineLayout::of(bytes) {
            LineLayout::Table(reader) => {
                Some(ShingledText::of_collected(reader.rows(bytes), template))
            }
            LineLayout::Plain | LineLayout::Encoded => None,
        };
        Self {
            words: ShingledText::without(template, &[bytes]),
            rows,
        }
    }

    /// Returns the text as runs of words.
    pub const fn words(&self) -> &ShingledText {
        &self.words
    }

    /// Estimates the bytes of memory that the text takes.
    pub fn memory(&self) -> usize {
        self.words.memory() + self.rows.as_ref().map_or(0, ShingledText::memory)
    }

    /// Returns the common words or rows of two texts, and whether they are the same text.
    pub(super) fn common(&self, other: &Self) -> (CommonText, bool) {
        let words = CommonText::of(&self.words, &other.words);
        let rows = self.rows.as_ref().zip(other.rows.as_ref());
        let rows = rows.map(|(ours, theirs)| CommonText::of(ours, theirs));
        let found = rows.filter(|rows| rows.containment() > words.containment());
        (found.unwrap_or(words), words.is_same)
    }
}

/// The bytes of a content that are ready to be measured.
#[derive(Debug)]
pub struct ComparedBytes {
    bytes: Vec<u8>,
    /// Encoded data without line ends; `None` for anything else.
    joined: OnceLock<Option<Vec<u8>>>,
}

impl ComparedBytes {
    /// Takes all bytes of a content.
    pub const fn new(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            joined: OnceLock::new(),
        }
    }

    /// Returns all bytes unchanged.
    pub fn all(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the number of bytes.
    pub const fn size(&self) -> ByteLen {
        ByteLen(self.bytes.len() as u64)
    }

    /// Estimates the bytes of memory that the content takes.
    pub fn memory(&self) -> usize {
        let joined = self.joined.get().and_then(Option::as_ref);
        self.bytes.capacity() + joined.map_or(0, Vec::capacity)
    }

    fn joined(&self) -> Option<&[u8]> {
        self.joined.get_or_init(|| joined(&self.bytes)).as_deref()
    }

    /// Returns the bytes that are compared for each content: without line ends if both are encoded
    /// data.
    pub(super) fn meeting<'a>(&'a self, other: &'a Self) -> (&'a [u8], &'a [u8]) {
        let joined = self.joined().zip(other.joined());
        joined.unwrap_or((self.all(), other.all()))
    }
}

#[cfg(test)]
mod tests {
    use crate::ContentKind;
    use crate::similarity::Unit;
    use crate::similarity::proof::{Provable, Proven};

    fn measured(a: &str, b: &str) -> Proven {
        let of = |text: &str| {
            let bytes = text.as_bytes().to_vec();
            Provable::new(ContentKind::of_whole(&bytes), bytes)
        };
        let (a, b) = (of(a), of(b));
        let found = a.measure(&b, Unit::Words);
        assert_eq!(b.measure(&a, Unit::Words), found.swapped());
        found
    }

    fn shares(found: &Proven) -> (f64, f64) {
        let get = |score: Option<crate::Score>| score.map_or(0.0, crate::Score::get);
        (get(found.measures.a_in_b), get(found.measures.b_in_a))
    }

    /// Makes rows. Each row has a number and an amount.
    fn rows(seed: usize, count: usize) -> Vec<String> {
        let number = |n: usize, of: usize| (n * 2_654_435 + seed * 7_919_777 + of) % 9_999_991;
        let row = |n| {
            format!(
                "{};{}.{:02}\n",
                number(n, 1),
                number(n * n, 7) % 9000,
                n % 100
            )
        };
        (0..count).map(row).collect()
    }

    #[test]
    fn rows_are_found_in_any_order() {
        let rows = rows(1, 400);
        let mut moved = rows.clone();
        moved.reverse();
        moved.rotate_left(133);
        moved.swap(3, 200);
        let found = measured(&rows.concat(), &moved.concat());
        assert_eq!(found.unit, Unit::Words);
        assert!(
            shares(&found).0 > 0.999 && shares(&found).1 > 0.999,
            "{found:?}"
        );
        let half: Vec<String> = moved.iter().step_by(2).cloned().collect();
        let (whole_in_half, half_in_whole) = shares(&measured(&rows.concat(), &half.concat()));
        assert!((whole_in_half - 0.5).abs() < 0.01 && half_in_whole > 0.999);
    }

    #[test]
    fn strangers_share_no_rows() {
        let found = measured(&rows(1, 400).concat(), &rows(2, 400).concat());
        assert!(shares(&found).0 < 0.01, "{found:?}");
        // The same numbers with other amounts, and with a status that has only four values.
        let table = |of: fn(usize) -> String, step: usize| -> String {
            let numbers = (1..=400).map(|n| n * step % 401);
            let rows: Vec<String> = numbers.map(|n| format!("{n};{}\n", of(n * step))).collect();
            rows.concat()
        };
        let amount: fn(usize) -> String = |n| format!("{}.{:02}", n * n % 9001, n % 97);
        let status: fn(usize) -> String = |n| ["open", "paid", "sent", "late"][n % 4].to_owned();
        for of in [amount, status] {
            let found = measured(&table(of, 37), &table(of, 53));
            assert!(shares(&found).0 < 0.05, "{found:?}");
        }
    }

    #[test]
    fn a_table_against_a_text_is_a_text() {
        let rows = rows(1, 40).concat();
        let found = measured(
            &rows,
            &format!("{}\n{rows}", "In that year we paid. ".repeat(40)),
        );
        assert!(shares(&found).0 > 0.99, "{found:?}");
    }

    #[test]
    fn encoded_data_may_be_wrapped_anew() {
        let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let encoded: String = resemble_testutil::random::noise(9, 20_000)
            .iter()
            .map(|&byte| char::from(letters[usize::from(byte % 64)]))
            .collect();
        let wrapped = |text: &str, width: usize| {
            let lines = text.as_bytes().chunks(width);
            let lines: Vec<_> = lines.map(String::from_utf8_lossy).collect();
            lines.join("\n") + "\n"
        };
        let (wide, narrow) = (wrapped(&encoded, 76), wrapped(&encoded, 60));
        let found = measured(&wide, &narrow);
        assert_eq!(
            (found.unit, shares(&found)),
            (Unit::Bytes, (0.999_999, 0.999_999))
        );
        let half = measured(&wide, &wrapped(&encoded[10_000..], 64));
        assert!(
            (shares(&half).0 - 0.5).abs() < 0.001 && shares(&half).1 > 0.999,
            "{half:?}"
        );
        let strangers = measured(
            &wide,
            &wrapped(&encoded.chars().rev().collect::<String>(), 76),
        );
        assert!(shares(&strangers).0 < 0.01, "{strangers:?}");
    }
}
