//! Records the steps of a setup in the state folder, so that they can be undone.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use resemble_arguments::Global;
use resemble_proto::places::{self, Env};
use serde::{Deserialize, Serialize};

use crate::error::{CliError, CliResult};
use crate::new_file::NewFile;

/// A file that a setup has written, and the text of that file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Written {
    pub(super) path: PathBuf,
    text: String,
}

impl Written {
    /// Removes the file if it is unchanged. Returns whether the file is gone.
    pub(super) fn remove(&self) -> io::Result<bool> {
        match fs::read(&self.path) {
            Ok(bytes) if bytes == self.text.as_bytes() => {
                fs::remove_file(&self.path).map(|()| true)
            }
            Ok(_) => Ok(false),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
            Err(error) => Err(error),
        }
    }
}

/// The recorded steps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Record {
    /// Files that were written.
    pub(super) files: Vec<Written>,
    /// Units that were started.
    pub(super) units: Vec<String>,
    /// Folders that were added to a running daemon.
    pub(super) watched: Vec<PathBuf>,
    /// True if a daemon was started without systemd.
    pub(super) started: bool,
    #[serde(skip)]
    path: PathBuf,
}

impl Record {
    /// Loads the record of earlier setups.
    pub(super) fn load(env: &Env, global: &Global) -> CliResult<Self> {
        let path = places::state_dir(env, global.state.as_deref())?.join("setup.json");
        let record = match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map_err(io::Error::from)
                .map_err(CliError::file("read", &path))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::default(),
            Err(error) => return Err(CliError::file("read", &path)(error)),
        };
        Ok(Self { path, ..record })
    }

    pub(super) fn is_empty(&self) -> bool {
        let nothing = Self {
            path: self.path.clone(),
            ..Self::default()
        };
        *self == nothing
    }

    /// Records that this file was written just now.
    pub(super) fn wrote(&mut self, path: &Path) -> CliResult<()> {
        let text = fs::read_to_string(path).map_err(CliError::file("read", path))?;
        self.files.retain(|file| file.path != path);
        self.files.push(Written {
            path: path.to_owned(),
            text,
        });
        self.save()
    }

    pub(super) fn uses_unit(&mut self, unit: &str) -> CliResult<()> {
        if !self.units.iter().any(|one| one == unit) {
            self.units.push(unit.to_owned());
        }
        self.save()
    }

    pub(super) fn watches(&mut self, dir: &Path) -> CliResult<()> {
        self.watched.push(dir.to_owned());
        self.save()
    }

    pub(super) fn started(&mut self) -> CliResult<()> {
        self.started = true;
        self.save()
    }

    fn save(&self) -> CliResult<()> {
        if let Some(folder) = self.path.parent() {
            places::private_dir(folder, rustix::process::geteuid().as_raw())?;
        }
        let text = serde_json::to_string_pretty(self).map_err(io::Error::from);
        let text = text.map_err(CliError::file("write", &self.path))?;
        NewFile::put(&self.path, text.as_bytes())
    }

    /// Removes the record.
    pub(super) fn forget(&self) -> CliResult<()> {
        fs::remove_file(&self.path).map_err(CliError::file("remove", &self.path))
    }
}
