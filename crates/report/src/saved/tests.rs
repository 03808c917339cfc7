use super::*;
use resemble_proto::message::{Cluster, ClusterKind, Discount, Link, Member};
use serde_json::json;

fn document() -> serde_json::Value {
    json!({
        "schema": 1, "version": "0.0.9", "command": "groups",
        "parameters": {"roots": ["docs"], "of": null, "family": false, "degree": "usual",
            "memory": null, "min": null, "min_shared": 256, "min_size": 0, "include": [],
            "exclude": [], "top": null, "exact": false, "params": "p"},
        "fresh": true, "pending": 0, "total": 9, "shown": 9,
        "summary": {"files": 100, "bytes": 1000, "sets": 2, "set_files": 5, "overhead": 50,
            "clusters": 7, "cluster_files": 0, "cluster_bytes": 0, "links": 0, "components": 3,
            "ignored": 0, "notes": []},
        "identical": [
            {"size": 20, "paths": ["docs/a", "docs/b", "docs/old/c"], "mtimes": [1, 2, 3]},
            {"size": 10, "paths": ["docs/d", "docs/old/e"], "mtimes": [4, 5]}],
        "clusters": [],
        "errors": [{"path": "docs/old/x", "kind": "unreadable", "message": "Permission denied"}]
    })
}

fn groups(clusters: Vec<Cluster>) -> Saved<Groups> {
    let document = serde_json::to_vec(&document()).unwrap();
    let (mut saved, _) = Saved::<Groups>::read(&document).unwrap();
    saved.document.body.clusters = clusters;
    saved
}

fn share(percent: u32) -> Fraction {
    Fraction::from_millionths(percent * 10_000)
}

fn member(path: &str, mtime: i64) -> Member {
    Member {
        estimate: false,
        interval: None,
        path: path.into(),
        size: 100,
        mtime,
        document_date: None,
        a_in_b: Fraction::ONE,
        b_in_a: Fraction::ONE,
        newest: false,
        older_than_held: false,
        copies: 1,
        id: String::new(),
        holds_others: false,
        owner: None,
    }
}

fn link(a: &str, b: &str, percent: u32) -> Link {
    Link {
        estimate: false,
        interval: None,
        layer: resemble_proto::message::Layer::Bytes,
        a: a.into(),
        b: b.into(),
        a_in_b: share(percent),
        b_in_a: share(percent / 2),
        shared_bytes: u64::from(percent),
        same_text: false,
        discount: Discount::default(),
    }
}

/// Returns a cluster with the centre `docs/c`. Every member is linked to the centre, and two of
/// them also to each other.
fn star() -> Cluster {
    let names = ["docs/c", "docs/a", "docs/b", "docs/old/d", "docs/e"];
    Cluster {
        estimate: false,
        id: "f00".to_owned(),
        kind: ClusterKind::Family,
        center: "docs/c".into(),
        average: share(70),
        worst: share(10),
        bytes: 500,
        component: "k".to_owned(),
        container: None,
        members: (0..)
            .zip(names)
            .map(|(time, name)| member(name, time))
            .collect(),
        links: vec![
            link("docs/c", "docs/a", 90),
            link("docs/c", "docs/b", 80),
            link("docs/c", "docs/old/d", 60),
            link("docs/e", "docs/c", 50),
            link("docs/a", "docs/b", 40),
        ],
    }
}

fn picked() -> Picked {
    Picked::default()
}

#[test]
fn nothing_picked_changes_nothing() {
    let mut saved = groups(vec![star()]);
    let before = saved.document.clone();
    pick_groups(&mut saved, &picked()).unwrap();
    let mut after = saved.document;
    // Only the number of shown rows is counted again. Everything else is unchanged.
    after.header.shown = before.header.shown;
    assert_eq!(after, before);
}

#[test]
fn names_take_away_and_totals_follow() {
    let mut saved = groups(vec![star()]);
    let exclude = vec!["/old/".to_owned()];
    pick_groups(
        &mut saved,
        &Picked {
            exclude,
            ..picked()
        },
    )
    .unwrap();
    let body = &saved.document.body;
    assert_eq!(body.identical.len(), 1);
    assert_eq!(body.identical[0].paths, ["docs/a".into(), "docs/b".into()]);
    assert_eq!(body.identical[0].mtimes, [1, 2]);
    let [cluster] = &body.clusters[..] else {
        panic!("{:?}", body.clusters);
    };
    assert_eq!(
        (
            cluster.id.as_str(),
            cluster.members.len(),
            cluster.links.len()
        ),
        ("f00", 4, 4)
    );
    assert_eq!((cluster.bytes, cluster.average), (400, share(65)));
    let summary = &body.summary;
    assert_eq!(
        (summary.sets, summary.set_files, summary.overhead),
        (1, 2, 20)
    );
    assert_eq!(
        (summary.clusters, summary.cluster_files, summary.links),
        (1, 4, 4)
    );
    assert_eq!(
        (summary.files, summary.components),
        (100, 3),
        "of the whole question"
    );
    assert_eq!(saved.document.parameters.common.exclude, ["/old/"]);
    assert!(saved.document.errors.is_empty());
}

