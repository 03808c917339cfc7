//! The signatures of the files of a question: cached ones, and new ones for the other files.

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

/// The number of ids of contents that are signed together.
const TOGETHER: u32 = 1 << 16;
const _: () = assert!(
    TOGETHER.is_multiple_of(BLOCK),
    "no two share a cached record"
);

/// The signatures of the contents that take part.
#[derive(Debug, Default)]
pub(super) struct Signed {
    /// The contents in the order of their ids.
    pub(super) contents: Vec<ContentRow>,
    /// Their signatures in the same order.
    pub(super) signatures: Vec<MethodSignature>,
    /// Files that could not be read.
    pub(super) errors: Vec<SoftError>,
    /// True if every content has a signature, and each signature is of the bytes in the index.
    /// Results from the signatures may then be cached as well.
    pub(super) settled: bool,
    /// True if each existing signature is of the bytes in the index.
    pub(super) as_indexed: bool,
    /// The contents whose signatures were made from bytes other than those in the index.
    pub(super) unsettled: HashSet<ContentId>,
}

impl Signed {
    /// Signs all contents of the scope but the empty ones, which are counted and never grouped.
    pub(super) fn of(
        context: &MethodContext<'_>,
        cached: &mut CachedSignatures<'_>,
    ) -> Result<Self, LabError> {
        Self::of_rows(context, cached, rows(context, &context.scoped.contents())?)
    }

    /// Signs these contents, whose ids ascend, in blocks that fit into memory. `take` gets the
    /// blocks in their order.
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

    /// Signs these contents, whose ids ascend.
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

/// The rows of these contents, without the empty ones.
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
