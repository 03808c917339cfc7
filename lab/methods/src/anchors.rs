//! The method sif with anchors: computes fingerprints at the places where certain strings start.
//!
//! **Paper.** Manber 1994, section 2, the first of two methods. Most experiments of the paper
//! (section 5) used this method.
//!
//! **Fingerprints.** "We search the file for all occurrences of all anchors". Here, one automaton
//! searches for all anchors (Aho & Corasick 1975, in the crate `aho-corasick`). The fingerprint is
//! the [`checksum`] of the 50 bytes from the start of an anchor. As in the other method, the search
//! continues after these bytes. If several anchors start at one place, the fingerprint is the same
//! for each of them. An anchor that starts less than 50 bytes before the end gives no fingerprint.
//!
//! **Figure.** The figure is that of [`crate::sif`].
//!
//! **Cost.** Each byte takes one transition of the automaton, however many anchors there are. The
//! number of fingerprints depends on the anchors; "on the average, one fingerprint was generated
//! for about every 200 bytes of text".
//!
//! **Sees** what sif sees. No values of checksums are discarded, so all 30 bits distinguish files;
//! sif has only 22. **Is blind** to files in another language than the texts from which the anchors
//! were picked. Therefore [`pick`] can pick anchors from any texts.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, LazyLock};

use aho_corasick::{AhoCorasick, Input, MatchKind};
use thiserror::Error;

use crate::sif::checksum;

/// The reasons why strings cannot be anchors.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AnchorError {
    /// There are no strings.
    #[error("there are no anchors; write one string on each line")]
    Empty,
    /// There are more strings than the automaton is allowed to have.
    #[error("{count} anchors are too many; the most is {}", Anchors::MOST)]
    TooMany {
        /// The number of strings.
        count: usize,
    },
    /// A string is longer than the window that is fingerprinted.
    #[error(
        "the anchor {anchor} has more bytes than the {window} that are fingerprinted; shorten it \
         or widen the window"
    )]
    TooLong {
        /// The anchor, written as in a file of anchors.
        anchor: String,
        /// The number of bytes that are fingerprinted.
        window: u32,
    },
    /// A backslash is followed by a byte that has no meaning there.
    #[error(
        "line {line} of the anchors: after a backslash comes n, t, s (a blank), # , another \
         backslash, or x and two digits"
    )]
    Escape {
        /// The line, counted from 1.
        line: usize,
    },
}

/// A set of anchors, with the automaton that searches for them.
#[derive(Clone)]
pub struct Anchors {
    strings: Vec<Vec<u8>>,
    automaton: AhoCorasick,
    id: String,
}

impl Anchors {
    /// The maximum number of anchors of a set.
    pub const MOST: usize = 1 << 16;

    /// Creates a set of these strings. Their order and repetitions make no difference.
    pub fn new(mut strings: Vec<Vec<u8>>) -> Result<Self, AnchorError> {
        strings.retain(|string| !string.is_empty());
        strings.sort_unstable();
        strings.dedup();
        let count = strings.len();
        if count == 0 {
            return Err(AnchorError::Empty);
        }
        if count > Self::MOST {
            return Err(AnchorError::TooMany { count });
        }
        if let Some(long) = strings.iter().find(|s| s.len() > Self::LONGEST as usize) {
            return Err(AnchorError::TooLong {
                anchor: written(long),
                window: Self::LONGEST,
            });
        }
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(&strings)
            .map_err(|_| AnchorError::TooMany { count })?;
        let mut hasher = blake3::Hasher::new();
        for string in &strings {
            hasher.update(&(string.len() as u64).to_le_bytes());
            hasher.update(string);
        }
        let id = hasher.finalize().to_hex()[..16].to_string();
        Ok(Self {
            strings,
            automaton,
            id,
        })
    }

    /// The maximum length of an anchor, for the largest possible window.
    const LONGEST: u32 = 1000;

    /// Reads a file of anchors, one on each line. Lines that start with `#` are comments. The
    /// escapes `\n`, `\t`, `\s` (a blank), `\#`, `\\` and `\xNN` represent single bytes. All blanks
    /// of a line belong to the anchor. A carriage return at the end of a line does not.
    pub fn parse(text: &[u8]) -> Result<Self, AnchorError> {
        let mut strings = Vec::new();
        for (line, bytes) in (1..).zip(text.split(|&byte| byte == b'\n')) {
            let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
            if !bytes.starts_with(b"#") {
                strings.push(unescaped(bytes).ok_or(AnchorError::Escape { line })?);
            }
        }
        Self::new(strings)
    }

    /// Returns the sorted anchors in the form that [`Self::parse`] reads.
    pub fn to_text(&self) -> String {
        let lines = self.strings.iter().map(|string| written(string) + "\n");
        lines.collect()
    }

    /// Returns the sorted anchors.
    pub fn strings(&self) -> &[Vec<u8>] {
        &self.strings
    }

