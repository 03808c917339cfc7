//! PDFs whose table of objects is wrong: made shorter or longer on their way, cut off, written by
//! careless programs.
//!
//! Every reader that people use reads these, so texts are expected of them. The table is made anew
//! from the marks that objects begin with, and the catalogue is taken from whatever trailer or
//! cross-reference stream names one; of two objects with one number the later counts, as after an
//! update.

use std::collections::BTreeMap;

/// Objects with higher numbers are damage.
const HIGHEST: u32 = 8_388_607;

/// The file with a new table at its end. `None`: there is nothing to make one from.
pub(super) fn with_new_table(bytes: &[u8]) -> Option<Vec<u8>> {
    let root = reference(bytes, b"/Root")?;
    // What is encrypted needs more than a table.
    if memchr::memmem::find(bytes, b"/Encrypt").is_some() {
        return None;
    }
    let objects = objects(bytes);
    let last = objects.last_key_value()?.0;
    let mut repaired = Vec::with_capacity(bytes.len() + 64 * objects.len());
    repaired.extend_from_slice(bytes);
    repaired.push(b'\n');
    let table = repaired.len();
    repaired.extend_from_slice(b"xref\n0 1\n0000000000 65535 f \n");
    for (number, (generation, at)) in &objects {
        let entry = format!("{number} 1\n{at:010} {generation:05} n \n");
        repaired.extend_from_slice(entry.as_bytes());
    }
    let (number, generation) = root;
    let trailer = format!(
        "trailer\n<</Size {}/Root {number} {generation} R>>\nstartxref\n{table}\n%%EOF\n",
        last + 1
    );
    repaired.extend_from_slice(trailer.as_bytes());
    Some(repaired)
}

/// The objects of a file by their numbers: generation and offset.
fn objects(bytes: &[u8]) -> BTreeMap<u32, (u16, usize)> {
    let mut all = BTreeMap::new();
    for mark in memchr::memmem::find_iter(bytes, b" obj") {
        let before = &bytes[..mark];
        let Some((generation, at)) = number_before(before) else {
            continue;
        };
        let Some(blank) = bytes[..at].strip_suffix(b" ") else {
            continue;
        };
        let Some((number, at)) = number_before(blank) else {
            continue;
        };
        if number <= HIGHEST {
            all.insert(number, (u16::try_from(generation).unwrap_or(0), at));
        }
    }
    all
}

/// The number that bytes end with, and where it begins.
fn number_before(bytes: &[u8]) -> Option<(u32, usize)> {
    let digits = bytes
        .iter()
        .rev()
        .take(10)
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let at = bytes.len() - digits;
    let number = std::str::from_utf8(&bytes[at..]).ok()?.parse().ok()?;
    Some((number, at))
}

/// The object that follows the last such key.
fn reference(bytes: &[u8], key: &[u8]) -> Option<(u32, u16)> {
    let mut found = None;
    for at in memchr::memmem::find_iter(bytes, key) {
        let rest = &bytes[at + key.len()..];
        let rest = std::str::from_utf8(&rest[..rest.len().min(24)]);
        // The cut may be in the middle of anything.
        let rest = match rest {
            Ok(rest) => rest,
            Err(error) => {
                let valid = error.valid_up_to();
                std::str::from_utf8(&bytes[at + key.len()..][..valid]).unwrap_or_default()
            }
        };
        let mut words = rest.split_ascii_whitespace();
        let number = words.next().and_then(|word| word.parse().ok());
        let generation = words.next().and_then(|word| word.parse().ok());
        let is_reference = words.next().is_some_and(|word| word.starts_with('R'));
        if let (Some(number), Some(generation), true) = (number, generation, is_reference) {
            found = Some((number, generation));
        }
    }
    found
}
