//! `resemble check`: finds near-copies of files that are about to be written or committed.
//!
//! It asks one `find` question for each file. A row has two shares. If the larger one is at least
//! `--min`, the row is kept, unless it is about the checked file itself. Text that is common to
//! many files does not count.

mod baseline;
mod git;
mod subjects;

use std::collections::{BTreeMap, HashSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use resemble_arguments::{Answering, CheckArgs, CheckFormat, Global};
use resemble_core::Params;
use resemble_proto::documents::Document;
use resemble_proto::message::{
    DatedBy, FindOptions, FindRow, MeasureUnit, Newer, Scope, SoftError, Whole,
};
use resemble_proto::path::PathText;
use resemble_proto::places::Env;
use resemble_query::find::{Stream, read_with_parts};
use resemble_query::local::LocalError;
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
use crate::backend::{Backend, FindSubject, formats, subject_error};
use crate::error::{CliError, CliResult};
use crate::names::{self, Named};
use crate::new_file::is_replacement;
use crate::question::{self, QuestionPaths, Verb};
use crate::ui::Ui;

pub(super) fn run(ui: &mut Ui, env: &Env, global: &Global, args: &CheckArgs) -> CliResult {
    if args.name.is_some() && args.files.len() != 1 {
        return Err(CliError::Usage("--name is for one FILE".to_owned()));
    }
    let files = names::with_list(&args.files, None, false)?;
    let baseline = match &args.baseline {
        Some(path) => Some(Baseline::read(path, args.accept)?),
        None => None,
    };
    let tree = match WorkTree::here() {
        Err(error) if args.staged => {
            let why = format!("--staged needs a work tree of git: {error}");
            return Err(CliError::Usage(why));
        }
        tree => tree.ok(),
    };
    let mut checked = match &tree {
        Some(tree) if args.staged => CheckedFiles::staged(tree)?,
        _ => CheckedFiles::given(&files, args.name.as_deref(), tree.as_ref())?,
    };
    let root = tree.as_ref().map(|tree| tree.0.clone());
    let tree = tree.filter(|_| args.within.is_empty());
    let mut asked = match &tree {
        Some(tree) => QuestionPaths::among(std::slice::from_ref(&tree.0)),
        None => QuestionPaths::within(&args.within),
    };
    asked.missing.append(&mut checked.errors);
    // The checked files are added to `looked_at`. So the answer counts as incomplete if a part of a
    // checked file cannot be read.
    let shown = checked.files.iter().map(|file| file.shown.clone());
    asked.looked_at = shown.collect();
    if checked.files.is_empty() {
        asked.anything = false;
        if args.staged {
            ui.note(if checked.replaced.is_empty() {
                "nothing is staged"
            } else {
                "no regular file is staged; only regular files are checked"
            });
        }
    } else {
        asked = asked.or_here(ui, env, global);
    }
    let check = NearCopyQuestion {
        args,
        env,
        global,
        files,
        tree,
        root,
        checked,
        baseline,
    };
    question::run(ui, env, global, &asked.only_about(0), check)
}

struct NearCopyQuestion<'a> {
    args: &'a CheckArgs,
    env: &'a Env,
    global: &'a Global,
    files: Vec<PathBuf>,
    /// The work tree of git in which copies are searched for.
    tree: Option<WorkTree>,
    /// The root of the work tree. In rows, the names of files below this root are relative to it.
    root: Option<PathBuf>,
    checked: CheckedFiles,
    baseline: Option<Baseline>,
}

