//! Writes the JSON documents: `--format json` and `jsonl`, and the overlay's `.report.json`.
//!
//! A document is a single object. Its first fields are the identity (`schema`, `version`,
//! `command`), the question (`parameters`), and the limits of the answer (`fresh`, `pending`,
//! `total`, `shown`). Then the rows follow, and finally the errors and the digest of everything
//! before ([`crate::seal`]). Each row is written on its own line. So `grep` and `diff` work on the
//! document, and a million pairs can be written without a million rows in memory. `jsonl` lacks the
//! brackets and the digest: it is the header object, then one row per line, then `{"error":…}`
//! lines.
//!
//! This module is in this crate because the daemon must write the same bytes as
//! `resemble find FILE --format json`. These bytes are the content of `.similar/.report.json`.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use crate::message::{
    Answer, FindRow, Header, MeasureUnit, PairOrder, PairRelation, PairScore, SoftError,
};
use crate::number::Fraction;
use crate::path::PathText;
use crate::seal::{self, Sealing};

/// The name of the rows in a document, for example `"results"`, `"pairs"` or `"roots"`.
pub type RowsName = &'static str;

/// The first fields of a document.
#[derive(Clone, Debug, Serialize)]
pub struct Head<'a, P> {
    schema: u32,
    version: &'a str,
    command: &'a str,
    parameters: P,
    #[serde(flatten)]
    header: Header,
}

impl<'a, P: Serialize> Head<'a, P> {
    /// Creates the head of a document of `command` with these parameters.
    pub const fn new(command: &'a str, parameters: P, header: Header) -> Self {
        Self {
            schema: crate::SCHEMA,
            version: crate::VERSION,
            command,
            parameters,
            header,
        }
    }

    /// Creates the head of a document that a program of version `version` wrote.
    pub(crate) const fn saved(
        schema: u32,
        version: &'a str,
        command: &'a str,
        parameters: P,
        header: Header,
    ) -> Self {
        Self {
            schema,
            version,
            command,
            parameters,
            header,
        }
    }
}

/// The `parameters` of a find document.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FindParameters {
    /// The files, as the user named them.
    pub files: Vec<PathText>,
    /// `--in`, as the user named it; empty: the daemon's roots.
    #[serde(rename = "in")]
    pub within: Vec<PathText>,
    /// The unit of the measures.
    #[serde(default)]
    pub unit: MeasureUnit,
    /// True if rows that the listing rule drops are included.
    #[serde(default)]
    pub all: bool,
    /// The relations of the rows, if some were requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relation: Vec<PairRelation>,
    /// The common parameters of all questions about similar files.
    #[serde(flatten)]
    pub common: CommonParameters,
}

/// The `parameters` of a pairs document.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairsParameters {
    /// The directories, as the user named them.
    pub dirs: Vec<PathText>,
    /// The score with which `min` is compared.
    pub score: PairScore,
    /// The unit of the measures.
    #[serde(default)]
    pub unit: MeasureUnit,
    /// True if each pair of several identical files has a row.
    #[serde(default)]
    pub all: bool,
    /// The relations of the rows, if some were requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relation: Vec<PairRelation>,
    /// The order of rows.
    #[serde(default, skip_serializing_if = "PairOrder::is_score")]
    pub order: PairOrder,
    /// The common parameters of all questions about similar files.
    #[serde(flatten)]
    pub common: CommonParameters,
}

/// The common parameters of all questions about similar files.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommonParameters {
    /// The least score; `null` if none was requested.
    pub min: Fraction,
    /// The least number of shared bytes.
    pub min_shared: u64,
    /// The least size of a file.
    pub min_size: u64,
    /// Globs of files that take part.
    pub include: Vec<String>,
    /// Globs of files that do not take part.
    pub exclude: Vec<String>,
    /// The maximum number of rows; `null` if there is no limit.
    pub top: Option<u64>,
    /// True if the measures were computed from the bytes, not estimated.
    pub exact: bool,
    /// The id of the parameters of chunking and sampling.
    pub params: String,
}

impl CommonParameters {
    /// The default minimum of the shared bytes of two files that have a relation.
    pub const MIN_SHARED: u64 = 256;

    /// Returns the default parameters, for an index with `params`.
    pub fn plain(params: &resemble_core::Params) -> Self {
        Self {
            min: Fraction::NONE,
            min_shared: Self::MIN_SHARED,
            min_size: 0,
            include: Vec::new(),
            exclude: Vec::new(),
            top: None,
            exact: false,
            params: params.to_string(),
        }
    }
}

/// Writes an entire document that has a single list.
pub fn write_json<P: Serialize, R: Serialize>(
    out: &mut dyn Write,
    head: &Head<'_, P>,
    name: RowsName,
    rows: impl IntoIterator<Item = R>,
    errors: &[SoftError],
) -> io::Result<()> {
    let mut document = Writer::open(out, head)?;
    document.begin(name)?;
    for row in rows {
        document.row(&row)?;
    }
    document.end()?;
    document.close(errors)
}

/// Writes a value on its own line.
pub fn json_line<T: Serialize>(out: &mut dyn Write, value: &T) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

/// Writes `{"error":…}` on its own line.
pub fn write_error_line(out: &mut dyn Write, error: &SoftError) -> io::Result<()> {
    #[derive(Serialize)]
    struct ErrorLine<'a> {
        error: &'a SoftError,
    }
    json_line(out, &ErrorLine { error })
}

/// A document that is being written: first the head, then the lists with each row on its own line,
/// then the errors.
pub(crate) struct Writer<'a> {
    out: Sealing<'a>,
    rows: bool,
}

