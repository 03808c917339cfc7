//! Estimates the match of an archive or a mail and a single content, if one of the two cannot be
//! read.
//!
//! The measures of such a pair count what all members together share with the single content. They
//! are estimated from the estimates for the single members:
//!
//! * The archive has at least as much of the content as its best member has. So the estimate is
//!   that of the best member. The upper end of the interval is the sum over all members.
//! * The shared part of the archive is the sum of the shared parts of its members, weighted by
//!   their sizes. In words, only samples show how many words a member has.
//! * The resemblance counts the pieces of all members that are compared with the content. The
//!   number of these pieces is estimated from samples, too.
//! * Nothing is known of members that were left out because they are too many or too small. The
//!   upper ends count them as shared.
//!
//! A pair has a relation only if the lower ends of the intervals are enough for it. Otherwise one
//! common phrase would make an unrelated content with few samples seem related. No file is read
//! here, so this mistake would not be corrected.
//!
//! Only samples are used. So digests that were sent to a daemon give the same result as an index.

use resemble_core::similarity::{self, Interval, Unit, too_small};
use resemble_core::{ByteLen, ContentKind, Digest, Fingerprint, Measures, Score};
use resemble_proto::message::Layer;

use crate::judge::estimate::shown_in;
use crate::judge::matched::Match;
use crate::renditions::WholeDigest;

/// An estimated share and its interval.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ShownShare {
    pub(super) likely: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl ShownShare {
    pub(super) const ALL: Self = Self {
        likely: 1.0,
        low: 1.0,
        high: 1.0,
    };

    pub(super) fn of(share: Option<Score>, ends: Option<(Score, Score)>) -> Self {
        let likely = share.map_or(0.0, Score::get);
        let (low, high) = ends.map_or((0.0, 1.0), |(low, high)| (low.get(), high.get()));
        Self { likely, low, high }
    }

    pub(super) fn map(self, of: impl Fn(f64) -> f64) -> Self {
        Self {
            likely: of(self.likely),
            low: of(self.low),
            high: of(self.high),
        }
    }

    /// Adds the share of another part, which does not overlap the parts so far.
    pub(super) fn beside(self, other: Self) -> Self {
        Self {
            likely: self.likely + other.likely,
            low: self.low + other.low,
            high: self.high + other.high,
        }
    }

    /// Adds the share of another part, which may overlap the parts so far. The likely share is the
    /// larger of the two shares, and the upper end is their sum.
    pub(super) fn within(self, other: Self) -> Self {
        Self {
            likely: self.likely.max(other.likely),
            low: self.low.max(other.low),
            high: self.high + other.high,
        }
    }

    fn finish(self) -> (Score, (Score, Score)) {
        let below = |share: f64| Score::new(share).min(Score::ALL_BUT_IDENTICAL);
        (below(self.likely), (below(self.low), below(self.high)))
    }
}

/// The number of distinct pieces of a content, estimated from its samples.
#[derive(Clone, Copy)]
struct PieceCount {
    pieces: f64,
    /// Two standard errors of the number, relative to `pieces`.
    error: f64,
}

impl PieceCount {
    fn of(content: &Digest) -> Self {
        let samples = content.signature.fingerprints.len() as f64;
        Self {
            pieces: samples * 2f64.powi(i32::from(content.signature.level)),
            error: sample_error(samples),
        }
    }

    /// Widens the interval of a count by the larger of the errors of both sides.
    fn widened(self, other: Self, count: ShownShare) -> ShownShare {
        let error = self.error.max(other.error);
        ShownShare {
            low: count.low * (1.0 - error).max(0.0),
            high: count.high * (1.0 + error),
            ..count
        }
    }
}

/// The sums over the members of an archive that is compared with a single content.
#[derive(Default)]
struct SharingMembers {
    /// The number of bytes of the members that are known.
    known: f64,
    /// The bytes and the pieces of the members with which the single content is compared.
    comparable: (f64, f64),
    /// All samples of these members. Each sample has the level of its signature.
    samples: Vec<(Fingerprint, u8)>,
    /// For each member that shares something: the share of the member that is common, the member's
    /// size in bytes, and its number of pieces.
    shares: Vec<(ShownShare, f64, PieceCount)>,
    /// The share of the single content that is in the members.
    of_single: ShownShare,
    /// The number of pieces that both the single content and the members have.
    of_both: ShownShare,
    shared_bytes: ByteLen,
}

impl SharingMembers {
    fn add(&mut self, member: &Digest, single: (&Digest, &[Fingerprint]), asked: Unit) {
        if too_small(member.size) {
            return;
        }
        let (single, samples) = single;
        let bytes = member.size.0 as f64;
        self.known += bytes;
        // In words, a text is never compared with a content that is not a text.
        if asked == Unit::Words && is_text(member) != is_text(single) {
            return;
        }
        let count = PieceCount::of(member);
        self.comparable.0 += bytes;
        self.comparable.1 += count.pieces;
        let signature = &member.signature;
        let of_member = signature.fingerprints.iter();
        self.samples
            .extend(of_member.map(|&sample| (sample, signature.level)));
        let mut theirs = signature.fingerprints.iter();
        if !theirs.any(|sample| samples.binary_search(sample).is_ok()) {
            return;
        }
        let [of_member, of_single, of_union] = if member.content == single.content {
            self.shared_bytes = single.size;
            [ShownShare::ALL; 3]
        } else {
            let sides = (&member.sketch(), member.kind);
            let found = shown_in(asked, sides, (&single.sketch(), single.kind));
            let (measures, ends) = (found.measures, found.interval);
            [
                ShownShare::of(measures.a_in_b, ends.a_in_b),
                ShownShare::of(measures.b_in_a, ends.b_in_a),
                ShownShare::of(measures.resemblance, ends.resemblance),
            ]
        };
        self.of_single = self.of_single.within(of_single);
        self.shares.push((of_member, bytes, count));
        let own = PieceCount::of(single);
        let both = of_union.map(|share| share / (1.0 + share) * (count.pieces + own.pieces));
        self.of_both = self.of_both.within(count.widened(own, both));
    }