    /// Returns the name of the set: the start of a hash of all strings.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Checks that no anchor is longer than this window.
    pub fn fit(&self, window: u32) -> Result<(), AnchorError> {
        match self.strings.iter().find(|s| s.len() > window as usize) {
            None => Ok(()),
            Some(long) => Err(AnchorError::TooLong {
                anchor: written(long),
                window,
            }),
        }
    }

    /// Returns the default set, `STANDARD`, which was picked from manuals and source code of
    /// several languages.
    pub fn standard() -> Arc<Self> {
        static SET: LazyLock<Arc<Anchors>> = LazyLock::new(|| {
            Arc::new(Anchors::parse(STANDARD.as_bytes()).expect("a test reads it"))
        });
        Arc::clone(&SET)
    }
}

/// The file that `cargo run --release -p resemble-methods --example anchors -- FOLDER` wrote.
const STANDARD: &str = include_str!("anchors.txt");

impl fmt::Debug for Anchors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Anchors({}, {} strings)", self.id, self.strings.len())
    }
}

impl PartialEq for Anchors {
    fn eq(&self, other: &Self) -> bool {
        self.strings == other.strings
    }
}

impl Eq for Anchors {}

fn written(string: &[u8]) -> String {
    let last = string.len().wrapping_sub(1);
    let mut text = String::new();
    for (at, &byte) in string.iter().enumerate() {
        match byte {
            b'\n' => text.push_str("\\n"),
            b'\t' => text.push_str("\\t"),
            b'\\' => text.push_str("\\\\"),
            b' ' if at == 0 || at == last => text.push_str("\\s"),
            b'#' if at == 0 => text.push_str("\\#"),
            b' '..=b'~' => text.push(char::from(byte)),
            _ => {
                let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value)]);
                text.extend(['\\', 'x', digit(byte >> 4), digit(byte & 15)]);
            }
        }
    }
    text
}

fn unescaped(line: &[u8]) -> Option<Vec<u8>> {
    let (mut string, mut rest) = (Vec::new(), line);
    while let [first, more @ ..] = rest {
        rest = more;
        if *first != b'\\' {
            string.push(*first);
            continue;
        }
        let (&kind, more) = rest.split_first()?;
        rest = more;
        string.push(match kind {
            b'n' => b'\n',
            b't' => b'\t',
            b's' => b' ',
            b'#' | b'\\' => kind,
            b'x' => {
                let (digits, more) = rest.split_at_checked(2)?;
                rest = more;
                let digits = std::str::from_utf8(digits).ok()?;
                u8::from_str_radix(digits, 16).ok()?
            }
            _ => return None,
        });
    }
    Some(string)
}

/// The parameters of sif with anchors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnchorParams {
    /// The anchors.
    pub anchors: Arc<Anchors>,
    /// The number of bytes that are fingerprinted, from the start of the anchor on: 50 in the
    /// paper.
    pub window: u32,
    /// The number of bits of a checksum: 30, 31 or 32.
    pub bits: u32,
}

impl Default for AnchorParams {
    fn default() -> Self {
        Self {
            anchors: Anchors::standard(),
            window: 50,
            bits: 30,
        }
    }
}

/// Finds the fingerprints of a content that comes in pieces of any size.
#[derive(Clone, Debug)]
pub struct AnchorScanner {
    params: AnchorParams,
    /// The bytes that may belong to a window whose end was not received yet.
    held: Vec<u8>,
}

/// The number of bytes that are searched at a time.
const PART: usize = 1 << 16;

impl AnchorScanner {
    /// Begins the first content.
    pub fn new(params: &AnchorParams) -> Self {
        Self {
            params: params.clone(),
            held: Vec::new(),
        }
    }

    /// Begins another content.
    pub fn reset(&mut self) {
        self.held.clear();
    }

    /// Adds the next bytes. `sink` receives the fingerprints of the windows that end in these
    /// bytes.
    pub fn update(&mut self, bytes: &[u8], mut sink: impl FnMut(u64)) {
        let window = self.params.window as usize;
        for part in bytes.chunks(PART) {
            self.held.extend_from_slice(part);
            let mut at = 0;
            // An anchor is no longer than a window. So if the window of a hit is complete, every
            // anchor that starts earlier is complete, too. The search would have found that anchor
            // first, so the hit is final.
            while self.held.len() - at >= window {
                let rest = Input::new(&self.held).span(at..self.held.len());
                let Some(found) = self.params.anchors.automaton.find(rest) else {
                    break;
                };
                let Some(text) = self.held.get(found.start()..found.start() + window) else {
                    at = found.start().min(self.held.len() - window + 1);
                    break;
                };
                sink(checksum(text, self.params.bits));
                at = found.start() + window;
            }
            // All anchors that start before the last window have been found, so bytes before that
            // window are dropped.
            at = at.max((self.held.len() + 1).saturating_sub(window));
            self.held.drain(..at.min(self.held.len()));
        }
    }
}

/// The length of the anchors that are picked: four bytes, as in the paper's example `acte`.
const LENGTH: usize = 4;

