//! Digests fixed inputs, so that callgrind can count the instructions of [`counted`]. Also writes
//! the two trees that `resemble` compares in `benches/instructions.sh`.
#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::path::Path;
use std::{fs, io};

use resemble_core::hash::rolling::RollingPlatform;
use resemble_core::{Digester, Params};
use resemble_testutil::prose::{edited, prose};
use resemble_testutil::random::{Random, noise};

const LARGE: usize = 4 << 20;

fn main() -> io::Result<()> {
    let case = std::env::args().nth(1).unwrap_or_default();
    let files = match &case[..] {
        "text" => vec![text(1, LARGE)],
        "markup" => vec![markup(2, LARGE)],
        "noise" => vec![noise(3, LARGE)],
        "accents" => vec![in_letters(
            5,
            LARGE,
            &["e", "n", "i", "r", "t", "a", "ü", "é"],
        )],
        "cyrillic" => vec![in_letters(
            6,
            LARGE,
            &["о", "е", "а", "и", "н", "т", "с", "р"],
        )],
        "small" => small(),
        // Prints the instructions that the rolling hash uses on this processor.
        "platform" => {
            println!("{:?}", RollingPlatform::detect());
            return Ok(());
        }
        folder => return write_trees(Path::new(folder)),
    };
    counted(&mut Digester::new(&Params::default()), &files);
    Ok(())
}

/// Writes two states of a tree of 96 texts and 24 binaries. From state `one` to state `two`, a
/// third of the files are edited and a quarter are moved. Each state also has some files that the
/// other state lacks.
fn write_trees(folder: &Path) -> io::Result<()> {
    for state in ["one", "two"] {
        let is_two = state == "two";
        for n in 0..120_u64 {
            let len = 4_000 + 400 * (n as usize % 50);
            let seed = if n % 10 == 9 && is_two { 1_000 + n } else { n };
            let mut bytes = match n % 5 {
                4 => noise(seed, len),
                _ => prose(seed, len),
            };
            if is_two && n % 3 == 0 {
                bytes = edited(&bytes, n, 5);
            }
            let place = if is_two && n % 4 == 1 {
                "moved"
            } else {
                "part"
            };
            let parent = folder.join(state).join(place).join(format!("{}", n % 7));
            fs::create_dir_all(&parent)?;
            fs::write(parent.join(format!("{n}")), bytes)?;
        }
    }
    Ok(())
}

#[inline(never)]
fn counted(digester: &mut Digester, files: &[Vec<u8>]) {
    for file in files {
        black_box(digester.digest(black_box(file)));
    }
}

/// Makes 256 files of up to 32 KiB, alternately text and noise.
fn small() -> Vec<Vec<u8>> {
    let mut random = Random::new(4);
    let file = |seed: u64| {
        let len = 1 << (random.below(6) + 10);
        let len = len - random.below(len / 2);
        if seed.is_multiple_of(2) {
            text(seed, len)
        } else {
            noise(seed, len)
        }
    };
    (0..256).map(file).collect()
}

/// Makes lines similar to code: words of one to twenty letters, and some signs.
fn text(seed: u64, len: usize) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut text = Vec::with_capacity(len + 32);
    while text.len() < len {
        let name = random.below(3000);
        let letters = 1 + name % [5, 9, 20][name % 3];
        text.extend((0..letters).map(|at| b"etaoinshrdluETAOCS_0"[(name * 7 + at * at) % 20]));
        let separator = [" ", " ", " ", ", ", "(", "); ", " = ", "->", "\n", "\n\t"];
        text.extend_from_slice(separator[random.below(separator.len())].as_bytes());
    }
    text.truncate(len);
    text
}

/// Makes a text whose words have two to nine letters, each drawn from `letters`.
fn in_letters(seed: u64, len: usize, letters: &[&str]) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut text = String::with_capacity(len + 32);
    while text.len() < len {
        for _ in 0..2 + random.below(8) {
            text += letters[random.below(letters.len())];
        }
        text.push(' ');
    }
    text.into_bytes()
}

/// Makes an HTML page with a tag for about every ten words.
fn markup(seed: u64, len: usize) -> Vec<u8> {
    let mut page = b"<!DOCTYPE html>\n<html><head><title>Page</title></head><body>\n".to_vec();
    let text = text(seed, len);
    let words = text.split(|&byte| byte == b'(');
    for (number, words) in words.enumerate() {
        let tag = format!("<p class=\"part\" id=\"n{number}\">");
        page.extend_from_slice(tag.as_bytes());
        page.extend_from_slice(words);
        page.extend_from_slice(b" &amp; so on</p>\n");
    }
    page.truncate(len);
    page
}
