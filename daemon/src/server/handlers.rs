//! One function for each question. They run on threads of their own and may block.

use std::fs::File;
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use resemble_core::{ByteLen, Digest, FileId, StopFlag};
use resemble_fs::View;
use resemble_index::Snapshot;
use resemble_proto::catalogued::{is_catalogued, is_label};
use resemble_proto::message::{
    Answer, CoverRow, DirRow, DirsRequest, DumpForm, DumpRow, End, Failure, FailureKind,
    FindRequest, FindRow, GroupsRequest, Header, HolderRow, HoldersRequest, Inode, MountRow,
    MountView, OrderRow, PairRow, PairsRequest, Parts, Reply, Request, RootState, Scope, Subject,
    WatchOrigin, WatchRow, Whole, WireRendition,
};
use resemble_proto::path::PathText;
use resemble_query::AskError;
use resemble_query::find::{self, FindOptions};
use resemble_query::pairs::{self, PairsOptions};
use resemble_query::renditions::Rendition;
use resemble_query::{answer, compare, covered, dirs, groups};
use resemble_scan::fsid::FsIds;
use resemble_scan::ingest::RootOptions;

use super::context::Context;
use super::out::{ClientGone, Out};
use super::status;
use super::templates;
use crate::config::{checked_root, not_nested};
use crate::neighbours::IndexNeighbours;
use crate::overlays::Mount;
use crate::state::{NoSnapshot, Root};

/// Whether a request is answered in no time, so that it need not wait for a question's turn.
pub(super) const fn is_quick(request: &Request) -> bool {
    !matches!(
        request,
        Request::Find(_)
            | Request::Holders(_)
            | Request::Pairs(_)
            | Request::Compare(_)
            | Request::Covered(_)
            | Request::Groups(_)
            | Request::Order(_)
            | Request::Dirs(_)
            | Request::TemplatesMark(_)
            | Request::Dump { .. }
            | Request::DumpAs { .. }
    )
}

/// Answers everything that is no order to the indexer. `stop` ends a question.
pub(super) fn answer(
    context: &Context,
    request: Request,
    stop: &StopFlag,
    out: &mut Out,
) -> Result<(), ClientGone> {
    match request {
        Request::Find(request) => out.answer(find(context, &request, stop)),
        Request::Holders(request) => out.answer(holders(context, &request, stop)),
        Request::Pairs(request) => out.answer(pairs(context, &request, stop)),
        Request::Compare(request) => {
            let paths = [&request.a, &request.b];
            out.answer(whole((context, stop), paths, |snapshot| {
                compare::compare(
                    snapshot,
                    &context.shared.params,
                    &request,
                    &context.compared,
                )
            }))
        }
        Request::Covered(request) => {
            let paths = std::iter::once(&request.dir).chain(&request.by);
            out.answer(whole((context, stop), paths, |snapshot| {
                covered::covered(snapshot, &request)
            }))
        }
        Request::Groups(request) => {
            let request = GroupsRequest {
                scope: or_roots(context, request.scope),
                ..request
            };
            let paths = request.scope.within.iter();
            out.answer(whole((context, stop), paths, |snapshot| {
                groups::groups(snapshot, &request, &context.state)
            }))
        }
        Request::Order(request) => out.answer(order(context, request, stop)),
        Request::Dirs(request) => out.answer(dirs(context, request, stop)),
        Request::TemplatesMark(request) => out.answer(templates::mark(context, request, stop)),
        Request::TemplatesList => out.answer(templates::list(context)),
        Request::TemplatesUnmark { which } => out.answer(templates::unmark(context, &which)),
        Request::Status => {
            let answer = Answer::fresh(vec![status::status(context)], Vec::new());
            out.answer(Ok(with_header(context, answer)))
        }
        Request::Dump { roots } => dump((context, stop), &roots, &DumpForm::Canonical, out),
        Request::DumpAs { roots, form } => dump((context, stop), &roots, &form, out),
        Request::WatchList => {
            let rows = context.shared.roots().into_iter();
            let rows = rows.chain(context.shared.catalogue_roots());
            let rows = rows.map(|root| row_of(&root)).collect();
            out.answer(Ok(Answer::fresh(rows, Vec::new())))
        }
        Request::Mount { path, view } => out.answer(mount(context, &path, view)),
        Request::Unmount { path } => out.answer(unmount(context, path.as_ref())),
        Request::Covers { paths } => out.answer(Ok(covers(context, paths))),
        // Orders and followers are served where they can wait.
        Request::Sync { .. }
        | Request::WatchAdd { .. }
        | Request::Import { .. }
        | Request::WatchRemove { .. }
        | Request::Alerts { .. } => {
            let text = "an order came the way of a question";
            out.answer::<()>(Err(Failure::new(FailureKind::Internal, text)))
        }
    }
}

