//! Prepares plans: reads the present state of the files, and hands it to
//! [`resemble_report::plan`]. That module makes the plan, its rules and its script, and opens no
//! file itself.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use resemble_core::similarity::Templates;
use resemble_core::{Params, Relation};
use resemble_proto::clock::latest_date;
use resemble_proto::documents::{CompareDocument, CoveredDocument, GroupsDocument};
use resemble_proto::message::{ClusterKind, Groups, Layer, Member, reason};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;
use resemble_proto::pattern::Patterns;
use resemble_proto::places::is_in_trash;
use resemble_query::why::{self, RangesOf};
use resemble_relate::AskError;
use resemble_relate::prove::read::digest_of;
use resemble_relate::renditions::{self, ways_into};
use resemble_report::plan::{
    FileState, KeepRule, Loss, Means, PathKind, Plan, Superseding, Time, Treatment, Trees,
};
use resemble_report::quote::quoted;
use resemble_report::rows::ConflictRow;
use resemble_report::saved::{self, Picked, Saved, SavedMarks};
use resemble_scan::parts::PartReader;
use resemble_scan::walk::{Anchor, Kind};

use crate::blocks;
use crate::error::{CliError, CliResult};
use crate::names::{self, Named, ShownNames};

/// Makes the plan for the sets of identical files. With `near`, near copies are removed, too. The
/// first part of `near` is a share: the file that stays must contain at least this share of a near
/// copy. The second part is the reader of documents and archives.
pub fn of_groups(
    document: &GroupsDocument,
    kind: &Treatment,
    (rules, picked): (&[KeepRule], &Picked),
    near: Option<(Fraction, Option<&dyn PartReader>)>,
) -> CliResult<Plan> {
    let mut roots = real(&document.parameters.roots);
    let disk = disk(&document.parameters.roots)?;
    let away = |path: &Path| away(disk.as_deref()?, path);
    roots.extend(disk.as_ref().map(|_| PathBuf::from("@")));
    let links = LinkNames::picked(&roots, document, picked)?;
    let part_reader = near.and_then(|(_, reader)| reader);
    let compare = |copy: &FileState, keep: &FileState| loss(copy, keep, part_reader);
    let means = Means {
        superseded: near.map(|(share, _)| Superseding {
            share,
            compare: &compare,
        }),
        rules: rules.iter().map(real_rule).collect::<CliResult<_>>()?,
        roots: roots.clone(),
        away: &away,
        names: &|file| links.of(file),
        ..means(placed(kind, &roots)?)
    };
    Ok(Plan::of_groups(document, &means))
}

/// Filters the rows of a saved report. The report has only one name of each file. If the filter
/// leaves out that name but admits another name of the file, the other name is taken. The file must
/// still exist.
pub(crate) fn pick_groups(report: &mut Saved<Groups>, picked: &Picked) -> CliResult<()> {
    if !picked.include.is_empty() || !picked.exclude.is_empty() {
        rename_picked(report, picked)?;
    }
    Ok(saved::pick_groups(report, picked)?)
}

