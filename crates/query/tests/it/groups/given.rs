//! Another program, such as an SQL engine, can find the pairs. With pairs from such a program, the
//! answer is the same as without them, or the question fails.
//!
//! The simulated engine follows docs/scale.md exactly, but with maps instead of tables.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;

use proptest::prelude::*;
use resemble_core::hash::content::digest;
use resemble_core::{ContentDigest, ContentId, Fingerprint};
use resemble_index::{PartRole, Snapshot};
use resemble_proto::message::{Degree, Groups, GroupsRequest, Scope};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;
use resemble_query::groups::{KnownPairs, groups_with_parts};
use resemble_relate::AskError;
use resemble_relate::given::{
    CHECKED, ExternalCommon, ExternalError, ExternalMeasures, ExternalPair, ExternalPairs,
    GivenRows,
};
use resemble_relate::listed::{ListedFile, ListedProver};
use resemble_testutil::prose::sentences;
use resemble_testutil::random::{Random, noise};

use crate::plain::groups;
use crate::scene::Scene;
use crate::scene::fake::{fake, member, text_of};

/// Distinguishes samples from chunks.
type Piece = (bool, u64);

/// The data that the tables have about one content.
struct Content {
    name: i64,
    size: u64,
    level: u8,
    pieces: BTreeSet<Piece>,
    is_whole: bool,
}

/// The results of the simulated engine for the contents of an index.
#[derive(Clone, Debug, Default)]
struct Engine {
    degree: u64,
    pairs: Vec<ExternalPair>,
    rest: BTreeMap<i64, ExternalCommon>,
    measured: Vec<ExternalMeasures>,
}

fn name_of(content: &ContentDigest) -> i64 {
    let first = content.0.first_chunk().expect("32 bytes");
    i64::from_be_bytes(*first)
}

fn contents(snapshot: &Snapshot) -> Vec<Content> {
    let row = |id| snapshot.content(ContentId(id)).expect("readable");
    let rows: Vec<_> = (0..5000).filter_map(row).collect();
    let mut wholes = BTreeSet::new();
    for row in &rows {
        for part in snapshot.parts(row.id).expect("readable") {
            if matches!(part.role, PartRole::WholeText | PartRole::WholeBytes) {
                wholes.extend(part.content);
            }
        }
    }
    let content = |row: &resemble_index::ContentRow| {
        let signature = snapshot.signature(row.id).expect("readable");
        let chunks = snapshot.chunks(row.id).expect("readable").0;
        let chunks = chunks.iter().filter(|run| run.is_evidence());
        let chunks = chunks.map(|run| (false, run.hash.posting_key()));
        let samples = signature.fingerprints.iter().map(|sample| (true, sample.0));
        Content {
            name: name_of(&row.digest),
            size: row.size.0,
            level: signature.level,
            pieces: samples.chain(chunks).collect(),
            is_whole: wholes.contains(&row.id),
        }
    };
    rows.iter().map(content).collect()
}

impl Engine {
    fn of(snapshot: &Snapshot, degree: u64) -> Self {
        let contents = contents(snapshot);
        let mut lists: HashMap<Piece, Vec<usize>> = HashMap::new();
        for (at, content) in contents.iter().enumerate() {
            for &piece in &content.pieces {
                lists.entry(piece).or_default().push(at);
            }
        }
        let having = |piece: &Piece| lists[piece].len() as u64;
        let mut pair: BTreeMap<(usize, usize), ExternalCommon> = BTreeMap::new();
        for (piece, list) in lists.iter().filter(|list| list.1.len() as u64 <= degree) {
            for (at, &a) in list.iter().enumerate() {
                for &b in &list[at + 1..] {
                    let common = pair.entry((a, b)).or_default();
                    *if piece.0 {
                        &mut common.fingerprints
                    } else {
                        &mut common.chunks
                    } += 1;
                }
            }
        }
        let samples = |content: &Content| content.pieces.range((true, 0)..).count();
        let rare = |content: &Content, level: u8| {
            let of_level = content.pieces.range((true, 0)..);
            let of_level = of_level.filter(|piece| Fingerprint(piece.1).level() >= level);
            of_level
                .filter(|piece| 16 * having(piece) <= degree)
                .count()
        };
        let is_header = |content: &Content| {
            let all = samples(content);
            all > 0 && 2 * (all - rare(content, 0)) >= all
        };
        let mut engine = Self {
            degree,
            ..Self::default()
        };
        for ((a, b), common) in pair {
            let (of_a, of_b) = (&contents[a], &contents[b]);
            let level = of_a.level.max(of_b.level);
            let fewer = rare(of_a, level).min(rare(of_b, level)) as u64;
            let nominates = common.fingerprints >= 2
                || common.chunks >= 1
                || fewer <= 4
                || is_header(of_a) && is_header(of_b);
            let could_be = of_a.is_whole && of_b.is_whole
                || of_a.size >= 256
                    && of_b.size >= 256
                    && (common.chunks >= 1 || 32 * common.fingerprints >= fewer);
            let (a, b) = (of_a.name, of_b.name);
            if nominates && could_be {
                engine.pairs.push(ExternalPair { a, b, common });
            } else {
                for name in [a, b] {
                    let rest = engine.rest.entry(name).or_default();
                    rest.fingerprints += common.fingerprints;
                    rest.chunks += common.chunks;
                }
            }
        }
        engine
    }
}