#[test]
fn patterns_see_names_below_the_roots() {
    for (glob, left) in [
        ("/old/", 1),
        ("old/", 1),
        ("/docs/", 2),
        ("docs", 2),
        ("*.txt", 2),
    ] {
        let mut saved = groups(Vec::new());
        let exclude = vec![glob.to_owned()];
        pick_groups(
            &mut saved,
            &Picked {
                exclude,
                ..picked()
            },
        )
        .unwrap();
        assert_eq!(saved.document.body.identical.len(), left, "{glob}");
    }
    let mut saved = groups(Vec::new());
    let include = vec!["a".to_owned(), "b".to_owned()];
    pick_groups(
        &mut saved,
        &Picked {
            include,
            ..picked()
        },
    )
    .unwrap();
    assert_eq!(saved.document.body.identical[0].paths.len(), 2);
}

#[test]
fn weak_links_go_and_members_without_links_too() {
    let mut saved = groups(vec![star()]);
    let min = Some(share(60));
    pick_groups(&mut saved, &Picked { min, ..picked() }).unwrap();
    let [cluster] = &saved.document.body.clusters[..] else {
        panic!("one cluster");
    };
    let names: Vec<_> = cluster
        .members
        .iter()
        .map(|m| m.path.lossy().into_owned())
        .collect();
    assert_eq!(names, ["docs/c", "docs/a", "docs/b", "docs/old/d"]);
    assert_eq!(cluster.links.len(), 3);
    assert_eq!(
        cluster.worst,
        share(10),
        "not all pairs have links: no better than it was"
    );
    assert_eq!(saved.document.parameters.common.min, share(60));
}

#[test]
fn without_its_centre_a_cluster_finds_another() {
    let mut saved = groups(vec![star()]);
    let exclude = vec!["c".to_owned()];
    pick_groups(
        &mut saved,
        &Picked {
            exclude,
            ..picked()
        },
    )
    .unwrap();
    let [cluster] = &saved.document.body.clusters[..] else {
        panic!("one cluster");
    };
    assert_eq!(cluster.center, "docs/a".into());
    assert_eq!(cluster.members.len(), 2);
    assert_eq!(cluster.kind, ClusterKind::Pair);
    assert_eq!((cluster.average, cluster.worst), (share(40), share(40)));
    // The centre is `a` of the link. So the member's `a_in_b` is `b_in_a` of the link, and the
    // other way round.
    assert_eq!(
        (cluster.members[1].a_in_b, cluster.members[1].b_in_a),
        (share(20), share(40))
    );
}

/// After any filter, every member is linked to its centre, and no member or link occurs twice.
#[test]
fn clusters_stay_clusters() {
    let names: Vec<String> = (0..9).map(|n| format!("docs/{n}")).collect();
    for seed in 0..300u32 {
        let bit = |n: u32| (seed.wrapping_mul(2_654_435_761) ^ n.wrapping_mul(40_503)) % 7;
        let mut cluster = star();
        cluster.center = names[0].as_str().into();
        cluster.members = names.iter().map(|name| member(name, 0)).collect();
        cluster.links = (0..9u32)
            .flat_map(|a| (a + 1..9).map(move |b| (a, b)))
            .filter(|(a, b)| *a == 0 || bit(a * 16 + b) < 3)
            .map(|(a, b)| {
                link(
                    &names[a as usize],
                    &names[b as usize],
                    30 + bit(b * 7 + a) * 10,
                )
            })
            .collect();
        let without = bit(999) as usize;
        let exclude = vec![without.to_string(), "0".to_owned()];
        let mut saved = groups(vec![cluster.clone()]);
        let min = Some(share(40));
        pick_groups(
            &mut saved,
            &Picked {
                exclude,
                min,
                ..picked()
            },
        )
        .unwrap();
        let mut seen = HashSet::new();
        for part in &saved.document.body.clusters {
            assert!(part.members.len() > 1);
            for member in &part.members {
                assert!(seen.insert(member.path.clone()), "in two clusters");
                let linked = part.links.iter().any(|link| {
                    (link.a == part.center && link.b == member.path)
                        || (link.b == part.center && link.a == member.path)
                });
                assert!(linked || member.path == part.center);
                assert!(!member.path.as_bytes().ends_with(b"/0"));
            }
            for link in &part.links {
                assert!(link.a_in_b.max(link.b_in_a) >= share(40));
                assert!(cluster.links.contains(link));
            }
        }
    }
}

