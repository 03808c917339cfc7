//! Tests tables and encoded data. `pairs` and `find` find common rows in any order, and common data
//! in lines of any width. They do not report dumps that have only the same structure.

use std::collections::BTreeMap;

use resemble_core::Params;
use resemble_proto::message::{FindOptions, PairsRequest};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;
use resemble_query::find::{self, Subject};
use resemble_testutil::prose::words;
use resemble_testutil::random::{Random, noise};

use crate::plain::pairs;
use crate::scene::Scene;

/// For each pair of names `(a, b)`, the share of a in b and the share of b in a.
type Shares = BTreeMap<(String, String), (f64, f64)>;

fn share(fraction: Fraction) -> f64 {
    f64::from(fraction.millionths().unwrap_or_default()) / 1e6
}

fn name(path: &PathText) -> String {
    let name = path.as_path().file_name().expect("a name");
    name.to_string_lossy().into_owned()
}

fn of_pairs(scene: &Scene) -> Shares {
    let request = PairsRequest {
        scope: scene.scope(),
        ..PairsRequest::default()
    };
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let answer = pairs(&snapshot, &request).expect("an answer");
    let rows = answer.rows.iter();
    rows.map(|row| {
        (
            (name(&row.a), name(&row.b)),
            (share(row.a_in_b), share(row.b_in_a)),
        )
    })
    .collect()
}

fn of_find(scene: &Scene, subject: &str) -> Shares {
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let path = scene.path(subject);
    let asked = Subject::indexed(&snapshot, &path, &Params::default());
    let asked = asked.expect("readable").expect("indexed");
    let options = FindOptions::default();
    let answer = find::find(&snapshot, &asked, &PathText::from("asked"), &options);
    let rows = answer.expect("an answer").rows.into_iter();
    rows.map(|row| {
        assert!(!row.estimate);
        let shares = (share(row.a_in_b), share(row.b_in_a));
        ((subject.to_owned(), name(&row.path)), shares)
    })
    .collect()
}

fn shuffled(rows: &[String], seed: u64) -> Vec<String> {
    let mut random = Random::new(seed);
    let mut rows = rows.to_vec();
    for at in (1..rows.len()).rev() {
        rows.swap(at, random.below(at + 1));
    }
    rows
}

/// Checks both verbs on tables in which rows are reordered or missing.
fn rows_are_found(rows: impl Fn(u64) -> Vec<String>) {
    let mut scene = Scene::new();
    let all = rows(1);
    scene.write("all", all.concat());
    scene.write("moved", shuffled(&all, 7).concat());
    let half: Vec<String> = shuffled(&all, 9).into_iter().step_by(2).collect();
    scene.write("half", half.concat());
    scene.write("stranger", rows(2).concat());
    scene.scan();
    let (pairs, found) = (of_pairs(&scene), of_find(&scene, "all"));
    for other in ["half", "moved"] {
        let names = ("all".to_owned(), other.to_owned());
        assert_eq!(pairs[&names], found[&names], "{other}");
        assert!(pairs[&names].1 >= 0.9, "{other}: {pairs:?}");
    }
    let of_stranger = |names: &(String, String)| names.0 == "stranger" || names.1 == "stranger";
    assert!(!pairs.keys().any(of_stranger), "{pairs:?}");
    assert!(!found.keys().any(of_stranger), "{found:?}");
}

#[test]
fn rows_of_two_numbers_are_found_in_any_order() {
    rows_are_found(|seed| {
        let mut random = Random::new(seed);
        let row = |_| {
            let (id, amount) = (random.below(10_000_000), random.below(1_000_000));
            format!("{id};{}.{:02}\n", amount / 100, amount % 100)
        };
        (0..400).map(row).collect()
    });
}

#[test]
fn addresses_are_found_in_any_order() {
    rows_are_found(|seed| {
        let mut random = Random::new(seed);
        let row = |at| {
            let name = words(seed as usize * 5000 + at, 1);
            let number = random.below(1000);
            format!("{}{number}@mail{}.example\n", name.trim(), random.below(40))
        };
        (0..400).map(row).collect()
    });
}

#[test]
fn statements_of_a_dump_are_no_kinship() {
    rows_are_found(|seed| {
        let row = |at: usize| {
            let values = words(seed as usize * 20_000 + 9 * at, 9);
            let values = values.trim().replace(' ', "', '");
            let columns = "id, name, street, city, day, amount, status, mail, note";
            format!("INSERT INTO customers ({columns}) VALUES ('{values}');\n")
        };
        let head =
            "CREATE TABLE customers (id int, name text, street text, city text, day date);\n";
        std::iter::once(head.to_owned())
            .chain((0..200).map(row))
            .collect()
    });
}

#[test]
fn encoded_data_are_found_however_they_are_wrapped() {
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let encoded = |seed: u64| -> Vec<u8> {
        let bytes = noise(seed, 40_000).into_iter();
        bytes.map(|byte| letters[usize::from(byte % 64)]).collect()
    };
    let wrapped = |encoded: &[u8], width: usize| {
        let mut lines = encoded.chunks(width).collect::<Vec<_>>().join(&b'\n');
        lines.push(b'\n');
        lines
    };
    let all = encoded(1);
    let mut scene = Scene::new();
    scene.write("76", wrapped(&all, 76));
    scene.write("60", wrapped(&all, 60));
    scene.write("half", wrapped(&all[20_000..], 64));
    scene.write("line", wrapped(&all, all.len()));
    scene.write("stranger", wrapped(&encoded(2), 76));
    scene.scan();
    let (pairs, found) = (of_pairs(&scene), of_find(&scene, "76"));
    assert_eq!(pairs.len(), 6, "{pairs:?}");
    assert_eq!(found.len(), 3, "{found:?}");
    for ((a, b), shares) in pairs.iter().chain(&found) {
        let is_half = a == "half" || b == "half";
        assert!(shares.0.max(shares.1) >= 0.99, "{a} {b} {shares:?}");
        assert!(!is_half || (shares.0.min(shares.1) - 0.5).abs() < 0.01);
    }
}
