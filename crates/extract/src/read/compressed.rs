//! Reads compressed files (gz, bz2, xz, zst). Zips use these decoders, too.
//!
//! A file may consist of several consecutive streams (`cat a.gz b.gz`). The streams are one
//! content. Zeros between and after the streams are padding. Other bytes after the last stream are
//! reported. A truncated or damaged stream is reported, too. The content before the fault is kept.

use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::rc::Rc;

use flate2::FlushDecompress;
use lzma_rust2::{Action, XzStream};
use rawzip::ReaderAt;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::budget::RATIO_FROM;
use crate::format::{self, Kind};
use crate::read::source::Reader;
use crate::read::{Place, Source, Take, Unpacking, Walk, is_cut, reason};
use crate::{Bound, Limits, Skipped};

pub(super) fn unpack(
    walk: &mut Walk,
    source: Source<'_>,
    kind: Kind,
    name: &[u8],
    place: Place,
) -> Take {
    let open = |walk: &Walk| decoder(kind, source, &walk.limits);
    walk.unpacked(name, &open, place)
}

/// Makes a decoder that stays within the limits.
fn decoder<'a>(kind: Kind, source: Source<'a>, limits: &Limits) -> Box<dyn Unpacking + 'a> {
    let taken = Rc::new(Cell::new(0));
    let streams = Streams {
        source,
        kind,
        limits: *limits,
        stream: None,
        taken: Rc::clone(&taken),
        begin: 0,
        given: 0,
        count: 0,
        ending: None,
    };
    Box::new(Bounded::new(streams, taken, limits))
}

/// Returns the memory limit of a decoder in kilobytes.
pub(super) fn decoder_memory(limits: &Limits) -> u32 {
    u32::try_from(limits.memory / 2 / 1024).unwrap_or(u32::MAX)
}

pub(super) fn xz<R: Read>(from: R, limits: &Limits) -> lzma_rust2::XzReader<R> {
    lzma_rust2::XzReader::new_mem_limit(from, true, decoder_memory(limits))
}

/// The streams of a compressed file, read as one stream.
struct Streams<'a> {
    source: Source<'a>,
    kind: Kind,
    limits: Limits,
    /// The current stream. It is `None` before the first stream, between two streams and after the
    /// last one.
    stream: Option<Box<dyn Read + 'a>>,
    /// The number of bytes of the file that were decoded or skipped.
    taken: Rc<Cell<u64>>,
    /// The offset of the current stream in the file.
    begin: u64,
    /// The number of bytes that the current stream has returned.
    given: u64,
    /// The number of streams that have begun.
    count: u64,
    /// The error after which no stream begins. The content before the error is kept. If the current
    /// stream is damaged, [`Tail`] reads the rest of it. The error is then known before the end of
    /// the stream.
    ending: Option<Skipped>,
}

impl<'a> Streams<'a> {
    /// Begins the next stream. Returns `false` if no stream follows.
    fn next_stream(&mut self) -> io::Result<bool> {
        let at = self.after_padding()?;
        let mut head = [0; 16];
        let read = self.source.read_at(&mut head, at)?;
        if self.count > 0 && format::of(b"", &head[..read]) != Some(self.kind) {
            self.ending = (read > 0).then(followed);
            return Ok(false);
        }
        self.taken.set(at);
        let from = Counted::new(self.source.reader_from(at), Rc::clone(&self.taken));
        let limits = &self.limits;
        self.stream = Some(match self.kind {
            Kind::Bzip2 => Box::new(bzip2::bufread::BzDecoder::new(from)),
            Kind::Xz => {
                let memory = decoder_memory(limits);
                Box::new(lzma_rust2::XzReader::new_mem_limit(from, false, memory))
            }
            Kind::Zstd => Box::new(Zstd::new(from, limits, Frames::One)),
            _ => Box::new(flate2::bufread::GzDecoder::new(from)),
        });
        self.begin = at;
        self.given = 0;
        self.count += 1;
        Ok(true)
    }

