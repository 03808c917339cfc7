//! Answers about texts name the parts of documents that could not be read.

use std::sync::Arc;

use resemble_proto::message::{
    CompareOptions, CompareRequest, CoveredRequest, FindOptions, FindRequest, GroupsRequest,
    OnlyGroups, PairsRequest, Request, Scope, SoftError, SoftErrorKind, Subject,
};
use resemble_proto::path::PathText;
use resemble_query::local::{LocalIndex, LocalOptions};
use resemble_query::unread::of_request;
use resemble_relate::findings::MemoryCache;
use resemble_scan::ingest::Unobserved;
use resemble_testutil::prose::sentences;

use crate::plain::compare;
use crate::scene::Scene;
use crate::scene::fake::{Fake, Record, fake, member, text_of};

fn scene() -> Scene {
    let mut scene = Scene::with_parts();
    let text = sentences(1, 30);
    let nested = Record::Skip(b"a/b.zip".to_vec());
    let hidden = fake(1, &[text_of(&text), Record::Hide]);
    scene.write("a/hidden.doc", &hidden);
    scene.write("a/copy.doc", &hidden);
    scene.write(
        "a/nested.zip",
        fake(2, &[member("x", &text), nested.clone()]),
    );
    scene.write(
        "b/both.doc",
        fake(3, &[text_of(&text), Record::Hide, nested]),
    );
    scene.write("b/secret.doc", fake(4, &[Record::Fail]));
    scene.write("b/whole.doc", fake(5, &[text_of(&text)]));
    scene.scan();
    scene
}

/// Returns the name, kind and message of each error, in the order of the answer.
fn said(scene: &Scene, errors: &[SoftError]) -> Vec<(String, SoftErrorKind, String)> {
    let root = scene.root();
    let said = errors.iter().map(|error| {
        let name = error
            .path
            .as_path()
            .strip_prefix(&root)
            .expect("in the tree");
        (
            name.display().to_string(),
            error.kind,
            error.message.clone(),
        )
    });
    said.collect()
}

fn asked(scene: &Scene, request: &Request) -> Vec<(String, SoftErrorKind, String)> {
    let errors = of_request(&scene.snapshot(), request).expect("an answer");
    said(scene, &errors)
}

fn within(scene: &Scene, names: &[&str]) -> Scope {
    let paths = names.iter().map(|name| PathText::from(scene.path(name)));
    Scope {
        within: paths.collect(),
        ..Scope::default()
    }
}

fn groups(scope: Scope) -> GroupsRequest {
    GroupsRequest {
        scope,
        text: true,
        ..GroupsRequest::default()
    }
}

