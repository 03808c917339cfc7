//! Small files in the state folder, replaced as wholes.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Replaces a file, which only its owner may read: whoever reads it, now or after a crash, finds
/// all of what it was or all of what it is.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let fresh = path.with_extension("json.new");
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&fresh)?;
    file.write_all(bytes)?;
    file.sync_data()?;
    fs::rename(&fresh, path)
}
