//! `resemble find`: lists the files similar to a file, or to standard input.
//!
//! Each FILE is a question of its own. The answers are printed in the order of the arguments, and
//! `--top` limits each answer. A FILE that cannot be read is a soft error: the questions about the
//! other FILEs are still answered.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use resemble_arguments::{Answering, FindArgs, Global, ListAs, RowFormat};
use resemble_core::{Params, Relation};
use resemble_proto::clock::newest_of;
use resemble_proto::documents::{FindDocument, SimilarFiles};
use resemble_proto::message::{
    DatedBy, FindOptions, FindRow, PairSide, Scope, SoftError, StatedDate, Whole, times_of,
};
use resemble_proto::path::PathText;
use resemble_proto::places::Env;
use resemble_proto::remote::is_remote;
use resemble_proto::report::FindParameters;
use resemble_relate::parallel::watched;
use resemble_report::document::{Extras, Report};
use resemble_report::rows::DatedRow;

use crate::backend::{Backend, FindSubject, digest_stdin};
use crate::commands::{common_parameters, holders};
use crate::error::{CliError, CliResult};
use crate::lists;
use crate::names::{self, Named};
use crate::owners::{self, FileOwners};
use crate::question::{self, QuestionPaths, Verb};
use crate::ui::Ui;

pub(super) fn run(ui: &mut Ui, env: &Env, global: &Global, args: &FindArgs) -> CliResult {
    let print_as = args.output.checked("find")?;
    let is_remote = global.socket.as_deref().is_some_and(is_remote);
    if is_remote {
        not_elsewhere(args)?;
    }
    let files = all_files(args)?;
    if args.holders {
        return holders::run(ui, env, global, args, &files, print_as);
    }
    let mut asked = QuestionPaths::within(&args.within);
    let mut subjects = Vec::with_capacity(files.len());
    // If every directory of --in is missing, there is nothing to ask about any FILE.
    for file in files.iter().filter(|_| asked.anything) {
        match FileArgument::of(file, args) {
            Ok(subject) => subjects.push((PathText::from(file.as_path()), subject)),
            Err(error) => asked.missing.push(error),
        }
    }
    let on_disk = subjects.iter().filter_map(|(_, subject)| match subject {
        FileArgument::Named(sought) => sought.file(),
        FileArgument::Stdin => None,
    });
    asked.looked_at.extend(on_disk);
    if subjects.is_empty() {
        // No FILE can be read, or no directory of --in exists, so no question is asked.
        asked.anything = false;
    } else {
        asked = asked.or_here(ui, env, global);
    }
    let find = Find {
        args,
        files,
        subjects,
        has_owners: owners::are_shown(global, print_as.is_json()),
        print_as,
        is_remote,
    };
    question::run(ui, env, global, &asked.only_about(0), find)
}

struct Find<'a> {
    args: &'a FindArgs,
    /// All FILE arguments, including those from `--files-from`.
    files: Vec<PathBuf>,
    /// The arguments that name a file, a member or standard input, each with its name as given.
    subjects: Vec<(PathText, FileArgument)>,
    print_as: ListAs,
    /// True if the rows name files of another machine.
    is_remote: bool,
    /// True if the rows show the owners of the files.
    has_owners: bool,
}

impl Find<'_> {
    /// Returns the size and the date of the file of a row, if the file is on this machine.
    fn file_at(&self, path: &PathText) -> Option<(u64, i64)> {
        let meta = std::fs::metadata(path.as_path()).ok();
        let file = meta.filter(|meta| meta.is_file() && !self.is_remote)?;
        Some((file.len(), file.mtime()))
    }

    /// Adds the sizes and the dates of the found files. On a terminal, it also sorts the rows of
    /// each FILE by [`place`] and marks the newest version.
    fn dated<'a>(&self, rows: &'a [FindRow], for_terminal: bool) -> Vec<DatedRow<'a>> {
        let mut dated = Vec::with_capacity(rows.len());
        for of_one in rows.chunk_by(|one, next| one.file == next.file) {
            let first = dated.len();
            dated.extend(of_one.iter().map(|row| DatedRow {
                row,
                file: self.file_at(&row.path),
                newest: false,
                by_stated: false,
            }));
            if for_terminal {
                let of_one = &mut dated[first..];
                of_one.sort_by_key(|dated| place(dated.row));
                mark_newest(of_one, self.file_at(&of_one[0].row.file));
            }
        }
        dated
    }
}

