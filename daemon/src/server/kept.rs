//! Keeps answers while nothing changes.
//!
//! Questions about whole trees are repeated. While the clock is unchanged, the answer is the same.
//! Its stored lines are sent without reading files or the index. Only whether the answer is fresh,
//! and what it may lack, is determined again.
//!
//! Answers to callers who do not see everything are not kept. Neither are those of `covered`, which
//! reads the present files. Answers about single files need no cache.

use std::sync::Arc;

use resemble_core::hash::content::digest;
use resemble_proto::message::{End, Header, Request};
use resemble_proto::path::PathText;
use resemble_query::compare::{FindingsCache, MemoryCache};

use super::asker::Asker;
use super::context::Context;

/// The cache entry for the answer to one question.
#[derive(Debug)]
pub(super) struct AnswerPlace<'a> {
    cache: &'a MemoryCache,
    name: String,
}

impl<'a> AnswerPlace<'a> {
    /// Returns the entry for the answer to a request whose scope is complete. `None` if answers of
    /// its kind are not stored. The present clock is part of its name, and is read before the
    /// index. If it changes in between, the stored answer is at worst never found.
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
        // Until the first scan is done, former roots are removed without a change of the clock.
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

    /// Returns what was stored: the header, the end and the lines of the answer.
    pub(super) fn get(&self) -> Option<(Header, End, Arc<[u8]>, usize)> {
        let kept = self.cache.get(&self.name)?;
        let begin = kept.iter().position(|&byte| byte == b'\n')? + 1;
        let (header, sent) = serde_json::from_slice(&kept[..begin]).ok()?;
        Some((header, sent, kept, begin))
    }

    /// Stores an answer while there is room.
    pub(super) fn put(&self, header: &Header, sent: End, lines: &[u8]) {
        if let Ok(mut kept) = serde_json::to_vec(&(header, sent)) {
            kept.push(b'\n');
            kept.extend_from_slice(lines);
            self.cache.put(&self.name, &kept);
        }
    }
}
