//! `resemble groups`: finds the identical and similar files of a collection.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use resemble_arguments::{Answering, Global, GroupsArgs, ReportFormat};
use resemble_core::Params;
use resemble_proto::documents::{GroupsDocument, GroupsParameters};
use resemble_proto::message::{
    Groups, GroupsRequest, MeasureUnit, OnlyGroups, PairRelation, Whole,
};
use resemble_proto::path::PathText;
use resemble_proto::places::Env;
use resemble_report::document::{Extras, Report};
use resemble_report::evidence;
use resemble_report::plan::Treatment;
use resemble_report::quote::quoted;
use resemble_report::saved::{Picked, Saved, SavedError, SavedMarks};
use resemble_report::text;
use resemble_scan::parts::PartReader;

use crate::backend::{Backend, formats};
use crate::blocks;
use crate::commands::{common_parameters, parse_saved, picked, print_plan};
use crate::error::{CliError, CliResult, Outcome};
use crate::evidence::side_by_side;
use crate::links::Links;
use crate::names::{self, Named};
use crate::owners::{self, FileOwners};
use crate::plans;
use crate::print;
#[cfg(feature = "ui")]
use crate::question::Answered;
use crate::question::{self, QuestionPaths, Verb, base};
use crate::ui::Ui;

pub(super) fn run(ui: &mut Ui, env: &Env, global: &Global, args: &GroupsArgs) -> CliResult {
    if let Some(path) = &args.output.from {
        let bytes = fs::read(path).map_err(CliError::file("read", path))?;
        let mut report = match Saved::<Groups>::parse(&bytes) {
            Err(SavedError::OtherVerb { found, .. }) if found == SavedMarks::COMMAND => {
                let marks = parse_saved(path, SavedMarks::parse(&bytes))?;
                return plan_marks(ui, args, path, &marks);
            }
            report => parse_saved(path, report)?,
        };
        let (only, had) = (only(args), report.document.parameters.only);
        let needs_clusters = only == OnlyGroups::Near || args.superseded.is_some();
        let lacks = match had {
            OnlyGroups::All => false,
            OnlyGroups::Near => only == OnlyGroups::Identical,
            OnlyGroups::Identical => needs_clusters,
        };
        if lacks {
            let what = if needs_clusters {
                "clusters; it was made with --only identical"
            } else {
                "sets of identical files; it was made with --only near"
            };
            return Err(CliError::Usage(format!("{} has no {what}", quoted(path))));
        }
        let picked = Picked {
            only,
            ..picked(&args.selection)
        };
        plans::pick_groups(&mut report, &picked)?;
        report.evidence.truncate(args.output.evidence);
        let verb = Grouping {
            args,
            of: None,
            has_owners: false,
        };
        return question::print_again(ui, &verb, report);
    }
    let (asked, mut verb) = question(global, args)?;
    let answered = question::answer(ui, env, &here(global, args), &asked, &mut verb)?;
    question::finish(ui, &verb, answered)
}

/// Prints the plan for files that were marked in a page.
fn plan_marks(ui: &mut Ui, args: &GroupsArgs, path: &Path, marks: &SavedMarks) -> CliResult {
    let name = quoted(path);
    let Some(kind) = &args.plan else {
        let text =
            format!("{name} holds the marks of a page: say with --plan what becomes of them");
        return Err(CliError::Usage(text));
    };
    let has_rules = !args.keep.is_empty() || args.superseded.is_some();
    if has_rules || picked(&args.selection) != Picked::default() {
        let text = format!("{name} says what goes and what stays: leave out rules and filters");
        return Err(CliError::Usage(text));
    }
    let plan = plans::of_page(marks, kind)?;
    ui.redirect(args.output.output.as_deref());
    print_plan(ui, &plan)?;
    ui.flush()?;
    Ok(Outcome::Holds)
}

/// Asks for the groups that `resemble ui` shows.
#[cfg(feature = "ui")]
pub(super) fn answer(
    ui: &mut Ui,
    env: &Env,
    global: &Global,
    args: &GroupsArgs,
) -> CliResult<Answered<Groups>> {
    let (asked, mut verb) = question(global, args)?;
    question::answer(ui, env, &here(global, args), &asked, &mut verb)
}

/// Adds `--local` if `--links` is given, because a daemon takes no links from an SQL engine.
fn here(global: &Global, args: &GroupsArgs) -> Global {
    Global {
        local: global.local || args.links.is_some(),
        ..global.clone()
    }
}

/// Returns the paths of the question, and the `Grouping` that asks it.
pub(super) fn question<'a>(
    global: &Global,
    args: &'a GroupsArgs,
) -> CliResult<(QuestionPaths, Grouping<'a>)> {
    let mut missing = args.output.format.errors();
    let needed = |path| names::needed(path, names::required, &mut missing);
    let of = args.of.as_deref().map(needed).transpose()?;
    let mut asked = QuestionPaths::within(&args.roots).unless(missing);
    asked.not_files_alone("groups", 1)?;
    asked.also.extend(of.clone());
    let is_json = args.output.format.is_json();
    let verb = Grouping {
        args,
        of,
        has_owners: args.plan.is_none() && owners::are_shown(global, is_json),
    };
    Ok((asked, verb))
}

