//! Provides helpers for the tests. The helpers take bytes apart, record the parts, and make zips
//! and PDFs.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;

use resemble_core::date::DocumentDate;
use resemble_extract::{Converter, Extractor, HEAD, Limits, Part, Role, Sink, Skipped, Workers};

/// A part that the sink received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) part: Part,
    pub(crate) bytes: Vec<u8>,
    pub(crate) complete: bool,
}

/// All parts that the sink received, and everything that was skipped.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    pub(crate) all: Vec<Piece>,
    open: bool,
    pub(crate) date: Option<DocumentDate>,
    pub(crate) skipped: Vec<(Vec<u8>, Skipped)>,
}

impl Sink for Pieces {
    fn begin(&mut self, part: Part) {
        assert!(!self.open, "two parts at once");
        let parents = self.all.len() as u32;
        assert!(part.parent.is_none_or(|parent| parent < parents));
        self.open = true;
        self.all.push(Piece {
            part,
            bytes: Vec::new(),
            complete: false,
        });
    }

    fn bytes(&mut self, bytes: &[u8]) {
        assert!(self.open);
        self.all.last_mut().unwrap().bytes.extend_from_slice(bytes);
    }

    fn end(&mut self) {
        assert!(std::mem::take(&mut self.open));
        self.all.last_mut().unwrap().complete = true;
    }

    fn drop_part(&mut self) {
        assert!(std::mem::take(&mut self.open));
    }

    fn date(&mut self, date: DocumentDate) {
        assert!(!self.open, "a date within a part");
        self.date = Some(date);
    }
}

impl Pieces {
    /// Returns the path of a part: the names from the outside in, with `!` between them. The path
    /// of a text ends in `*`.
    pub(crate) fn path(&self, at: usize) -> String {
        let part = &self.all[at].part;
        let name = match part.role {
            Role::Text => "*".to_owned(),
            Role::Unpacked => format!("[{}]", String::from_utf8_lossy(&part.name)),
            Role::Member => String::from_utf8_lossy(&part.name).into_owned(),
        };
        match part.parent {
            None => name,
            Some(parent) => format!("{}!{name}", self.path(parent as usize)),
        }
    }

    /// Returns the paths of all complete parts.
    pub(crate) fn paths(&self) -> Vec<String> {
        (0..self.all.len())
            .filter(|&at| self.all[at].complete)
            .map(|at| self.path(at))
            .collect()
    }

    /// Returns the bytes of the part at this path.
    pub(crate) fn bytes_of(&self, path: &str) -> &[u8] {
        let at = (0..self.all.len()).find(|&at| self.path(at) == path);
        &self.all[at.unwrap_or_else(|| panic!("no {path} in {:?}", self.paths()))].bytes
    }

    /// Returns a line of text for everything that was skipped.
    pub(crate) fn skips(&self) -> Vec<String> {
        self.skipped
            .iter()
            .map(|(path, why)| format!("{}: {why}", String::from_utf8_lossy(path)))
            .collect()
    }
}

/// Returns the command that runs the worker.
pub(crate) fn program() -> Vec<PathBuf> {
    vec![
        env!("CARGO_BIN_EXE_resemble-extract").into(),
        "--worker".into(),
    ]
}

/// Returns the default limits with a shorter time, so that a test that hangs fails soon.
pub(crate) fn limits() -> Limits {
    Limits {
        time: std::time::Duration::from_secs(30),
        ..Limits::default()
    }
}

pub(crate) fn take_with(
    extractor: &Extractor,
    name: &str,
    bytes: &[u8],
) -> Result<Pieces, Skipped> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    take_file(extractor, name, &file)
}

