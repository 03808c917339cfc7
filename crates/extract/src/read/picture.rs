//! Reads the date that a picture states in Exif (JEITA CP-3451). Pictures are not decoded.
//!
//! The date is read in the caller's process, because starting a worker takes longer than digesting
//! most pictures. So the cost of a hostile picture must be bounded here. At most two directories,
//! with at most [`MAX_ENTRIES`] entries each, and the values of a few tags are read.

use mail_parser::DateTime;
use rawzip::ReaderAt;
use resemble_core::date::{DateSource, DocumentDate};

use super::date::of_parsed;
use crate::read::{Place, Source, Take, Walk};

/// The maximum number of entries of a directory that are read. Cameras write up to a hundred
/// entries.
const MAX_ENTRIES: usize = 512;

/// The number of bytes of a HEIC that are read to find its items. The box `meta` lists the items.
const MAX_META: usize = 64 << 10;

/// The tag whose value is the offset of the Exif directory.
const EXIF_DIRECTORY: u16 = 0x8769;

/// The tags that state a date, each with the tag of its time zone. The best tag is first:
/// `DateTime`, the date of the last change. `DateTimeOriginal` and `DateTimeDigitized` follow.
const TAGS: [(u16, u16, DateSource); 3] = [
    (0x0132, 0x9010, DateSource::ExifModified),
    (0x9003, 0x9011, DateSource::ExifTaken),
    (0x9004, 0x9012, DateSource::ExifDigitized),
];

/// Reports the date of a picture. A damaged picture has no date. The damage is not reported,
/// because nothing but the date is read of a picture.
pub(super) fn read(walk: &mut Walk, source: Source<'_>, place: Place) -> Take {
    let mut head = vec![0; crate::HEAD];
    let read = source.read_at(&mut head, 0)?;
    let at = exif_in_head(&head[..read]).or_else(|| exif_by_boxes(source, &head[..read]));
    let date = at.and_then(|at| Exif::at(source, at)?.date());
    walk.date(place, date)
}

/// Returns whether a file with these first bytes is a picture in a format that can contain Exif.
pub(crate) fn may_have_exif(head: &[u8]) -> bool {
    exif_in_head(head).is_some() || is_heif(head)
}

/// Returns whether these are the first bytes of a HEIC or AVIF. Films use the same container.
fn is_heif(head: &[u8]) -> bool {
    const BRANDS: [&[u8]; 7] = [
        b"avif", b"heic", b"heim", b"heis", b"heix", b"mif1", b"msf1",
    ];
    head.get(4..8) == Some(b"ftyp") && head.get(8..12).is_some_and(|brand| BRANDS.contains(&brand))
}

/// Returns the offset of the Exif data in a TIFF, a JPEG or a PNG. In these formats, the Exif data
/// are near the beginning of the file.
fn exif_in_head(head: &[u8]) -> Option<u64> {
    let mut rest = Fields(head);
    if head.starts_with(b"II*\0") || head.starts_with(b"MM\0*") {
        return Some(0);
    }
    if head.starts_with(b"\xff\xd8\xff") {
        rest.bytes(2)?;
        loop {
            let (marker, len) = (rest.number(2)?, rest.number(2)?);
            if marker == 0xffe1 && rest.0.starts_with(b"Exif\0\0") {
                return Some((head.len() - rest.0.len() + 6) as u64);
            }
            // After the marker 0xffda (start of scan), the data of the picture follow. No further
            // segments are read.
            let is_segment = marker > 0xff00 && marker != 0xffda;
            rest.bytes(len.checked_sub(2).filter(|_| is_segment)? as usize)?;
        }
    }
    if head.starts_with(b"\x89PNG\r\n\x1a\n") {
        rest.bytes(8)?;
        loop {
            let (len, kind) = (rest.number(4)?, rest.bytes(4)?);
            if kind == b"eXIf" {
                return Some((head.len() - rest.0.len()) as u64);
            }
            rest.bytes(len as usize + 4)?;
        }
    }
    None
}

/// Returns the offset of the Exif data in a HEIC or AVIF. These formats consist of boxes (ISO
/// 23008-12). The box `iinf` has the number of the Exif item. The box `iloc` has the offset of each
/// item.
fn exif_by_boxes(source: Source<'_>, head: &[u8]) -> Option<u64> {
    if !is_heif(head) {
        return None;
    }
    let kind_len = u64::from(u32::from_be_bytes(*head.first_chunk()?));
    let mut meta = vec![0; MAX_META];
    let read = source.read_at(&mut meta, kind_len).ok()?;
    let (kind, meta, _) = next_box(&meta[..read])?;
    if kind != b"meta" {
        return None;
    }
    let mut children = meta.get(4..)?;
    let (mut item, mut places) = (None, None);
    while let Some((kind, body, rest)) = next_box(children) {
        match kind {
            b"iinf" => item = exif_item(body),
            b"iloc" => places = Some(body),
            _ => {}
        }
        children = rest;
    }
    let at = place_of(item?, places?)?;
    let mut before = [0; 4];
    (source.read_at(&mut before, at).ok()? == 4).then_some(())?;
    at.checked_add(4 + u64::from(u32::from_be_bytes(before)))
}

