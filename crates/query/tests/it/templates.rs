//! Tests templates and the discount for common text in every question.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use resemble_core::{ByteLen, Digest, Params, Relation, Score};
use resemble_index::{Change, ContentRef, FileStat, FsId, Index, NewState, Timestamp};
use resemble_proto::message::{
    Answer, FindOptions, FindRow, GroupsRequest, MarkRequest, PairRow, PairsRequest, Scope,
};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;
use resemble_query::Snapshot;
use resemble_query::find::{Subject, find, listing};
use resemble_query::templates::{FILE_NAME, Store, TemplateError};
use resemble_testutil::TempTree;
use resemble_testutil::prose::{prose, words};
use resemble_testutil::random::letters;

use crate::plain;
use crate::plain::{mark, pairs};
use crate::scene::Scene;

/// An index of files that were never on a disk, so that no file can be read again.
struct Collection {
    index: Index,
    state: TempTree,
    store: Store,
}

impl Collection {
    fn new(files: &[(String, Vec<u8>)]) -> Self {
        let index = Index::in_memory(&Params::default()).expect("an index in memory");
        let changes = files.iter().enumerate().map(|(ino, (path, bytes))| {
            let digest = Digest::of(bytes, &Params::default());
            Change::File {
                path: PathBuf::from(path),
                stat: FileStat {
                    fs: FsId("test".into()),
                    ino: ino as u64 + 1,
                    size: ByteLen(bytes.len() as u64),
                    mtime: Timestamp::default(),
                    ctime: Timestamp::default(),
                    nlink: 1,
                },
                state: NewState::Settled(ContentRef::New(Box::new(digest))),
            }
        });
        index.apply(changes.collect()).expect("a batch");
        let state = TempTree::new();
        let store = Store::new(&state.path("state"), &Params::default());
        Self {
            index,
            state,
            store,
        }
    }

    /// Makes ten pages that all begin with a frame of `frame` bytes. Two of them are versions of
    /// the same text, and two others are equal.
    fn pages(frame: usize) -> Self {
        Self::pages_of(letters, frame)
    }

    /// Does the same as [`Self::pages`], with texts that `made` returns for a seed and a length.
    fn pages_of(made: fn(u64, usize) -> Vec<u8>, frame: usize) -> Self {
        let frame = made(1, frame);
        let mut files: Vec<(String, Vec<u8>)> = (0..8)
            .map(|page| {
                let bytes = [frame.clone(), made(100 + page, 5_000)].concat();
                (format!("/t/page-{page}.html"), bytes)
            })
            .collect();
        let mut version = files[0].1.clone();
        let len = version.len();
        version.splice(len - 2_000..len - 1_900, *b"another sentence");
        files.push(("/t/page-0a.html".to_owned(), version));
        files.push(("/t/copy.html".to_owned(), files[3].1.clone()));
        Self::new(&files)
    }

    fn snapshot(&self) -> Snapshot {
        let snapshot = self.index.snapshot().expect("a snapshot");
        snapshot.with_templates(self.store.current().0.templates)
    }

    fn find(&self, path: &str, within: Option<&str>) -> Answer<FindRow> {
        self.find_also(path, within, false)
    }

    /// Returns the answer of `find`. With `all`, it includes files that are similar only by common
    /// text.
    fn find_also(&self, path: &str, within: Option<&str>, all: bool) -> Answer<FindRow> {
        let snapshot = self.snapshot();
        let subject = Subject::remembered(&snapshot, Path::new(path)).expect("readable");
        let options = FindOptions {
            scope: within.map_or_else(Scope::default, scope),
            all,
            ..FindOptions::default()
        };
        let name = PathText::from(path);
        find(&snapshot, &subject.expect("indexed"), &name, &options).expect("an answer")
    }

    fn pairs(&self) -> Vec<PairRow> {
        let options = PairsRequest {
            scope: scope("/t"),
            ..PairsRequest::default()
        };
        pairs(&self.snapshot(), &options).expect("an answer").rows
    }

    fn mark(&self, files: &[&str], name: Option<&str>) -> Result<String, TemplateError> {
        let request = MarkRequest {
            files: files.iter().map(|file| PathText::from(*file)).collect(),
            name: name.map(str::to_owned),
            ..MarkRequest::default()
        };
        mark(&self.snapshot(), &self.store, &request, self.state.root()).map(|row| row.id)
    }
}

