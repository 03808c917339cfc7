//! Reads a saved report (`--from`), which is filtered again and printed in any format.
//!
//! Only the document is available. The files, the daemon and the index may no longer exist. So a
//! filter can remove rows but not add any. The filter is recorded in the parameters of the report.
//!
//! 1. A saved report is the output of `--format json`, or a page, which contains the same bytes.
//! 2. Figures that follow from the rows are counted again: sets, overhead, clusters, links. All
//!    other figures stay those of the whole answer: files read, bytes of a comparison, whether a
//!    directory is covered.
//! 3. A cluster that loses members or links is grouped again by the same rules. All members of a
//!    container are kept or removed with it.
//! 4. A report ends with a digest ([`resemble_proto::seal`]). It is refused if the digest is
//!    missing or if any byte was changed.
//! 5. The marks that a page saves are no report. They name files, and say which of them stay
//!    ([`SavedMarks`]).
//! 6. A report of another verb, or with an unknown layout, is refused in one sentence.

mod clusters;
mod marks;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

use resemble_core::Relation;
use resemble_proto::documents::{Body, DirsDocument, Document, SavedBody, SimilarDirs};
use resemble_proto::message::{
    Cluster, CompareClass, Comparison, Coverage, Groups, GroupsSummary, IdenticalSet, OnlyGroups,
    SoftError,
};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;
use resemble_proto::pattern::{BadPattern, Patterns};
use resemble_proto::report::CommonParameters;
use resemble_proto::seal::{self, BrokenSeal, Seal};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use crate::evidence::Evidence;
use crate::quote::harmless;

pub use marks::SavedMarks;

/// A report that was read from a file, or that is about to be printed.
#[derive(Clone, Debug)]
pub struct Saved<B: Body> {
    /// The report.
    pub document: Document<B>,
    /// The similar directories among the same files, if the page has them.
    pub folders: Option<DirsDocument>,
    /// Pairs of files, with their texts side by side, if the page has them.
    pub evidence: Vec<Evidence>,
    /// Paths of the identical files that have hard links, each with the number of its names, if the
    /// page has them.
    pub links: Option<Vec<(PathText, u64)>>,
    /// The directory from which relative names start, if the page names it.
    pub base: Option<PathText>,
}

/// The parts of a saved report that are kept. A field that is absent or empty keeps everything.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Picked {
    /// Keeps files that match one of these patterns. They have the syntax of .gitignore.
    pub include: Vec<String>,
    /// Drops files that match one of these patterns.
    pub exclude: Vec<String>,
    /// The least score of a row, which is its larger containment.
    pub min: Option<Fraction>,
    /// The least number of shared bytes of a row. Rows of files with the same bytes or the same
    /// text are always kept.
    pub min_shared: Option<u64>,
    /// The least size of a file.
    pub min_size: Option<u64>,
    /// Keeps only this many rows, from the first on.
    pub top: Option<u64>,
    /// Keeps only these classes of a comparison.
    pub classes: Vec<CompareClass>,
    /// Keeps only these groups.
    pub only: OnlyGroups,
}

impl Picked {
    /// Returns whether anything except `top` and `only` removes rows.
    fn is_filter(&self) -> bool {
        let (top, only) = (self.top, self.only);
        *self
            != Self {
                top,
                only,
                ..Self::default()
            }
    }
}

/// The fields that identify a report.
#[derive(Deserialize)]
struct Envelope<'a> {
    schema: u32,
    #[serde(borrow)]
    command: Cow<'a, str>,
    #[serde(default, rename = "errors")]
    end: Option<IgnoredAny>,
}

#[derive(Default, Deserialize)]
struct PageExtra {
    #[serde(default)]
    base: Option<PathText>,
    #[serde(default)]
    links: Option<Vec<(PathText, u64)>>,
    #[serde(default)]
    evidence: Vec<Evidence>,
}

