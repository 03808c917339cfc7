//! Answers questions about files: checks the scope, calls [`resemble_query::answer`], and sends
//! rows as they are found. The code of each question is in that crate.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use resemble_core::StopFlag;
use resemble_proto::message::{
    DumpForm, DumpRow, End, Failure, FailureKind, Header, Reply as Line, Request, Scope, SoftError,
    SoftErrorKind, Subject,
};
use resemble_proto::path::PathText;
use resemble_proto::question::AnyRow;
use resemble_query::answer::{self, Reply};
use resemble_query::asked::places_of;
use resemble_relate::AskError;
use resemble_report::human::counted;
use serde::Serialize;

use super::asker::Asker;
use super::context::Context;
use super::kept::AnswerPlace;
use super::out::{ClientGone, Out};
use super::status;
use crate::state::Root;

/// Answers a question. Setting `stop` cancels it.
pub(super) fn answer(
    (context, asker): (&Context, &Asker),
    request: Request,
    stop: &StopFlag,
    out: &mut Out,
) -> Result<(), ClientGone> {
    let prepared = in_scope(context, request).and_then(|request| {
        let roots: Vec<PathText> = paths_of(all_roots(context)).map(PathText::from).collect();
        let place = AnswerPlace::of((context, asker), &request, &roots);
        let from = question_context((context, asker), stop)?;
        not_in_gap(&from, &request)?;
        Ok((request, from, place))
    });
    let (request, from, place) = match prepared {
        Ok(prepared) => prepared,
        Err(failure) => return out.answer::<()>(Err(failure)),
    };
    let mut lines = Lines::of((context, asker), &request, out);
    let lacking = lacking((context, asker), &request);
    let answered = if let Some(kept) = place.as_ref().and_then(AnswerPlace::get) {
        lines.repeat(kept)
    } else {
        lines.is_kept = place.is_some();
        answer::answer(&from, request, &mut lines).map(|()| lines.keep(place.as_ref()))
    };
    match answered {
        Ok(()) => {
            for error in lacking {
                // The result is ignored here, because `end` also notices that the client is gone.
                let _ = lines.error(error);
            }
            lines.end()
        }
        Err(_) if lines.is_gone => Err(ClientGone),
        Err(error) => out.answer::<()>(Err(failure(&error))),
    }
}

/// Returns the snapshot and the other data from which a question is answered.
fn question_context<'a>(
    (context, asker): (&'a Context, &Asker),
    stop: &StopFlag,
) -> Result<answer::Context<'a>, Failure> {
    let shared = &context.shared;
    let snapshot = shared
        .snapshot()
        .map_err(|error| Failure::new(FailureKind::Internal, error.to_string()))?;
    Ok(answer::Context {
        snapshot: asker.view(snapshot.with_stop(stop.clone())),
        roots: paths_of(all_roots(context)).collect(),
        // In system mode documents are not extracted to answer a question. Since the access check,
        // the file at a path may have been replaced by a file that this caller may not see.
        part_reader: shared
            .part_reader()
            .filter(|_| asker.sight().is_none())
            .cloned(),
        templates: shared.template_store(),
        scratch: &context.state,
        findings: &context.compared,
        drafts: Some(&context.compared),
    })
}

/// Returns whether the file at a path is a document that waits for extraction.
fn is_waiting(context: &Context, path: &Path) -> bool {
    let content = || {
        let snapshot = context.shared.snapshot().ok()?;
        snapshot.file_at(path).ok()??.state.content()
    };
    let documents = context.shared.documents();
    documents.is_some_and(|documents| content().is_some_and(|content| documents.has(content)))
}

fn failure(error: &AskError) -> Failure {
    let kind = match error {
        AskError::Pattern(_) | AskError::BadRequest(_) => FailureKind::BadRequest,
        AskError::Unreadable { .. } | AskError::NotIndexed(_) => FailureKind::NotIndexed,
        AskError::Refused(_) => FailureKind::Refused,
        _ => FailureKind::Internal,
    };
    Failure::new(kind, error.to_string())
}

// ---- the scope ---------------------------------------------------------------------------------

