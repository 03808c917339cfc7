//! `resemble check`: is what is about to be written or committed a near-copy of something that is
//! there?
//!
//! A question of `find` for each file, of which only rows stay whose larger share, common text left
//! out, is at least `--min`, and which are not the file itself.

mod baseline;
mod git;
mod subjects;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use resemble_core::Params;
use resemble_proto::documents::Document;
use resemble_proto::message::{FindOptions, FindRow, MeasureUnit, Scope, Whole};
use resemble_proto::path::PathText;
use resemble_proto::places::Env;
use resemble_query::find::{Incoming, read_with_parts};
use resemble_relate::AskError;
use resemble_relate::prove::extracted::way;
use resemble_relate::prove::read::bytes_of;
use resemble_report::document::Extras;
use resemble_report::human::counted;
use resemble_report::near_copies::{
    CheckParameters, CheckRow, NearCopies, write_github, write_sarif, write_sentences,
};
use resemble_report::quote::quoted;
use resemble_scan::parts::PartReader;

use self::baseline::{Baseline, pair_of};
use self::git::WorkTree;
use self::subjects::CheckedFiles;
use crate::args::{Answering, CheckArgs, CheckFormat, Global};
use crate::backend::{Backend, Sought, formats, subject_error};
use crate::error::{CliError, CliResult};
use crate::names::{self, Named};
use crate::question::{self, Asked, Verb};
use crate::ui::Ui;

/// Contents up to this size are sent to a daemon with the question, which can then measure them.
const MOST_SENT: u64 = 4 << 20;

pub(super) fn run(ui: &mut Ui, env: &Env, global: &Global, args: &CheckArgs) -> CliResult {
    if args.name.is_some() && args.files.len() != 1 {
        return Err(CliError::Usage("--name is for one FILE".to_owned()));
    }
    let files = names::with_list(&args.files, None, false)?;
    let baseline = args.baseline.as_deref();
    let baseline = baseline
        .map(|path| Baseline::read(path, args.accept))
        .transpose()?;
    let tree = match WorkTree::here() {
        Err(error) if args.staged => {
            let why = format!("--staged needs a work tree of git: {error}");
            return Err(CliError::Usage(why));
        }
        tree => tree.ok(),
    };
    let mut checked = match &tree {
        Some(tree) if args.staged => CheckedFiles::staged(tree)?,
        _ => CheckedFiles::given(&files, args.name.as_deref())?,
    };
    let among = tree.as_ref().filter(|_| args.within.is_empty());
    let mut asked = match among {
        Some(tree) => Asked::among(std::slice::from_ref(&tree.root)),
        None => Asked::within(&args.within),
    };
    asked.missing.append(&mut checked.errors);
    // What cannot be read of a file that is checked is missing in the answer.
    asked.looked_at = checked
        .files
        .iter()
        .map(|file| file.shown.clone())
        .collect();
    if checked.files.is_empty() {
        asked.anything = false;
        if args.staged {
            ui.note("nothing is staged");
        }
    } else {
        asked = asked.or_here(ui, env, global);
    }
    let check = Check {
        args,
        env,
        global,
        files,
        listed: among.map(WorkTree::files).transpose()?,
        root: among.map(|tree| tree.root.clone()),
        checked,
        baseline,
    };
    question::run(ui, env, global, &asked.only_about(0), check)
}

struct Check<'a> {
    args: &'a CheckArgs,
    env: &'a Env,
    global: &'a Global,
    files: Vec<PathBuf>,
    /// The work tree that is looked in, and its files.
    root: Option<PathBuf>,
    listed: Option<HashSet<PathBuf>>,
    checked: CheckedFiles,
    baseline: Option<Baseline>,
}

