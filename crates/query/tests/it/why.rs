//! Checks that the answer about two files agrees with their bytes.

use std::ops::Range;

use proptest::prelude::*;
use resemble_core::printable::is_printable;
use resemble_core::similarity::Unit;
use resemble_core::similarity::{Templates, runs};
use resemble_core::{Params, Relation, Score};
use resemble_query::why::{
    BlockKind, Comparison, Placing, RangesOf, Row, RowSide, Stretch, ViewOptions,
    compare_with_parts,
};
use resemble_testutil::prose::lines as text;
use resemble_testutil::random::{Random, noise};

fn compared(a: impl AsRef<[u8]>, b: impl AsRef<[u8]>) -> Comparison {
    Comparison::of_bytes(
        a.as_ref().to_vec(),
        b.as_ref().to_vec(),
        &Templates::default(),
        Unit::Words,
    )
}

#[test]
fn identical_bytes_are_one_range() {
    let text = b"a line that is here\n".repeat(40);
    let shared = compared(&text, &text).shared;
    assert!(shared.identical && shared.ranges_of == RangesOf::Runs);
    assert_eq!(shared.ranges.len(), 1);
    assert_eq!(shared.ranges[0].lines_a, Some((1, 40)));
    assert_eq!((shared.differs_a, shared.differs_b), (vec![], vec![]));
}

#[test]
fn an_edit_is_what_differs() {
    let a = text(1, 20);
    let at = 500 + a[500..].find("line").unwrap();
    let mut b = a.clone();
    b.replace_range(at..at + 3, "twelve bytes");
    let shared = compared(&a, &b).shared;
    assert_eq!(shared.relation, Some(Relation::Near));
    let stretch = |range: Range<u64>, line| Stretch {
        range,
        lines: Some((line, line)),
    };
    let line = a[..at].matches('\n').count() as u64 + 1;
    let (from, to) = (at as u64, at as u64 + 3);
    assert_eq!(shared.differs_a, [stretch(from..to, line)]);
    assert_eq!(shared.differs_b, [stretch(from..to + 9, line)]);
    assert!(shared.ranges.iter().all(|r| r.placing == Placing::InOrder));
}

#[test]
fn a_block_that_went_elsewhere_has_moved() {
    let (one, two, three) = (text(1, 30), text(2, 10), text(3, 30));
    let a = format!("{one}{two}{three}");
    let b = format!("{one}{three}{two}");
    let comparison = compared(&a, &b);
    let placings: Vec<Placing> = comparison.shared.ranges.iter().map(|r| r.placing).collect();
    assert_eq!(
        placings,
        [Placing::InOrder, Placing::Moved, Placing::InOrder]
    );
    assert_eq!(comparison.shared.differing_bytes(), (0, 0));
    let kinds: Vec<_> = comparison
        .blocks()
        .iter()
        .map(|block| (block.kind, block.a.is_some(), block.b.is_some()))
        .collect();
    let shared = BlockKind::Shared;
    assert_eq!(
        kinds,
        [
            (shared(1), true, true),
            (shared(2), true, false),
            (shared(3), true, true),
            (shared(2), false, true),
        ]
    );
    let (listed, left) = comparison.listed(10);
    assert_eq!(left, 0);
    assert_eq!(listed.len(), 4);
    assert!(listed[1].contains("moved: b lines 61-70"), "{listed:?}");
}

#[test]
fn what_one_file_has_twice_is_again() {
    let (one, two) = (text(1, 10), text(2, 10));
    let twice = format!("{one}{two}{one}");
    let once = format!("{one}{two}");
    let shared = compared(&twice, &once).shared;
    let placings: Vec<Placing> = shared.ranges.iter().map(|r| r.placing).collect();
    assert_eq!(placings, [Placing::InOrder, Placing::Again]);
    let shared = compared(&once, &twice).shared;
    assert_eq!(shared.ranges.len(), 1);
    assert_eq!(shared.repeats.len(), 1);
    assert_eq!(shared.repeats[0].a, 0..one.len() as u64);
    assert_eq!(shared.differing_bytes(), (0, 0));
}

/// A line that occurs often is matched with the line at the same place in the other file, not with
/// its first occurrence there.
#[test]
fn common_text_stays_in_its_place() {
    let common = format!("{}\n", "=".repeat(70));
    let piece = |seed| format!("{}{common}", text(seed, 3));
    let a: String = (0..20).map(piece).collect();
    let b: String = (0..20)
        .map(|n| if n % 2 == 0 { piece(n) } else { piece(n + 100) })
        .collect();
    let shared = compared(&a, &b).shared;
    for range in &shared.ranges {
        // Digits that are equal by chance may make a short run at another place.
        assert!(
            range.placing == Placing::InOrder || range.bytes() < 20,
            "{range:?}"
        );
    }
}

