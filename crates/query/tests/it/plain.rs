//! Shortcuts for questions that need no reader of documents. `pairs` collects all rows in one
//! answer.

use std::path::Path;

use resemble_proto::message::{
    Answer, CompareRequest, Comparison, DirRow, DirsRequest, Groups, GroupsRequest, MarkRequest,
    OrderRow, PairRow, PairsRequest, TemplateRow, Whole,
};
use resemble_query::Snapshot;
use resemble_query::dirs::dirs_with_parts;
use resemble_query::groups::{KnownPairs, groups_with_parts, order_with_parts};
use resemble_query::pairs::pairs_to;
use resemble_query::templates::{Store, TemplateError, mark_with_parts};
use resemble_relate::AskError;
use resemble_relate::findings::FindingsCache;
use resemble_scan::parts::PartReader;
use resemble_trees::compare::compare_with_parts;

pub(crate) fn compare(
    snapshot: &Snapshot,
    request: &CompareRequest,
    cache: &dyn FindingsCache,
) -> Result<Whole<Comparison>, AskError> {
    compare_with_parts(snapshot, request, None, cache)
}

pub(crate) fn dirs(
    snapshot: &Snapshot,
    request: &DirsRequest,
    scratch: &Path,
) -> Result<Answer<DirRow>, AskError> {
    dirs_with_parts(snapshot, request, None, scratch)
}

pub(crate) fn groups(
    snapshot: &Snapshot,
    request: &GroupsRequest,
    scratch: &Path,
) -> Result<Whole<Groups>, AskError> {
    groups_with_parts(snapshot, request, None, KnownPairs::None, scratch)
}

pub(crate) fn order(
    snapshot: &Snapshot,
    request: &GroupsRequest,
    scratch: &Path,
) -> Result<Answer<OrderRow>, AskError> {
    order_with_parts(snapshot, request, None, KnownPairs::None, scratch)
}

pub(crate) fn pairs(
    snapshot: &Snapshot,
    request: &PairsRequest,
) -> Result<Answer<PairRow>, AskError> {
    pairs_with_parts(snapshot, request, None)
}

pub(crate) fn pairs_with_parts(
    snapshot: &Snapshot,
    request: &PairsRequest,
    part_reader: Option<&dyn PartReader>,
) -> Result<Answer<PairRow>, AskError> {
    pairs_to(snapshot, request, part_reader, |header, rows, errors| {
        let rows = rows.collect();
        Answer {
            header,
            rows,
            errors,
        }
    })
}

pub(crate) fn mark(
    snapshot: &Snapshot,
    store: &Store,
    request: &MarkRequest,
    scratch: &Path,
) -> Result<TemplateRow, TemplateError> {
    mark_with_parts((snapshot, None), store, request, scratch)
}