#[test]
fn each_document_of_the_scope_is_named_once_with_its_reasons() {
    let scene = scene();
    let hidden = (
        SoftErrorKind::LeftOut,
        "left out on purpose: hidden".to_owned(),
    );
    let named =
        |name: &str, (kind, why): &(SoftErrorKind, String)| (name.to_owned(), *kind, why.clone());
    let all = [
        named("a/copy.doc", &hidden),
        named("a/hidden.doc", &hidden),
        (
            "a/nested.zip".into(),
            SoftErrorKind::Unread,
            "a/b.zip: nested too deeply".into(),
        ),
        (
            "b/both.doc".into(),
            SoftErrorKind::Unread,
            "a/b.zip: nested too deeply; left out on purpose: hidden".into(),
        ),
        (
            "b/secret.doc".into(),
            SoftErrorKind::Unread,
            "encrypted".into(),
        ),
    ];
    let of = |request: GroupsRequest| asked(&scene, &Request::Groups(request));
    assert_eq!(of(groups(scene.scope())), all);
    assert_eq!(of(groups(within(&scene, &["b", "b/both.doc"]))), all[3..]);
    let mut filtered = groups(scene.scope());
    filtered.scope.exclude = vec!["b/".into()];
    filtered.scope.include = vec!["*.doc".into()];
    assert_eq!(of(filtered), all[..2]);
    let mut large = groups(scene.scope());
    large.scope.min_size = 1 << 30;
    assert_eq!(of(large), []);
    // Questions about bytes do not report unread parts.
    for by_bytes in [
        GroupsRequest {
            only: OnlyGroups::Identical,
            ..groups(scene.scope())
        },
        GroupsRequest {
            text: false,
            ..groups(scene.scope())
        },
    ] {
        assert_eq!(of(by_bytes), []);
    }
    let covered = CoveredRequest {
        dir: scene.path("b").into(),
        by: vec![scene.path("a").into()],
        ..CoveredRequest::default()
    };
    assert_eq!(asked(&scene, &Request::Covered(covered)), []);
    // `pairs` reports unread parts of archives only if archives are requested.
    let mut pairs = PairsRequest {
        scope: scene.scope(),
        text: true,
        ..PairsRequest::default()
    };
    let without = asked(&scene, &Request::Pairs(pairs.clone()));
    assert_eq!(without.len(), 4);
    assert!(without.iter().all(|(name, ..)| name != "a/nested.zip"));
    pairs.archives = true;
    assert_eq!(asked(&scene, &Request::Pairs(pairs)), all);
    // `find` reports the unread parts of its subject, even if the subject is not in the scope.
    let find = |name: &str, scope: Scope| {
        let request = FindRequest {
            subject: Subject::File(scene.path(name).into()),
            options: FindOptions {
                scope,
                text: true,
                ..FindOptions::default()
            },
        };
        asked(&scene, &Request::Find(request))
    };
    let found = find("b/secret.doc", within(&scene, &["a"]));
    assert_eq!(found, [&all[..3], &all[4..]].concat());
    assert_eq!(find("b/secret.doc", Scope::default()), all);
    assert_eq!(find("b/whole.doc", within(&scene, &["b/whole.doc"])), []);
}

/// `compare` reports the same errors if it uses an index, a scan of both trees, or inventories that
/// a scan has stored.
#[test]
fn a_comparison_says_the_same_from_an_index_and_without() {
    let mut scene = scene();
    for name in ["copy.doc", "hidden.doc", "nested.zip"] {
        let bytes = std::fs::read(scene.path("a").join(name)).expect("a file");
        scene.write(&format!("c/{name}"), bytes);
    }
    scene.scan();
    // If both trees are equal, no document needs to be taken apart, so no unread parts are
    // reported.
    let mut equal = CompareRequest {
        a: scene.path("a").into(),
        b: scene.path("c").into(),
        ..CompareRequest::default()
    };
    equal.options.text = true;
    let request = CompareRequest {
        a: scene.path("a").into(),
        b: scene.path("b").into(),
        options: CompareOptions {
            text: true,
            ..CompareOptions::default()
        },
    };
    let indexed = compare(&scene.snapshot(), &request, &MemoryCache::default()).expect("an answer");
    let expected = said(&scene, &indexed.errors);
    assert_eq!(expected.len(), 5, "{expected:?}");
    for _ in 0..3 {
        let mut local = LocalIndex::open(LocalOptions {
            cache: Some(scene.temp.path("cache/cache.redb")),
            cache_bytes: LocalOptions::CACHE_BYTES,
            params: resemble_core::Params::default(),
            own: Vec::new(),
            part_reader: Some(Arc::new(Fake)),
            catalogues: None,
        })
        .expect("open");
        let compared = local.compare(&request, &Arc::default(), &mut Unobserved);
        assert_eq!(said(&scene, &compared.expect("an answer").errors), expected);
        let compared = local.compare(&equal, &Arc::default(), &mut Unobserved);
        assert_eq!(compared.expect("an answer").errors, []);
        local.close();
    }
    let indexed = compare(&scene.snapshot(), &equal, &MemoryCache::default()).expect("an answer");
    assert_eq!(indexed.errors, []);
    let by_bytes = CompareRequest {
        options: CompareOptions::default(),
        ..request
    };
    let indexed =
        compare(&scene.snapshot(), &by_bytes, &MemoryCache::default()).expect("an answer");
    assert_eq!(indexed.errors, []);
}
