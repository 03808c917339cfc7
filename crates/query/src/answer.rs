//! Turns a request into an answer. The daemon and the command have this single entry point.
//!
//! The caller provides a [`Context`] and receives the answer row by row ([`Reply`]). The daemon
//! writes the rows to a socket, and the command collects them. Nothing else differs, so the daemon
//! and the command give the same bytes. A new question needs one arm in [`answer`].
//!
//! Two answers about trees without an index are computed elsewhere. Two trees are compared by
//! reading both at the same time, which takes half as long ([`crate::local::LocalIndex::compare`]).
//! Sets of identical files are found by reading few files
//! ([`crate::local::LocalIndex::identical`]).

use std::fs::File;
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use resemble_core::hash::content;
use resemble_core::{ContentDigest, Digest, FileId};
use resemble_index::{ReadError, Snapshot};
use resemble_proto::catalogued::{is_catalogued, is_label};
use resemble_proto::message::{
    Answer, DumpForm, FindRequest, FindRow, Header, HolderRow, HoldersRequest, Inode, LeftOut,
    Parts, Request, SoftError, Subject, Whole, WireDigest, WireRendition,
};
use resemble_proto::path::PathText;
use resemble_proto::question::AnyRow;
use resemble_relate::AskError;
use resemble_relate::findings::FindingsCache;
use resemble_relate::nominate::members::HeldMembers;
use resemble_relate::renditions::{MOST_MEMBERS, Rendition};
use resemble_scan::fsid::FsIds;
use resemble_scan::parts::PartReader;

use crate::asked::places_of;
use crate::departed::departed;
use crate::dump::{self, chunks, files};
use crate::first_seen::first_seen;
use crate::templates::{Store, TemplateError};

use crate::groups::KnownPairs;
use crate::{dirs, find, groups, pairs, templates, unread};
use resemble_trees::{compare, covered};

/// The data from which a question is answered.
#[derive(Debug)]
pub struct Context<'a> {
    /// The index as of one commit, with the templates to ignore and the flag that cancels the
    /// question.
    pub snapshot: Snapshot,
    /// The scope of a question that names no files: the roots, and the places of catalogues.
    pub roots: Vec<PathBuf>,
    /// Reads the texts of documents again when a question measures pairs exactly.
    pub part_reader: Option<Arc<dyn PartReader>>,
    /// The store of templates, if there is one.
    pub templates: Option<&'a Store>,
    /// A folder for data that does not fit into memory.
    pub scratch: &'a Path,
    /// The stored results of earlier comparisons.
    pub findings: &'a dyn FindingsCache,
    /// Keeps the pairs that `groups` nominated, for the next question. It should be in memory,
    /// because the pairs are large: they took 49 MB of a cache file of 151 MB.
    pub drafts: Option<&'a dyn FindingsCache>,
}

/// Receives an answer: a header, then rows, then errors. [`ControlFlow::Break`] ends the answer.
pub trait Reply {
    /// Receives the header, once and before anything else.
    fn header(&mut self, header: Header) -> ControlFlow<()>;

    /// Receives one row. Rows arrive in the order of the answer.
    fn row(&mut self, row: AnyRow) -> ControlFlow<()>;

    /// Receives an error about a path that could not be checked.
    fn error(&mut self, error: SoftError) -> ControlFlow<()>;

    /// Receives a piece of a dump. The default implementation ends the answer, because only dumps
    /// have pieces.
    fn piece(&mut self, piece: &[u8]) -> ControlFlow<()> {
        let _ = piece;
        ControlFlow::Break(())
    }
}

/// Answers a question. Except for dumps, `reply` receives nothing if the question fails before its
/// first row.
///
/// # Errors
///
/// Returns [`AskError::Cancelled`] also if a method of `reply` returns [`ControlFlow::Break`].
pub fn answer(
    context: &Context<'_>,
    request: Request,
    reply: &mut dyn Reply,
) -> Result<(), AskError> {
    let snapshot = &context.snapshot;
    let places = places_of(&request, &context.roots);
    let left_out = places.left_out(snapshot, &context.roots)?;
    let errors = places.errors(snapshot)?;
    let mut reply = Completed {
        reply,
        left_out,
        errors,
    };
    answer_of_files(context, request, &mut reply)?;
    reply.end()
}

