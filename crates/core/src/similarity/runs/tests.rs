//! Compares the exact measures with naive implementations of their definitions.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;

use super::mark::{MarkLimits, marked_within};
use resemble_testutil::random::{Random, noise};

use super::*;

/// `cover` by definition: a byte counts if any window of 64 bytes over this byte occurs in b.
fn naive_cover(a: &[u8], b: &[u8]) -> usize {
    let of_b: HashSet<&[u8]> = b.windows(LEAST_RUN).collect();
    let mut covered = vec![false; a.len()];
    for (at, window) in a.windows(LEAST_RUN).enumerate() {
        if of_b.contains(window) {
            covered[at..at + LEAST_RUN].fill(true);
        }
    }
    covered.iter().filter(|&&byte| byte).count()
}

fn naive_resemblance(a: &[u8], b: &[u8]) -> f64 {
    let a: HashSet<&[u8]> = a.windows(LEAST_RUN).collect();
    let b: HashSet<&[u8]> = b.windows(LEAST_RUN).collect();
    a.intersection(&b).count() as f64 / a.union(&b).count().max(1) as f64
}

/// Makes two strings from pieces of a few common sources and from other bytes. Some sources are
/// repetitive.
fn related() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
    let piece = (0..5usize, 0..400usize, 1..300usize);
    let pieces = || proptest::collection::vec(piece.clone(), 0..8);
    (pieces(), pieces(), any::<u64>(), 1..80usize).prop_map(|(a, b, seed, period)| {
        let mut random = Random::new(seed);
        let mut random = || random.draw() as u8;
        let one: Vec<u8> = (0..700).map(|_| random()).collect();
        let few: Vec<u8> = (0..700).map(|_| b' ' + random() % 2).collect();
        let mut build = |pieces: Vec<(usize, usize, usize)>| {
            let mut data = Vec::new();
            for (kind, from, len) in pieces {
                match kind {
                    0 => data.extend_from_slice(&one[from..from + len]),
                    1 => data.extend_from_slice(&few[from..from + len]),
                    2 => data.extend((0..len).map(|i| one[i % period])),
                    3 => data.extend(std::iter::repeat_n(0u8, len)),
                    _ => data.extend((0..len).map(|_| random())),
                }
            }
            data
        };
        (build(a), build(b))
    })
}

/// Returns the windows of `data` that occur in `source`. If `earlier` is true, returns only the
/// windows that occur in `source` before their own position.
fn naive_marks(data: &[u8], source: &[u8], earlier: bool) -> Vec<usize> {
    let mut first: HashMap<&[u8], usize> = HashMap::new();
    for (at, window) in source.windows(LEAST_RUN).enumerate() {
        first.entry(window).or_insert(at);
    }
    let occurs = |(at, window): (usize, &[u8])| {
        let place = *first.get(window)?;
        (!earlier || place < at).then_some(at)
    };
    let windows = data.windows(LEAST_RUN).enumerate();
    windows.filter_map(occurs).collect()
}

/// Checks the marks for several limits: by places, by sets of windows, and by both.
fn check_marks(a: &[u8], b: &[u8]) -> Result<(), TestCaseError> {
    let blocks = Blocks::new(b);
    for (data, among) in [(a, Among::All), (b, Among::All), (b, Among::Earlier)] {
        let expected = naive_marks(data, b, among == Among::Earlier);
        for (crowd, segment) in [
            (usize::MAX, 1),
            (16, 1000),
            (2, 100),
            (1, 1),
            (0, 40),
            (0, 5000),
        ] {
            let limits = MarkLimits { crowd, segment };
            let marks = marked_within(data, &blocks, among, limits);
            let marks: Vec<usize> = marks.ranges().flatten().collect();
            prop_assert_eq!(&marks, &expected, "{:?} {:?}", limits, among);
        }
    }
    Ok(())
}