/// Takes an open file apart. The current offset of the file does not matter.
pub(crate) fn take_file(extractor: &Extractor, name: &str, file: &File) -> Result<Pieces, Skipped> {
    let mut head = vec![0; HEAD];
    let read = std::os::unix::fs::FileExt::read_at(file, &mut head, 0).unwrap();
    let format = extractor
        .format(name.as_bytes(), &head[..read])
        .unwrap_or_else(|| panic!("{name} is nothing to take apart"));
    let mut pieces = Pieces::default();
    pieces.skipped = extractor.extract(file.as_fd(), format, &mut pieces)?;
    Ok(pieces)
}

/// Returns whether a file can be taken apart, even if only the end of the file shows this.
pub(crate) fn applies(name: &str, bytes: &[u8]) -> bool {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    let extractor = Extractor::new(Workers::OfOurs(program()), limits(), Vec::new());
    let head = &bytes[..bytes.len().min(HEAD)];
    assert!(extractor.applies(name.as_bytes(), head, None), "{name}");
    extractor.applies(name.as_bytes(), head, Some(file.as_fd()))
}

pub(crate) fn take_within(limits: Limits, name: &str, bytes: &[u8]) -> Result<Pieces, Skipped> {
    take_with(
        &Extractor::new(Workers::OfOurs(program()), limits, Vec::new()),
        name,
        bytes,
    )
}

pub(crate) fn take(name: &str, bytes: &[u8]) -> Result<Pieces, Skipped> {
    take_within(limits(), name, bytes)
}

pub(crate) fn converting(extensions: &[&str], command: &[&str], limits: Limits) -> Extractor {
    let owned = |all: &[&str]| all.iter().map(|&one| one.to_owned()).collect();
    let converter = Converter {
        extensions: owned(extensions),
        command: owned(command),
    };
    Extractor::new(Workers::OfOurs(program()), limits, vec![converter])
}

/// Reads a sample. The README in the folder of the samples describes it.
pub(crate) fn sample(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/samples");
    std::fs::read(path.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// An entry of a zip, with the fields of its header.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) name: Vec<u8>,
    pub(crate) method: u16,
    pub(crate) flags: u16,
    pub(crate) crc: u32,
    pub(crate) size: u32,
    pub(crate) data: Vec<u8>,
    /// True if the size and the check sum are after the data instead of in the header.
    pub(crate) described: bool,
    /// The extra fields of the entry in the directory.
    pub(crate) extra: Vec<u8>,
}

/// Makes an entry that is compressed by deflate.
pub(crate) fn deflated(name: &str, bytes: &[u8]) -> Entry {
    let mut encoder = flate2::read::DeflateEncoder::new(bytes, flate2::Compression::default());
    let mut data = Vec::new();
    encoder.read_to_end(&mut data).unwrap();
    entry(name, 8, bytes, data)
}

/// Makes an entry that is not compressed.
pub(crate) fn stored(name: &str, bytes: &[u8]) -> Entry {
    entry(name, 0, bytes, bytes.to_vec())
}

pub(crate) fn entry(name: &str, method: u16, bytes: &[u8], data: Vec<u8>) -> Entry {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    Entry {
        name: name.as_bytes().to_vec(),
        method,
        flags: 0,
        crc: crc.sum(),
        size: bytes.len() as u32,
        data,
        described: false,
        extra: Vec::new(),
    }
}

/// Makes a zip. Its directory lists each entry `times` times.
pub(crate) fn zip_times(entries: &[Entry], times: usize) -> Vec<u8> {
    let (mut zip, mut directory, mut count) = (Vec::new(), Vec::new(), 0u16);
    for entry in entries {
        let at = zip.len() as u32;
        let flags = entry.flags | if entry.described { 8 } else { 0 };
        let mut common = Vec::new();
        common.extend(20u16.to_le_bytes());
        common.extend(flags.to_le_bytes());
        common.extend(entry.method.to_le_bytes());
        common.extend([0; 4]);
        let mut sizes = Vec::new();
        sizes.extend(entry.crc.to_le_bytes());
        sizes.extend((entry.data.len() as u32).to_le_bytes());
        sizes.extend(entry.size.to_le_bytes());
        zip.extend(b"PK\x03\x04");
        zip.extend(&common);
        zip.extend(if entry.described {
            vec![0; 12]
        } else {
            sizes.clone()
        });
        zip.extend((entry.name.len() as u16).to_le_bytes());
        zip.extend(0u16.to_le_bytes());
        zip.extend(&entry.name);
        zip.extend(&entry.data);
        if entry.described {
            zip.extend(b"PK\x07\x08");
            zip.extend(&sizes);
        }
        for _ in 0..times {
            directory.extend(b"PK\x01\x02");
            directory.extend(20u16.to_le_bytes());
            directory.extend(&common);
            directory.extend(&sizes);
            directory.extend((entry.name.len() as u16).to_le_bytes());
            directory.extend((entry.extra.len() as u16).to_le_bytes());
            directory.extend([0; 10]);
            directory.extend(at.to_le_bytes());
            directory.extend(&entry.name);
            directory.extend(&entry.extra);
            count += 1;
        }
    }
    let at = zip.len() as u32;
    zip.extend(&directory);
    zip.extend(b"PK\x05\x06\0\0\0\0");
    zip.extend(count.to_le_bytes());
    zip.extend(count.to_le_bytes());
    zip.extend((directory.len() as u32).to_le_bytes());
    zip.extend(at.to_le_bytes());
    zip.extend([0; 2]);
    zip
}

pub(crate) fn zip(entries: &[Entry]) -> Vec<u8> {
    zip_times(entries, 1)
}

/// Makes a tar of these names and contents.
pub(crate) fn tar(files: &[(&[u8], &[u8])]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name);
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        tar.append(&header, *bytes).unwrap();
    }
    tar.into_inner().unwrap()
}

