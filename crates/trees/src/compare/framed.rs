//! Finds the frames of the contents of both sides.
//!
//! Thirty letters with the same letterhead are not versions of each other. If they were partners,
//! no file would be new ([`CompareClass::OnlyB`](resemble_proto::message::CompareClass)), and each
//! missing file would have a near copy.

use std::collections::HashSet;

use resemble_core::similarity::frame::Frame;
use resemble_core::{ContentId, ContentKind};
use resemble_index::PostingKind;
use resemble_relate::AskError;
use resemble_relate::nominate::evidence::StoredSketch;
use resemble_relate::nominate::frames::{Frames, ListedHolders};
use resemble_relate::scope::ScopedFiles;

use super::samples::SideSamples;
use super::sides::{Pieces, Sides};

/// The frames of contents, which are named by their numbers.
pub(super) struct SideFrames<'a> {
    /// `None` if no frame is needed.
    frames: Option<&'a Frames<'a>>,
    /// Returns the id by which `frames` knows a content.
    id_of: &'a (dyn Fn(u32) -> ContentId + Sync),
}

impl SideFrames<'_> {
    /// Calls `ask` with the frames of the contents of both sides. `pairs` are the pairs of contents
    /// whose frames may be needed. Without an index, all contents are read if one of these pairs
    /// consists of texts. With an index, only the pieces in `scoped` are considered.
    pub(super) fn with<T>(
        (sides, pieces, scoped): (&Sides, &dyn Pieces, Option<&ScopedFiles>),
        mut pairs: impl Iterator<Item = (u32, u32)>,
        ask: impl FnOnce(&SideFrames<'_>) -> Result<T, AskError>,
    ) -> Result<T, AskError> {
        let is_text = |content: u32| sides.contents[content as usize].kind == ContentKind::Text;
        if !pairs.any(|(a, b)| is_text(a) && is_text(b)) {
            return ask(&SideFrames {
                frames: None,
                id_of: &ContentId,
            });
        }
        if let Some((snapshot, ids)) = pieces.listed() {
            let here: HashSet<ContentId> = ids.iter().copied().collect();
            let is_here = |content, key| {
                let piece = (PostingKind::Fingerprint, key);
                let is_known = |scoped: &ScopedFiles| scoped.knows(snapshot, content, piece);
                Ok(here.contains(&content) && scoped.map_or(Ok(true), is_known)?)
            };
            let holders = ListedHolders {
                snapshot,
                is_here: Some(&is_here),
            };
            return ask(&SideFrames {
                frames: Some(&Frames::among(snapshot, &holders)),
                id_of: &|content| ids[content as usize],
            });
        }
        let samples = SideSamples::of(sides, pieces)?;
        ask(&SideFrames {
            frames: Some(&Frames::among(&samples, &samples)),
            id_of: &ContentId,
        })
    }

    /// Returns the frame that two contents have in common.
    pub(super) fn of_both(&self, a: &StoredSketch, b: &StoredSketch) -> Result<Frame, AskError> {
        let Some(frames) = self.frames else {
            return Ok(Frame::default());
        };
        let id = |kept: &StoredSketch| (self.id_of)(kept.id.0);
        frames.of_pair((id(a), a), (id(b), b))
    }
}
