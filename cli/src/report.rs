//! Reports to keep and to hand on: a page for a browser, a workbook, and a saved report read back.
//!
//! ```text
//! proto::Document ─┬─► html   one page: the documents as JSON, a program to show them, plain tables
//!        ▲         └─► xlsx   a workbook with outline groups
//!      saved                  (facts and sheets say what both of these hold)
//!     (--from)
//! ```
//!
//! 1. A report is a function of its [document](resemble_proto::documents::Document), the one that
//!    `--format json` prints. Nothing in it comes from anywhere else, except what is in [`Extras`]:
//!    folders and evidence that the verb asked for besides, and when and where it was made.
//! 2. Because the page carries the very JSON, a page is a saved report too: `--from page.html`.
//! 3. Names are hostile. In the page they are data that a program puts in as text nodes; in
//!    the plain tables they are escaped; in the workbook they are strings, never formulas. What a
//!    person would not see (controls, characters that turn the line) is spelled out.

pub mod evidence;
pub mod saved;

mod facts;
pub mod html;
mod sheets;
mod spell;
pub mod xlsx;

use std::io::{self, Write};
use std::path::Path;

use resemble_proto::documents::{
    CompareDocument, CoveredDocument, DirsDocument, Document, FindDocument, GroupsDocument,
    PairsDocument,
};
use resemble_proto::message::{Header, SoftError};
use resemble_proto::path::PathText;
use serde_json::Value;

pub use evidence::Evidence;

/// A document to be printed as a report.
#[derive(Clone, Copy, Debug)]
pub enum Report<'a> {
    /// Two directories by content.
    Compare(&'a CompareDocument),
    /// Whether a directory can go.
    Covered(&'a CoveredDocument),
    /// Similar directories.
    Dirs(&'a DirsDocument),
    /// Identical sets and clusters.
    Groups(&'a GroupsDocument),
    /// Files similar to some.
    Find(&'a FindDocument),
    /// Pairs of similar files.
    Pairs(&'a PairsDocument),
}

/// What a page or a workbook holds besides its document.
#[derive(Clone, Debug, Default)]
pub struct Extras<'a> {
    /// For `groups`: the similar directories of the same files.
    pub folders: Option<&'a DirsDocument>,
    /// Pairs of files side by side.
    pub evidence: Vec<Evidence>,
    /// The directory that relative names start from; without, they are no links.
    pub base: Option<PathText>,
    /// The saved report that this one is made from.
    pub saved: Option<&'a Path>,
}

/// What all documents have in common.
struct Common<'a> {
    version: &'a str,
    header: &'a Header,
    errors: &'a [SoftError],
    parameters: Value,
}

impl Report<'_> {
    fn common(&self) -> Common<'_> {
        fn of<B: resemble_proto::documents::Body>(document: &Document<B>) -> Common<'_> {
            Common {
                version: &document.version,
                header: &document.header,
                errors: &document.errors,
                // Parameters are objects of text, numbers and lists: they are values.
                parameters: serde_json::to_value(&document.parameters).unwrap_or(Value::Null),
            }
        }
        match self {
            Self::Compare(document) => of(document),
            Self::Covered(document) => of(document),
            Self::Dirs(document) => of(document),
            Self::Groups(document) => of(document),
            Self::Find(document) => of(document),
            Self::Pairs(document) => of(document),
        }
    }

    /// Writes the document as JSON.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Compare(document) => document.write_json(out),
            Self::Covered(document) => document.write_json(out),
            Self::Dirs(document) => document.write_json(out),
            Self::Groups(document) => document.write_json(out),
            Self::Find(document) => document.write_json(out),
            Self::Pairs(document) => document.write_json(out),
        }
    }

    /// Writes the document with an object a line.
    pub fn write_jsonl(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Compare(document) => document.write_jsonl(out),
            Self::Covered(document) => document.write_jsonl(out),
            Self::Dirs(document) => document.write_jsonl(out),
            Self::Groups(document) => document.write_jsonl(out),
            Self::Find(document) => document.write_jsonl(out),
            Self::Pairs(document) => document.write_jsonl(out),
        }
    }
}
