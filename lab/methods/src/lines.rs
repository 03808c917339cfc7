//! Reads sets of features that another program wrote.
//!
//! ```text
//! # a comment
//! name TAB feature TAB feature …
//! ```
//!
//! Each line is a set. The name of the set is everything before the first tab, as raw bytes. A line
//! without a tab is a set without features. Features are separated by tabs or blanks. **A feature
//! is a word, even if it is a number**: `17`, `0x11` and `017` are three features. It is identified
//! by a 64-bit hash of its bytes (the start of its BLAKE3). The values of numbers are not used,
//! because they may not be random. If they were line numbers (1, 2, 3, …), `Min_n` would keep the
//! first n, and `Mod_n` every n-th. To use numbers as fingerprints, call [`crate::select::select`].
//!
//! For methods that count occurrences, a repeated feature has several occurrences. Every feature
//! has the weight 1, so the figures of tttd and bsw are shares of features.

use thiserror::Error;

use crate::feature::{Feature, Features};

/// The reason why a line is not a valid set.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LineError {
    /// The line starts with a tab.
    #[error("line {line} has no name before its features; write: name, a tab, features")]
    NoName {
        /// The number of the line, counted from 1.
        line: u64,
    },
    /// The line has the same name as an earlier line.
    #[error("line {line} has the name of line {first} ({name}); give each set a name of its own")]
    Twice {
        /// The number of the line, counted from 1.
        line: u64,
        /// The number of the earlier line.
        first: u64,
        /// The name of the set, as text.
        name: String,
    },
}

/// A named set of features.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFeatures {
    /// The name of the set: any bytes except for newline and tab.
    pub name: Vec<u8>,
    /// The features of the set in the order of the line.
    pub features: Features,
}

/// Returns the feature for this word.
pub fn feature(word: &[u8]) -> Feature {
    let hash = blake3::hash(word);
    let value = hash.as_bytes()[..8]
        .iter()
        .fold(0, |value, &byte| value << 8 | u64::from(byte));
    Feature::of(value)
}

/// Reads one line, which must not contain its newline. Returns `None` if the line is empty or a
/// comment.
pub fn parse_line(line: &[u8], number: u64) -> Result<Option<NamedFeatures>, LineError> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.is_empty() || line.starts_with(b"#") {
        return Ok(None);
    }
    let end = line.iter().position(|&byte| byte == b'\t');
    let (name, words) = line.split_at(end.unwrap_or(line.len()));
    if name.is_empty() {
        return Err(LineError::NoName { line: number });
    }
    let features = words
        .split(|&byte| byte == b'\t' || byte == b' ')
        .filter(|word| !word.is_empty())
        .map(feature)
        .collect();
    Ok(Some(NamedFeatures {
        name: name.to_vec(),
        features: Features(features),
    }))
}

/// Reads all lines of a file.
pub fn parse(text: &[u8]) -> Result<Vec<NamedFeatures>, LineError> {
    let mut sets = Vec::new();
    let mut names = std::collections::HashMap::new();
    for (line, bytes) in (1..).zip(text.split(|&byte| byte == b'\n')) {
        if let Some(set) = parse_line(bytes, line)? {
            if let Some(first) = names.insert(set.name.clone(), line) {
                return Err(LineError::Twice {
                    line,
                    first,
                    name: String::from_utf8_lossy(&set.name).into_owned(),
                });
            }
            sets.push(set);
        }
    }
    Ok(sets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_name_and_words() {
        let sets = parse(b"# sets\na b.txt\t1 2\t2  x\r\n\n\xff\t0x1\nempty\n").expect("right");
        let names: Vec<&[u8]> = sets.iter().map(|set| &set.name[..]).collect();
        assert_eq!(names, [&b"a b.txt"[..], b"\xff", b"empty"]);
        let words = |words: &[&str]| -> Features {
            Features(words.iter().map(|word| feature(word.as_bytes())).collect())
        };
        assert_eq!(sets[0].features, words(&["1", "2", "2", "x"]));
        assert_eq!(sets[1].features, words(&["0x1"]));
        assert_eq!(sets[2].features, words(&[]));
        assert_ne!(feature(b"1"), feature(b"0x1"));
    }

    #[test]
    fn faults_are_told_with_their_line() {
        assert_eq!(parse(b"a\t1\n\t2"), Err(LineError::NoName { line: 2 }));
        let twice = parse(b"a\t1\nb\na\t2").expect_err("twice");
        assert_eq!(
            twice.to_string(),
            "line 3 has the name of line 1 (a); give each set a name of its own"
        );
    }
}