/// Makes a PDF of these objects. The objects are numbered from 1. The first object is the catalogue
/// of the document.
pub(crate) fn pdf(objects: &[String]) -> Vec<u8> {
    let mut pdf = b"%PDF-1.4\n".to_vec();
    let mut offsets = Vec::new();
    for (at, object) in objects.iter().enumerate() {
        offsets.push(pdf.len());
        pdf.extend(format!("{} 0 obj\n{object}\nendobj\n", at + 1).bytes());
    }
    let table = pdf.len();
    pdf.extend(format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).bytes());
    for offset in offsets {
        pdf.extend(format!("{offset:010} 00000 n \n").bytes());
    }
    let size = objects.len() + 1;
    pdf.extend(
        format!("trailer\n<</Size {size}/Root 1 0 R>>\nstartxref\n{table}\n%%EOF\n").bytes(),
    );
    pdf
}

/// Makes the objects of a PDF that has one page with this content. The objects in `more` are
/// numbered from 6.
pub(crate) fn page(content: &str, resources: &str, more: &[String]) -> Vec<u8> {
    let mut objects = vec![
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        "<</Type/Pages/Kids[3 0 R]/Count 1>>".to_owned(),
        format!(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R\
             /Resources<</Font<</F1 5 0 R>>{resources}>>>>"
        ),
        format!(
            "<</Length {}>>\nstream\n{content}\nendstream",
            content.len()
        ),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_owned(),
    ];
    objects.extend_from_slice(more);
    pdf(&objects)
}

/// Makes filters of system calls impossible in this process and its children.
pub(crate) fn refuse_filters() {
    use seccompiler::{
        SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    };
    let set = libc::PR_SET_SECCOMP as u64;
    let set = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, set).unwrap();
    let filter = SeccompFilter::new(
        std::collections::BTreeMap::from([
            (libc::SYS_seccomp, Vec::new()),
            (libc::SYS_prctl, vec![SeccompRule::new(vec![set]).unwrap()]),
        ]),
        SeccompAction::Allow,
        SeccompAction::Errno(libc::EINVAL as u32),
        std::env::consts::ARCH.try_into().unwrap(),
    );
    let filter: seccompiler::BpfProgram = filter.unwrap().try_into().unwrap();
    seccompiler::apply_filter(&filter).unwrap();
}
