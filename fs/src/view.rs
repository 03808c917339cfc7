//! The namespace of the overlay: the names it shows, and the files and directories behind them.
//! This module works without a kernel.
//!
//! Linux rejects a path through a regular file (ENOTDIR) without asking the file system. So `ls
//! report.txt/.similar` cannot work if `report.txt` is shown as a file. So there are two views:
//!
//! ```text
//! folders   D/report.txt/report.txt          the file            (D/report.txt is a folder)
//!           D/report.txt/.similar/097%_...   its neighbours
//!           D/.similar/097%_...              directories that resemble D
//! files     D/report.txt                     the file
//!           D/.similar/report.txt/097%_...   its neighbours
//!           D/.similar/.dirs/097%_...        directories that resemble D
//! ```
//!
//! A file's `.similar` also has `.why/NAME` and `.report.json`. The rules are:
//!
//! 1. **Our names are reachable, not listed**: `.similar` (except in a file's folder), `.why`,
//!    `.report.json`, `.dirs`. So `find`, `rsync` and backups do not enter them. Without neighbours
//!    `.similar` is an empty directory. Copying a `.similar` computes no explanations.
//! 2. **Our names win.** A real entry called `.similar` is hidden and counted. A real file called
//!    `.dirs` has no answer in the files view. `.similar` may be listed under a second name, which
//!    also wins. Both names are one node. The kernel treats that as one directory that was renamed.
//! 3. **A listing is a snapshot** made when the directory is opened and again on rewind. Entries
//!    that are added or removed meanwhile are neither skipped nor shown twice.
//! 4. **Times to live.** The kernel may cache names that mirror the tree for one second. It must
//!    not cache answers, and it may trust the attributes of files for at most 10 ms. So nothing
//!    needs to be invalidated, and the kernel is never notified.
//! 5. **Sizes.** `.why/NAME` and `.report.json` show 0 bytes, like files of `/proc`: a true size
//!    would require computing the text for each `ls -l`. They are opened for direct reading. So
//!    every program that reads to the end (`cat`, `cp`, `grep`, `less`, `wc`) gets the whole text.
//!    A handle returns the same text from its open to its close.
//! 6. **`nlink` is 1** for all entries. Inode numbers are made of paths, so two hard links of a
//!    file have different numbers. A higher link count would promise another name with the same
//!    number.
//! 7. **A node is a path**, looked up again in each request. A vanished path is ENOENT at the next
//!    request. A path whose type has changed is another node (ESTALE makes the kernel look again).
//!    An open file remains readable, as on other file systems. The file that replaced it has
//!    another number, because the kernel keeps cached pages by number.
//! 8. **Open resources are bounded** in total, and in a mount for all users also per account. The
//!    bounds apply to handles, and to the open bytes that we make or extract. Equal bytes count
//!    once.
//! 9. **Roots change while mounted**, but the meaning of a path in use never changes. A mount that
//!    shows one root keeps that root at the top when a second root is added.

mod answers;
mod attr;
mod bytes;
mod directories;
mod handles;
mod held;
mod inodes;
mod listing;
mod namespace;
mod node;
mod reopening;
mod seen;
mod shares;
mod tree;

pub use attr::{Attr, Entry, Kind, Opened, Refusal, Sink, Space, Time};
pub use inodes::ROOT;
pub use namespace::{Effort, Namespace};

/// The two ways in which the overlay shows the tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum View {
    /// Each file appears as a folder that has the file and `.similar`.
    #[default]
    Folders,
    /// The tree is shown as it is. Each directory also has `.similar`.
    Files,
}

/// The places where listings show `.similar`. It can be looked up in all other places, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Show {
    /// Only in the folder that the folders view shows for a file.
    #[default]
    Default,
    /// Wherever it exists.
    Always,
    /// Nowhere.
    Never,
}

#[cfg(test)]
mod tests;