impl Check<'_> {
    fn options(&self, within: Vec<PathText>) -> FindOptions {
        FindOptions {
            scope: Scope {
                within,
                exclude: self.args.exclude.clone(),
                ..Scope::default()
            },
            min: self.args.min,
            min_shared: None,
            // The listing rule has thresholds of its own; the score alone decides here.
            all: true,
            top: None,
            exact: false,
            unit: self.args.layer.unit(MeasureUnit::Words),
            text: self.args.layer.is_on(),
        }
    }

    /// What resembles a file among those of `within`, which are the copies of all or not.
    fn ask_about(
        &mut self,
        number: usize,
        backend: &mut Backend,
        within: Vec<PathText>,
        are_copies: bool,
    ) -> CliResult<Whole<Vec<CheckRow>>> {
        let options = self.options(within);
        let file = &mut self.checked.files[number];
        let shown = file.shown.clone();
        let copy = Named {
            shown: shown.as_path().to_owned(),
            real: file.copy.clone(),
        };
        let mut all = Whole::fresh();
        let read = match read(&copy.real, backend.params(), options.text) {
            Ok(read) => read,
            Err(error) => {
                all.errors.push(subject_error(&copy, error));
                return Ok(all);
            }
        };
        file.digest = Some(read.digest.content);
        let sought = match read.bytes {
            Some(_) => Sought::Stdin(Box::new(read)),
            None => Sought::File(copy),
        };
        match backend.find(&sought, &shown, &options)? {
            Ok(answer) => {
                all.header = answer.header;
                all.errors = answer.errors;
                for row in answer.body.results {
                    all.body.extend(self.row(number, row, are_copies));
                }
            }
            Err(error) => all.errors.push(error),
        }
        let copy = &self.checked.files[number].copy;
        for error in &mut all.errors {
            if error.path.as_path() == copy {
                error.path = shown.clone();
            }
        }
        Ok(all)
    }

    /// The row of what was found, if it counts.
    fn row(&self, number: usize, found: FindRow, is_copy: bool) -> Option<CheckRow> {
        let row = CheckRow::of(found);
        let real = row.found.path.as_path();
        let (file, _) = way(real);
        let is_there = if is_copy {
            // Of two that are staged the later one is the copy.
            self.checked
                .number_of(real)
                .is_some_and(|other| other < number)
        } else {
            let is_listed = self
                .listed
                .as_ref()
                .is_none_or(|listed| listed.contains(file));
            is_listed && !self.checked.is_own(number, file)
        };
        (is_there && row.score >= self.args.min).then_some(row)
    }

    /// Leaves accepted pairs out, or accepts all.
    fn settle(
        &mut self,
        ui: &mut Ui,
        params: &Params,
        rows: &mut Vec<(usize, CheckRow)>,
    ) -> CliResult<()> {
        let (Some(baseline), Some(path)) = (&mut self.baseline, &self.args.baseline) else {
            return Ok(());
        };
        for (number, row) in &mut *rows {
            let (file, _) = way(row.found.path.as_path());
            let there = read_with_parts(file, params, None).ok();
            let ours = self.checked.files[*number].digest.as_ref();
            row.pair = ours
                .zip(there)
                .map(|(ours, there)| pair_of(ours, &there.digest.content));
        }
        let is_accepted = |row: &CheckRow| row.pair.as_ref().is_some_and(|pair| baseline.has(pair));
        rows.retain(|(_, row)| !is_accepted(row));
        if !self.args.accept {
            return Ok(());
        }
        let before = rows.len();
        for (_, row) in rows.extract_if(.., |(_, row)| row.pair.is_some()) {
            if let Some(pair) = row.pair {
                let names = [&row.found.file, &row.found.path].map(|name| quoted(name.as_path()));
                baseline.add(pair, names.join(" "));
            }
        }
        baseline.write(path)?;
        ui.note(&format!(
            "{} accepted",
            counted((before - rows.len()) as u64, "pair")
        ));
        Ok(())
    }
}

/// Reads a file that is checked.
fn read(path: &Path, params: &Params, text: bool) -> Result<Incoming, AskError> {
    let formats = formats(text);
    let part_reader = formats.as_ref().map(|formats| formats as &dyn PartReader);
    let mut read = read_with_parts(path, params, part_reader)?;
    if read.digest.size.0 <= MOST_SENT {
        read.bytes = Some(bytes_of(path)?);
    }
    Ok(read)
}