fn scope(path: &str) -> Scope {
    Scope {
        within: vec![PathText::from(path)],
        ..Scope::default()
    }
}

fn names(rows: &[FindRow]) -> Vec<String> {
    rows.iter()
        .map(|row| row.path.lossy().into_owned())
        .collect()
}

const THREE: [&str; 3] = ["/t/page-1.html", "/t/page-2.html", "/t/page-5.html"];

#[test]
fn a_template_is_no_evidence_in_any_question() {
    let pages = Collection::pages(9_000);
    for within in [None, Some("/t")] {
        assert_eq!(pages.find("/t/page-0.html", within).rows.len(), 9);
    }
    let everything = pages.pairs();
    assert_eq!(everything.len(), 10 * 9 / 2);

    let id = pages.mark(&THREE, Some("frame")).expect("marked");
    for within in [None, Some("/t")] {
        let rows = pages.find("/t/page-0.html", within).rows;
        assert_eq!(names(&rows), ["/t/page-0a.html"]);
        // The share counts only bytes outside the template. Of these 5,000 bytes, the first 3,000
        // and the last 1,900 are equal.
        let share = rows[0].a_in_b.score().expect("judged").get();
        assert!((0.9..1.0).contains(&share), "{share}");
        assert!(rows[0].shared_bytes < 5_500);
        let rows = pages.find("/t/page-3.html", within).rows;
        assert_eq!(names(&rows), ["/t/copy.html"]);
        assert_eq!(rows[0].relation, Some(Relation::Identical));
    }
    let kept: Vec<(PathText, PathText)> = pages
        .pairs()
        .into_iter()
        .map(|row| (row.a, row.b))
        .collect();
    let pair = |a: &str, b: &str| (PathText::from(a), PathText::from(b));
    assert_eq!(
        kept,
        [
            pair("/t/copy.html", "/t/page-3.html"),
            pair("/t/page-0.html", "/t/page-0a.html")
        ]
    );
    let snapshot = pages.snapshot();
    let subject = Subject::remembered(&snapshot, Path::new("/t/page-7.html"));
    let subject = subject.expect("readable").expect("indexed");
    assert_eq!(listing(&snapshot, &subject, true).expect("a listing").1, 0);

    pages.store.unmark(&id).expect("taken back");
    assert_eq!(pages.pairs(), everything, "as if nothing had been");
}

/// Outside the frame, half of the words of `a.txt` are also in `b.txt`.
#[test]
fn half_of_their_own_words_is_half() {
    let frame = words(0, 120);
    let page = |own: &[(usize, usize)]| {
        let own = own.iter().map(|&(from, count)| words(from, count));
        format!("{frame}{}", own.collect::<String>())
    };
    let mut scene = Scene::of(&[
        ("a.txt", page(&[(1000, 100), (2000, 100)])),
        ("b.txt", page(&[(1000, 100), (3000, 100)])),
        ("c.txt", page(&[(4000, 200)])),
        ("d.txt", page(&[(5000, 200)])),
        // `few.txt` has the frame twice, and too little text of its own to be judged.
        ("few.txt", page(&[(0, 120), (6000, 20)])),
    ]);
    let found = |scene: &Scene| {
        let subject = scene.subject("a.txt");
        let name = PathText::from(scene.path("a.txt"));
        let options = FindOptions {
            scope: scene.scope(),
            ..FindOptions::default()
        };
        let rows = find(&scene.snapshot(), &subject, &name, &options).expect("an answer");
        let rows = rows.rows.into_iter().map(|row| {
            let name = row.path.as_path().file_name().expect("a name").to_owned();
            let shares = (row.a_in_b, row.b_in_a, row.resemblance, row.shared_bytes);
            (name.into_string().expect("UTF-8"), shares, row.estimate)
        });
        rows.collect::<Vec<_>>()
    };
    let before = found(&scene);
    assert_eq!(before.len(), 4);
    let share = |share: f64| Fraction::from(Score::new(share));
    // `a.txt` and `b.txt` share 220 of 320 words: the frame and 100 words of their own.
    let version = before.iter().find(|row| row.0 == "b.txt");
    assert_eq!(version.expect("a row").1.0, share(220.0 / 320.0));

    let marked = scene.mark(&["c.txt", "d.txt"]);
    assert_eq!(marked.shingles, 116);
    // All words have eight bytes.
    assert_eq!(marked.template, share((120.0 * 8.0 - 1.0) / (320.0 * 8.0)));
    // A run of five words counts only if at least one word is outside the frame.
    let shared = (share(0.5), share(0.5), share(100.0 / 300.0), 800);
    assert_eq!(found(&scene), [("b.txt".to_owned(), shared, false)]);
    let request = PairsRequest {
        scope: scene.scope(),
        ..PairsRequest::default()
    };
    let rows = pairs(&scene.snapshot(), &request).expect("an answer").rows;
    let [row] = &rows[..] else {
        panic!("{rows:?}");
    };
    assert_eq!((row.a_in_b, row.b_in_a), (shared.0, shared.1));
    assert_eq!((row.resemblance, row.shared_bytes), (shared.2, shared.3));
}

