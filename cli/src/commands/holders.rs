//! `resemble find --holders`: lists every file that contains some of a FILE's content.
//!
//! The daemon or the cache nominates candidates. This process reads the candidates, with the rights
//! of its user. It keeps those whose bytes prove that they contain some of the content. So the
//! daemon and `--local` give the same rows.

use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use resemble_arguments::{Answering, FindArgs, Global, ListAs, RowOutput};
use resemble_core::Params;
use resemble_proto::documents::Document;
use resemble_proto::list_body;
use resemble_proto::message::{Header, HolderRow, MeasureUnit, Whole};
use resemble_proto::path::PathText;
use resemble_proto::places::Env;
use resemble_proto::report::FindParameters;
use resemble_query::find::holders::{SearchedContent, prove};
use resemble_report::document::Extras;
use resemble_scan::ingest::Amount;
use resemble_scan::parts::PartReader;

use crate::backend::{Backend, formats, subject_error};
use crate::commands::common_parameters;
use crate::error::{CliError, CliResult, Outcome};
use crate::lists;
use crate::names::{self, Named};
use crate::owners::FileOwners;
use crate::question::{self, QuestionPaths, Verb};
use crate::ui::Ui;

pub(super) fn run(
    ui: &mut Ui,
    env: &Env,
    global: &Global,
    args: &FindArgs,
    files: &[PathBuf],
    print_as: ListAs,
) -> CliResult {
    let output = check(args, files, print_as)?;
    let mut asked = QuestionPaths::within(&args.within);
    if !asked.anything {
        ui.soft_errors(&asked.missing);
        return Ok(Outcome::Incomplete);
    }
    let (files, missing) = names::resolve(files);
    asked.missing.extend(missing);
    // The FILEs are scanned, too. So a hard link of a FILE is known to be the same file.
    asked.looked_at = names::real_paths(&files);
    if files.is_empty() {
        asked.anything = false;
    } else {
        asked = asked.or_here(ui, env, global);
    }
    let holding = Holding {
        args,
        files,
        output,
    };
    question::run(ui, env, global, &asked.only_about(0), holding)
}

struct Holding<'a> {
    args: &'a FindArgs,
    files: Vec<Named>,
    output: RowOutput,
}

list_body! {
    /// The files that hold some of the content, for one FILE after the other.
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[derive(Debug, Default)]
    pub(super) struct Holders {
        holders: Vec<HolderRow>,
    } of "find", FindParameters
}

impl Verb for Holding<'_> {
    type Body = Holders;

    fn answering(&self) -> Answering {
        self.args.layer.answering(&self.args.answering)
    }

    fn ask(
        &mut self,
        ui: &mut Ui,
        backend: &mut Backend,
        asked: &QuestionPaths,
    ) -> CliResult<Whole<Holders>> {
        let selection = &self.args.selection;
        let formats = formats(self.args.layer.is_on());
        let part_reader = formats.as_ref().map(|formats| formats as &dyn PartReader);
        let scope = selection.scope(asked.scope());
        let mut found = Whole::<Holders>::fresh();
        for file in &self.files {
            let sought = match SearchedContent::read(&file.real, backend.params(), part_reader) {
                Ok(sought) => sought,
                Err(error) => {
                    found.errors.push(subject_error(file, error));
                    continue;
                }
            };
            let answer = backend.holders(&sought, &file.real, &scope, !self.args.quick)?;
            found.errors.extend(answer.errors);
            let all = Amount {
                files: answer.body.len() as u64,
                bytes: 0,
            };
            let progress = Mutex::new((ui.progress("reading the candidates"), Amount::default()));
            let (mut rows, unread) = prove(
                &sought,
                answer.body,
                selection.min_shared,
                part_reader,
                &|read| {
                    let (shown, done) = &mut *progress.lock();
                    done.files += read as u64;
                    shown.update(*done, Some(all));
                },
            );
            drop(progress);
            found.errors.extend(unread);
            let total = rows.len() as u64;
            rows.truncate(selection.top.map_or(usize::MAX, |top| top as usize));
            // The number of rows is known only after the candidates were read, so the header is
            // corrected here.
            found.header = found.header.and(Header {
                total,
                shown: rows.len() as u64,
                looked: None,
                ..answer.header
            });
            for row in &mut rows {
                row.file = PathText::from(file.shown.as_path());
            }
            found.body.holders.extend(rows);
        }
        Ok(found)
    }

    /// Also adds the owners. They are looked up here, where the rows still have the real paths.
    fn show(&self, body: &mut Holders, asked: &QuestionPaths) {
        let mut owners = FileOwners::default();
        for row in &mut body.holders {
            row.owner = owners.of(&row.container);
            for path in [&mut row.path, &mut row.container, &mut row.root] {
                *path = asked.shown(path);
            }
        }
    }

    fn parameters(&self, _: &QuestionPaths, params: &Params) -> FindParameters {
        let files = self.files.iter();
        FindParameters {
            files: files
                .map(|file| PathText::from(file.shown.as_path()))
                .collect(),
            within: names::as_given(&self.args.within),
            unit: self.args.layer.unit(self.args.measuring.unit),
            all: self.args.all,
            relation: Vec::new(),
            common: common_parameters(&self.args.selection, true, params),
        }
    }

    fn output(&self) -> Option<&Path> {
        self.output.output.as_deref()
    }

    fn print(&self, ui: &mut Ui, document: &Document<Holders>, _: &Extras<'_>) -> CliResult<()> {
        lists::print_document(ui, &self.output, document, self.files.len() > 1)
    }

    fn top(&self) -> Option<u64> {
        self.args.selection.top
    }
}

fn check(args: &FindArgs, files: &[PathBuf], print_as: ListAs) -> CliResult<RowOutput> {
    let refuse = |text: &str| Err(CliError::Usage(text.to_owned()));
    if files.iter().any(|file| file == Path::new("-")) {
        return refuse("--holders needs files: standard input cannot be read again");
    }
    if args.measuring.unit != MeasureUnit::default() || args.selection.min.is_some() {
        return refuse(
            "--holders counts bytes: --unit and --min are for scores; --min-shared bounds the rows",
        );
    }
    match print_as {
        ListAs::Rows(output) => Ok(output),
        ListAs::Report(_) => refuse("--holders prints text, json, jsonl, csv and tsv"),
    }
}