/// Returns the request with its whole scope. Fails unless every path that the request names is
/// watched. The daemon does not answer about only some of the paths.
fn in_scope(context: &Context, mut request: Request) -> Result<Request, Failure> {
    match &mut request {
        Request::Find(find) => {
            in_index(context, &mut find.options.scope)?;
            if let Subject::File(path) = &find.subject
                && context.shared.root_of(path.as_path()).is_none()
            {
                return Err(not_watched(path.as_path()));
            }
            if let Subject::File(path) = &find.subject
                && is_waiting(context, path.as_path())
            {
                // This failure makes the caller extract the document itself, because the daemon
                // might not extract it soon. A missing file causes the same failure. So the failure
                // reveals nothing to a caller who may not see the file.
                return Err(failure(&AskError::NotIndexed(path.as_path().to_owned())));
            }
        }
        Request::Holders(holders) => in_index(context, &mut holders.scope)?,
        Request::Pairs(pairs) => {
            if pairs.scope.within.is_empty() {
                let text = "pairs needs a directory to look in";
                return Err(Failure::new(FailureKind::BadRequest, text));
            }
            watched(context, &pairs.scope.within)?;
        }
        Request::Compare(compare) => watched(context, [&compare.a, &compare.b])?,
        Request::Covered(covered) => {
            watched(context, std::iter::once(&covered.dir).chain(&covered.by))?;
        }
        Request::Dirs(dirs) => in_roots(context, &mut dirs.scope)?,
        Request::Groups(groups) | Request::Order(groups) => in_roots(context, &mut groups.scope)?,
        Request::TemplatesMark(mark) => {
            in_roots(context, &mut mark.scope)?;
            watched(context, &mark.files)?;
        }
        Request::Dump { roots } | Request::DumpAs { roots, .. } => {
            watched(context, &*roots)?;
            if roots.is_empty() {
                let all = paths_of(context.shared.roots());
                roots.extend(all.map(PathText::from));
            }
        }
        _ => {}
    }
    Ok(request)
}

/// Refuses a question about paths that the index could not list or leaves out, because the caller
/// may be able to read them. Also refuses a question in which every file counts, if rules of a root
/// leave out some files.
fn not_in_gap(from: &answer::Context<'_>, request: &Request) -> Result<(), Failure> {
    let places = places_of(request, &from.roots);
    let is_whole = matches!(request, Request::Compare(_) | Request::Covered(_));
    let refused = |text: String| Err(Failure::new(FailureKind::NotWatched, text));
    let failure = |error: AskError| failure(&error);
    // These questions read the disk, where another user's view may be mounted below a root.
    let is_in_view = |path: &PathBuf| resemble_fs::is_inside_resemble_mount(path);
    if is_whole && within(request).iter().any(is_in_view) {
        let text = "a view of resemble has no files of its own; name the real path";
        return refused(text.to_owned());
    }
    if !places.are_known(&from.snapshot).map_err(failure)? {
        let text = "what is asked about could not be listed, or is left out; --local looks without \
                    the daemon";
        return refused(text.to_owned());
    }
    if is_whole
        && let left_out = places
            .left_out(&from.snapshot, &from.roots)
            .map_err(failure)?
        && let Some(first) = left_out.first()
    {
        return refused(format!(
            "{} leaves out files by its option {}, and all files count here; --local looks without \
             the daemon",
            first.root.as_path().display(),
            first.rule.word()
        ));
    }
    Ok(())
}

/// Completes a scope whose default is the whole index. An empty scope needs no list of paths. But
/// if the scope has patterns or a least size, the roots and the catalogues are filled in.
fn in_index(context: &Context, scope: &mut Scope) -> Result<(), Failure> {
    watched(context, &scope.within)?;
    let is_plain = scope.include.is_empty() && scope.exclude.is_empty() && scope.min_size == 0;
    if !is_plain {
        fill(scope, all_roots(context));
    }
    Ok(())
}

/// Completes a scope whose default is all roots, including missing ones.
fn in_roots(context: &Context, scope: &mut Scope) -> Result<(), Failure> {
    watched(context, &scope.within)?;
    fill(scope, context.shared.roots());
    Ok(())
}

fn fill(scope: &mut Scope, roots: Vec<Root>) {
    if scope.within.is_empty() {
        scope.within = paths_of(roots).map(PathText::from).collect();
    }
}

/// Returns the roots, followed by the catalogues.
fn all_roots(context: &Context) -> Vec<Root> {
    let mut roots = context.shared.roots();
    roots.extend(context.shared.catalogue_roots());
    roots
}

fn paths_of(roots: Vec<Root>) -> impl Iterator<Item = PathBuf> {
    roots.into_iter().map(|root| root.options.path)
}