impl Verb for Check<'_> {
    type Body = NearCopies;

    fn answering(&self) -> Answering {
        self.args.layer.answering(&self.args.answering)
    }

    fn is_refreshed(&self) -> bool {
        false
    }

    fn ask(
        &mut self,
        ui: &mut Ui,
        backend: &mut Backend,
        asked: &Asked,
    ) -> CliResult<Whole<NearCopies>> {
        let mut within = asked.scope();
        if let Some(listed) = self.listed.as_ref().filter(|_| !backend.is_daemon()) {
            // This process need not read what git ignores.
            within = listed.iter().map(|path| path.as_path().into()).collect();
            within.sort();
        }
        backend.refresh(ui, &within)?;
        let mut all = Whole::<NearCopies>::fresh();
        let mut rows = Vec::new();
        for number in 0..self.checked.files.len() {
            let answer = self.ask_about(number, backend, within.clone(), false)?;
            all.header = all.header.and(answer.header);
            all.errors.extend(answer.errors);
            rows.extend(answer.body.into_iter().map(|row| (number, row)));
        }
        if self.args.staged && self.checked.files.len() > 1 {
            let copies = Asked::among(&[self.checked.folder().to_owned()]);
            let global = Global {
                local: true,
                ..self.global.clone()
            };
            let answering = Answering {
                no_cache: true,
                ..self.answering()
            };
            let mut backend = copies.open(ui, self.env, &global, &answering)?;
            for number in 0..self.checked.files.len() {
                let answer = self.ask_about(number, &mut backend, copies.scope(), true)?;
                rows.extend(answer.body.into_iter().map(|row| (number, row)));
            }
        }
        self.settle(ui, backend.params(), &mut rows)?;
        rows.sort_by(|(a, one), (b, other)| (a, other.score).cmp(&(b, one.score)));
        for (number, mut row) in rows {
            row.found.path = self.shown_path(&row.found.path, asked);
            row.found.file = self.shown_file(number);
            all.body.results.push(row);
        }
        all.header.total = all.body.results.len() as u64;
        all.header.shown = all.header.total;
        Ok(all)
    }

    fn show(&self, _: &mut NearCopies, _: &Asked) {}

    fn parameters(&self, _: &Asked, params: &Params) -> CheckParameters {
        CheckParameters {
            files: names::as_given(&self.files),
            staged: self.args.staged,
            within: names::as_given(&self.args.within),
            min: self.args.min,
            exclude: self.args.exclude.clone(),
            params: params.to_string(),
        }
    }

    fn output(&self) -> Option<&Path> {
        self.args.output.as_deref()
    }

    fn print(&self, ui: &mut Ui, document: &Document<NearCopies>, _: &Extras<'_>) -> CliResult<()> {
        let rows = &document.body.results;
        ui.write_data(|out| match self.args.format {
            CheckFormat::Text => write_sentences(out, rows),
            CheckFormat::Json => document.write_json(out),
            CheckFormat::Jsonl => document.write_jsonl(out),
            CheckFormat::Sarif => write_sarif(out, document),
            CheckFormat::Github => write_github(out, rows),
        })
    }

    fn nothing(&self, _: &NearCopies) -> &'static str {
        "no near-copy"
    }

    fn holds(&self, document: &Document<NearCopies>) -> bool {
        document.body.results.is_empty()
    }
}

impl Check<'_> {
    /// The path of a row: below the root of the work tree, or as the arguments lead to it.
    fn shown_path(&self, real: &PathText, asked: &Asked) -> PathText {
        if let Some(number) = self.checked.number_of(real.as_path()) {
            let checked = &self.checked.files[number];
            // What leads on into an archive.
            let rest = real.as_bytes().get(checked.copy.as_os_str().len()..);
            return PathText::from_bytes(
                [checked.shown.as_bytes(), rest.unwrap_or_default()].concat(),
            );
        }
        let root = self.root.as_ref();
        let below = root.and_then(|root| real.as_path().strip_prefix(root).ok());
        below.map_or_else(|| asked.shown(real), PathText::from)
    }

    /// The name of a file that is checked. Services want it below the root of the work tree.
    fn shown_file(&self, number: usize) -> PathText {
        let file = &self.checked.files[number];
        let is_of_service = matches!(self.args.format, CheckFormat::Sarif | CheckFormat::Github);
        let root = self.root.as_ref().filter(|_| is_of_service);
        let below = root.and_then(|root| file.place()?.strip_prefix(root).ok());
        below.map_or_else(|| file.shown.clone(), PathText::from)
    }
}
