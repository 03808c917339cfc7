use std::fmt::Write as _;

use proptest::prelude::*;
use resemble_testutil::prose;
use resemble_testutil::random::noise;

use super::*;

/// Makes pseudorandom numbers.
fn numbers(seed: u64, count: usize, below: u32) -> Vec<u32> {
    let bytes = noise(seed, 4 * count);
    let numbers = bytes.chunks_exact(4);
    let number = |bytes: &[u8]| {
        bytes
            .iter()
            .fold(0, |all, &byte| all << 8 | u32::from(byte))
    };
    numbers.map(|bytes| number(bytes) % below).collect()
}

fn amounts(seed: u64, count: usize) -> String {
    let ids = numbers(seed, count, 10_000_000);
    let amounts = numbers(seed + 1, count, 1_000_000);
    let rows = ids.iter().zip(amounts);
    rows.fold(String::new(), |mut all, (id, amount)| {
        let _ = writeln!(all, "{id};{}.{:02}", amount / 100, amount % 100);
        all
    })
}

fn base64(seed: u64, length: usize, width: usize) -> String {
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let encoded: Vec<u8> = noise(seed, length)
        .iter()
        .map(|&byte| letters[usize::from(byte % 64)])
        .collect();
    let mut wrapped = String::new();
    for line in encoded.chunks(width) {
        wrapped.push_str(&String::from_utf8_lossy(line));
        wrapped.push('\n');
    }
    wrapped
}

fn is_table(text: &str) -> bool {
    matches!(LineLayout::of(text.as_bytes()), LineLayout::Table(_))
}

fn is_encoded(text: &str) -> bool {
    matches!(LineLayout::of(text.as_bytes()), LineLayout::Encoded)
}

/// Makes words of letters only.
fn letters_alone(count: usize) -> Vec<String> {
    let letter = |letter: char| {
        letter
            .to_digit(10)
            .map_or(letter, |n| char::from(b'a' + n as u8))
    };
    let words = prose::words(0, count);
    words
        .split(' ')
        .map(|word| word.chars().map(letter).collect())
        .collect()
}

fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(|n| line(n) + "\n").collect()
}

#[test]
fn short_rows_are_a_table() {
    assert!(is_table(&amounts(1, 400)));
    assert!(is_table(&amounts(1, 20)));
    assert!(is_table(&format!("id;amount\n{}", amounts(1, 20_000))));
    let words = letters_alone(400);
    let of = |n: usize| format!("{}{}", words[n], n * n + 12);
    assert!(is_table(&lines(300, |n| format!("{}@example.org", of(n)))));
    assert!(is_table(&lines(300, |n| format!(
        "{}\t{}",
        of(n),
        n * 7919
    ))));
    assert!(is_table(&lines(300, |n| format!(
        "{} {},{}",
        words[n],
        words[n + 1],
        n * 7919
    ))));
    assert!(is_table(&lines(300, |n| format!("docs/{}/{n}.txt", of(n)))));
}

#[test]
fn what_has_other_lines_is_no_table() {
    let words = letters_alone(2000);
    // Prose in narrow columns, with commas; a list of words; items of a list.
    assert!(!is_table(&lines(300, |n| words[4 * n..4 * n + 4].join(" "))));
    assert!(!is_table(&lines(300, |n| words[3 * n..3 * n + 3]
        .join(", ")
        + ",")));
    assert!(!is_table(&lines(300, |n| words[n].clone())));
    assert!(!is_table(&lines(300, |n| format!(
        "- {} {}",
        words[n],
        words[n + 1]
    ))));
    // Code.
    assert!(!is_table(&lines(300, |n| format!(
        "#define {} 0x{n:x}",
        words[n]
    ))));
    assert!(!is_table(&lines(300, |n| format!("\tu32 {};", words[n]))));
    assert!(!is_table(&lines(300, |n| format!("\tu32\t{};", words[n]))));
    assert!(!is_table(&lines(300, |n| format!("CONFIG_{}=y", words[n]))));
    assert!(!is_table(&lines(300, |n| format!(
        "\t{}(\"{}\");",
        words[n],
        words[n + 1]
    ))));
    // Rows of five words or more are compared by their runs of words, so these lines are no table.
    assert!(!is_table(&lines(300, |n| format!(
        "{n};{}",
        words[5 * n..5 * n + 5].join(";")
    ))));
    // A few lines are not a table.
    assert!(!is_table(&amounts(1, 7)));
    assert!(!is_table(""));
}

