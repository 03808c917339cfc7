//! The command `groups`: for sif, the groups that its paper prints; for other methods, clusters of
//! similar pairs.
//!
//! The answer lists what files have in common. This module applies the rules, the interesting sets
//! and, for sif, the thresholds. So a question to sif with another threshold or rule takes only a
//! moment: the collated sets are cached, and no file is read again.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::figure::Figure;
use crate::method::check_clusters;
use crate::method::clusters::{self, SimilarFiles};
use crate::method::exported::is_export;
use crate::method::features;
use crate::method::rules::{FileFacts, PairRules};
use crate::method::sets::GroupsAnswer;
use crate::question::{MethodClusters, MethodFileRow, MethodLimits, MethodQuestion};
use resemble_arguments::Global;
use resemble_cli::error::{CliError, CliResult};
use resemble_cli::names::{self, Named, ShownNames};
use resemble_cli::ui::Ui;
use resemble_core::Params;
use resemble_methods::{Method, Threshold};
use resemble_proto::message::{Answer, Header, SoftError};
use resemble_proto::number::Fraction;
use resemble_proto::path::{PathText, fields};
use resemble_proto::places::Env;
use resemble_proto::report::{Head, json_line, write_error_line, write_json};
use resemble_report::human::counted;
use resemble_report::lines::{Cell, Tint};
use serde::Serialize;

use super::args::{GroupsArgs, GroupsFormat};
use super::backend::{Backend, end, refused};
use super::chosen::{ChosenMethod, Parameters, chosen, figure_of, min_of, read_sets};
use super::filter::{self, FilePair};

/// A file of a group in JSON.
#[derive(Serialize)]
struct GroupRow {
    #[serde(flatten, with = "fields::path")]
    path: PathText,
    size: u64,
    members: Vec<MemberRow>,
}

#[derive(Serialize)]
struct MemberRow {
    #[serde(flatten, with = "fields::path")]
    path: PathText,
    size: u64,
    score: Figure,
    #[serde(skip_serializing_if = "Option::is_none")]
    common: Option<u32>,
}

/// An interesting set in JSON.
#[derive(Serialize)]
struct SetRow {
    common: u64,
    files: Vec<SetFileRow>,
}

#[derive(Serialize)]
struct SetFileRow {
    #[serde(flatten, with = "fields::path")]
    path: PathText,
    size: u64,
}

pub(super) fn run(ui: &mut Ui, env: &Env, global: &Global, args: &GroupsArgs) -> CliResult {
    let chosen = chosen(&args.method)?;
    check(&chosen, args)?;
    let limits = chosen.limits(&args.selection)?;
    let question = question(&chosen, args, limits)?;
    let (roots, mut errors) = names::resolve(&args.roots);
    let of = match &args.of {
        Some(of) if args.features.is_none() => Some(real_of(of, &roots)?),
        of => of.clone(),
    };
    let mut answer = Answer::fresh(Vec::new(), Vec::new());
    let mut params = Params::default();
    let mut backend = None;
    if !roots.is_empty() {
        let asked = backend.insert(Backend::open(ui, env, global, args.cache, &roots)?);
        params = *asked.params();
        let real = names::real_paths(&roots);
        asked.refresh(ui, &real)?;
        let request = chosen.request(args.selection.scope(real), question);
        answer = asked.ask(ui, &request, None)?;
    }
    let mut grouping = match &args.features {
        Some(file) => features::groups(&chosen.params, read_sets(file)?, limits)?,
        None => GroupsAnswer::of_rows(answer.rows),
    };
    let of = match of {
        Some(name) if args.features.is_some() => Some(Some(place_of_set(&grouping.files, &name)?)),
        of => of.map(|of| place_of_file(&grouping.files, &of)),
    };
    let shown = ShownNames::of(&roots);
    let show = |path: &mut PathText| *path = shown.path(path);
    grouping
        .files
        .iter_mut()
        .for_each(|file| show(&mut file.path));
    for pair in &mut grouping.pairs {
        show(&mut pair.a);
        show(&mut pair.b);
    }
    errors.extend(answer.errors);
    let errors = names::tidy(errors, &shown);
    let threshold = chosen.method.thresholds().groups;
    let parameters = Parameters {
        files: args
            .features
            .as_ref()
            .map(|file| names::as_given(std::slice::from_ref(file))),
        of: args.of.as_deref().map(PathText::from),
        contained: args.rules.contained.map(figure_of),
        ignored: (is_clustered(&chosen) && args.features.is_none())
            .then(|| grouping.common.clone()),
        ..Parameters::new(&chosen, threshold, &args.selection, &args.roots, &params)
    };
    ui.redirect(args.output.output.as_deref());
    let header = if let Some(least) = args.rules.interesting {
        print_interesting(
            ui,
            args,
            parameters,
            answer.header,
            &grouping,
            least,
            &errors,
        )?
    } else {
        let mut found = groups(&grouping, args, threshold)?;
        if let Some(of) = of {
            found.retain(|group| of.is_some_and(|of| group.has(of)));
        }
        let header = cut(answer.header, &mut found, args.selection.top);
        print(
            ui,
            args,
            parameters,
            header.clone(),
            &grouping,
            &found,
            &errors,
        )?;
        header
    };
    end(ui, backend, &header, &errors, args.selection.top)
}