fn rename_picked(report: &mut Saved<Groups>, picked: &Picked) -> CliResult<()> {
    let document = &mut report.document;
    let named = here(&document.parameters.roots);
    let roots: Vec<PathBuf> = named.iter().map(|named| named.real.clone()).collect();
    let links = LinkNames::picked(&roots, document, picked)?;
    let shown = ShownNames::of(&named);
    let mut names = HashMap::new();
    let mut note = |path: &PathText, size: u64, time: Option<i64>| {
        // A report may come from another machine, or may be older than the file. So a file with
        // another size or time is not the file of the report.
        let is_it = |file: &FileState| {
            file.size == size && time.is_none_or(|time| time == file.mtime.seconds)
        };
        let Some(file) = look(path.as_path()).ok().filter(is_it) else {
            return;
        };
        let picked = links.of(&file);
        let least = picked.iter().map(|name| PathText::from(&**name)).min();
        if let Some(least) = least.filter(|_| !picked.contains(&file.path)) {
            names.insert(path.clone(), shown.path(&least));
        }
    };
    for set in &document.body.identical {
        for (at, path) in set.paths.iter().enumerate() {
            note(path, set.size, set.mtimes.get(at).copied());
        }
    }
    for cluster in &document.body.clusters {
        if let Some(container) = &cluster.container {
            note(&container.path, container.size, None);
        }
        for member in &cluster.members {
            note(&member.path, member.size, Some(member.mtime));
        }
    }
    if names.is_empty() {
        return Ok(());
    }
    let mut rename = |path: &mut PathText| {
        // The path of a member begins with the path of its file, so that part is renamed.
        let of_member = || {
            let mut ways = ways_into(path.as_path());
            let (file, way) = ways.find_map(|(file, way)| Some((names.get(&file.into())?, way)))?;
            Some(renditions::shown(file.as_path(), way).into())
        };
        if let Some(name) = names.get(path).cloned().or_else(of_member) {
            *path = name;
        }
    };
    each_path(&mut document.body, &mut rename);
    for pair in &mut report.evidence {
        rename(&mut pair.a);
        rename(&mut pair.b);
    }
    for (path, _) in report.links.iter_mut().flatten() {
        rename(path);
    }
    for set in &mut document.body.identical {
        let mut places: Vec<usize> = (0..set.paths.len()).collect();
        places.sort_by_key(|&at| &set.paths[at]);
        set.select(&places);
    }
    // Members with equal scores are sorted by name again. The members of a family stay in the order
    // of its steps.
    let clusters = document.body.clusters.iter_mut();
    for cluster in clusters.filter(|_| !document.parameters.family) {
        let is_by_time = cluster.kind == ClusterKind::Versions;
        let rank = |member: &Member| {
            let score = member.a_in_b.max(member.b_in_a);
            (score, member.a_in_b, is_by_time.then_some(member.mtime))
        };
        let equal = cluster.members.chunk_by_mut(|a, b| rank(a) == rank(b));
        equal.for_each(|members| members.sort_by(|a, b| a.path.cmp(&b.path)));
    }
    Ok(())
}

/// Calls `change` with every path of an answer.
pub(crate) fn each_path(body: &mut Groups, change: &mut dyn FnMut(&mut PathText)) {
    for set in &mut body.identical {
        set.paths.iter_mut().for_each(&mut *change);
    }
    for cluster in &mut body.clusters {
        change(&mut cluster.center);
        if let Some(container) = &mut cluster.container {
            change(&mut container.path);
        }
        for member in &mut cluster.members {
            change(&mut member.path);
        }
        for link in &mut cluster.links {
            change(&mut link.a);
            change(&mut link.b);
        }
    }
}

/// Makes the plan for the conflicts below `roots`. The paths of the roots are as the user gave
/// them.
pub fn of_conflicts(roots: &[PathText], rows: &[ConflictRow], kind: &Treatment) -> CliResult<Plan> {
    let real = real(roots);
    let means = Means {
        roots: real.clone(),
        ..means(placed(kind, &real)?)
    };
    Ok(Plan::of_conflicts(roots, rows, &means))
}

/// Makes the plan for the files of a directory that are covered, or for the files that are missing
/// elsewhere.
pub fn of_covered(document: &CoveredDocument, kind: &Treatment) -> CliResult<Plan> {
    let dir = real(std::slice::from_ref(&document.parameters.dir));
    let mut kept_out = dir.clone();
    if matches!(kind, Treatment::Move(_)) {
        kept_out.extend(real(&document.parameters.by));
    }
    let disk = disk(&document.parameters.by)?;
    let means = Means {
        roots: dir,
        away: &|path| away(disk.as_deref()?, path),
        ..means(placed(kind, &kept_out)?)
    };
    Ok(Plan::of_covered(document, &means))
}