fn check_runs(a: &[u8], b: &[u8], runs: &[CommonRun]) -> Result<usize, TestCaseError> {
    let mut end = 0;
    let mut total = 0;
    for run in runs {
        prop_assert!(run.a.start >= end && run.a.start < run.a.end, "{:?}", runs);
        prop_assert_eq!(run.a.end - run.a.start, run.b.end - run.b.start);
        let (in_a, in_b) = (
            &a[run.a.start as usize..run.a.end as usize],
            &b[run.b.start as usize..run.b.end as usize],
        );
        prop_assert_eq!(in_a, in_b);
        end = run.a.end;
        total += in_a.len();
    }
    Ok(total)
}

proptest! {
    #[test]
    fn marks_do_not_depend_on_the_limits((a, b) in related()) {
        check_marks(&a, &b)?;
    }

    /// Tests blocks at every distance from their indexed positions, and files of every size around
    /// the size of a window.
    #[test]
    fn marks_of_small_files(
        a in (0..200usize, 0..200usize),
        period in 1..200usize,
        seed in any::<u64>(),
        edits in proptest::collection::vec(0..200usize, 0..4),
    ) {
        let long = noise(seed, period).repeat(400 / period + 1);
        let (from, len) = a;
        let mut one = long[from..from + len].to_vec();
        check_marks(&one, &one.clone())?;
        check_marks(&one, &long[..len])?;
        check_marks(&one, &long)?;
        for edit in edits {
            if let Some(byte) = one.get_mut(edit) {
                *byte ^= 1;
            }
        }
        check_marks(&one, &long[..200])?;
        check_marks(&long, &one)?;
    }

    /// A piece of one file is copied to any two places of another. The two places may overlap or be
    /// equal.
    #[test]
    fn marks_of_a_piece_at_every_phase(
        from in 0..140usize,
        len in 60..140usize,
        to in (0..300usize, 0..300usize),
        seed in any::<u64>(),
    ) {
        let a = noise(seed, 300);
        let mut b = noise(!seed, 500);
        for to in [to.0, to.1] {
            b[to..to + len].copy_from_slice(&a[from..from + len]);
        }
        check_marks(&a, &b)?;
        check_marks(&b, &a)?;
    }

    #[test]
    fn cover_is_its_definition((a, b) in related()) {
        let share = |covered: usize, of: &[u8]| Score::new(covered as f64 / of.len().max(1) as f64);
        let expected = (share(naive_cover(&a, &b), &a), share(naive_cover(&b, &a), &b));
        prop_assert_eq!(cover(&a, &b), expected);
    }

    #[test]
    fn runs_cover_what_cover_counts((a, b) in related()) {
        let runs = common_runs(&a, &b);
        prop_assert_eq!(check_runs(&a, &b, &runs)?, naive_cover(&a, &b));
        let runs = common_runs(&b, &a);
        prop_assert_eq!(check_runs(&b, &a, &runs)?, naive_cover(&b, &a));
    }

    #[test]
    fn runs_of_large_files_are_sound((a, b) in related()) {
        let runs = common_runs_within(&a, &b, 0);
        prop_assert!(check_runs(&a, &b, &runs)? <= naive_cover(&a, &b));
    }

    #[test]
    fn runs_are_the_greedy_ones((a, b) in related(), times in 1..20usize) {
        // `b` is repeated to make crowded blocks.
        for b in [b.repeat(times), b] {
            prop_assert_eq!(common_runs(&a, &b), greedy(&a, &b, Naive::windows(&a, &b)));
            prop_assert_eq!(common_runs(&b, &a), greedy(&b, &a, Naive::windows(&b, &a)));
            prop_assert_eq!(common_runs_within(&a, &b, 0), naive_sparse(&a, &b));
            prop_assert_eq!(common_runs_within(&b, &a, 0), naive_sparse(&b, &a));
        }
    }

    #[test]
    fn exact_is_its_definition((mut a, mut b) in related()) {
        a.extend((0..=255u8).map(|i| i.wrapping_mul(7)));
        b.extend((0..=255u8).map(|i| i.wrapping_mul(11)));
        let measures = exact(&a, &b);
        let expected = naive_resemblance(&a, &b);
        let (in_a, in_b) = (naive_cover(&a, &b), naive_cover(&b, &a));
        prop_assert_eq!(measures.a_in_b, Some(Score::new(in_a as f64 / a.len() as f64)));
        prop_assert_eq!(measures.b_in_a, Some(Score::new(in_b as f64 / b.len() as f64)));
        prop_assert_eq!(measures.resemblance, Some(Score::new(expected)));
        let in_smaller = match a.len().cmp(&b.len()) {
            Ordering::Less => in_a,
            Ordering::Equal => in_a.min(in_b),
            Ordering::Greater => in_b,
        };
        prop_assert_eq!(measures.shared_bytes, ByteLen(in_smaller as u64));
    }
}

