//! The pairs of two trees (`compare`) and of two folders (`dirs`) have the figures that `why`
//! shows.

use super::*;

/// Checks the pairs that `compare` finds on its own between two trees.
#[test]
fn what_compare_finds_between_two_trees_is_what_why_says() {
    let files = mixed();
    let mut scene = Scene::with_parts();
    // Later versions are written to the tree `b`, all other files to `a`.
    let later = [
        " revised",
        "edited ",
        "longer",
        "two ",
        "cut ",
        "later",
        ".tar.gz",
        ".pdf",
        "patched",
        "rotated",
        "forwarded",
        "image.bin.gz",
        "body",
    ];
    for (name, bytes) in &files {
        let is_later = later.iter().any(|word| name.contains(word));
        let side = if is_later { "b" } else { "a" };
        scene.write(&format!("{side}/{name}"), bytes);
    }
    // Both trees have a file of this name, in different formats.
    scene.write("a/same name", &files["letter.docx"]);
    scene.write("b/same name", &files["letter.html"]);
    scene.scan();
    let answer = compared(&scene, "a", "b");
    // The only errors are those about skipped parts of documents.
    let mut kinds = answer.errors.iter().map(|error| error.kind);
    assert!(kinds.all(|kind| kind == SoftErrorKind::Unread));
    let mut found: BTreeMap<(String, String), PairFigures> = BTreeMap::new();
    let check = |a: &PathText, b: &PathText, said: Said| {
        let sides = [("a", a), ("b", b)].map(|(side, path)| scene.path(side).join(path.as_path()));
        let known = why(&scene, &sides[0], &sides[1]);
        let (measures, unit) = known.shared.told();
        let known = Said {
            told: Some((known.shared.relation, unit.into())),
            shares: [measures.a_in_b, measures.b_in_a].map(Fraction::from),
            resemblance: None,
            shared: Some(measures.shared_bytes.0),
        };
        assert!(said.agrees(&known), "{a:?}, {b:?}: {said:?}, why {known:?}");
    };
    let text = |path: &PathText| path.as_path().to_str().expect("a name").to_owned();
    for row in &answer.body.entries {
        let (Some(a), Some(b)) = (&row.a, &row.b) else {
            continue;
        };
        let shares = [row.a_in_b, row.b_in_a];
        check(a, b, told_by_compare(shares, row.shared_bytes, row.told));
        found.insert((text(a), text(b)), row.told);
        // In a row about a file of A, `others` are files of B. In a row about a file of B, `others`
        // are files of A; those are not checked here.
        for other in row.others.iter().filter(|other| {
            let stands = |side| scene.path(side).join(other.path.as_path()).exists();
            stands("b") && !stands("a")
        }) {
            let shares = [other.a_in_b, other.b_in_a];
            let said = told_by_compare(shares, other.shared_bytes, other.told);
            check(a, &other.path, said);
            found.insert((text(a), text(&other.path)), other.told);
        }
    }
    let relation = |a: &str, b: &str| {
        let told = found.get(&(a.to_owned(), b.to_owned()));
        told.and_then(|told| told.relation)
    };
    for (a, b, expected) in [
        ("letter.docx", "letter.pdf", Relation::SameText),
        ("letter.txt", "letter.pdf", Relation::SameText),
        ("report.docx", "edited report.docx", Relation::Near),
        ("letters.zip", "letters.tar.gz", Relation::SameText),
        ("folder.zip", "folder.tar.gz", Relation::SameText),
        ("folder.zip", "later folder.zip", Relation::Near),
        ("letter.txt", "letters.tar.gz", Relation::Near),
        ("same name", "same name", Relation::SameText),
    ] {
        assert_eq!(relation(a, b), Some(expected), "{a}, {b}");
    }
    for (name, _) in files.iter().filter(|(name, _)| name.contains(" revised")) {
        let base = name.replace(" revised", "");
        assert!(relation(&base, name).is_some(), "{name}");
    }
}

/// If each of two directories has one file, `dirs` shows the shares of these two files for the
/// directories.
#[test]
fn what_dirs_adds_up_is_what_why_says() {
    let files = mixed();
    let mut scene = Scene::with_parts();
    for (name, bytes) in &files {
        scene.write(&format!("of {name}/{name}"), bytes);
    }
    scene.scan();
    let snapshot = scene.snapshot();
    let request = DirsRequest {
        scope: scene.scope(),
        ..DirsRequest::default()
    };
    let answer =
        dirs_with_parts(&snapshot, &request, Some(&Fake), scene.temp.root()).expect("an answer");
    let mut of_archives = 0;
    for row in &answer.rows {
        assert!(!row.estimate, "{row:?}");
        let [(a, of_a), (b, of_b)] = [&row.a, &row.b].map(|dir| {
            let name = dir.as_path().file_name().expect("a name").to_str();
            let name = name.expect("a name").strip_prefix("of ").expect("ours");
            (dir.as_path().join(name), name.to_owned())
        });
        let known = why(&scene, &a, &b);
        let (known, _) = known.shared.told();
        let shares = [
            (row.a_in_b, known.a_in_b, &of_a),
            (row.b_in_a, known.b_in_a, &of_b),
        ];
        for (said, known, name) in shares {
            let said = said.score().expect("said").get();
            let known = known.expect("known").get();
            // The shares of `dirs` are rounded, because it counts whole bytes.
            let least = 2.0 / files[name].len() as f64;
            assert!(
                (said - known).abs() <= least,
                "{of_a}, {of_b}: {said}, why {known}"
            );
        }
        of_archives += usize::from(of_a.contains(".zip") && of_b.contains(".tar.gz"));
    }
    assert!(of_archives > 0, "{:?}", answer.rows);
}