/// Returns the real path of the file that `--of` names. The file need not exist if it is in an
/// export.
fn real_of(of: &Path, roots: &[Named]) -> CliResult<PathBuf> {
    let exported = || {
        let exports = roots.iter().filter(|root| is_export(&root.real));
        let mut paths =
            exports.map(|root| Some(root.real.join(of.strip_prefix(&root.shown).ok()?)));
        paths.find_map(|path| path)
    };
    fs::canonicalize(of)
        .or_else(|source| exported().ok_or_else(|| CliError::file("look at", of)(source)))
}

/// Returns the index of the set with this name.
fn place_of_set(sets: &[MethodFileRow], name: &Path) -> CliResult<u32> {
    let absent = || CliError::file("look at", name)(io::ErrorKind::NotFound.into());
    place_of(sets, name).ok_or_else(absent)
}

fn place_of(files: &[MethodFileRow], path: &Path) -> Option<u32> {
    let mut places = (0..).zip(files);
    let found = places.find(|(_, file)| file.path.as_path() == path);
    found.map(|(place, _)| place)
}

/// Returns the index of the file with this real path, if there is one.
fn place_of_file(files: &[MethodFileRow], real: &Path) -> Option<u32> {
    let inode = |path: &Path| {
        let metadata = fs::metadata(path).ok()?;
        Some((metadata.dev(), metadata.ino()))
    };
    // If a file has several hard links, its row has only the first of their paths in sorted order.
    // So the file is also looked up by its inode.
    place_of(files, real).or_else(|| {
        let own = inode(real)?;
        let mut places = (0..).zip(files);
        let found = places.find(|(_, file)| inode(file.path.as_path()) == Some(own));
        found.map(|(place, _)| place)
    })
}

/// Returns whether this method groups by clustering on disk.
const fn is_clustered(chosen: &ChosenMethod) -> bool {
    matches!(chosen.method, Method::Shingle | Method::SuperShingle)
}

/// Makes the question whose answer is then divided into groups.
fn question(
    chosen: &ChosenMethod,
    args: &GroupsArgs,
    limits: MethodLimits,
) -> CliResult<MethodQuestion> {
    if !is_clustered(chosen) {
        return Ok(MethodQuestion::Groups(limits));
    }
    let rules = &args.rules;
    let work = match &rules.work {
        None => None,
        Some(path) => Some(std::path::absolute(path).map_err(|source| CliError::File {
            verb: "work in",
            path: path.clone(),
            source,
        })?),
    };
    let clusters = MethodClusters {
        min: limits.min,
        contained: rules.contained.map(figure_of).unwrap_or_default(),
        common: rules.common,
        memory: args.memory,
        every: rules.size_ratio.is_some()
            || rules.same_suffix
            || rules.same_type
            || rules.only.is_some()
            || rules.filter_cmd.is_some(),
        work,
    };
    check_clusters(&chosen.params, &clusters).map_err(refused)?;
    Ok(MethodQuestion::Clusters(clusters))
}

/// Prints the most frequent of the ignored shingles.
fn print_common(ui: &mut Ui, args: &GroupsArgs, grouping: &GroupsAnswer) -> CliResult<()> {
    let Some(first) = grouping.common.first() else {
        return Ok(());
    };
    let most = args.rules.common.unwrap_or(1000);
    let heading = format!(
        "{} in more than {most} files {} ignored; the commonest:",
        counted(first.all, "shingle"),
        if first.all == 1 { "is" } else { "are" }
    );
    let mut lines = vec![Vec::new(), vec![Cell::left(heading, Tint::Heading)]];
    for one in &grouping.common {
        let text = one.text.as_ref().unwrap_or(&one.shingle);
        lines.push(vec![
            Cell::right(one.documents.to_string(), Tint::Plain),
            Cell::left(text.clone(), Tint::Plain),
        ]);
    }
    ui.lines(&lines, b'\n')
}