/// Returns the kind of the first box in `bytes`, its body, and the bytes after the box. The body
/// may be cut off at the end of `bytes`.
fn next_box(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let mut fields = Fields(bytes);
    let (len, kind) = (fields.number(4)? as usize, fields.bytes(4)?);
    let len = len.checked_sub(8)?.min(fields.0.len());
    let (body, rest) = fields.0.split_at(len);
    Some((kind, body, rest))
}

/// Returns the number of the item that has Exif.
fn exif_item(infos: &[u8]) -> Option<u64> {
    let version = *infos.first()?;
    let mut entries = infos.get(if version == 0 { 6 } else { 8 }..)?;
    while let Some((_, entry, rest)) = next_box(entries) {
        let mut fields = Fields(entry);
        let version = fields.number(1)?;
        fields.bytes(3)?;
        let number = fields.number(if version == 2 { 2 } else { 4 })?;
        fields.bytes(2)?;
        if fields.bytes(4)? == b"Exif" {
            return Some(number);
        }
        entries = rest;
    }
    None
}

/// Returns the offset of an item. Returns `None` if the item is not stored unchanged and in one
/// piece.
fn place_of(item: u64, places: &[u8]) -> Option<u64> {
    let mut fields = Fields(places);
    let version = fields.number(1)?;
    fields.bytes(3)?;
    let sizes = fields.number(2)?;
    let size = |shift: u32| (sizes >> shift & 15) as usize;
    let index = if version == 0 { 0 } else { size(0) };
    let (offset, len, base) = (size(12), size(8), size(4));
    let of_numbers = if version < 2 { 2 } else { 4 };
    for _ in 0..fields.number(of_numbers)? {
        let number = fields.number(of_numbers)?;
        let way = if version == 0 { 0 } else { fields.number(2)? };
        fields.bytes(2)?;
        let base = fields.number(base)?;
        let extents = fields.number(2)? as usize;
        if number == item {
            fields.bytes(index)?;
            let at = base.checked_add(fields.number(offset)?)?;
            return (way % 16 == 0 && extents == 1).then_some(at);
        }
        fields.bytes(extents * (index + offset + len))?;
    }
    None
}

/// Reads a sequence of big-endian numbers.
struct Fields<'b>(&'b [u8]);

impl<'b> Fields<'b> {
    fn bytes(&mut self, count: usize) -> Option<&'b [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    /// Reads a number of at most eight bytes.
    fn number(&mut self, bytes: usize) -> Option<u64> {
        let bytes = self.bytes(bytes).filter(|bytes| bytes.len() <= 8)?;
        Some(
            bytes
                .iter()
                .fold(0, |number, &byte| number << 8 | u64::from(byte)),
        )
    }
}

/// The Exif data of a picture: a TIFF that begins at an offset of `source`.
struct Exif<'s> {
    source: Source<'s>,
    at: u64,
    is_little: bool,
}

impl<'s> Exif<'s> {
    fn at(source: Source<'s>, at: u64) -> Option<Self> {
        let mut mark = [0; 4];
        let exif = |is_little| Self {
            source,
            at,
            is_little,
        };
        (source.read_at(&mut mark, at).ok()? == 4).then_some(())?;
        match &mark {
            b"II*\0" => Some(exif(true)),
            b"MM\0*" => Some(exif(false)),
            _ => None,
        }
    }

    /// Returns the date of the first tag in [`TAGS`] that states a date.
    fn date(&self) -> Option<DocumentDate> {
        let first = self.number(&self.bytes(4, 4)?)?;
        let mut entries = self.directory(first)?;
        let more = self.entry(&entries, EXIF_DIRECTORY);
        let more = more.and_then(|entry| self.directory(self.number(&entry[8..])?));
        entries.append(&mut more.unwrap_or_default());
        TAGS.iter().find_map(|&(tag, zone, source)| {
            let date = parsed(&self.text(&entries, tag)?)?;
            let zone = self.text(&entries, zone);
            let date = zone.and_then(|zone| in_zone(date, &zone)).unwrap_or(date);
            of_parsed(&date, source)
        })
    }

    /// Returns the entries of a directory. Entries that the file lacks are left out.
    fn directory(&self, at: u32) -> Option<Vec<[u8; 12]>> {
        let count = self.number(&self.bytes(at, 2)?)? as usize;
        let entries = self.bytes(at.checked_add(2)?, 12 * count.min(MAX_ENTRIES))?;
        Some(entries.as_chunks().0.to_vec())
    }

