//! Compares the answers for small random trees with the definition of each class.

use super::*;

/// A tree: for each path, its content as a sequence of blocks. An empty sequence is an empty file.
type Tree = BTreeMap<String, Vec<u8>>;

fn trees() -> impl Strategy<Value = (Tree, Tree)> {
    let path = prop::sample::select(vec!["x", "y", "z", "d/x", "d/y", "e/x", "e/f/z"]);
    let blocks = prop::collection::vec(0u8..7, 0..4);
    let tree = prop::collection::btree_map(path.prop_map(str::to_owned), blocks, 0..7);
    (tree.clone(), tree)
}

fn content(blocks: &[u8]) -> Vec<u8> {
    blocks
        .iter()
        .flat_map(|&block| text(u64::from(block) + 1, 3000))
        .collect()
}

/// Returns the pairs of contents that `pairs` reports as related. These pairs cannot be computed
/// from the bytes of two files alone, because a common part is no evidence if too many other
/// contents have it.
fn related(scene: &Scene) -> BTreeSet<(Vec<u8>, Vec<u8>)> {
    let request = PairsRequest {
        scope: scene.scope(),
        ..PairsRequest::default()
    };
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let rows = pairs(&snapshot, &request).expect("an answer").rows;
    let read = |path: &PathText| fs::read(path.as_path()).expect("readable");
    let related = rows.iter().filter(|row| row.told.relation.is_some());
    related
        .map(|row| (read(&row.a), read(&row.b)))
        .flat_map(|(a, b)| [(a.clone(), b.clone()), (b, a)])
        .collect()
}