/// Refuses options that the method does not have, before any file is read.
fn check(chosen: &ChosenMethod, args: &GroupsArgs) -> CliResult<()> {
    let wrong = |why: String| Err(CliError::Usage(why));
    let given = [
        ("--memory", args.memory.is_some()),
        ("--common", args.rules.common.is_some()),
        ("--contained", args.rules.contained.is_some()),
        ("--work", args.rules.work.is_some()),
    ];
    if let Some((option, _)) = given
        .iter()
        .find(|(_, given)| *given && !is_clustered(chosen))
    {
        return wrong(format!(
            "{option} is for clusters of shingle and super-shingle; {} groups by pairs in memory",
            chosen.method
        ));
    }
    let is_sif = matches!(chosen.method, Method::Sif | Method::SifAnchors);
    if !is_sif && (args.rules.interesting.is_some() || args.degree.is_some()) {
        return wrong(format!(
            "--interesting and --degree are for the fingerprints of sif; {} groups by pairs",
            chosen.method
        ));
    }
    Ok(())
}

/// Returns the limit that `--degree` sets for sif, or `None` without this option. A fingerprint is
/// ignored if the number of files that have it exceeds the limit.
fn most_members(args: &GroupsArgs, files: usize) -> Option<u32> {
    use resemble_proto::message::Degree;
    match args.degree? {
        Degree::Usual => Some(1000),
        Degree::Half => Some((files / 2) as u32),
        Degree::Over(degree) => Some(degree),
    }
}

fn groups(
    grouping: &GroupsAnswer,
    args: &GroupsArgs,
    threshold: Threshold,
) -> CliResult<Vec<SimilarFiles>> {
    let threshold = match (min_of(&args.selection).value(), threshold) {
        (Some(min), _) => min,
        (None, Threshold::Score(least)) => least,
        (None, Threshold::SharedBytes(_)) => 0.0,
    };
    let most = most_members(args, grouping.files.len());
    let rules = PairRules {
        size_ratio: args
            .rules
            .size_ratio
            .and_then(Fraction::score)
            .map(resemble_core::Score::get),
        same_suffix: args.rules.same_suffix,
        same_type: args.rules.same_type,
        only: args.rules.only.clone(),
    };
    let facts = |file: u32| {
        let file = &grouping.files[file as usize];
        FileFacts {
            path: file.path.as_bytes(),
            size: file.size,
            text: file.text,
        }
    };
    let by_rules = |a: u32, b: u32| rules.accept(&facts(a), &facts(b));
    if let Some(command) = &args.rules.filter_cmd {
        // The files are grouped twice. The first pass collects the pairs that could be in one
        // group. The program of `--filter-cmd` is then asked about these pairs. The second pass
        // groups the files by the program's answers.
        let candidates: RefCell<HashSet<FilePair>> = RefCell::default();
        let collect = |a: u32, b: u32| {
            let may = by_rules(a, b);
            if may {
                candidates.borrow_mut().insert((a, b));
            }
            may
        };
        clusters::groups(grouping, threshold, most, Some(&collect));
        let name = |file: u32| grouping.files[file as usize].path.as_bytes();
        let accepted = filter::run(command, &candidates.into_inner(), &name)?;
        let is_accepted = |a: u32, b: u32| accepted.contains(&(a, b));
        return Ok(clusters::groups(
            grouping,
            threshold,
            most,
            Some(&is_accepted),
        ));
    }
    if rules.is_any() {
        return Ok(clusters::groups(grouping, threshold, most, Some(&by_rules)));
    }
    Ok(clusters::groups(grouping, threshold, most, None))
}

fn cut<T>(header: Header, found: &mut Vec<T>, top: Option<u64>) -> Header {
    let total = found.len() as u64;
    if let Some(top) = top {
        found.truncate(usize::try_from(top).unwrap_or(usize::MAX));
    }
    Header {
        total,
        shown: found.len() as u64,
        ..header
    }
}