pub(super) fn check(global: &Global, args: &GroupsArgs) -> CliResult<()> {
    // With --files-from, `-0` also describes the list, so it is allowed with every format that
    // prints rows.
    if args.files_from.is_none() {
        args.output.check("groups", true)?;
    }
    if args.links.is_some() && global.socket.is_some() {
        return Err(CliError::Usage(
            "--links is answered without a daemon: leave out --socket".to_owned(),
        ));
    }
    if args.family && only(args) == OnlyGroups::Identical {
        return Err(CliError::Usage(
            "--family follows links between similar files; sets of identical files have none"
                .to_owned(),
        ));
    }
    if args.only == Some(OnlyGroups::Near) && only(args) == OnlyGroups::Identical {
        let what = args.plan.as_ref().map_or("--format fdupes", |_| "--plan");
        return Err(CliError::Usage(format!(
            "{what} is about sets of identical files; --only near has none"
        )));
    }
    if args.superseded.is_some() {
        if !matches!(args.plan, Some(Treatment::Trash | Treatment::Move(_))) {
            return Err(CliError::Usage(
                "--superseded is for --plan trash or move=DIR: near copies have other bytes"
                    .to_owned(),
            ));
        }
        if args.only == Some(OnlyGroups::Identical) {
            return Err(CliError::Usage(
                "--superseded is about similar files; --only identical has none".to_owned(),
            ));
        }
    }
    if args.links.is_some() && only(args) == OnlyGroups::Identical {
        return Err(CliError::Usage(
            "sets of identical files need no links: leave out --links".to_owned(),
        ));
    }
    let lists_names = args.order || args.files_from.is_some();
    let lines_of_several = args.plan.is_none() && !lists_names;
    if lines_of_several {
        args.output.check_null("names (--format fdupes) and tsv")?;
    }
    Ok(())
}

pub(super) struct Grouping<'a> {
    args: &'a GroupsArgs,
    of: Option<Named>,
    /// True if the groups show the owners of the files.
    has_owners: bool,
}

impl Grouping<'_> {
    /// Returns whether the question is about a whole collection, with no option that asks for
    /// details.
    fn is_first_look(&self, ui: &Ui) -> bool {
        let args = self.args;
        !args.all && args.of.is_none() && args.selection.top.is_none() && !ui.is_verbose()
    }
}

