//! Measures archives by their members, in any order and any packing.
//!
//! The texts among the members are measured in words, and all other members in bytes. The members
//! of each kind are measured together, as one content. A word is covered if its run is anywhere in
//! the other archive. Containments are shares of all bytes. The covered share of an archive's words
//! counts as the same share of the bytes of its texts. If both archives have only texts,
//! containments are shares of words.
//!
//! Texts keep their ends, so no shingle crosses from one text to the next. Other members are in the
//! order of their digests. So the measure depends only on the two sets of members, and exchanging
//! the archives exchanges the sides of the measure. A file without members can also be compared
//! with an archive. It then counts as its own only member.

use std::sync::OnceLock;

use crate::hash::content::digest;
use crate::ids::{ByteLen, ContentDigest, Score};
use crate::similarity::proof::{CommonText, Proven, ShingledText, in_smaller};
use crate::similarity::runs::common_bytes;
use crate::similarity::{Measures, Templates, Unit, too_small};
use crate::{ContentKind, WordsDigest};

/// The members of an archive, prepared to be measured against the members of another archive. A
/// file that is no archive is its own only member.
#[derive(Debug)]
pub struct ProvableMembers {
    texts: Vec<Member>,
    others: Vec<Member>,
    words: OnceLock<ShingledText>,
}

#[derive(Debug)]
struct Member {
    digest: ContentDigest,
    bytes: Vec<u8>,
}

/// The name of a member: the digest of its words if it is a text with enough words, and otherwise
/// the digest of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum MemberName {
    Words(WordsDigest),
    Content(ContentDigest),
}

/// The comparison of two archives for one kind of members. In each pair of numbers, the first is
/// for a and the second is for b.
#[derive(Clone, Copy, Debug, Default)]
struct CommonKind {
    sizes: (f64, f64),
    /// The shared part of the size of a and of b.
    shared: (f64, f64),
    resemblance: f64,
    /// The number of bytes in common runs.
    bytes: (u64, u64),
    /// See [`Proven::is_pattern`].
    is_pattern: bool,
}

impl ProvableMembers {
    /// Makes the set from contents and their kinds, in any order.
    pub fn new(members: Vec<(ContentKind, Vec<u8>)>) -> Self {
        Self::without(&Templates::default(), members)
    }

    /// Like [`Self::new`], but without templates, both in the bytes and in the words of texts.
    pub fn without(templates: &Templates, members: Vec<(ContentKind, Vec<u8>)>) -> Self {
        let (mut texts, mut others) = (Vec::new(), Vec::new());
        for (kind, bytes) in members {
            let of_kind = if kind == ContentKind::Text {
                &mut texts
            } else {
                &mut others
            };
            let worded = (!templates.is_empty() && kind == ContentKind::Text)
                .then(|| templates.worded(&bytes).into_owned());
            let bytes = templates.into_payload(bytes);
            let digest = digest(&bytes);
            of_kind.push((Member { digest, bytes }, worded));
        }
        let ordered = |mut members: Vec<(Member, Option<Vec<u8>>)>| {
            members.sort_unstable_by_key(|(member, _)| member.digest);
            members.into_iter().unzip()
        };
        let (texts, worded): (Vec<Member>, Vec<Option<Vec<u8>>>) = ordered(texts);
        let words = OnceLock::new();
        if !templates.is_empty() {
            let texts: Vec<&[u8]> = worded.iter().flatten().map(|text| &text[..]).collect();
            words.get_or_init(|| ShingledText::without(templates.shingles(), &texts));
        }
        Self {
            texts,
            others: ordered(others).0,
            words,
        }
    }

    /// Returns the number of bytes of all members.
    pub fn size(&self) -> ByteLen {
        ByteLen(size(&self.texts) + size(&self.others))
    }

    fn words(&self) -> &ShingledText {
        self.words.get_or_init(|| {
            let texts: Vec<&[u8]> = self.texts.iter().map(|text| &text.bytes[..]).collect();
            ShingledText::of_all(&texts)
        })
    }

