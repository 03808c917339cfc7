//! The facts of a file that rules use. The index has these facts for every file, so no file is
//! read.

/// The facts of a file that rules use.
#[derive(Clone, Copy, Debug)]
pub struct FileFacts<'a> {
    /// The path of the file, which may be any bytes.
    pub path: &'a [u8],
    /// The size of the file in bytes.
    pub size: u64,
    /// True if the file is text.
    pub text: bool,
}

impl<'a> FileFacts<'a> {
    /// Returns the name of the file without its directory.
    pub fn name(&self) -> &'a [u8] {
        let from = self.path.iter().rposition(|&byte| byte == b'/');
        &self.path[from.map_or(0, |at| at + 1)..]
    }

    /// Returns the directory of the file, without a slash at the end.
    pub fn dir(&self) -> &'a [u8] {
        let end = self.path.iter().rposition(|&byte| byte == b'/');
        &self.path[..end.unwrap_or(0)]
    }

    /// Returns the part of the name after the last dot. If the only dot is the first byte of the
    /// name, there is no suffix.
    pub fn suffix(&self) -> &'a [u8] {
        let name = self.name();
        match name.iter().rposition(|&byte| byte == b'.') {
            Some(at) if at > 0 => &name[at + 1..],
            _ => b"",
        }
    }

    /// Returns one of the three types of the paper: `text`, `binary` or `compressed`. A file is
    /// compressed if it is not text and has a suffix of compressed files.
    pub fn kind(&self) -> &'static str {
        const COMPRESSED: [&str; 28] = [
            "gz", "tgz", "bz2", "tbz2", "xz", "txz", "zst", "lz", "lz4", "lzma", "br", "z", "zip",
            "7z", "rar", "jar", "apk", "docx", "xlsx", "pptx", "odt", "ods", "odp", "epub", "jpg",
            "jpeg", "png", "mp4",
        ];
        if self.text {
            return "text";
        }
        let suffix = self.suffix().to_ascii_lowercase();
        if COMPRESSED.iter().any(|known| known.as_bytes() == suffix) {
            "compressed"
        } else {
            "binary"
        }
    }
}
