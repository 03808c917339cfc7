//! Handles requests that are neither questions nor orders to the indexer. Also checks orders before
//! they are sent to the indexer. All this runs on blocking threads.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use resemble_fs::View;
use resemble_proto::catalogued::is_catalogued;
use resemble_proto::message::{
    Answer, CoverRow, Failure, FailureKind, MountRow, MountStatus, MountView, Request, TemplateRow,
    WatchOrigin, WatchRow,
};
use resemble_proto::path::PathText;
use resemble_query::templates::{Store, TemplateError};
use resemble_relate::AskError;
use resemble_relate::gaps::AskedPlaces;
use resemble_scan::ingest::RootOptions;

use super::acks;
use super::asker::Asker;
use super::context::Context;
use super::out::{ClientGone, Out};
use super::status;
use crate::config::{checked_root, not_nested};
use crate::neighbours::IndexNeighbours;
use crate::overlays::Mount;
use crate::root_rules::rules_of;
use crate::state::Root;

/// Answers a request that is neither a question nor an order to the indexer.
pub(super) fn answer(
    (context, asker): (&Context, &Asker),
    request: Request,
    out: &mut Out,
) -> Result<(), ClientGone> {
    match request {
        Request::TemplatesList => {
            let rows = templates(context).and_then(Store::list);
            out.answer(
                rows.map(|rows| of_templates((context, asker), rows))
                    .map_err(refused),
            )
        }
        Request::TemplatesUnmark { which } => {
            let row = templates(context).and_then(|store| store.unmark(&which));
            out.answer(
                row.map(|row| of_templates((context, asker), vec![row]))
                    .map_err(refused),
            )
        }
        Request::Status => {
            let status = if asker.hears_all() {
                Ok(status::status(context))
            } else {
                status::for_caller(context, asker)
            };
            let answer = status.map(|status| {
                let answer = Answer::fresh(vec![status], Vec::new());
                with_header((context, asker), answer)
            });
            out.answer(answer)
        }
        Request::WatchList => {
            let roots = status::all_roots(context, asker);
            let rows = roots.map(|roots| {
                let rows = roots.iter().map(|root| row_of(context, root)).collect();
                Answer::fresh(rows, Vec::new())
            });
            out.answer(rows)
        }
        Request::Ack { a, b, group } => {
            let rows = absolute(&a).and_then(|_| acks::mark(context, &a, b.as_ref(), group));
            out.answer(rows)
        }
        Request::AckUndo { a, b } => out.answer(acks::undo(context, &a, b.as_ref())),
        Request::AckList => {
            let rows = context.shared.acks().current().rows();
            out.answer(Ok(Answer::fresh(rows, Vec::new())))
        }
        Request::Mount { path, view } => out.answer(mount(context, path.as_ref(), view)),
        Request::Unmount { path } => out.answer(unmount(context, path.as_ref())),
        Request::Covers { paths, whole } => out.answer(covers((context, asker), paths, whole)),
        // `question::answer` handles questions, and `connection` handles orders and alerts. So no
        // other request gets here.
        _ => {
            let text = "this request is not answered here";
            out.answer::<()>(Err(Failure::new(FailureKind::Internal, text)))
        }
    }
}

fn mount(
    context: &Context,
    path: Option<&PathText>,
    view: Option<MountView>,
) -> Result<Answer<MountRow>, Failure> {
    let refused = |error: String| Failure::new(FailureKind::Refused, error);
    let point = path.map(absolute).transpose()?;
    let configured = context.overlays.configured(point);
    let view = view.map(|view| match view {
        MountView::Folders => View::Folders,
        MountView::Files => View::Files,
    });
    let mount = match (configured, point) {
        (Some(configured), _) => Mount {
            view: view.unwrap_or(configured.view),
            ..configured
        },
        (None, Some(point)) => Mount {
            point,
            view: view.unwrap_or_default(),
            link: None,
        },
        (None, None) => {
            let nowhere = "no view is configured: name the folder where it is to be mounted";
            return Err(refused(nowhere.to_owned()));
        }
    };
    let neighbours = Arc::new(IndexNeighbours::new(Arc::clone(&context.shared)));
    let (warning, mounted) = context
        .overlays
        .mount(&mount, neighbours)
        .map_err(|error| refused(error.to_string()))?;
    Ok(of_mount(warning, mounted))
}

