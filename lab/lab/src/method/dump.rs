//! Writes the signature of each file, for the commands `dump` and `export`.
//!
//! ```text
//! lines          path TAB entry entry …
//! entry          16 hex digits; then :LENGTH for a chunk, then *TIMES if it counts more than once
//! All_Fingers    number TAB checksum TAB size TAB path, for each file; an empty line;
//!                fingerprint TAB number, for each occurrence, in the order of the files
//! ```
//!
//! **Paper** for `All_Fingers`: Manber 1994, section 3. In the paper, the names are in a separate
//! file.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;

use crate::question::{MethodRow, SignatureForm};
use resemble_core::hash::content::digest;
use resemble_core::{ContentDigest, ContentKind};
use resemble_methods::{Method, MethodSignature};
use resemble_proto::message::Answer;
use resemble_relate::scope::ScopedFile;

use super::signed::Signed;
use super::{MethodContext, exported};
use crate::error::LabError;
use resemble_query::dump::name_of;

pub(super) fn dump(
    context: &MethodContext<'_>,
    form: SignatureForm,
) -> Result<Answer<MethodRow>, LabError> {
    let signed = Signed::of(context, &mut context.cached())?;
    let has_chunks = matches!(context.params.method(), Method::Tttd | Method::Bsw);
    let of: HashMap<_, _> = signed
        .contents
        .iter()
        .map(|row| row.id)
        .zip(&signed.signatures)
        .collect();
    let (mut rows, mut fingers) = (Vec::new(), Vec::new());
    if form == SignatureForm::Export {
        rows.push(MethodRow::Text(exported::head(&context.params.to_string())));
    }
    for file in &context.scoped.files {
        let signature = of.get(&file.content).copied();
        // An empty file has a line. A file that could not be read has no line, because it is in the
        // list of errors.
        if signature.is_none() && file.size.0 > 0 {
            continue;
        }
        let line = match form {
            SignatureForm::Lines => line_of(&file.path, signature, has_chunks),
            SignatureForm::AllFingers => {
                let number = rows.len() + 1;
                fingers.extend(signature.map(|signature| fingers_of(number, signature)));
                let digest = digest_of(context, file)?.2;
                let (size, name) = (file.size.0, name_of(&file.path));
                format!("{number}\t{digest}\t{size}\t{name}\n")
            }
            SignatureForm::Export => {
                let below = below(context, &file.path);
                exported::file(below, digest_of(context, file)?, signature)
            }
        };
        rows.push(MethodRow::Text(line));
    }
    if form == SignatureForm::AllFingers {
        rows.push(MethodRow::Text("\n".to_owned()));
        rows.extend(fingers.into_iter().map(MethodRow::Text));
    }
    Ok(Answer::fresh(rows, context.errors(signed.errors)))
}

/// Returns the size, kind and digest of a file's content.
fn digest_of(
    context: &MethodContext<'_>,
    file: &ScopedFile,
) -> Result<(u64, ContentKind, ContentDigest), LabError> {
    let row = context.snapshot.content(file.content)?;
    let (kind, digest) = row.map_or((ContentKind::Empty, digest(b"")), |row| {
        (row.kind, row.digest)
    });
    Ok((file.size.0, kind, digest))
}

/// Returns the path of a file relative to the folder of the question.
fn below<'a>(context: &MethodContext<'_>, path: &'a Path) -> &'a Path {
    let mut roots = context.scope.within.iter();
    let below = roots.find_map(|root| path.strip_prefix(root.as_path()).ok());
    below.unwrap_or(path)
}

/// Returns the lines of `All_Fingers` for a file: one line for each occurrence of a fingerprint.
fn fingers_of(number: usize, signature: &MethodSignature) -> String {
    let mut lines = String::new();
    for entry in signature.entries() {
        for _ in 0..entry.count {
            // Writing to a string cannot fail.
            let _ = writeln!(lines, "{:x}\t{number}", entry.value);
        }
    }
    lines
}

fn line_of(path: &Path, signature: Option<&MethodSignature>, has_chunks: bool) -> String {
    let mut line = name_of(path);
    match signature {
        Some(signature) => push(&mut line, signature, has_chunks),
        None => line.push('\t'),
    }
    line.push('\n');
    line
}

fn push(line: &mut String, signature: &MethodSignature, has_chunks: bool) {
    let mut before = '\t';
    for entry in signature.entries() {
        // Writing to a string cannot fail.
        let _ = write!(line, "{before}{:016x}", entry.value);
        if has_chunks {
            let _ = write!(line, ":{}", entry.len);
        }
        if entry.count > 1 {
            let _ = write!(line, "*{}", entry.count);
        }
        before = ' ';
    }
    if before == '\t' {
        line.push('\t');
    }
}
