//! The documents that verbs print as JSON: those of `compare`, `covered`, `dirs`, `groups`, `find`,
//! `pairs` and `why`. Other crates define further bodies.
//!
//! A [`Document`] is an entire report: the question, the limits of the answer, the answer, and the
//! unreadable files. It is written as JSON, and reading it back gives an equal document. So a
//! report can be saved, filtered, and printed in any other format after the files are gone. A
//! printer needs only this type, whether the answer is new or was saved.
//!
//! 1. The code that writes documents is handwritten, not a derived `Serialize`. Each row has its
//!    own line (see [`crate::report`]), totals precede the lists, and errors and the digest are
//!    last. `json` and `jsonl` go through the lists with the same function, [`Body::lists`].
//! 2. A line of `jsonl` must name its list, because `covered` has several lists of rows with the
//!    same fields. So if a document has more than one list, the first field of a line is `"row"`.
//! 3. Documents are read by a derived `Deserialize`. Unknown fields are ignored, and fields with a
//!    default may be absent. So an older program can read a newer report of the same schema.

use std::fmt::Debug;
use std::io::{self, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::message::{
    CompareClass, Comparison, Coverage, Degree, DirRow, Explanation, FindRow, Groups, Header,
    OnlyGroups, PairRelation, PairRow, Parts, SoftError, WhyParameters, WhyTotals,
};
use crate::number::Fraction;
use crate::path::PathText;
use crate::report::{
    CommonParameters, FindParameters, Head, Lists, PairsParameters, Writer, json_line,
    write_error_line,
};

/// The report of `compare`.
pub type CompareDocument = Document<Comparison>;
/// The report of `covered`.
pub type CoveredDocument = Document<Coverage>;
/// The report of `dirs`.
pub type DirsDocument = Document<SimilarDirs>;
/// The report of `groups`.
pub type GroupsDocument = Document<Groups>;
/// The report of `find`.
pub type FindDocument = Document<SimilarFiles>;
/// The report of `pairs`.
pub type PairsDocument = Document<SimilarPairs>;

/// The totals and the lists of an answer. In a document, they are between the head and the errors.
pub trait Body {
    /// The verb of the question. It is the field `"command"` of the document.
    const COMMAND: &'static str;
    /// True if each line of `jsonl` names its list.
    const TAGGED: bool;
    /// The parameters of the question.
    type Parameters: Clone + Debug + PartialEq + Serialize;
    /// The type that has the fields that precede the lists.
    type Totals<'a>: Serialize
    where
        Self: 'a;

    /// Returns the totals, whose fields become fields of the document.
    fn totals(&self) -> Self::Totals<'_>;

    /// Passes every list to `to`, in the order of the document.
    fn lists<L: Lists>(&self, to: &mut L) -> io::Result<()>;
}

/// The body of a document that has a single list.
pub trait ListBody: Body {
    /// The type of the rows in the list.
    type Row;

    /// Returns the list.
    fn rows(&self) -> &[Self::Row];
}

/// Defines a body that has a single list, with the verb and the type of its parameters.
#[macro_export]
macro_rules! list_body {
    (
        $(#[$meta:meta])*
        $vis:vis struct $body:ident {
            $(#[$doc:meta])*
            $shown:vis $list:ident: Vec<$row:ty>,
        } of $verb:literal, $parameters:ty
    ) => {
        $(#[$meta])*
        $vis struct $body {
            $(#[$doc])*
            $shown $list: Vec<$row>,
        }

        impl $crate::documents::Body for $body {
            const COMMAND: &'static str = $verb;
            const TAGGED: bool = false;
            type Parameters = $parameters;
            type Totals<'a> = $crate::documents::NoTotals;

            fn totals(&self) -> Self::Totals<'_> {
                $crate::documents::NoTotals {}
            }

            fn lists<L: $crate::report::Lists>(&self, to: &mut L) -> std::io::Result<()> {
                to.list(stringify!($list), stringify!($list), &self.$list)
            }
        }

        impl $crate::documents::ListBody for $body {
            type Row = $row;

            fn rows(&self) -> &[$row] {
                &self.$list
            }
        }
    };
}

/// The body of a report that can be read back from JSON.
pub trait SavedBody: Body<Parameters: DeserializeOwned> + PartialEq + DeserializeOwned {}

impl<B: Body<Parameters: DeserializeOwned> + PartialEq + DeserializeOwned> SavedBody for B {}

/// An entire report in memory.
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(bound = "B: schemars::JsonSchema, B::Parameters: schemars::JsonSchema")
)]
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(bound(deserialize = "B: SavedBody"))]
pub struct Document<B: Body> {
    /// The layout: [`crate::SCHEMA`] of the program that wrote the report.
    pub schema: u32,
    /// The version of the program that wrote the report.
    pub version: String,
    /// The verb.
    pub command: String,
    /// The parameters of the question.
    pub parameters: B::Parameters,
    /// The limits of the answer.
    #[serde(flatten)]
    pub header: Header,
    /// The answer.
    #[serde(flatten)]
    pub body: B,
    /// The paths that could not be read, sorted.
    pub errors: Vec<SoftError>,
}

impl<B: Body> Document<B> {
    /// Creates the report that this program makes of an answer.
    pub fn new(parameters: B::Parameters, header: Header, body: B, errors: Vec<SoftError>) -> Self {
        Self {
            schema: crate::SCHEMA,
            version: crate::VERSION.to_owned(),
            command: B::COMMAND.to_owned(),
            parameters,
            header,
            body,
            errors,
        }
    }

    fn head(&self) -> FullHead<'_, B::Parameters, B::Totals<'_>> {
        FullHead {
            head: Head::saved(
                self.schema,
                &self.version,
                &self.command,
                &self.parameters,
                self.header.clone(),
            ),
            totals: self.body.totals(),
        }
    }

    /// Writes the document as one JSON object, with each row on its own line.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut writer = Writer::open(out, &self.head())?;
        self.body.lists(&mut writer)?;
        writer.close(&self.errors)
    }

    /// Writes the head, then each row and each error, as JSON objects with a line each.
    pub fn write_jsonl(&self, out: &mut dyn Write) -> io::Result<()> {
        json_line(out, &self.head())?;
        self.body.lists(&mut Lines {
            out,
            tagged: B::TAGGED,
        })?;
        self.errors
            .iter()
            .try_for_each(|error| write_error_line(out, error))
    }
}