/// Passes an answer on to `reply`. Adds the list of what was left out to the header of the answer,
/// and sends the errors after the last row.
struct Completed<'a> {
    reply: &'a mut dyn Reply,
    left_out: Vec<LeftOut>,
    /// The errors to send after the rows. They are sorted by path first.
    errors: Vec<SoftError>,
}

impl Completed<'_> {
    fn end(mut self) -> Result<(), AskError> {
        self.errors.sort();
        self.errors.dedup();
        for error in self.errors {
            if self.reply.error(error).is_break() {
                return Err(AskError::Cancelled);
            }
        }
        Ok(())
    }
}

impl Reply for Completed<'_> {
    fn header(&mut self, header: Header) -> ControlFlow<()> {
        self.reply.header(Header {
            left_out: std::mem::take(&mut self.left_out),
            ..header
        })
    }

    fn row(&mut self, row: AnyRow) -> ControlFlow<()> {
        self.reply.row(row)
    }

    fn error(&mut self, error: SoftError) -> ControlFlow<()> {
        self.errors.push(error);
        ControlFlow::Continue(())
    }

    fn piece(&mut self, piece: &[u8]) -> ControlFlow<()> {
        self.reply.piece(piece)
    }
}

fn answer_of_files(
    context: &Context<'_>,
    request: Request,
    reply: &mut dyn Reply,
) -> Result<(), AskError> {
    let unread = unread::of_request(&context.snapshot, &request)?;
    answer_without(context, request, reply)?;
    for error in unread {
        if reply.error(error).is_break() {
            return Err(AskError::Cancelled);
        }
    }
    Ok(())
}

/// Answers a request, except for the errors of unreadable documents, which the caller adds.
fn answer_without(
    context: &Context<'_>,
    request: Request,
    reply: &mut dyn Reply,
) -> Result<(), AskError> {
    let (snapshot, scratch) = (&context.snapshot, context.scratch);
    let part_reader = context.part_reader.as_deref();
    let known = context.drafts.map_or(KnownPairs::None, KnownPairs::Cached);
    match request {
        Request::Find(request) => send(reply, find(context, request)?, AnyRow::Find),
        Request::Holders(request) => send(reply, holders(context, &request)?, AnyRow::Holders),
        Request::Departed(request) => send(reply, departed(snapshot, &request)?, AnyRow::Departed),
        Request::FirstSeen(request) => {
            send(reply, first_seen(snapshot, &request)?, AnyRow::FirstSeen)
        }
        Request::Pairs(request) => {
            pairs::pairs_to(snapshot, &request, part_reader, |header, rows, errors| {
                send_all(reply, header, rows.map(AnyRow::Pairs), errors)
            })?
        }
        Request::Compare(request) => {
            let found = context.findings;
            let compared = compare::compare_with_parts(snapshot, &request, part_reader, found)?;
            send_whole(reply, compared, AnyRow::Compare)
        }
        Request::Covered(request) => {
            let coverage = covered::covered(snapshot, &request, part_reader)?;
            send_whole(reply, coverage, AnyRow::Covered)
        }
        Request::Dirs(request) => {
            let dirs = dirs::dirs_with_parts(snapshot, &request, part_reader, scratch)?;
            send(reply, dirs, AnyRow::Dirs)
        }
        Request::Groups(request) => {
            let groups =
                groups::groups_with_parts(snapshot, &request, part_reader, known, scratch)?;
            send_whole(reply, groups, AnyRow::Groups)
        }
        Request::Order(request) => {
            let order = groups::order_with_parts(snapshot, &request, part_reader, known, scratch)?;
            send(reply, order, AnyRow::Order)
        }
        Request::TemplatesMark(request) => {
            let store = context.templates.ok_or(TemplateError::NoPlace)?;
            let files = (snapshot, part_reader);
            let row = templates::mark_with_parts(files, store, &request, scratch)?;
            let marked = Answer::fresh(vec![row], Vec::new());
            send(reply, marked, AnyRow::TemplatesMark)
        }
        Request::Dump { roots } => dump(context, &roots, &DumpForm::Canonical, reply),
        Request::DumpAs { roots, form } => dump(context, &roots, &form, reply),
        other => Err(AskError::BadRequest(format!(
            "{} is no question",
            other.word()
        ))),
    }
}

