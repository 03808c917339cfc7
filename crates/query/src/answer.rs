//! The entry for questions that several modules answer together.

use std::ops::ControlFlow;
use std::path::PathBuf;

use resemble_index::{ReadError, Snapshot};
use resemble_proto::message::DumpForm;

use crate::catalogue;
use crate::dump::{self, chunks, files};

/// Hands a dump of any form to `sink`, in pieces, until it breaks.
pub fn dump(
    snapshot: &Snapshot,
    roots: &[PathBuf],
    form: &DumpForm,
    sink: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
) -> Result<(), ReadError> {
    let mut line = |mut line: String| {
        line.push('\n');
        sink(line.as_bytes())
    };
    match form {
        DumpForm::Canonical => dump::dump(snapshot, roots, &mut line),
        DumpForm::Chunks => chunks(snapshot, roots, &mut line),
        DumpForm::Files => files(snapshot, roots, &mut line),
        DumpForm::Catalogue(details) => {
            catalogue::write(snapshot, roots, &details.into(), sink).map(drop)
        }
    }
}