/// The reason why a file cannot be read as a saved report. The message continues a sentence that
/// begins with the name of the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SavedError {
    /// The file is no saved report. It may be a letter, an archive or a workbook. It may also be a
    /// page or JSON of another program.
    #[error(
        "is not a saved report of resemble; `resemble {verb} … -o FILE` with --format json or html \
         makes one"
    )]
    NotSaved {
        /// The expected verb.
        verb: &'static str,
    },
    /// The report is cut short or was changed. The message of the JSON parser is escaped.
    #[error("is damaged: {0}")]
    Damaged(String),
    /// A report without a digest.
    #[error("has no digest at its end: it was cut short, or an earlier version wrote it")]
    NoDigest,
    /// A report that was changed after it was written.
    #[error("was changed after it was written: its digest is another")]
    Changed,
    /// A report of `--format jsonl`.
    #[error("has an object a line (jsonl); a saved report is one of --format json or html")]
    Lines,
    /// The report of another verb.
    #[error("is a report of `{found}`, not of `{expected}`")]
    OtherVerb {
        /// The verb of the report. Control characters in it are escaped.
        found: String,
        /// The expected verb.
        expected: &'static str,
    },
    /// The report has a layout that this program does not know.
    #[error(
        "has layout {found}; this program reads layout {}",
        resemble_proto::SCHEMA
    )]
    OtherLayout {
        /// The layout of the report.
        found: u32,
    },
}

impl<B: SavedBody> Saved<B> {
    /// Reads a saved report of the verb whose body is `B`.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are not a report of this verb, or its digest is missing or wrong.
    pub fn parse(bytes: &[u8]) -> Result<Self, SavedError> {
        let (report, seal) = Self::read(bytes)?;
        match seal.check(bytes) {
            Ok(()) => Ok(report),
            Err(BrokenSeal::Missing) => Err(SavedError::NoDigest),
            Err(BrokenSeal::Wrong) => Err(SavedError::Changed),
        }
    }

    /// Returns the report in these bytes, and the form in which its digest must follow. Does not
    /// check the digest.
    fn read(bytes: &[u8]) -> Result<(Self, Seal), SavedError> {
        let start = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
        match start {
            Some(b'{') => {
                let report = Self {
                    document: known::<B>(bytes)?,
                    folders: None,
                    evidence: Vec::new(),
                    links: None,
                    base: None,
                };
                return Ok((report, seal::JSON));
            }
            Some(b'<') => {}
            _ => return Err(not_saved::<B>()),
        }
        let block = |id| block(bytes, id).filter(|json| !json.is_empty());
        let document = block("document").ok_or_else(not_saved::<B>)?;
        let document = known::<B>(document)?;
        let extra: PageExtra = block("extra").map(json).transpose()?.unwrap_or_default();
        let report = Self {
            document,
            folders: block("folders").map(json).transpose()?,
            evidence: extra.evidence,
            links: extra.links,
            base: extra.base,
        };
        Ok((report, seal::PAGE))
    }
}

/// Returns the data block with this id of a page. The block ends at the next `</script>`, because
/// the data contain no `<`.
fn block<'a>(page: &'a [u8], id: &str) -> Option<&'a [u8]> {
    let open = format!("<script type=\"application/json\" id=\"{id}\">");
    let at = find(page, open.as_bytes())? + open.len();
    let rest = &page[at..];
    Some(&rest[..find(rest, b"</script>")?])
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

fn json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, SavedError> {
    serde_json::from_slice(bytes).map_err(|error| damaged(&error))
}

fn damaged(error: &serde_json::Error) -> SavedError {
    SavedError::Damaged(harmless(&error.to_string()))
}

const fn not_saved<B: SavedBody>() -> SavedError {
    SavedError::NotSaved { verb: B::COMMAND }
}

fn known<B: SavedBody>(bytes: &[u8]) -> Result<Document<B>, SavedError> {
    let known: Envelope<'_> = match serde_json::from_slice(bytes) {
        Ok(known) => known,
        Err(error) if error.is_data() => return Err(not_saved::<B>()),
        // The first line is a complete object and the second line begins another object. So the
        // file has JSON lines.
        Err(error) if error.is_syntax() && error.line() == 2 && error.column() == 1 => {
            return Err(SavedError::Lines);
        }
        // The file begins with a brace, but has no `"schema"`. So it is not a document of
        // `resemble`.
        Err(error) if error.is_syntax() && find(bytes, b"\"schema\"").is_none() => {
            return Err(not_saved::<B>());
        }
        Err(error) => return Err(damaged(&error)),
    };
    if known.command != B::COMMAND {
        return Err(SavedError::OtherVerb {
            found: harmless(&known.command),
            expected: B::COMMAND,
        });
    }
    if known.schema != resemble_proto::SCHEMA {
        return Err(SavedError::OtherLayout {
            found: known.schema,
        });
    }
    if known.end.is_none() {
        return Err(SavedError::Lines);
    }
    json(bytes)
}