    /// Measures these members (a) and others (b): texts in words, unless bytes are requested, and
    /// all other members in bytes.
    pub fn measure(&self, other: &Self, asked: Unit) -> Proven {
        let kinds = match asked {
            Unit::Words => [self.common_texts(other), self.common_others(other)],
            Unit::Bytes => [self.common_contents(other), CommonKind::default()],
        };
        let has_texts_alone = |members: &Self| members.others.is_empty();
        let unit = match asked {
            Unit::Words if has_texts_alone(self) && has_texts_alone(other) => Unit::Words,
            _ => Unit::Bytes,
        };
        let sizes = (self.size(), other.size());
        let is_same = |asked| self.names(asked) == other.names(asked);
        let is_equal = is_same(Unit::Bytes);
        let mut measures = together(kinds, sizes);
        if is_equal {
            measures = Measures::identical(sizes.0).below_identical();
        }
        Proven {
            measures,
            unit,
            is_same_text: !too_small(sizes.0) && (is_equal || is_same(asked)),
            // A passage is found for the member that has it, not for the archive.
            has_passage: false,
            is_pattern: kinds.iter().any(|kind| kind.is_pattern)
                && kinds
                    .iter()
                    .all(|kind| kind.is_pattern || kind.bytes == (0, 0)),
        }
    }

    fn common_texts(&self, other: &Self) -> CommonKind {
        let common = CommonText::of(self.words(), other.words());
        let sizes = (size(&self.texts), size(&other.texts));
        let part = |covered: u64, words: u64, size: u64| {
            covered as f64 / words.max(1) as f64 * size as f64
        };
        let union = common.distinct.0 + common.distinct.1 - common.shared;
        CommonKind {
            sizes: (sizes.0 as f64, sizes.1 as f64),
            shared: (
                part(common.covered.0, common.words.0, sizes.0),
                part(common.covered.1, common.words.1, sizes.1),
            ),
            resemblance: common.shared as f64 / union.max(1) as f64,
            bytes: (common.bytes.0.min(sizes.0), common.bytes.1.min(sizes.1)),
            is_pattern: common.is_pattern(),
        }
    }

    fn common_others(&self, other: &Self) -> CommonKind {
        let joined = |members: &[Member]| -> Vec<u8> {
            let bytes = members.iter().map(|member| &member.bytes[..]);
            bytes.collect::<Vec<_>>().concat()
        };
        in_bytes(&joined(&self.others), &joined(&other.others))
    }

    /// Returns the comparison of all members in bytes.
    fn common_contents(&self, other: &Self) -> CommonKind {
        let joined = |members: &Self| -> Vec<u8> {
            let mut all: Vec<&Member> = members.texts.iter().chain(&members.others).collect();
            all.sort_unstable_by_key(|member| member.digest);
            let bytes = all.into_iter().map(|member| &member.bytes[..]);
            bytes.collect::<Vec<_>>().concat()
        };
        in_bytes(&joined(self), &joined(other))
    }

    /// Returns the names of all members. The order of the members does not change the result.
    fn names(&self, asked: Unit) -> Vec<MemberName> {
        let content = |member: &Member| MemberName::Content(member.digest);
        let mut names: Vec<MemberName> = self.others.iter().map(content).collect();
        match asked {
            Unit::Bytes => names.extend(self.texts.iter().map(content)),
            Unit::Words => {
                let digests = self.words().texts.iter().map(|text| text.digest);
                let texts = self.texts.iter().zip(digests);
                names.extend(texts.map(|(member, words)| {
                    words.map_or_else(|| content(member), MemberName::Words)
                }));
            }
        }
        names.sort_unstable();
        names
    }
}

fn size(members: &[Member]) -> u64 {
    members.iter().map(|member| member.bytes.len() as u64).sum()
}