/// Returns the paths that a request with its whole scope is about. No paths mean everything.
fn within(request: &Request) -> Vec<PathBuf> {
    let paths: Vec<&PathText> = match request {
        Request::Find(find) if find.options.scope.within.is_empty() => Vec::new(),
        Request::Find(find) => {
            let file = match &find.subject {
                Subject::File(path) => Some(path),
                Subject::Content { .. } => None,
            };
            find.options.scope.within.iter().chain(file).collect()
        }
        Request::Holders(holders) => holders.scope.within.iter().collect(),
        Request::Departed(departed) => departed.paths.iter().collect(),
        Request::FirstSeen(first) => first.paths.iter().collect(),
        Request::Pairs(pairs) => pairs.scope.within.iter().collect(),
        Request::Compare(compare) => vec![&compare.a, &compare.b],
        Request::Covered(covered) => std::iter::once(&covered.dir).chain(&covered.by).collect(),
        Request::Dirs(dirs) => dirs.scope.within.iter().collect(),
        Request::Groups(groups) | Request::Order(groups) => groups.scope.within.iter().collect(),
        Request::TemplatesMark(mark) => mark.scope.within.iter().collect(),
        Request::Dump { roots } | Request::DumpAs { roots, .. } => roots.iter().collect(),
        _ => Vec::new(),
    };
    paths
        .into_iter()
        .map(|path| path.as_path().to_owned())
        .collect()
}

fn watched<'a>(
    context: &Context,
    paths: impl IntoIterator<Item = &'a PathText>,
) -> Result<(), Failure> {
    for path in paths {
        if context.shared.root_of(path.as_path()).is_none() {
            return Err(not_watched(path.as_path()));
        }
    }
    Ok(())
}

fn not_watched(path: &Path) -> Failure {
    let text = format!(
        "{} is not watched; `resemble watch add` watches it, --local looks without the daemon",
        path.display()
    );
    Failure::new(FailureKind::NotWatched, text)
}

/// Returns errors about files that an answer may lack or show in an old state. The errors are
/// determined before the question is answered, because scans and readers continue while it is
/// answered.
fn lacking((context, asker): (&Context, &Asker), request: &Request) -> Vec<SoftError> {
    let mut errors = rebuilding((context, asker), request);
    let within = within(request);
    let mut away = context.shared.unreachable(&within);
    if !away.is_empty() && !asker.hears_all() {
        let seen = status::all_roots(context, asker).unwrap_or_default();
        let seen: BTreeSet<PathBuf> = paths_of(seen).collect();
        away.retain(|error| seen.contains(error.path.as_path()));
    }
    errors.extend(away);
    if asker.hears_all()
        && matches!(request, Request::DumpAs { form: DumpForm::Catalogue(form), .. } if form.text)
    {
        errors.extend(within.iter().filter_map(|root| without_text(context, root)));
    }
    errors
}

/// Returns an error if a catalogue will lack the texts of documents below a root.
fn without_text(context: &Context, root: &Path) -> Option<SoftError> {
    let documents = context.shared.waiting_documents(root);
    (documents > 0).then(|| SoftError {
        path: root.into(),
        kind: SoftErrorKind::Other,
        message: format!(
            "the text of {} was not read yet and is missing; `resemble sync` waits for it",
            counted(documents, "document")
        ),
    })
}

/// Returns an error for each path of the scope whose index is being rebuilt, because the answer may
/// lack files there. The errors are determined before the question is answered, because the scan
/// continues meanwhile.
fn rebuilding((context, asker): (&Context, &Asker), request: &Request) -> Vec<SoftError> {
    let shared = &context.shared;
    let scope: Vec<&PathText> = match request {
        Request::Find(find) => find.options.scope.within.iter().collect(),
        Request::Holders(holders) => holders.scope.within.iter().collect(),
        Request::Pairs(pairs) => pairs.scope.within.iter().collect(),
        Request::Compare(compare) => vec![&compare.a, &compare.b],
        Request::Covered(covered) => std::iter::once(&covered.dir).chain(&covered.by).collect(),
        Request::Dirs(dirs) => dirs.scope.within.iter().collect(),
        Request::Groups(groups) | Request::Order(groups) => groups.scope.within.iter().collect(),
        Request::Dump { roots } | Request::DumpAs { roots, .. } => roots.iter().collect(),
        _ => return Vec::new(),
    };
    let paths: Vec<PathBuf> = if scope.is_empty() {
        let roots = status::all_roots(context, asker).unwrap_or_default();
        paths_of(roots).collect()
    } else {
        scope
            .into_iter()
            .map(|path| path.as_path().to_owned())
            .collect()
    };
    let is_rebuilding = |path: &PathBuf| {
        let root = shared.root_of(path);
        root.is_some_and(|root| shared.is_rebuilding(&root.options.path))
    };
    let paths = paths.into_iter().filter(is_rebuilding);
    let (_, scan) = shared.scan();
    let done = scan.map_or(0, |(_, done)| done.files);
    let error = |path: PathBuf| SoftError {
        path: path.into(),
        kind: SoftErrorKind::Rebuilding,
        message: format!(
            "the index could not be used and is being rebuilt: {done} files are done, what \
             follows is missing; ask again, or wait with `resemble sync`"
        ),
    };
    paths.map(error).collect()
}

