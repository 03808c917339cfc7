//! Makes a directory for a zip whose end is missing, so that it can be read like any other zip.

use std::io::{self, Read};

use rawzip::ReaderAt;
use rawzip::extra_fields::{ExtraFieldId, ExtraFields};

use crate::Limits;
use crate::read::Source;

/// A zip and the directory that was made for it.
#[derive(Debug)]
pub(super) struct Completed<'a> {
    pub(super) source: Source<'a>,
    /// The directory that was made. It follows the bytes of the source. It is empty if the zip
    /// itself has a directory.
    pub(super) directory: Vec<u8>,
}

impl ReaderAt for Completed<'_> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        match offset.checked_sub(self.source.len()) {
            None => self.source.read_at(buf, offset),
            Some(at) => Source::Held(&self.directory).read_at(buf, at),
        }
    }
}

/// The mark of the header before an entry.
pub(super) const LOCAL_MARK: &[u8; 4] = b"PK\x03\x04";

/// The size that the directory states for an entry of unknown size: the zip is cut off before the
/// descriptor with the size.
const UNKNOWN: u32 = u32::MAX - 1;

/// Makes a directory from the headers before the entries of a zip. It lists at most one entry more
/// than the number of parts that a file may have. It is empty if the zip has no headers, or if the
/// zip has 4 GiB or more.
pub(super) fn directory_of(source: &Source<'_>, limits: &Limits) -> io::Result<Vec<u8>> {
    let (mut all, mut count, mut at) = (Vec::new(), 0, 0);
    let Ok(length) = u32::try_from(source.len()) else {
        return Ok(all);
    };
    while count <= limits.parts
        && let Some(start) = source.find(at, LOCAL_MARK, |_, _| true)?
    {
        let mut header = [0; 30];
        let mut from = source.reader_from(start);
        if from.read_exact(&mut header).is_err() {
            break;
        }
        let half = |at: usize| usize::from(u16::from_le_bytes([header[at], header[at + 1]]));
        let (is_described, name) = (half(6) & 8 != 0, half(26));
        let mut names = vec![0; name + half(28)];
        // The library does not read longer names.
        let is_long = names.len() > rawzip::RECOMMENDED_BUFFER_SIZE;
        if is_long || from.read_exact(&mut names).is_err() {
            break;
        }
        let body = start + (header.len() + names.len()) as u64;
        let rest = source.len() - body;
        let mut size = u64::from(word(&header, 18).unwrap_or(0));
        if size == u64::from(u32::MAX) {
            let zip64 = ExtraFields::new(&names[name..]).find(|(id, _)| *id == ExtraFieldId::ZIP64);
            let field = zip64.and_then(|(_, field)| field.get(8..16)?.try_into().ok());
            size = field.map_or(size, u64::from_le_bytes);
        }
        if is_described {
            let unknown = (size == 0 || size >= rest).then_some((rest, 0, UNKNOWN));
            if let Some((found, sum, unpacked)) = described(source, body)?.or(unknown) {
                size = found;
                header[14..18].copy_from_slice(&sum.to_le_bytes());
                header[22..26].copy_from_slice(&unpacked.to_le_bytes());
            }
        }
        let size = size.min(rest);
        header[18..22].copy_from_slice(&(size as u32).to_le_bytes());
        // A record of the directory has the fields of the header, and the offset of the header.
        all.extend(b"PK\x01\x02\0\0");
        all.extend(&header[4..]);
        all.extend([0; 10]);
        all.extend((start as u32).to_le_bytes());
        all.extend(names);
        count += 1;
        at = body + size;
    }
    if count > 0 {
        let size = all.len() as u32;
        all.extend(b"PK\x05\x06\0\0\0\0");
        all.extend([(count as u16).to_le_bytes(); 2].as_flattened());
        all.extend([size, length].map(u32::to_le_bytes).as_flattened());
        all.extend([0; 2]);
    }
    Ok(all)
}

/// Returns the length, the check sum and the unpacked size of an entry. They are in a descriptor
/// after the entry. Returns `None` if the descriptor is missing or has no mark.
fn described(source: &Source<'_>, body: u64) -> io::Result<Option<(u64, u32, u32)>> {
    let has_length = |at, bytes: &[u8]| word(bytes, 8).is_some_and(|it| u64::from(it) == at - body);
    let Some(at) = source.find(body, b"PK\x07\x08", has_length)? else {
        return Ok(None);
    };
    let mut found = Vec::new();
    source.reader_from(at).take(24).read_to_end(&mut found)?;
    // Both sizes have 32 or 64 bits. Another record follows directly after the sizes.
    let is_short = matches!(found.get(16..18), None | Some(b"PK"));
    let unpacked = word(&found, if is_short { 12 } else { 16 });
    let sum = word(&found, 4);
    Ok(sum
        .zip(unpacked)
        .map(|(sum, unpacked)| (at - body, sum, unpacked)))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(u32::from_le_bytes(bytes))
}