/// Finds the strings of a in a map that has all their places in b.
struct Naive<'s, const WIDTH: usize> {
    a: &'s [u8],
    places: HashMap<&'s [u8], Vec<usize>>,
}

impl<'s, const WIDTH: usize> Naive<'s, WIDTH> {
    fn new(a: &'s [u8], b: &'s [u8], step: usize) -> Self {
        let mut places: HashMap<&[u8], Vec<usize>> = HashMap::new();
        for (at, string) in b.windows(WIDTH).enumerate().step_by(step) {
            places.entry(string).or_default().push(at);
        }
        Self { a, places }
    }
}

impl<'s> Naive<'s, LEAST_RUN> {
    fn windows(a: &'s [u8], b: &'s [u8]) -> Self {
        Self::new(a, b, 1)
    }
}

impl<const WIDTH: usize> Starts for Naive<'_, WIDTH> {
    const WIDTH: usize = WIDTH;

    fn next(&mut self, from: usize) -> Option<usize> {
        let mut ats = from..(self.a.len() + 1).saturating_sub(WIDTH);
        ats.find(|&at| self.places.contains_key(&self.a[at..at + WIDTH]))
    }

    fn places(&mut self, at: usize, places: &mut Vec<usize>) {
        let all = &self.places[&self.a[at..at + WIDTH]];
        places.extend(all.iter().take(PLACES));
    }
}

/// Returns runs found by every 33rd block of the smaller file.
fn naive_sparse(a: &[u8], b: &[u8]) -> Vec<CommonRun> {
    if a.len().min(b.len()) < LEAST_RUN {
        return Vec::new();
    }
    if b.len() <= a.len() {
        return greedy(a, b, Naive::<{ blocks::WIDTH }>::new(a, b, blocks::STEP));
    }
    let mut all = Naive::<{ blocks::WIDTH }>::new(a, b, 1);
    let of_a = a.windows(blocks::WIDTH).step_by(blocks::STEP);
    let of_a: HashSet<&[u8]> = of_a.collect();
    all.places.retain(|string, _| of_a.contains(string));
    greedy(a, b, all)
}

#[test]
fn an_edit_splits_a_run_in_two() {
    let a = noise(1, 1000);
    let mut b = noise(2, 100);
    b.extend_from_slice(&a);
    b[600] ^= 1;
    assert_eq!(
        common_runs(&a, &b),
        [
            CommonRun {
                a: 0..500,
                b: 100..600
            },
            CommonRun {
                a: 501..1000,
                b: 601..1100
            }
        ]
    );
    assert_eq!(cover(&a, &b).0, Score::new(0.999));
}

#[test]
fn a_run_of_63_bytes_is_none() {
    let a = noise(3, 500);
    let mut b = noise(4, 500);
    b[100..163].copy_from_slice(&a[200..263]);
    assert_eq!(common_runs(&a, &b), []);
    b[163] = a[263];
    assert_eq!(
        common_runs(&a, &b),
        [CommonRun {
            a: 200..264,
            b: 100..164
        }]
    );
}

