//! Tests a chain of versions. Each version resembles only versions near it, and the first and the
//! last version have nothing in common. The tests check the groups, their order in time, and the
//! files that are in no group.

use super::*;

/// Returns a chain of versions of eight pages. Each version has seven pages of the previous
/// version.
fn drifting(count: usize) -> Vec<Vec<u8>> {
    let pages: Vec<Vec<u8>> = (0..count as u64 + 8)
        .map(|page| text(100 + page, 2000))
        .collect();
    (0..count)
        .map(|from| pages[from..from + 8].concat())
        .collect()
}

fn chain(scene: &Scene) {
    for (at, version) in drifting(14).into_iter().enumerate() {
        let name = format!("v{at:02}");
        scene.write(&name, version);
        age(scene, &name, at as u64);
    }
}

#[test]
fn a_chain_is_cut_into_groups_around_a_centre() {
    let scene = Scene::new();
    chain(&scene);
    let asked = Asked::of(scene);
    let answer = asked.groups(&asked.request());
    assert_eq!(answer.summary.components, 1);
    assert!(answer.clusters.len() > 1);
    let mut seen = BTreeSet::new();
    let components: BTreeSet<&str> = answer
        .clusters
        .iter()
        .map(|cluster| cluster.component.as_str())
        .collect();
    assert_eq!(components.len(), 1);
    for cluster in &answer.clusters {
        for member in &cluster.members {
            assert!(seen.insert(member.path.clone()), "in one group only");
            let linked = cluster.links.iter().any(|link| {
                let ends = [&link.a, &link.b];
                ends.contains(&&member.path) && ends.contains(&&cluster.center)
            });
            assert!(linked || member.path == cluster.center);
        }
        let least = cluster
            .links
            .iter()
            .map(|link| link.a_in_b.max(link.b_in_a))
            .min();
        assert!(Some(cluster.worst) <= least);
    }
}

#[test]
fn a_family_follows_the_chain_by_time() {
    let scene = Scene::new();
    chain(&scene);
    scene.write("stranger", text(7777, 20_000));
    let asked = Asked::of(scene);
    let answer = asked.groups(&asked.about("v05", true));
    let [family] = &answer.clusters[..] else {
        panic!("one family: {answer:?}");
    };
    let expected: Vec<String> = (0..14).map(|at| format!("v{at:02}")).collect();
    assert_eq!(asked.names(family), expected);
    assert_eq!(family.kind, ClusterKind::Family);
    assert_eq!(asked.name(&family.center), "v05");
    // Each step links a version with the previous one.
    let steps: Vec<(String, String)> = family
        .links
        .iter()
        .map(|link| (asked.name(&link.a), asked.name(&link.b)))
        .collect();
    let pairs: Vec<_> = expected
        .windows(2)
        .map(|pair| (pair[0].clone(), pair[1].clone()))
        .collect();
    assert_eq!(steps, pairs);
    assert!(
        family
            .links
            .iter()
            .all(|link| link.a_in_b > Fraction::from_millionths(700_000))
    );
    // The first and the last version have nothing in common.
    assert_eq!(family.worst, Fraction::ZERO);
    let newest: Vec<bool> = family.members.iter().map(|member| member.newest).collect();
    assert_eq!(newest.iter().position(|&newest| newest), Some(13));
    assert_eq!(newest.iter().filter(|&&newest| newest).count(), 1);
    let own = family
        .members
        .iter()
        .find(|member| member.path == family.center);
    assert_eq!(own.map(|own| own.a_in_b), Some(Fraction::ONE));

    let alone = asked.groups(&asked.about("stranger", true));
    assert!(alone.clusters.is_empty() && alone.identical.is_empty());
}