/// A file of the first format has templates without shingles, only with chunks and samples. It can
/// still be read.
#[test]
fn a_file_of_the_first_format_is_understood() {
    let pages = Collection::pages(9_000);
    pages.mark(&THREE, Some("frame")).expect("marked");
    let rows = pages.find("/t/page-0.html", None).rows;
    let written = fs::read_to_string(pages.store.path()).expect("a file");
    assert!(
        !written.contains("shingles"),
        "of files that cannot be read"
    );
    let first = written.replace("\"format\": 2", "\"format\": 1");
    assert_ne!(written, first);
    fs::write(pages.store.path(), first).expect("written");
    assert_eq!(pages.store.list().expect("listed").len(), 1);
    assert_eq!(pages.find("/t/page-0.html", None).rows, rows);
}

/// A frame that is shorter than a chunk makes no common chunk, so the template must consist of
/// samples. The frame is text, because in data files a part that all ten files have makes no
/// relation. The pages share 0.18 of their text, and the estimate is 0.25. So without the template,
/// the pages are related only by common text.
#[test]
fn short_frames_are_templates_too() {
    let pages = Collection::pages_of(prose, 1_100);
    let options = |min| FindOptions {
        min: Fraction::from(Score::new(min)),
        all: true,
        ..FindOptions::default()
    };
    let found = |path: &str| {
        let snapshot = pages.snapshot();
        let subject = Subject::remembered(&snapshot, Path::new(path)).expect("readable");
        let subject = subject.expect("indexed");
        let answer = find(&snapshot, &subject, &PathText::from(path), &options(0.05));
        answer.expect("an answer").rows.len()
    };
    assert_eq!(found("/t/page-4.html"), 9);
    pages.mark(&THREE, None).expect("marked");
    assert_eq!(found("/t/page-4.html"), 0);
}

#[test]
fn a_second_iteration_marks_what_the_first_revealed() {
    // All files have the first frame, and half of them also have a second frame.
    let (all, half) = (letters(1, 9_000), letters(2, 8_000));
    let files: Vec<(String, Vec<u8>)> = (0..8)
        .map(|page| {
            let second = if page % 2 == 0 { &half[..] } else { b"" };
            let bytes = [&all[..], second, &letters(100 + page, 6_000)].concat();
            (format!("/t/{page}"), bytes)
        })
        .collect();
    let pages = Collection::new(&files);
    let first = pages.mark(&["/t/0", "/t/1", "/t/2"], Some("all"));
    let first = first.expect("marked");
    let rows = pages.find("/t/0", None).rows;
    assert_eq!(names(&rows).len(), 3, "the half that shares the second");
    pages
        .mark(&["/t/0", "/t/2", "/t/4"], Some("half"))
        .expect("marked");
    assert_eq!(pages.find("/t/0", None).rows.len(), 0);
    // Each template has only the content that it added. So if the first template is removed, its
    // frame counts again.
    pages.store.unmark("all").expect("taken back");
    let rows = pages.find("/t/1", None).rows;
    assert_eq!(rows.len(), 7, "{:?}", names(&rows));
    let again = pages.mark(&["/t/0", "/t/1", "/t/2"], None).expect("marked");
    assert_eq!(again, first, "the same pieces have the same id");
    let listed = pages.store.list().expect("listed");
    assert_eq!(listed.len(), 2);
    assert!(listed.iter().all(|row| !row.ignored && row.files == 3));
    let nothing = pages.mark(&["/t/0", "/t/2"], None);
    assert!(
        matches!(nothing, Err(TemplateError::Nothing { files: 2 })),
        "{nothing:?}"
    );
}

