//! `resemble versions`: lists the versions of one file by date.
//!
//! The versions are the files that `groups --of FILE --family` finds, but in one list. The named
//! file is the subject. Each version has a row that shows which share of it is in the subject. A
//! copy of the subject has a row, too. Copies of other versions are only counted.

use std::path::Path;

use resemble_arguments::{Answering, Global, VersionsArgs};
use resemble_core::Params;
use resemble_proto::clock::newest_of;
use resemble_proto::documents::Document;
use resemble_proto::list_body;
use resemble_proto::message::{Groups, GroupsRequest, StatedDate, Whole};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;
use resemble_proto::places::Env;
use resemble_report::document::Extras;
use resemble_report::rows::DatedVersion;
use serde::{Deserialize, Serialize};

use crate::backend::Backend;
use crate::error::{CliError, CliResult};
use crate::lists;
use crate::names::{self, Named};
use crate::question::{self, QuestionPaths, Verb};
use crate::ui::Ui;

pub(super) fn run(ui: &mut Ui, env: &Env, global: &Global, args: &VersionsArgs) -> CliResult {
    let mut missing = args.output.format.errors();
    let of = names::needed(&args.file, names::required, &mut missing)?;
    if of.real.is_dir() {
        return Err(CliError::Usage(format!(
            "{} is a directory; `resemble dirs` finds what resembles a directory",
            resemble_report::quote::quoted(&args.file)
        )));
    }
    let mut asked = QuestionPaths::within(&args.within).unless(missing);
    asked.looked_at.push(of.real.as_path().into());
    let mut asked = asked.or_here(ui, env, global).only_about(0);
    // A family is formed within the scope, so FILE is added to the scope if it lies elsewhere.
    let mut roots = asked.named.iter();
    if !asked.named.is_empty() && !roots.any(|root| of.real.starts_with(&root.real)) {
        asked.named.push(of.clone());
    }
    asked.also.push(of.clone());
    question::run(ui, env, global, &asked, Family { args, of })
}

struct Family<'a> {
    args: &'a VersionsArgs,
    of: Named,
}

/// The parameters of the question, for documents.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct FamilyParameters {
    file: PathText,
    #[serde(rename = "in")]
    within: Vec<PathText>,
    params: String,
}

list_body! {
    /// The versions of the file, the oldest first.
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[derive(Debug, Default)]
    pub(super) struct FileVersions {
        versions: Vec<DatedVersion>,
    } of "versions", FamilyParameters
}

impl Verb for Family<'_> {
    type Body = FileVersions;

    fn answering(&self) -> Answering {
        self.args.layer.answering(&self.args.answering)
    }

    fn ask(
        &mut self,
        ui: &mut Ui,
        backend: &mut Backend,
        asked: &QuestionPaths,
    ) -> CliResult<Whole<FileVersions>> {
        let of = PathText::from(self.of.real.as_path());
        let mut request = GroupsRequest {
            of: Some(of.clone()),
            family: true,
            text: self.args.layer.is_on(),
            ..GroupsRequest::default()
        };
        request.scope.within = asked.scope();
        let groups = backend.ask(ui, "grouping", request)?;
        let mut answer = groups.map(|groups| FileVersions {
            versions: by_date(&groups, &of),
        });
        let rows = answer.body.versions.len() as u64;
        (answer.header.total, answer.header.shown) = (rows, rows);
        Ok(answer)
    }

    fn show(&self, body: &mut FileVersions, asked: &QuestionPaths) {
        for row in &mut body.versions {
            row.path = asked.shown(&row.path);
        }
    }

    fn parameters(&self, _: &QuestionPaths, params: &Params) -> FamilyParameters {
        FamilyParameters {
            file: PathText::from(self.args.file.as_path()),
            within: names::as_given(&self.args.within),
            params: params.to_string(),
        }
    }

    fn output(&self) -> Option<&Path> {
        self.args.output.output.as_deref()
    }

    fn print(
        &self,
        ui: &mut Ui,
        document: &Document<FileVersions>,
        _: &Extras<'_>,
    ) -> CliResult<()> {
        let title =
            "the larger share of one that is in the other, FILE or the version; oldest first:";
        lists::title_of_rows(ui, &self.args.output, title, document)?;
        lists::print_document(ui, &self.args.output, document, false)
    }

    fn nothing(&self, _: &FileVersions) -> &'static str {
        "no other version found"
    }
}

/// Makes a row for each content among the versions and for each copy of the subject, the oldest
/// first. Marks the newest version: see [`newest_of`].
fn by_date(groups: &Groups, of: &PathText) -> Vec<DatedVersion> {
    let members = groups.clusters.iter().flat_map(|cluster| &cluster.members);
    let mut rows: Vec<DatedVersion> = members
        .map(|member| DatedVersion {
            path: member.path.clone(),
            mtime: member.mtime,
            document_date: member.document_date.clone(),
            size: member.size,
            a_in_b: member.a_in_b,
            b_in_a: member.b_in_a,
            estimate: member.estimate,
            copies: member.copies,
            newest: false,
            older_than_held: member.older_than_held,
            identical: false,
            asked: false,
            by_stated: false,
        })
        .collect();
    for set in &groups.identical {
        let has_of = set.paths.contains(of);
        let known = rows.iter().position(|row| set.paths.contains(&row.path));
        let like = known.map(|at| rows.swap_remove(at));
        let whole = if has_of {
            Fraction::ONE
        } else {
            Fraction::default()
        };
        let date = like.as_ref().and_then(|row| row.document_date.clone());
        let older = like.as_ref().is_some_and(|row| row.older_than_held);
        let (there, back) = like.map_or((whole, whole), |row| (row.a_in_b, row.b_in_a));
        rows.extend(
            set.paths
                .iter()
                .zip(&set.mtimes)
                .map(|(path, mtime)| DatedVersion {
                    path: path.clone(),
                    mtime: *mtime,
                    document_date: date.clone(),
                    size: set.size,
                    a_in_b: there,
                    b_in_a: back,
                    estimate: false,
                    copies: 1,
                    newest: false,
                    older_than_held: older,
                    identical: has_of,
                    asked: false,
                    by_stated: false,
                }),
        );
    }
    let mut dates = rows.iter().map(|row| row.document_date.as_ref());
    let by_stated = dates.all(|date| date.is_some_and(StatedDate::is_past));
    for row in &mut rows {
        row.asked = row.path == *of;
        row.identical |= row.asked;
        row.by_stated = by_stated;
    }
    rows.sort_by(|one, other| (one.time(), &one.path).cmp(&(other.time(), &other.path)));
    let times: Vec<i64> = rows.iter().map(DatedVersion::time).collect();
    if let Some(at) = newest_of(&times) {
        rows[at].newest = true;
    }
    rows
}
