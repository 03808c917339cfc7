//! `resemble lost --links`: finds dead links, and the current paths of their targets.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use resemble_arguments::{Answering, Global, LostArgs};
use resemble_core::{Params, Relation};
use resemble_proto::documents::Document;
use resemble_proto::list_body;
use resemble_proto::message::{SoftError, Whole};
use resemble_proto::path::PathText;
use resemble_proto::places::Env;
use resemble_report::document::Extras;
use resemble_report::rows::{LinkRow, LostRow};
use resemble_scan::walk::{Anchor, Kind};

use super::{Search, Sweep, SweepParameters, lost, real_place};
use crate::backend::Backend;
use crate::error::CliResult;
use crate::lists;
use crate::names;
use crate::question::{self, QuestionPaths, Verb};
use crate::ui::Ui;

pub(in crate::commands) fn run(
    ui: &mut Ui,
    env: &Env,
    global: &Global,
    args: &LostArgs,
) -> CliResult {
    let dir = args.links.as_deref().unwrap_or(Path::new("."));
    let named = names::required_dir(dir)?;
    let (asked, sweeps) = super::sweeps(env, global, &args.sweeps, None)?;
    let links = LinkSearch {
        args,
        dir,
        real: named.real,
        sweeps,
        has_places: false,
    };
    question::run(ui, env, global, &asked.only_about(0), links)
}

struct LinkSearch<'a> {
    args: &'a LostArgs,
    /// The path as named.
    dir: &'a Path,
    real: PathBuf,
    sweeps: Vec<Sweep>,
    /// True if the current path of at least one target is known, even if its row is not shown.
    has_places: bool,
}

list_body! {
    /// The dead links, sorted by path.
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[derive(Debug, Default)]
    pub(in crate::commands) struct DeadLinks {
        links: Vec<LinkRow>,
    } of "lost", SweepParameters
}

impl Verb for LinkSearch<'_> {
    type Body = DeadLinks;

    fn answering(&self) -> Answering {
        self.args.sweeps.answering()
    }

    fn ask(
        &mut self,
        ui: &mut Ui,
        backend: &mut Backend,
        asked: &QuestionPaths,
    ) -> CliResult<Whole<DeadLinks>> {
        let _progress = ui.progress("looking at links");
        let mut search = Search::new(backend, asked, &self.sweeps, &self.args.sweeps);
        let mut links = Vec::new();
        search.errors.extend(dangling(&self.real, &mut links));
        let targets = links.iter().map(|(_, _, target)| target.as_path().into());
        let known = search.departed(targets.collect())?.into_iter();
        let known: HashMap<_, _> = known.map(|row| (row.path.clone(), row)).collect();
        let mut rows = Vec::new();
        for (link, target, real) in links {
            let known = known.get(&PathText::from(real.as_path()));
            let places = known.into_iter().flat_map(|known| &known.places);
            let mut places: Vec<_> = places.map(|at| Some(search.asked.shown(at))).collect();
            let mut renamed = known.is_some_and(|known| known.renamed);
            if places.is_empty() {
                let recorded = lost::present_place(&mut search, &real, self.args.sweeps.min)?;
                let is_copy = |row: &LostRow| row.relation == Some(Relation::Identical);
                renamed |= recorded.as_ref().is_some_and(|row| !is_copy(row));
                places.push(recorded.map(|row| row.path));
            }
            let below = link.strip_prefix(&self.real).unwrap_or(&link);
            rows.extend(places.into_iter().map(|place| LinkRow {
                path: self.dir.join(below).as_path().into(),
                target: PathText::from_bytes(&target),
                gone: known.map(|known| known.gone),
                renamed,
                place,
            }));
        }
        self.has_places = rows.iter().any(|row: &LinkRow| row.place.is_some());
        let answer = search.answer(rows).cut(self.args.top);
        Ok(Whole::from(answer).map(|links| DeadLinks { links }))
    }

    /// Changes nothing, because the rows already have the names that are shown.
    fn show(&self, _: &mut DeadLinks, _: &QuestionPaths) {}

    fn parameters(&self, _: &QuestionPaths, _: &Params) -> SweepParameters {
        SweepParameters::of(self.dir, &self.args.sweeps)
    }

    fn output(&self) -> Option<&Path> {
        self.args.output.output.as_deref()
    }

    fn print(&self, ui: &mut Ui, document: &Document<DeadLinks>, _: &Extras<'_>) -> CliResult<()> {
        lists::print_document(ui, &self.args.output, document, false)?;
        if document.body.links.is_empty() {
            ui.note("no link leads nowhere");
        }
        Ok(())
    }

    fn top(&self) -> Option<u64> {
        self.args.top
    }

    fn holds(&self, _: &Document<DeadLinks>) -> bool {
        self.has_places
    }
}

/// A dead link: its path, its target as written, and the absolute path that this target means.
type Dangling = (PathBuf, Vec<u8>, PathBuf);

/// Adds the dead links below a directory, and sorts all links by path. Links are not followed.
/// Returns the errors of folders that cannot be listed.
fn dangling(dir: &Path, links: &mut Vec<Dangling>) -> Vec<SoftError> {
    let mut errors = Vec::new();
    let mut waiting = vec![dir.to_owned()];
    while let Some(dir) = waiting.pop() {
        let listed = Anchor::open(&dir).and_then(|anchor| {
            let open = anchor.dir(&dir)?;
            let found = open.list(&|_| false)?;
            Ok((open, found))
        });
        let (open, found) = match listed {
            Ok(listed) => listed,
            Err(errno) => {
                errors.push(SoftError::of_io(dir.as_path().into(), &errno.into()));
                continue;
            }
        };
        for found in found {
            let path = dir.join(&found.name);
            let Ok(stat) = found.stat else {
                continue;
            };
            if stat.kind == Kind::Dir {
                waiting.push(path);
            } else if stat.kind == Kind::Symlink
                && let Ok(target) = open.read_link(&found.name)
                && !path.try_exists().unwrap_or(true)
            {
                let led_to = real_place(&dir.join(OsStr::from_bytes(&target)));
                links.push((path, target, led_to));
            }
        }
    }
    links.sort();
    errors
}
