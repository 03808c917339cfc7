//! Files that have only padding, a short pattern or a phrase in common have no relation and are not
//! listed.

use std::collections::BTreeMap;

use resemble_testutil::prose::sentences;
use resemble_testutil::random::noise;

use super::{Answers, ask_all, assert_no_contradiction, scene};

/// Each file also has content of its own. Nearly all of the file's bytes are repetitions that other
/// files have, so the shares are high.
#[test]
fn no_verb_lists_files_for_what_they_repeat() {
    let pattern = noise(1, 60);
    let kinds: [(&str, Vec<u8>); 4] = [
        (
            "padded",
            [noise(2, 128), vec![0; 60_000], vec![0xff; 20_000]].concat(),
        ),
        ("patterned", [&b"\0"[..], &pattern.repeat(900)].concat()),
        ("one letter", "zzzz zzzz\n".repeat(6_000).into_bytes()),
        (
            "one phrase",
            "the same short phrase in every single line\n"
                .repeat(900)
                .into_bytes(),
        ),
    ];
    let mut files = BTreeMap::new();
    for (at, (name, common)) in kinds.iter().enumerate() {
        for of in 0..3 {
            let seed = (10 * at + of) as u64;
            let own = match at {
                0 | 1 => noise(100 + seed, 3_000),
                _ => sentences(100 + seed, 20).into_bytes(),
            };
            files.insert(format!("{name} {of}"), [&common[..], &own].concat());
        }
    }
    let mut said = Answers::default();
    for backwards in [false, true] {
        ask_all(&scene(&files, backwards), backwards, &mut said);
    }
    assert_no_contradiction(&said);
    assert!(said.0.len() >= 12, "{}", said.0.len());
    for ((a, b), all) in &said.0 {
        for (verb, said) in all {
            assert_eq!(said.told.and_then(|told| told.0), None, "{verb}: {a} | {b}");
            assert!(["why", "compare"].contains(verb), "{verb}: {a} | {b}");
        }
    }
}