/// Decides which files are kept, by their paths.
struct Names {
    patterns: Patterns,
    /// The directories that the question named. Patterns match the paths below these directories,
    /// as in the question.
    roots: Vec<PathText>,
}

impl Names {
    fn new(picked: &Picked, roots: &[PathText]) -> Result<Self, BadPattern> {
        Ok(Self {
            patterns: Patterns::new(&picked.include, &picked.exclude)?,
            roots: roots.to_vec(),
        })
    }

    /// Returns whether a file of this name is kept.
    fn admit(&self, path: &PathText) -> bool {
        self.admit_by(path, Patterns::admit)
    }

    /// Returns whether a folder of this name is kept.
    fn admit_folder(&self, path: &PathText) -> bool {
        self.admit_by(path, Patterns::admit_folder)
    }

    fn admit_by(&self, path: &PathText, admit: fn(&Patterns, &Path) -> bool) -> bool {
        let path = path.as_path();
        let roots = self.roots.iter();
        let below = roots.filter_map(|root| path.strip_prefix(root).ok());
        let below = below
            .min_by_key(|below| below.as_os_str().len())
            .or_else(|| path.strip_prefix("/").ok())
            .unwrap_or(path);
        let below: PathBuf = below
            .components()
            .filter(|part| !matches!(part, Component::CurDir | Component::ParentDir))
            .collect();
        if below.as_os_str().is_empty() {
            return !self.patterns.includes_some();
        }
        admit(&self.patterns, &below)
    }
}

/// Records the filter in the parameters of the report.
fn record(parameters: &mut CommonParameters, picked: &Picked) {
    parameters.include.extend(picked.include.iter().cloned());
    parameters.exclude.extend(picked.exclude.iter().cloned());
    parameters.min = parameters.min.max(picked.min.unwrap_or_default());
    parameters.min_shared = parameters.min_shared.max(picked.min_shared.unwrap_or(0));
    parameters.min_size = parameters.min_size.max(picked.min_size.unwrap_or(0));
    parameters.top = least(parameters.top, picked.top);
}

