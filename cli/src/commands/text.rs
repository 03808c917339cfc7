//! `resemble text`: prints the text by which a file is compared.
//!
//! This is the text that `why` compares: the text that was extracted from a document, or the file's
//! own text. No daemon is asked.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use resemble_arguments::TextArgs;
use resemble_core::ContentKind;
use resemble_proto::message::SoftError;
use resemble_relate::AskError;
use resemble_relate::prove::extracted::{extract, way};
use resemble_relate::prove::members::held_by;
use resemble_relate::prove::read::LARGEST_READ;
use resemble_relate::unread;
use resemble_report::human::{counted, human_size};
use resemble_report::quote::{quoted, quoted_bytes};
use resemble_scan::parts::{PartReader, RecentParts};

use super::why::{as_named, subject};
use crate::backend::formats;
use crate::error::{CliError, CliResult, Outcome};
use crate::ui::Ui;

/// The output for a file.
#[derive(Default)]
struct FileText {
    /// The texts, each after the names of the members that lead to it inside the file.
    texts: Vec<(Vec<u8>, Vec<u8>)>,
    /// A sentence about the bytes or members that are compared instead of text, or as well as text.
    otherwise: Option<String>,
}

pub(super) fn run(ui: &mut Ui, args: &TextArgs) -> CliResult {
    // The reader keeps the parts that it unpacked last. So a small file is unpacked only once, for
    // its text and for the list of unreadable parts.
    let formats = formats(true).map(|formats| RecentParts::new(Arc::new(formats)));
    let Some(part_reader) = formats.as_ref().map(|formats| formats as &dyn PartReader) else {
        return Ok(Outcome::DoesNot);
    };
    let mut has_text = true;
    let mut errors = Vec::new();
    let has_headings = args.members || args.files.len() > 1;
    for file in &args.files {
        let found = match found(file, args.members, part_reader, &mut errors) {
            Err(CliError::File { path, source, .. }) => {
                errors.push(SoftError::of_io(path.as_path().into(), &source));
                continue;
            }
            found => found?,
        };
        has_text &= !found.texts.is_empty();
        for (names, text) in &found.texts {
            let heading = has_headings.then(|| heading(file, names));
            ui.write_data(|out| print(out, heading.as_deref(), text, args.lines))?;
        }
        if let Some(otherwise) = &found.otherwise {
            ui.note(&format!("{}: {otherwise}", quoted(file)));
        }
    }
    ui.soft_errors(&errors);
    ui.flush()?;
    let has_gaps = errors.iter().any(SoftError::is_trouble);
    Ok(Outcome::of(has_text).with_errors(has_gaps))
}

fn found(
    file: &PathBuf,
    members: bool,
    part_reader: &dyn PartReader,
    errors: &mut Vec<SoftError>,
) -> CliResult<FileText> {
    let real = subject(file, true)?.real;
    let found = texts_of(&real, members, part_reader);
    let found = found.map_err(|error| as_named(error, &[(&real, file)]))?;
    errors.extend(unread::of_path(&real, file, part_reader));
    Ok(found)
}

fn texts_of(
    real: &Path,
    members: bool,
    part_reader: &dyn PartReader,
) -> Result<FileText, AskError> {
    let held = held_by(real, part_reader)?;
    let holds_members = held.is_some();
    if let Some(held) = held.filter(|_| members) {
        let all = held.len();
        let texts = held.into_iter().filter(|one| one.kind == ContentKind::Text);
        let texts: Vec<_> = texts.map(|one| (one.names, one.bytes)).collect();
        let others = (all - texts.len()) as u64;
        let otherwise = format!("{} compared by bytes", counted(others, "member"));
        return Ok(FileText {
            texts,
            otherwise: (others > 0).then_some(otherwise),
        });
    }
    let Some(extracted) = extract(real, part_reader)? else {
        if way(real).1.is_some() {
            return Err(unread::no_member(real, part_reader));
        }
        let most = human_size(LARGEST_READ.0);
        return Ok(FileText {
            otherwise: Some(format!("larger than {most}: compared by samples")),
            ..FileText::default()
        });
    };
    let text = extracted.text().map(<[u8]>::to_vec);
    let otherwise = if holds_members {
        "compared by its members; --members prints their texts"
    } else {
        "compared by bytes"
    };
    Ok(FileText {
        otherwise: text.is_none().then(|| otherwise.to_owned()),
        texts: text.into_iter().map(|text| (Vec::new(), text)).collect(),
    })
}

/// Returns the line above a text. The line has the name in the form that the other commands print.
fn heading(file: &Path, names: &[u8]) -> String {
    let mut name = file.as_os_str().as_encoded_bytes().to_vec();
    if !names.is_empty() {
        name.push(b'!');
        name.extend_from_slice(names);
    }
    format!("== {} ==", quoted_bytes(&name))
}

fn print(
    out: &mut dyn Write,
    heading: Option<&str>,
    text: &[u8],
    are_numbered: bool,
) -> io::Result<()> {
    if let Some(heading) = heading {
        writeln!(out, "{heading}")?;
    }
    for (number, line) in (1..).zip(text.split_inclusive(|&byte| byte == b'\n')) {
        if are_numbered {
            write!(out, "{number}\t")?;
        }
        out.write_all(line)?;
    }
    if text.last().is_some_and(|&last| last != b'\n') {
        writeln!(out)?;
    }
    Ok(())
}