fn find(
    context: &Context,
    request: &FindRequest,
    stop: &StopFlag,
) -> Result<Answer<FindRow>, Failure> {
    watched(context, &request.scope.within)?;
    let snapshot = snapshot(context, stop)?;
    let (subject, name) = match &request.subject {
        Subject::File(path) => {
            if context.shared.root_of(path.as_path()).is_none() {
                return Err(not_watched(path.as_path()));
            }
            let found = if is_catalogued(path.as_path()) {
                find::Subject::remembered(&snapshot, path.as_path()).map_err(AskError::from)
            } else {
                find::Subject::indexed(&snapshot, path.as_path(), &context.shared.params)
            };
            let subject = found
                .map_err(asked)?
                .ok_or_else(|| not_indexed(path.as_path()))?;
            (subject, path.clone())
        }
        Subject::Content {
            digest,
            name,
            inode,
            others,
        } => {
            let digest = Digest::try_from(digest)
                .map_err(|error| Failure::new(FailureKind::BadRequest, error.to_string()))?;
            let mut subject = find::Subject::of_digest(digest).with_others(renditions(others)?);
            if let Some(file) = inode.and_then(|inode| file_of(context, &snapshot, inode)) {
                subject = subject.is_file(file);
            }
            (subject, name.clone())
        }
    };
    let options = FindOptions {
        scope: judged_below_roots(context, &request.scope),
        min: request.min.score(),
        min_shared: request.min_shared.map(ByteLen),
        top: request.top,
        exact: request.exact,
        unit: request.unit.into(),
        text: request.text,
        part_reader: context.shared.part_reader().cloned(),
    };
    let answer = find::find(&snapshot, &subject, &name, &options).map_err(asked)?;
    Ok(with_header(context, answer))
}

fn holders(
    context: &Context,
    request: &HoldersRequest,
    stop: &StopFlag,
) -> Result<Answer<HolderRow>, Failure> {
    watched(context, &request.scope.within)?;
    let digests = request.digests.iter().map(Digest::try_from);
    let digests = digests
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| Failure::new(FailureKind::BadRequest, error.to_string()))?;
    let snapshot = snapshot(context, stop)?;
    let own = request
        .inode
        .and_then(|inode| file_of(context, &snapshot, inode));
    let roots = context.shared.roots().into_iter();
    let roots = roots.chain(context.shared.catalogue_roots());
    let roots: Vec<PathBuf> = roots.map(|root| root.options.path).collect();
    let scope = judged_below_roots(context, &request.scope);
    let answer = find::holders::candidates(&snapshot, &digests, own, &scope, &roots, request.all);
    Ok(with_header(context, answer.map_err(asked)?))
}

/// What stands for a subject besides its bytes, as a client sent it.
fn renditions(others: &[WireRendition]) -> Result<Vec<(Rendition, Digest)>, Failure> {
    /// One of each kind, and what is packed several times over.
    const MOST: usize = 16;
    if others.len() > MOST {
        let text = format!("more than {MOST} contents stand for the file");
        return Err(Failure::new(FailureKind::BadRequest, text));
    }
    let decoded = others.iter().map(|other| {
        let rendition = Rendition::from(other.stands);
        let digest = if rendition.is_whole() {
            other.digest.sample()
        } else {
            Digest::try_from(&other.digest)
        };
        digest.map(|digest| (rendition, digest))
    });
    decoded
        .collect::<Result<_, _>>()
        .map_err(|error| Failure::new(FailureKind::BadRequest, error.to_string()))
}

