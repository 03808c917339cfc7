//! Questions for published methods.

use resemble_core::StopFlag;
use resemble_engine::method;
use resemble_engine::method::keep::{Beside, Forget, Keep};
use resemble_proto::message::{Answer, Failure, MethodQuestion, MethodRequest, MethodRow};

use super::context::Context;
use super::handlers::{asked, file_of, or_roots, snapshot, watched, with_header};

/// The answer to a question for a method. Signatures are kept in the index: the indexer and this
/// thread take turns.
pub(super) fn answer(
    context: &Context,
    request: MethodRequest,
    stop: &StopFlag,
) -> Result<Answer<MethodRow>, Failure> {
    let request = MethodRequest {
        scope: or_roots(context, request.scope),
        ..request
    };
    watched(context, &request.scope.within)?;
    let snapshot = snapshot(context, stop)?;
    let subject = match &request.question {
        MethodQuestion::Find(find) => find
            .inode
            .and_then(|inode| file_of(context, &snapshot, inode)),
        _ => None,
    };
    let index = context.shared.index();
    let keep: &dyn Keep = match &index {
        Some(index) => &**index,
        None => &Forget,
    };
    let keep = Beside {
        records: keep,
        folder: &context.state,
        stays: true,
    };
    let answer = method::answer(&snapshot, &request, subject, &keep).map_err(asked)?;
    Ok(with_header(context, answer))
}
