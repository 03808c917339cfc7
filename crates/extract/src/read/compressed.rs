//! Compressed files: gz, bz2, xz, zst; and the decoders, which zip uses as well.
//!
//! A file may be several streams one after another (`cat a.gz b.gz`): they are one content. What
//! follows the last stream and is none is no error for gz, where tapes and tools leave zeros and
//! worse behind.

use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Read};
use std::rc::Rc;

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::budget::RATIO_FROM;
use crate::format::Kind;
use crate::read::{Place, Reached, Source, Take, Walk};
use crate::{Bound, Limits};

pub(super) fn unpack(
    walk: &mut Walk,
    source: Source<'_>,
    kind: Kind,
    name: &[u8],
    place: Place,
) -> Take {
    let open = |walk: &Walk| decoder(kind, source.reader(), &walk.limits);
    walk.unpacked(name, &open, place)
}

/// A decoder, with its bounds.
fn decoder<'a>(kind: Kind, from: impl Read + 'a, limits: &Limits) -> Box<dyn Read + 'a> {
    let (from, taken) = Counted::new(from);
    let from = BufReader::with_capacity(64 << 10, from);
    let inner: Box<dyn Read + 'a> = match kind {
        Kind::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(from)),
        Kind::Xz => Box::new(xz(from, limits)),
        Kind::Zstd => Box::new(Zstd::new(from, limits)),
        _ => Box::new(Gzip::new(from)),
    };
    Box::new(Bounded::new(inner, taken, limits))
}

/// Memory that a decoder may ask for, kilobytes.
fn decoder_memory(limits: &Limits) -> u32 {
    u32::try_from(limits.memory / 2 / 1024).unwrap_or(u32::MAX)
}

pub(super) fn xz<R: Read>(from: R, limits: &Limits) -> lzma_rust2::XzReader<R> {
    lzma_rust2::XzReader::new_mem_limit(from, true, decoder_memory(limits))
}

/// Counts what is read.
#[derive(Debug)]
pub(super) struct Counted<R> {
    inner: R,
    taken: Rc<Cell<u64>>,
}

impl<R> Counted<R> {
    pub(super) fn new(inner: R) -> (Self, Rc<Cell<u64>>) {
        let taken = Rc::new(Cell::new(0));
        let counter = Rc::clone(&taken);
        (Self { inner, taken }, counter)
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buf)?;
        self.taken.set(self.taken.get() + read as u64);
        Ok(read)
    }
}

/// Ends with an error when more comes out than the ratio allows for what went in.
#[derive(Debug)]
pub(super) struct Bounded<R> {
    inner: R,
    taken: Rc<Cell<u64>>,
    given: u64,
    ratio: u64,
}

impl<R> Bounded<R> {
    pub(super) fn new(inner: R, taken: Rc<Cell<u64>>, limits: &Limits) -> Self {
        Self {
            inner,
            taken,
            given: 0,
            ratio: limits.ratio,
        }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buf)?;
        self.given += read as u64;
        let most = self.taken.get().saturating_mul(self.ratio);
        if self.given > RATIO_FROM && self.given > most {
            return Err(io::Error::other(Reached(Bound::Ratio)));
        }
        Ok(read)
    }
}

/// Gzip: members until something else comes.
struct Gzip<R> {
    /// `None` only while one member gives way to the next, and after the last.
    member: Option<flate2::bufread::GzDecoder<R>>,
}

impl<R: BufRead> Gzip<R> {
    fn new(from: R) -> Self {
        Self {
            member: Some(flate2::bufread::GzDecoder::new(from)),
        }
    }
}

impl<R: BufRead> Read for Gzip<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let read = member.read(buf)?;
            if read > 0 || buf.is_empty() {
                return Ok(read);
            }
            let Some(ended) = self.member.take() else {
                break;
            };
            let mut rest = ended.into_inner();
            if rest.fill_buf()?.first() == Some(&0x1f) {
                self.member = Some(flate2::bufread::GzDecoder::new(rest));
            }
        }
        Ok(0)
    }
}

/// Zstandard: frames one after another, those to be skipped left out.
pub(super) struct Zstd<R> {
    from: R,
    decoder: FrameDecoder,
    in_frame: bool,
}

impl<R: BufRead> Zstd<R> {
    pub(super) fn new(from: R, limits: &Limits) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(limits.memory / 4);
        Self {
            from,
            decoder,
            in_frame: false,
        }
    }

    /// Begins the next frame, if there is one.
    fn next_frame(&mut self) -> io::Result<bool> {
        while !self.from.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.from) {
                Ok(()) => {
                    self.in_frame = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let mut skipped = self.from.by_ref().take(u64::from(length));
                    io::copy(&mut skipped, &mut io::sink())?;
                }
                Err(error) => return Err(of_zstd(error)),
            }
        }
        Ok(false)
    }

    /// The frame's end: its check sum, if it has one.
    fn end_frame(&mut self) -> io::Result<()> {
        self.in_frame = false;
        match self.decoder.get_checksum_from_data() {
            Some(sum) if self.decoder.get_calculated_checksum() != Some(sum) => {
                Err(io::Error::other("wrong check sum"))
            }
            _ => Ok(()),
        }
    }
}

fn of_zstd(error: FrameDecoderError) -> io::Error {
    match error {
        FrameDecoderError::WindowSizeTooBig { .. } => io::Error::other(Reached(Bound::Memory)),
        error => io::Error::other(error.to_string()),
    }
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.in_frame && !self.next_frame()? {
                return Ok(0);
            }
            let read = self.decoder.read(buf)?;
            if read > 0 {
                return Ok(read);
            }
            if self.decoder.is_finished() {
                self.end_frame()?;
                continue;
            }
            let piece = BlockDecodingStrategy::UptoBytes(buf.len());
            self.decoder
                .decode_blocks(&mut self.from, piece)
                .map_err(of_zstd)?;
        }
    }
}
