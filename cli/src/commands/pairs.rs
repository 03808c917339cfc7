//! `resemble pairs`: lists the pairs of similar files in some directories.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};

use resemble_arguments::{Answering, Global, ListAs, PairsArgs, TextWanted};
use resemble_core::Params;
use resemble_proto::documents::{PairsDocument, SimilarPairs};
use resemble_proto::message::{PairOrder, PairScore, PairsRequest, Whole};
use resemble_proto::path::PathText;
use resemble_proto::places::Env;
use resemble_proto::report::PairsParameters;
use resemble_report::document::{Extras, Report};

use crate::backend::Backend;
use crate::commands::common_parameters;
use crate::error::{CliError, CliResult};
use crate::lists;
use crate::names;
use crate::owners::{self, FileOwners};
use crate::question::{self, QuestionPaths, Verb};
use crate::ui::Ui;

pub(super) fn run(ui: &mut Ui, env: &Env, global: &Global, args: &PairsArgs) -> CliResult {
    let print_as = args.output.checked("pairs")?;
    let mut dirs = args.dirs.clone();
    if let Some(list) = &args.files_from {
        dirs.extend(names::read_list(list, args.output.null)?);
    }
    if dirs.is_empty() {
        return Err(CliError::Usage("no directories to look in".to_owned()));
    }
    let asked = QuestionPaths::among(&dirs);
    asked.not_files_alone("pairs", 1)?;
    let pairs = Pairs {
        args,
        dirs,
        has_owners: owners::are_shown(global, print_as.is_json()),
        print_as,
    };
    question::run(ui, env, global, &asked, pairs)
}

struct Pairs<'a> {
    args: &'a PairsArgs,
    /// All DIR arguments, including those from `--files-from`.
    dirs: Vec<PathBuf>,
    print_as: ListAs,
    /// True if the rows show the owners of the files.
    has_owners: bool,
}

impl Pairs<'_> {
    /// Returns the order of the pairs. With `--top` and no `--score`, the pairs most worth reading
    /// come first. Otherwise the pairs are sorted by score.
    fn order(&self) -> PairOrder {
        match (self.args.score, self.args.selection.top) {
            (None, Some(_)) => PairOrder::Worth,
            _ => PairOrder::Score,
        }
    }

    /// Returns the line that explains the percentages.
    fn title(&self) -> &'static str {
        match self.args.score.unwrap_or_default() {
            PairScore::Containment => lists::LARGER_SHARE,
            PairScore::Resemblance => lists::RESEMBLANCE,
            PairScore::Discounted => {
                "the larger share of one file that is in the other, without what many files have:"
            }
        }
    }
}

impl Verb for Pairs<'_> {
    type Body = SimilarPairs;

    fn answering(&self) -> Answering {
        self.args.layer.answering(&self.args.answering)
    }

    fn ask(
        &mut self,
        ui: &mut Ui,
        backend: &mut Backend,
        asked: &QuestionPaths,
    ) -> CliResult<Whole<SimilarPairs>> {
        let (selection, measuring) = (&self.args.selection, &self.args.measuring);
        let request = PairsRequest {
            scope: selection.scope(asked.scope()),
            score: self.args.score.unwrap_or_default(),
            relation: self.args.filter.relation.clone(),
            order: self.order(),
            min: selection.min.unwrap_or_default(),
            min_shared: selection.min_shared,
            top: selection.top,
            exact: measuring.exact,
            estimate: self.args.estimate,
            unit: self.args.layer.unit(measuring.unit),
            text: self.args.layer.is_on(),
            archives: self.args.layer.wanted == TextWanted::All,
            all: self.args.all,
        };
        backend.ask(ui, "comparing", request)
    }

    fn show(&self, body: &mut SimilarPairs, asked: &QuestionPaths) {
        if self.has_owners {
            let mut owners = FileOwners::default();
            for row in &mut body.pairs {
                (row.owner_a, row.owner_b) = (owners.of(&row.a), owners.of(&row.b));
            }
        }
        // The same path occurs in many rows, so its name is looked up only once.
        let mut shown: HashMap<PathText, PathText> = HashMap::new();
        let paths = body.pairs.iter_mut();
        for path in paths.flat_map(|row| [&mut row.a, &mut row.b]) {
            *path = match shown.entry(path.clone()) {
                Entry::Occupied(known) => known.get().clone(),
                Entry::Vacant(new) => new.insert(asked.shown(path)).clone(),
            };
        }
    }

    fn parameters(&self, _: &QuestionPaths, params: &Params) -> PairsParameters {
        let measuring = &self.args.measuring;
        PairsParameters {
            dirs: names::as_given(&self.dirs),
            score: self.args.score.unwrap_or_default(),
            relation: self.args.filter.relation.clone(),
            order: self.order(),
            unit: self.args.layer.unit(measuring.unit),
            all: self.args.all,
            common: common_parameters(&self.args.selection, measuring.exact, params),
        }
    }

    fn output(&self) -> Option<&Path> {
        self.args.output.output.as_deref()
    }

    fn print(&self, ui: &mut Ui, document: &PairsDocument, extras: &Extras<'_>) -> CliResult<()> {
        let report = Report::Pairs(document);
        lists::title(ui, &self.print_as, self.title(), document)?;
        lists::print_as(ui, &self.print_as, document, report, extras, false)
    }

    fn top(&self) -> Option<u64> {
        self.args.selection.top
    }
}