impl Verb for Grouping<'_> {
    type Body = Groups;

    fn answering(&self) -> Answering {
        self.args.layer.answering(&self.args.answering)
    }

    fn ask(
        &mut self,
        ui: &mut Ui,
        backend: &mut Backend,
        asked: &QuestionPaths,
    ) -> CliResult<Whole<Groups>> {
        let mut request = request(self.args, asked, self.of.as_ref());
        // Holes of sparse files change the order of the sets. So sets are limited to `--top` only
        // after their holes are known. Clusters are limited when they are found.
        let top = request.top;
        if request.only == OnlyGroups::Identical {
            request.top = None;
        }
        let all_sets = top.map(|_| GroupsRequest {
            only: OnlyGroups::Identical,
            top: None,
            ..request.clone()
        });
        let mut answer = if let Some(folder) = &self.args.links {
            let links = Links::open(folder, backend.params())?;
            backend.groups_of_pairs(ui, &request, &links)?
        } else if self.is_refreshed() {
            backend.ask(ui, "grouping", request)?
        } else {
            backend.identical(ui, request)?
        };
        let body = &mut answer.body;
        if let Some(all_sets) = all_sets
            && (body.identical.len() as u64) < body.summary.sets
        {
            let sets = backend.ask(ui, "grouping", all_sets)?.body;
            body.identical = sets.identical;
            body.summary.sets = sets.summary.sets;
            body.summary.set_files = sets.summary.set_files;
            body.summary.overhead = sets.summary.overhead;
            answer.header.total = body.summary.sets + body.summary.clusters;
        }
        // The script of a plan checks its files itself, and the format `fdupes` has no totals.
        // Neither needs the notes about blocks.
        let is_noted = self.args.plan.is_none() && self.args.output.format != ReportFormat::Fdupes;
        if is_noted || top.is_some() {
            blocks::note_holes(body);
        }
        if let Some(top) = top {
            let top = usize::try_from(top).unwrap_or(usize::MAX);
            body.identical.truncate(top);
            answer.header.shown = (body.identical.len() + body.clusters.len()) as u64;
        }
        if is_noted {
            blocks::note_shared(body);
        }
        Ok(answer)
    }

    /// Returns false if only identical files are printed: the daemon or the cache then scans the
    /// files itself. A page and a workbook also show similar directories, which need an index.
    fn is_refreshed(&self) -> bool {
        only(self.args) != OnlyGroups::Identical || is_page(self.args)
    }

    fn show(&self, body: &mut Groups, asked: &QuestionPaths) {
        if self.has_owners {
            let mut owners = FileOwners::default();
            for set in &mut body.identical {
                set.owners = set.paths.iter().map(|path| owners.of(path)).collect();
            }
            let members = body.clusters.iter_mut().flat_map(|c| &mut c.members);
            members.for_each(|member| member.owner = owners.of(&member.path));
        }
        plans::each_path(body, &mut |path| *path = asked.shown(path));
    }

    fn parameters(&self, _: &QuestionPaths, params: &Params) -> GroupsParameters {
        parameters(self.args, params)
    }

    /// Adds the similar directories among the files of the question. A page or a workbook shows
    /// them first. A page also gets the texts of the best pairs side by side.
    fn adorn(
        &self,
        ui: &mut Ui,
        backend: &mut Backend,
        asked: &QuestionPaths,
        report: &mut Saved<Groups>,
    ) -> CliResult<()> {
        let (args, format) = (self.args, self.args.output.format);
        if is_page(args) && args.plan.is_none() && args.of.is_none() {
            let folders = super::dirs::of_roots(ui, backend, args, asked)?;
            report.folders = Some(folders);
        }
        if format == ReportFormat::Html {
            let _progress = ui.progress("reading the best pairs");
            let base = base().unwrap_or_default();
            let base = base.as_path();
            let show =
                |a: &PathText, b: &PathText| side_by_side((base, a), (base, b), backend.params());
            report.evidence = evidence::of_groups(&report.document, args.output.evidence, &show);
            report.links = (!backend.is_elsewhere()).then(|| links(&report.document.body));
        }
        Ok(())
    }

    fn output(&self) -> Option<&Path> {
        self.args.output.output.as_deref()
    }

    fn from(&self) -> Option<&Path> {
        self.args.output.from.as_deref()
    }

    fn print(&self, ui: &mut Ui, document: &GroupsDocument, extras: &Extras<'_>) -> CliResult<()> {
        let output = &self.args.output;
        if let Some(kind) = &self.args.plan {
            let picked = picked(&self.args.selection);
            let (chosen, near) = ((&*self.args.keep, &picked), self.args.superseded);
            let formats = near.and_then(|_| formats(self.args.layer.is_on()));
            let part_reader = formats.as_ref().map(|formats| formats as &dyn PartReader);
            let near = near.map(|share| (share, part_reader));
            let progress = near.map(|_| ui.progress("comparing near copies"));
            let plan = plans::of_groups(document, kind, chosen, near)?;
            drop(progress);
            return print_plan(ui, &plan);
        }
        if output.format == ReportFormat::Text {
            ui.page();
            if ui.is_terminal() && self.is_first_look(ui) {
                return ui.print(|out| text::groups::print_brief(out, document));
            }
            return ui.print(|out| text::groups::print(out, document));
        }
        let report = Report::Groups(document);
        print::print(ui, output.format, output.end(), report, extras)
    }

    fn top(&self) -> Option<u64> {
        self.args.selection.top
    }
}

/// Returns the identical files that have several hard links, each with its number of links. A file
/// that is gone counts as having one link, as in a plan.
fn links(groups: &Groups) -> Vec<(PathText, u64)> {
    let paths = groups.identical.iter().flat_map(|set| &set.paths);
    let counted = paths.filter_map(|path| {
        let meta = fs::symlink_metadata(path.as_path()).ok()?;
        Some((path.clone(), meta.nlink()))
    });
    counted.filter(|(_, links)| *links > 1).collect()
}

/// Returns whether the report is an HTML page or a workbook, which also show similar folders.
const fn is_page(args: &GroupsArgs) -> bool {
    matches!(args.output.format, ReportFormat::Html | ReportFormat::Xlsx)
}

/// Returns the kinds of groups that are printed. Groups of other kinds are not computed.
fn only(args: &GroupsArgs) -> OnlyGroups {
    let is_of_copies = args.plan.is_some() && args.superseded.is_none();
    let is_of_sets = args.filter.relation == [PairRelation::Identical];
    if is_of_copies || is_of_sets || args.output.format == ReportFormat::Fdupes {
        return OnlyGroups::Identical;
    }
    args.only.unwrap_or_default()
}

pub(super) fn request(
    args: &GroupsArgs,
    asked: &QuestionPaths,
    of: Option<&Named>,
) -> GroupsRequest {
    GroupsRequest {
        scope: args.selection.scope(asked.scope()),
        only: only(args),
        relation: args.filter.relation.clone(),
        of: of.map(|of| PathText::from(of.real.as_path())),
        family: args.family,
        min: args.selection.min.unwrap_or_default(),
        min_shared: args.selection.min_shared,
        degree: args.degree.unwrap_or_default(),
        memory: args.bound.memory,
        top: args.selection.top,
        // `--order` prints names for an archiver, which compresses bytes and not texts.
        text: args.layer.is_on() && !args.order,
        unit: args.layer.unit(MeasureUnit::Words),
    }
}

pub(super) fn parameters(args: &GroupsArgs, params: &Params) -> GroupsParameters {
    GroupsParameters {
        roots: names::as_given(&args.roots),
        only: only(args),
        relation: args.filter.relation.clone(),
        of: args.of.as_deref().map(PathText::from),
        family: args.family,
        degree: args.degree.unwrap_or_default(),
        common: common_parameters(&args.selection, false, params),
    }
}
