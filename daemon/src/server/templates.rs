//! Marking templates, listing them and taking them back.

use resemble_core::StopFlag;
use resemble_proto::message::{Answer, Failure, FailureKind, MarkRequest, TemplateRow};
use resemble_query::templates::{self, Store, TemplateError};

use super::context::Context;
use super::handlers::{asked, or_roots, snapshot, watched, with_header};

type Rows = Result<Answer<TemplateRow>, Failure>;

pub(super) fn mark(context: &Context, request: MarkRequest, stop: &StopFlag) -> Rows {
    let request = MarkRequest {
        scope: or_roots(context, request.scope),
        ..request
    };
    watched(context, request.files.iter().chain(&request.scope.within))?;
    let row = templates::mark(
        &snapshot(context, stop)?,
        store(context)?,
        &request,
        &context.state,
    );
    answer(context, row.map(|row| vec![row]))
}

pub(super) fn list(context: &Context) -> Rows {
    answer(context, store(context)?.list())
}

pub(super) fn unmark(context: &Context, which: &str) -> Rows {
    answer(context, store(context)?.unmark(which).map(|row| vec![row]))
}

fn store(context: &Context) -> Result<&Store, Failure> {
    let none = || Failure::new(FailureKind::Refused, "this daemon keeps no templates");
    context.shared.template_store().ok_or_else(none)
}

fn answer(context: &Context, rows: Result<Vec<TemplateRow>, TemplateError>) -> Rows {
    match rows {
        Ok(rows) => Ok(with_header(context, Answer::fresh(rows, Vec::new()))),
        Err(error) => Err(failure(error)),
    }
}

fn failure(error: TemplateError) -> Failure {
    match error {
        TemplateError::Ask(error) => asked(error),
        TemplateError::NotIndexed(_) => Failure::new(FailureKind::NotIndexed, error.to_string()),
        TemplateError::Index(_) => Failure::new(FailureKind::Internal, error.to_string()),
        other => Failure::new(FailureKind::Refused, other.to_string()),
    }
}
