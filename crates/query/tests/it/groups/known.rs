//! Tests the cache of drafts: estimated pairs that an earlier question found. Drafts are used only
//! for the same contents and terms, and each pair is measured again.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use resemble_query::groups::{KnownPairs, groups_with_parts, order_with_parts};
use resemble_relate::findings::FindingsCache;
use resemble_testutil::prose::{edited, prose};

use super::*;

/// A cache that stores everything and counts hits.
#[derive(Debug, Default)]
struct Watched {
    kept: Mutex<HashMap<String, Arc<[u8]>>>,
    found: Mutex<usize>,
}

impl FindingsCache for Watched {
    fn get(&self, name: &str) -> Option<Arc<[u8]>> {
        let found = self.kept.lock().get(name).cloned();
        *self.found.lock() += usize::from(found.is_some());
        found
    }

    fn put(&self, name: &str, findings: &[u8]) {
        self.kept.lock().insert(name.to_owned(), findings.into());
    }
}

impl Watched {
    /// Returns the number of stored questions, and of hits since the last call.
    fn seen(&self) -> (usize, usize) {
        let found = std::mem::take(&mut *self.found.lock());
        (self.kept.lock().len(), found)
    }

    fn spoil(&self, spoil: impl Fn(&[u8]) -> Vec<u8>) {
        for findings in self.kept.lock().values_mut() {
            *findings = spoil(findings).into();
        }
    }
}

/// Writes enough versions that the drafts of a question are stored.
fn versions() -> Scene {
    let scene = Scene::new();
    let first = prose(1, 6_000);
    scene.write("first", &first);
    for n in 1..28 {
        scene.write(&format!("v{n:02}"), edited(&first, n, 2));
    }
    scene
}

fn known(asked: &Asked, request: &GroupsRequest, cache: &Watched) -> Whole<Groups> {
    let dir = asked.scene.temp.root();
    groups_with_parts(
        &asked.snapshot,
        request,
        None,
        KnownPairs::Cached(cache),
        dir,
    )
    .expect("an answer")
}

#[test]
fn a_second_question_drafts_nothing() {
    let asked = Asked::of(versions());
    let (request, cache) = (asked.request(), Watched::default());
    let without = asked.whole(&request);
    assert!(
        without.body.summary.links > 300,
        "{:?}",
        without.body.summary
    );
    assert_eq!(known(&asked, &request, &cache), without);
    assert_eq!(cache.seen(), (1, 0));
    assert_eq!(known(&asked, &request, &cache), without);
    assert_eq!(cache.seen(), (1, 1));
    // The order for an archive uses the same drafts.
    let dir = asked.scene.temp.root();
    let order = order_with_parts(
        &asked.snapshot,
        &request,
        None,
        KnownPairs::Cached(&cache),
        dir,
    );
    let alone = order_with_parts(&asked.snapshot, &request, None, KnownPairs::None, dir);
    assert_eq!(order.expect("an answer"), alone.expect("an answer"));
    assert_eq!(cache.seen(), (1, 1));
    // A question about one file, or with a memory bound, does not use the drafts that a question
    // about all files stored.
    let bounded = GroupsRequest {
        memory: Some(8 << 20),
        ..request.clone()
    };
    for other in [asked.about("first", false), bounded] {
        assert_eq!(known(&asked, &other, &cache), asked.whole(&other));
        assert_eq!(cache.seen(), (1, 0));
    }
    // The stored drafts are really used: with an empty list of drafts in the cache, the answer has
    // no links.
    cache.spoil(|_| Vec::new());
    assert_eq!(known(&asked, &request, &cache).body.summary.links, 0);
}

#[test]
fn what_drafts_follow_from_is_in_their_name() {
    let asked = Asked::of(versions());
    let (request, cache) = (asked.request(), Watched::default());
    known(&asked, &request, &cache);
    assert_eq!(cache.seen(), (1, 0));
    let others = [
        GroupsRequest {
            min: Fraction::from_millionths(900_000),
            ..request.clone()
        },
        GroupsRequest {
            min_shared: Some(3_000),
            ..request.clone()
        },
        GroupsRequest {
            degree: Degree::Over(20),
            ..request.clone()
        },
    ];
    for other in &others {
        let before = cache.seen().0;
        assert_eq!(known(&asked, other, &cache), asked.whole(other));
        let (after, found) = cache.seen();
        assert_eq!(found, 0, "{other:?}");
        assert!(after <= before + 1);
    }
    // Drafts are stored under a name that depends on the contents of the files, but not on their
    // paths.
    let Asked { mut scene, .. } = asked;
    fs::rename(scene.path("v01"), scene.path("renamed")).expect("renamed");
    scene.scan();
    let asked = Asked::of(scene);
    assert_eq!(known(&asked, &request, &cache), asked.whole(&request));
    assert_eq!(cache.seen().1, 1);
    asked.scene.write("v02", prose(9, 6_000));
    let asked = Asked::of(asked.scene);
    assert_eq!(known(&asked, &request, &cache), asked.whole(&request));
    assert_eq!(cache.seen().1, 0);
    // The template removes content of which drafts were stored.
    let Asked { mut scene, .. } = asked;
    scene.mark(&["first", "v03"]);
    let snapshot = scene.snapshot();
    let marked = Asked { scene, snapshot };
    let before = cache.seen().0;
    assert_eq!(known(&marked, &request, &cache), marked.whole(&request));
    assert_eq!(cache.seen(), (before, 0));
}

/// A function that damages stored bytes.
type Damage = fn(&[u8]) -> Vec<u8>;

#[test]
fn what_is_damaged_is_not_there() {
    let asked = Asked::of(versions());
    let (request, cache) = (asked.request(), Watched::default());
    let without = asked.whole(&request);
    let damages: [Damage; 3] = [
        |kept| kept[..kept.len() - 1].to_vec(),
        |kept| [kept, &[0]].concat(),
        |kept| vec![0xff; kept.len()],
    ];
    for damage in damages {
        known(&asked, &request, &cache);
        cache.spoil(damage);
        assert_eq!(known(&asked, &request, &cache), without);
    }
}