/// A book may contain a version of a family. Then neither the book nor its other texts count as
/// versions.
#[test]
fn a_family_steps_from_no_part_to_its_whole() {
    let scene = Scene::new();
    chain(&scene);
    let chapter = text(7777, 40_000);
    scene.write(
        "book",
        [drifting(6).swap_remove(5), chapter.clone()].concat(),
    );
    scene.write("chapter", chapter);
    let asked = Asked::of(scene);
    let whole = asked.groups(&asked.request());
    assert_eq!(whole.summary.components, 1, "the book links all");
    let members = |of: &str| match &asked.groups(&asked.about(of, true)).clusters[..] {
        [] => Vec::new(),
        [family] => asked.names(family),
        more => panic!("one family: {more:?}"),
    };
    let versions: Vec<String> = (0..14).map(|at| format!("v{at:02}")).collect();
    assert_eq!(members("v05"), versions);
    // The chapter is most of the book, so the chapter and the book count as versions of each other.
    assert_eq!(members("chapter"), ["book", "chapter"]);
}

#[test]
fn one_file_has_the_cluster_it_has_in_the_whole_answer() {
    let scene = Scene::new();
    chain(&scene);
    scene.write("copy-of-v03", drifting(14).swap_remove(3));
    scene.write("other/a", text(900, 6000));
    scene.write("other/b", edited(&text(900, 6000), 900));
    let asked = Asked::of(scene);
    let all = asked.groups(&asked.request());
    for cluster in &all.clusters {
        for member in &cluster.members {
            let one = asked.groups(&asked.about(&asked.name(&member.path), false));
            assert_eq!(one.clusters, std::slice::from_ref(cluster));
        }
    }
    let one = asked.groups(&asked.about("v03", false));
    assert_eq!(one.identical.len(), 1);
    assert_eq!((one.summary.sets, one.summary.set_files), (1, 2));
    let missing = asked.whole(&asked.about("no/such", false));
    assert_eq!(missing.errors[0].kind, SoftErrorKind::NotFound);
    assert!(missing.body.clusters.is_empty());
}

#[test]
fn what_no_centre_takes_is_counted_and_found_by_name() {
    let scene = Scene::new();
    let (base, extra) = (text(1, 12_000), text(2, 2000));
    scene.write("a", edited(&base, 6000));
    scene.write("b", [edited(&base, 400), extra.clone()].concat());
    scene.write("c", edited(&base, 5000));
    scene.write("d", [extra, text(3, 5000)].concat());
    let asked = Asked::of(scene);
    let all = asked.groups(&asked.request());
    let [versions] = &all.clusters[..] else {
        panic!("one cluster: {:?}", all.summary);
    };
    assert_eq!(
        (versions.kind, versions.members.len()),
        (ClusterKind::Versions, 3)
    );
    let summary = &all.summary;
    assert_eq!(
        (summary.loose, summary.links, summary.components),
        (1, 3, 1)
    );
    let one = asked.groups(&asked.about("d", false));
    assert_eq!(asked.names(&one.clusters[0]), ["d", "b"]);
    assert_eq!(one.clusters[0].component, versions.component);
}

#[test]
fn versions_come_by_time_and_the_newest_is_marked() {
    let scene = Scene::new();
    let base = text(5, 12_000);
    let names = ["c", "a", "d", "b"];
    for (at, name) in names.into_iter().enumerate() {
        scene.write(name, edited(&base, 5000 - 700 * at));
        age(&scene, name, at as u64);
    }
    let asked = Asked::of(scene);
    let answer = asked.groups(&asked.request());
    let cluster = &answer.clusters[0];
    assert_eq!(cluster.kind, ClusterKind::Versions);
    assert_eq!(asked.names(cluster), names);
    let newest: Vec<bool> = cluster.members.iter().map(|member| member.newest).collect();
    assert_eq!(newest, [false, false, false, true]);
    assert_eq!(cluster.bytes, 48_000);
    assert_eq!((cluster.links.len(), answer.summary.links), (6, 6));
    assert!(
        cluster
            .links
            .is_sorted_by(|a, b| a.a_in_b.max(a.b_in_a) >= b.a_in_b.max(b.b_in_a))
    );
    assert!(cluster.members.is_sorted_by_key(|member| member.mtime));

    // If the two latest files have the same time, no file is marked as the newest.
    let scene = asked.scene;
    age(&scene, "d", 3);
    let asked = Asked::of(scene);
    let answer = asked.groups(&asked.request());
    assert!(
        answer.clusters[0]
            .members
            .iter()
            .all(|member| !member.newest)
    );
}
