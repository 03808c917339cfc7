//! Reads the texts of a folder into memory.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use resemble_core::ContentKind;
use resemble_core::hash::content::digest;
use resemble_relate::{AskError, bytes_of};

use crate::error::LabError;

/// A text of the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// The path of the text, relative to the folder.
    pub name: String,
    /// The bytes of the text.
    pub bytes: Vec<u8>,
}

impl AsRef<[u8]> for Text {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The texts of a folder. A content that several files have is in the collection only once.
#[derive(Clone, Debug, Default)]
pub struct Collection {
    /// The texts, ordered by the digests of their names. So the first texts are a random sample
    /// that is the same on every run.
    pub texts: Vec<Text>,
    /// The number of files that are empty or are not text.
    pub others: u64,
    /// The names of the files that have the same bytes as a text in `texts`, each with the index of
    /// that text.
    pub copies: Vec<(String, usize)>,
    /// The number of files that were left out because the limit of bytes was reached.
    pub left: u64,
    /// The number of files that could not be read.
    pub unreadable: u64,
}

impl Collection {
    /// Reads regular files below a folder until the texts have `most_bytes` bytes. Symbolic links
    /// are not followed.
    ///
    /// # Errors
    ///
    /// Fails if the folder itself cannot be listed.
    pub fn read(folder: &Path, most_bytes: u64) -> Result<Self, LabError> {
        let mut files = Vec::new();
        list(folder, &mut files).map_err(|source| AskError::Unreadable {
            path: folder.to_owned(),
            source,
        })?;
        let named = files.into_iter().map(|path| {
            let below = path.strip_prefix(folder).unwrap_or(&path);
            let name = below.as_os_str().as_encoded_bytes().to_vec();
            (digest(&name).0, path)
        });
        let mut named: Vec<([u8; 32], PathBuf)> = named.collect();
        named.sort_unstable();
        let mut collection = Self::default();
        let (mut seen, mut bytes) = (HashMap::new(), 0);
        for (_, path) in named {
            if bytes >= most_bytes {
                collection.left += 1;
                continue;
            }
            let Ok(content) = bytes_of(&path) else {
                collection.unreadable += 1;
                continue;
            };
            if ContentKind::of(&content) != ContentKind::Text {
                collection.others += 1;
                continue;
            }
            let below = path.strip_prefix(folder).unwrap_or(&path);
            let name = below.to_string_lossy().into_owned();
            let next = collection.texts.len();
            let number = *seen.entry(digest(&content).0).or_insert(next);
            if number < next {
                collection.copies.push((name, number));
            } else {
                bytes += content.len() as u64;
                collection.texts.push(Text {
                    name,
                    bytes: content,
                });
            }
        }
        Ok(collection)
    }

    /// Returns the first `most` texts whose size is in this range, ordered by size.
    pub fn of_sizes(&self, sizes: std::ops::RangeInclusive<usize>, most: usize) -> Vec<&Text> {
        let fit = self
            .texts
            .iter()
            .filter(|text| sizes.contains(&text.bytes.len()));
        let mut chosen: Vec<&Text> = fit.take(most).collect();
        chosen.sort_by(|a, b| (a.bytes.len(), &a.name).cmp(&(b.bytes.len(), &b.name)));
        chosen
    }

    /// Returns the number of texts that have copies. Such a text and its copies form a group of
    /// equal files.
    pub fn equal_groups(&self) -> usize {
        let mut numbers: Vec<usize> = self.copies.iter().map(|&(_, number)| number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers.len()
    }

    /// The size of all texts, in bytes.
    pub fn bytes(&self) -> u64 {
        self.texts.iter().map(|text| text.bytes.len() as u64).sum()
    }

    /// Describes the collection for the head of a report.
    pub fn describe(&self) -> String {
        format!(
            "{} texts of {:.1} MB, each content once. Further {} copies of {} of them, {} files \
             that are not text or empty, {} left out by --max-bytes, {} unreadable.",
            self.texts.len(),
            self.bytes() as f64 / 1e6,
            self.copies.len(),
            self.equal_groups(),
            self.others,
            self.left,
            self.unreadable
        )
    }
}

/// Lists the regular files below a folder. Subfolders that cannot be read are left out.
fn list(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut waiting = vec![folder.to_owned()];
    let mut is_first = true;
    while let Some(dir) = waiting.pop() {
        let entries = match fs::read_dir(&dir) {
            Err(error) if is_first => return Err(error),
            Err(_) => continue,
            Ok(entries) => entries,
        };
        is_first = false;
        for entry in entries.flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => waiting.push(entry.path()),
                Ok(kind) if kind.is_file() => files.push(entry.path()),
                _ => {}
            }
        }
    }
    Ok(())
}