/// The head of a document, followed by the totals of its body.
#[derive(Serialize)]
struct FullHead<'a, P: Serialize, T: Serialize> {
    #[serde(flatten)]
    head: Head<'a, &'a P>,
    #[serde(flatten)]
    totals: T,
}

/// Writes each row of the lists as a line of `jsonl`.
struct Lines<'a> {
    out: &'a mut dyn Write,
    tagged: bool,
}

impl Lists for Lines<'_> {
    fn list<R: Serialize>(&mut self, _: &str, word: &'static str, rows: &[R]) -> io::Result<()> {
        for row in rows {
            if self.tagged {
                json_line(
                    self.out,
                    &Tagged {
                        row: word,
                        fields: row,
                    },
                )?;
            } else {
                json_line(self.out, row)?;
            }
        }
        Ok(())
    }
}

#[derive(Serialize)]
struct Tagged<'a, R> {
    row: &'static str,
    #[serde(flatten)]
    fields: &'a R,
}

/// The totals of a body that has only lists. They have no fields.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct NoTotals {}

/// The `parameters` of a compare document.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompareParameters {
    /// One directory or file, as the user named it.
    pub a: PathText,
    /// The other directory or file, as the user named it.
    pub b: PathText,
    /// The least ratio of the sizes of partners with unequal content; `null`: any ratio.
    pub size_ratio: Fraction,
    /// True if partners with unequal content must have the same suffix.
    pub same_suffix: bool,
    /// True if, among partners of equal score, the one with the same name comes first.
    pub names: bool,
    /// The classes of the rows; empty: all classes.
    pub classes: Vec<CompareClass>,
    /// The common parameters of all questions about similar files.
    #[serde(flatten)]
    pub common: CommonParameters,
}

/// The `parameters` of a covered document.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CoveredParameters {
    /// The directory to be deleted, as the user named it.
    pub dir: PathText,
    /// The directories that must hold an equal file for each file of `dir`, as the user named them.
    pub by: Vec<PathText>,
    /// The id of the parameters of chunking and sampling.
    pub params: String,
    /// The filter of a saved report.
    #[serde(flatten)]
    pub filter: CoveredFilter,
}

/// The filter of a saved report of `covered`. It changes only the lists, not the statement about
/// the directory. An answer about files is not filtered, so these fields are absent in it.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CoveredFilter {
    /// Globs of files that are listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<String>,
    /// Globs of files that are not listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// The least size of a listed file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_size: Option<u64>,
    /// The maximum number of rows of each list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top: Option<u64>,
}

impl CoveredFilter {
    /// Returns whether the report is not filtered.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// The `parameters` of a dirs document.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DirsParameters {
    /// The directories, as the user named them; empty: the daemon's roots.
    pub roots: Vec<PathText>,
    /// The directory that each pair must have; `null`: any pair.
    pub of: Option<PathText>,
    /// The common parameters of all questions about similar files.
    #[serde(flatten)]
    pub common: CommonParameters,
}

/// The `parameters` of a groups document.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupsParameters {
    /// The directories, as the user named them; empty: the daemon's roots.
    pub roots: Vec<PathText>,
    /// The groups that were requested.
    #[serde(default)]
    pub only: OnlyGroups,
    /// The requested relations of links and sets, if any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relation: Vec<PairRelation>,
    /// The file whose cluster is the only one in the answer; `null`: all clusters.
    pub of: Option<PathText>,
    /// True if the cluster of `of` has all versions that a chain of similar files connects with
    /// that file.
    pub family: bool,
    /// The rule for chunks that are ignored because many contents have them.
    pub degree: Degree,
    /// The common parameters of all questions about similar files.
    #[serde(flatten)]
    pub common: CommonParameters,
}