    /// Returns the number of distinct pieces of all members. A licence that many members contain
    /// counts once.
    fn distinct(&mut self) -> f64 {
        self.samples.sort_unstable();
        self.samples.dedup_by_key(|sample| sample.0);
        let pieces = self
            .samples
            .iter()
            .map(|&(_, level)| 2f64.powi(i32::from(level)));
        pieces.sum()
    }

    /// Returns the number of bytes of the archive that are shared. In words, the interval is wider,
    /// because the number of words of each member is not known.
    fn shared(&self, in_words: bool) -> ShownShare {
        let bytes_of_piece = self.comparable.0 / self.comparable.1.max(1.0);
        let of_member = |&(share, bytes, count): &(ShownShare, f64, PieceCount)| {
            let shared = share.map(|share| share * bytes);
            if !in_words {
                return shared;
            }
            let counted = share.map(|share| share * count.pieces * bytes_of_piece);
            let counted = count.widened(count, counted);
            ShownShare {
                low: shared.low.min(counted.low),
                high: shared.high.max(counted.high),
                ..shared
            }
        };
        let of_each = self.shares.iter().map(of_member);
        of_each.fold(ShownShare::default(), ShownShare::beside)
    }
}

/// Returns two standard errors of a count that is estimated from this number of samples, relative
/// to the count.
pub(super) fn sample_error(samples: f64) -> f64 {
    2.0 / samples.max(1.0).sqrt()
}

/// Returns the match of two files of these sizes. `shares` are the estimates for a in b, for b in
/// a, and for the resemblance. The match has a relation only if the lower ends of the intervals are
/// enough for it.
pub(super) fn shown_match(
    sizes: (ByteLen, ByteLen),
    shares: [ShownShare; 3],
    shared_bytes: ByteLen,
    (unit, least): (Unit, ByteLen),
) -> Match {
    let [a_in_b, b_in_a, resemblance] = shares.map(ShownShare::finish);
    let measures = Measures {
        a_in_b: Some(a_in_b.0),
        b_in_a: Some(b_in_a.0),
        resemblance: Some(resemblance.0),
        shared_bytes,
    };
    let interval = Interval {
        a_in_b: Some(a_in_b.1),
        b_in_a: Some(b_in_a.1),
        resemblance: Some(resemblance.1),
    };
    let relation = |of| similarity::relation(false, sizes.0, sizes.1, &of, least);
    let relation = relation(interval.least(&measures)).and(relation(measures));
    Match {
        unit,
        interval: Some(Box::new(interval)),
        ..Match::new(relation, Layer::Text, measures, sizes)
    }
}

pub(super) fn is_text(content: &Digest) -> bool {
    content.kind == ContentKind::Text
}

/// Estimates the match of an archive (a) and a single content (b). The archive is given by its
/// wholes and members. The digests have no chunks. Returns `None` if no member shares anything with
/// the single content.
pub fn shown_of_members<E>(
    asked: Unit,
    (wholes, members): (
        [Option<WholeDigest>; 2],
        impl Iterator<Item = Result<Digest, E>>,
    ),
    single: &Digest,
    least: ByteLen,
) -> Result<Option<Match>, E> {
    let mut samples: Vec<Fingerprint> = single.signature.fingerprints.clone();
    samples.sort_unstable();
    let mut sharing = SharingMembers::default();
    for member in members {
        sharing.add(&member?, (single, &samples), asked);
    }
    if sharing.of_single.likely <= 0.0 {
        return Ok(None);
    }
    let size = |whole: Option<WholeDigest>| whole.map_or(0.0, |whole| whole.size.0 as f64);
    let all: f64 = wholes.into_iter().map(size).sum();
    let own = single.size.0.max(1) as f64;
    let unknown = (all - sharing.known).max(0.0);

    let in_words = asked == Unit::Words && is_text(single);
    let mut of_archive = sharing.shared(in_words);
    of_archive.high += unknown;
    let mut of_single = sharing.of_single;
    of_single.high += unknown / own;

    // The resemblance is weighted as if it were measured: by the bytes of all contents that are of
    // the same kind as the single content.
    let of_kind = match asked {
        Unit::Words => size(wholes[usize::from(!is_text(single))]),
        Unit::Bytes => all,
    };
    let pieces = sharing.distinct();
    let unknown = unknown * pieces / sharing.comparable.0.max(1.0);
    let mut of_both = sharing.of_both;
    of_both.high += unknown;
    let count = PieceCount::of(single);
    let both = pieces + unknown + count.pieces;
    // The number of pieces of the single content is an estimate, too. The number of shared pieces
    // is at most the upper end of this estimate.
    let most = count.pieces * (1.0 + count.error);
    let weight = (of_kind + own) / (all + own);
    let joined = |shared: f64| {
        let shared = shared.min(most).min(both / 2.0);
        weight * shared / (both - shared).max(1.0)
    };

    let shares = [
        of_archive.map(|shared| shared / all.max(1.0)),
        of_single,
        of_both.map(joined),
    ];
    let unit = match asked {
        Unit::Words if is_text(single) && wholes[1].is_none() => Unit::Words,
        _ => Unit::Bytes,
    };
    let sizes = (ByteLen(all as u64), single.size);
    let shared_bytes = sharing.shared_bytes;
    Ok(Some(shown_match(
        sizes,
        shares,
        shared_bytes,
        (unit, least),
    )))
}
