//! `resemble ui`: shows a report on the whole screen.

use resemble_arguments::{Global, ScreenArgs};
use resemble_proto::places::Env;

use crate::error::{CliError, CliResult};
use crate::ui::Ui;

#[cfg(not(feature = "ui"))]
pub(super) fn run(_: &Ui, _: &Env, _: &Global, _: &ScreenArgs) -> CliResult {
    Err(CliError::Usage(
        "this program was built without its screen: the package `resemble` has it, and `cargo \
         install --path cli --features ui` builds it; `resemble groups` prints the same groups"
            .to_owned(),
    ))
}

#[cfg(feature = "ui")]
pub(super) use with_screen::run;

#[cfg(feature = "ui")]
mod with_screen {
    use std::io::IsTerminal as _;
    use std::path::Path;
    use std::sync::Arc;

    use resemble_arguments::{
        CompareArgs, GroupsArgs, MemoryBound, RelationFilter, ReportFormat, ReportOutput,
    };
    use resemble_core::Params;
    use resemble_core::similarity::Templates;
    use resemble_proto::documents::Body as _;
    use resemble_proto::message::{Comparison, Groups, reason};
    use resemble_proto::path::PathText;
    use resemble_query::why::{self, ViewOptions};
    use resemble_report::quote::quoted;
    use resemble_report::saved;
    use resemble_scan::parts::{PartReader, RecentParts};
    use resemble_screen::{Collection, Look, PairFindings, PlanOrder, ScreenError, Session};

    use super::{CliError, CliResult, Env, Global, ScreenArgs, Ui};
    use crate::backend::formats;
    use crate::commands::{compare, groups, picked, review};
    use crate::error::Outcome;
    use crate::new_file::NewFile;
    use crate::plans;
    use crate::ui::ProgressBoard;

