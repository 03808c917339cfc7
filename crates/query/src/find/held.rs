//! Estimates pairs with at least one container: an archive or a mail.
//!
//! A pair with a container is compared by the entire contents of both sides, whatever nominated it.
//! There are three ways of nomination: common samples of the joined parts of both sides, the text
//! of a mail, and samples of members. Through samples of members, a search for an archive finds
//! edited files and parts of files that lie in the archive. A search for a file finds the member
//! instead, which is more precise than the archive.

use resemble_core::similarity::{self, Unit};
use resemble_core::{ByteLen, Measures, Score};
use resemble_index::ContentRow;
use resemble_proto::message::Layer;
use resemble_relate::judge::matched::{Match, match_of_wholes, of_part};
use resemble_relate::nominate::members::MemberNominee;
use resemble_relate::prove::members::{ComparedSide, unit_of};
use resemble_relate::renditions::{Occurrence, WholeDigest};

/// The evidence that nominated a place, if the place or the subject holds members.
#[derive(Default)]
pub(super) struct HeldNominee {
    /// The match of the joined parts of both sides: index 0 for texts, 1 for other parts. The
    /// fields are the measures, and the digest of the joined parts of the place.
    pub(super) wholes: [Option<(Measures, WholeDigest)>; 2],
    /// The number of one of the place's joined parts among the parts of its file.
    pub(super) number: Option<u32>,
    /// The single content of the place, if it holds no members.
    pub(super) alone: Option<(Occurrence, ContentRow)>,
    /// The match of a mail's text with the content of the other side. The fields are the measures,
    /// and the size of the mail's text.
    pub(super) text: Option<(Measures, ByteLen)>,
    /// The match between the subject's members and the single content of the place.
    pub(super) in_members: Option<MemberNominee>,
}

impl HeldNominee {
    /// Estimates the match of both sides from this evidence, without reading them.
    pub(super) fn estimate(
        &self,
        ours: &ComparedSide,
        theirs: &ComparedSide,
        asked: Unit,
        least: ByteLen,
    ) -> Match {
        let sizes = (ours.size(), theirs.size());
        let found = match (ours, theirs) {
            (ComparedSide::Held(ours), ComparedSide::Held(theirs)) => {
                let measures = self.wholes.map(|found| found.map(|(measures, _)| measures));
                match_of_wholes(*ours, *theirs, measures, least)
            }
            (ComparedSide::Held(_), ComparedSide::Alone(_)) => {
                let by_text = self.text.map(|(measures, text)| {
                    let of_one = of_part(measures.swapped(), text, (sizes.1, sizes.0));
                    related(of_one.swapped(), sizes, least)
                });
                let by_members = self.in_members;
                let by_members = by_members.map(|found| contained(found.in_members, sizes, least));
                by_members.or(by_text)
            }
            (ComparedSide::Alone(_), _) => self
                .text
                .map(|(measures, text)| related(of_part(measures, text, sizes), sizes, least)),
        };
        let nothing = Measures {
            a_in_b: Some(Score::ZERO),
            b_in_a: Some(Score::ZERO),
            resemblance: Some(Score::ZERO),
            shared_bytes: ByteLen::ZERO,
        };
        let unit = unit_of(ours, theirs, asked);
        Match {
            unit,
            ..found.unwrap_or_else(|| related(nothing, sizes, least))
        }
    }
}

/// Returns an estimated match with these measures.
fn related(measures: Measures, sizes: (ByteLen, ByteLen), least: ByteLen) -> Match {
    let relation = similarity::relation(false, sizes.0, sizes.1, &measures, least);
    Match::new(relation, Layer::Text, measures, sizes)
}

/// Estimates the match of an archive, `a`, and a file, `b`. `share` is the share of the file that
/// lies in the archive.
fn contained(share: Score, sizes: (ByteLen, ByteLen), least: ByteLen) -> Match {
    let shared = share.get() * sizes.1.0 as f64;
    let of = |all: f64| Some(Score::new(shared / all.max(1.0)).min(Score::ALL_BUT_IDENTICAL));
    let measures = Measures {
        a_in_b: of(sizes.0.0 as f64),
        b_in_a: Some(share.min(Score::ALL_BUT_IDENTICAL)),
        resemblance: of((sizes.0.0 + sizes.1.0) as f64 - shared),
        shared_bytes: ByteLen(shared as u64),
    };
    related(measures, sizes, least)
}