fn in_bytes(a: &[u8], b: &[u8]) -> CommonKind {
    let common = common_bytes(a, b);
    let (in_a, in_b) = common.covered;
    CommonKind {
        sizes: (a.len() as f64, b.len() as f64),
        shared: (in_a as f64, in_b as f64),
        resemblance: common.resemblance,
        bytes: (in_a as u64, in_b as u64),
        is_pattern: common.is_pattern(),
    }
}

/// Combines the results for both kinds of members into the measures of archives of these sizes.
fn together(kinds: [CommonKind; 2], sizes: (ByteLen, ByteLen)) -> Measures {
    let judged = !too_small(sizes.0) && !too_small(sizes.1);
    let sum = |part: fn(&CommonKind) -> f64| kinds.iter().map(part).sum::<f64>();
    let of = |part: f64, all: f64| {
        let share = Score::new(part / all.max(1.0)).min(Score::ALL_BUT_IDENTICAL);
        judged.then_some(share)
    };
    let in_a: u64 = kinds.iter().map(|kind| kind.bytes.0).sum();
    let in_b: u64 = kinds.iter().map(|kind| kind.bytes.1).sum();
    let weighed = sum(|kind| kind.resemblance * (kind.sizes.0 + kind.sizes.1));
    Measures {
        a_in_b: of(sum(|kind| kind.shared.0), sum(|kind| kind.sizes.0)),
        b_in_a: of(sum(|kind| kind.shared.1), sum(|kind| kind.sizes.1)),
        resemblance: of(weighed, sum(|kind| kind.sizes.0 + kind.sizes.1)),
        shared_bytes: ByteLen(in_smaller(sizes, (in_a, in_b))),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use resemble_testutil::prose::{sentences, words};
    use resemble_testutil::random::noise;

    use super::*;
    use crate::similarity::proof::Provable;

    fn text(seed: u64) -> Vec<u8> {
        sentences(seed, 30).into_bytes()
    }

    fn picture(seed: u64) -> Vec<u8> {
        [&b"\0"[..], &noise(seed, 5000)].concat()
    }

    fn of(members: &[&[u8]]) -> ProvableMembers {
        let kind = |bytes: &[u8]| ContentKind::of_whole(bytes);
        let members = members.iter().map(|bytes| (kind(bytes), bytes.to_vec()));
        ProvableMembers::new(members.collect())
    }

    fn shares(proven: &Proven) -> (f64, f64) {
        let share = |score: Option<Score>| score.expect("judged").get();
        (share(proven.measures.a_in_b), share(proven.measures.b_in_a))
    }

    #[test]
    fn the_same_members_in_any_order_are_the_same_text() {
        let (one, other, image) = (text(1), text(2), picture(3));
        let a = of(&[&one, &image, &other]);
        let b = of(&[&other, &one, &image]);
        for unit in [Unit::Words, Unit::Bytes] {
            let found = a.measure(&b, unit);
            assert!(found.is_same_text, "{unit:?}");
            assert_eq!(found.unit, Unit::Bytes);
        }
        assert_eq!(shares(&a.measure(&b, Unit::Words)), (0.999_999, 0.999_999));
        // Line ends and capitals do not change a text.
        let wrapped = String::from_utf8_lossy(&one)
            .to_uppercase()
            .replace(' ', "\n");
        let c = of(&[&other, wrapped.as_bytes(), &image]);
        assert!(a.measure(&c, Unit::Words).is_same_text);
        assert!(!a.measure(&c, Unit::Bytes).is_same_text);
        // A second copy of a member counts as one more member.
        assert!(
            !a.measure(&of(&[&one, &one, &image, &other]), Unit::Words)
                .is_same_text
        );
    }

    #[test]
    fn a_member_that_differs_costs_its_bytes() {
        let (one, image) = (text(1), picture(3));
        let a = of(&[&one, &image]);
        let found = a.measure(&of(&[&text(9), &image]), Unit::Words);
        let left = image.len() as f64 / (one.len() + image.len()) as f64;
        assert!((shares(&found).0 - left).abs() < 0.001, "{found:?} {left}");
        let none = a.measure(&of(&[&text(9), &picture(8)]), Unit::Words);
        assert_eq!(shares(&none), (0.0, 0.0));
        assert_eq!(none.measures.shared_bytes, ByteLen(0));
    }

    #[test]
    fn a_file_is_contained_in_the_archive_that_holds_it() {
        let (one, image) = (text(1), picture(3));
        let archive = of(&[&text(2), &image, &one]);
        let found = of(&[&one]).measure(&archive, Unit::Words);
        let (file, held) = shares(&found);
        assert_eq!((file, found.unit), (0.999_999, Unit::Bytes));
        assert!((0.1..0.3).contains(&held), "{held}");
        // The shared bytes are the bytes of its words, including one byte for each separator.
        let shared = found.measures.shared_bytes.0 as f64 / one.len() as f64;
        assert!((0.95..=1.0).contains(&shared), "{shared}");
        assert!(shares(&of(&[&image]).measure(&archive, Unit::Words)).0 > 0.9999);
    }

    #[test]
    fn one_member_is_measured_like_a_file() {
        let a = words(0, 300);
        let b = format!("{} {}", words(100, 300), words(9000, 50));
        let whole = of(&[a.as_bytes()]).measure(&of(&[b.as_bytes()]), Unit::Words);
        let file = |text: &str| Provable::new(ContentKind::Text, text.as_bytes().to_vec());
        let alone = file(&a).measure(&file(&b), Unit::Words);
        assert_eq!(
            (whole.unit, whole.is_same_text),
            (alone.unit, alone.is_same_text)
        );
        let close = |one: Option<Score>, other: Option<Score>| {
            let (one, other) = (one.expect("judged").get(), other.expect("judged").get());
            assert!((one - other).abs() < 1e-9, "{one} {other}");
        };
        close(whole.measures.a_in_b, alone.measures.a_in_b);
        close(whole.measures.b_in_a, alone.measures.b_in_a);
        close(whole.measures.resemblance, alone.measures.resemblance);
        assert_eq!(whole.measures.shared_bytes, alone.measures.shared_bytes);
    }

    #[test]
    fn no_run_lies_across_two_texts() {
        // Each member has four words. If members were joined, there would be runs of five.
        let parts: Vec<String> = (0..100).map(|n| words(4 * n, 4)).collect();
        let parts: Vec<&[u8]> = parts.iter().map(String::as_bytes).collect();
        let found = of(&parts).measure(&of(&[words(0, 400).as_bytes()]), Unit::Words);
        assert_eq!(shares(&found), (0.0, 0.0));
    }

    proptest! {
        #[test]
        fn sides_exchange_with_the_archives(
            a in prop::collection::vec((0u64..6, 0usize..60, any::<bool>()), 0..5),
            b in prop::collection::vec((0u64..6, 0usize..60, any::<bool>()), 0..5),
        ) {
            let made = |members: &[(u64, usize, bool)]| {
                let bytes = members.iter().map(|&(seed, size, is_text)| {
                    if is_text {
                        words(seed as usize * 40, size).into_bytes()
                    } else {
                        picture(seed)[..size * 20].to_vec()
                    }
                });
                let bytes: Vec<Vec<u8>> = bytes.collect();
                of(&bytes.iter().map(|bytes| &bytes[..]).collect::<Vec<_>>())
            };
            let (a, b) = (made(&a), made(&b));
            for unit in [Unit::Words, Unit::Bytes] {
                let (found, swapped) = (a.measure(&b, unit), b.measure(&a, unit));
                prop_assert_eq!(found.measures, swapped.measures.swapped());
                prop_assert_eq!(found.unit, swapped.unit);
                prop_assert_eq!(found.is_same_text, swapped.is_same_text);
                let least = a.size().min(b.size());
                prop_assert!(found.measures.shared_bytes <= least);
            }
        }
    }
}
