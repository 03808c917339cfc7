//! `answer` is the single entry point for all questions. It returns the same as the function of
//! each question, and ends as soon as the receiver stops.

use std::fmt::Debug;
use std::ops::ControlFlow;
use std::path::PathBuf;

use resemble_core::{Digest, Params};
use resemble_proto::documents::{SimilarDirs, SimilarFiles, SimilarPairs};
use resemble_proto::message::{
    CatalogueForm, CompareOptions, CompareRequest, CoveredRequest, DirsRequest, DumpForm,
    FileDates, FindOptions, FindRequest, GroupsRequest, Header, HolderRow, HoldersRequest, Inode,
    MarkRequest, PairsRequest, Parts, Request, Scope, SoftError, Subject, Whole, WireDigest,
};
use resemble_proto::path::PathText;
use resemble_proto::question::{AnyRow, OrderRequest, Question};
use resemble_query::answer::{Context, Reply, answer};
use resemble_query::find::{self, holders};
use resemble_query::templates::Store;
use resemble_query::{Snapshot, dump};
use resemble_relate::findings::MemoryCache;
use resemble_trees::covered;

use crate::plain;
use crate::scene::Scene;
use resemble_relate::AskError;
use resemble_testutil::random::letters as text;

/// Writes ten texts, each in two versions.
fn two_versions() -> Scene {
    let mut scene = Scene::new();
    for at in 0..10 {
        let old = text(at, 6_000);
        let mut new = old.clone();
        new[3_000..3_010].copy_from_slice(b"0123456789");
        scene.write(&format!("one/{at}.txt"), &old);
        scene.write(&format!("two/{at}.txt"), &new);
    }
    scene.scan();
    scene
}

/// Returns the default question about a subject.
fn find_of(subject: Subject) -> FindRequest {
    FindRequest {
        subject,
        options: FindOptions::default(),
    }
}

/// The scene and everything else from which `answer` answers a question.
struct Asked {
    scene: Scene,
    snapshot: Snapshot,
    found: MemoryCache,
    store: Store,
}

impl Asked {
    fn new() -> Self {
        let scene = two_versions();
        Self {
            snapshot: scene.index.snapshot().expect("a snapshot"),
            found: MemoryCache::default(),
            store: Store::new(scene.temp.root(), &Params::default()),
            scene,
        }
    }

    fn context(&self) -> Context<'_> {
        Context {
            snapshot: self.scene.index.snapshot().expect("a snapshot"),
            roots: vec![self.scene.root()],
            part_reader: None,
            templates: Some(&self.store),
            scratch: self.scene.temp.root(),
            findings: &self.found,
            drafts: Some(&self.found),
        }
    }

    fn path(&self, name: &str) -> PathText {
        PathText::from(self.scene.path(name).as_path())
    }

    fn scope(&self) -> Scope {
        Scope {
            within: vec![PathText::from(self.scene.root().as_path())],
            ..Scope::default()
        }
    }

    fn content(&self, name: &str, inode: Option<Inode>) -> Subject {
        let path = self.scene.path(name);
        let digest = find::read_now(&path, &Params::default()).expect("readable");
        Subject::Content {
            digest: Box::new(WireDigest::from(&digest)),
            name: "asked".into(),
            inode,
            others: Vec::new(),
            held: Vec::new(),
            path: Some(PathText::from(path)),
            bytes: None,
            dates: FileDates::default(),
        }
    }

    /// Returns requests of most kinds.
    fn requests(&self) -> Vec<Request> {
        let digest = find::read_now(&self.scene.path("one/1.txt"), &Params::default());
        let groups = GroupsRequest {
            scope: self.scope(),
            ..GroupsRequest::default()
        };
        vec![
            find_of(Subject::File(self.path("one/1.txt"))).into_request(),
            HoldersRequest {
                digests: vec![WireDigest::from(&digest.expect("readable"))],
                scope: self.scope(),
                inode: None,
                all: true,
            }
            .into_request(),
            PairsRequest {
                scope: self.scope(),
                ..PairsRequest::default()
            }
            .into_request(),
            CompareRequest {
                a: self.path("one"),
                b: self.path("two"),
                options: CompareOptions::default(),
            }
            .into_request(),
            CoveredRequest {
                dir: self.path("one"),
                by: vec![self.path("two")],
                by_digest: false,
                memory: None,
            }
            .into_request(),
            DirsRequest {
                scope: self.scope(),
                ..DirsRequest::default()
            }
            .into_request(),
            groups.clone().into_request(),
            OrderRequest(groups).into_request(),
            MarkRequest {
                files: vec![self.path("one/1.txt"), self.path("two/1.txt")],
                ..MarkRequest::default()
            }
            .into_request(),
            Request::Dump {
                roots: vec![PathText::from(self.scene.root().as_path())],
            },
        ]
    }
}

