//! Defines the documents that can be printed, and the content that only a page or a workbook has.

use std::io::{self, Write};
use std::path::Path;

use resemble_proto::documents::{
    CompareDocument, CoveredDocument, DirsDocument, FindDocument, GroupsDocument, PairsDocument,
};
use resemble_proto::message::{Header, SoftError};
use resemble_proto::path::PathText;
use serde_json::Value;

use crate::evidence::Evidence;

/// A document to be printed as a report.
#[derive(Clone, Copy, Debug)]
pub enum Report<'a> {
    /// A comparison of two directories by content.
    Compare(&'a CompareDocument),
    /// The coverage of a directory by other directories.
    Covered(&'a CoveredDocument),
    /// Similar directories.
    Dirs(&'a DirsDocument),
    /// Sets of identical files, and clusters of similar files.
    Groups(&'a GroupsDocument),
    /// Files that are similar to given files.
    Find(&'a FindDocument),
    /// Pairs of similar files.
    Pairs(&'a PairsDocument),
}

/// Content that a page or a workbook has in addition to its document.
#[derive(Clone, Debug, Default)]
pub struct Extras<'a> {
    /// For `groups`: the similar directories of the same files.
    pub folders: Option<&'a DirsDocument>,
    /// Pairs of files, with their texts side by side.
    pub evidence: Vec<Evidence>,
    /// For a page of `groups`: identical files that have hard links, each with its path and the
    /// number of its names. It is `None` if the files were not checked for hard links.
    pub links: Option<Vec<(PathText, u64)>>,
    /// The directory from which relative names start. Without it, names on the page are not
    /// hyperlinks.
    pub base: Option<PathText>,
    /// The path of the saved report from which this report is made.
    pub saved: Option<&'a Path>,
}

/// The common fields of all documents.
pub(crate) struct Common<'a> {
    pub(crate) version: &'a str,
    pub(crate) header: &'a Header,
    pub(crate) errors: &'a [SoftError],
    pub(crate) parameters: Value,
}

/// Evaluates an expression with the document of any verb.
macro_rules! with_document {
    ($report:expr, $document:ident => $then:expr) => {
        match $report {
            Report::Compare($document) => $then,
            Report::Covered($document) => $then,
            Report::Dirs($document) => $then,
            Report::Groups($document) => $then,
            Report::Find($document) => $then,
            Report::Pairs($document) => $then,
        }
    };
}

impl Report<'_> {
    pub(crate) fn common(&self) -> Common<'_> {
        with_document!(self, document => Common {
            version: &document.version,
            header: &document.header,
            errors: &document.errors,
            // The parameters consist of text, numbers and lists, so this conversion does not fail.
            parameters: serde_json::to_value(&document.parameters).unwrap_or(Value::Null),
        })
    }

    /// Writes the document as JSON.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        with_document!(self, document => document.write_json(out))
    }

    /// Writes the document as JSON lines: one object on each line.
    pub fn write_jsonl(&self, out: &mut dyn Write) -> io::Result<()> {
        with_document!(self, document => document.write_jsonl(out))
    }
}
