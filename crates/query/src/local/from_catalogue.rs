//! Finds a file in a catalogue for a question that another process answers.

use std::path::Path;

use resemble_catalogue as catalogue;
use resemble_core::Params;
use resemble_index::Index;
use resemble_proto::catalogued::{Source, source_of};

use super::LocalError;
use crate::find::ReadSubject;

/// Returns the record of a file or member in a catalogue file that no index has.
///
/// Returns `None` if the path is not in such a catalogue, or if the catalogue does not have the
/// file. The entire catalogue is loaded into memory.
pub fn read_catalogued(path: &Path, params: &Params) -> Result<Option<ReadSubject>, LocalError> {
    let Some((Source::File(file), root, _)) = source_of(path) else {
        return Ok(None);
    };
    let index = Index::in_memory(params)?;
    catalogue::load(&index, &root, catalogue::open(&file)?)?;
    Ok(ReadSubject::remembered(&index.snapshot()?, path)?)
}