impl Verb for Find<'_> {
    type Body = SimilarFiles;

    fn answering(&self) -> Answering {
        self.args.layer.answering(&self.args.answering)
    }

    fn ask(
        &mut self,
        ui: &mut Ui,
        backend: &mut Backend,
        asked: &QuestionPaths,
    ) -> CliResult<Whole<SimilarFiles>> {
        let (selection, measuring) = (&self.args.selection, &self.args.measuring);
        let text = self.args.layer.is_on();
        let mut all = Whole::<SimilarFiles>::fresh();
        let progress = ui.progress("comparing");
        for (name, subject) in self.subjects.drain(..) {
            let sought = match subject {
                FileArgument::Named(sought) => sought,
                FileArgument::Stdin => {
                    FindSubject::Stdin(Box::new(digest_stdin(backend.params(), text)?))
                }
            };
            let options = FindOptions {
                scope: selection.scope(asked.scope()),
                min: selection.min.unwrap_or_default(),
                min_shared: selection.min_shared,
                relation: self.args.filter.relation.clone(),
                all: self.args.all,
                top: selection.top,
                exact: measuring.exact,
                unit: self.args.layer.unit(measuring.unit),
                text,
            };
            let find = || backend.find(&sought, &name, &options);
            match watched(&progress.steps(), find)? {
                Ok(answer) => {
                    all.header = all.header.and(answer.header);
                    all.body.results.extend(answer.body.results);
                    all.errors.extend(answer.errors);
                }
                Err(error) => all.errors.push(error),
            }
        }
        // Only a daemon knows when a file was first seen. These dates are added only with `-v`. So
        // without `-v`, the daemon and this process give the same answer.
        if ui.is_verbose() {
            let rows = &mut all.body.results;
            let paths = rows.iter().map(|row| row.path.clone()).collect();
            let known = backend.first_seen(paths)?;
            for row in rows {
                row.first_seen = known.get(&row.path).cloned();
            }
        }
        Ok(all)
    }

    fn show(&self, body: &mut SimilarFiles, asked: &QuestionPaths) {
        let mut owners = FileOwners::default();
        for row in &mut body.results {
            if self.has_owners {
                row.owner = owners.of(&row.path);
            }
            if let Some(first) = &mut row.first_seen {
                first.path = asked.shown(&first.path);
            }
            row.path = asked.shown(&row.path);
        }
    }

    fn parameters(&self, _: &QuestionPaths, params: &Params) -> FindParameters {
        let measuring = &self.args.measuring;
        FindParameters {
            files: names::as_given(&self.files),
            within: names::as_given(&self.args.within),
            unit: self.args.layer.unit(measuring.unit),
            all: self.args.all,
            relation: self.args.filter.relation.clone(),
            common: common_parameters(&self.args.selection, measuring.exact, params),
        }
    }

    fn output(&self) -> Option<&Path> {
        self.args.output.output.as_deref()
    }

    fn print(&self, ui: &mut Ui, document: &FindDocument, extras: &Extras<'_>) -> CliResult<()> {
        let (report, grouped) = (Report::Find(document), self.files.len() > 1);
        lists::title(ui, &self.print_as, lists::LARGER_SHARE, document)?;
        if let ListAs::Rows(output) = &self.print_as
            && output.format == RowFormat::Text
        {
            let for_terminal = ui.is_terminal() && lists::is_table(output);
            if for_terminal || ui.is_verbose() {
                let rows = self.dated(&document.body.results, for_terminal);
                return lists::print_text(ui, output, &rows, grouped);
            }
        }
        lists::print_as(ui, &self.print_as, document, report, extras, grouped)
    }

    fn top(&self) -> Option<u64> {
        self.args.selection.top
    }

    /// Returns whether the document says how many files were compared. If the question is about
    /// everything that the daemon watches, only the note on standard error has this number.
    fn tells_looked(&self, backend: &Backend) -> bool {
        let given = names::as_given(&self.args.within);
        !backend.is_daemon() || self.args.selection.scope(given) != Scope::default()
    }
}