impl<'a> Writer<'a> {
    /// Writes the head, which must be a JSON object with at least one field.
    pub(crate) fn open(out: &'a mut dyn Write, head: &impl Serialize) -> io::Result<Self> {
        let head = serde_json::to_vec(head)?;
        let mut out = Sealing::new(out);
        // Leaves out the closing brace, so that the lists can follow.
        out.write_all(&head[..head.len() - 1])?;
        Ok(Self { out, rows: false })
    }

    fn begin(&mut self, name: &str) -> io::Result<()> {
        self.rows = false;
        write!(self.out, ",\"{name}\":[")
    }

    fn row<R: Serialize>(&mut self, row: &R) -> io::Result<()> {
        self.out.write_all(if self.rows { b",\n" } else { b"\n" })?;
        self.rows = true;
        serde_json::to_writer(&mut self.out, row)?;
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        self.out.write_all(if self.rows { b"\n]" } else { b"]" })
    }

    /// Writes the errors and the digest. They end the document.
    pub(crate) fn close(mut self, errors: &[SoftError]) -> io::Result<()> {
        self.out.write_all(b",\"errors\":")?;
        serde_json::to_writer(&mut self.out, errors)?;
        self.out.seal(seal::JSON)
    }
}

/// Receives the lists of a body one after another.
pub trait Lists {
    /// Receives a list: its name in the document, the word for one of its rows, and its rows.
    fn list<R: Serialize>(&mut self, name: &str, word: &'static str, rows: &[R]) -> io::Result<()>;
}

impl Lists for Writer<'_> {
    fn list<R: Serialize>(&mut self, name: &str, _: &'static str, rows: &[R]) -> io::Result<()> {
        self.begin(name)?;
        rows.iter().try_for_each(|row| self.row(row))?;
        self.end()
    }
}

/// Returns the output of `resemble find FILE --format json` for a file. `answer` must be about the
/// entire index. The result is also the content of the overlay's `.report.json`. If the answer is
/// cut, the output is the same as with `--top`.
pub fn find_json(
    file: &PathText,
    answer: &Answer<FindRow>,
    params: &resemble_core::Params,
) -> Vec<u8> {
    let parameters = FindParameters {
        unit: MeasureUnit::default(),
        relation: Vec::new(),
        all: false,
        files: vec![file.clone()],
        within: Vec::new(),
        common: CommonParameters {
            top: (answer.header.shown < answer.header.total).then_some(answer.header.shown),
            ..CommonParameters::plain(params)
        },
    };
    let head = Head::new("find", parameters, answer.header.clone());
    let mut out = Vec::new();
    match write_json(&mut out, &head, "results", &answer.rows, &answer.errors) {
        Ok(()) => out,
        // This is unreachable: writing to memory does not fail, and rows are maps with text keys.
        Err(error) => format!("{{\"errors\":[\"{error}\"]}}\n").into_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Discount, Layer, Newer, SoftErrorKind};
    use resemble_core::{Params, Relation};

    fn row(path: &str) -> FindRow {
        FindRow {
            owner: None,
            first_seen: None,
            file: "/a".into(),
            path: path.into(),
            relation: Some(Relation::Near),
            unit: MeasureUnit::Words,
            layer: Layer::Bytes,
            estimate: false,
            a_in_b: Fraction::from_millionths(970_000),
            b_in_a: Fraction::NONE,
            resemblance: Fraction::from_millionths(1),
            shared_bytes: 4096,
            interval: None,
            differs: None,
            numbers: None,
            document_date: None,
            age: Newer::default(),
            discount: Discount::default(),
        }
    }

    #[test]
    fn a_find_document() {
        let error = SoftError {
            path: "/x".into(),
            kind: SoftErrorKind::Unreadable,
            message: "Permission denied".into(),
        };
        let answer = Answer::fresh(vec![row("/b"), row("/c\n")], vec![error]);
        let text = String::from_utf8(find_json(&"/a".into(), &answer, &Params::default())).unwrap();
        let expected = concat!(
            r#"{"schema":1,"version":"0.1.0","command":"find","#,
            r#""parameters":{"files":["/a"],"in":[],"#,
            r#""unit":"words","all":false,"min":null,"min_shared":256,"min_size":0,"include":[],"#,
            r#""exclude":[],"top":null,"#,
            r#""exact":false,"params":"#,
            r#""tttd-460-2800-540-270.w64-l5-128-128.s5-l3-64-96.p3-1408-131072.v9"},"#,
            r#""fresh":true,"pending":0,"total":2,"shown":2,"results":["#,
            "\n",
            r#"{"file":"/a","path":"/b","relation":"near","unit":"words","layer":"bytes","#,
            r#""estimate":false,"a_in_b":0.970000,"#,
            r#""b_in_a":null,"resemblance":0.000001,"shared_bytes":4096},"#,
            "\n",
            r#"{"file":"/a","path":"/c\n","relation":"near","unit":"words","layer":"bytes","#,
            r#""estimate":false,"a_in_b":0.970000,"#,
            r#""b_in_a":null,"resemblance":0.000001,"shared_bytes":4096}"#,
            "\n",
            r#"],"errors":[{"path":"/x","kind":"unreadable","message":"Permission denied"}]"#,
        );
        let (document, digest) = text.rsplit_once(',').unwrap();
        assert_eq!(document, expected.replace("0.1.0", crate::VERSION));
        assert!(digest.starts_with(r#""digest":""#), "{digest}");
        assert_eq!(seal::JSON.check(text.as_bytes()), Ok(()));
    }

    #[test]
    fn an_empty_document() {
        let answer = Answer::<FindRow>::fresh(Vec::new(), Vec::new());
        let text = find_json(&"/a".into(), &answer, &Params::default());
        let value: serde_json::Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(value["results"], serde_json::json!([]));
        assert_eq!(value["errors"], serde_json::json!([]));
        assert_eq!(seal::JSON.check(&text), Ok(()));
    }
}