fn check(
    (a, b): (&Tree, &Tree),
    answer: &Whole<Comparison>,
    related: &BTreeSet<(Vec<u8>, Vec<u8>)>,
) -> Result<(), TestCaseError> {
    let contents = |tree: &Tree| -> BTreeMap<String, Vec<u8>> {
        tree.iter()
            .map(|(path, blocks)| (path.clone(), content(blocks)))
            .collect()
    };
    let (a, b) = (contents(a), contents(b));
    let rows = &answer.body.entries;
    let of = |row: &CompareRow| {
        (
            row.a.as_ref().map(|p| shown(Some(p))),
            row.b.as_ref().map(|p| shown(Some(p))),
        )
    };

    let summary = answer.body.summary;

    // `own` collects the rows that count for a file: the row of a pair, of a contained file, or of
    // a file that only one side has. `beside` collects all other rows that name the file.
    let mut own: [BTreeMap<String, Vec<Class>>; 2] = Default::default();
    let mut beside: [BTreeMap<String, Vec<Class>>; 2] = Default::default();
    for row in rows {
        let (of_a, of_b) = of(row);
        let owns = match row.class {
            _ if row.copy => [false, false],
            Class::Contained => [true, false],
            Class::Contains => [false, true],
            _ => [true, true],
        };
        for (side, path) in [of_a, of_b].into_iter().enumerate() {
            let Some(path) = path else { continue };
            let list = if owns[side] { &mut own } else { &mut beside };
            list[side].entry(path).or_default().push(row.class);
        }
    }
    for (side, tree) in [&a, &b].into_iter().enumerate() {
        for path in tree.keys() {
            let rows = own[side].get(path).map_or(0, Vec::len);
            prop_assert!(rows <= 1, "{path} has {rows} rows of its own");
            // A file without a row in `own` contains other files, or is named in a row that is
            // marked as a copy.
            prop_assert!(
                rows == 1 || beside[side].contains_key(path),
                "{path} is in no row"
            );
        }
        // The summary counts each file once, with the class of its row in `own`. If a file has only
        // rows in `beside`, the summary uses the class of one of them.
        let mut counts = [summary.classes_a, summary.classes_b][side];
        let all = Class::ALL.map(|class| *counts.of(class));
        prop_assert_eq!(all.iter().sum::<u64>(), tree.len() as u64);
        for class in Class::ALL {
            let own_rows = own[side].values().filter(|rows| rows.contains(&class));
            let others = beside[side].iter();
            let others = others
                .filter(|(path, rows)| rows.contains(&class) && !own[side].contains_key(*path));
            let least = own_rows.count() as u64;
            let most = least + others.count() as u64;
            prop_assert!(
                (least..=most).contains(counts.of(class)),
                "{class:?} {counts:?}"
            );
        }
        let known: BTreeSet<&String> = own[side].keys().chain(beside[side].keys()).collect();
        prop_assert!(known.into_iter().all(|path| tree.contains_key(path)));
    }

    for row in rows {
        let (of_a, of_b) = of(row);
        let bytes_a = of_a.as_ref().map(|path| &a[path]);
        let bytes_b = of_b.as_ref().map(|path| &b[path]);
        let equal = bytes_a == bytes_b;
        match row.class {
            Class::Same => prop_assert!(of_a == of_b && equal),
            Class::Edited => prop_assert!(of_a == of_b && !equal),
            Class::Moved => prop_assert!(of_a != of_b && equal),
            Class::MovedEdited | Class::Contained | Class::Contains => {
                prop_assert!(of_a != of_b && !equal, "{row:?}");
                let (Some(a), Some(b)) = (bytes_a, bytes_b) else {
                    return Err(TestCaseError::fail("half a pair"));
                };
                // All verbs agree about a pair, so `pairs` must report it, too.
                let is_proven = related.contains(&(a.clone(), b.clone()));
                prop_assert!(is_proven, "{row:?}");
            }
            Class::OnlyA | Class::OnlyB => {
                let (own, others) = match bytes_a {
                    Some(own) => (own, &b),
                    None => (bytes_b.expect("a file"), &a),
                };
                let is_related = |other: &Vec<u8>| {
                    own == other || related.contains(&(own.clone(), other.clone()))
                };
                prop_assert!(!others.values().any(is_related), "{row:?}");
            }
        }
    }
    // A file that has the same bytes at the same path in the other tree is `same`, and nothing
    // else.
    for (path, bytes) in &a {
        if b.get(path) == Some(bytes) {
            prop_assert_eq!(own[0].get(path), Some(&vec![Class::Same]));
        }
    }
    // Some files of a content have no equal file at their own path. Each side has a number of such
    // files. The lesser number is the number of moved files. The rest are copies.
    let mut contents: BTreeSet<&Vec<u8>> = a.values().collect();
    contents.retain(|content| b.values().any(|other| other == *content));
    for content in contents {
        let left = |tree: &BTreeMap<String, Vec<u8>>, own: &BTreeMap<String, Vec<Class>>| {
            let settled = |path: &String| {
                own.get(path)
                    .is_some_and(|own| own == &[Class::Same] || own == &[Class::Edited])
            };
            tree.iter()
                .filter(|(path, bytes)| *bytes == content && !settled(path))
                .count()
        };
        let (left_a, left_b) = (left(&a, &own[0]), left(&b, &own[1]));
        let of_content = |row: &&CompareRow| {
            let (of_a, _) = of(row);
            row.class == Class::Moved && of_a.is_some_and(|path| &a[&path] == content)
        };
        let moved = rows
            .iter()
            .filter(of_content)
            .filter(|row| !row.copy)
            .count();
        let copies = rows
            .iter()
            .filter(of_content)
            .filter(|row| row.copy)
            .count();
        // No row of `Moved` has the same path on both sides; such a row would be `same`.
        prop_assert_eq!(moved, left_a.min(left_b));
        prop_assert_eq!(copies, left_a.max(left_b) - moved);
    }
    let summary = answer.body.summary;
    let total = |tree: &BTreeMap<String, Vec<u8>>| {
        tree.values().map(|bytes| bytes.len() as u64).sum::<u64>()
    };
    prop_assert_eq!((summary.bytes_a, summary.bytes_b), (total(&a), total(&b)));
    prop_assert!(
        summary.bytes_a_in_b <= summary.bytes_a && summary.bytes_b_in_a <= summary.bytes_b
    );
    let sorted = |row: &CompareRow| {
        let (a, b) = of(row);
        (a.is_none(), a, b)
    };
    prop_assert!(rows.is_sorted_by_key(sorted));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn every_file_has_one_class_and_it_is_the_right_one((a, b) in trees()) {
        let mut scene = Scene::new();
        for (name, tree) in [("a", &a), ("b", &b)] {
            for (path, blocks) in tree {
                scene.write(&format!("{name}/{path}"), content(blocks));
            }
        }
        let answer = compared(&mut scene);
        check((&a, &b), &answer, &related(&scene))?;
    }
}
