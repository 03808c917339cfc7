//! Fuzzes readers: passes them bytes that are made from valid samples by many small changes.
//!
//! ```text
//! fuzz("requests", 2_000, samples, &mut |bytes| decode(bytes).is_ok());
//! ```
//!
//! For any bytes the reader must return soon and without a panic. The reader itself must assert all
//! other properties. An accepted input becomes a sample, so that changes add up. The changes are
//! the same as in the usual fuzzers, but nothing guides them, because this toolchain has no
//! compiler instrumentation.
//!
//! * `RESEMBLE_FUZZ=1000000` sets the number of inputs, for CI.
//! * `RESEMBLE_FUZZ_SEED=2` selects other inputs. If the reader panics, its input is printed as a
//!   Rust literal.

use std::time::{Duration, Instant};

use crate::asked_for;
use crate::random::Random;

/// The maximum number of samples. Further accepted inputs do not become samples.
const MOST_SAMPLES: usize = 2_000;

/// The maximum length of an input in bytes.
const LONGEST: usize = 1 << 20;

/// The maximum time that the reader may take for one input. Inputs are short, so a reader that
/// takes longer is assumed to hang.
const PATIENCE: Duration = Duration::from_secs(20);

/// Numbers near the bounds of integer types.
const INTERESTING: [u64; 14] = [
    0,
    1,
    2,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    u64::MAX,
];

/// The result of a fuzz test.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fuzzed {
    /// The number of inputs that the reader got.
    pub executions: u64,
    /// The number of inputs that the reader accepted.
    pub taken: u64,
    /// The longest time that the reader took for an input.
    pub slowest: Duration,
}

/// Prints the name of the fuzz test and its current input if the reader panics.
struct Told<'a>(&'a str, &'a [u8]);

impl Drop for Told<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!(
                "{}: these bytes did it: b\"{}\"",
                self.0,
                self.1.escape_ascii()
            );
        }
    }
}

/// Passes changed samples to the function `read`, which returns whether it accepts them.
///
/// # Panics
///
/// If the reader panics, takes longer than 20 s, accepts every input, or accepts no input. In the
/// last two cases, the samples or the test are useless.
pub fn fuzz(
    what: &str,
    usual: u64,
    mut samples: Vec<Vec<u8>>,
    read: &mut dyn FnMut(&[u8]) -> bool,
) -> Fuzzed {
    assert!(!samples.is_empty(), "{what}: no samples");
    let rounds = asked_for("RESEMBLE_FUZZ").unwrap_or(usual);
    let mut random = Random::new(asked_for("RESEMBLE_FUZZ_SEED").unwrap_or(1));
    let mut done = Fuzzed::default();
    let given = samples.len();
    for round in 0..rounds.max(given as u64) {
        // Every sample is tried unchanged first.
        let bytes = match samples.get(round as usize) {
            Some(sample) if (round as usize) < given => sample.clone(),
            _ => changed(&samples, &mut random),
        };
        let told = Told(what, &bytes);
        let began = Instant::now();
        let is_taken = read(&bytes);
        let took = began.elapsed();
        assert!(took < PATIENCE, "{what}: {took:?}");
        drop(told);
        done.executions += 1;
        done.taken += u64::from(is_taken);
        done.slowest = done.slowest.max(took);
        if is_taken && samples.len() < MOST_SAMPLES && round as usize >= given {
            samples.push(bytes);
        }
    }
    println!("fuzz {what}: {done:?}");
    assert!(
        done.taken > 0 && done.taken < done.executions,
        "{what}: {done:?}"
    );
    done
}

/// Returns a sample with up to four changes.
fn changed(samples: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = samples[random.below(samples.len())].clone();
    for _ in 0..=random.below(4) {
        change(&mut bytes, samples, random);
    }
    bytes.truncate(LONGEST);
    bytes
}

/// Returns a random range of these bytes, usually a short one.
fn stretch(bytes: &[u8], random: &mut Random) -> std::ops::Range<usize> {
    let start = random.below(bytes.len());
    let most = [4, 16, 64, 4096][random.below(4)];
    start..(start + 1 + random.below(most)).min(bytes.len())
}

fn change(bytes: &mut Vec<u8>, samples: &[Vec<u8>], random: &mut Random) {
    if bytes.is_empty() {
        bytes.push(random.draw() as u8);
        return;
    }
    let at = random.below(bytes.len());
    match random.below(11) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = random.draw() as u8,
        2 => bytes[at] = bytes[at].wrapping_add(1 + random.below(16) as u8),
        3 => drop(bytes.drain(stretch(bytes, random))),
        4 => {
            let again = bytes[stretch(bytes, random)].to_vec();
            bytes.splice(at..at, again);
        }
        5 => {
            let other = &samples[random.below(samples.len())];
            if !other.is_empty() {
                let piece = other[stretch(other, random)].to_vec();
                let over = if random.below(2) == 0 { piece.len() } else { 0 };
                let end = (at + over).min(bytes.len());
                bytes.splice(at..end, piece);
            }
        }
        6 => bytes.truncate(at),
        7 => {
            let value = INTERESTING[random.below(INTERESTING.len())].to_le_bytes();
            let width = 1 << random.below(4);
            let mut value = value[..width].to_vec();
            if random.below(2) == 0 {
                value.reverse();
            }
            let end = (at + width).min(bytes.len());
            bytes.splice(at..end, value);
        }
        8 => {
            // Replaces a decimal number with another one.
            let is_digit = |at: &usize| bytes[*at].is_ascii_digit();
            let digits: Vec<usize> = (0..bytes.len()).filter(is_digit).collect();
            if !digits.is_empty() {
                let start = digits[random.below(digits.len())];
                let rest = bytes[start..].iter();
                let len = rest.take_while(|byte| byte.is_ascii_digit()).count();
                let value = INTERESTING[random.below(INTERESTING.len())];
                let sign = if random.below(4) == 0 { "-" } else { "" };
                bytes.splice(start..start + len, format!("{sign}{value}").into_bytes());
            }
        }
        9 => {
            let (one, other) = (stretch(bytes, random), stretch(bytes, random));
            let piece = bytes[one].to_vec();
            bytes.splice(other, piece);
        }
        _ => {
            let fill = [0, 0xff, b' ', b'9'][random.below(4)];
            let place = stretch(bytes, random);
            bytes[place].fill(fill);
        }
    }
}
