//! Reads a file from a catalogue for a question that another process answers.

use std::path::Path;

use resemble_catalogue as catalogue;
use resemble_core::Params;
use resemble_index::Index;
use resemble_proto::catalogued::{Source, source_of};

use super::LocalError;
use crate::find::ReadSubject;

/// Returns the record of the file or member at a path in a catalogue that no index keeps.
///
/// Returns `None` if the path is in no such catalogue, or if the catalogue has no such file. The
/// entire catalogue is loaded into memory.
pub fn read_catalogued(path: &Path, params: &Params) -> Result<Option<ReadSubject>, LocalError> {
    let Some((Source::File(file), root, _)) = source_of(path) else {
        return Ok(None);
    };
    let index = Index::in_memory(params)?;
    catalogue::load(&index, &root, catalogue::open(&file)?)?;
    Ok(ReadSubject::remembered(&index.snapshot()?, path)?)
}