#[test]
fn clusters_are_marked_by_their_id() {
    let pages = Collection::pages(9_000);
    let request = GroupsRequest {
        scope: scope("/t"),
        ..GroupsRequest::default()
    };
    let groups = plain::groups;
    let before = groups(&pages.snapshot(), &request, pages.state.root()).expect("groups");
    let cluster = before
        .body
        .clusters
        .first()
        .expect("one clique of all pages");
    assert_eq!(cluster.members.len(), 9);
    let request = MarkRequest {
        cluster: Some(cluster.id.clone()),
        scope: scope("/t"),
        ..MarkRequest::default()
    };
    let row = mark(
        &pages.snapshot(),
        &pages.store,
        &request,
        pages.state.root(),
    );
    let row = row.expect("marked");
    assert_eq!(row.files, 9);
    let part = row.template.score().expect("known").get();
    assert!((0.5..0.7).contains(&part), "9,000 of 14,000 bytes: {part}");
    let request = GroupsRequest {
        scope: scope("/t"),
        ..GroupsRequest::default()
    };
    let after = groups(&pages.snapshot(), &request, pages.state.root()).expect("groups");
    assert_eq!(after.body.clusters.len(), 1);
    assert_eq!(after.body.clusters[0].members.len(), 2, "the two versions");
    assert_eq!(after.body.summary.sets, before.body.summary.sets);
    let unknown = MarkRequest {
        cluster: Some("nonesuch".to_owned()),
        scope: scope("/t"),
        ..MarkRequest::default()
    };
    let unknown = mark(
        &pages.snapshot(),
        &pages.store,
        &unknown,
        pages.state.root(),
    );
    assert!(
        matches!(unknown, Err(TemplateError::NoCluster(_))),
        "{unknown:?}"
    );
}

#[test]
fn the_file_is_private_and_survives_bad_orders() {
    let pages = Collection::pages(9_000);
    assert!(pages.store.list().expect("none yet").is_empty());
    assert!(matches!(pages.mark(&[], None), Err(TemplateError::NoFiles)));
    assert!(matches!(
        pages.mark(&["/t/none"], None),
        Err(TemplateError::NotIndexed(path)) if path == Path::new("/t/none")
    ));
    assert!(matches!(
        pages.store.unmark("x"),
        Err(TemplateError::Unknown(_))
    ));
    pages.mark(&THREE, Some("frame")).expect("marked");
    let file = pages.state.path("state").join(FILE_NAME);
    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(&file), 0o600);
    assert_eq!(mode(file.parent().expect("a folder")), 0o700);
    let other = pages.mark(&["/t/page-0.html", "/t/page-0a.html"], Some("frame"));
    assert!(
        matches!(other, Err(TemplateError::NameTaken(_))),
        "{other:?}"
    );

    // A second store of the same folder sees the template and later changes.
    let second = Store::new(file.parent().expect("a folder"), &Params::default());
    let (current, news) = second.current();
    assert!(news && !current.templates.is_empty());
    assert!(!second.current().1, "no news since");
    pages.store.unmark("frame").expect("taken back");
    let (current, news) = second.current();
    assert!(news && current.templates.is_empty());
}

#[test]
fn other_parameters_have_no_effect_and_are_kept() {
    let pages = Collection::pages(9_000);
    pages.mark(&THREE, None).expect("marked");
    let mut params = Params::default();
    params.sampling.cap = 64;
    let other = Store::new(pages.store.path().parent().expect("a folder"), &params);
    let (current, _) = other.current();
    assert!(current.templates.is_empty());
    assert_eq!((current.ignored, current.trouble), (1, None));
    assert!(other.list().expect("listed")[0].ignored);
}

