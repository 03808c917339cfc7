//! Content-defined chunks by TTTD, "two thresholds, two divisors" (Eshghi & Tang, *A Framework
//! for Analyzing and Improving Content-Based Chunking Algorithms*, HPL-2005-30R1).
//!
//! # Definition
//!
//! A position p of a file is the number of bytes before it. The current chunk starts at l, the last
//! cut. H is the hash of the 64 bytes before p. For each p in turn, these rules are applied from
//! top to bottom; `continue` goes on to the next p:
//!
//! ```text
//! p - l < Tmin              continue
//! H mod D' = D'-1           p is the backup, and replaces an earlier one
//! H mod D  = D-1            cut at p
//! p - l < Tmax              continue
//! otherwise                 cut at the backup if there is one, else at p
//! ```
//!
//! A cut clears the backup. The bytes after the last cut are the last chunk. [`oracle`] implements
//! exactly this definition; every faster version is tested against the oracle.
//!
//! # Choices that the paper leaves open
//!
//! 1. *Window*: 64 bytes. Tmin is at least 65, so every window that can cause a cut lies within the
//!    current chunk. A chunk therefore does not depend on the bytes before it. Two files that share
//!    a cut and the bytes after it share the next cut.
//! 2. *Hash*: the hash of [`crate::hash::rolling`], whose high 32 bits are H. The fingerprints are
//!    computed from the same hash, in the same pass over the bytes.
//! 3. *D = 2·D'*: every match of D is also a match of D', so one test finds both.
//!
//! # The fast path
//!
//! The scan has two stages, as in SS-CDC (Ni et al., SYSTOR 2019). First, all windows are scanned
//! for the rare matches of D' and D, regardless of chunks. Then the [`Picker`] applies Tmin and
//! Tmax to these matches.
//!
//! A scan that also computes fingerprints must not skip any window. A scan without fingerprints
//! skips the first Tmin bytes of each chunk, and searches only for matches of D. These scans are
//! [`cut`] and, with AVX-512, [`Chunker::update`]. One chunk in a hundred reaches Tmax without a
//! match of D. In that case, the last match of D' is searched backwards.
//!
//! After a cut at the backup, the bytes from there to Tmax are not scanned again: none of their
//! positions matches D or D'.

pub mod oracle;
mod picker;

pub use picker::Picker;

use crate::hash::rolling::{Divisor, Matcher, RollingPlatform, Scanner};
use crate::ids::Fingerprint;
use crate::params::{ChunkParams, Params};

/// A chunk, or several consecutive equal chunks within a run of zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The start of the first chunk.
    pub start: u64,
    /// The length of each chunk in bytes.
    pub len: u32,
    /// The number of chunks. It exceeds 1 only in the cuts of [`Chunker::zeros`].
    pub count: u64,
}

impl Cut {
    /// Returns the end of the last chunk.
    pub const fn end(&self) -> u64 {
        self.start + self.len as u64 * self.count
    }
}

/// Returns the length of the first chunk of `data`. Without a cut, that is the length of `data`.
///
/// ```
/// use resemble_core::{chunk, params::ChunkParams};
///
/// let data: Vec<u8> = (0..20_000u32).map(|i| (i * i >> 7) as u8).collect();
/// let mut rest = &data[..];
/// while !rest.is_empty() {
///     let len = chunk::cut(rest, &ChunkParams::PAPER);
///     assert!(len <= 2800 && (len >= 460 || len == rest.len()));
///     rest = &rest[len..];
/// }
/// ```
pub fn cut(data: &[u8], params: &ChunkParams) -> usize {
    // Bytes after Tmax cannot change the end of the first chunk.
    let data = &data[..data.len().min(params.max as usize)];
    // Only the windows that end at or after Tmin can cause a cut.
    let skipped = params.min as usize - Params::WINDOW;
    let windows = data.get(skipped..).unwrap_or_default();
    let matcher = Matcher::new(params.backup_divisor, RollingPlatform::detect());
    let end = matcher.first_main(windows).or_else(|| {
        let is_longest = data.len() == params.max as usize;
        is_longest.then(|| matcher.last_backup(windows)).flatten()
    });
    end.map_or(data.len(), |window| params.min as usize + window)
}