    /// Returns the text of a tag. It is cut to the length of a date.
    fn text(&self, entries: &[[u8; 12]], tag: u16) -> Option<Vec<u8>> {
        let entry = self.entry(entries, tag)?;
        (self.number(&entry[2..4])? == 2).then_some(())?;
        let len = self.number(&entry[4..8])?.min(20) as usize;
        match len {
            0..=4 => Some(entry[8..8 + len].to_vec()),
            _ => self.bytes(self.number(&entry[8..])?, len),
        }
    }

    fn bytes(&self, at: u32, most: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; most];
        let at = self.at.checked_add(u64::from(at))?;
        let read = self.source.read_at(&mut bytes, at).ok()?;
        bytes.truncate(read);
        Some(bytes)
    }

    /// Reads a number of at most four bytes in the byte order of this TIFF.
    fn number(&self, bytes: &[u8]) -> Option<u32> {
        let add = |number, &byte: &u8| number << 8 | u32::from(byte);
        let is_one = matches!(bytes.len(), 1..=4);
        is_one.then(|| {
            if self.is_little {
                bytes.iter().rev().fold(0, add)
            } else {
                bytes.iter().fold(0, add)
            }
        })
    }

    fn entry<'e>(&self, entries: &'e [[u8; 12]], tag: u16) -> Option<&'e [u8; 12]> {
        let mut entries = entries.iter();
        entries.find(|entry| self.number(&entry[..2]) == Some(u32::from(tag)))
    }
}

/// Parses a date in the form of Exif: `2024:03:05 10:22:33`. The result is in UTC.
fn parsed(text: &[u8]) -> Option<DateTime> {
    let text = std::str::from_utf8(text.first_chunk::<19>()?).ok()?;
    let (date, time) = text.split_once(' ')?;
    DateTime::parse_rfc3339(&format!("{}T{time}", date.replace(':', "-")))
}

/// Applies a time zone in the form of Exif (`+01:00`) to a date.
fn in_zone(date: DateTime, zone: &[u8]) -> Option<DateTime> {
    let zone = std::str::from_utf8(zone.first_chunk::<6>()?).ok()?;
    let (hour, minute) = zone.split_once(':')?;
    let date = DateTime {
        tz_before_gmt: zone.starts_with('-'),
        tz_hour: hour.strip_prefix(['+', '-'])?.parse().ok()?,
        tz_minute: minute.parse().ok()?,
        ..date
    };
    date.is_valid().then_some(date)
}

#[cfg(test)]
mod tests {
    use resemble_testutil::picture::{MODIFIED, TAKEN, heic, jpeg, png, tiff};

    use super::*;

    fn stated(picture: &[u8]) -> Option<i64> {
        let source = Source::Held(picture);
        let head = &picture[..picture.len().min(crate::HEAD)];
        let at = exif_in_head(head).or_else(|| exif_by_boxes(source, head))?;
        Some(Exif::at(source, at)?.date()?.seconds)
    }

    #[test]
    fn no_cut_picture_is_read_beyond_its_end() {
        let exif = tiff(&[(TAKEN.0, "2024:03:05 10:22:33"), (TAKEN.1, "+01:00")], 9);
        for picture in [exif.clone(), jpeg(&exif, b""), png(&exif), heic(&exif, 9)] {
            assert_eq!(stated(&picture), Some(1_709_630_553));
            for end in 0..picture.len() {
                // An incomplete time zone is ignored.
                let found = stated(&picture[..end]);
                let is_possible = [None, Some(1_709_634_153), Some(1_709_630_553)];
                assert!(is_possible.contains(&found), "{end}: {found:?}");
            }
        }
    }

    #[test]
    fn a_directory_may_say_anything_of_its_length_and_of_others() {
        let mut exif = tiff(&[(MODIFIED.0, "2024:03:05 10:22:33")], 0);
        exif[8..10].copy_from_slice(&u16::MAX.to_le_bytes());
        assert_eq!(stated(&exif), Some(1_709_634_153));
        // Makes the reference to the Exif directory point at the first directory again.
        let pointer = 8 + 2 + 12 + 8;
        exif[pointer..pointer + 4].copy_from_slice(&8u32.to_le_bytes());
        assert_eq!(stated(&exif), Some(1_709_634_153));
        exif[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(stated(&exif), None);
    }

    #[test]
    fn the_other_order_of_bytes_is_read() {
        let exif = [
            &b"MM\0*\0\0\0\x08\0\x01\x01\x32\0\x02\0\0\0\x14\0\0\0\x1a\0\0\0\0"[..],
            b"2024:03:05 10:22:33\0",
        ];
        assert_eq!(stated(&exif.concat()), Some(1_709_634_153));
    }
}
