//! Estimates the match of two archives or mails if one of them cannot be read.
//!
//! A measure of such a pair counts what each member shares with all members of the other archive
//! together. The two wholes (all texts joined, and all other members joined) cannot show this: if a
//! whole shares half of its members, its samples look like those of a text with an edit in every
//! line. So each member is compared, like a single content ([`super::members`]), with those members
//! of the other archive that share a sample with it.
//!
//! * If the other archive has an equal member, or (in words) a text of the same words, the member
//!   counts as wholly shared. For any other member, the estimate is that of its best partner. The
//!   upper end of its interval is the sum over all partners.
//! * The share of an archive is the sum over its members, weighted by their sizes.
//! * The resemblance counts the distinct samples of all members of one kind. In bytes, it counts
//!   those of all members.
//! * Members that are too small, or repeat another member, are assumed to be shared to the same
//!   extent as the others. The lower end of the interval counts them as not shared, the upper end
//!   as shared.

use std::collections::{BTreeSet, HashMap};

use resemble_core::similarity::{Unit, too_small};
use resemble_core::{ByteLen, Digest, Fingerprint};

use crate::judge::estimate::shown_in;
use crate::judge::matched::Match;
use crate::judge::members::{ShownShare, is_text, sample_error, shown_match};
use crate::renditions::{MOST_MEMBERS, WholeDigest, same_words};

/// An archive: its two wholes (all texts joined, all other contents joined), and the digests of its
/// first members. The digests have no chunks.
pub type HeldSide<'a> = ([Option<WholeDigest>; 2], &'a [Digest]);

/// The members of one archive, each with the share of the member that is in the other archive.
struct JudgedSide<'a> {
    members: Vec<&'a Digest>,
    shares: Vec<ShownShare>,
    /// The numbers of bytes of the archive's texts and of all its other members.
    sizes: [f64; 2],
}

impl<'a> JudgedSide<'a> {
    fn of((wholes, members): HeldSide<'a>) -> Self {
        let members: Vec<&Digest> = members
            .iter()
            .filter(|member| !too_small(member.size))
            .collect();
        Self {
            shares: vec![ShownShare::default(); members.len()],
            members,
            sizes: wholes.map(|whole| whole.map_or(0.0, |whole| whole.size.0 as f64)),
        }
    }

    fn size(&self) -> f64 {
        self.sizes.iter().sum()
    }

    /// Returns for each sample the indices of the members that have it.
    fn by_sample(&self) -> HashMap<Fingerprint, Vec<usize>> {
        let mut places: HashMap<Fingerprint, Vec<usize>> = HashMap::new();
        for (at, member) in self.members.iter().enumerate() {
            for &sample in &member.signature.fingerprints {
                places.entry(sample).or_default().push(at);
            }
        }
        places
    }

    /// Returns the share of this archive that is in the other archive.
    fn share(&self, asked: Unit) -> ShownShare {
        let of_kind = |of_text: bool| {
            let mut sum = KindShare::default();
            let members = self.members.iter().zip(&self.shares);
            members
                .filter(|(member, _)| is_text(member) == of_text)
                .for_each(|(member, share)| sum.add(member, *share));
            (sum.known, sum.shown(asked == Unit::Words && of_text))
        };
        let (texts, others) = (of_kind(true), of_kind(false));
        let (known, shared) = (texts.0 + others.0, texts.1.beside(others.1));
        let (all, unknown) = (self.size().max(1.0), (self.size() - known).max(0.0));
        ShownShare {
            likely: shared.likely / known.max(1.0),
            low: shared.low / all,
            high: (shared.high + unknown) / all,
        }
    }

    /// Returns the distinct samples of the members that `is_asked` selects, each with the level of
    /// its signature. A sample in several signatures gets the lowest of their levels.
    fn samples(&self, is_asked: impl Fn(&Digest) -> bool) -> HashMap<Fingerprint, u8> {
        let mut samples: HashMap<Fingerprint, u8> = HashMap::new();
        for member in self.members.iter().filter(|member| is_asked(member)) {
            let level = member.signature.level;
            for &sample in &member.signature.fingerprints {
                let known = samples.entry(sample).or_insert(level);
                *known = level.min(*known);
            }
        }
        samples
    }
}

/// The sums over all members of one kind (texts, or all others).
#[derive(Default)]
struct KindShare {
    known: f64,
    shared: ShownShare,
    /// The number of samples of the members that share something.
    samples: usize,
    /// The bytes and the number of samples of the members of which no sample is shared.
    unseen: (f64, usize),
}

impl KindShare {
    fn add(&mut self, member: &Digest, share: ShownShare) {
        let bytes = member.size.0 as f64;
        let samples = member.signature.fingerprints.len();
        self.known += bytes;
        if share.likely > 0.0 {
            self.samples += samples;
        } else {
            self.unseen.0 += bytes;
            self.unseen.1 += samples;
        }
        let share = share.map(|share| share.min(1.0) * bytes);
        self.shared = self.shared.beside(share);
    }

    /// Returns the number of shared bytes and its interval. For words, the interval is wider,
    /// because only samples show how many words of a member are shared. Members without a shared
    /// sample may still share something. With a confidence of 95 %, this is at most the part that
    /// three of their samples represent.
    fn shown(&self, in_words: bool) -> ShownShare {
        let ShownShare { likely, low, high } = self.shared;
        let high = high + self.unseen.0 * 3.0 / self.unseen.1.max(3) as f64;
        let error = if in_words {
            sample_error(self.samples as f64)
        } else {
            0.0
        };
        let widened = |shared: f64| error * shared.min(self.known - shared).max(0.0);
        ShownShare {
            likely,
            low: (low - widened(low)).max(0.0),
            high: (high + widened(high)).min(self.known),
        }
    }
}