/// Cuts a file into chunks. The bytes of the file arrive in pieces of any size.
///
/// The chunks do not depend on how the bytes are divided into pieces. Memory is constant: only the
/// last 63 bytes are kept.
#[derive(Clone, Debug)]
pub struct Chunker {
    scanner: Scanner,
    picker: Picker,
    params: ChunkParams,
}

/// The state of a chunker, independent of its position in a file. Two chunkers with equal states
/// cut equal further bytes in the same way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChunkerStanding {
    last_bytes: Box<[u8]>,
    /// The number of bytes in the current chunk.
    since_cut: u64,
    /// The offset of the backup in the current chunk. The backup is the last match of D'.
    backup: Option<u64>,
}

impl Chunker {
    /// Makes a chunker at the start of a file.
    pub fn new(params: &ChunkParams) -> Self {
        // This chunker reports no samples. Level 63 is the highest, so hardly any window is
        // sampled.
        Self::with(Scanner::new(params.backup_divisor, 63), params)
    }

    /// Makes a chunker that also reports the fingerprints of the sampled windows.
    pub(crate) fn sampling(params: &Params) -> Self {
        Self::with(params.scanner(), &params.chunk)
    }

    fn with(scanner: Scanner, params: &ChunkParams) -> Self {
        Self {
            scanner,
            picker: Picker::new(params),
            params: *params,
        }
    }

    /// Returns the number of bytes taken since the start of the file.
    pub const fn position(&self) -> u64 {
        self.scanner.position()
    }

    /// Returns the start of the current chunk.
    pub const fn start(&self) -> u64 {
        self.picker.start()
    }

    /// Returns the state of the chunker.
    pub(crate) fn standing(&self) -> ChunkerStanding {
        let start = self.start();
        ChunkerStanding {
            last_bytes: self.scanner.last_bytes().into(),
            since_cut: self.position() - start,
            backup: self.picker.backup().map(|backup| backup - start),
        }
    }

    /// Continues at `position` of a file in `standing`, the state of another chunker.
    pub(crate) fn go_on(&mut self, position: u64, standing: &ChunkerStanding) {
        self.scanner.go_on(position, &standing.last_bytes);
        let start = position - standing.since_cut;
        let backup = standing.backup.map(|backup| start + backup);
        self.picker.go_on(start, backup);
    }

    /// Restarts with another file.
    pub fn reset(&mut self) {
        self.scanner.reset();
        self.picker = Picker::new(&self.params);
    }

    /// Takes the next bytes; `sink` receives the chunks that are complete now.
    ///
    /// On platforms where a search can stop at the first match, this function jumps from match to
    /// match of D. It skips the first Tmin bytes of each chunk and reports no samples.
    pub fn update(&mut self, bytes: &[u8], sink: &mut impl FnMut(Cut)) {
        let matcher = self.scanner.matcher();
        if !matcher.stops_soon() {
            return self.scan(bytes, sink, &mut |_| {});
        }
        let Self {
            scanner, picker, ..
        } = self;
        let (min, max) = (u64::from(self.params.min), u64::from(self.params.max));
        let mut ends = Ends {
            start: picker.start(),
            sink,
        };
        let start = scanner.position();
        scanner.scan_seam(bytes, &mut |hit| {
            if let Some(divisor) = hit.cut {
                picker.hit(hit.end, divisor == Divisor::Main, &mut |end| ends.cut(end));
            }
        });
        scanner.pass(bytes);
        let end = scanner.position();
        // The end of the next window to scan. Windows that end before Tmin cannot cause a cut.
        let mut next = start + Params::WINDOW as u64;
        loop {
            picker.advance(end.min(next - 1), &mut |end| ends.cut(end));
            next = next.max(picker.start() + min);
            if next > end {
                return;
            }
            // The chunk ends at Tmax at the latest.
            let last = end.min(picker.start() + max);
            let windows = (next - start) as usize - Params::WINDOW..(last - start) as usize;
            let windows = &bytes[windows];
            if let Some(window) = matcher.first_main(windows) {
                next += window as u64;
                picker.hit(next, true, &mut |end| ends.cut(end));
                next += 1;
            } else {
                if let Some(window) = matcher.last_backup(windows) {
                    picker.hit(next + window as u64, false, &mut |end| ends.cut(end));
                }
                next = last + 1;
            }
        }
    }

    /// Takes `count` zero bytes. Finds the same chunks as [`Self::update`], but in a time that does
    /// not depend on `count`.
    pub fn zeros(&mut self, count: u64, sink: &mut impl FnMut(Cut)) {
        self.scan_zeros(count, sink, &mut |_| {});
    }