#[allow(clippy::too_many_arguments)]
fn print(
    ui: &mut Ui,
    args: &GroupsArgs,
    parameters: Parameters,
    header: Header,
    grouping: &GroupsAnswer,
    found: &[SimilarFiles],
    errors: &[SoftError],
) -> CliResult<()> {
    let file = |place: u32| &grouping.files[place as usize];
    if args.output.format == GroupsFormat::Text {
        if found.is_empty() {
            return Ok(());
        }
        ui.page();
        ui.write(|out| {
            writeln!(
                out,
                "The following groups of files are similar. {}",
                parameters.minimum()
            )
        })?;
        for group in found {
            let reference = file(group.reference);
            let line = |first: String, file: &MethodFileRow| {
                let cell = Cell::left(first, Tint::Plain);
                vec![
                    cell.joined(" ", &ui.name(&file.path, Tint::Plain))
                        .followed_by(&format!(" {}", file.size)),
                ]
            };
            let mut lines = vec![Vec::new(), line("R100".to_owned(), reference)];
            for member in &group.members {
                let percent = member.score.percent();
                let percent = percent.map_or("?".to_owned(), |percent| percent.to_string());
                lines.push(line(format!("{percent:>4}"), file(member.file)));
            }
            ui.lines(&lines, b'\n')?;
        }
        return print_common(ui, args, grouping);
    }
    let rows = found.iter().map(|group| GroupRow {
        path: file(group.reference).path.clone(),
        size: file(group.reference).size,
        members: group
            .members
            .iter()
            .map(|member| MemberRow {
                path: file(member.file).path.clone(),
                size: file(member.file).size,
                score: member.score,
                common: member.common,
            })
            .collect(),
    });
    document(ui, args, parameters, header, rows, errors)
}

#[allow(clippy::too_many_arguments)]
fn print_interesting(
    ui: &mut Ui,
    args: &GroupsArgs,
    parameters: Parameters,
    header: Header,
    grouping: &GroupsAnswer,
    least: u64,
    errors: &[SoftError],
) -> CliResult<Header> {
    let most = most_members(args, grouping.files.len());
    let Some(mut found) = clusters::interesting_sets(grouping, least, most) else {
        return Ok(header);
    };
    let header = cut(header, &mut found.sets, args.selection.top);
    if !found.complete {
        ui.note(
            "there are more interesting sets than could be found; with a higher --interesting \
             there are fewer",
        );
    }
    let file = |place: u32| &grouping.files[place as usize];
    if args.output.format == GroupsFormat::Text {
        for set in &found.sets {
            let common = counted(set.common, "fingerprint");
            let heading = format!(
                "{common} common to {}:",
                counted(set.files.len() as u64, "file")
            );
            let mut lines = vec![vec![Cell::left(heading, Tint::Heading)]];
            for &place in &set.files {
                lines.push(vec![
                    Cell::left("   ", Tint::Plain),
                    ui.name(&file(place).path, Tint::Plain),
                    Cell::right(file(place).size.to_string(), Tint::Faint),
                ]);
            }
            lines.push(Vec::new());
            ui.lines(&lines, b'\n')?;
        }
        return Ok(header);
    }
    let rows = found.sets.iter().map(|set| SetRow {
        common: set.common,
        files: set
            .files
            .iter()
            .map(|&place| SetFileRow {
                path: file(place).path.clone(),
                size: file(place).size,
            })
            .collect(),
    });
    document(ui, args, parameters, header.clone(), rows, errors)?;
    Ok(header)
}

fn document<R: Serialize>(
    ui: &mut Ui,
    args: &GroupsArgs,
    parameters: Parameters,
    header: Header,
    rows: impl Iterator<Item = R>,
    errors: &[SoftError],
) -> CliResult<()> {
    let head = Head::new("groups", parameters, header);
    if args.output.format == GroupsFormat::Json {
        return ui.write(|out| write_json(out, &head, "groups", rows, errors));
    }
    ui.write(|out| {
        json_line(out, &head)?;
        for row in rows {
            json_line(out, &row)?;
        }
        errors
            .iter()
            .try_for_each(|error| write_error_line(out, error))
    })
}

impl Parameters {
    /// Returns the threshold in the words of figure 3 of the paper.
    fn minimum(&self) -> String {
        match (self.threshold.value(), self.threshold_bytes) {
            (Some(least), _) => format!("Minimum similarity = {}%", least * 100.0),
            (None, Some(bytes)) => format!("Minimum in common = {bytes} bytes"),
            (None, None) => "Whatever is in common".to_owned(),
        }
    }
}