/// Makes the plan that gives the files of B the names that they have in A.
pub fn of_compare(document: &CompareDocument) -> CliResult<Plan> {
    let parameters = &document.parameters;
    let dir = |path: &PathText| {
        let path = path.as_path();
        let dir = fs::canonicalize(path).map_err(CliError::file("look into", path))?;
        let no_dir = || CliError::file("look into", path)(io::ErrorKind::NotADirectory.into());
        dir.is_dir().then_some(dir).ok_or_else(no_dir)
    };
    let b = dir(&parameters.b)?;
    let is_recorded = names::required(parameters.a.as_path())?.is_catalogued();
    let a = if is_recorded {
        PathBuf::new()
    } else {
        dir(&parameters.a)?
    };
    if !is_recorded && (a.starts_with(&b) || b.starts_with(&a)) {
        let why = "--plan rename is for two directories that are not inside each other";
        return Err(CliError::Usage(why.to_owned()));
    }
    let all_classes = parameters.classes.is_empty() && parameters.common.top.is_none();
    if !all_classes {
        let why = "--plan rename needs every row: make the report without --class and --top";
        return Err(CliError::Usage(why.to_owned()));
    }
    let common = &parameters.common;
    // A catalogue records only files, so a folder without files does not count as a folder of A.
    let files = document.body.entries.iter();
    let files = files.filter_map(|row| is_recorded.then_some(row.a.as_ref()?.as_path()));
    let recorded: HashSet<&Path> = files.flat_map(|file| file.ancestors().skip(1)).collect();
    let trees = Trees {
        at_a: &|path| match recorded.contains(path) {
            true => PathKind::Folder(0, 0),
            false if is_recorded => PathKind::Nothing,
            false => kind_at(&a.join(path)),
        },
        at_b: &|path| kind_at(&b.join(path)),
        in_b: &|path| {
            let entries = fs::read_dir(b.join(path)).ok()?;
            let paths = entries.map(|entry| Some(path.join(entry.ok()?.file_name())));
            paths.collect()
        },
        b: b.clone(),
        is_whole: common.include.is_empty() && common.exclude.is_empty() && common.min_size == 0,
    };
    Ok(Plan::of_compare(
        document,
        &trees,
        &means(Treatment::Rename),
    ))
}

/// Returns the [`Means`] that most plans need. All files are on this machine, and other names of
/// these files are not known.
fn means(kind: Treatment) -> Means<'static> {
    Means {
        kind,
        rules: Vec::new(),
        latest: latest_date(),
        roots: Vec::new(),
        look: &look,
        away: &|_| None,
        names: &|_| Vec::new(),
        share_blocks: &blocks::are_shared,
        superseded: None,
    }
}

/// Computes what is lost if a near copy is removed and the other file stays. `why` prints the same
/// figures, so boilerplate counts like any other text.
fn loss(
    copy: &FileState,
    keep: &FileState,
    part_reader: Option<&dyn PartReader>,
) -> Result<Loss, String> {
    let failed = |error: AskError| match error {
        AskError::Unreadable { source, .. } => reason(&source),
        other => other.to_string(),
    };
    let digest = |file: &FileState| digest_of(&file.path).map_err(failed);
    let digests = [digest(keep)?.to_string(), digest(copy)?.to_string()];
    let terms = (&Params::default(), &Templates::default());
    let compared = why::compare_with_parts(&copy.path, &keep.path, terms, part_reader);
    let shared = compared.map_err(failed)?.shared;
    for file in [copy, keep] {
        if look(&file.path)?.identity() != file.identity() {
            return Err("it or the file that stays has changed".to_owned());
        }
    }
    if !shared.members.is_empty() {
        return Err("archives and mails are compared by their members".to_owned());
    }
    if shared.ranges_of == RangesOf::Chunks {
        return Err("it or the file that stays is too large to be compared whole".to_owned());
    }
    // For texts, the share counts words. Many files may have these words, or the words may be in
    // another order. So the share is at most that of the bytes.
    let [share, of_bytes] = [shared.told().0.a_in_b, shared.measures.a_in_b].map(Fraction::from);
    Ok(Loss {
        held: share.min(of_bytes),
        bytes: shared.differing_bytes().0,
        places: shared.differs_a.len() as u64,
        is_whole: shared.whole_in_order().0,
        is_of_text: shared.layer != Layer::Bytes,
        is_same_text: shared.relation == Some(Relation::SameText),
        digests,
    })
}

/// Returns the path that a file of a catalogue has in a script. `@` means the directory that `--at`
/// names.
fn away(disk: &Path, path: &Path) -> Option<PathBuf> {
    let below = path.as_os_str().as_bytes();
    let below = below.strip_prefix(disk.as_os_str().as_bytes())?;
    let below = below.strip_prefix(b"/")?;
    Some(Path::new("@").join(OsStr::from_bytes(below)))
}

/// Returns the catalogue among these paths, with its colon. A plan is for the files of at most one
/// catalogue.
fn disk(roots: &[PathText]) -> CliResult<Option<PathBuf>> {
    let found = roots
        .iter()
        .filter_map(|root| names::required(root.as_path()).ok());
    let mut found = found.filter(Named::is_catalogued).map(|named| named.shown);
    let disk = found.next();
    if found.next().is_some() {
        let why = "a plan is for the files of one catalogue at most";
        return Err(CliError::Usage(why.to_owned()));
    }
    Ok(disk)
}