#[test]
fn a_damaged_file_is_said_and_left_alone() {
    let pages = Collection::pages(9_000);
    pages.mark(&THREE, None).expect("marked");
    let file = pages.store.path().to_owned();
    let whole = fs::read(&file).expect("a file");
    let damaged: [&[u8]; 6] = [
        b"",
        &whole[..whole.len() / 2],
        b"{\"format\":1}",
        b"{\"format\":1,\"templates\":[{\"params\":\"p\",\"files\":1,\"share\":1.0,\
          \"template\":1.0,\"chunks\":[\"xyz\"],\"fingerprints\":[]}]}",
        b"{\"format\":1,\"templates\":[{\"params\":\"p\",\"files\":1,\"share\":1.0,\
          \"template\":1.0,\"chunks\":[],\"fingerprints\":[\"ffffffffffff\"]}]}",
        b"{\"format\":2,\"lists\":true}",
    ];
    for bytes in damaged {
        fs::write(&file, bytes).expect("spoilt");
        let (current, news) = pages.store.current();
        assert!(news);
        assert!(current.templates.is_empty());
        let trouble = current.trouble.expect("said");
        assert!(trouble.contains("templates.json"), "{trouble}");
        assert!(!trouble.contains('\n'), "{trouble}");
        assert_eq!(pages.pairs().len(), 45, "answers go on without templates");
        for refused in [
            pages.mark(&THREE, None),
            pages.store.unmark("x").map(|row| row.id),
        ] {
            assert!(
                matches!(
                    refused,
                    Err(TemplateError::Damaged { .. } | TemplateError::Newer { .. })
                ),
                "{refused:?}"
            );
        }
        assert_eq!(fs::read(&file).expect("a file"), bytes, "not written over");
    }
    fs::write(&file, whole).expect("mended");
    let (current, news) = pages.store.current();
    assert!(news && current.trouble.is_none() && !current.templates.is_empty());
}

#[test]
fn a_fifo_in_its_place_hangs_nobody() {
    let pages = Collection::pages(9_000);
    fs::create_dir(pages.state.path("state")).expect("a folder");
    let path = pages.store.path();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        path,
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .expect("a FIFO");
    assert!(pages.store.current().0.trouble.is_some());
}

/// 201 texts share a header. These are too few texts to make the header boilerplate.
#[test]
fn common_text_is_discounted_and_the_reason_given() {
    let header = prose(1, 3_000);
    let mut files: Vec<(String, Vec<u8>)> = (0..200)
        .map(|file| {
            let bytes = [header.clone(), prose(100 + file, 3_000)].concat();
            (format!("/t/{file:03}"), bytes)
        })
        .collect();
    let mut version = files[7].1.clone();
    version.truncate(5_000);
    files.push(("/t/version".to_owned(), version));
    let collection = Collection::new(&files);
    for within in [None, Some("/t")] {
        let listed = collection.find("/t/007", within).rows;
        assert_eq!(listed.len(), 1, "the header lists nothing");
        let rows = collection.find_also("/t/007", within, true).rows;
        assert_eq!(rows.len(), 200);
        let (first, second) = (&rows[0], &rows[1]);
        assert_eq!(first.path, PathText::from("/t/version"));
        let raw = second.score().score().expect("judged").get();
        assert!((0.4..0.7).contains(&raw), "the raw score stays: {raw}");
        assert_eq!(second.relation, Some(Relation::Shares));
        let left = second
            .discount
            .discounted
            .score()
            .expect("discounted")
            .get();
        assert!(left < 0.1, "{left}");
        let reason = second.discount.reason.as_deref().expect("a reason");
        assert!(
            reason.ends_with("after text found in 201 files"),
            "{reason}"
        );
        assert!(reason.contains(" % raw, "), "{reason}");
        // The version keeps a high score, because it also shares text that only these two files
        // have.
        let kept = first.discount.discounted.score().expect("discounted").get();
        assert!(kept > 0.8, "{kept}");
    }
    for row in collection.pairs() {
        let Some(left) = row.discount.discounted.score() else {
            continue;
        };
        assert!(left <= row.score.score().expect("judged"));
    }
    let plain = Collection::pages(9_000).find("/t/page-0.html", None);
    assert!(
        plain
            .rows
            .iter()
            .all(|row| row.discount.discounted == Fraction::NONE && row.discount.reason.is_none()),
        "ten files are no crowd"
    );
}
