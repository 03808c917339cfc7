//! A file that only a catalogue has, for a question that somebody else answers.

use std::path::Path;

use resemble_catalogue as catalogue;
use resemble_core::Params;
use resemble_index::Index;
use resemble_proto::catalogued::{Source, source_of};

use super::LocalError;
use crate::find::Incoming;

/// What a catalogue that is not kept knows of the file or member at a path.
///
/// `None`: the path is in no such catalogue, or it has no such file. The whole catalogue is loaded
/// into memory for it.
pub fn read_catalogued(path: &Path, params: &Params) -> Result<Option<Incoming>, LocalError> {
    let Some((Source::File(file), root, _)) = source_of(path) else {
        return Ok(None);
    };
    let index = Index::in_memory(params)?;
    catalogue::load(&index, &root, catalogue::open(&file)?)?;
    Ok(Incoming::remembered(&index.snapshot()?, path)?)
}
