//! Answers that are kept while nothing at all changes.
//!
//! Who asks about a whole tree asks again. While the clock stands the answer is the same, and its
//! lines go out as they were written: no file is read, and no list. What is true of this moment is
//! said anew: whether the answer is fresh, and what it may lack.
//!
//! Not kept is what somebody is told who does not see everything, and what `covered` says, which
//! looks at the files as they are now. Answers about single files need no keeping.

use std::sync::Arc;

use resemble_core::hash::content::digest;
use resemble_proto::message::{End, Header, Request};
use resemble_proto::path::PathText;
use resemble_query::compare::{FindingsCache, MemoryCache};

use super::asker::Asker;
use super::context::Context;

/// Where the answer to one question is kept.
#[derive(Debug)]
pub(super) struct AnswerPlace<'a> {
    cache: &'a MemoryCache,
    name: String,
}

impl<'a> AnswerPlace<'a> {
    /// For a request whose scope is whole, about an index of these roots, at this time; `None`: its
    /// answer is not kept. The clock is read here, so the index is looked at later: if that changes
    /// in between, the answer is at worst not found again.
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
        // Until the first scan is done, former roots go without a tick.
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

    /// What was kept: what holds for the whole answer, how much follows, and the lines.
    pub(super) fn get(&self) -> Option<(Header, End, Arc<[u8]>, usize)> {
        let kept = self.cache.get(&self.name)?;
        let begin = kept.iter().position(|&byte| byte == b'\n')? + 1;
        let (header, sent) = serde_json::from_slice(&kept[..begin]).ok()?;
        Some((header, sent, kept, begin))
    }

    /// Keeps an answer for as long as there is room.
    pub(super) fn put(&self, header: &Header, sent: End, lines: &[u8]) {
        if let Ok(mut kept) = serde_json::to_vec(&(header, sent)) {
            kept.push(b'\n');
            kept.extend_from_slice(lines);
            self.cache.put(&self.name, &kept);
        }
    }
}
