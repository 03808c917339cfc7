//! The imported catalogues: a folder with one file for each label.
//!
//! These files are the originals. The catalogues are also loaded into the index. If the index is
//! rebuilt, they are loaded again from the files. Commands that run without the daemon read the
//! files, too.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use resemble_core::ContentDigest;
use resemble_proto::catalogued::is_label;

use super::format::CHECKSUM;
use super::{Catalogue, CatalogueError, read, records};

/// Returns the path of the catalogue with this label in the folder of imported catalogues.
pub fn file_of_label(folder: &Path, label: &str) -> PathBuf {
    folder.join(format!("{label}.cat"))
}

/// A copy of a received catalogue in the folder of imported catalogues. When this value is dropped,
/// the copy is removed, unless [`Received::keep`] gave it the name of its label.
#[derive(Debug)]
pub struct Received {
    copy: PathBuf,
    target: PathBuf,
}

/// Copies the catalogue `file` into the folder, and opens the copy. If the copy is not a valid
/// catalogue, the error names `file` instead of the copy.
pub fn receive(
    folder: &Path,
    file: &Path,
    label: &str,
) -> Result<(Received, Catalogue), CatalogueError> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder.create(folder).map_err(fail(folder))?;
    let received = Received {
        copy: folder.join(format!(".{label}.new")),
        target: file_of_label(folder, label),
    };
    let copied = copy(file, &received.copy).map_err(fail(&received.copy))?;
    let catalogue = read::open(&received.copy).map_err(|error| error.of(file))?;
    copied.sync_all().map_err(fail(&received.copy))?;
    Ok((received, catalogue))
}

impl Received {
    /// Keeps the copy under its label. An older catalogue with that label is replaced.
    pub fn keep(self) -> Result<(), CatalogueError> {
        fs::rename(&self.copy, &self.target).map_err(fail(&self.target))
    }
}

impl Drop for Received {
    fn drop(&mut self) {
        // If the copy was kept, it was renamed. Then nothing has this path, and nothing is removed.
        fs::remove_file(&self.copy).ok();
    }
}

fn fail(path: &Path) -> impl FnOnce(io::Error) -> CatalogueError {
    let file = path.to_owned();
    move |source| CatalogueError::Keep { file, source }
}

fn copy(from: &Path, to: &Path) -> io::Result<File> {
    let mut from = records::opened(from)?;
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut to = options.open(to)?;
    io::copy(&mut from, &mut to)?;
    Ok(to)
}

/// Returns the labels of the catalogues in a folder, sorted.
pub fn kept(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let label_of = |name: std::ffi::OsString| {
        let name = name.into_string().ok()?;
        let label = name.strip_suffix(".cat")?;
        is_label(label).then(|| label.to_owned())
    };
    let names = entries.flatten().map(|entry| entry.file_name());
    let mut labels: Vec<String> = names.filter_map(label_of).collect();
    labels.sort_unstable();
    labels
}

/// Removes the catalogue with a label. Returns whether there was one.
pub fn forget(folder: &Path, label: &str) -> Result<bool, CatalogueError> {
    let file = file_of_label(folder, label);
    match fs::remove_file(&file) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(source) => Err(CatalogueError::Keep { file, source }),
    }
}

/// Returns the digest that the end of a catalogue states. Returns `None` if the digest cannot be
/// read. The digest is not verified. It is enough to find whether an index has loaded this
/// catalogue.
pub fn claimed_checksum(file: &Path) -> Option<ContentDigest> {
    let mut file: File = records::opened(file).ok()?;
    let mut checksum = [0; CHECKSUM];
    file.seek(SeekFrom::End(-(CHECKSUM as i64))).ok()?;
    file.read_exact(&mut checksum).ok()?;
    Some(ContentDigest(checksum))
}