fn pairs(
    context: &Context,
    request: &PairsRequest,
    stop: &StopFlag,
) -> Result<Answer<PairRow>, Failure> {
    if request.scope.within.is_empty() {
        return Err(Failure::new(
            FailureKind::BadRequest,
            "pairs needs a directory to look in",
        ));
    }
    watched(context, &request.scope.within)?;
    let options = PairsOptions {
        scope: request.scope.clone(),
        score: request.score,
        min: request.min.score(),
        min_shared: request.min_shared.map(ByteLen),
        top: request.top,
        exact: request.exact,
        unit: request.unit.into(),
        text: request.text,
    };
    let answer = pairs::pairs(&snapshot(context, stop)?, &options).map_err(asked)?;
    Ok(with_header(context, answer))
}

/// An answer of several lists about these paths.
fn whole<'a, P: Parts>(
    (context, stop): (&Context, &StopFlag),
    paths: impl IntoIterator<Item = &'a PathText>,
    question: impl FnOnce(&Snapshot) -> Result<Whole<P>, AskError>,
) -> Result<Answer<P::Part>, Failure> {
    watched(context, paths)?;
    let answer = question(&snapshot(context, stop)?).map_err(asked)?;
    Ok(with_header(context, answer.into_answer()))
}

fn dirs(
    context: &Context,
    request: DirsRequest,
    stop: &StopFlag,
) -> Result<Answer<DirRow>, Failure> {
    let request = DirsRequest {
        scope: or_roots(context, request.scope),
        ..request
    };
    watched(context, &request.scope.within)?;
    let answer = dirs::dirs(&snapshot(context, stop)?, &request).map_err(asked)?;
    Ok(with_header(context, answer))
}

fn order(
    context: &Context,
    request: GroupsRequest,
    stop: &StopFlag,
) -> Result<Answer<OrderRow>, Failure> {
    let request = GroupsRequest {
        scope: or_roots(context, request.scope),
        ..request
    };
    watched(context, &request.scope.within)?;
    let answer =
        groups::order(&snapshot(context, stop)?, &request, &context.state).map_err(asked)?;
    Ok(with_header(context, answer))
}

/// A scope that names nothing is about all roots.
pub(super) fn or_roots(context: &Context, scope: Scope) -> Scope {
    if !scope.within.is_empty() {
        return scope;
    }
    let roots = context.shared.roots();
    let within = roots.iter().map(|root| root.options.path.as_path().into());
    Scope {
        within: within.collect(),
        ..scope
    }
}

/// A scope that names nothing is about the whole index, which needs no list of its files. Patterns
/// and a least size do need one, and are judged below the roots and the catalogues.
fn judged_below_roots(context: &Context, scope: &Scope) -> Scope {
    let is_plain = scope.include.is_empty() && scope.exclude.is_empty() && scope.min_size == 0;
    if is_plain || !scope.within.is_empty() {
        return scope.clone();
    }
    let roots = context.shared.roots().into_iter();
    let roots = roots.chain(context.shared.catalogue_roots());
    Scope {
        within: roots.map(|root| root.options.path.into()).collect(),
        ..scope.clone()
    }
}

