//! Finds the signatures of the files of a question in the cache, or computes them.

use std::collections::HashSet;

use resemble_core::ContentId;
use resemble_index::ContentRow;
use resemble_methods::MethodSignature;
use resemble_proto::message::SoftError;
use resemble_relate::parallel::in_parallel;
use resemble_relate::soft_error;

use super::cache::{BLOCK, CachedSignatures, NewSignature};
use super::{MethodContext, Signing};

use crate::error::LabError;

/// The number of consecutive content ids whose signatures are in memory together. It is a multiple
/// of [`BLOCK`], so that two ranges never share a record of the cache.
const TOGETHER: u32 = 1 << 16;
const _: () = assert!(
    TOGETHER.is_multiple_of(BLOCK),
    "no two share a cached record"
);

/// The signatures of the contents of a question.
#[derive(Debug, Default)]
pub(super) struct Signed {
    /// The contents that have a signature, in the order of their ids.
    pub(super) contents: Vec<ContentRow>,
    /// The signatures of `contents`, in the same order.
    pub(super) signatures: Vec<MethodSignature>,
    /// Files that could not be read.
    pub(super) errors: Vec<SoftError>,
    /// True if every content has a signature, and each signature is of the bytes in the index. In
    /// that case, results that are computed from the signatures may be cached, too.
    pub(super) settled: bool,
    /// True if each signature is of the bytes in the index. Contents without a signature do not
    /// change this.
    pub(super) as_indexed: bool,
    /// The contents whose signatures were made from bytes other than those in the index.
    pub(super) unsettled: HashSet<ContentId>,
}

impl Signed {
    /// Finds or computes the signatures of all contents of the scope, except for empty ones. Empty
    /// files are counted but never grouped.
    pub(super) fn of(
        context: &MethodContext<'_>,
        cached: &mut CachedSignatures<'_>,
    ) -> Result<Self, LabError> {
        Self::of_rows(context, cached, rows(context, &context.scoped.contents())?)
    }

    /// Finds or computes the signatures of these contents, whose ids ascend, in blocks that fit
    /// into memory. `take` receives the blocks in order.
    pub(super) fn in_blocks(
        context: &MethodContext<'_>,
        contents: &[ContentId],
        take: &mut dyn FnMut(Self) -> Result<(), LabError>,
    ) -> Result<(), LabError> {
        let mut cached = context.cached();
        for block in contents.chunk_by(|a, b| a.0 / TOGETHER == b.0 / TOGETHER) {
            take(Self::of_rows(context, &mut cached, rows(context, block)?)?)?;
        }
        Ok(())
    }

    /// Finds or computes the signatures of these contents, whose ids ascend, and caches the new
    /// ones. The signature of a file that has changed since it was indexed is not cached.
    pub(super) fn of_rows(
        context: &MethodContext<'_>,
        cached: &mut CachedSignatures<'_>,
        rows: Vec<ContentRow>,
    ) -> Result<Self, LabError> {
        let wanted: Vec<ContentId> = rows.iter().map(|row| row.id).collect();
        let mut known = cached.recall(&wanted)?;
        let missing: Vec<usize> = (0..rows.len()).filter(|&at| known[at].is_none()).collect();
        let start = || (Signing::new(context.params), Vec::new(), Vec::new());
        let made = in_parallel(missing.len(), start, |at, (signing, made, errors)| {
            let row = &rows[missing[at]];
            let mut failure = None;
            for holder in context.scoped.holders(row.id) {
                match signing.file(&holder.path) {
                    Ok(signed) => {
                        let is_settled = signed.content == row.digest;
                        made.push((missing[at], signed.signature, is_settled));
                        return Ok(());
                    }
                    Err(error) => {
                        failure.get_or_insert_with(|| soft_error(&holder.path, &error));
                    }
                }
            }
            errors.extend(failure);
            Ok::<_, LabError>(())
        })?;
        let (mut errors, mut settled, mut new) = (Vec::new(), true, Vec::new());
        let mut as_indexed = true;
        let mut unsettled = HashSet::new();
        for (_, made, failed) in made {
            settled &= failed.is_empty();
            errors.extend(failed);
            for (at, signature, is_settled) in made {
                if is_settled {
                    new.push(NewSignature {
                        content: rows[at].id,
                        signature: signature.encode(),
                    });
                }
                if !is_settled {
                    unsettled.insert(rows[at].id);
                }
                settled &= is_settled;
                as_indexed &= is_settled;
                known[at] = Some(signature);
            }
        }
        cached.store(new);
        let (mut contents, mut signatures) = (Vec::new(), Vec::new());
        for (row, signature) in rows.into_iter().zip(known) {
            if let Some(signature) = signature {
                contents.push(row);
                signatures.push(signature);
            }
        }
        Ok(Self {
            contents,
            signatures,
            errors,
            settled,
            as_indexed,
            unsettled,
        })
    }
}

/// Returns the rows of these contents, except for empty ones.
pub(super) fn rows(
    context: &MethodContext<'_>,
    contents: &[ContentId],
) -> Result<Vec<ContentRow>, LabError> {
    let mut rows = Vec::new();
    for &content in contents {
        let row = context.snapshot.content(content)?;
        rows.extend(row.filter(|row| row.size.0 > 0));
    }
    Ok(rows)
}
