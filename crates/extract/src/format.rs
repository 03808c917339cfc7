//! Detects the format of a file by its first bytes.
//!
//! Detection runs for every indexed file and every member of every archive, so cheap checks come
//! first. The first byte decides which mark (magic number) is looked for. A tar is found by the
//! check sum in its header. The headers of a mail are read only if its first line is a header. All
//! other bytes are checked for encodings other than UTF-8.
//!
//! Names count only where bytes are ambiguous: a `.eml` may begin with any header. In all other
//! cases only the bytes are used: a `.doc` that is a zip is read as a zip.

use serde::{Deserialize, Serialize};

use crate::{Format, HEAD, charset};

/// A format that the worker reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Kind {
    /// Text in another encoding than UTF-8, with or without markup.
    Text,
    /// Zip, jar, and all documents that are zips.
    Zip,
    Tar,
    /// An `ar` archive: a static library or a Debian package.
    Ar,
    Gzip,
    Bzip2,
    Xz,
    Zstd,
    Pdf,
    Rtf,
    Mail,
    Mbox,
    /// A compound file with the name of a current Office document. Such a document is in a compound
    /// file only if it is encrypted.
    Ole,
    SevenZip,
    /// A program, a script or a file named as a zip. Its last bytes may be a zip.
    SelfExtracting,
    /// A RAR archive. It is not read, but it is reported as skipped.
    Rar,
    /// A picture. Only its date is read.
    Picture,
    /// A web page in UTF-8. Only its date is read, because the bytes of the file already are the
    /// text.
    Page,
}

impl Kind {
    /// Returns whether a file of this format is one compressed content.
    pub(crate) fn is_compressed(self) -> bool {
        matches!(self, Self::Gzip | Self::Bzip2 | Self::Xz | Self::Zstd)
    }

    /// Returns whether a file of this format may contain other files. This includes a compressed
    /// file, because its content may be a container.
    pub(crate) fn may_hold_files(self) -> bool {
        !matches!(
            self,
            Self::Text | Self::Pdf | Self::Rtf | Self::Ole | Self::Rar | Self::Picture | Self::Page
        )
    }

    /// Returns whether nothing but the date is read from a file of this format. Such a file has no
    /// parts.
    pub(crate) fn has_only_a_date(self) -> bool {
        matches!(self, Self::Picture | Self::Page)
    }

    /// Returns whether the format can be read once from start to end, without the whole file in
    /// memory.
    pub(crate) fn streams(self) -> bool {
        matches!(self, Self::Text | Self::Tar | Self::Ar | Self::Mbox)
    }
}

/// The reader that takes a format apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FormatReader {
    /// The worker, which reads this kind of file.
    Worker(Kind),
    /// The converter at this index of the configured converters.
    Converter(u8),
}

impl Format {
    pub(crate) const fn read(kind: Kind) -> Self {
        Self(FormatReader::Worker(kind))
    }

    pub(crate) const fn converter(at: u8) -> Self {
        Self(FormatReader::Converter(at))
    }

    /// Returns the index of the converter if a converter reads the format.
    pub(crate) fn as_converter(self) -> Option<usize> {
        match self.0 {
            FormatReader::Converter(at) => Some(usize::from(at)),
            FormatReader::Worker(_) => None,
        }
    }

    pub(crate) const fn kind(self) -> Option<Kind> {
        match self.0 {
            FormatReader::Worker(kind) => Some(kind),
            FormatReader::Converter(_) => None,
        }
    }
}

/// Returns the format of a file or member that has this name and begins with `head`.
pub(crate) fn of(name: &[u8], head: &[u8]) -> Option<Kind> {
    marked(name, head)
        .or_else(|| mail(name, head))
        .or_else(|| charset::of(head).is_some().then_some(Kind::Text))
        .or_else(|| self_extracting(name, head).then_some(Kind::SelfExtracting))
}