fn least(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// Returns whether the shares and the shared bytes of a row are large enough. For files with the
/// same text, `shared` is `None`. As in an answer, only their shares are compared.
fn has_enough(picked: &Picked, a_in_b: Fraction, b_in_a: Fraction, shared: Option<u64>) -> bool {
    let least = picked.min_shared.zip(shared);
    picked.min.is_none_or(|min| a_in_b.max(b_in_a) >= min)
        && least.is_none_or(|(least, shared)| shared >= least)
}

fn cut<T>(rows: &mut Vec<T>, top: Option<u64>) {
    if let Some(top) = top {
        rows.truncate(usize::try_from(top).unwrap_or(usize::MAX));
    }
}

/// Keeps the errors about files and folders whose names are kept.
fn pick_errors(errors: &mut Vec<SoftError>, names: &Names) {
    errors.retain(|error| names.admit(&error.path) && names.admit_folder(&error.path));
}

/// Filters a report of `groups`.
///
/// # Errors
///
/// Fails if one of the patterns is not valid.
pub fn pick_groups(saved: &mut Saved<Groups>, picked: &Picked) -> Result<(), BadPattern> {
    let Saved {
        document,
        folders,
        evidence,
        links,
        ..
    } = saved;
    let names = Names::new(picked, &document.parameters.roots)?;
    record(&mut document.parameters.common, picked);
    pick_errors(&mut document.errors, &names);
    evidence.retain(|pair| names.admit(&pair.a) && names.admit(&pair.b));
    if let Some(links) = links {
        links.retain(|(path, _)| names.admit(path));
    }
    if let Some(folders) = folders {
        pick_pairs(folders, picked, &names);
    }
    // The clusters are filtered before sets are removed: a removed member is replaced by one of its
    // copies, and the sets name the copies.
    if picked.is_filter() {
        filter_groups(&mut document.body, picked, &names);
    }
    if picked.only != OnlyGroups::All {
        document.parameters.only = picked.only;
        pick_only(&mut document.body, picked.only);
        if picked.only == OnlyGroups::Identical {
            evidence.clear();
        }
    }
    if picked.is_filter() || picked.only != OnlyGroups::All {
        let summary = &document.body.summary;
        document.header.total = summary.sets + summary.clusters;
    }
    let body = &mut document.body;
    cut(&mut body.identical, picked.top);
    cut(&mut body.clusters, picked.top);
    document.header.shown = (body.identical.len() + body.clusters.len()) as u64;
    Ok(())
}

/// Removes from an answer all groups that are not of this kind.
fn pick_only(body: &mut Groups, only: OnlyGroups) {
    let all = std::mem::take(&mut body.summary);
    body.summary = if only == OnlyGroups::Identical {
        body.clusters.clear();
        GroupsSummary {
            files: all.files,
            bytes: all.bytes,
            sets: all.sets,
            set_files: all.set_files,
            overhead: all.overhead,
            shared_blocks: all.shared_blocks,
            ..GroupsSummary::default()
        }
    } else {
        body.identical.clear();
        GroupsSummary {
            sets: 0,
            set_files: 0,
            overhead: 0,
            shared_blocks: 0,
            ..all
        }
    };
}

fn filter_groups(body: &mut Groups, picked: &Picked, names: &Names) {
    let min_size = picked.min_size.unwrap_or(0);
    let keep = |path: &PathText, size: u64| size >= min_size && names.admit(path);
    let clusters = std::mem::take(&mut body.clusters).into_iter();
    let pick = |cluster| clusters::pick(cluster, picked, (&body.identical, &keep));
    body.clusters = clusters.flat_map(pick).collect();
    for set in &mut body.identical {
        let kept = (0..set.paths.len()).filter(|&at| names.admit(&set.paths[at]));
        set.select(&kept.collect::<Vec<_>>());
    }
    let files = |set: &IdenticalSet| set.paths.len() as u64;
    body.identical
        .retain(|set| files(set) > 1 && set.size >= min_size);
    body.identical.sort_by_key(|set| Reverse(set.overhead()));
    // The order is that of an answer. If clusters have equal numbers of bytes, clusters of files
    // precede those within containers.
    body.clusters.sort_by(|a, b| {
        let key = |cluster: &Cluster| (Reverse(cluster.bytes), cluster.container.is_some());
        key(a).cmp(&key(b)).then_with(|| a.center.cmp(&b.center))
    });

    let summary = &mut body.summary;
    summary.sets = body.identical.len() as u64;
    summary.set_files = body.identical.iter().map(files).sum();
    summary.overhead = body.identical.iter().map(IdenticalSet::overhead).sum();
    summary.shared_blocks = body.identical.iter().map(IdenticalSet::shared_blocks).sum();
    summary.clusters = body.clusters.len() as u64;
    summary.cluster_files = body.clusters.iter().map(|c| c.members.len() as u64).sum();
    summary.cluster_bytes = body.clusters.iter().map(|c| c.bytes).sum();
    summary.links = body.clusters.iter().map(|c| c.links.len() as u64).sum();
}

/// Filters a report of `compare`. The totals stay those of all rows.
///
/// # Errors
///
/// Fails if one of the patterns is not valid.
pub fn pick_compare(saved: &mut Saved<Comparison>, picked: &Picked) -> Result<(), BadPattern> {
    let Saved {
        document, evidence, ..
    } = saved;
    let names = Names::new(picked, &[])?;
    record(&mut document.parameters.common, picked);
    pick_errors(&mut document.errors, &names);
    evidence.retain(|pair| names.admit(&pair.a) || names.admit(&pair.b));
    if !picked.classes.is_empty() {
        let classes = &mut document.parameters.classes;
        if classes.is_empty() {
            classes.clone_from(&picked.classes);
        } else {
            classes.retain(|class| picked.classes.contains(class));
        }
    }
    let admit = |a: Option<&PathText>, b: Option<&PathText>| {
        a.into_iter().chain(b).any(|path| names.admit(path))
    };
    let body = &mut document.body;
    body.entries.retain(|row| {
        let equal = matches!(row.class, CompareClass::Same | CompareClass::Moved);
        let both = row.a.is_some() && row.b.is_some();
        let size = row.size_a.max(row.size_b).unwrap_or(0);
        let is_same_text = row.told.relation == Some(Relation::SameText);
        let shared = (!is_same_text).then_some(row.shared_bytes);
        (picked.classes.is_empty() || picked.classes.contains(&row.class))
            && admit(row.a.as_ref(), row.b.as_ref())
            && size >= picked.min_size.unwrap_or(0)
            && (!both || equal || has_enough(picked, row.a_in_b, row.b_in_a, shared))
    });
    body.trees.retain(|tree| {
        (names.admit_folder(&tree.a) || names.admit_folder(&tree.b))
            && picked
                .min
                .is_none_or(|min| tree.a_in_b.max(tree.b_in_a) >= min)
    });
    body.others.retain(|other| names.admit(&other.path));
    if picked.is_filter() {
        document.header.total = body.entries.len() as u64;
    }
    cut(&mut body.entries, picked.top);
    document.header.shown = body.entries.len() as u64;
    Ok(())
}

/// Filters a report of `covered`. The statement whether the directory can be deleted stays as it
/// is, because it is about all files.
///
/// # Errors
///
/// Fails if one of the patterns is not valid.
pub fn pick_covered(saved: &mut Saved<Coverage>, picked: &Picked) -> Result<(), BadPattern> {
    let document = &mut saved.document;
    let parameters = &mut document.parameters;
    let roots: Vec<PathText> = std::iter::once(&parameters.dir)
        .chain(&parameters.by)
        .cloned()
        .collect();
    let names = Names::new(picked, &roots)?;
    let filter = &mut parameters.filter;
    filter.include.extend(picked.include.iter().cloned());
    filter.exclude.extend(picked.exclude.iter().cloned());
    filter.min_size = filter.min_size.max(picked.min_size);
    filter.top = least(filter.top, picked.top);
    pick_errors(&mut document.errors, &names);
    let body = &mut document.body;
    if picked.is_filter() {
        let keep =
            |path: &PathText, size| size >= picked.min_size.unwrap_or(0) && names.admit(path);
        // The report does not have the sizes of near copies, so they cannot be filtered by size.
        // But each near copy also has a row among the missing files. It is kept if that row is
        // kept.
        body.missing.retain(|row| keep(&row.path, row.size));
        let stays: HashSet<&PathText> = body.missing.iter().map(|row| &row.path).collect();
        body.near.retain(|row| stays.contains(&row.path));
        for list in [&mut body.linked, &mut body.copies, &mut body.recorded] {
            list.retain(|pair| keep(&pair.path, pair.size));
        }
        document.header.total = rows_of(body);
    }
    cut(&mut body.missing, picked.top);
    cut(&mut body.near, picked.top);
    for list in [&mut body.linked, &mut body.copies, &mut body.recorded] {
        cut(list, picked.top);
    }
    document.header.shown = rows_of(body);
    Ok(())
}

/// Returns the number of rows in all lists together.
fn rows_of(body: &Coverage) -> u64 {
    let pairs = body.linked.len() + body.copies.len() + body.recorded.len();
    (body.missing.len() + body.near.len() + pairs) as u64
}

/// Filters a report of `dirs`.
///
/// # Errors
///
/// Fails if one of the patterns is not valid.
pub fn pick_dirs(saved: &mut Saved<SimilarDirs>, picked: &Picked) -> Result<(), BadPattern> {
    let names = Names::new(picked, &saved.document.parameters.roots)?;
    pick_pairs(&mut saved.document, picked, &names);
    Ok(())
}

fn pick_pairs(document: &mut DirsDocument, picked: &Picked, names: &Names) {
    record(&mut document.parameters.common, picked);
    pick_errors(&mut document.errors, names);
    let pairs = &mut document.body.pairs;
    pairs.retain(|row| {
        let shared = Some(row.shared_bytes);
        names.admit_folder(&row.a)
            && names.admit_folder(&row.b)
            && (row.identical || has_enough(picked, row.a_in_b, row.b_in_a, shared))
    });
    if picked.is_filter() {
        document.header.total = pairs.len() as u64;
    }
    cut(pairs, picked.top);
    document.header.shown = pairs.len() as u64;
}

#[cfg(test)]
mod tests;
