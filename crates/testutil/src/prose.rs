//! Makes texts with known similarity from seeds.

use std::fmt::Write;

use crate::random::Random;

const WORDS: [&str; 48] = [
    "the", "harbour", "report", "of", "spring", "shows", "that", "ships", "came", "later", "than",
    "in", "any", "year", "before", "while", "grain", "and", "timber", "were", "counted", "twice",
    "by", "clerks", "whose", "ledgers", "no", "longer", "agree", "with", "customs", "so", "each",
    "figure", "below", "is", "an", "estimate", "from", "weights", "taken", "at", "quay", "three",
    "north", "winter", "council", "asked",
];

/// Returns about `bytes` bytes of text. Texts of different seeds have the same vocabulary, but are
/// otherwise unrelated.
pub fn prose(seed: u64, bytes: usize) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut text = Vec::with_capacity(bytes + 16);
    let mut column = 0;
    while text.len() < bytes {
        let word = WORDS[random.below(WORDS.len())];
        let number = random.below(1000);
        let piece = if random.below(9) == 0 {
            format!("{word}-{number}")
        } else {
            word.to_owned()
        };
        column += piece.len() + 1;
        text.extend_from_slice(piece.as_bytes());
        text.push(if column > 72 { b'\n' } else { b' ' });
        column = if column > 72 { 0 } else { column };
    }
    text
}

/// Returns the text with the word `[edit]` inserted at `edits` random places.
pub fn edited(text: &[u8], seed: u64, edits: usize) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut text = text.to_vec();
    for _ in 0..edits {
        let at = random.below(text.len().saturating_sub(8).max(1));
        text.splice(at..at, *b"[edit] ");
    }
    text
}

/// Returns paragraphs of forty words. Paragraphs of different seeds have no word in common.
pub fn paragraphs(seed: u64, count: usize) -> String {
    const WORDS: [&str; 24] = [
        "river", "stone", "winter", "harbour", "letter", "machine", "garden", "silver", "market",
        "window", "copper", "forest", "island", "kettle", "ladder", "meadow", "needle", "orchard",
        "pepper", "quarry", "ribbon", "saddle", "thunder", "velvet",
    ];
    let mut random = Random::apart(seed);
    let mut text = String::new();
    for _ in 0..count {
        for _ in 0..40 {
            let draw = random.draw();
            let word = WORDS[draw as usize % WORDS.len()];
            write!(text, "{word}{} ", draw >> 40).expect("a string");
        }
        text.push('\n');
    }
    text
}

/// Returns lines of one sentence each. A sentence is twelve unique words and `end.`.
pub fn sentences(seed: u64, count: usize) -> String {
    let mut random = Random::apart(seed);
    let mut text = String::new();
    for _ in 0..count {
        for _ in 0..12 {
            for _ in 0..3 + random.below(6) {
                text.push(char::from(b'a' + random.below(26) as u8));
            }
            text.push(' ');
        }
        text.push_str("end.\n");
    }
    text
}

/// Returns copies of a page of `lines` sentences. In each copy, one sentence of the page is
/// replaced by another sentence.
pub fn copies_of_a_page(seed: u64, lines: usize, copies: usize) -> impl Iterator<Item = String> {
    let page = sentences(seed, lines);
    (0..copies).map(move |at| {
        let other = sentences(10_000 + at as u64, 1);
        let mut copy: Vec<&str> = page.split_inclusive('\n').collect();
        copy[at % lines] = &other;
        copy.concat()
    })
}

/// Returns unique lines of about fifty bytes.
pub fn lines(seed: u64, count: usize) -> String {
    let mut random = Random::apart(seed);
    let mut text = String::new();
    for _ in 0..count {
        let number = random.draw() as u32;
        let line = "line of a text, about fifty bytes";
        writeln!(text, "{number:08x} {line} {number:08x}").expect("a string");
    }
    text
}

/// Returns the `count` words with the numbers from `from` on. Each number has its own word.
pub fn words(from: usize, count: usize) -> String {
    let words = (from..from + count).map(|at| format!("w{:05}x ", at * 7919 % 99_991));
    words.collect()
}

/// Returns the text with one byte overwritten in each block of `every` bytes.
pub fn overwritten(text: &[u8], every: usize) -> Vec<u8> {
    let mut text = text.to_vec();
    for at in (every / 2..text.len()).step_by(every) {
        text[at] = b'#';
    }
    text
}