/// Detects the formats that begin with a mark (a magic number).
fn marked(name: &[u8], head: &[u8]) -> Option<Kind> {
    let begins = |with: &[u8]| head.starts_with(with);
    let kind = match head.first()? {
        // An archive begins with the mark of its first entry. An archive without entries begins
        // with the mark of the end record.
        b'P' if begins(b"PK\x03\x04") || begins(b"PK\x05\x06") => Kind::Zip,
        // A split archive, or an archive that was written as a stream, may begin with this mark.
        b'P' if begins(b"PK\x07\x08PK\x03\x04") || begins(b"PK00PK\x03\x04") => Kind::Zip,
        0x1f if begins(b"\x1f\x8b\x08") => Kind::Gzip,
        b'B' if begins(b"BZh") && bzip2(head) => Kind::Bzip2,
        0xfd if begins(b"\xfd7zXZ\x00") => Kind::Xz,
        0x28 if begins(b"\x28\xb5\x2f\xfd") => Kind::Zstd,
        0x50..=0x5f if begins(&[head[0], 0x2a, 0x4d, 0x18]) => Kind::Zstd,
        b'7' if begins(b"7z\xbc\xaf\x27\x1c") => Kind::SevenZip,
        b'R' if begins(b"Rar!\x1a\x07") => Kind::Rar,
        b'%' if begins(b"%PDF-") => Kind::Pdf,
        b'{' if begins(b"{\\rtf") => Kind::Rtf,
        b'!' if begins(b"!<arch>\n") => Kind::Ar,
        0xd0 if begins(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1") && office(name) => Kind::Ole,
        b'F' if begins(b"From ") && !is_named_text(name) && mbox(head) => Kind::Mbox,
        _ if tar(head) => Kind::Tar,
        // Some writers put a few bytes before the mark, and readers search the first kilobyte for
        // it.
        _ if ends(name, b".pdf") => {
            let within = &head[..head.len().min(1024)];
            memchr::memmem::find(within, b"%PDF-")?;
            Kind::Pdf
        }
        _ => return None,
    };
    Some(kind)
}

/// Returns whether a zip may follow this beginning of a file. A zip may follow if the file is a
/// program or a browser extension, or has the name of a zip. A zip may also follow in a script, if
/// `head` contains a zip or does not show the end of the script.
fn self_extracting(name: &[u8], head: &[u8]) -> bool {
    let begins = |with: &[u8]| head.starts_with(with);
    let goes_on = || head.len() >= HEAD || memchr::memmem::find(head, b"PK\x03\x04").is_some();
    // Most ELF files are object files, to which nobody appends a zip. So only programs and
    // libraries are accepted.
    let is_linked = || matches!(head.get(16..18), Some([2 | 3, 0] | [0, 2 | 3]));
    begins(b"MZ")
        || begins(b"\x7fELF") && is_linked()
        || begins(b"Cr24")
        || begins(b"#!") && goes_on()
        || !head.is_empty() && (ends(name, b".zip") || ends(name, b".jar"))
}

/// Returns whether a name has the ending of a current Office document, such as `.docx`.
fn office(name: &[u8]) -> bool {
    let dot = memchr::memrchr(b'.', name).map_or(name.len(), |dot| dot + 1);
    let kinds = ["doc", "dot", "xls", "xlt", "ppt", "pps", "pot"];
    let ending = name[dot..].to_ascii_lowercase();
    kinds.iter().any(|kind| {
        let rest = ending.strip_prefix(kind.as_bytes());
        matches!(rest, Some(b"x" | b"m" | b"b"))
    })
}

/// Returns whether a bzip2 file has a valid second mark after its first mark. The second mark
/// begins a block or the end of the stream.
fn bzip2(head: &[u8]) -> bool {
    matches!(head.get(3), Some(b'1'..=b'9'))
        && matches!(
            head.get(4..10),
            Some(b"\x31\x41\x59\x26\x53\x59" | b"\x17\x72\x45\x38\x50\x90")
        )
}

/// Returns whether these bytes are the header of a tar. They are recognised by the check sum of the
/// header, because the oldest kind of tar has no mark.
fn tar(head: &[u8]) -> bool {
    let Some(header) = head.get(..512) else {
        return false;
    };
    let checksum = &header[148..156];
    // This check rejects most files: the field of the check sum must have only octal digits, blanks
    // and NULs.
    if header[0] == 0
        || !checksum
            .iter()
            .all(|byte| matches!(byte, b'0'..=b'7' | b' ' | 0))
    {
        return false;
    }
    let written = checksum
        .iter()
        .filter(|byte| byte.is_ascii_digit())
        .fold(0u32, |sum, &digit| sum * 8 + u32::from(digit - b'0'));
    let sum = |header: &[u8]| header.iter().map(|&byte| u32::from(byte)).sum::<u32>();
    written == sum(&header[..148]) + 8 * u32::from(b' ') + sum(&header[156..])
}

/// Returns whether a file that begins with `From ` is a mailbox. In a mailbox, the next line is a
/// header.
///
/// A patch made by git also begins with `From `, always with the same date. It is read as plain
/// text.
fn mbox(head: &[u8]) -> bool {
    let mut lines = head.split(|&byte| byte == b'\n');
    let Some(first) = lines.next() else {
        return false;
    };
    if memchr::memmem::find(first, b"Mon Sep 17 00:00:00 2001").is_some() {
        return false;
    }
    lines.next().and_then(header).is_some()
}

/// Returns the name of a header line.
fn header(line: &[u8]) -> Option<&[u8]> {
    let colon = line.iter().take(80).position(|&byte| byte == b':')?;
    let name = &line[..colon];
    let proper = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-' || *byte == b'_';
    (!name.is_empty() && name.iter().all(proper)).then_some(name)
}

/// Headers that only mails have.
const ORIGIN: [&[u8]; 8] = [
    b"received",
    b"return-path",
    b"delivered-to",
    b"message-id",
    b"mime-version",
    b"x-mozilla-status",
    b"envelope-to",
    b"dkim-signature",
];

/// Headers of mails that other texts may have, too.
const KNOWN: [&[u8]; 6] = [b"from", b"to", b"subject", b"date", b"cc", b"content-type"];

/// Returns whether the name is the name of a plain text. A raw mail or a mailbox with such a name
/// is read as plain text, with its headers.
fn is_named_text(name: &[u8]) -> bool {
    ends(name, b".txt")
}

/// Detects a mail by its headers, because mails have no mark. A mail must have a header of
/// `ORIGIN`, and at least three headers of `ORIGIN` and `KNOWN` together. If the file has the name
/// of a mail, one header of either list is enough.
fn mail(name: &[u8], head: &[u8]) -> Option<Kind> {
    if is_named_text(name) {
        return None;
    }
    let first = header(head)?;
    if first.len() > 40 {
        return None;
    }
    let named = [&b".eml"[..], b".mht", b".mhtml"]
        .iter()
        .any(|ending| ends(name, ending));
    let (mut origin, mut known) = (0, 0);
    for line in head.split(|&byte| byte == b'\n') {
        match line.first() {
            None | Some(b'\r') => break,
            // The line continues the header before it.
            Some(b' ' | b'\t') => continue,
            Some(_) => {}
        }
        let Some(name) = header(line) else {
            // The last line of `head` may be incomplete.
            break;
        };
        let lower = name.to_ascii_lowercase();
        origin += u32::from(ORIGIN.contains(&&lower[..]));
        known += u32::from(KNOWN.contains(&&lower[..]));
    }
    let is_mail = origin >= 1 && origin + known >= 3 || named && origin + known >= 1;
    is_mail.then_some(Kind::Mail)
}

/// Returns whether a name has this ending, in upper or lower case. `ending` is in lower case.
fn ends(name: &[u8], ending: &[u8]) -> bool {
    name.len() > ending.len() && name[name.len() - ending.len()..].eq_ignore_ascii_case(ending)
}

/// The endings of compressed files. Each ending has the ending that replaces it in the name of the
/// content.
const COMPRESSED: [(&[u8], &[u8]); 14] = [
    (b".gz", b""),
    (b".tgz", b".tar"),
    (b".bz2", b""),
    (b".tbz", b".tar"),
    (b".tbz2", b".tar"),
    (b".xz", b""),
    (b".txz", b".tar"),
    (b".zst", b""),
    (b".zstd", b""),
    (b".tzst", b".tar"),
    (b".bz", b""),
    (b".z", b""),
    (b".svgz", b".svg"),
    (b".taz", b".tar"),
];

/// Returns the name of the content of a compressed file. It is the name of the file without folders
/// and without the ending: `a.tar.gz` and `a.tgz` both become `a.tar`. A name without the ending of
/// a compressed file only loses its folders.
pub fn unpacked_name(name: &[u8]) -> Vec<u8> {
    let start = memchr::memrchr(b'/', name).map_or(0, |slash| slash + 1);
    let name = &name[start..];
    for (ending, becomes) in COMPRESSED {
        if ends(name, ending) {
            return [&name[..name.len() - ending.len()], becomes].concat();
        }
    }
    name.to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_tell() {
        let of = |head: &[u8]| of(b"x", head);
        assert_eq!(of(b"PK\x03\x04...."), Some(Kind::Zip));
        assert_eq!(of(b"\x1f\x8b\x08\x00"), Some(Kind::Gzip));
        assert_eq!(of(b"BZh91AY&SY"), Some(Kind::Bzip2));
        assert_eq!(of(b"BZhello to all"), None);
        assert_eq!(of(b"\xfd7zXZ\x00"), Some(Kind::Xz));
        assert_eq!(of(b"\x28\xb5\x2f\xfd"), Some(Kind::Zstd));
        assert_eq!(of(b"%PDF-1.4"), Some(Kind::Pdf));
        assert_eq!(of(b"{\\rtf1"), Some(Kind::Rtf));
        assert_eq!(of(b"!<arch>\ndebian-binary"), Some(Kind::Ar));
        assert_eq!(of(b"7z\xbc\xaf\x27\x1c\0\x04"), Some(Kind::SevenZip));
        assert_eq!(of(b"Rar!\x1a\x07\x01\0"), Some(Kind::Rar));
        assert_eq!(of(b"MZ\x90\0"), Some(Kind::SelfExtracting));
        assert_eq!(
            of(b"#!/bin/sh\nexit\nPK\x03\x04"),
            Some(Kind::SelfExtracting)
        );
        assert_eq!(
            of(&[b"#!/bin/sh\n".repeat(500)].concat()),
            Some(Kind::SelfExtracting)
        );
        assert_eq!(of(b"#!/bin/sh\nexit\n"), None);
        let program = |kind: u8| [&b"\x7fELF"[..], &[0; 12], &[kind, 0]].concat();
        assert_eq!(of(&program(3)), Some(Kind::SelfExtracting));
        assert_eq!(of(&program(1)), None);
        assert_eq!(of(b""), None);
        assert_eq!(of(b"P"), None);
        assert_eq!(of(b"plain text"), None);
    }

    #[test]
    fn a_pdf_may_begin_late_if_it_is_called_one() {
        assert_eq!(of(b"a.PDF", b"\0\0junk%PDF-1.3"), Some(Kind::Pdf));
        assert_eq!(of(b"a.txt", b"junk %PDF-1.3"), None);
    }

    #[test]
    fn tars_are_known_by_their_check_sum() {
        let mut header = tar_header("ustar\0");
        assert_eq!(of(b"x", &header), Some(Kind::Tar));
        assert_eq!(of(b"x", &tar_header("")), Some(Kind::Tar));
        header[0] ^= 1;
        assert_eq!(of(b"x", &header), None);
        assert_eq!(of(b"x", &[0; 1024]), None);
    }

    fn tar_header(magic: &str) -> Vec<u8> {
        let mut header = vec![0; 512];
        header[..5].copy_from_slice(b"a.txt");
        header[100..107].copy_from_slice(b"0000644");
        header[257..257 + magic.len()].copy_from_slice(magic.as_bytes());
        header[148..156].copy_from_slice(b"        ");
        let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        header
    }

    #[test]
    fn mails_are_known_by_their_headers() {
        let mail = b"Return-Path: <a@b>\nReceived: from x\n\tby y\nSubject: hello\n\nFrom: x\n";
        assert_eq!(of(b"x", mail), Some(Kind::Mail));
        assert_eq!(of(b"x.TXT", mail), None);
        assert_eq!(of(b"a.eml", b"Subject: hello\n\n"), Some(Kind::Mail));
        assert_eq!(of(b"a.txt", b"Subject: hello\nDate: now\n\n"), None);
        assert_eq!(
            of(b"a.txt", b"Package: x\nVersion: 1\nDescription: y\n"),
            None
        );
        assert_eq!(of(b"a.txt", b"Note: see From: and Received: below\n"), None);
        let mbox = b"From a@b Thu Jan  1 00:00:00 1970\nFrom: a@b\n\nhello\n";
        assert_eq!(of(b"x", mbox), Some(Kind::Mbox));
        assert_eq!(of(b"x.txt", mbox), None);
        let patch = b"From 0123 Mon Sep 17 00:00:00 2001\nFrom: A <a@b>\nDate: x\nSubject: y\n\n";
        assert_eq!(of(b"x.patch", patch), None);
        assert_eq!(of(b"x", b"From here on: nothing\nbut text"), None);
    }

    #[test]
    fn endings_of_compressed_files_go() {
        assert_eq!(unpacked_name(b"/d.gz/a.tar.gz"), b"a.tar");
        assert_eq!(unpacked_name(b"A.TGZ"), b"A.tar");
        assert_eq!(unpacked_name(b"a"), b"a");
        assert_eq!(unpacked_name(b".gz"), b".gz");
    }

    #[test]
    fn formats_keep_their_kind() {
        let format = Format::read(Kind::Pdf);
        assert_eq!(format.kind(), Some(Kind::Pdf));
        assert_eq!(format.as_converter(), None);
        assert_eq!(Format::converter(5).as_converter(), Some(5));
        assert_eq!(Format::converter(5).kind(), None);
    }
}