impl ExternalPairs for Engine {
    fn name(&self, content: &ContentDigest) -> i64 {
        name_of(content)
    }

    fn degree(&self) -> u64 {
        self.degree
    }

    fn pairs(&self) -> GivenRows<'_, ExternalPair> {
        Box::new(self.pairs.iter().copied().map(Ok))
    }

    fn rest(&self) -> GivenRows<'_, (i64, ExternalCommon)> {
        let rest = self.rest.iter();
        Box::new(rest.map(|(&name, &common)| Ok((name, common))))
    }

    fn measured(&self) -> GivenRows<'_, ExternalMeasures> {
        Box::new(self.measured.iter().copied().map(Ok))
    }
}

/// Collects the files below a folder, keyed by the names that the tables give to their contents.
fn files(folder: &Path, found: &mut HashMap<i64, ListedFile>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, found);
        } else {
            let digest = digest(&fs::read(&path).expect("readable"));
            found.insert(name_of(&digest), ListedFile { digest, path });
        }
    }
}

/// Measures pairs, as the workers of an engine do if they can read the files.
fn measured(scene: &Scene, pairs: &[ExternalPair]) -> Vec<ExternalMeasures> {
    let mut found = HashMap::new();
    files(&scene.path(""), &mut found);
    let list =
        |pair: &ExternalPair| Some([found.get(&pair.a)?.clone(), found.get(&pair.b)?.clone()]);
    let listed: Vec<_> = pairs
        .iter()
        .filter_map(|pair| Some((pair, list(pair)?)))
        .collect();
    let files: Vec<_> = listed.iter().map(|(_, files)| files.clone()).collect();
    let of_all = ListedProver::default().measure(&files);
    let of_all = listed.iter().zip(of_all);
    of_all
        .map(|((pair, _), of_both)| ExternalMeasures {
            a: pair.a,
            b: pair.b,
            of_both: of_both.expect("measured"),
        })
        .collect()
}

fn degree_of(request: &GroupsRequest) -> u64 {
    match request.degree {
        Degree::Over(degree) => degree.into(),
        _ => 1000,
    }
}

fn of_pairs(scene: &Scene, request: &GroupsRequest, given: &Engine) -> Result<Groups, AskError> {
    let dir = scene.temp.root();
    let whole = groups_with_parts(
        &scene.snapshot(),
        request,
        None,
        KnownPairs::Given(given),
        dir,
    )?;
    Ok(whole.body)
}

/// Checks that the engine's pairs do not change the answer. Checks this with and without a memory
/// bound.
fn assert_same(scene: &Scene, request: &GroupsRequest) -> Groups {
    let snapshot = scene.snapshot();
    let mut engine = Engine::of(&snapshot, degree_of(request));
    // The engine measured half of the pairs; the question itself measures the others.
    engine.measured = measured(scene, &engine.pairs[..engine.pairs.len() / 2]);
    let expected = groups(&snapshot, request, scene.temp.root()).expect("an answer");
    for memory in [None, Some(1 << 20)] {
        let request = GroupsRequest {
            memory,
            ..request.clone()
        };
        let found = of_pairs(scene, &request, &engine).expect("an answer");
        let mut expected = expected.body.clone();
        // With a memory bound, the answer may have other notes.
        expected.summary.notes.clone_from(&found.summary.notes);
        assert_eq!(found, expected, "{memory:?} {request:?}");
    }
    expected.body
}

