//! `dump --method`: the signature of each file.
//!
//! ```text
//! path TAB entry entry …
//! entry    16 hex digits; then :LENGTH for a chunk, then *TIMES if it counts more than once
//! ```

use std::collections::HashMap;
use std::fmt::Write as _;

use crate::question::MethodRow;
use resemble_methods::{Method, MethodSignature};
use resemble_proto::message::Answer;

use super::MethodContext;
use super::signed::Signed;
use crate::error::LabError;
use resemble_query::dump::name_of;

pub(super) fn dump(context: &MethodContext<'_>) -> Result<Answer<MethodRow>, LabError> {
    let signed = Signed::of(context, &mut context.cached())?;
    let has_chunks = matches!(context.params.method(), Method::Tttd | Method::Bsw);
    let of: HashMap<_, _> = signed
        .contents
        .iter()
        .map(|row| row.id)
        .zip(&signed.signatures)
        .collect();
    let mut rows = Vec::new();
    for file in &context.scoped.files {
        let mut line = name_of(&file.path);
        match of.get(&file.content) {
            Some(signature) => push(&mut line, signature, has_chunks),
            // An empty file has a line; a file that could not be read is among the errors.
            None if file.size.0 == 0 => line.push('\t'),
            None => continue,
        }
        line.push('\n');
        rows.push(MethodRow::Text(line));
    }
    Ok(Answer::fresh(rows, context.errors(signed.errors)))
}

fn push(line: &mut String, signature: &MethodSignature, has_chunks: bool) {
    let mut before = '\t';
    for entry in signature.entries() {
        // Writing to a string does not fail.
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