/// Returns the rows of a table. Each row has a number, one of four words, and an amount.
fn rows(seed: u64, count: usize) -> Vec<String> {
    let mut random = Random::new(seed);
    let row = |_| {
        let number = random.below(1_000_000);
        let state = ["open", "paid", "sent", "late"][random.below(4)];
        format!(
            "{number};{state};{}.{:02}",
            random.below(9000),
            random.below(100)
        )
    };
    (0..count).map(row).collect()
}

fn shuffled(mut rows: Vec<String>, seed: u64) -> Vec<String> {
    let mut random = Random::new(seed);
    for at in (1..rows.len()).rev() {
        rows.swap(at, random.below(at + 1));
    }
    rows
}

/// Returns, for each file, the share that the common ranges cover and the share that the measures
/// state.
fn covered_and_told(a: &str, b: &str) -> [(f64, f64); 2] {
    let shared = compared(a, b).shared;
    for range in shared.ranges.iter().chain(&shared.repeats) {
        let (of_a, of_b) = (slice(a.as_bytes(), &range.a), slice(b.as_bytes(), &range.b));
        assert_eq!(of_a, of_b);
    }
    let of_a = shared.ranges.iter().map(|r| r.a.clone());
    let of_a = of_a.chain(shared.differs_a.iter().map(|s| s.range.clone()));
    assert!(is_tiled(of_a.collect(), a.len()));
    let ranges = union(shared.ranges.iter().map(|r| r.b.clone()).collect());
    let of_b = ranges
        .into_iter()
        .chain(shared.repeats.iter().map(|r| r.b.clone()));
    let of_b = of_b.chain(shared.differs_b.iter().map(|s| s.range.clone()));
    assert!(is_tiled(of_b.collect(), b.len()));
    let (only_a, only_b) = shared.differing_bytes();
    let covered = |only: u64, size: usize| 1.0 - only as f64 / size as f64;
    let (measures, _) = shared.told();
    let told = |share: Option<Score>| share.map_or(0.0, Score::get);
    [
        (covered(only_a, a.len()), told(measures.a_in_b)),
        (covered(only_b, b.len()), told(measures.b_in_a)),
    ]
}

/// For tables, the common ranges cover the measured share. The rows may be in any order.
#[test]
fn rows_are_shown_in_any_order() {
    let all = rows(1, 600);
    let sorted = || {
        let mut sorted = all.clone();
        sorted.sort();
        sorted
    };
    let edited = |every: usize| {
        let other = rows(2, 600);
        let rows = all.iter().zip(&other).enumerate();
        rows.map(|(at, (row, other))| if at % every == 0 { other } else { row }.clone())
            .collect::<Vec<String>>()
    };
    let doubled = [&all[..50], &all[..]].concat();
    let tables = [
        (sorted(), 1.0, 1.0),
        (shuffled(all.clone(), 3), 1.0, 1.0),
        (shuffled(edited(20), 4), 0.95, 0.95),
        (edited(3), 0.67, 0.67),
        (shuffled(all[..150].to_vec(), 5), 0.25, 1.0),
        (shuffled(doubled, 6), 1.0, 1.0),
        (rows(7, 600), 0.0, 0.0),
    ];
    let head = "number;state;amount";
    for (at, (table, in_b, in_a)) in tables.into_iter().enumerate() {
        for end in ["\n", "\r\n"] {
            let a = [head, &all.join("\n"), ""].join("\n");
            let b = [head, &table.join(end), ""].join(end);
            let [of_a, of_b] = covered_and_told(&a, &b);
            for ((covered, told), least) in [(of_a, in_b), (of_b, in_a)] {
                assert!((told - least).abs() < 0.03, "{at}: {told}");
                // The files have different line ends. A word and its line end then differ in bytes,
                // so the ranges cover less than the share in words.
                let most = if end == "\n" { 0.02 } else { 0.12 };
                assert!((covered - told).abs() < most, "{at}: {covered} but {told}");
            }
        }
    }
}