/// Sent as it is made: the dump of a large tree is larger than the memory it should take.
fn dump(
    (context, stop): (&Context, &StopFlag),
    roots: &[PathText],
    form: &DumpForm,
    out: &mut Out,
) -> Result<(), ClientGone> {
    let prepared =
        dump_roots(context, roots).and_then(|roots| Ok((roots, snapshot(context, stop)?)));
    let (roots, snapshot) = match prepared {
        Ok(prepared) => prepared,
        Err(failure) => return out.answer::<DumpRow>(Err(failure)),
    };
    if let DumpForm::Catalogue(form) = form
        && !is_label(&form.label)
    {
        let failure = Failure::new(FailureKind::BadRequest, "that cannot be a label");
        return out.answer::<DumpRow>(Err(failure));
    }
    // How many pieces follow is not known before the last.
    let header = Header {
        fresh: context.shared.fresh(),
        pending: context.shared.pending(),
        ..Header::default()
    };
    out.line(&Reply::<DumpRow>::Header(header))?;
    let is_text = !matches!(form, DumpForm::Catalogue(_));
    // Base64 is longer by a third.
    let piece = if is_text {
        DumpRow::PIECE
    } else {
        DumpRow::PIECE / 4 * 3
    };
    let mut waiting: Vec<u8> = Vec::new();
    let mut rows = 0;
    let mut gone = None;
    let mut send = |waiting: &mut Vec<u8>, out: &mut Out| {
        for piece in waiting.chunks(piece) {
            out.line(&Reply::Row(if is_text {
                // The text is ASCII, so any place is a place to cut.
                DumpRow {
                    text: String::from_utf8_lossy(piece).into_owned(),
                }
            } else {
                DumpRow::of_bytes(piece)
            }))?;
            rows += 1;
        }
        waiting.clear();
        Ok(())
    };
    let dumped = answer::dump(&snapshot, &roots, form, &mut |bytes| {
        waiting.extend_from_slice(bytes);
        if waiting.len() < piece {
            return ControlFlow::Continue(());
        }
        match send(&mut waiting, out) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                gone = Some(error);
                ControlFlow::Break(())
            }
        }
    });
    if let Some(gone) = gone {
        return Err(gone);
    }
    if let Err(error) = dumped {
        return out.answer::<DumpRow>(Err(Failure::new(FailureKind::Internal, error.to_string())));
    }
    send(&mut waiting, out)?;
    out.line(&Reply::<DumpRow>::End(End { rows, errors: 0 }))?;
    out.flush()
}

fn dump_roots(context: &Context, roots: &[PathText]) -> Result<Vec<PathBuf>, Failure> {
    if roots.is_empty() {
        return Ok(context
            .shared
            .roots()
            .into_iter()
            .map(|root| root.options.path)
            .collect());
    }
    for root in roots {
        if context.shared.root_of(root.as_path()).is_none() {
            return Err(not_watched(root.as_path()));
        }
    }
    Ok(roots
        .iter()
        .map(|root| root.as_path().to_path_buf())
        .collect())
}

fn mount(context: &Context, path: &PathText, view: MountView) -> Result<Answer<MountRow>, Failure> {
    let mount = Mount {
        point: absolute(path)?,
        view: match view {
            MountView::Folders => View::Folders,
            MountView::Files => View::Files,
        },
        link: None,
    };
    let neighbours = Arc::new(IndexNeighbours::new(Arc::clone(&context.shared)));
    let warning = context
        .overlays
        .mount(&mount, neighbours)
        .map_err(|error| Failure::new(FailureKind::Refused, error.to_string()))?;
    Ok(Answer::fresh(vec![MountRow { warning }], Vec::new()))
}

fn unmount(context: &Context, path: Option<&PathText>) -> Result<Answer<()>, Failure> {
    let path = path.map(absolute).transpose()?;
    context
        .overlays
        .unmount(path)
        .map_err(|error| Failure::new(FailureKind::Refused, error.to_string()))?;
    Ok(Answer::fresh(Vec::new(), Vec::new()))
}

fn covers(context: &Context, paths: Vec<PathText>) -> Answer<CoverRow> {
    let rows = paths
        .into_iter()
        .map(|path| {
            let root = context.shared.root_of(path.as_path());
            let covered = root.is_some_and(|root| root.state != RootState::Unavailable);
            CoverRow { path, covered }
        })
        .collect();
    Answer::fresh(rows, Vec::new())
}

// ---- orders: what is checked before the indexer is asked ---------------------------------------

/// A root to add, as it can be watched.
pub(super) fn new_root(context: &Context, root: RootOptions) -> Result<RootOptions, Failure> {
    let refused =
        |error: crate::config::RootError| Failure::new(FailureKind::Refused, error.to_string());
    absolute(&PathText::from(root.path.as_path()))?;
    let root = checked_root(root, &context.state).map_err(refused)?;
    let roots = context.shared.roots();
    not_nested(
        &root.path,
        roots.iter().map(|other| other.options.path.as_path()),
    )
    .map_err(refused)?;
    Ok(root)
}

