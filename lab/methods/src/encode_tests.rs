use proptest::prelude::*;

use super::*;
use crate::sign;
use crate::testing::{all_params, contents, noise, prose};
use crate::{Method, MethodParams};

fn forms() -> impl Strategy<Value = Form> {
    let values = prop_oneof![
        prop::collection::btree_set(any::<u64>(), 0..60),
        prop::collection::btree_set(0u64..100, 0..60),
        prop::collection::btree_set(u64::MAX - 9..=u64::MAX, 0..9),
    ];
    let counts = prop_oneof![Just(1u64), Just(1), 1u64..5, Just(u64::MAX)];
    let counted = prop::collection::vec(counts, 60);
    (values, counted, 0u8..33, 0usize..6).prop_map(|(values, counts, level, form)| {
        let values: Vec<u64> = values.into_iter().collect();
        match form {
            0 => Form::Set(values),
            1 => Form::Slots(values),
            2 => Form::Counted {
                level,
                fingerprints: values.into_iter().zip(counts).collect(),
            },
            3 => Form::Sized {
                level: level % 20,
                values: values
                    .iter()
                    .map(|value| value >> 20 << (level % 20))
                    .collect::<std::collections::BTreeSet<_>>()
                    .into_iter()
                    .collect(),
            },
            4 => Form::Super {
                length: level.max(1),
                shingles: values,
            },
            _ => {
                let chunks = values
                    .iter()
                    .zip(&counts)
                    .flat_map(|(&value, &count)| [((value, 7), count), ((value, count.max(8)), 1)]);
                Form::Chunks(chunks.collect())
            }
        }
    })
}

proptest! {
    #[test]
    fn a_signature_is_read_back(form in forms()) {
        let signature = MethodSignature(form);
        prop_assert_eq!(MethodSignature::decode(&signature.encode()), Ok(signature));
    }

    #[test]
    fn signatures_of_contents_are_read_back(bytes in contents()) {
        for params in all_params() {
            let signature = sign(&params, &bytes);
            prop_assert_eq!(MethodSignature::decode(&signature.encode()), Ok(signature));
        }
    }

    #[test]
    fn any_bytes_are_refused_or_are_what_encode_writes(
        form in 0u8..7,
        bytes in prop::collection::vec(prop_oneof![any::<u8>(), 0u8..4, Just(0xff)], 0..60),
    ) {
        let bytes = [&[form][..], &bytes].concat();
        if let Ok(signature) = MethodSignature::decode(&bytes) {
            prop_assert_eq!(signature.encode(), bytes);
        }
    }

    #[test]
    fn damage_is_refused_or_is_another_signature(
        form in forms(),
        at in any::<prop::sample::Index>(),
        xor in 1u8..=255,
        cut in any::<bool>(),
    ) {
        let signature = MethodSignature(form);
        let mut bytes = signature.encode();
        let at = at.index(bytes.len());
        if cut {
            bytes.truncate(at);
            prop_assert!(MethodSignature::decode(&bytes).is_err());
        } else {
            bytes[at] ^= xor;
            if let Ok(other) = MethodSignature::decode(&bytes) {
                prop_assert_eq!(other.encode(), bytes);
                prop_assert_ne!(other, signature);
            }
        }
    }
}

#[test]
fn numbers_that_promise_more_than_there_is_reserve_nothing() {
    for form in 0..4 {
        let mut bytes = vec![form];
        if form == 2 {
            bytes.push(0);
        }
        put_varint(&mut bytes, u64::MAX >> 1);
        bytes.extend([0; 20]);
        assert!(MethodSignature::decode(&bytes).is_err());
    }
    assert_eq!(MethodSignature::decode(&[]), Err(DecodeError::Short));
    assert_eq!(
        MethodSignature::decode(&[0, 0, 0]),
        Err(DecodeError::Long(1))
    );
}

#[test]
fn signatures_take_about_as_little_as_there_is_to_tell() {
    let bytes_of = |method, bytes: &[u8]| {
        let signature = sign(&MethodParams::paper(method), bytes);
        (signature.encode().len() as f64, signature.len() as f64)
    };
    let text = prose(50_000, 1);
    // A set of 1000 numbers with 22 bits takes 22 - 10 + 2 bits for each number.
    let (bytes, count) = bytes_of(Method::Sif, &text);
    assert!(bytes / count < 1.8, "{bytes} for {count}");
    assert!(bytes / (text.len() as f64) < 0.006);
    let (bytes, count) = bytes_of(Method::Mod, &text);
    assert!(bytes / count < 7.2, "{bytes} for {count}");
    let (bytes, count) = bytes_of(Method::Tttd, &noise(1_000_000, 2));
    assert!(bytes / count < 9.5, "{bytes} for {count}");
}