fn request(scene: &Scene, degree: Option<u32>) -> GroupsRequest {
    GroupsRequest {
        scope: scene.scope(),
        text: true,
        degree: degree.map_or(Degree::Usual, Degree::Over),
        ..GroupsRequest::default()
    }
}

/// Returns a version of a text. One sentence in `every` is replaced.
fn version(text: &str, seed: u64, every: usize) -> String {
    let lines = text.split_inclusive('\n').enumerate();
    let edited = lines.map(|(at, line)| {
        if (at + seed as usize).is_multiple_of(every) {
            sentences(seed * 1000 + at as u64, 1)
        } else {
            line.to_owned()
        }
    });
    edited.collect()
}

/// Writes versions, texts with common headers, small and large texts, binaries, archives and
/// documents.
fn made(seed: u64) -> Scene {
    let mut scene = Scene::with_parts();
    let mut random = Random::new(seed);
    let header = sentences(seed + 77, 3 + random.below(40));
    for family in 0..3 + random.below(4) {
        let of_family = seed * 100 + family as u64;
        let base = sentences(of_family, 5 + random.below(200));
        for member in 0..=random.below(5) {
            let every = 2 + random.below(30);
            let mut text = version(&base, of_family * 10 + member as u64, every);
            if random.below(3) == 0 {
                text.insert_str(0, &header);
            }
            scene.write(&format!("{family}/{member}.txt"), &text);
            if random.below(3) == 0 {
                let document = fake(of_family * 50 + member as u64, &[text_of(&text)]);
                scene.write(&format!("{family}/{member}.docx"), document);
            }
        }
    }
    for at in 0..random.below(12) {
        let own = sentences(seed * 31 + at as u64, 1 + random.below(20));
        scene.write(&format!("headed/{at}"), format!("{header}{own}"));
    }
    let program = noise(seed + 5, 8000 + random.below(30_000));
    for at in 0..random.below(5) {
        let mut build = program.clone();
        for _ in 0..random.below(40) {
            let from = random.below(build.len() - 100);
            build[from..from + 64].copy_from_slice(&noise(random.draw(), 64));
        }
        scene.write(&format!("bin/{at}"), build);
    }
    for at in 0..random.below(4) {
        let held = (0..=random.below(4)).map(|n| {
            let text = sentences(seed * 100 + (random.below(3) + n) as u64, 30);
            member(&format!("{n}"), version(&text, at as u64, 9))
        });
        let held: Vec<_> = held.collect();
        scene.write(&format!("{at}.zip"), fake(seed + at as u64, &held));
    }
    scene.scan();
    scene
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn given_pairs_give_the_same_groups(seed in 0u64..1_000_000, degree in 2u32..20) {
        let scene = made(seed);
        for degree in [None, Some(degree)] {
            let all = request(&scene, degree);
            let found = assert_same(&scene, &all);
            let plain = GroupsRequest { text: false, ..all.clone() };
            assert_same(&scene, &plain);
            let first = found.clusters.first().and_then(|cluster| cluster.members.first());
            if let Some(member) = first {
                for family in [false, true] {
                    let of = Some(member.path.clone());
                    assert_same(&scene, &GroupsRequest { of, family, ..all.clone() });
                }
            }
        }
    }
}

/// The question counts the 90 near-copies of a page as one file. So for the question, few files
/// have the page's text, and this text pairs the quotations with the near-copies. For the engine,
/// more than 70 contents have the text, so it is boilerplate.
#[test]
fn what_only_near_copies_make_common_is_paired_at_home() {
    let mut scene = Scene::new();
    let page = sentences(1, 40);
    for at in 0..90 {
        let line = sentences(10_000 + at, 1);
        scene.write(&format!("copies/{at:04}"), format!("{page}{line}"));
    }
    for at in 0..5 {
        let other = sentences(500 + at, 20);
        scene.write(&format!("quotes/{at}"), format!("{page}{other}"));
    }
    scene.scan();
    let request = request(&scene, Some(70));
    let engine = Engine::of(&scene.snapshot(), 70);
    let found = assert_same(&scene, &request);
    let largest = found.clusters.iter().map(|cluster| cluster.members.len());
    assert!(largest.max() >= Some(90), "{:?}", found.summary);
    let page = scene.path("quotes/0");
    let snapshot = scene.snapshot();
    let row = snapshot.file_at(&page).expect("readable").expect("known");
    let content = row.state.content().expect("read");
    let content = snapshot.content(content).expect("readable").expect("known");
    let name = name_of(&content.digest);
    let is_of_it = |pair: &&ExternalPair| pair.a == name || pair.b == name;
    assert_eq!(engine.pairs.iter().find(is_of_it), None, "found at home");
    let has_page = |cluster: &resemble_proto::message::Cluster| {
        let mut links = cluster.links.iter();
        links.any(|link| [&link.a, &link.b].contains(&&PathText::from(&*page)))
    };
    assert!(found.clusters.iter().any(has_page));
}