/// Returns the real paths of those paths that exist on this machine.
fn real(paths: &[PathText]) -> Vec<PathBuf> {
    here(paths).into_iter().map(|named| named.real).collect()
}

/// Returns those paths that exist on this machine. Paths in a catalogue are left out.
fn here(paths: &[PathText]) -> Vec<Named> {
    let named = paths.iter().map(|path| names::required(path.as_path()));
    let named = named.filter_map(Result::ok);
    named.filter(|named| !named.is_catalogued()).collect()
}

/// Replaces the target directory of a treatment by its real path. The directory need not exist yet,
/// but must lie outside the roots.
fn placed(kind: &Treatment, roots: &[PathBuf]) -> CliResult<Treatment> {
    let Some(given) = kind.target() else {
        return Ok(kind.clone());
    };
    let absolute = std::path::absolute(given).map_err(CliError::file("look at", given))?;
    let there = absolute.ancestors().find(|path| path.exists());
    let there = there.unwrap_or(Path::new("/"));
    let below = absolute.strip_prefix(there).unwrap_or(Path::new(""));
    let real = fs::canonicalize(there).map_err(CliError::file("look at", there))?;
    let dir = if below.as_os_str().is_empty() {
        real
    } else {
        real.join(below)
    };
    let word = kind.word();
    if dir.exists() && !dir.is_dir() {
        return Err(CliError::Usage(format!(
            "--plan {word}={}: not a directory",
            quoted(given)
        )));
    }
    if below
        .components()
        .any(|part| part == std::path::Component::ParentDir)
    {
        return Err(CliError::Usage(format!(
            "--plan {word}={}: no such path",
            quoted(given)
        )));
    }
    if let Some(root) = roots.iter().find(|root| dir.starts_with(root)) {
        return Err(CliError::Usage(format!(
            "--plan {word}=DIR: {} lies in {}, which is asked about; name a directory outside",
            quoted(given),
            quoted(root)
        )));
    }
    Ok(match kind {
        Treatment::Copy(_) => Treatment::Copy(dir),
        _ => Treatment::Move(dir),
    })
}

fn real_rule(rule: &KeepRule) -> CliResult<KeepRule> {
    let Some(dir) = rule.dir() else {
        return Ok(rule.clone());
    };
    let real = fs::canonicalize(dir).map_err(CliError::file("look at", dir))?;
    Ok(rule.clone().with_dir(real))
}

/// Finds all names of files with several hard links, below the roots of a question. An answer has
/// only one name of each file, but a plan needs all. The roots are searched when the first such
/// file is looked up.
struct LinkNames<'a> {
    roots: &'a [PathBuf],
    /// A name is returned only if all of these patterns admit it.
    patterns: Vec<Patterns>,
    names: OnceCell<HashMap<(u64, u64), Vec<PathBuf>>>,
}

impl<'a> LinkNames<'a> {
    fn below(roots: &'a [PathBuf], include: &[String], exclude: &[String]) -> CliResult<Self> {
        Ok(Self {
            roots,
            patterns: vec![Patterns::new(include, exclude)?],
            names: OnceCell::new(),
        })
    }

    /// Finds only names that both the question of the report and `picked` admit.
    fn picked(roots: &'a [PathBuf], document: &GroupsDocument, picked: &Picked) -> CliResult<Self> {
        let common = &document.parameters.common;
        let mut links = Self::below(roots, &common.include, &common.exclude)?;
        let picked = Patterns::new(&picked.include, &picked.exclude)?;
        links.patterns.push(picked);
        Ok(links)
    }

    fn of(&self, file: &FileState) -> Vec<PathBuf> {
        if file.links < 2 {
            return Vec::new();
        }
        let names = self.names.get_or_init(|| {
            let mut names = HashMap::new();
            for root in self.roots {
                self.gather(root, &mut names);
            }
            names
        });
        names
            .get(&(file.dev, file.inode))
            .cloned()
            .unwrap_or_default()
    }

