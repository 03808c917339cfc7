//! `resemble groups --review`: shows the clusters one by one. The user marks the clusters whose
//! members have only boilerplate in common, such as the frame of a form.
//!
//! The text that the members of a marked cluster share becomes a template, as with
//! `templates mark`. Later clusters, in this run and in future ones, are computed without it.

use std::collections::HashSet;
use std::io::{self, BufRead};

use resemble_arguments::{Global, GroupsArgs, RowOutput};
use resemble_proto::documents::GroupsDocument;
use resemble_proto::message::{
    Cluster, Groups, GroupsRequest, Header, MarkRequest, OnlyGroups, TemplateRow,
};
use resemble_proto::path::PathText;
use resemble_proto::places::Env;
use resemble_report::text;

use super::groups::{Grouping, parameters, question, request};
use crate::backend::Backend;
use crate::commands::templates;
use crate::error::{CliError, CliResult, Outcome};
use crate::lists;
#[cfg(feature = "ui")]
use crate::names::{self, Named};
use crate::question::{QuestionPaths, Verb};
use crate::ui::Ui;

pub(super) fn run(ui: &mut Ui, env: &Env, global: &Global, args: &GroupsArgs) -> CliResult {
    let (asked, verb) = question(global, args)?;
    if !asked.anything {
        ui.soft_errors(&asked.missing);
        return Ok(Outcome::Incomplete);
    }
    let mut backend = asked.open(ui, env, global, &verb.answering())?;
    let mut review = Review {
        asked: &asked,
        verb: &verb,
        seen: HashSet::new(),
        lines: &mut io::stdin().lock().lines(),
    };
    while review.go_through(ui, &mut backend, args)? == Step::Again {}
    let any = !review.seen.is_empty();
    if !any {
        ui.note(lists::NOTHING);
    }
    ui.soft_errors(&asked.missing);
    ui.flush()?;
    backend.close(ui);
    Ok(Outcome::of(any).with_errors(!asked.missing.is_empty()))
}

/// The next step after an answer of the user.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Show the next cluster.
    Next,
    /// Compute the clusters again, because a template was marked.
    Again,
    End,
}

struct Review<'a> {
    asked: &'a QuestionPaths,
    verb: &'a Grouping<'a>,
    /// The ids of the clusters that were shown.
    seen: HashSet<String>,
    lines: &'a mut dyn Iterator<Item = io::Result<String>>,
}

impl Review<'_> {
    /// Shows the clusters that were not shown yet, until the user marks one or quits.
    fn go_through(
        &mut self,
        ui: &mut Ui,
        backend: &mut Backend,
        args: &GroupsArgs,
    ) -> CliResult<Step> {
        let request = GroupsRequest {
            only: OnlyGroups::Near,
            ..request(args, self.asked, None)
        };
        let clusters = backend.ask(ui, "grouping", request)?.body.clusters;
        let all = clusters.len();
        for (number, cluster) in (1..).zip(clusters) {
            if !self.seen.insert(cluster.id.clone()) {
                continue;
            }
            let files: Vec<PathText> = cluster.members.iter().map(|m| m.path.clone()).collect();
            self.show(ui, backend, args, cluster)?;
            match self.answer(ui, &format!("{number} of {all}"))? {
                Step::Next => {}
                Step::End => return Ok(Step::End),
                Step::Again => match mark(ui, backend, files) {
                    Ok(()) => return Ok(Step::Again),
                    Err(error) => ui.note(&format!("not marked: {error}")),
                },
            }
        }
        Ok(Step::End)
    }

    fn show(
        &self,
        ui: &mut Ui,
        backend: &Backend,
        args: &GroupsArgs,
        cluster: Cluster,
    ) -> CliResult<()> {
        let mut body = Groups {
            clusters: vec![cluster],
            ..Groups::default()
        };
        self.verb.show(&mut body, self.asked);
        let parameters = parameters(args, backend.params());
        let document = GroupsDocument::new(parameters, Header::default(), body, Vec::new());
        ui.print(|out| text::groups::print(out, &document))
    }

    /// Asks until the answer is valid.
    fn answer(&mut self, ui: &mut Ui, place: &str) -> CliResult<Step> {
        loop {
            ui.write(|out| {
                write!(out, "{place}: t template, Enter next, q quit? ")?;
                out.flush()
            })?;
            let Some(line) = self.lines.next() else {
                return Ok(Step::End);
            };
            match line.map_err(CliError::Input)?.trim() {
                "" => return Ok(Step::Next),
                "t" => return Ok(Step::Again),
                "q" => return Ok(Step::End),
                _ => {}
            }
        }
    }
}

/// Marks as a template the text that these files share.
fn mark(ui: &mut Ui, backend: &mut Backend, files: Vec<PathText>) -> CliResult<()> {
    let marked = marked(ui, backend, files)?;
    templates::print(ui, &RowOutput::default(), &marked)?;
    if let Some(template) = marked.first() {
        ui.note(&undo(template));
    }
    Ok(())
}

/// Marks as a template the text that the files of one cluster share. Returns the command that
/// removes the mark.
#[cfg(feature = "ui")]
pub(super) fn mark_shared(
    ui: &mut Ui,
    env: &Env,
    global: &Global,
    args: &GroupsArgs,
    files: &[PathText],
) -> CliResult<String> {
    let files = files
        .iter()
        .map(|file| names::required_here(file.as_path()));
    let files: Vec<Named> = files.collect::<CliResult<_>>()?;
    let (asked, verb) = question(global, args)?;
    let mut backend = asked.open(ui, env, global, &verb.answering())?;
    let marked = marked(ui, &mut backend, names::real_paths(&files))?;
    backend.close(ui);
    Ok(marked.first().map(undo).unwrap_or_default())
}

fn marked(ui: &mut Ui, backend: &mut Backend, files: Vec<PathText>) -> CliResult<Vec<TemplateRow>> {
    let request = MarkRequest {
        files,
        ..MarkRequest::default()
    };
    Ok(backend.ask(ui, "comparing", request)?.body)
}

fn undo(template: &TemplateRow) -> String {
    format!("`resemble templates unmark {}` takes it back", template.id)
}
