//! Collects the contents that share pieces with a subject that is not a text.

use std::cmp::Ordering;

use resemble_core::ContentId;
use resemble_index::PostingKind;

use crate::nominate::common::{Common, PieceWorth};

/// The pieces of a subject that is not a text, and the contents that have them.
#[derive(Debug)]
pub struct SubjectWindows {
    /// The content of the subject, if it is indexed. Then the lists of the subject's pieces may
    /// contain this content.
    own: Option<ContentId>,
    pub(super) limit: u32,
    /// The pieces that other contents have, with their weights: first the windows in ascending
    /// order, then the chunks.
    lists: Vec<(PostingKind, u64, PieceWorth)>,
    /// The contents, each with the index of a list in `lists` that contains it.
    met: Vec<(ContentId, u32)>,
}

impl SubjectWindows {
    /// Makes a collector without pieces. `own` is the content of the subject, if it is indexed. A
    /// piece that more than `limit` contents have is boilerplate.
    pub const fn of(own: Option<ContentId>, limit: u32) -> Self {
        Self {
            own,
            limit,
            lists: Vec::new(),
            met: Vec::new(),
        }
    }

    /// Records the contents that have a piece. `contents` are in ascending order, and so are the
    /// keys of successive calls.
    pub fn note(&mut self, kind: PostingKind, key: u64, contents: &[ContentId]) {
        let is_in = |own| contents.binary_search(&own).is_ok();
        let all = contents.len() + usize::from(!self.own.is_some_and(is_in));
        if all > self.limit as usize {
            return;
        }
        let list = self.lists.len() as u32;
        let worth = PieceWorth::of(all as u32, self.limit);
        self.lists.push((kind, key, worth));
        let met = contents.iter().map(|&content| (content, list));
        self.met.extend(met);
    }

    /// Returns for each content the pieces that it shares with the subject, counted and weighed, in
    /// the order of content ids. Removes the contents from the collector.
    pub(super) fn take_common(&mut self) -> Vec<(ContentId, Common)> {
        let mut met = std::mem::take(&mut self.met);
        met.sort_unstable();
        let of_content = |met: &[(ContentId, u32)]| {
            let mut common = Common::NONE;
            for &(_, list) in met {
                let (kind, _, worth) = self.lists[list as usize];
                common.add(kind, worth);
            }
            (met[0].0, common)
        };
        met.chunk_by(|a, b| a.0 == b.0).map(of_content).collect()
    }

    /// Returns the weight of a window of the subject. Returns `None` if it is boilerplate or no
    /// other content has it.
    pub(super) fn worth(&self, key: u64) -> Option<PieceWorth> {
        let order = |list: &(PostingKind, u64, PieceWorth)| match list.0 {
            PostingKind::Fingerprint => list.1.cmp(&key),
            PostingKind::Chunk => Ordering::Greater,
        };
        let at = self.lists.binary_search_by(order).ok()?;
        Some(self.lists[at].2)
    }
}