list_body! {
    /// The body of a dirs document.
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[derive(Clone, Debug, Default, PartialEq, Deserialize)]
    pub struct SimilarDirs {
        /// The pairs; those with the most shared bytes are first.
        pub pairs: Vec<DirRow>,
    } of "dirs", DirsParameters
}

list_body! {
    /// The body of a find document.
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[derive(Clone, Debug, Default, PartialEq, Deserialize)]
    pub struct SimilarFiles {
        /// The files found, grouped by the file in question, best first.
        pub results: Vec<FindRow>,
    } of "find", FindParameters
}

list_body! {
    /// The body of a pairs document.
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[derive(Clone, Debug, Default, PartialEq, Deserialize)]
    pub struct SimilarPairs {
        /// The pairs, best first.
        pub pairs: Vec<PairRow>,
    } of "pairs", PairsParameters
}

/// The fields that precede the lists in a document of `compare` or `groups`.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Summary<'a, S> {
    /// The totals of the body.
    pub summary: &'a S,
}

/// The fields that precede the lists in a document of `covered`.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CoveredTotals {
    /// True if everything is covered: see [`Coverage`].
    pub covered: bool,
    /// The number of entries that must be covered: see [`Coverage`].
    pub files: u64,
    /// The number of bytes of regular files: see [`Coverage`].
    pub bytes: u64,
}

impl Body for Comparison {
    const COMMAND: &'static str = "compare";
    const TAGGED: bool = true;
    type Parameters = CompareParameters;
    type Totals<'a> = Summary<'a, crate::message::CompareSummary>;

    fn totals(&self) -> Self::Totals<'_> {
        Summary {
            summary: &self.summary,
        }
    }

    fn lists<L: Lists>(&self, to: &mut L) -> io::Result<()> {
        to.list("entries", "entry", &self.entries)?;
        to.list("trees", "tree", &self.trees)?;
        to.list("others", "other", &self.others)
    }
}

impl Body for Coverage {
    const COMMAND: &'static str = "covered";
    const TAGGED: bool = true;
    type Parameters = CoveredParameters;
    type Totals<'a> = CoveredTotals;

    fn totals(&self) -> CoveredTotals {
        CoveredTotals {
            covered: self.covered,
            files: self.files,
            bytes: self.bytes,
        }
    }

    fn lists<L: Lists>(&self, to: &mut L) -> io::Result<()> {
        to.list("missing", "missing", &self.missing)?;
        to.list("near", "near", &self.near)?;
        to.list("linked", "linked", &self.linked)?;
        to.list("copies", "copy", &self.copies)?;
        // The list is empty if no catalogue was used. Then the document omits the list.
        if self.recorded.is_empty() {
            return Ok(());
        }
        to.list("recorded", "recorded", &self.recorded)
    }
}

impl Body for Groups {
    const COMMAND: &'static str = "groups";
    const TAGGED: bool = true;
    type Parameters = GroupsParameters;
    type Totals<'a> = Summary<'a, crate::message::GroupsSummary>;

    fn totals(&self) -> Self::Totals<'_> {
        Summary {
            summary: &self.summary,
        }
    }

    fn lists<L: Lists>(&self, to: &mut L) -> io::Result<()> {
        to.list("identical", "identical", &self.identical)?;
        to.list("clusters", "cluster", &self.clusters)
    }
}

impl Body for Explanation {
    const COMMAND: &'static str = "why";
    const TAGGED: bool = true;
    type Parameters = WhyParameters;
    type Totals<'a> = WhyTotals;

    fn totals(&self) -> WhyTotals {
        self.totals
    }

    fn lists<L: Lists>(&self, to: &mut L) -> io::Result<()> {
        // Only archives have members. If neither file is an archive, the document omits this list.
        if !self.members.is_empty() {
            to.list("members", "member", &self.members)?;
        }
        to.list("ranges", "range", &self.ranges)?;
        to.list("repeats", "repeat", &self.repeats)?;
        to.list("differs_a", "differs-a", &self.differs_a)?;
        to.list("differs_b", "differs-b", &self.differs_b)?;
        to.list("changed", "changed", &self.changed)
    }
}

/// Implements [`Parts`] for an answer with a single list. The rows of the list are sent.
macro_rules! one_list {
    ($($body:ident.$rows:ident: $row:ty;)*) => {$(
        impl Parts for $body {
            type Part = $row;

            fn add(&mut self, row: $row) {
                self.$rows.push(row);
            }

            fn into_parts(self) -> impl Iterator<Item = $row> {
                self.$rows.into_iter()
            }
        }
    )*};
}

one_list! {
    SimilarDirs.pairs: DirRow;
    SimilarFiles.results: FindRow;
    SimilarPairs.pairs: PairRow;
}

#[cfg(test)]
#[path = "documents_tests.rs"]
mod tests;