/// The root that is meant: as named, or where the name leads.
pub(super) fn known_root(context: &Context, path: PathBuf) -> Result<PathBuf, Failure> {
    let roots = context.shared.roots();
    if is_catalogued(&path) {
        return Ok(path);
    }
    let is_root = |path: &Path| roots.iter().any(|root| root.options.path == path);
    if is_root(&path) {
        return Ok(path);
    }
    match std::fs::canonicalize(&path) {
        Ok(real) if is_root(&real) => Ok(real),
        _ => {
            let text = format!(
                "{} is no root; `resemble watch list` names them",
                path.display()
            );
            Err(Failure::new(FailureKind::Refused, text))
        }
    }
}

/// The row of a root that `watch add` asked for.
pub(super) fn watch_row(root: &RootOptions) -> WatchRow {
    WatchRow {
        path: root.path.as_path().into(),
        origin: WatchOrigin::Kept,
        ignore: root.ignore,
        one_file_system: root.one_file_system,
        text: root.text,
    }
}

/// The row of a catalogue.
pub(super) fn catalogue_row(path: &Path) -> WatchRow {
    WatchRow {
        origin: WatchOrigin::Catalogue,
        ..watch_row(&RootOptions {
            text: true,
            ..RootOptions::new(path)
        })
    }
}

fn row_of(root: &Root) -> WatchRow {
    WatchRow {
        origin: root.origin,
        ..watch_row(&root.options)
    }
}

// ---- what the questions have in common ---------------------------------------------------------

/// What a question looks at, until `stop` is set.
pub(super) fn snapshot(context: &Context, stop: &StopFlag) -> Result<Snapshot, Failure> {
    let snapshot = context.shared.snapshot().map_err(no_snapshot)?;
    Ok(snapshot.with_stop(stop.clone()))
}

#[allow(clippy::needless_pass_by_value)] // for `map_err`
fn no_snapshot(error: NoSnapshot) -> Failure {
    Failure::new(FailureKind::Internal, error.to_string())
}

#[allow(clippy::needless_pass_by_value)] // for `map_err`
pub(super) fn asked(error: AskError) -> Failure {
    let kind = match error {
        AskError::Pattern(_) => FailureKind::BadRequest,
        AskError::Unreadable { .. } => FailureKind::NotIndexed,
        _ => FailureKind::Internal,
    };
    Failure::new(kind, error.to_string())
}

fn not_watched(path: &Path) -> Failure {
    let text = format!(
        "{} is not watched; `resemble watch add` watches it, --local looks without the daemon",
        path.display()
    );
    Failure::new(FailureKind::NotWatched, text)
}

fn not_indexed(path: &Path) -> Failure {
    let text = format!(
        "{} is not in the index (yet): there is no such file, or it was left out",
        path.display()
    );
    Failure::new(FailureKind::NotIndexed, text)
}

fn absolute(path: &PathText) -> Result<&Path, Failure> {
    let path = path.as_path();
    if path.is_absolute() {
        Ok(path)
    } else {
        let text = format!("{} is no absolute path", path.display());
        Err(Failure::new(FailureKind::BadRequest, text))
    }
}

/// Every path that a question names must be watched: the daemon cannot answer for part of it.
pub(super) fn watched<'a>(
    context: &Context,
    paths: impl IntoIterator<Item = &'a PathText>,
) -> Result<(), Failure> {
    for path in paths {
        match context.shared.root_of(path.as_path()) {
            Some(root) if root.state != RootState::Unavailable => {}
            _ => return Err(not_watched(path.as_path())),
        }
    }
    Ok(())
}

pub(super) fn with_header<R>(context: &Context, mut answer: Answer<R>) -> Answer<R> {
    answer.header.fresh = context.shared.fresh();
    answer.header.pending = context.shared.pending();
    answer
}

/// The indexed file with this inode, if a root is on its file system.
pub(super) fn file_of(context: &Context, snapshot: &Snapshot, inode: Inode) -> Option<FileId> {
    let mut ids = FsIds::default();
    for root in context.shared.roots() {
        let Ok(dir) = File::open(&root.options.path) else {
            continue;
        };
        if dir.metadata().is_ok_and(|stat| stat.dev() == inode.dev) {
            let fs = ids.id_of(dir.as_fd(), inode.dev);
            return snapshot.file_by_inode(&fs, inode.ino).ok().flatten();
        }
    }
    None
}