/// Returns the rank of a row on a terminal. The order is: versions of the file, its containers, its
/// parts, files that share a part, and quotations. Rows of one rank keep their order.
fn place(row: &FindRow) -> u8 {
    match row.relation {
        Some(Relation::Identical | Relation::SameText | Relation::Near) => 0,
        Some(Relation::Contained) => 1,
        Some(Relation::Contains) => 2,
        Some(Relation::Shares) => 3,
        None => 4,
    }
}

/// Marks the newest version, unless FILE itself is the newest: see [`times_of`] and [`newest_of`].
fn mark_newest(rows: &mut [DatedRow<'_>], subject: Option<(u64, i64)>) {
    let is_version = |row: &&mut DatedRow<'_>| row.file.is_some() && place(row.row) == 0;
    let mut versions: Vec<_> = rows.iter_mut().filter(is_version).collect();
    // The rows do not have the date that FILE states. If FILE states no date, the times of the
    // files decide whether FILE or the file of a row is newer.
    let is_stated = |row: &FindRow| {
        let stated = row.document_date.as_ref();
        stated.is_some_and(StatedDate::is_past) && row.age.newer_by != Some(DatedBy::File)
    };
    let by_stated = versions.iter().all(|dated| is_stated(dated.row));
    let mut times = times_of(versions.iter_mut().map(|dated| {
        dated.by_stated = by_stated;
        let changed = dated.file.map_or(i64::MIN, |(_, changed)| changed);
        (
            changed,
            dated.row.document_date.as_ref().filter(|_| by_stated),
        )
    }));
    // A row whose stated date is the latest is compared with FILE by its `age`.
    let changed = subject.filter(|_| !by_stated);
    times.push(changed.map_or(i64::MIN, |(_, changed)| changed));
    if let Some(newest) = newest_of(&times).and_then(|at| versions.get_mut(at)) {
        newest.newest = !by_stated || newest.row.age.newer == Some(PairSide::B);
    }
}

/// Refuses options that the daemon of another machine cannot apply to a digest.
fn not_elsewhere(args: &FindArgs) -> CliResult<()> {
    let refused = [
        (
            !args.within.is_empty(),
            "--in",
            "names what is on this machine",
        ),
        (
            args.holders,
            "--holders",
            "reads the file beside those that hold it",
        ),
        (args.measuring.exact, "--exact", "reads both files"),
    ];
    match refused.into_iter().find(|(is_given, ..)| *is_given) {
        Some((_, option, why)) => Err(CliError::Usage(format!(
            "{option} {why}, and only a digest of the file is sent to another machine; leave it out"
        ))),
        None => Ok(()),
    }
}

fn all_files(args: &FindArgs) -> CliResult<Vec<PathBuf>> {
    let files = names::with_list(&args.files, args.files_from.as_deref(), args.output.null)?;
    if args.measuring.exact && files.iter().any(|file| file == Path::new("-")) {
        return Err(CliError::Usage(
            "--exact needs files: standard input cannot be read again".to_owned(),
        ));
    }
    Ok(files)
}

/// The thing that a FILE argument names.
enum FileArgument {
    Stdin,
    Named(FindSubject),
}

impl FileArgument {
    fn of(file: &Path, args: &FindArgs) -> Result<Self, SoftError> {
        if file == Path::new("-") {
            return Ok(Self::Stdin);
        }
        let failed = |error| SoftError::of_io(PathText::from(file), &error);
        let real = match std::fs::canonicalize(file) {
            Ok(real) => real,
            Err(error) => {
                if let Ok(named) = names::required(file)
                    && named.is_catalogued()
                {
                    return Ok(Self::Named(FindSubject::File(named)));
                }
                let member = names::member_of(file).filter(|_| args.layer.is_on());
                return member
                    .map(|member| Self::Named(FindSubject::Member(member)))
                    .ok_or_else(|| failed(error));
            }
        };
        let meta = std::fs::metadata(&real).map_err(failed)?;
        if !meta.is_file() {
            let what = if meta.is_dir() {
                "is a directory"
            } else {
                "is not a regular file"
            };
            return Err(failed(std::io::Error::other(what)));
        }
        Ok(Self::Named(FindSubject::File(Named {
            shown: file.to_owned(),
            real,
        })))
    }
}
