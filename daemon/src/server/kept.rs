//! Stores answers, and sends them again while nothing changes.
//!
//! Questions about whole trees are often repeated. While the clock is unchanged, the answer is the
//! same. Its stored lines are then sent, without reading files or the index. Two parts are made
//! again: the header, with the present freshness, and the errors about files that the answer may
//! lack.
//!
//! Answers to callers who do not see everything are not stored. Answers to `covered` are not
//! stored, either, because `covered` reads the present files. Answers about single files are fast
//! without a cache.

use std::sync::Arc;

use resemble_core::hash::content::digest;
use resemble_proto::message::{End, Header, Request};
use resemble_proto::path::PathText;
use resemble_relate::findings::{FindingsCache, MemoryCache};

use super::asker::Asker;
use super::context::Context;

/// The place in the cache for the answer to one question.
#[derive(Debug)]
pub(super) struct AnswerPlace<'a> {
    cache: &'a MemoryCache,
    name: String,
}

impl<'a> AnswerPlace<'a> {
    /// Returns the place for the answer to a request; `None` if that answer is not stored. The
    /// request must have its whole scope. The present clock is part of the place's name. The clock
    /// is read before the index is. If the clock changes in between, the stored answer is never
    /// found, which is harmless.
    pub(super) fn of(
        (context, asker): (&'a Context, &Asker),
        request: &Request,
        roots: &[PathText],
    ) -> Option<Self> {
        let is_of_trees = matches!(
            request,
            Request::Pairs(_)
                | Request::Compare(_)
                | Request::Dirs(_)
                | Request::Groups(_)
                | Request::Order(_)
        );
        // Before the first scan is done, former roots are removed without a change of the clock. So
        // no answer is stored until then.
        if !is_of_trees || asker.sight().is_some() || !context.shared.first_scan_done() {
            return None;
        }
        let clock = context.shared.clock();
        let asked = serde_json::to_vec(&(request, roots)).ok()?;
        Some(Self {
            cache: &context.compared,
            name: format!("answer {clock} {}", digest(&asked)),
        })
    }

    /// Returns the stored answer, if there is one. The parts are its header, the counts for its
    /// last line, its bytes, and the position of the lines in these bytes.
    pub(super) fn get(&self) -> Option<(Header, End, Arc<[u8]>, usize)> {
        let kept = self.cache.get(&self.name)?;
        let begin = kept.iter().position(|&byte| byte == b'\n')? + 1;
        let (header, sent) = serde_json::from_slice(&kept[..begin]).ok()?;
        Some((header, sent, kept, begin))
    }

    /// Stores an answer if the cache has room for it.
    pub(super) fn put(&self, header: &Header, sent: End, lines: &[u8]) {
        if let Ok(mut kept) = serde_json::to_vec(&(header, sent)) {
            kept.push(b'\n');
            kept.extend_from_slice(lines);
            self.cache.put(&self.name, &kept);
        }
    }
}
