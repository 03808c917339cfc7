//! The templates of one state folder, read again when the file changes.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use resemble_core::Params;
use resemble_core::similarity::Templates;
use resemble_proto::message::TemplateRow;

use super::file::{self, FILE_NAME, TemplateError, TemplateRecord};

/// The templates of a state folder, for one index.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    params: Params,
    /// The id of the parameters.
    id: String,
    seen: Mutex<Option<(FileStamp, Current)>>,
}

/// Identifies a version of the file. The file is always replaced and never changed in place, so the
/// inode number alone nearly identifies it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileStamp {
    None,
    File {
        ino: u64,
        size: u64,
        mtime: (i64, i64),
        ctime: (i64, i64),
    },
}

impl FileStamp {
    fn of(path: &Path) -> Self {
        fs::metadata(path).map_or(Self::None, |meta| Self::File {
            ino: meta.ino(),
            size: meta.size(),
            mtime: (meta.mtime(), meta.mtime_nsec()),
            ctime: (meta.ctime(), meta.ctime_nsec()),
        })
    }
}

/// The templates at one moment.
#[derive(Clone, Debug, Default)]
pub struct Current {
    /// The content that questions leave out.
    pub templates: Arc<Templates>,
    /// The reason why the file is not used, in one sentence.
    pub trouble: Option<Arc<str>>,
    /// The number of templates that have no effect because they were made with other parameters.
    pub ignored: usize,
}

impl Store {
    /// Returns the store of a state folder, for an index with these parameters. Does not read the
    /// file yet.
    pub fn new(state: &Path, params: &Params) -> Self {
        Self {
            path: state.join(FILE_NAME),
            params: *params,
            id: params.to_string(),
            seen: Mutex::new(None),
        }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the current templates, and whether they changed since the last call. If the file has
    /// not changed, this takes only one `stat`.
    ///
    /// An unusable file counts as missing: answers are given without templates.
    /// [`Current::trouble`] has the reason for the user.
    pub fn current(&self) -> (Current, bool) {
        let mut seen = self.seen.lock();
        // The stamp is taken before the file is read. If the file is replaced in between, the next
        // call reads it again.
        let stamp = FileStamp::of(&self.path);
        if let Some((then, current)) = &*seen
            && *then == stamp
        {
            return (current.clone(), false);
        }
        let current = match file::read(&self.path) {
            Ok(records) => self.of(&records),
            Err(error) => Current {
                trouble: Some(error.to_string().into()),
                ..Current::default()
            },
        };
        let first = seen.is_none();
        *seen = Some((stamp, current.clone()));
        (current, !first || stamp != FileStamp::None)
    }

    fn of(&self, records: &[TemplateRecord]) -> Current {
        let mut templates = Templates::new(&self.params);
        let mut ignored = 0;
        for record in records {
            if record.params == self.id {
                templates.add(&record.pieces);
            } else {
                ignored += 1;
            }
        }
        Current {
            templates: Arc::new(templates),
            trouble: None,
            ignored,
        }
    }

    /// Returns all templates, in the order in which they were marked.
    pub fn list(&self) -> Result<Vec<TemplateRow>, TemplateError> {
        let records = file::read(&self.path)?;
        Ok(records.iter().map(|r| r.row(&self.id)).collect())
    }

    /// Removes a template, by its name or id, and returns its row.
    pub fn unmark(&self, which: &str) -> Result<TemplateRow, TemplateError> {
        file::change(&self.path, |records| {
            let is = |record: &TemplateRecord| record.name.as_deref() == Some(which);
            let at = records
                .iter()
                .position(is)
                .or_else(|| records.iter().position(|record| record.id() == which))
                .ok_or_else(|| TemplateError::Unknown(which.to_owned()))?;
            Ok(records.remove(at).row(&self.id))
        })
    }

    /// Adds a template and returns its row. If a template already has the same pieces, returns the
    /// row of that template.
    pub(super) fn add(&self, record: TemplateRecord) -> Result<TemplateRow, TemplateError> {
        file::change(&self.path, |records| {
            if let Some(name) = &record.name
                && records
                    .iter()
                    .any(|other| other.name.as_ref() == Some(name))
            {
                return Err(TemplateError::NameTaken(name.clone()));
            }
            let id = record.id();
            if let Some(same) = records.iter().find(|other| other.id() == id) {
                return Ok(same.row(&self.id));
            }
            let row = record.row(&self.id);
            records.push(record);
            Ok(row)
        })
    }

    /// Returns the id of the index's parameters.
    pub(super) fn params(&self) -> &str {
        &self.id
    }
}
