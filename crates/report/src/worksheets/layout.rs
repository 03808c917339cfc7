//! The name of every worksheet, its columns, and the sentence above them.

use Align::{Left, Right};

/// On which side of a column its values stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    /// Names and words.
    Left,
    /// Numbers and times.
    Right,
}

/// A column: its title, its width in characters, and on which side its values stand.
pub(crate) type Column = (&'static str, u16, Align);

/// A sheet without its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sheet {
    /// Its name, of at most 31 characters, which is what a workbook allows.
    pub name: &'static str,
    /// A sentence that says how to read it.
    pub lead: &'static str,
    /// The columns.
    pub columns: &'static [Column],
    /// Rows of this level and deeper ones are folded away at first. 0 if all rows have level 0.
    pub folded: u8,
}

pub(super) const FOLDERS: Sheet = Sheet {
    name: "Folders",
    lead: "Similar folders whatever their names: how much of the bytes below one is in files \
           below the other.",
    columns: &[
        ("First folder", 50, Left),
        ("Second folder", 50, Left),
        ("First in second", 14, Right),
        ("Second in first", 14, Right),
        ("Bytes in both", 14, Right),
        ("Files first", 11, Right),
        ("Files second", 11, Right),
        ("Bytes first", 14, Right),
        ("Bytes second", 14, Right),
        ("Identical", 10, Left),
    ],
    folded: 0,
};

pub(super) const IDENTICAL: Sheet = Sheet {
    name: "Identical files",
    lead: "Sets of files with equal bytes. Overhead is what all but one of a set take.",
    columns: &[
        ("Set", 7, Right),
        ("Files", 7, Right),
        ("Overhead bytes", 15, Right),
        ("File size", 13, Right),
        ("Changed (UTC)", 17, Right),
        ("File", 90, Left),
    ],
    folded: 1,
};

pub(super) const CLUSTERS: Sheet = Sheet {
    name: "Clusters",
    lead: "Groups of similar files. A cluster's row has its totals and its centre, which every \
           member resembles; members stand below it.",
    columns: &[
        ("Cluster", 9, Right),
        ("Kind", 10, Left),
        ("Files", 7, Right),
        ("Links", 8, Right),
        ("Size", 13, Right),
        ("Similar", 9, Right),
        ("Worst pair", 11, Right),
        ("In centre", 10, Right),
        ("Centre in it", 12, Right),
        ("Changed (UTC)", 17, Right),
        ("Copies", 8, Right),
        ("Mark", 9, Left),
        ("Id", 18, Left),
        ("File", 90, Left),
    ],
    folded: 1,
};

pub(super) const LINKS: Sheet = Sheet {
    name: "Links",
    lead: "Pairs of similar members of a cluster. Bytes in both are a lower bound.",
    columns: &[
        ("Cluster", 9, Right),
        ("First file", 60, Left),
        ("Second file", 60, Left),
        ("First in second", 14, Right),
        ("Second in first", 14, Right),
        ("Bytes in both", 14, Right),
        ("Without common text", 19, Right),
        ("Reason", 40, Left),
    ],
    folded: 0,
};

pub(super) const COMPARE: Sheet = Sheet {
    name: "Compare",
    lead: "Every file of both sides by class and folder, with its partner; further partners \
           stand below their file.",
    columns: &[
        ("Class", 14, Left),
        ("Files", 9, Right),
        ("Bytes", 14, Right),
        ("First file", 60, Left),
        ("Second file", 60, Left),
        ("First in second", 14, Right),
        ("Second in first", 14, Right),
        ("Bytes in both", 14, Right),
        ("Size first", 13, Right),
        ("Size second", 13, Right),
        ("Mark", 16, Left),
    ],
    folded: 2,
};

pub(super) const OTHERS: Sheet = Sheet {
    name: "Links and special files",
    lead: "What is no regular file, or could not be read, and is not the same on both sides.",
    columns: &[
        ("Path", 90, Left),
        ("First", 14, Left),
        ("Second", 14, Left),
    ],
    folded: 0,
};

pub(super) const MISSING: Sheet = Sheet {
    name: "Not covered",
    lead: "Entries without an equal elsewhere: they would be lost.",
    columns: &[("File", 90, Left), ("Size", 14, Right), ("Why", 40, Left)],
    folded: 0,
};

pub(super) const NEAR: Sheet = Sheet {
    name: "Near copies, not safe",
    lead: "Of those not covered, the ones that resemble a file elsewhere. Resembling is not \
           having.",
    columns: &[
        ("File", 60, Left),
        ("Resembles", 60, Left),
        ("Of it elsewhere", 15, Right),
        ("Of the other in it", 17, Right),
        ("Bytes in both", 14, Right),
    ],
    folded: 0,
};

pub(super) const LINKED: Sheet = Sheet {
    name: "Covered by a hard link",
    lead: "The equal is the same inode under another name.",
    columns: &[
        ("File", 60, Left),
        ("Its equal", 60, Left),
        ("Size", 14, Right),
    ],
    folded: 0,
};

pub(super) const COPIES: Sheet = Sheet {
    name: "Covered by a copy",
    lead: "Compared byte by byte when the report was made.",
    ..LINKED
};

pub(super) const RECORDED: Sheet = Sheet {
    name: "Recorded in a catalogue",
    lead: "Equal by digest to what only a catalogue has: no bytes were compared.",
    ..LINKED
};

pub(super) const FOUND: Sheet = Sheet {
    name: "Similar files",
    lead: "Files similar to those that were named, best first. Bytes in both are a lower bound.",
    columns: &[
        ("File", 50, Left),
        ("Similar file", 70, Left),
        ("Relation", 12, Left),
        ("File in similar", 14, Right),
        ("Similar in file", 14, Right),
        ("Resemblance", 12, Right),
        ("Bytes in both", 14, Right),
        ("Without common text", 19, Right),
        ("Reason", 40, Left),
    ],
    folded: 0,
};

pub(super) const PAIRS: Sheet = Sheet {
    name: "Pairs",
    lead: "Pairs of similar files, best first. Bytes in both are a lower bound.",
    columns: &[
        ("First file", 60, Left),
        ("Second file", 60, Left),
        ("Score", 9, Right),
        ("First in second", 14, Right),
        ("Second in first", 14, Right),
        ("Resemblance", 12, Right),
        ("Bytes in both", 14, Right),
        ("Without common text", 19, Right),
        ("Reason", 40, Left),
    ],
    folded: 0,
};

pub(super) const ERRORS: Sheet = Sheet {
    name: "Errors",
    lead: "What could not be looked at: the report says nothing about it.",
    columns: &[("Path", 90, Left), ("Why", 60, Left)],
    folded: 0,
};