fn send<R>(
    reply: &mut dyn Reply,
    answer: Answer<R>,
    row: impl Fn(R) -> AnyRow,
) -> Result<(), AskError> {
    let rows = answer.rows.into_iter().map(row);
    send_all(reply, answer.header, rows, answer.errors)
}

/// Sends an answer of several lists. The header counts the rows of the question, and not the rows
/// that are sent.
fn send_whole<P: Parts>(
    reply: &mut dyn Reply,
    whole: Whole<P>,
    row: impl Fn(P::Part) -> AnyRow,
) -> Result<(), AskError> {
    let rows = whole.body.into_parts().map(row);
    send_all(reply, whole.header, rows, whole.errors)
}

fn send_all(
    reply: &mut dyn Reply,
    header: Header,
    rows: impl Iterator<Item = AnyRow>,
    errors: Vec<SoftError>,
) -> Result<(), AskError> {
    let all = || {
        reply.header(header)?;
        for row in rows {
            reply.row(row)?;
        }
        for error in errors {
            reply.error(error)?;
        }
        ControlFlow::Continue(())
    };
    match all() {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(AskError::Cancelled),
    }
}

fn find(context: &Context<'_>, request: FindRequest) -> Result<Answer<FindRow>, AskError> {
    let (subject, name) = subject(context, request.subject)?;
    let subject = subject.with_part_reader(context.part_reader.clone());
    find::find(&context.snapshot, &subject, &name, &request.options)
}

/// Returns the subject of a question and the name that rows show for it. The digest of the subject
/// is in the request, or is looked up in the index.
fn subject(context: &Context<'_>, subject: Subject) -> Result<(find::Subject, PathText), AskError> {
    let snapshot = &context.snapshot;
    match subject {
        Subject::File(name) => {
            let path = name.as_path();
            let known = if is_catalogued(path) {
                find::Subject::remembered(snapshot, path)?
            } else {
                find::Subject::indexed(snapshot, path, snapshot.params())?
            };
            let known = known.ok_or_else(|| AskError::NotIndexed(path.to_owned()))?;
            Ok((known, name))
        }
        Subject::Content {
            digest,
            name,
            inode,
            others,
            held,
            path,
            bytes,
            dates,
        } => {
            let digest = Digest::try_from(&*digest)?;
            let bytes = bytes.map(|bytes| bytes.0);
            let is_of = |bytes: &Vec<u8>| content::digest(bytes) == digest.content;
            if !bytes.as_ref().is_none_or(is_of) {
                let text = "the bytes are not those of the digest".to_owned();
                return Err(AskError::BadRequest(text));
            }
            let whole = digest.content;
            let mut subject = find::Subject::of_digest(digest)
                .with_others(renditions(&others)?)
                .holding(members(&held)?)
                .dated(dates);
            if let Some(bytes) = bytes {
                subject = subject.with_bytes(name.as_path(), bytes);
            }
            // This process will open the path with its own rights. So a caller who is not allowed
            // to see all files must name a path where they see a file with this content.
            if let Some(path) = path
                && (!snapshot.is_partial() || is_at(snapshot, path.as_path(), &whole)?)
            {
                subject = subject.at(path.into());
            }
            if let Some(file) = inode.and_then(|inode| file_of(context, inode)) {
                subject = subject.is_file(file);
            }
            Ok((subject, name))
        }
    }
}

/// Returns whether the index has a file with this content at `path`.
fn is_at(snapshot: &Snapshot, path: &Path, content: &ContentDigest) -> Result<bool, ReadError> {
    let row = snapshot.file_at(path)?;
    let held = row.and_then(|row| row.state.content());
    let held = held
        .map(|held| snapshot.content(held))
        .transpose()?
        .flatten();
    Ok(held.is_some_and(|held| held.digest == *content))
}