impl NearCopyQuestion<'_> {
    fn options(&self, within: Vec<PathText>) -> FindOptions {
        FindOptions {
            scope: Scope {
                within,
                exclude: self.args.exclude.clone(),
                ..Scope::default()
            },
            min: self.args.min,
            min_shared: None,
            relation: Vec::new(),
            // `check` decides by the score alone, so the thresholds that `find` has for its list
            // are turned off.
            all: true,
            top: None,
            exact: false,
            unit: self.args.layer.unit(MeasureUnit::Words),
            text: self.args.layer.is_on(),
        }
    }

    /// Reads a checked file, and returns it as the subject of a question.
    fn sought(&mut self, number: usize, params: &Params) -> Result<FindSubject, SoftError> {
        let formats = formats(self.args.layer.is_on());
        let part_reader = formats.as_ref().map(|formats| formats as &dyn PartReader);
        let file = &mut self.checked.files[number];
        let copy = Named {
            shown: file.shown.as_path().to_owned(),
            real: file.copy.clone(),
        };
        let read = || {
            let mut read = read_with_parts(&copy.real, params, part_reader)?;
            let is_sent = read.digest.size.0 <= Stream::FEW as u64;
            read.bytes = is_sent.then(|| bytes_of(&copy.real)).transpose()?;
            Ok(read)
        };
        let read = read().map_err(|error| subject_error(&copy, error))?;
        file.digest = Some(read.digest.content);
        Ok(match read.bytes {
            Some(_) => FindSubject::Stdin(Box::new(read)),
            None => FindSubject::File(copy),
        })
    }

    /// Adds the files below `within` that resemble a checked file. `are_copies` is true if `within`
    /// is the folder that has copies of the checked files.
    fn add(
        &self,
        number: usize,
        (sought, backend): (&FindSubject, &mut Backend),
        (within, are_copies): (Vec<PathText>, bool),
        all: &mut Whole<NearCopies>,
    ) -> CliResult<()> {
        let file = &self.checked.files[number];
        let answer = match backend.find(sought, &file.shown, &self.options(within))? {
            Ok(answer) => answer,
            Err(error) => {
                all.errors.push(error);
                return Ok(());
            }
        };
        let rows = answer.body.results.into_iter();
        let rows = rows.filter_map(|row| self.row(number, row, are_copies, backend.params()));
        all.body.results.extend(rows);
        if are_copies {
            return Ok(());
        }
        all.header = all.header.clone().and(answer.header);
        let errors = answer.errors.into_iter();
        let errors = errors.filter(|error| self.is_looked_at(error.path.as_path()));
        all.errors.extend(errors.map(|error| SoftError {
            path: if error.path.as_path() == file.copy {
                file.shown.clone()
            } else {
                error.path
            },
            ..error
        }));
        Ok(())
    }

    /// Returns whether a file can be a finding. The temporary file of a baseline that is just being
    /// written cannot be one.
    fn is_looked_at(&self, path: &Path) -> bool {
        let baseline = self.args.baseline.as_deref();
        !baseline.is_some_and(|baseline| is_replacement(path, baseline))
    }

    /// Returns the row of a found file, if the file is a finding.
    fn row(
        &self,
        number: usize,
        found: FindRow,
        is_copy: bool,
        params: &Params,
    ) -> Option<CheckRow> {
        let mut row = CheckRow::of(found);
        // The checked bytes were just copied into a file. The date of that copy is the present
        // time, so it must not make the checked file look newer.
        if row.found.age.newer_by == Some(DatedBy::File) {
            row.found.age = Newer::default();
        }
        let real = row.found.path.as_path();
        let (file, _) = way(real);
        // Of two similar staged files only the later one gets a row, as the copy.
        let is_there = if is_copy {
            self.checked.number_of(real) < Some(number)
        } else {
            !self.checked.is_own(number, file)
        };
        if !is_there || row.score < self.args.min || !self.is_looked_at(file) {
            return None;
        }
        if let (Some(_), Some(ours)) = (&self.baseline, &self.checked.files[number].digest) {
            let there = read_with_parts(file, params, None).ok();
            row.pair = there.map(|there| pair_of(ours, &there.digest.content));
        }
        Some(row)
    }

    /// Removes the rows of files in the work tree that git ignores.
    fn without_ignored(
        &self,
        listed: Option<HashSet<PathBuf>>,
        rows: &mut Vec<CheckRow>,
    ) -> CliResult<()> {
        let Some(tree) = self.tree.as_ref().filter(|_| !rows.is_empty()) else {
            return Ok(());
        };
        let is_checked = |path: &Path| self.checked.number_of(path).is_some();
        let mut listed = listed.unwrap_or_default();
        if listed.is_empty() {
            let paths = rows.iter().map(|row| row.found.path.as_path());
            let paths = paths.filter(|path| !is_checked(path));
            let paths: HashSet<&Path> = paths.map(|path| way(path).0).collect();
            // The length of a command line is limited, so git is asked about 256 paths at a time.
            for paths in Vec::from_iter(paths).chunks(256) {
                listed.extend(tree.files(paths)?);
            }
        }
        rows.retain(|row| {
            let path = row.found.path.as_path();
            is_checked(path) || listed.contains(way(path).0)
        });
        Ok(())
    }

    /// Removes the rows of pairs that the baseline accepts. With `--accept`, all other pairs are
    /// accepted, too.
    fn settle(&self, ui: &mut Ui, rows: &mut Vec<CheckRow>) -> CliResult<()> {
        let (Some(Baseline(pairs)), Some(path)) = (&self.baseline, &self.args.baseline) else {
            return Ok(());
        };
        let is_accepted = |pair: &String| pairs.contains_key(pair);
        rows.retain(|row| !row.pair.as_ref().is_some_and(is_accepted));
        if self.args.accept {
            let mut new = BTreeMap::new();
            rows.retain(|row| {
                let names = [&row.found.file, &row.found.path].map(|name| quoted(name.as_path()));
                let pair = row.pair.clone();
                pair.map(|pair| new.insert(pair, names.join(" "))).is_none()
            });
            let accepted = Baseline::add(new, path)?;
            ui.note(&format!("{} accepted", counted(accepted, "pair")));
        }
        Ok(())
    }
}