/// A receiver that takes `left` lines and then stops.
struct Taker {
    left: usize,
    headers: Vec<Header>,
    rows: Vec<AnyRow>,
    errors: Vec<SoftError>,
    bytes: Vec<u8>,
}

impl Taker {
    const fn new(left: usize) -> Self {
        Self {
            left,
            headers: Vec::new(),
            rows: Vec::new(),
            errors: Vec::new(),
            bytes: Vec::new(),
        }
    }

    fn take(&mut self) -> ControlFlow<()> {
        assert!(self.left > 0, "a line for somebody who wants no more");
        self.left -= 1;
        if self.left == 0 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn into_whole<Q: Question>(self) -> Whole<Q::Body> {
        let mut whole = Whole::<Q::Body>::fresh();
        whole.header = self.headers[0].clone();
        for row in self.rows {
            whole
                .body
                .add(Q::part(row).expect("a row of this question"));
        }
        whole.errors = self.errors;
        whole
    }
}

impl Reply for Taker {
    fn header(&mut self, header: Header) -> ControlFlow<()> {
        assert!(self.rows.is_empty() && self.bytes.is_empty() && self.headers.is_empty());
        self.headers.push(header);
        self.take()
    }

    fn row(&mut self, row: AnyRow) -> ControlFlow<()> {
        assert!(self.errors.is_empty(), "rows come before errors");
        self.rows.push(row);
        self.take()
    }

    fn error(&mut self, error: SoftError) -> ControlFlow<()> {
        self.errors.push(error);
        self.take()
    }