/// Returns two files built from the same blocks in any order. Each block is equal in both files, or
/// is changed, repeated or missing in one file.
fn related() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
    let piece = (0..6usize, 0..500usize, 1..300usize);
    let pieces = || proptest::collection::vec(piece.clone(), 0..9);
    (pieces(), pieces(), any::<u64>(), 1..80usize).prop_map(|(a, b, seed, period)| {
        let one = noise(seed, 900);
        let lines = text(seed, 20).into_bytes();
        let mut own = seed;
        let mut build = |pieces: Vec<(usize, usize, usize)>| -> Vec<u8> {
            let mut data = Vec::new();
            for (kind, from, len) in pieces {
                own = own.wrapping_add(1);
                match kind {
                    0 => data.extend_from_slice(&one[from..from + len]),
                    1 | 2 => data.extend_from_slice(&lines[from..from + len]),
                    3 => data.extend((0..len).map(|i| one[i % period])),
                    4 => data.extend(std::iter::repeat_n(b'\n', len)),
                    _ => data.extend(noise(own, len)),
                }
            }
            data
        };
        (build(a), build(b))
    })
}

/// Returns the ranges in order, each without the bytes of the ranges before it.
fn union(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut end = 0;
    for range in &mut ranges {
        range.start = range.start.max(end);
        range.end = range.end.max(range.start);
        end = range.end;
    }
    ranges
}

fn is_tiled(mut ranges: Vec<Range<u64>>, size: usize) -> bool {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_by_key(|range| range.start);
    let mut end = 0;
    for range in &ranges {
        if range.start != end {
            return false;
        }
        end = range.end;
    }
    end == size as u64
}

fn slice<'d>(data: &'d [u8], range: &Range<u64>) -> &'d [u8] {
    &data[range.start as usize..range.end as usize]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn ranges_are_equal_and_leave_out_what_differs((a, b) in related()) {
        let shared = compared(&a, &b).shared;
        let all = shared.ranges.iter().chain(&shared.repeats);
        for range in all {
            prop_assert_eq!(slice(&a, &range.a), slice(&b, &range.b));
        }
        // In a, the ranges and the differing parts neither overlap nor leave a gap. In b, the
        // ranges may overlap, so their union is used, together with repeats and differing parts.
        let of_a = shared.ranges.iter().map(|r| r.a.clone());
        let of_a = of_a.chain(shared.differs_a.iter().map(|s| s.range.clone())).collect();
        prop_assert!(is_tiled(of_a, a.len()));
        let ranges = union(shared.ranges.iter().map(|r| r.b.clone()).collect());
        let of_b = ranges.into_iter().chain(shared.repeats.iter().map(|r| r.b.clone()));
        let of_b = of_b.chain(shared.differs_b.iter().map(|s| s.range.clone())).collect();
        prop_assert!(is_tiled(of_b, b.len()));
        // The number of differing bytes is the number of bytes that the containments do not count.
        let (in_a, in_b) = runs::cover(&a, &b);
        let (only_a, only_b) = shared.differing_bytes();
        let lacking = |score: Score, size: usize| {
            ((1.0 - score.get()) * size as f64).round() as u64
        };
        if !a.is_empty() && !b.is_empty() && !shared.identical {
            prop_assert_eq!(only_a, lacking(in_a, a.len()));
            prop_assert_eq!(only_b, lacking(in_b, b.len()));
        }
        // Ranges that are placed in order must ascend in b.
        let in_order = shared.ranges.iter().filter(|r| r.placing == Placing::InOrder);
        let mut last = None;
        for range in in_order {
            prop_assert!(last < Some((range.b.start, range.b.end)));
            last = Some((range.b.start, range.b.end));
        }
    }

    #[test]
    fn blocks_tile_both_files((a, b) in related()) {
        let comparison = compared(&a, &b);
        let blocks = comparison.blocks();
        let of_a: Vec<_> = blocks.iter().filter_map(|block| block.a.clone()).collect();
        let of_b: Vec<_> = blocks.iter().filter_map(|block| block.b.clone()).collect();
        prop_assert!(of_a.is_sorted_by_key(|range| range.start));
        prop_assert!(of_b.is_sorted_by_key(|range| range.start));
        prop_assert!(is_tiled(of_a, a.len()));
        prop_assert!(is_tiled(of_b, b.len()));
        for block in &blocks {
            match (block.kind, &block.a, &block.b) {
                (BlockKind::Shared(_), Some(in_a), Some(in_b)) => {
                    prop_assert_eq!(slice(&a, in_a), slice(&b, in_b));
                }
                (BlockKind::Shared(_), Some(in_a), None) => {
                    let elsewhere = block.elsewhere.clone().unwrap();
                    prop_assert_eq!(slice(&a, in_a), slice(&b, &elsewhere));
                }
                (BlockKind::Shared(_), None, Some(in_b)) => {
                    let elsewhere = block.elsewhere.clone().unwrap();
                    prop_assert_eq!(slice(&a, &elsewhere), slice(&b, in_b));
                }
                (BlockKind::OnlyA, Some(_), None) | (BlockKind::OnlyB, None, Some(_)) => {}
                other => prop_assert!(false, "{:?}", other),
            }
        }
        // Bytes that differ are shown as bytes of one file only. Common pieces that are too short
        // to be shown as common are shown in the same way.
        let only = |kind| -> u64 {
            blocks
                .iter()
                .filter(|block| block.kind == kind)
                .filter_map(|block| block.a.as_ref().or(block.b.as_ref()))
                .map(|range| range.end - range.start)
                .sum()
        };
        let (only_a, only_b) = comparison.shared.differing_bytes();
        prop_assert!(only(BlockKind::OnlyA) >= only_a);
        prop_assert!(only(BlockKind::OnlyB) >= only_b);
    }

    /// A view shows every line of both texts once and in order, or counts it in a fold or in the
    /// rest.
    #[test]
    fn a_view_leaves_nothing_out(
        (a, b) in related(),
        context in 0..4usize,
        gap in 1..30usize,
        rows in prop_oneof![Just(10_000), 1..12usize],
        is_text in any::<bool>(),
    ) {
        let prepare = |mut data: Vec<u8>| {
            data.iter_mut().filter(|byte| is_text && **byte == 0).for_each(|byte| *byte = b' ');
            data
        };
        let (a, b) = (prepare(a), prepare(b));
        let comparison = compared(&a, &b);
        let view = comparison.view(&ViewOptions { context, gap, rows, line: 40, hex: 8 });
        prop_assert!(view.rows.len() <= rows);
        let lines = |data: &[u8]| {
            let newlines = memchr::memchr_iter(b'\n', data).count() as u64;
            newlines + u64::from(data.last().is_some_and(|&last| last != b'\n'))
        };
        let sides = |pick: fn(&Row) -> &Option<RowSide>| -> Vec<RowSide> {
            view.rows.iter().filter_map(|row| pick(row).clone()).collect()
        };
        for (data, sides, rest) in [
            (&a, sides(|row| &row.left), view.rest.map(|rest| (rest.lines_a, rest.bytes_a))),
            (&b, sides(|row| &row.right), view.rest.map(|rest| (rest.lines_b, rest.bytes_b))),
        ] {
            // The number that the next line of the view must have.
            let mut next = u64::from(view.text);
            for side in &sides {
                match side {
                    RowSide::Line(line) => {
                        prop_assert_eq!(line.number, next);
                        let shown = line.spans.iter().flat_map(|span| span.text.chars());
                        let mut shown = shown.filter(|&c| c != '\t');
                        prop_assert!(shown.all(is_printable));
                        next += if view.text { 1 } else {
                            let text = &line.spans[0].text;
                            let hex = text.split("  ").next().unwrap().chars();
                            (hex.filter(|&c| c != ' ').count() / 2) as u64
                        };
                    }
                    RowSide::Fold(fold) => next += if view.text { fold.lines } else { fold.bytes },
                }
            }
            let all = if view.text { lines(data) + 1 } else { data.len() as u64 };
            let rest = rest.map_or(0, |(lines, bytes)| if view.text { lines } else { bytes });
            // The rest counts newlines, so it may not count a last line without a newline.
            let is_all = next + rest == all || view.text && next + rest + 1 == all;
            prop_assert!(is_all, "{} {} {}", next, rest, all);
        }
        for row in view.rows.iter().filter(|row| row.equal) {
            prop_assert!(row.left.is_some() && row.right.is_some());
        }
    }
}