/// Returns the path that a scan did not find, if the error is about such a path.
fn vanished(error: &CliError) -> Option<&Path> {
    match error {
        CliError::Local(LocalError::Path { path, source })
            if source.kind() == ErrorKind::NotFound =>
        {
            Some(path)
        }
        _ => None,
    }
}

impl Verb for NearCopyQuestion<'_> {
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
        asked: &QuestionPaths,
    ) -> CliResult<Whole<NearCopies>> {
        let mut within = asked.scope();
        let mut listed = None;
        if let Some(tree) = self.tree.as_ref().filter(|_| !backend.is_daemon()) {
            // Git lists the files that it does not ignore. This process scans only these files.
            let files = listed.insert(tree.files(&[])?);
            files.retain(|path| self.is_looked_at(path));
            within = files.iter().map(|path| path.as_path().into()).collect();
            within.sort();
        }
        while let Err(error) = backend.refresh(ui, &within) {
            let gone = vanished(&error).filter(|_| listed.is_some());
            // A file that git has listed may vanish before the scan. Then the scan is repeated
            // without it.
            match gone.and_then(|gone| within.iter().position(|path| path.as_path() == gone)) {
                Some(at) => within.remove(at),
                None => return Err(error),
            };
        }
        let copies = QuestionPaths::among(&[self.checked.folder().to_owned()]);
        let count = self.checked.files.len();
        let mut of_copies = if self.args.staged && count > 1 {
            let global = Global {
                local: true,
                ..self.global.clone()
            };
            let answering = Answering {
                no_cache: true,
                ..self.answering()
            };
            Some(copies.open(ui, self.env, &global, &answering)?)
        } else {
            None
        };
        let mut all = Whole::<NearCopies>::fresh();
        for number in 0..count {
            let sought = match self.sought(number, backend.params()) {
                Ok(sought) => sought,
                Err(error) => {
                    all.errors.push(error);
                    continue;
                }
            };
            let among = (within.clone(), false);
            self.add(number, (&sought, backend), among, &mut all)?;
            if let Some(backend) = &mut of_copies {
                let among = (copies.scope(), true);
                self.add(number, (&sought, backend), among, &mut all)?;
            }
        }
        if self.tree.is_some() && listed.is_none() {
            // The daemon also compared files that git ignores, so the number of files that it
            // compared is left out.
            all.header.looked = None;
        }
        self.without_ignored(listed, &mut all.body.results)?;
        for row in &mut all.body.results {
            row.found.path = self.shown_path(&row.found.path, asked);
        }
        self.settle(ui, &mut all.body.results)?;
        all.header.total = all.body.results.len() as u64;
        all.header.shown = all.header.total;
        Ok(all)
    }

    fn show(&self, _: &mut NearCopies, _: &QuestionPaths) {}

    fn parameters(&self, _: &QuestionPaths, params: &Params) -> CheckParameters {
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

impl NearCopyQuestion<'_> {
    /// Returns the path that a row shows. A checked file has its own name, even if a copy of it was
    /// read. Other paths are relative to the root of the work tree, or begin as the arguments do.
    fn shown_path(&self, real: &PathText, asked: &QuestionPaths) -> PathText {
        if let Some(number) = self.checked.number_of(real.as_path()) {
            let checked = &self.checked.files[number];
            // A path that is longer than the path of the copy names a member of an archive.
            let rest = real.as_bytes().get(checked.copy.as_os_str().len()..);
            return PathText::from_bytes(
                [checked.shown.as_bytes(), rest.unwrap_or_default()].concat(),
            );
        }
        let root = self.root.as_ref();
        let below = root.and_then(|root| real.as_path().strip_prefix(root).ok());
        below.map_or_else(|| asked.shown(real), PathText::from)
    }
}