    fn piece(&mut self, piece: &[u8]) -> ControlFlow<()> {
        self.bytes.extend_from_slice(piece);
        self.take()
    }
}

#[track_caller]
fn same<Q: Question>(asked: &Asked, question: Q, expected: &Whole<Q::Body>)
where
    Q::Body: Debug + PartialEq,
{
    let mut taker = Taker::new(usize::MAX);
    answer(&asked.context(), question.into_request(), &mut taker).expect("an answer");
    assert_eq!(&taker.into_whole::<Q>(), expected);
}

#[test]
fn the_rows_are_those_of_the_question() {
    let asked = Asked::new();
    let (snapshot, scratch) = (&asked.snapshot, asked.scene.temp.root());
    let path = asked.scene.path("one/1.txt");
    let subject = find::Subject::remembered(snapshot, &path);
    let subject = subject.expect("read").expect("indexed");
    let find = find_of(Subject::File(asked.path("one/1.txt")));
    let found = find::find(snapshot, &subject, &asked.path("one/1.txt"), &find.options);
    let found = Whole::<SimilarFiles>::from_answer(found.expect("an answer"));
    assert_eq!(found.body.results.len(), 1);
    same(&asked, find, &found);
    for request in asked.requests() {
        match request {
            Request::Holders(request) => {
                let digest = Digest::try_from(&request.digests[0]).expect("a digest");
                let (scope, roots) = (&request.scope, [asked.scene.root()]);
                let rows =
                    holders::candidates(snapshot, &[digest], None, scope, &roots, request.all);
                let whole = Whole::<Vec<HolderRow>>::from_answer(rows.expect("an answer"));
                assert_eq!(whole.body.len(), 20);
                same(&asked, request, &whole);
            }
            Request::Pairs(request) => {
                let rows = plain::pairs(snapshot, &request).expect("pairs");
                let whole = Whole::<SimilarPairs>::from_answer(rows);
                assert_eq!(whole.body.pairs.len(), 10);
                same(&asked, request, &whole);
            }
            Request::Compare(request) => {
                let whole = plain::compare(snapshot, &request, &asked.found).expect("an answer");
                assert_eq!(whole.body.entries.len(), 10);
                same(&asked, request, &whole);
            }
            Request::Covered(request) => {
                let whole = covered::covered(snapshot, &request, None).expect("an answer");
                same(&asked, request, &whole);
            }
            Request::Dirs(request) => {
                let rows = plain::dirs(snapshot, &request, scratch).expect("dirs");
                let whole = Whole::<SimilarDirs>::from_answer(rows);
                assert_eq!(whole.body.pairs.len(), 1);
                same(&asked, request, &whole);
            }
            Request::Groups(request) => {
                let whole = plain::groups(snapshot, &request, scratch).expect("groups");
                assert_eq!(whole.body.clusters.len(), 10);
                same(&asked, request, &whole);
            }
            Request::Order(request) => {
                let rows = plain::order(snapshot, &request, scratch).expect("an order");
                assert_eq!(rows.rows.len(), 20);
                same(&asked, OrderRequest(request), &Whole::from_answer(rows));
            }
            Request::Dump { roots } => {
                let paths: Vec<PathBuf> = roots.iter().map(|r| r.as_path().to_owned()).collect();
                let mut expected = Vec::new();
                dump::dump(snapshot, &paths, &mut |line| {
                    expected.extend_from_slice(line.as_bytes());
                    expected.push(b'\n');
                    ControlFlow::Continue(())
                })
                .expect("a dump");
                let mut taker = Taker::new(usize::MAX);
                answer(&asked.context(), Request::Dump { roots }, &mut taker).expect("a dump");
                assert_eq!(taker.bytes, expected);
            }
            _ => {}
        }
    }
}

/// `answer` adds no default scope; the caller does that. So a scope without roots has no files.
#[test]
fn a_dump_of_no_roots_is_empty() {
    let asked = Asked::new();
    let mut taker = Taker::new(usize::MAX);
    let request = Request::Dump { roots: Vec::new() };
    answer(&asked.context(), request, &mut taker).expect("a dump");
    assert_eq!((taker.headers.len(), taker.bytes.len()), (1, 0));
}

#[test]
fn whoever_wants_no_more_hears_no_more() {
    let asked = Asked::new();
    for request in asked.requests() {
        let word = request.word();
        for lines in [1, 2] {
            let mut taker = Taker::new(lines);
            let answered = answer(&asked.context(), request.clone(), &mut taker);
            assert!(
                matches!(answered, Err(AskError::Cancelled)),
                "{word} after {lines}: {answered:?}"
            );
        }
    }
}

#[test]
fn a_subject_that_was_sent_is_compared_like_the_file() {
    let asked = Asked::new();
    let rows = |subject| {
        let mut taker = Taker::new(usize::MAX);
        let request = find_of(subject).into_request();
        answer(&asked.context(), request, &mut taker).expect("an answer");
        let whole = taker.into_whole::<FindRequest>();
        let rows = whole.body.results.into_iter();
        rows.map(|row| (row.path, row.relation, row.a_in_b, row.b_in_a))
            .collect::<Vec<_>>()
    };
    let of_file = rows(Subject::File(asked.path("one/1.txt")));
    let inode = |name: &str| {
        use std::os::unix::fs::MetadataExt;
        let stat = asked.scene.path(name).metadata().expect("a file");
        Some(Inode {
            dev: stat.dev(),
            ino: stat.ino(),
        })
    };
    assert_eq!(
        rows(asked.content("one/1.txt", inode("one/1.txt"))),
        of_file
    );
    // Without an inode, the answer cannot know that the bytes are those of `one/1.txt`. So it lists
    // that file as identical.
    let of_stdin = rows(asked.content("one/1.txt", None));
    assert_eq!(of_stdin.len(), of_file.len() + 1);
    assert_eq!(of_stdin[0].0, asked.path("one/1.txt"));
}

#[test]
fn what_cannot_be_asked_says_why() {
    let asked = Asked::new();
    let refused = |request: Request| {
        let mut taker = Taker::new(1);
        let error = answer(&asked.context(), request, &mut taker).expect_err("no answer");
        assert_eq!(taker.left, 1, "it had begun to answer");
        error
    };
    let nowhere = find_of(Subject::File(asked.path("one/none.txt")));
    assert!(matches!(
        refused(nowhere.into_request()),
        AskError::NotIndexed(path) if path == asked.scene.path("one/none.txt")
    ));
    let Subject::Content { mut digest, .. } = asked.content("one/1.txt", None) else {
        unreachable!("a content");
    };
    digest.size += 1;
    let wrong = HoldersRequest {
        digests: vec![*digest],
        scope: asked.scope(),
        inode: None,
        all: false,
    };
    assert!(matches!(
        refused(wrong.into_request()),
        AskError::BadRequest(_)
    ));
    assert!(matches!(refused(Request::Status), AskError::BadRequest(_)));
    let catalogue = Request::DumpAs {
        roots: Vec::new(),
        form: DumpForm::Catalogue(CatalogueForm::default()),
    };
    assert!(matches!(refused(catalogue), AskError::BadRequest(_)));
    let nothing = MarkRequest::default();
    assert!(matches!(
        refused(nothing.into_request()),
        AskError::Refused(_)
    ));
    let nowhere_to_keep = Context {
        templates: None,
        ..asked.context()
    };
    let mark = MarkRequest::default().into_request();
    let error = answer(&nowhere_to_keep, mark, &mut Taker::new(1)).expect_err("no place");
    assert!(error.to_string().contains("--state"), "{error}");
}
