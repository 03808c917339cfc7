//! Content-defined chunks by TTTD, "two thresholds, two divisors" (Eshghi & Tang, *A Framework
//! for Analyzing and Improving Content-Based Chunking Algorithms*, HPL-2005-30R1).
//!
//! # Definition
//!
//! A position p of a file is the number of bytes before it. The chunk under way starts at l, the
//! last cut. At each p in turn, with H the hash of the 64 bytes before p:
//!
//! ```text
//! p - l < Tmin              go on
//! H mod D' = D'-1           p is the backup (the last one wins)
//! H mod D  = D-1            cut at p
//! p - l < Tmax              go on
//! otherwise                 cut at the backup if there is one, else at p
//! ```
//!
//! A cut forgets the backup. What follows the last cut is the last chunk. [`oracle`] is this text
//! as a program and nothing else; everything faster is tested against it.
//!
//! # Choices where the paper leaves one
//!
//! 1. *Window*: 64 bytes. Tmin is at least 65, so a window that can cut lies within its chunk, and
//!    a chunk depends on nothing before it: two files that agree in one cut and in the bytes after
//!    it agree in the next cut.
//! 2. *Hash*: that of [`crate::hash::rolling`]; TTTD's H is its high 32 bits. The same pass then
//!    serves the fingerprints.
//! 3. *D = 2·D'*, so one test finds both kinds of match.
//!
//! # The fast path
//!
//! In two stages, after SS-CDC (Ni et al., SYSTOR 2019): a scan of all windows, with no regard to
//! chunks, reports the rare matches of D' and D; then the [`Picker`] walks those with Tmin and
//! Tmax. Where windows are wanted for fingerprints too, none may be left out. Where they are not
//! ([`cut`], [`Chunker::update`]), the first Tmin bytes of a chunk are passed over, as usual, and
//! matches of D alone are looked for: one chunk of a hundred reaches Tmax without any, and in that
//! the last match of D' is looked for from behind.
//!
//! A cut at the backup does not go back: between the backup and where Tmax was reached there is no
//! match of either divisor, so a second look would find nothing there.

pub mod oracle;
mod picker;

pub use picker::Picker;

use crate::hash::rolling::{Divisor, Matcher, RollingPlatform, Scanner};
use crate::ids::Fingerprint;
use crate::params::{ChunkParams, Params};

/// One chunk, or several equal ones in a row within a hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Where the (first) chunk starts.
    pub start: u64,
    /// Bytes of each.
    pub len: u32,
    /// How many: more than one only from [`Chunker::zeros`].
    pub count: u64,
}

impl Cut {
    /// Where the (last) chunk ends.
    pub const fn end(&self) -> u64 {
        self.start + self.len as u64 * self.count
    }
}

/// The length of the first chunk of `data`; all of `data` if it has no cut. 0 if it is empty.
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
    // No later byte has a say in where the first chunk ends.
    let data = &data[..data.len().min(params.max as usize)];
    // The windows that end at Tmin and behind it.
    let skipped = params.min as usize - Params::WINDOW;
    let windows = data.get(skipped..).unwrap_or_default();
    let matcher = Matcher::new(params.backup_divisor, RollingPlatform::detect());
    let end = matcher.first_main(windows).or_else(|| {
        let is_longest = data.len() == params.max as usize;
        is_longest.then(|| matcher.last_backup(windows)).flatten()
    });
    end.map_or(data.len(), |window| params.min as usize + window)
}

/// Cuts a file, handed over in pieces of any size, into chunks.
///
/// The chunks are those of the file's bytes, however they were divided into pieces. Memory is
/// constant: no byte is kept but the last 63.
#[derive(Clone, Debug)]
pub struct Chunker {
    scanner: Scanner,
    picker: Picker,
    params: ChunkParams,
}

/// Where a chunker stands in the bytes around it, wherever in a file that is: two that stand alike
/// cut alike from there on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChunkerStanding {
    last_bytes: Box<[u8]>,
    /// Bytes of the chunk under way.
    since_cut: u64,
    /// Where in it the backup is.
    backup: Option<u64>,
}