/// Estimates the match of two archives. Returns `None` if the members of one archive are not all
/// known, or if the two archives have equal contents.
pub fn shown_of_archives(
    asked: Unit,
    a: HeldSide<'_>,
    b: HeldSide<'_>,
    least: ByteLen,
) -> Option<Match> {
    let is_known = |members: &[Digest]| !members.is_empty() && members.len() < MOST_MEMBERS;
    let digests = |side: HeldSide<'_>| side.0.map(|whole| whole.map(|whole| whole.digest));
    if !is_known(a.1) || !is_known(b.1) || digests(a) == digests(b) {
        return None;
    }
    let (mut in_a, mut in_b) = (JudgedSide::of(a), JudgedSide::of(b));
    let shared_bytes = judge_members(asked, &mut in_a, &mut in_b);
    let shares = [
        in_a.share(asked),
        in_b.share(asked),
        resemblance(asked, &in_a, &in_b),
    ];
    let unit = match asked {
        Unit::Words if a.0[1].is_none() && b.0[1].is_none() => Unit::Words,
        _ => Unit::Bytes,
    };
    let sizes = (ByteLen(in_a.size() as u64), ByteLen(in_b.size() as u64));
    Some(shown_match(sizes, shares, shared_bytes, (unit, least)))
}

/// Computes which share of each member is in the other archive. Returns the number of bytes of the
/// members that both archives have.
fn judge_members(asked: Unit, a: &mut JudgedSide<'_>, b: &mut JudgedSide<'_>) -> ByteLen {
    let by_sample = b.by_sample();
    let mut equal = ByteLen::ZERO;
    for (at, one) in a.members.iter().enumerate() {
        let samples = one.signature.fingerprints.iter();
        let sharing = samples.filter_map(|sample| by_sample.get(sample)).flatten();
        let mut partners: BTreeSet<usize> = sharing.copied().collect();
        let is_equal =
            |other: &Digest| other.content == one.content || same_words(other.words, one.words);
        let equals = (0..b.members.len()).filter(|&other| is_equal(b.members[other]));
        partners.extend(equals);
        for other in partners {
            let theirs = b.members[other];
            // In words, a text is never compared with a member that is not a text.
            if asked == Unit::Words && is_text(one) != is_text(theirs) {
                continue;
            }
            let is_content = theirs.content == one.content;
            if is_content || asked == Unit::Words && is_equal(theirs) {
                if is_content {
                    equal += one.size;
                }
                (a.shares[at], b.shares[other]) = (ShownShare::ALL, ShownShare::ALL);
                continue;
            }
            let (ours, of_theirs) = (one.sketch(), theirs.sketch());
            let found = shown_in(asked, (&ours, one.kind), (&of_theirs, theirs.kind));
            let (measures, ends) = (found.measures, found.interval);
            let (in_one, in_other) = (
                ShownShare::of(measures.a_in_b, ends.a_in_b),
                ShownShare::of(measures.b_in_a, ends.b_in_a),
            );
            a.shares[at] = a.shares[at].within(in_one);
            b.shares[other] = b.shares[other].within(in_other);
        }
    }
    equal
}

/// Estimates the resemblance in the same way as it is measured. In words, the texts and the other
/// members are estimated separately, and weighted by their bytes. In bytes, all members are
/// estimated together.
fn resemblance(asked: Unit, a: &JudgedSide<'_>, b: &JudgedSide<'_>) -> ShownShare {
    let of_kind = |at: usize| {
        let is_asked = |member: &Digest| is_text(member) == (at == 0);
        joined(&a.samples(is_asked), &b.samples(is_asked))
    };
    let all = a.size() + b.size();
    if asked == Unit::Bytes {
        return joined(&a.samples(|_| true), &b.samples(|_| true));
    }
    let kinds = [0, 1].map(|at| {
        let weight = (a.sizes[at] + b.sizes[at]) / all.max(1.0);
        of_kind(at).map(|share| share * weight)
    });
    kinds[0].beside(kinds[1])
}

/// Estimates the resemblance of two sets of pieces from their samples.
fn joined(a: &HashMap<Fingerprint, u8>, b: &HashMap<Fingerprint, u8>) -> ShownShare {
    let pieces = |level: u8| 2f64.powi(i32::from(level));
    let count = |samples: &HashMap<Fingerprint, u8>| -> f64 {
        samples.values().map(|&level| pieces(level)).sum()
    };
    let common = a.iter().filter_map(|(sample, &level)| {
        let other = *b.get(sample)?;
        Some(pieces(level.max(other)))
    });
    let (samples, shared) = common.fold((0.0, 0.0), |(n, sum), piece| (n + 1.0, sum + piece));
    let both = count(a) + count(b);
    let share = |shared: f64| {
        let shared = shared.min(both / 2.0);
        shared / (both - shared).max(1.0)
    };
    let error = sample_error(samples);
    ShownShare {
        likely: share(shared),
        low: share(shared * (1.0 - error).max(0.0)),
        high: share(shared * (1.0 + error)),
    }
}