#[test]
fn distinctive_runs_are_found_in_large_files_too() {
    let a = noise(5, DENSE + 5000);
    let mut b = noise(6, 2 * DENSE);
    b[1234..1298].copy_from_slice(&a[77..141]);
    b[90_000..1_090_000].copy_from_slice(&a[3_000_000..4_000_000]);
    let expected = [
        CommonRun {
            a: 77..141,
            b: 1234..1298,
        },
        CommonRun {
            a: 3_000_000..4_000_000,
            b: 90_000..1_090_000,
        },
    ];
    assert_eq!(common_runs(&a, &b), expected);
    let mut swapped = expected.map(|run| CommonRun { a: run.b, b: run.a });
    swapped.sort_by_key(|run| run.a.start);
    assert_eq!(common_runs(&b, &a), swapped);
}

/// The work is bounded even on data that would make naive matching slow.
#[test]
fn constant_and_periodic_data_take_linear_time() {
    let zeros = vec![0u8; 3 << 20];
    let runs = common_runs(&zeros, &zeros[..1 << 20]);
    assert_eq!(
        runs.iter().map(|run| run.a.end - run.a.start).sum::<u64>(),
        3 << 20
    );
    let mut broken = zeros.clone();
    broken.iter_mut().step_by(100).for_each(|byte| *byte = 1);
    // 99 zeros follow each of 31,457 ones. The 27 zeros at the end are too few for a run.
    let covered = 31_457 * 99;
    assert_eq!(
        cover(&broken, &zeros).0,
        Score::new(f64::from(covered) / f64::from(3 << 20))
    );
    let runs = common_runs(&broken, &zeros);
    assert_eq!(
        runs.iter().map(|run| run.a.end - run.a.start).sum::<u64>(),
        covered as u64
    );
    let long: Vec<u8> = noise(7, 50).repeat((DENSE + 1_000_000) / 50);
    let runs = common_runs(&long, &long);
    assert_eq!(
        runs,
        [CommonRun {
            a: 0..long.len() as u64,
            b: 0..long.len() as u64
        }]
    );
}

/// The work limit is reached within a file. The marks before and after this place must be exact.
#[test]
fn crowds_beyond_the_work_limit_are_exact() {
    let (mut a, mut b) = (noise(8, 30_000), noise(9, 30_000));
    for (data, of) in [(&mut a, 3), (&mut b, 4)] {
        for (at, chunk) in data.chunks_exact_mut(70).enumerate() {
            if at % 5 != of {
                chunk[..50].fill((at % 2) as u8);
                chunk[52..].iter_mut().for_each(|byte| *byte %= 2);
            }
        }
    }
    let piece = a[9_990..11_000].to_vec();
    b[20_000..20_000 + piece.len()].copy_from_slice(&piece);
    check_marks(&a, &b).unwrap();
    check_marks(&b, &a).unwrap();
}

#[test]
fn common_ends_are_counted_to_the_byte() {
    let a = noise(10, 100);
    for len in 0..80 {
        for at in 0..len {
            let mut b = a[..len].to_vec();
            b[at] ^= 0x80;
            assert_eq!(common_prefix(&a, &b), at);
            assert_eq!(common_suffix(&a[..len], &b), len - 1 - at);
            assert_eq!(common_suffix(&b[..at], &a[..at]), at);
        }
        assert_eq!(common_prefix(&a[..len], &a), len);
        assert_eq!(common_suffix(&a[100 - len..], &a), len);
    }
}

#[test]
fn files_too_small_for_a_window_share_nothing() {
    assert_eq!(common_runs(b"abc", b"abc"), []);
    assert_eq!(cover(b"", b""), (Score::ZERO, Score::ZERO));
    let small = [7u8; 200];
    let measures = exact(&small, &[7u8; 300]);
    assert_eq!(
        (measures.a_in_b, measures.b_in_a, measures.resemblance),
        (None, None, None)
    );
    assert_eq!(measures.shared_bytes, ByteLen(200));
}