/// If the signatures of only small texts keep a sample, the question also counts the large texts
/// that have the sample. So it may find that the sample is boilerplate. The engine does not count
/// the large texts.
#[test]
fn levels_are_corrected_at_home() {
    let mut scene = Scene::new();
    let header = sentences(1, 12);
    for at in 0..40 {
        let own = sentences(100 + at, if at < 20 { 1 } else { 400 });
        scene.write(&format!("{at}"), format!("{header}{own}"));
    }
    scene.scan();
    for degree in [18, 20, 25, 39, 40] {
        assert_same(&scene, &request(&scene, Some(degree)));
    }
}

#[test]
fn a_piece_of_just_so_many_contents_is_not_common() {
    let mut scene = Scene::new();
    let shared = sentences(1, 30);
    for at in 0..12 {
        let own = sentences(100 + at, 10);
        scene.write(&format!("{at}"), format!("{shared}{own}"));
    }
    scene.scan();
    let at_limit = assert_same(&scene, &request(&scene, Some(12)));
    let beyond = assert_same(&scene, &request(&scene, Some(11)));
    assert!(at_limit.summary.links > beyond.summary.links);
    // This engine treats a piece of 12 contents as boilerplate, although the limit is 12. Its pairs
    // are refused.
    let mut early = Engine::of(&scene.snapshot(), 11);
    early.degree = 12;
    let refused = of_pairs(&scene, &request(&scene, Some(12)), &early);
    assert!(is_amiss(&refused), "{refused:?}");
}

/// Writes versions of some texts and of a program.
fn versions() -> Scene {
    let mut scene = Scene::new();
    for family in 0..6 {
        let base = sentences(family, 60);
        for member in 0..8 {
            let text = version(&base, family * 10 + member, 4 + member as usize);
            scene.write(&format!("{family}/{member}"), text);
        }
    }
    let program = noise(5, 20_000);
    for member in 0..6 {
        let mut build = program.clone();
        build[3000 * member..][..500].copy_from_slice(&noise(member as u64, 500));
        scene.write(&format!("bin/{member}"), build);
    }
    scene.scan();
    scene
}

/// If the files cannot be read, the answer is the same only with the given measures.
#[test]
fn what_was_measured_elsewhere_is_not_read() {
    let scene = versions();
    let request = request(&scene, None);
    let mut engine = Engine::of(&scene.snapshot(), 1000);
    let expected = of_pairs(&scene, &request, &engine).expect("an answer");
    assert!(expected.clusters.len() >= 7, "{:?}", expected.summary);
    let found = measured(&scene, &engine.pairs);
    fs::rename(scene.path(""), scene.temp.path("away")).expect("moved");
    let estimated = of_pairs(&scene, &request, &engine).expect("an answer");
    assert_ne!(estimated, expected);
    engine.measured = found;
    for memory in [None, Some(1 << 20)] {
        let request = GroupsRequest {
            memory,
            ..request.clone()
        };
        let found = of_pairs(&scene, &request, &engine).expect("an answer");
        assert_eq!(found, expected, "{memory:?}");
    }
}

#[test]
fn other_figures_make_no_answer() {
    let scene = versions();
    let request = request(&scene, None);
    let mut engine = Engine::of(&scene.snapshot(), 1000);
    engine.measured = measured(&scene, &engine.pairs);
    assert!(engine.measured.len() as u128 > 2 * CHECKED);
    of_pairs(&scene, &request, &engine).expect("an answer");
    for row in &mut engine.measured {
        row.of_both.measures.shared_bytes.0 += 1;
    }
    let refused = of_pairs(&scene, &request, &engine);
    let is_refused = matches!(
        refused,
        Err(AskError::Given(ExternalError::Measures { .. }))
    );
    assert!(is_refused, "{refused:?}");
}