#[test]
fn rows_that_say_nothing_are_no_table() {
    assert!(!is_table(&lines(400, |n| (n + 1).to_string())));
    let status = ["open", "paid", "sent", "late"];
    assert!(!is_table(&lines(400, |n| format!(
        "{n};{}",
        status[n * 7 % 4]
    ))));
    assert!(!is_table(&lines(400, |n| format!(
        "2026-03-{:02};{}",
        n % 28 + 1,
        n % 90
    ))));
    // The same rows repeated.
    assert!(!is_table(&amounts(1, 40).repeat(10)));
}

#[test]
fn encoded_data_are_joined_and_digests_are_not() {
    for width in [48, 64, 76, 100_000] {
        assert!(is_encoded(&base64(1, 9000, width)), "{width}");
        assert!(is_encoded(&base64(1, 200_000, width)), "{width}");
        let certificate = format!(
            "-----BEGIN X-----\n{}-----END X-----\n",
            base64(2, 3000, width)
        );
        assert!(is_encoded(&certificate), "{width}");
    }
    let joined_of = |text: &str| joined(text.as_bytes());
    assert_eq!(
        joined_of(&base64(1, 9000, 76)),
        joined_of(&base64(1, 9000, 60))
    );
    assert_eq!(joined_of(&prose::words(0, 2000)), None);
    let hex = |width: usize, length: usize| {
        let digits = noise(5, length).into_iter();
        let all: Vec<String> = digits.map(|byte| format!("{byte:02x}")).collect();
        let all = all.concat();
        let lines: Vec<&str> = (0..all.len())
            .step_by(width)
            .map(|at| &all[at..all.len().min(at + width)])
            .collect();
        lines.join("\n")
    };
    assert!(is_encoded(&hex(60, 4001)));
    assert!(is_encoded(&hex(64, 4001)));
    assert!(!is_encoded(&hex(40, 4000)));
    assert!(!is_encoded(&hex(64, 3200)));
    // Encoded data that is too short, and a text that quotes encoded data.
    assert!(!is_encoded(&base64(1, 200, 76)));
    assert!(!is_encoded(&format!(
        "{}\n{}",
        prose::words(0, 400),
        base64(1, 2000, 76)
    )));
}

#[test]
fn a_table_in_pieces_is_sampled_as_a_whole() {
    let text = format!("id;amount\n{}", amounts(3, 9000));
    let LineLayout::Table(reader) = LineLayout::of(text.as_bytes()) else {
        panic!("no table");
    };
    let whole: Vec<u64> = reader
        .rows(text.as_bytes())
        .into_iter()
        .flat_map(|row| row.shingles)
        .collect();
    assert!(whole.len() > 8900);
    for size in [1, 7, 4096, 100_000] {
        let mut pieces = reader.clone();
        let mut found = Vec::new();
        for piece in text.as_bytes().chunks(size) {
            pieces.update(piece, &mut |shingle| found.push(shingle));
        }
        pieces.finish(&mut |shingle| found.push(shingle));
        assert_eq!(found, whole, "{size}");
    }
}

proptest! {
    #[test]
    fn most_of_a_file_is_solid_by_its_lines(
        lines in prop::collection::vec((0usize..90, any::<bool>(), 0usize..20), 0..40),
        ends: bool,
    ) {
        let line = |&(letters, is_split, blanks): &(usize, bool, usize)| {
            let mut line = [vec![b' '; blanks / 9], vec![b'x'; letters]].concat();
            if is_split && blanks > 12 {
                line.insert(line.len() / 2, b' ');
            }
            line
        };
        let mut text = lines.iter().map(line).collect::<Vec<_>>().join(&b'\n');
        text.extend(ends.then_some(b'\n'));
        let solid = lines_of(&text).filter(|line| line.len() >= LEAST_LINE && is_solid(line));
        let solid: usize = solid.map(|line| line.len() + 1).sum();
        prop_assert_eq!(is_mostly_solid(&text), solid * 10 >= text.len() * 8);
    }
}
