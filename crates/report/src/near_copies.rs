//! Prints near-copies of content that is about to be written: as sentences for people, as SARIF, or
//! as annotations of GitHub.

use std::fmt::Write as _;
use std::io::{self, Write};

use resemble_core::Relation;
use resemble_proto::documents::Document;
use resemble_proto::list_body;
use resemble_proto::message::FindRow;
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;
use serde::Serialize;
use serde_json::{Value, json};

use crate::quote::{harmless, quoted};
use crate::rows::percent_text;

/// A file that is a near-copy of another file.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckRow {
    /// Both files and their figures.
    #[serde(flatten)]
    pub found: FindRow,
    /// The larger of the two shares. If there is common text, it is not counted.
    pub score: Fraction,
    /// The digests of both contents, if there is a baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pair: Option<String>,
}

list_body! {
    /// The body of a document of `check`.
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct NearCopies {
        /// The rows.
        pub results: Vec<CheckRow>,
    } of "check", CheckParameters
}

/// The `parameters` of a document of `check`.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckParameters {
    /// The files, as the user named them.
    pub files: Vec<PathText>,
    /// True if the staged files of git are checked.
    pub staged: bool,
    /// The paths of `--in`, as the user named them. If the list is empty, the scope is the work
    /// tree or the default scope of `find`.
    #[serde(rename = "in")]
    pub within: Vec<PathText>,
    /// The minimum score of a row.
    pub min: Fraction,
    /// Globs of files that do not take part.
    pub exclude: Vec<String>,
    /// The id of the parameters of chunking and sampling.
    pub params: String,
}

impl CheckRow {
    /// Makes the row of a found file. Its score is the discounted score, if the file has one.
    pub fn of(found: FindRow) -> Self {
        let discounted = found.discount.discounted;
        let score = if discounted.is_none() {
            found.score()
        } else {
            discounted
        };
        Self {
            found,
            score,
            pair: None,
        }
    }

    /// Describes the finding and what to do about it: `97% of it is in old.rs; reuse that file`.
    pub fn sentence(&self) -> String {
        let row = &self.found;
        let path = quoted(row.path.as_path());
        let about = if row.estimate { "about " } else { "" };
        let percent = |share: Fraction| percent_text(share, row.is_identical());
        let mut text = match row.relation {
            Some(Relation::Identical) => format!("identical to {path}"),
            Some(Relation::SameText) => format!("the same text as {path}"),
            _ if row.a_in_b >= row.b_in_a => {
                format!("{about}{} of it is in {path}", percent(row.a_in_b))
            }
            _ => format!("it holds {about}{} of {path}", percent(row.b_in_a)),
        };
        if percent(self.score) != percent(row.score()) {
            let left = percent(self.score);
            // Writing to a string does not fail.
            write!(text, " ({left} without common text)").unwrap_or_default();
        }
        text + "; reuse that file"
    }
}

/// Writes one line for each row: the name of the file and the sentence about it.
pub fn write_sentences(out: &mut dyn Write, rows: &[CheckRow]) -> io::Result<()> {
    rows.iter().try_for_each(|row| {
        writeln!(
            out,
            "{}: {}",
            quoted(row.found.file.as_path()),
            row.sentence()
        )
    })
}

/// Writes one annotation of GitHub Actions for each row.
pub fn write_github(out: &mut dyn Write, rows: &[CheckRow]) -> io::Result<()> {
    rows.iter().try_for_each(|row| {
        let file = property(&row.found.file.lossy());
        let message = data(&row.sentence());
        writeln!(out, "::warning file={file},title=near-copy::{message}")
    })
}

/// Escapes the text of a workflow command. A line break in the text would end the command.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// Escapes a property of a workflow command. A comma would begin the next property, and two colons
/// would begin the text.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// Writes a log of SARIF 2.1.0.
pub fn write_sarif(out: &mut dyn Write, document: &Document<NearCopies>) -> io::Result<()> {
    let results: Vec<Value> = document.body.results.iter().map(result).collect();
    let notifications = document
        .errors
        .iter()
        .filter(|error| error.is_trouble())
        .map(|error| {
            json!({
                "level": "error",
                "message": { "text": harmless(&error.message) },
                "locations": [location(&error.path)],
            })
        });
    let notifications: Vec<Value> = notifications.collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "resemble",
                "version": document.version,
                "rules": [{
                    "id": "near-copy",
                    "shortDescription": { "text": "A file is a near-copy of another one" },
                }],
            }},
            "invocations": [{
                "executionSuccessful": notifications.is_empty(),
                "toolExecutionNotifications": notifications,
            }],
            "results": results,
        }],
    });
    serde_json::to_writer(&mut *out, &log)?;
    writeln!(out)
}

fn result(row: &CheckRow) -> Value {
    let mut result = json!({
        "ruleId": "near-copy",
        "ruleIndex": 0,
        "level": "warning",
        "message": { "text": row.sentence() },
        "locations": [location(&row.found.file)],
        "relatedLocations": [location(&row.found.path)],
    });
    if let Some(pair) = &row.pair {
        result["partialFingerprints"] = json!({ "contents/v1": pair });
    }
    result
}

fn location(path: &PathText) -> Value {
    json!({ "physicalLocation": { "artifactLocation": { "uri": uri(path) } } })
}

/// Returns the path as a URI reference (RFC 3986).
fn uri(path: &PathText) -> String {
    let bytes = path.as_bytes();
    let mut text = if bytes.starts_with(b"/") {
        "file://"
    } else {
        ""
    }
    .to_owned();
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            text.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            write!(text, "%{byte:02X}").unwrap_or_default();
        }
    }
    text
}