/// Decodes the renditions of the subject that the request has in addition to its bytes.
fn renditions(others: &[WireRendition]) -> Result<Vec<(Rendition, Digest)>, AskError> {
    /// The maximum number of renditions: one of each kind, and several for files that are packed in
    /// one another.
    const MOST: usize = 16;
    if others.len() > MOST {
        let text = format!("more than {MOST} contents stand for the file");
        return Err(AskError::BadRequest(text));
    }
    let decoded = others.iter().map(|other| {
        let rendition = Rendition::from(other.stands);
        let digest = if rendition.is_whole() {
            other.digest.sample()?
        } else {
            Digest::try_from(&other.digest)?
        };
        Ok((rendition, digest))
    });
    decoded.collect()
}

fn members(held: &[WireDigest]) -> Result<Option<HeldMembers>, AskError> {
    if held.len() > MOST_MEMBERS {
        let text = format!("more than {MOST_MEMBERS} members are in the file");
        return Err(AskError::BadRequest(text));
    }
    let members = held.iter().map(WireDigest::sample);
    let members = members.collect::<Result<Vec<_>, _>>()?;
    Ok((!members.is_empty()).then_some(HeldMembers { members }))
}

fn holders(context: &Context<'_>, request: &HoldersRequest) -> Result<Answer<HolderRow>, AskError> {
    let digests = request.digests.iter().map(Digest::try_from);
    let digests = digests.collect::<Result<Vec<_>, _>>()?;
    let own = request.inode.and_then(|inode| file_of(context, inode));
    let (scope, roots) = (&request.scope, &context.roots);
    find::holders::candidates(&context.snapshot, &digests, own, scope, roots, request.all)
}

/// Returns the indexed file with this inode. The file system is identified by a root that is on it.
fn file_of(context: &Context<'_>, inode: Inode) -> Option<FileId> {
    let mut ids = FsIds::default();
    for root in &context.roots {
        let Ok(dir) = File::open(root) else {
            continue;
        };
        if dir.metadata().is_ok_and(|stat| stat.dev() == inode.dev) {
            let fs = ids.id_of(dir.as_fd(), inode.dev);
            let known = context.snapshot.file_by_inode(&fs, inode.ino);
            return known.ok().flatten();
        }
    }
    None
}

/// Writes a dump piece by piece, because the dump of a large tree does not fit into memory. The
/// number of pieces is unknown until the end, so the header has no count.
fn dump(
    context: &Context<'_>,
    roots: &[PathText],
    form: &DumpForm,
    reply: &mut dyn Reply,
) -> Result<(), AskError> {
    if let DumpForm::Catalogue(form) = form
        && !is_label(&form.label)
    {
        let text = "that cannot be a label".to_owned();
        return Err(AskError::BadRequest(text));
    }
    if reply.header(Header::default()).is_break() {
        return Err(AskError::Cancelled);
    }
    let mut is_wanted = true;
    let mut sink = |piece: &[u8]| {
        let taken = reply.piece(piece);
        is_wanted = taken.is_continue();
        taken
    };
    let roots: Vec<PathBuf> = roots.iter().map(|root| root.as_path().to_owned()).collect();
    let (snapshot, roots) = (&context.snapshot, &roots[..]);
    let mut line = |mut line: String| {
        line.push('\n');
        sink(line.as_bytes())
    };
    match form {
        DumpForm::Canonical => dump::dump(snapshot, roots, &mut line)?,
        DumpForm::Chunks => chunks(snapshot, roots, &mut line)?,
        DumpForm::Files => files(snapshot, roots, &mut line)?,
        DumpForm::Catalogue(details) => {
            resemble_catalogue::write(snapshot, roots, &details.into(), &mut sink).map(drop)?;
        }
    }
    if !is_wanted {
        return Err(AskError::Cancelled);
    }
    for error in dump::unreadable(snapshot, roots)? {
        if reply.error(error).is_break() {
            return Err(AskError::Cancelled);
        }
    }
    Ok(())
}