    /// Returns a reader for the rest of the current stream, up to its error. The rest follows the
    /// bytes that the stream has already returned.
    fn tail(&self) -> Option<BufReader<Tail<Counted<Reader<'a>>>>> {
        self.taken.set(self.begin);
        let from = self.source.reader_from(self.begin);
        let mut from = Counted::new(from, Rc::clone(&self.taken));
        let decoder = match self.kind {
            Kind::Xz => {
                let memory = decoder_memory(&self.limits);
                Decoder::Xz(Box::new(XzStream::new_mem_limit(false, memory)))
            }
            Kind::Bzip2 => Decoder::Bzip2(bzip2::Decompress::new(false)),
            Kind::Gzip => {
                // This reader has read the header of the stream, and nothing behind it.
                let after_header = flate2::bufread::GzDecoder::new(from);
                after_header.header()?;
                from = after_header.into_inner();
                Decoder::Deflate(flate2::Decompress::new(false))
            }
            // The decoder of Zstandard returns all bytes before an error.
            _ => return None,
        };
        let tail = Tail {
            from,
            decoder,
            error: None,
        };
        // A decoder may decode more than fits in the buffer of a call, and drop the excess in the
        // next call.
        let mut tail = BufReader::with_capacity(64 << 10, tail);
        let passed = io::copy(&mut tail.by_ref().take(self.given), &mut io::sink());
        passed.is_ok().then_some(tail)
    }

    /// Returns the offset of the next byte that is not zero. Before the first stream, no byte is
    /// skipped.
    fn after_padding(&self) -> io::Result<u64> {
        let mut at = self.taken.get();
        if self.count == 0 {
            return Ok(at);
        }
        let mut buffer = vec![0; 16 << 10];
        loop {
            let read = self.source.read_at(&mut buffer, at)?;
            let zeros = buffer[..read].iter().take_while(|&&byte| byte == 0).count();
            at += zeros as u64;
            if zeros < read || read == 0 {
                return Ok(at);
            }
        }
    }
}

impl Read for Streams<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        loop {
            let Some(stream) = &mut self.stream else {
                if self.ending.is_some() || !self.next_stream()? {
                    return Ok(0);
                }
                continue;
            };
            match stream.read(buf) {
                Ok(0) => self.stream = None,
                Ok(read) => {
                    self.given += read as u64;
                    return Ok(read);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(error),
                // A tail has ended. Its error is the error of the stream, which is already in
                // `ending`.
                Err(_) if self.ending.is_some() => self.stream = None,
                Err(error) => {
                    let mut tail = self.tail();
                    let rest = tail.as_mut().map(BufRead::fill_buf);
                    let has_bytes =
                        rest.is_some_and(|rest| rest.is_ok_and(|rest| !rest.is_empty()));
                    // Bytes after a stream may look like the start of another stream without being
                    // one.
                    let is_none = self.given == 0 && !has_bytes && !is_cut(&error);
                    self.ending = Some(if self.count > 1 && is_none {
                        followed()
                    } else {
                        reason(&error)
                    });
                    self.stream = tail.filter(|_| has_bytes).map(|tail| Box::new(tail) as _);
                }
            }
        }
    }
}

fn followed() -> Skipped {
    Skipped::Damaged("other bytes follow its end".to_owned())
}

impl Unpacking for Bounded<Streams<'_>> {
    fn fault(&self) -> Option<Skipped> {
        self.inner.ending.clone()
    }
}

/// Reads one stream, and returns every byte that precedes an error. The readers of the libraries
/// drop the bytes that they have decoded for the call that fails. The xz reader of the library
/// returns only whole chunks.
struct Tail<R> {
    from: R,
    decoder: Decoder,
    /// The error behind the last bytes.
    error: Option<io::Error>,
}

/// The number of bytes that the decoder of xz gets in one call. If it finds an error in these
/// bytes, it drops everything that it has decoded of them.
const AT_ONCE: usize = 256;

enum Decoder {
    Xz(Box<XzStream>),
    Bzip2(bzip2::Decompress),
    Deflate(flate2::Decompress),
}

impl Decoder {
    fn total_out(&self) -> u64 {
        match self {
            Self::Xz(decoder) => decoder.total_out(),
            Self::Bzip2(decoder) => decoder.total_out(),
            Self::Deflate(decoder) => decoder.total_out(),
        }
    }

    /// Decodes some of the input, and returns the number of bytes that it consumed.
    fn step(&mut self, input: &[u8], buf: &mut [u8]) -> io::Result<usize> {
        let (before, after) = match self {
            Self::Xz(decoder) => {
                let action = if input.is_empty() {
                    Action::Finish
                } else {
                    Action::Run
                };
                let input = &input[..input.len().min(AT_ONCE)];
                return Ok(decoder.process(input, buf, action)?.bytes_consumed);
            }
            Self::Bzip2(decoder) => {
                let before = decoder.total_in();
                decoder.decompress(input, buf)?;
                (before, decoder.total_in())
            }
            Self::Deflate(decoder) => {
                let before = decoder.total_in();
                decoder.decompress(input, buf, FlushDecompress::None)?;
                (before, decoder.total_in())
            }
        };
        Ok((after - before) as usize)
    }
}