// ---- the lines ---------------------------------------------------------------------------------

/// Sends an answer to the client, line by line.
struct Lines<'a> {
    context: &'a Context,
    asker: &'a Asker,
    /// The paths that the question is about. No paths mean everything.
    within: Vec<PathBuf>,
    out: &'a mut Out,
    sent: End,
    /// True if the answer is to be stored.
    is_kept: bool,
    /// The header without freshness, which is determined again each time when a stored answer is
    /// sent.
    head: Header,
    /// True if the dump is text. Its rows then have the text unchanged. The rows of other dumps
    /// have base64.
    is_text: bool,
    /// The bytes of a dump that were not sent yet.
    waiting: Vec<u8>,
    is_gone: bool,
}

impl<'a> Lines<'a> {
    fn of((context, asker): (&'a Context, &'a Asker), request: &Request, out: &'a mut Out) -> Self {
        let is_catalogue = |form: &DumpForm| matches!(form, DumpForm::Catalogue(_));
        Self {
            context,
            asker,
            within: within(request),
            out,
            sent: End::default(),
            is_kept: false,
            head: Header::default(),
            is_text: !matches!(request, Request::DumpAs { form, .. } if is_catalogue(form)),
            waiting: Vec::new(),
            is_gone: false,
        }
    }

    /// Sends an answer that was stored.
    fn repeat(
        &mut self,
        (header, sent, kept, begin): (Header, End, Arc<[u8]>, usize),
    ) -> Result<(), AskError> {
        self.sent = sent;
        let is_sent = self.header(header).is_continue() && self.out.raw(&kept[begin..]).is_ok();
        self.is_gone |= !is_sent;
        is_sent.then_some(()).ok_or(AskError::Cancelled)
    }

    /// Stores the lines after the header, if the answer has a place in the cache.
    fn keep(&mut self, place: Option<&AnswerPlace<'_>>) {
        if let (Some(place), Some(lines)) = (place, self.out.take_copy()) {
            place.put(&self.head, self.sent, &lines);
        }
    }

    fn line<T: Serialize>(&mut self, line: &Line<T>) -> ControlFlow<()> {
        self.is_gone |= self.out.line(line).is_err();
        if self.is_gone {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    /// Returns the number of dumped bytes that one row has. Base64 is a third longer than the
    /// bytes.
    const fn piece_size(&self) -> usize {
        if self.is_text {
            DumpRow::PIECE
        } else {
            DumpRow::PIECE / 4 * 3
        }
    }

    fn send_waiting(&mut self) -> ControlFlow<()> {
        let waiting = std::mem::take(&mut self.waiting);
        for piece in waiting.chunks(self.piece_size()) {
            self.sent.rows += 1;
            self.line(&Line::Row(if self.is_text {
                // The text is ASCII, so it may be cut at any byte.
                DumpRow {
                    text: String::from_utf8_lossy(piece).into_owned(),
                }
            } else {
                DumpRow::of_bytes(piece)
            }))?;
        }
        ControlFlow::Continue(())
    }

    /// Sends the rest of a dump, and the last line of the answer.
    fn end(mut self) -> Result<(), ClientGone> {
        if self.send_waiting().is_break() {
            return Err(ClientGone);
        }
        self.out.line(&Line::<()>::End(self.sent))?;
        self.out.flush()
    }
}

impl Reply for Lines<'_> {
    fn header(&mut self, header: Header) -> ControlFlow<()> {
        let (fresh, pending) = self.asker.freshness(self.context, &self.within);
        self.head = header.clone();
        let sent = self.line(&Line::<()>::Header(Header {
            fresh,
            pending,
            ..header
        }));
        if self.is_kept {
            self.out.copy();
        }
        sent
    }

    fn row(&mut self, row: AnyRow) -> ControlFlow<()> {
        self.sent.rows += 1;
        self.line(&Line::Row(row))
    }

    fn error(&mut self, error: SoftError) -> ControlFlow<()> {
        self.sent.errors += 1;
        self.line(&Line::<()>::Error(error))
    }

    fn piece(&mut self, piece: &[u8]) -> ControlFlow<()> {
        self.waiting.extend_from_slice(piece);
        if self.waiting.len() < self.piece_size() {
            return ControlFlow::Continue(());
        }
        self.send_waiting()
    }
}