impl Chunker {
    /// A chunker at the start of a file.
    pub fn new(params: &ChunkParams) -> Self {
        // Samples are not asked for here, so there are as few as possible.
        Self::with(
            Scanner::with(params.backup_divisor, 63, RollingPlatform::detect()),
            params,
        )
    }

    /// A chunker that reports the samples of the windows too.
    pub(crate) fn sampling(params: &Params) -> Self {
        Self::with(Scanner::new(params), &params.chunk)
    }

    fn with(scanner: Scanner, params: &ChunkParams) -> Self {
        Self {
            scanner,
            picker: Picker::new(params),
            params: *params,
        }
    }

    /// Bytes handed over since the start of the file.
    pub const fn position(&self) -> u64 {
        self.scanner.position()
    }

    /// Where the chunk under way starts.
    pub const fn start(&self) -> u64 {
        self.picker.start()
    }

    /// Where the chunker stands.
    pub(crate) fn standing(&self) -> ChunkerStanding {
        let start = self.start();
        ChunkerStanding {
            last_bytes: self.scanner.last_bytes().into(),
            since_cut: self.position() - start,
            backup: self.picker.backup().map(|backup| backup - start),
        }
    }

    /// Starts again within a file, where another chunker stood.
    pub(crate) fn go_on(&mut self, position: u64, standing: &ChunkerStanding) {
        self.scanner.go_on(position, &standing.last_bytes);
        let start = position - standing.since_cut;
        let backup = standing.backup.map(|backup| start + backup);
        self.picker.go_on(start, backup);
    }

    /// Starts again with another file.
    pub fn reset(&mut self) {
        self.scanner.reset();
        self.picker = Picker::new(&self.params);
    }

    /// Takes the next bytes; `sink` gets the chunks that are complete now.
    ///
    /// Where the scan can stop soon, it goes from match to match of D and leaves out the first Tmin
    /// bytes of each chunk. It reports no samples.
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
        // Where the next window ends, none of which matters before Tmin.
        let mut next = start + Params::WINDOW as u64;
        loop {
            picker.advance(end.min(next - 1), &mut |end| ends.cut(end));
            next = next.max(picker.start() + min);
            if next > end {
                return;
            }
            // At Tmax the chunk ends in any case.
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

    /// Takes `count` zero bytes: what [`Self::update`] does with that many, in time that does not
    /// depend on `count`.
    pub fn zeros(&mut self, count: u64, sink: &mut impl FnMut(Cut)) {
        self.scan_zeros(count, sink, &mut |_| {});
    }

    /// The end of the file: `sink` gets the last chunk, if there is one. The chunker then stands
    /// at the start of the next file.
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

    /// From the next call on reports samples of this level and above only.
    pub(crate) fn raise_level(&mut self, level: u8) {
        self.scanner.raise_level(level);
    }

    /// [`Self::update`] with the samples, in the order of their windows.
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

    /// [`Self::zeros`] with the samples: those of the windows that reach into the bytes before.
    ///
    /// All windows within a hole have one hash. If it matches neither divisor, every chunk that
    /// starts in the hole ends at Tmax; if it matches D', so it does too, for the position at Tmax
    /// is then the backup; if it matches D, it ends at Tmin. So once a chunk has started in the
    /// hole with 63 zeros before the scan's position, all that follow are known.
    pub(crate) fn scan_zeros(
        &mut self,
        count: u64,
        sink: &mut impl FnMut(Cut),
        sample: &mut impl FnMut(Fingerprint),
    ) {
        let (hole, end) = (self.position(), self.position() + count);
        self.scan_some_zeros(count.min(Params::WINDOW as u64), sink, sample);
        while self.position() < end && (self.start() < hole || self.picker.has_backup()) {
            // The chunk under way ends within these, or the hole does.
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

    /// Takes fewer zeros than a few chunks have, one by one if their window is a match.
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

/// Turns the ends of chunks into chunks.
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