/// If a listed file no longer exists or has other bytes, it is not measured.
#[test]
fn listed_files_are_what_they_were() {
    let scene = versions();
    let mut found = HashMap::new();
    files(&scene.path("0"), &mut found);
    let list: Vec<_> = found.into_values().take(3).collect();
    let [a, b, c] = list.try_into().expect("three files");
    fs::write(&b.path, "another text").expect("written");
    fs::remove_file(&c.path).expect("removed");
    let pairs = [[a.clone(), b], [c, a.clone()], [a.clone(), a]];
    let measured = ListedProver::default().measure(&pairs);
    let are_measured: Vec<bool> = measured.iter().map(Option::is_some).collect();
    assert_eq!(are_measured, [false, false, true]);
}

fn is_amiss(answer: &Result<Groups, AskError>) -> bool {
    matches!(answer, Err(AskError::Given(ExternalError::Amiss { .. })))
}

#[test]
fn wrong_pairs_make_no_answer() {
    let mut scene = made(7);
    // Two files that have only one sentence in common are not candidates.
    for at in 0..12 {
        let sentence = sentences(9000 + at, 1);
        for side in 0..2 {
            let own = sentences(9100 + 2 * at + side, 80);
            scene.write(&format!("said/{at}-{side}"), format!("{own}{sentence}"));
        }
    }
    scene.scan();
    let request = request(&scene, None);
    let engine = Engine::of(&scene.snapshot(), 1000);
    assert!(engine.pairs.len() > 10 && !engine.rest.is_empty());
    let with = |change: &dyn Fn(&mut Engine)| {
        let mut wrong = engine.clone();
        change(&mut wrong);
        of_pairs(&scene, &request, &wrong)
    };
    with(&|_| ()).expect("an answer");
    for at in [0, 5, engine.pairs.len() - 1] {
        assert!(is_amiss(&with(&|wrong| {
            wrong.pairs.remove(at);
        })));
        assert!(is_amiss(&with(&|wrong| wrong.pairs.push(wrong.pairs[at]))));
        assert!(is_amiss(&with(&|wrong| {
            wrong.pairs[at].common.fingerprints += 1;
        })));
        assert!(is_amiss(&with(&|wrong| wrong.pairs[at].common.chunks += 1)));
        assert!(is_amiss(&with(
            &|wrong| wrong.pairs[at].a = wrong.pairs[at].b
        )));
        let unknown = with(&|wrong| wrong.pairs[at].a = at as i64);
        assert!(matches!(
            unknown,
            Err(AskError::Given(ExternalError::Unknown { .. }))
        ));
    }
    assert!(is_amiss(&with(&|wrong| {
        wrong.rest.pop_first();
    })));
    let refused = with(&|wrong| wrong.degree = 999);
    assert!(matches!(
        refused,
        Err(AskError::Given(ExternalError::Degree {
            links: 999,
            asked: 1000
        }))
    ));
}

#[test]
fn questions_that_pairs_do_not_fit_are_refused() {
    let mut scene = made(7);
    let all = request(&scene, None);
    let engine = Engine::of(&scene.snapshot(), 1000);
    let fewer = GroupsRequest {
        scope: Scope {
            exclude: vec!["0/".to_owned()],
            ..scene.scope()
        },
        ..all.clone()
    };
    let refused = of_pairs(&scene, &fewer, &engine);
    let is_unknown = matches!(refused, Err(AskError::Given(ExternalError::Unknown { .. })));
    assert!(is_unknown || is_amiss(&refused), "{refused:?}");
    let low = GroupsRequest {
        min: Fraction::from_millionths(200_000),
        ..all.clone()
    };
    let refused = of_pairs(&scene, &low, &engine);
    assert!(matches!(
        refused,
        Err(AskError::Given(ExternalError::TooLittle))
    ));
    let high = GroupsRequest {
        min: Fraction::from_millionths(800_000),
        ..all.clone()
    };
    assert_same(&scene, &high);
    scene.mark(&["0/0.txt"]);
    let refused = of_pairs(&scene, &all, &engine);
    assert!(matches!(
        refused,
        Err(AskError::Given(ExternalError::Templates))
    ));
}
