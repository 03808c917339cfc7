//! Formats one cell of a row: whole characters, or bytes in hex.

use std::fmt::Write as _;
use std::ops::Range;

use crate::why::layout::Stripe;

/// Moves the borders between stripes so that no border splits a character. A character differs if
/// any of its bytes differs.
pub(super) fn whole_characters(bytes: &[u8], stripes: &mut [Stripe], within: &Range<u64>) {
    for next in 1..stripes.len() {
        let border = stripes[next].range.start;
        let Some(character) = character_over(bytes, border, within) else {
            continue;
        };
        let to = if stripes[next - 1].run.is_some() {
            character.start
        } else {
            character.end
        };
        let to = to.clamp(stripes[next - 1].range.start, stripes[next].range.end);
        stripes[next - 1].range.end = to;
        stripes[next].range.start = to;
    }
}

/// Returns the range of the multi-byte character that spans a place, if there is one.
fn character_over(bytes: &[u8], place: u64, within: &Range<u64>) -> Option<Range<u64>> {
    let lead = (within.start.max(place.saturating_sub(3))..place)
        .rev()
        .find(|&at| bytes[at as usize] & 0xc0 != 0x80)?;
    let len = match bytes[lead as usize] {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return None,
    };
    let end = lead + len;
    let is_one = end > place
        && end <= within.end
        && std::str::from_utf8(&bytes[lead as usize..end as usize]).is_ok();
    is_one.then_some(lead..end)
}

/// Formats bytes as `4d5a9000 03000000 MZ......`: groups of four bytes in hex, padded to a full
/// row, and then the bytes as ASCII.
pub(super) fn hex(bytes: &[u8], width: usize) -> String {
    let mut text = String::with_capacity(width * 4);
    for at in 0..width {
        if at > 0 && at % 4 == 0 {
            text.push(' ');
        }
        match bytes.get(at) {
            // Writing to a string does not fail.
            Some(byte) => write!(text, "{byte:02x}").unwrap_or_default(),
            None => text.push_str("  "),
        }
    }
    text.push_str("  ");
    text.extend(bytes.iter().map(|&byte| match byte {
        b' '..=b'~' => char::from(byte),
        _ => '.',
    }));
    text
}
