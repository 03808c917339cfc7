//! A storm of random changes in a tree. The changes are like those of editors, builds and people,
//! but faster.

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::prose::prose;
use crate::random::{Random, noise};

/// The size in bytes of a large log when it is created.
const LOG: usize = 5 << 20;

/// A storm of changes in one tree. It keeps no record of the tree, so a test must compare the index
/// with the file system itself.
#[derive(Debug)]
pub struct Storm {
    root: PathBuf,
    random: Random,
    texts: Vec<Vec<u8>>,
}

impl Storm {
    /// Creates the storm of this seed. On an empty tree, storms of the same seed have the same
    /// effect.
    pub fn new(root: &Path, seed: u64) -> Self {
        let texts = (0..24).map(|i| prose(i, 600 + 700 * i as usize)).collect();
        Self {
            root: root.to_path_buf(),
            random: Random::new(seed),
            texts,
        }
    }

    /// Performs `count` changes. Impossible changes are counted, too. For example, the file is gone
    /// or the name is a folder. Errors are part of a storm.
    pub fn blow(&mut self, count: usize) {
        for _ in 0..count {
            drop(self.one());
        }
    }

    fn folder(&mut self) -> PathBuf {
        let mut path = self.root.clone();
        for _ in 0..self.random.below(4) {
            path.push(format!("d{}", self.random.below(6)));
        }
        path
    }

    fn file(&mut self) -> PathBuf {
        let n = self.random.below(40);
        self.folder().join(format!("f{n}.txt"))
    }

    fn text(&mut self) -> Vec<u8> {
        let n = self.random.below(self.texts.len());
        let mut text = self.texts[n].clone();
        if self.random.below(2) == 0 {
            let at = self.random.below(text.len());
            text.splice(
                at..at,
                format!("<{}>", self.random.below(1000)).into_bytes(),
            );
        }
        text
    }

    fn one(&mut self) -> std::io::Result<()> {
        match self.random.below(25) {
            0..=5 => {
                let (path, text) = (self.file(), self.text());
                fs::create_dir_all(path.parent().unwrap_or(&self.root))?;
                fs::write(path, text)
            }
            6 => {
                let path = self.file();
                fs::OpenOptions::new()
                    .append(true)
                    .open(path)?
                    .write_all(b"one line more\n")
            }
            7 => {
                let (path, at) = (self.file(), self.random.below(500) as u64);
                let mut file = fs::OpenOptions::new().write(true).open(path)?;
                file.seek(SeekFrom::Start(at))?;
                file.write_all(b"overwritten in place")
            }
            8 => {
                let (path, len) = (self.file(), self.random.below(2000) as u64);
                fs::OpenOptions::new().write(true).open(path)?.set_len(len)
            }
            9 | 10 => fs::rename(self.file(), self.file()),
            11 => fs::rename(self.folder(), self.folder().join("moved")),
            12 | 13 => fs::remove_file(self.file()),
            14 => match self.folder() {
                folder if folder == self.root => Ok(()),
                folder => fs::remove_dir_all(folder),
            },
            15 | 20..=23 => {
                // These changes concern hard links: names are linked, used for writing, renamed and
                // removed.
                let name = |storm: &mut Self| {
                    let (folder, n) = (storm.folder(), storm.random.below(6));
                    folder.join(format!("h{n}"))
                };
                let (a, b, text) = (name(self), name(self), self.text());
                match self.random.below(5) {
                    0 => fs::write(a, text),
                    1 => fs::hard_link(a, b),
                    2 => fs::rename(a, b),
                    3 => fs::remove_file(a),
                    _ => fs::OpenOptions::new()
                        .append(true)
                        .open(a)?
                        .write_all(b"through a link\n"),
                }
            }
            16 => symlink(self.file(), self.file()),
            17 => {
                let (path, mode) = (self.file(), 0o600 + self.random.below(2) as u32 * 0o44);
                fs::set_permissions(path, fs::Permissions::from_mode(mode))
            }
            18 => {
                // This change saves a file like an editor: a new file takes the name of the old
                // file.
                let (path, text) = (self.file(), self.text());
                let new = path.with_extension("new");
                fs::write(&new, text)?;
                fs::rename(new, path)
            }
            19 => {
                // The log is so large that a daemon reads only the bytes that are appended to it.
                // Some changes overwrite bytes before the old end of the log.
                let path = self.folder().join("log");
                if !path.exists() {
                    return fs::write(path, noise(self.random.draw(), LOG));
                }
                let mut file = fs::OpenOptions::new().write(true).open(path)?;
                if self.random.below(3) == 0 {
                    file.seek(SeekFrom::Start(self.random.below(LOG) as u64))?;
                    file.write_all(b"overwritten in place")?;
                }
                file.seek(SeekFrom::End(0))?;
                file.write_all(b"one line more\n")
            }
            _ => {
                let path = self.file();
                if path.is_dir() {
                    fs::remove_dir_all(path)
                } else {
                    fs::create_dir_all(path)
                }
            }
        }
    }
}