    pub(in crate::commands) fn run(
        ui: &Ui,
        env: &Env,
        global: &Global,
        args: &ScreenArgs,
    ) -> CliResult {
        if args.compare && args.roots.len() != 2 {
            let text = "--compare takes two directories: `resemble ui --compare A B`";
            return Err(CliError::Usage(text.to_owned()));
        }
        if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
            let text = "`ui` needs a terminal; `resemble groups` prints the same groups";
            return Err(CliError::Usage(text.to_owned()));
        }
        let look = Look {
            color: ui.has_color(),
            ascii: !is_utf8(&|name| std::env::var(name).ok()),
            style: ui.style(),
        };
        let (title, doing) = if let Some(path) = &args.from {
            (quoted(path), "reading the report")
        } else {
            let roots: Vec<String> = args.roots.iter().map(quoted).collect();
            (roots.join(" "), "looking for who answers")
        };
        let session = ScreenSession {
            env: env.clone(),
            global: global.clone(),
            args: args.clone(),
            parts: formats(true).map(|formats| RecentParts::new(Arc::new(formats))),
            board: ProgressBoard::default(),
        };
        let found = resemble_screen::run((title, doing), &look, session);
        let found = found.map_err(|error| match error {
            ScreenError::Terminal(error) => CliError::Output(error),
            ScreenError::Question(error) => error,
        })?;
        Ok(Outcome::of(found))
    }

    /// Returns whether the locale is UTF-8. The first of the variables that is set and not empty
    /// decides.
    fn is_utf8(env: &dyn Fn(&str) -> Option<String>) -> bool {
        let names = ["LC_ALL", "LC_CTYPE", "LANG"];
        let mut set = names.iter().filter_map(|name| env(name));
        let locale = set.find(|value| !value.is_empty()).unwrap_or_default();
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    }

    /// The work that the screen requests. It is done in other threads than the screen's own.
    struct ScreenSession {
        env: Env,
        global: Global,
        args: ScreenArgs,
        /// Keeps the parts that were unpacked last, for the next comparison.
        parts: Option<RecentParts>,
        board: ProgressBoard,
    }

    impl Session for ScreenSession {
        type Error = CliError;

        fn ask(&self, template: Option<&[PathText]>) -> CliResult<(Collection, String)> {
            let (env, global, args) = (&self.env, &self.global, &self.args);
            let ui = &mut Ui::of_screen(self.board.clone());
            if let Some(path) = &args.from {
                if template.is_some() {
                    let again =
                        "a saved report is not asked again; `resemble templates mark` marks";
                    return Err(CliError::Usage(again.to_owned()));
                }
                let collection = read(path, &picked(&args.selection))?;
                return Ok((collection, String::new()));
            }
            if args.compare {
                let args = compare_args(args);
                let answered = compare::answer(ui, env, global, &args)?;
                let collection = Collection::of_compare(&answered.report.document, None);
                answered.close(ui);
                return Ok((collection, String::new()));
            }
            let args = groups_args(args);
            let mut note = String::new();
            if let Some(files) = template {
                note = review::mark_shared(ui, env, global, &args, files)?;
            }
            let answered = groups::answer(ui, env, global, &args)?;
            let collection = Collection::of_groups(&answered.report.document, None);
            answered.close(ui);
            Ok((collection, note))
        }

        fn side_by_side(&self, a: &PathText, b: &PathText) -> Result<PairFindings, String> {
            let terms = (&Params::default(), &Templates::default());
            let parts = self.parts.as_ref().map(|parts| parts as &dyn PartReader);
            let real = |path: &PathText| std::path::absolute(path.as_path());
            let compared = match (real(a), real(b)) {
                (Ok(a), Ok(b)) => why::compare_with_parts(&a, &b, terms, parts),
                (Err(error), _) | (_, Err(error)) => return Err(reason(&error)),
            };
            let compared = compared.map_err(|error| reason(&std::io::Error::other(error)))?;
            let summary = compared.shared.summary();
            let is_shown = |name: &str| matches!(name, "relation" | "a in b" | "b in a");
            let figures = summary.iter().filter(|(name, _)| is_shown(name));
            let figures = figures.map(|(name, value)| format!("{name}: {value}"));
            Ok(PairFindings {
                summary: figures.collect::<Vec<_>>().join("; "),
                view: compared.view(&ViewOptions::default()),
            })
        }

        fn write_plan(&self, order: &PlanOrder) -> Result<String, String> {
            write_plan(order).map_err(|why| why.to_string())
        }

        fn progress(&self) -> Option<String> {
            self.board.line()
        }
    }

    fn write_plan(order: &PlanOrder) -> CliResult<String> {
        let path = &order.file;
        if Path::symlink_metadata(path).is_ok() {
            return Err(CliError::Usage(format!(
                "{} is there already; nothing is overwritten: take another name",
                quoted(path)
            )));
        }
        let plan = plans::of_screen(&order.pairs, order.kind.clone());
        let mut file = NewFile::next_to(path)?;
        plan.write(file.writer())
            .map_err(CliError::file("write", path))?;
        file.complete()?;
        file.keep()?;
        Ok(format!(
            "{}: {}; read it, then run it with sh",
            quoted(path),
            plan.summary()
        ))
    }

    const OUTPUT: ReportOutput = ReportOutput {
        format: ReportFormat::Json,
        output: None,
        null: false,
        from: None,
        evidence: 0,
    };

    fn compare_args(args: &ScreenArgs) -> CompareArgs {
        let mut roots = args.roots.iter().cloned();
        CompareArgs {
            a: roots.next(),
            b: roots.next(),
            class: Vec::new(),
            new_only: false,
            all: false,
            no_trees: true,
            selection: args.selection.clone(),
            exact: false,
            output: OUTPUT,
            size_ratio: None,
            same_suffix: false,
            names: false,
            plan: None,
            bound: MemoryBound::default(),
            layer: args.layer,
            answering: args.answering.clone(),
        }
    }

    fn groups_args(args: &ScreenArgs) -> GroupsArgs {
        GroupsArgs {
            roots: args.roots.clone(),
            files_from: None,
            all: false,
            of: None,
            only: None,
            family: false,
            order: false,
            plan: None,
            keep: Vec::new(),
            superseded: None,
            conflicts: false,
            review: false,
            selection: args.selection.clone(),
            filter: RelationFilter::default(),
            output: OUTPUT,
            degree: None,
            bound: MemoryBound::default(),
            links: None,
            layer: args.layer,
            answering: args.answering.clone(),
        }
    }

    /// Reads a saved report of `groups` or of `compare`.
    fn read(path: &Path, picked: &saved::Picked) -> CliResult<Collection> {
        let bytes = std::fs::read(path).map_err(CliError::file("read", path))?;
        let failed = |why: saved::SavedError| CliError::Usage(format!("{} {why}", quoted(path)));
        match saved::Saved::<Groups>::parse(&bytes) {
            Ok(mut report) => {
                plans::pick_groups(&mut report, picked)?;
                Ok(Collection::of_groups(
                    &report.document,
                    report.base.as_ref(),
                ))
            }
            Err(saved::SavedError::OtherVerb { found, .. }) if found == Comparison::COMMAND => {
                let mut report = saved::Saved::<Comparison>::parse(&bytes).map_err(failed)?;
                saved::pick_compare(&mut report, picked)?;
                Ok(Collection::of_compare(
                    &report.document,
                    report.base.as_ref(),
                ))
            }
            Err(why) => Err(failed(why)),
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn the_first_variable_that_is_set_says_what_the_terminal_shows() {
            let shows = |set: &[(&str, &str)]| {
                is_utf8(&|name| {
                    let found = set.iter().find(|(known, _)| *known == name);
                    found.map(|(_, value)| (*value).to_owned())
                })
            };
            assert!(shows(&[("LANG", "de_DE.UTF-8")]));
            assert!(shows(&[
                ("LC_ALL", ""),
                ("LC_CTYPE", "C.utf8"),
                ("LANG", "C")
            ]));
            assert!(!shows(&[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")]));
            assert!(!shows(&[]));
        }
    }
}