#[test]
fn long_equal_stretches_are_folded() {
    let a = text(1, 100);
    let b = a.replacen("line", "WORD", 51).replacen("WORD", "line", 50);
    let view = compared(&a, &b).view(&ViewOptions::default());
    let folds: Vec<String> = view
        .rows
        .iter()
        .filter_map(|row| match &row.left {
            Some(RowSide::Fold(fold)) => Some(fold.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(folds, ["… 47 lines equal …", "… 46 lines equal …"]);
    assert_eq!(view.rows.len(), 2 + 3 + 1 + 3);
    let changed = &view.rows[4];
    assert!(!changed.equal, "{changed:?}");
    let Some(RowSide::Line(line)) = &changed.left else {
        panic!("{changed:?}");
    };
    let texts: Vec<(Option<u32>, &str)> = line
        .spans
        .iter()
        .map(|span| (span.run, &*span.text))
        .collect();
    assert_eq!(texts[1], (None, "line"));
    assert_eq!(
        texts.iter().map(|(run, _)| *run).collect::<Vec<_>>(),
        [Some(1), None, Some(2)]
    );
}

#[test]
fn a_character_differs_if_any_byte_of_it_does() {
    // In UTF-8, ä and ö have the same first byte. The whole character must be shown as different.
    let (one, two) = ("x".repeat(70), "y".repeat(70));
    let a = format!("{one}ä{two}\n");
    let b = format!("{one}ö{two}\n");
    let view = compared(&a, &b).view(&ViewOptions::default());
    let Some(RowSide::Line(line)) = &view.rows[0].left else {
        panic!("{view:?}");
    };
    let texts: Vec<&str> = line.spans.iter().map(|span| &*span.text).collect();
    assert_eq!(texts, [&*one, "ä", &*two]);
}

#[test]
fn long_lines_lose_their_middle() {
    let a = format!("{}END\n", "z".repeat(50_000));
    let b = format!("{}\n", "z".repeat(50_000));
    let view = compared(&a, &b).view(&ViewOptions::default());
    let Some(RowSide::Line(line)) = &view.rows[0].left else {
        panic!("{view:?}");
    };
    let shown: String = line.spans.iter().map(|span| &*span.text).collect();
    assert!(shown.len() < 1000, "{}", shown.len());
    assert!(shown.contains("… 49,400 bytes …"), "{shown}");
    assert!(shown.ends_with("END"), "{shown}");
}

#[test]
fn matches_show_shared_text_only() {
    let (one, two) = (text(1, 4), text(2, 5));
    let a = format!("only here\n{one}in a\n{two}");
    let b = format!("{two}{one}");
    let view = compared(&a, &b).matches(&ViewOptions::default());
    let numbers: Vec<(u64, u64)> = view
        .rows
        .iter()
        .filter_map(|row| match (&row.left, &row.right) {
            (Some(RowSide::Line(left)), Some(RowSide::Line(right))) => {
                Some((left.number, right.number))
            }
            _ => None,
        })
        .collect();
    // The newline before the block may be shared, too, so there may be more rows before these.
    assert!(
        numbers.ends_with(&[(7, 1), (8, 2), (9, 3), (10, 4), (11, 5)]),
        "{numbers:?}"
    );
    assert!(numbers.contains(&(2, 6)), "{numbers:?}");
    let shown = format!("{view:?}");
    assert!(
        !shown.contains("only here") && !shown.contains("in a\""),
        "{shown}"
    );
}

/// Returns the value of one line of the summary.
fn said(comparison: &Comparison, of: &str) -> String {
    let lines = comparison.shared.summary().into_iter();
    let mut lines = lines.filter(|(name, _)| *name == of);
    lines.next().expect("a line").1
}

#[test]
fn why_says_that_a_short_pattern_is_no_evidence() {
    let pattern = [&b"\0"[..], &noise(1, 11)].concat();
    let (pure, padded) = (pattern.repeat(3000), pattern.repeat(2000));
    let beside = |seed| [&b"\0"[..], &noise(seed, 900), &padded].concat();
    for (a, b) in [(pure, padded.clone()), (beside(2), beside(3))] {
        let found = compared(a, b);
        assert!(found.shared.measures.containment() > Some(Score::new(0.9)));
        assert_eq!(found.shared.relation, None);
        let reason = "none: most of what both share is a short piece, repeated";
        assert_eq!(said(&found, "relation"), reason);
    }
}

#[test]
fn why_says_that_one_text_is_saved_in_other_bytes() {
    let text = text(1, 20);
    let saved = text.replace('\n', "\r\n");
    let marked = format!("\u{feff}{text}");
    for other in [saved, marked] {
        let found = compared(&text, other);
        let relation = "same-text: the words are the same, the bytes are not";
        assert_eq!(said(&found, "relation"), relation);
    }
}

/// For texts that are too large to be read, the figures are estimates. Their unit and relation are
/// the same as in every other question.
#[test]
fn texts_that_are_too_large_to_read_have_the_relation_of_other_questions() {
    let folder = tempfile::tempdir().unwrap();
    let paths = [("a", "\n"), ("b", "\r\n")].map(|(name, end)| {
        let path = folder.path().join(name);
        let line = |number| format!("the {number}th line of a text that is very long{end}");
        let lines: String = (0..1_500_000).map(line).collect();
        assert!(lines.len() > 64 << 20);
        std::fs::write(&path, lines).unwrap();
        path
    });
    let terms = (&Params::default(), &Templates::default());
    let found = compare_with_parts(&paths[0], &paths[1], terms, None).unwrap();
    assert_eq!(found.shared.ranges_of, RangesOf::Chunks);
    let relation = "same-text: the words are the same, the bytes are not";
    assert_eq!(said(&found, "relation"), relation);
    assert_eq!(said(&found, "a in b"), "~99% of its words");
}
