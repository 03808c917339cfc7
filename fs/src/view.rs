//! The namespace of the overlay: which names there are and what each of them stands for. It needs
//! no kernel.
//!
//! Linux decides that a path through a regular file is an error (ENOTDIR) before any file system
//! is asked, so `ls report.txt/.similar` cannot work on a file shown as a file. Hence two views:
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
//! Below a file's `.similar` there are also `.why/NAME` and `.report.json`. Choices:
//!
//! 1. **Our names are reachable, not listed**: `.similar` (except in a file's folder), `.why`,
//!    `.report.json`, `.dirs`. So `find`, `rsync` and backups are not led astray, an answer without
//!    neighbours is an empty directory, and copying a `.similar` computes no explanations.
//! 2. **Our names win.** A real entry called `.similar` is hidden and counted; a real file called
//!    `.dirs` has no answer in the files view. `.similar` may be listed under a second name, which
//!    wins as well. Both are one node: the kernel knows one directory that was renamed.
//! 3. **A listing is a snapshot** made when the directory is opened and again on rewind: entries
//!    that come and go meanwhile are neither skipped nor shown twice.
//! 4. **Times to live.** Names that mirror the tree live for one second, answers and the attributes
//!    of files for none. There is nothing to invalidate, so nobody ever notifies the kernel.
//! 5. **Sizes.** `.why/NAME` and `.report.json` say 0 bytes, as files of `/proc` do: a true size
//!    would mean computing the text for each `ls -l`. They are opened for direct reading, so every
//!    reader that reads to the end (`cat`, `cp`, `grep`, `less`, `wc`) sees all of it, and one
//!    handle sees one text from its open to its close.
//! 6. **`nlink` is 1** throughout: numbers are made of paths, so two hard links have two numbers,
//!    and a link count that promises another name with the same number would be wrong.
//! 7. **A node is a path**, looked up anew in each request. What vanished is ENOENT at the next
//!    request; what changed its type is another node (ESTALE makes the kernel look again). An open
//!    file goes on being readable, as everywhere, and the file that took its place has another
//!    number: the kernel keeps pages by number.
//! 8. **What is open is bounded** for all together, and in a mount for all for each account: opens,
//!    and the bytes of ours that somebody has open, equal ones once.
//! 9. **Roots come and go while mounted**, and this never changes the meaning of a path in use:
//!    what a mount of one root shows stays at its top when a second root comes.

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
mod seen;
mod shares;
mod tree;

pub use attr::{Attr, Entry, Kind, Opened, Refusal, Sink, Space, Time};
pub use inodes::ROOT;
pub use namespace::{Effort, Namespace};

/// Which of the two shapes the overlay has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum View {
    /// Each file appears as a folder that holds the file and `.similar`.
    #[default]
    Folders,
    /// The tree as it is; each directory also answers `.similar`.
    Files,
}

/// Where `.similar` is listed by `readdir`. It can be looked up everywhere in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Show {
    /// In a file's folder of the folders view and nowhere else.
    #[default]
    Default,
    /// Wherever it exists.
    Always,
    /// Nowhere.
    Never,
}

#[cfg(test)]
mod tests;
