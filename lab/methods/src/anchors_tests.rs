use proptest::prelude::*;

use super::*;
use crate::testing::{contents, prose};

/// Finds the fingerprints by following the paper literally: checks at each place whether an anchor
/// starts there and a window fits.
fn by_the_paper(bytes: &[u8], params: &AnchorParams) -> Vec<u64> {
    let (mut all, mut at, width) = (Vec::new(), 0, params.window as usize);
    while at + width <= bytes.len() {
        if params
            .anchors
            .strings()
            .iter()
            .any(|anchor| bytes[at..].starts_with(anchor))
        {
            all.push(checksum(&bytes[at..at + width], params.bits));
            at += width;
        } else {
            at += 1;
        }
    }
    all
}

proptest! {
    #[test]
    fn fingerprints_are_those_of_a_search_at_every_place(
        bytes in contents(),
        anchors in prop::collection::vec("[a-e ]{1,3}", 1..8),
        window in 8u32..60,
        size in 1usize..200,
    ) {
        let anchors = anchors.into_iter().map(String::into_bytes).collect();
        let anchors = Anchors::new(anchors).expect("some");
        let params = AnchorParams { anchors: Arc::new(anchors), window, bits: 30 };
        let (mut all, mut scanner) = (Vec::new(), AnchorScanner::new(&params));
        for _twice in 0..2 {
            all.clear();
            bytes.chunks(size).for_each(|piece| scanner.update(piece, |f| all.push(f)));
            scanner.reset();
        }
        prop_assert_eq!(all, by_the_paper(&bytes, &params));
    }

    #[test]
    fn a_set_is_read_back(
        strings in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..6), 1..20),
    ) {
        let set = Anchors::new(strings).expect("some");
        let read = Anchors::parse(set.to_text().as_bytes()).expect("as written");
        prop_assert_eq!(read.id(), set.id());
        prop_assert_eq!(read, set);
    }
}

/// Tests a sentence of the paper: "If two files contain an identical piece, and if the piece
/// contains an anchor, then the string around the anchor is identical."
#[test]
fn acte_in_character_starts_a_fingerprint() {
    let params = AnchorParams {
        anchors: Arc::new(Anchors::parse(b"acte").expect("one")),
        ..AnchorParams::default()
    };
    let tail = "acter of the text goes on for at least fifty more characters.";
    let prints = |text: &str| by_the_paper(text.as_bytes(), &params);
    assert_eq!(
        prints(&format!("The char{tail}")),
        prints(&format!("Another character? No: char{tail}")[20..])
    );
    assert_eq!(prints(&format!("x{tail}")).len(), 1);
    assert_eq!(
        prints("character less than fifty bytes before the end").len(),
        0
    );
}

#[test]
fn faults_of_anchors_are_told() {
    let fault = |text: &[u8]| Anchors::parse(text).expect_err("none").to_string();
    assert_eq!(
        fault(b"# only a comment\n\n"),
        "there are no anchors; write one string on each line"
    );
    assert!(fault(b"good\nbad\\q").starts_with("line 2 of the anchors"));
    assert!(fault(b"\\x1").starts_with("line 1"));
    let set = Anchors::parse(b"\\#x\n\\s a\n\\x00\\\\\\t\r\n").expect("three");
    assert_eq!(set.strings(), [&b"\0\\\t"[..], b"  a", b"#x"]);
    let long = Anchors::new(vec![vec![b'x'; 1001]]).expect_err("too long");
    assert!(matches!(long, AnchorError::TooLong { window: 1000, .. }));
}

#[test]
fn picked_anchors_hit_about_once_in_as_many_bytes_as_wanted() {
    // As in a natural language, some words are frequent and most are rare.
    let words: Vec<Vec<u8>> = (0..3000).map(|i| prose(1, i)).collect();
    let text = |seed: u64| -> Vec<u8> {
        (0..4000u64)
            .flat_map(|i| {
                let rank = crate::testing::random(seed, i) % 3000;
                words[(rank * rank / 3000) as usize].clone()
            })
            .collect()
    };
    let texts: Vec<Vec<u8>> = (0..40).map(text).collect();
    let picked = pick(&texts, 200, 50);
    assert!(picked.len() >= 10, "{}", picked.len());
    assert!(picked.iter().all(|anchor| anchor.len() == 4));
    let params = AnchorParams {
        anchors: Arc::new(Anchors::new(picked).expect("some")),
        ..AnchorParams::default()
    };
    let other = text(99);
    let every = other.len() as f64 / by_the_paper(&other, &params).len() as f64;
    assert!((150.0..250.0).contains(&every), "{every}");
    assert_eq!(pick::<&[u8]>(&[], 200, 50), Vec::<Vec<u8>>::new());
}

#[test]
fn no_two_picked_anchors_are_found_in_the_same_place() {
    let texts: Vec<Vec<u8>> = (0..4)
        .map(|seed| {
            let line = "a character reacted to the facts. ";
            [line.repeat(5).into_bytes(), prose(3000, seed)].concat()
        })
        .collect();
    let picked = pick(&texts, 200, 50);
    assert!(picked.len() > 10, "{}", picked.len());
    for a in &picked {
        for b in &picked {
            assert_ne!(a[1..], b[..3], "{a:?} {b:?}");
        }
    }
}

#[test]
fn the_standard_set_is_well_formed() {
    let set = Anchors::standard();
    assert!(!set.strings().is_empty());
    assert_eq!(set.fit(50), Ok(()));
    assert_eq!(Anchors::parse(set.to_text().as_bytes()).as_ref(), Ok(&*set));
}
