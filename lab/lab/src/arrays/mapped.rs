//! Maps the parts of one state of the arrays into memory. A state is the set of parts that the file
//! `current` lists.

use std::path::{Path, PathBuf};

use resemble_mapped::Mapped;
use resemble_methods::arrays::{Arrays, Parts};

use super::ArraysError;

/// The parts of one state, mapped into memory.
#[derive(Debug)]
pub struct MappedParts {
    paths: Vec<PathBuf>,
    maps: Vec<Mapped>,
}

impl MappedParts {
    /// Maps the parts at these paths, which together must cover all values.
    pub fn open(paths: &[PathBuf]) -> Result<Self, ArraysError> {
        let maps: Result<Vec<Mapped>, _> = paths.iter().map(|path| Mapped::open(path)).collect();
        let set = Self {
            paths: paths.to_vec(),
            maps: maps?,
        };
        set.parts()?;
        Ok(set)
    }

    /// Returns the arrays in the parts. Only the headers of the files are read.
    pub fn parts(&self) -> Result<Parts<'_>, ArraysError> {
        let mut parts = Vec::new();
        for (map, path) in self.maps.iter().zip(&self.paths) {
            parts.push(Arrays::of(map).map_err(ArraysError::array(path))?);
        }
        Parts::of(parts).map_err(ArraysError::array(self.folder()))
    }

    /// The folder that the files are in.
    pub(super) fn folder(&self) -> &Path {
        let folder = self.paths.first().and_then(|path| path.parent());
        folder.unwrap_or(Path::new("."))
    }

    /// Returns the paths of the mapped files.
    pub fn paths(&self) -> &[PathBuf] {
        &self.paths
    }
}