    /// Ends the file; `sink` receives the last chunk, if there is one. The chunker is then at the
    /// start of the next file.
    pub fn finish(&mut self, sink: &mut impl FnMut(Cut)) {
        let (start, end) = (self.start(), self.position());
        if start < end {
            sink(Cut {
                start,
                len: (end - start) as u32,
                count: 1,
            });
        }
        self.reset();
    }

    /// Reports only samples of this level and above from now on.
    pub(crate) fn raise_level(&mut self, level: u8) {
        self.scanner.raise_level(level);
    }

    /// Like [`Self::update`]; `sample` also receives the samples, in the order of their windows.
    pub(crate) fn scan(
        &mut self,
        bytes: &[u8],
        sink: &mut impl FnMut(Cut),
        sample: &mut impl FnMut(Fingerprint),
    ) {
        let Self {
            scanner, picker, ..
        } = self;
        let mut ends = Ends {
            start: picker.start(),
            sink,
        };
        scanner.scan(bytes, &mut |hit| {
            if let Some(divisor) = hit.cut {
                picker.hit(hit.end, divisor == Divisor::Main, &mut |end| ends.cut(end));
            }
            if let Some(fingerprint) = hit.sample {
                sample(fingerprint);
            }
        });
        picker.advance(scanner.position(), &mut |end| ends.cut(end));
    }

    /// Like [`Self::zeros`]; `sample` also receives the samples of the windows that begin before
    /// the zeros.
    ///
    /// All windows within the zeros have the same hash. If the current chunk starts in the zeros
    /// and has no backup, this hash determines the length of this chunk and of all later chunks in
    /// the zeros. If the hash matches D, each of these chunks ends at Tmin. Otherwise, each ends at
    /// Tmax. If the hash matches D', the backup is also at Tmax.
    pub(crate) fn scan_zeros(
        &mut self,
        count: u64,
        sink: &mut impl FnMut(Cut),
        sample: &mut impl FnMut(Fingerprint),
    ) {
        let (hole, end) = (self.position(), self.position() + count);
        self.scan_some_zeros(count.min(Params::WINDOW as u64), sink, sample);
        while self.position() < end && (self.start() < hole || self.picker.has_backup()) {
            // The number of zeros until Tmax cuts the current chunk.
            let most = self.start() + u64::from(self.params.max) - self.position();
            self.scan_some_zeros(most.min(end - self.position()), sink, sample);
        }
        if self.position() < end {
            let len = match self.scanner.zero_window() {
                Some(Divisor::Main) => self.params.min,
                Some(Divisor::Backup) | None => self.params.max,
            };
            let start = self.start();
            let count = (end - start) / u64::from(len);
            if count > 0 {
                let cut = Cut { start, len, count };
                self.picker.skip(cut.end() - start);
                self.scanner.skip_zeros(cut.end() - self.position());
                sink(cut);
            }
            self.scan_some_zeros(end - self.position(), sink, sample);
        }
    }

    /// Takes zeros that span at most a few chunks. If a window of 64 zeros matches D', the zeros
    /// are processed one by one.
    fn scan_some_zeros(
        &mut self,
        count: u64,
        sink: &mut impl FnMut(Cut),
        sample: &mut impl FnMut(Fingerprint),
    ) {
        let Self {
            scanner, picker, ..
        } = self;
        let mut ends = Ends {
            start: picker.start(),
            sink,
        };
        scanner.scan_zeros(count, &mut |hit| {
            if let Some(divisor) = hit.cut {
                picker.hit(hit.end, divisor == Divisor::Main, &mut |end| ends.cut(end));
            }
            if let Some(fingerprint) = hit.sample {
                sample(fingerprint);
            }
        });
        picker.advance(scanner.position(), &mut |end| ends.cut(end));
    }
}

/// Receives the ends of the chunks in order, and passes the chunks to `sink`.
struct Ends<'s, S> {
    start: u64,
    sink: &'s mut S,
}

impl<S: FnMut(Cut)> Ends<'_, S> {
    fn cut(&mut self, end: u64) {
        (self.sink)(Cut {
            start: self.start,
            len: (end - self.start) as u32,
            count: 1,
        });
        self.start = end;
    }
}

#[cfg(test)]
mod tests;