impl<R: BufRead> Read for Tail<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while !buf.is_empty() {
            if let Some(error) = self.error.take() {
                return Err(error);
            }
            let input = self.from.fill_buf()?;
            let before = self.decoder.total_out();
            let result = self.decoder.step(input, buf);
            // Even a call that fails may have written bytes.
            let written = (self.decoder.total_out() - before) as usize;
            match result {
                Ok(0) if written == 0 => return Ok(0),
                Ok(consumed) => self.from.consume(consumed),
                Err(error) => self.error = Some(error),
            }
            if written > 0 {
                return Ok(written);
            }
        }
        Ok(0)
    }
}

/// Counts the bytes that a decoder consumed. Seeking backwards does not reduce the count.
#[derive(Debug)]
pub(super) struct Counted<R> {
    inner: BufReader<R>,
    taken: Rc<Cell<u64>>,
}

impl<R: Read> Counted<R> {
    pub(super) fn new(inner: R, taken: Rc<Cell<u64>>) -> Self {
        Self {
            inner: BufReader::with_capacity(64 << 10, inner),
            taken,
        }
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buf)?;
        self.taken.set(self.taken.get() + read as u64);
        Ok(read)
    }
}

impl<R: Read + Seek> Seek for Counted<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let SeekFrom::Start(to) = to else {
            return self.inner.seek(to);
        };
        // Seeks within the buffer if possible, so that the buffer is not read again.
        let at = self.inner.stream_position()?;
        match to.checked_signed_diff(at) {
            Some(by) => self.inner.seek_relative(by).map(|()| to),
            None => self.inner.seek(SeekFrom::Start(to)),
        }
    }
}

impl<R: Read> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.taken.set(self.taken.get() + amount as u64);
        self.inner.consume(amount);
    }
}

/// Fails if the ratio of output to input exceeds the limit.
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
            return Err(io::Error::other(Skipped::TooMuch(Bound::Ratio)));
        }
        Ok(read)
    }
}

/// The number of Zstandard frames that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frames {
    One,
    All,
}

/// Reads consecutive Zstandard frames. Leaves out skippable frames.
pub(super) struct Zstd<R> {
    from: R,
    decoder: FrameDecoder,
    frames: Frames,
    in_frame: bool,
    ended: bool,
    /// The error behind the last bytes of a frame.
    error: Option<io::Error>,
}

impl<R: BufRead> Zstd<R> {
    pub(super) fn new(from: R, limits: &Limits, frames: Frames) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(limits.memory / 4);
        Self {
            from,
            decoder,
            frames,
            in_frame: false,
            ended: false,
            error: None,
        }
    }

    /// Begins the next frame. Returns `false` if no frame follows.
    fn next_frame(&mut self) -> io::Result<bool> {
        while !self.ended && !self.from.fill_buf()?.is_empty() {
            self.ended = self.frames == Frames::One;
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

    /// Decodes the next blocks of the frame, until they have at least `bytes` bytes.
    fn next_blocks(&mut self, bytes: usize) {
        let piece = BlockDecodingStrategy::UptoBytes(bytes);
        if let Err(error) = self.decoder.decode_blocks(&mut self.from, piece) {
            // The decoder keeps the bytes of a window until the frame ends. So an empty last block
            // and a check sum, which is not verified, are added to end the frame. If the decoder
            // rejects them, the bytes of the window are lost.
            let end = &[1, 0, 0, 0, 0, 0, 0][..];
            drop(self.decoder.decode_blocks(end, BlockDecodingStrategy::All));
            self.error = Some(of_zstd(error));
        }
    }

    /// Verifies the check sum at the end of a frame, if it has one.
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
        FrameDecoderError::WindowSizeTooBig { .. } => {
            io::Error::other(Skipped::TooMuch(Bound::Memory))
        }
        FrameDecoderError::DictNotProvided { .. } => {
            let why = "compressed with a dictionary that is not in the file".to_owned();
            io::Error::other(Skipped::Unsupported(why))
        }
        error if is_cut(&error) => io::ErrorKind::UnexpectedEof.into(),
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
            if let Some(error) = self.error.take() {
                return Err(error);
            }
            if self.decoder.is_finished() {
                self.end_frame()?;
                continue;
            }
            self.next_blocks(buf.len());
        }
    }
}
