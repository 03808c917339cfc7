//! TTTD by its definition, for tests: slow, and too simple to be wrong.
//!
//! The oracle shares only the definition of the window's hash with the fast path, and computes the
//! hash anew at every byte. The names are those of the definition in [`crate::chunk`].

use crate::hash::rolling::hash_window;
use crate::params::{ChunkParams, Params};

/// Returns the lengths of the chunks of `data`; no lengths if `data` is empty.
pub fn chunks(data: &[u8], params: &ChunkParams) -> Vec<usize> {
    chunks_by(data.len(), params, |p| {
        let window = data[..p].last_chunk::<{ Params::WINDOW }>()?;
        Some((hash_window(window) >> 32) as u32)
    })
}

/// Like [`chunks`], but `hash` returns H for each position 1..=`size`, so that tests can choose the
/// matches. `None` means that no window ends at the position, so it does not match.
pub fn chunks_by(
    size: usize,
    params: &ChunkParams,
    hash: impl Fn(usize) -> Option<u32>,
) -> Vec<usize> {
    let (min, max) = (params.min as usize, params.max as usize);
    let mut lens = Vec::new();
    let mut l = 0;
    let mut backup = None;
    for p in 1..=size {
        if p - l < min {
            continue;
        }
        let matches = |divisor: u32| hash(p).is_some_and(|h| h % divisor == divisor - 1);
        if matches(params.backup_divisor) {
            backup = Some(p);
        }
        let cut = if matches(params.main_divisor) {
            p
        } else if p - l < max {
            continue;
        } else {
            backup.unwrap_or(p)
        };
        lens.push(cut - l);
        l = cut;
        backup = None;
    }
    if l < size {
        lens.push(size - l);
    }
    lens
}