#[test]
fn what_is_no_report_is_refused_in_a_sentence() {
    const NOT_SAVED: &str = "is not a saved report of resemble; `resemble groups … -o FILE` with \
         --format json or html makes one";
    let report = |command: &str, schema: u32| {
        format!(r#"{{"schema":{schema},"command":"{command}","errors":[]}}"#)
    };
    let cases: [(String, &str); 14] = [
        (String::new(), NOT_SAVED),
        ("Dear all,\n".to_owned(), NOT_SAVED),
        ("2026-11-22 a diary\n".to_owned(), NOT_SAVED),
        ("PK\u{3}\u{4}".to_owned(), NOT_SAVED),
        ("{ return; }\n".to_owned(), NOT_SAVED),
        ("[1,2]".to_owned(), NOT_SAVED),
        (r#"{"a":1}"#.to_owned(), NOT_SAVED),
        ("{".to_owned(), "is damaged"),
        (
            report("groups", 1).replace(",\"errors", ";\"errors"),
            "is damaged: expected",
        ),
        (report("dirs", 1), "is a report of `dirs`, not of `groups`"),
        (
            report("gro\x1bups", 1).replace('\x1b', "\\u001b"),
            "is a report of `gro\u{fffd}ups`",
        ),
        (
            report("groups", 2),
            "has layout 2; this program reads layout 1",
        ),
        (report("groups", 1), "is damaged: missing field"),
        ("<!doctype html><p>hello".to_owned(), NOT_SAVED),
    ];
    for (text, why) in cases {
        let error = Saved::<Groups>::parse(text.as_bytes())
            .unwrap_err()
            .to_string();
        assert!(error.contains(why), "{text}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
    let lines = format!(
        "{}\n{{\"row\":\"identical\"}}\n",
        r#"{"schema":1,"command":"groups"}"#
    );
    let error = Saved::<Groups>::parse(lines.as_bytes())
        .unwrap_err()
        .to_string();
    assert!(error.contains("jsonl"), "{error}");
}

#[test]
fn changed_reports_are_read_or_refused_in_one_line() {
    let json = serde_json::to_vec(&document()).unwrap();
    let block = |id: &str, json: &[u8]| {
        let open = format!("<script type=\"application/json\" id=\"{id}\">");
        [open.as_bytes(), json, b"</script>"].concat()
    };
    let page = [
        b"<!doctype html><title>x</title>".to_vec(),
        block("document", &json),
        block("extra", b"{}"),
    ];
    let samples = vec![json, page.concat()];
    // `read` does not check the digest. So a changed report is parsed here as if its digest were
    // right.
    let mut takes = |bytes: &[u8]| match Saved::<Groups>::read(bytes) {
        Ok((mut saved, _)) => {
            let everything = Picked::default();
            pick_groups(&mut saved, &everything).is_ok()
        }
        Err(error) => {
            assert!(!error.to_string().contains('\n'), "{error}");
            false
        }
    };
    resemble_testutil::fuzz("saved reports", 10_000, samples, &mut takes);
}

/// Any changed bit or missing byte of a report is detected, in JSON and in a page.
#[test]
fn a_report_that_was_changed_is_refused() {
    let saved = groups(vec![star()]);
    let mut json = Vec::new();
    saved.document.write_json(&mut json).unwrap();
    let mut page = Vec::new();
    let report = crate::document::Report::Groups(&saved.document);
    let extras = crate::document::Extras::default();
    crate::html::write(&mut page, report, &extras, 0).unwrap();
    let mut random = resemble_testutil::random::Random::new(1);
    for report in [json, page] {
        let read = Saved::<Groups>::parse(&report).expect("as it was written");
        assert_eq!(read.document, saved.document);
        for _ in 0..4000 {
            let mut changed = report.clone();
            let at = random.below(report.len());
            match random.below(4) {
                0 => drop(changed.remove(at)),
                1 => changed.truncate(at),
                2 => changed.insert(at, b' '),
                _ => changed[at] ^= 1 << random.below(8),
            }
            assert!(Saved::<Groups>::parse(&changed).is_err(), "{at}");
        }
    }
    let old = serde_json::to_vec(&document()).unwrap();
    let error = Saved::<Groups>::parse(&old).unwrap_err();
    assert_eq!(error, SavedError::NoDigest);
}