/// The maximum number of strings that are counted. If there are more, the rarest ones are dropped.
const MOST_STRINGS: usize = 1 << 22;

/// Counts of the strings of four bytes in a set of texts.
#[derive(Clone, Debug, Default)]
struct AnchorCounts {
    strings: HashMap<[u8; LENGTH], Count>,
    texts: u32,
    bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Count {
    occurrences: u64,
    texts: u32,
    last_text: u32,
}

impl AnchorCounts {
    /// Counts the strings of one more text.
    fn add(&mut self, text: &[u8]) {
        self.texts += 1;
        self.bytes += text.len() as u64;
        for string in text.windows(LENGTH) {
            let Ok(string) = <[u8; LENGTH]>::try_from(string) else {
                continue;
            };
            match self.strings.entry(string) {
                Entry::Occupied(mut count) => {
                    let count = count.get_mut();
                    count.occurrences += 1;
                    if count.last_text != self.texts {
                        count.texts += 1;
                        count.last_text = self.texts;
                    }
                }
                Entry::Vacant(vacant) => {
                    vacant.insert(Count {
                        occurrences: 1,
                        texts: 1,
                        last_text: self.texts,
                    });
                }
            }
        }
        let mut least = 1;
        while self.strings.len() > MOST_STRINGS {
            self.strings.retain(|_, count| count.occurrences > least);
            least *= 2;
        }
    }

    /// Strings that may be anchors, best first.
    ///
    /// A string qualifies if two or more texts have it, and if it has at least three different
    /// bytes. It must also occur at most once in 10 · `every` bytes, so that no string dominates.
    /// Strings are ranked by their number of occurrences times the number of texts that have them.
    /// The number of texts alone would prefer headings that every file has once. The number of
    /// occurrences alone would prefer words of a few long files. A string that overlaps a better
    /// string by three bytes is left out, because both are found at the same places. An example is
    /// `hara` and `arac` in *character*.
    fn ranked(&self, every: u32) -> Vec<Vec<u8>> {
        let too_common = (self.bytes / (10 * u64::from(every.max(1)))).max(1);
        let mut candidates: Vec<(&[u8; LENGTH], &Count)> = self
            .strings
            .iter()
            .filter(|(string, count)| {
                count.texts >= 2 && count.occurrences <= too_common && distinct(*string) >= 3
            })
            .collect();
        candidates.sort_unstable_by_key(|(string, count)| {
            let weight = count.occurrences.saturating_mul(u64::from(count.texts));
            (std::cmp::Reverse(weight), **string)
        });
        // A further string must not have these prefixes and suffixes of three bytes, because it
        // would overlap a chosen string.
        let (mut heads, mut tails) = (HashSet::new(), HashSet::new());
        let mut ranked = Vec::new();
        for (string, _) in candidates {
            let (head, tail) = (&string[..LENGTH - 1], &string[1..]);
            if !heads.contains(head) && !tails.contains(tail) {
                heads.insert(tail);
                tails.insert(head);
                ranked.push(string.to_vec());
            }
        }
        ranked.truncate(Anchors::MOST);
        ranked
    }
}

/// Picks anchors that are "quite common but not too common" in these texts. The picked anchors
/// together have one hit in about `every` bytes (200 in section 5 of the paper). `window` bytes are
/// skipped after each hit. Returns no anchors if no string of the texts qualifies.
///
/// The result is the shortest list of the best strings that has enough hits. Words occur in
/// clusters, so the number of hits of several anchors is not the sum over the anchors. Therefore
/// the hits are counted in the texts, in at most 17 searches.
pub fn pick<T: AsRef<[u8]>>(texts: &[T], every: u32, window: u32) -> Vec<Vec<u8>> {
    let mut counts = AnchorCounts::default();
    for text in texts {
        counts.add(text.as_ref());
    }
    let mut ranked = counts.ranked(every);
    let wanted = counts.bytes / u64::from(every.max(1));
    let found = |anchors: &[Vec<u8>]| -> u64 {
        let Ok(anchors) = Anchors::new(anchors.to_vec()) else {
            return 0;
        };
        let mut scanner = AnchorScanner::new(&AnchorParams {
            anchors: Arc::new(anchors),
            window: window.max(LENGTH as u32),
            bits: 30,
        });
        let mut found = 0;
        for text in texts {
            scanner.update(text.as_ref(), |_| found += 1);
            scanner.reset();
        }
        found
    };
    // A binary search finds the least number of anchors with enough hits.
    let (mut too_few, mut enough) = (0, ranked.len());
    while too_few + 1 < enough {
        let middle = too_few.midpoint(enough);
        if found(&ranked[..middle]) < wanted {
            too_few = middle;
        } else {
            enough = middle;
        }
    }
    ranked.truncate(enough);
    ranked.sort_unstable();
    ranked
}

fn distinct(string: &[u8]) -> usize {
    (0..string.len())
        .filter(|&at| !string[..at].contains(&string[at]))
        .count()
}

#[cfg(test)]
#[path = "anchors_tests.rs"]
mod tests;