    fn gather(&self, root: &Path, names: &mut HashMap<(u64, u64), Vec<PathBuf>>) {
        let Ok(anchor) = Anchor::open(root) else {
            // This root is not a directory but a file that the user named. Only `--include` can
            // leave it out.
            if let Ok(meta) = fs::symlink_metadata(root)
                && !self.patterns.iter().any(Patterns::includes_some)
            {
                let names = names.entry((meta.dev(), meta.ino())).or_default();
                names.push(root.to_owned());
            }
            return;
        };
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            // Names in a folder that cannot be listed stay unknown. A plan leaves out a file if
            // some of its names are unknown.
            let listed = anchor.dir(&folder).and_then(|dir| dir.list(&|_| false));
            for found in listed.into_iter().flatten() {
                let path = folder.join(&found.name);
                let Ok(stat) = found.stat else { continue };
                let below = path.strip_prefix(root).unwrap_or(&path);
                match stat.kind {
                    Kind::Dir => folders.push(path),
                    Kind::File
                        if stat.nlink > 1
                            && self.patterns.iter().all(|one| one.admit(below))
                            && !is_in_trash(&path) =>
                    {
                        names.entry((stat.dev, stat.ino)).or_default().push(path);
                    }
                    _ => {}
                }
            }
        }
    }
}

/// Returns the kind of object at a path, without following a link.
fn kind_at(path: &Path) -> PathKind {
    match fs::symlink_metadata(path) {
        Err(_) => PathKind::Nothing,
        Ok(meta) if meta.is_dir() => PathKind::Folder(meta.dev(), meta.ino()),
        Ok(meta) => PathKind::Entry(meta.dev(), meta.ino()),
    }
}

/// Makes the plan for files that were marked on the screen. The first file of each pair stays.
#[cfg(feature = "ui")]
pub(crate) fn of_screen(pairs: &[(PathText, PathText)], kind: Treatment) -> Plan {
    let pairs = pairs.iter().map(|(keep, copy)| (keep, copy));
    Plan::of_pairs("ui".to_owned(), pairs, &means(kind))
}

/// Makes the plan for files that were marked in a page.
pub(crate) fn of_page(marks: &SavedMarks, kind: &Treatment) -> CliResult<Plan> {
    let roots = real(&marks.roots);
    let links = LinkNames::below(&roots, &marks.include, &marks.exclude)?;
    let means = Means {
        roots: roots.clone(),
        names: &|file| links.of(file),
        ..means(placed(kind, &roots)?)
    };
    Ok(Plan::of_pairs(
        "groups --from MARKS".to_owned(),
        marks.pairs(),
        &means,
    ))
}

/// Reads the present state of a file. If the file cannot be part of a plan, returns the reason in
/// words.
fn look(path: &Path) -> Result<FileState, String> {
    let failed = |error: io::Error| reason(&error);
    let name = path.file_name().ok_or("it has no name")?;
    let parent = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    // Links in the path of the folder are followed. The file itself must not be a link.
    let folder = fs::canonicalize(parent).map_err(failed)?;
    let path = folder.join(name);
    let meta = fs::symlink_metadata(&path).map_err(failed)?;
    if !meta.is_file() {
        return Err("it is no regular file".to_owned());
    }
    // A file in a trash cannot even be the copy that stays, because emptying the trash would remove
    // it.
    if is_in_trash(&path) {
        return Err("it lies in the trash".to_owned());
    }
    let attributes = attributes(&path).map_err(|error| failed(error.into()))?;
    Ok(FileState {
        dev: meta.dev(),
        inode: meta.ino(),
        size: meta.size(),
        allocated: blocks::taken(&meta),
        mtime: Time {
            seconds: meta.mtime(),
            nanos: meta.mtime_nsec(),
        },
        ctime: Time {
            seconds: meta.ctime(),
            nanos: meta.ctime_nsec(),
        },
        links: meta.nlink(),
        owner: (meta.uid(), meta.gid()),
        mode: meta.mode() & 0o7777,
        has_attributes: attributes,
        is_away: false,
        stated: None,
        path,
    })
}

/// Returns whether a file has extended attributes that a user or a program set. The label of
/// `SELinux` does not count, because every file has one where the system labels files.
fn attributes(path: &Path) -> rustix::io::Result<bool> {
    let mut names = Vec::with_capacity(65_536);
    match rustix::fs::llistxattr(path, rustix::buffer::spare_capacity(&mut names)) {
        Ok(_) => {}
        Err(rustix::io::Errno::NOTSUP) => return Ok(false),
        Err(error) => return Err(error),
    }
    let mut names = names
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty());
    Ok(names.any(|name| name != b"security.selinux"))
}

#[cfg(test)]
#[path = "plans/tests.rs"]
mod tests;