fn unmount(context: &Context, path: Option<&PathText>) -> Result<Answer<MountRow>, Failure> {
    let path = path.map(absolute).transpose()?;
    let was = context
        .overlays
        .unmount(path)
        .map_err(|error| Failure::new(FailureKind::Refused, error.to_string()))?;
    Ok(of_mount(None, was))
}

fn of_mount(warning: Option<String>, mount: MountStatus) -> Answer<MountRow> {
    let row = MountRow {
        warning,
        mount: Some(mount),
    };
    Answer::fresh(vec![row], Vec::new())
}

fn covers(
    (context, asker): (&Context, &Asker),
    paths: Vec<PathText>,
    whole: bool,
) -> Result<Answer<CoverRow>, Failure> {
    let seen = status::all_roots(context, asker)?;
    let roots: Vec<PathBuf> = seen.iter().map(|root| root.options.path.clone()).collect();
    // Without an index every path counts as known. The question itself then fails and gives the
    // reason.
    let view = context.shared.snapshot().ok();
    let view = view.map(|snapshot| asker.view(snapshot));
    let is_known = |path: &PathText| -> Result<bool, AskError> {
        let Some(view) = &view else { return Ok(true) };
        let places = AskedPlaces::new([path], &[]);
        Ok(places.are_known(view)? && (!whole || places.left_out(view, &roots)?.is_empty()))
    };
    let rows = paths
        .into_iter()
        .map(|path| {
            let root = context.shared.root_of(path.as_path());
            let is_watched = root.is_some_and(|root| {
                seen.iter()
                    .any(|seen| seen.options.path == root.options.path)
            });
            let covered = is_watched && is_known(&path)?;
            Ok(CoverRow { path, covered })
        })
        .collect::<Result<_, AskError>>()
        .map_err(|error| Failure::new(FailureKind::Internal, error.to_string()))?;
    Ok(Answer::fresh(rows, Vec::new()))
}

// ---- orders: checks before the indexer gets them ----------------------------------------------

/// Checks a root that is to be added, and returns it with its real path.
pub(super) fn new_root(context: &Context, path: PathBuf) -> Result<PathBuf, Failure> {
    let refused =
        |error: crate::config::RootError| Failure::new(FailureKind::Refused, error.to_string());
    absolute(&PathText::from(path.as_path()))?;
    let root = checked_root(RootOptions::new(path), &context.state).map_err(refused)?;
    let roots = context.shared.roots();
    not_nested(
        &root.path,
        roots.iter().map(|other| other.options.path.as_path()),
    )
    .map_err(refused)?;
    Ok(root.path)
}

/// Returns the root or the catalogue that a path names. The path may be a link that leads to a
/// root.
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

/// Returns the row about a root that `watch add` has requested.
pub(super) fn watch_row(context: &Context, root: &RootOptions) -> WatchRow {
    WatchRow {
        path: root.path.as_path().into(),
        origin: WatchOrigin::Kept,
        rules: rules_of(root),
        alerts: context.shared.alert_rules(&root.path),
    }
}

pub(super) fn catalogue_row(context: &Context, path: &Path) -> WatchRow {
    let root = RootOptions {
        text: true,
        ..RootOptions::new(path)
    };
    WatchRow {
        origin: WatchOrigin::Catalogue,
        ..watch_row(context, &root)
    }
}

fn row_of(context: &Context, root: &Root) -> WatchRow {
    WatchRow {
        origin: root.origin,
        ..watch_row(context, &root.options)
    }
}

// ---- helpers of several handlers ---------------------------------------------------------------

fn templates(context: &Context) -> Result<&Store, TemplateError> {
    let store = context.shared.template_store();
    store.ok_or(TemplateError::NoPlace)
}

fn of_templates(of: (&Context, &Asker), rows: Vec<TemplateRow>) -> Answer<TemplateRow> {
    with_header(of, Answer::fresh(rows, Vec::new()))
}

#[allow(clippy::needless_pass_by_value)] // for `map_err`
fn refused(error: TemplateError) -> Failure {
    Failure::new(FailureKind::Refused, error.to_string())
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

fn with_header<R>((context, asker): (&Context, &Asker), mut answer: Answer<R>) -> Answer<R> {
    let (fresh, pending) = asker.freshness(context, &[]);
    answer.header.fresh = fresh;
    answer.header.pending = pending;
    answer
}
