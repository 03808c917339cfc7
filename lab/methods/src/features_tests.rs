use proptest::prelude::*;

use super::*;
use crate::canonical::Canonical;
use crate::rabin::tests::windows;
use crate::select::{Signer, select, sign};
use crate::testing::{all_params, contents, features_of_pieces, noise, prose};
use crate::{Method, Settings};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn pieces_make_no_difference(
        bytes in contents(),
        cuts in prop::collection::vec(0usize..4000, 0..8),
        size in 1usize..300,
    ) {
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        for params in all_params() {
            let whole = Features::of(&params, &bytes);
            let pieces = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]);
            prop_assert_eq!(&features_of_pieces(&params, pieces), &whole, "{}", params);
            let pieces = bytes.chunks(size);
            prop_assert_eq!(&features_of_pieces(&params, pieces), &whole, "{}", params);
        }
    }

    #[test]
    fn signing_is_selecting_of_all_features_and_a_signer_forgets(
        first in contents(),
        second in contents(),
        size in 1usize..300,
    ) {
        for params in all_params() {
            let mut signer = Signer::new(&params);
            for bytes in [&first, &second, &first] {
                bytes.chunks(size).for_each(|piece| signer.update(piece));
                let signature = signer.finish();
                let selected = select(&params, &Features::of(&params, bytes));
                prop_assert_eq!(&signature, &selected, "{}", params);
                prop_assert_eq!(&signature, &sign(&params, bytes), "{}", params);
            }
        }
    }

    #[test]
    fn a_hole_is_zeros(before in contents(), after in contents(), zeros in 0usize..70_000) {
        let whole = [&before[..], &vec![0; zeros], &after].concat();
        for params in all_params() {
            let mut signer = Signer::new(&params);
            signer.update(&before);
            signer.zeros(zeros as u64);
            signer.update(&after);
            prop_assert_eq!(signer.finish(), sign(&params, &whole), "{}", params);
        }
    }
}

#[test]
fn a_long_hole_is_zeros_for_chunks_too() {
    let (before, after) = (prose(300, 1), prose(300, 2));
    for zeros in [4 << 20, (9 << 20) + 12_345] {
        let whole = [&before[..], &vec![0; zeros], &after].concat();
        for method in [Method::Tttd, Method::Bsw] {
            let params = MethodParams::paper(method);
            let mut signer = Signer::new(&params);
            signer.update(&before);
            signer.zeros(zeros as u64);
            signer.update(&after);
            assert_eq!(signer.finish(), sign(&params, &whole), "{params}");
        }
    }
}

#[test]
fn a_hole_of_an_exabyte_costs_next_to_nothing() {
    for params in all_params() {
        let mut signer = Signer::new(&params);
        signer.update(b"/* not closed ");
        signer.zeros(1 << 60);
        signer.update(b"and some text behind it, long enough for a window of fifty");
        let signature = signer.finish();
        if params.method() == Method::Tttd {
            assert!(signature.occurrences() > 1 << 46, "{params}");
        }
    }
}

#[test]
fn windows_of_bytes_are_rabin_fingerprints_of_all_of_them() {
    let bytes = noise(3000, 1);
    for window in [5, 20, 100] {
        let settings = Settings {
            window: Some(window),
            ..Settings::default()
        };
        for method in [Method::Mod, Method::Min, Method::Sketch, Method::BswMin] {
            let params = MethodParams::new(method, &settings).expect("in range");
            let all: Vec<u64> = Features::of(&params, &bytes).values().collect();
            assert_eq!(all, windows(&bytes, window as usize));
        }
    }
}

#[test]
fn lengths_of_chunks_add_up_and_all_else_weighs_one() {
    let bytes = prose(20_000, 5);
    for params in all_params() {
        let features = Features::of(&params, &bytes);
        let sum: u64 = features.0.iter().map(|feature| feature.len).sum();
        if matches!(params.method(), Method::Tttd | Method::Bsw) {
            assert_eq!(sum, bytes.len() as u64, "{params}");
        } else {
            assert_eq!(sum, features.0.len() as u64, "{params}");
        }
    }
}

#[test]
fn words_do_not_care_for_case_and_line_breaks_and_windows_do() {
    let text = prose(2000, 6);
    let wrapped: Vec<u8> = text
        .iter()
        .map(|byte| {
            if *byte == b' ' {
                b'\n'
            } else {
                byte.to_ascii_uppercase()
            }
        })
        .collect();
    let words = Settings {
        words: Some(5),
        ..Settings::default()
    };
    let by_words = MethodParams::new(Method::Mod, &words).expect("in range");
    assert_eq!(sign(&by_words, &text), sign(&by_words, &wrapped));
    let by_bytes = MethodParams::paper(Method::Mod);
    assert_ne!(sign(&by_bytes, &text), sign(&by_bytes, &wrapped));
}

#[test]
fn renamed_code_is_the_same_under_canonical_code_for_every_method() {
    let code = |name: &str| -> Vec<u8> {
        (0..400)
            .flat_map(|i| {
                format!("int {name}_{i}(int {name}) {{ return {name} * {i}; }}\n").into_bytes()
            })
            .collect()
    };
    for method in [Method::Mod, Method::Sif, Method::Tttd, Method::Sketch] {
        let settings = Settings {
            canonical: Canonical::Code,
            ..Settings::default()
        };
        let params = MethodParams::new(method, &settings).expect("in range");
        let (a, b) = (sign(&params, &code("sum")), sign(&params, &code("total")));
        assert_eq!(a, b, "{params}");
        assert!(!a.is_empty(), "{params}");
    }
}
