//! A tree on disk and its index. Tests compare the index with the dump of a fresh scan.

pub(crate) mod fake;

use std::collections::BTreeSet;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use resemble_core::similarity::Templates;
use resemble_core::{ContentId, Digest, Params};
use resemble_index::{FileState, Index, PostingKind, Totals};
use resemble_proto::message::{MarkRequest, Scope, TemplateRow};
use resemble_proto::path::PathText;
use resemble_query::Snapshot;
use resemble_query::dump::dump;
use resemble_query::find::Subject;
use resemble_query::templates::{Store, mark_with_parts};
use resemble_scan::ingest::{
    Ingest, IngestOptions, Observer, Report, RootOptions, Target, Unobserved,
};
use resemble_testutil::TempTree;

/// A tree on disk and its index.
pub(crate) struct Scene {
    pub(crate) temp: TempTree,
    pub(crate) index: Arc<Index>,
    pub(crate) ingest: Ingest,
    /// The marked templates.
    pub(crate) templates: Arc<Templates>,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self::with(|options| options)
    }

    /// Returns an empty tree whose options are changed by `change`. The root's path is already
    /// filled in.
    pub(crate) fn with(change: impl FnOnce(IngestOptions) -> IngestOptions) -> Self {
        let temp = TempTree::new();
        let root = temp.folder("tree");
        let index = Arc::new(Index::in_memory(&Params::default()).expect("an index"));
        let options = change(IngestOptions {
            roots: vec![RootOptions::new(root)],
            ..IngestOptions::default()
        });
        let ingest = Ingest::new(Arc::clone(&index), options);
        Self {
            temp,
            index,
            ingest,
            templates: Arc::default(),
        }
    }

    /// Returns a tree with these files, after a scan.
    pub(crate) fn of<T: AsRef<[u8]>>(files: &[(&str, T)]) -> Self {
        let mut scene = Self::new();
        for (name, bytes) in files {
            scene.write(name, bytes);
        }
        scene.scan();
        scene
    }

    pub(crate) fn with_ignore_rules() -> Self {
        Self::with(|mut options| {
            options.roots[0].ignore = true;
            options
        })
    }

    /// Returns an empty tree in which simulated documents are taken apart.
    pub(crate) fn with_parts() -> Self {
        Self::with(|mut options| {
            options.roots[0].text = true;
            options.part_reader = Some(Arc::new(fake::Fake));
            options
        })
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.temp.path("tree")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    /// Returns the scope of all files of the tree.
    pub(crate) fn scope(&self) -> Scope {
        Scope {
            within: vec![PathText::from(self.root())],
            ..Scope::default()
        }
    }

    /// Returns a snapshot of the index, in which the marked templates are not evidence.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let snapshot = self.index.snapshot().expect("a snapshot");
        snapshot.with_templates(Arc::clone(&self.templates))
    }

    /// Marks the content that these files have in common as a template.
    pub(crate) fn mark(&mut self, files: &[&str]) -> TemplateRow {
        let store = Store::new(&self.temp.path("state"), &Params::default());
        let request = MarkRequest {
            files: files
                .iter()
                .map(|name| PathText::from(self.path(name)))
                .collect(),
            ..MarkRequest::default()
        };
        let files = (&self.snapshot(), None);
        let marked = mark_with_parts(files, &store, &request, self.temp.root());
        self.templates = store.current().0.templates;
        marked.expect("marked")
    }

    /// Returns a file of the tree as the subject of a question.
    pub(crate) fn subject(&self, name: &str) -> Subject {
        let snapshot = self.index.snapshot().expect("a snapshot");
        let subject = Subject::indexed(&snapshot, &self.path(name), snapshot.params());
        subject.expect("readable").expect("indexed")
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        self.temp.write(self.path(name), bytes);
    }

    pub(crate) fn look(&mut self, targets: &[Target]) -> Report {
        self.observed(targets, &mut Unobserved)
    }

    pub(crate) fn observed(&mut self, targets: &[Target], observer: &mut dyn Observer) -> Report {
        self.ingest
            .reconcile(targets, observer)
            .expect("reconciled")
    }

    pub(crate) fn scan(&mut self) -> Report {
        let root = self.root();
        self.look(&[Target::subtree(root)])
    }

    /// Returns another writer of the same index. For this writer, every file has settled.
    pub(crate) fn later(&self) -> Ingest {
        let options = IngestOptions {
            settle_window: Duration::ZERO,
            ..self.ingest.options().clone()
        };
        Ingest::new(Arc::clone(&self.index), options)
    }

    pub(crate) fn dump(&self) -> String {
        dump_of(&self.index, &self.root())
    }

    /// Returns the dump of a new index after a scan of the tree.
    pub(crate) fn fresh_dump(&self) -> String {
        let index = Arc::new(Index::in_memory(&Params::default()).expect("an index"));
        let mut ingest = Ingest::new(Arc::clone(&index), self.ingest.options().clone());
        let root = self.root();
        ingest
            .reconcile(&[Target::subtree(&root)], &mut Unobserved)
            .expect("scanned");
        dump_of(&index, &root)
    }

    #[track_caller]
    pub(crate) fn assert_as_fresh(&self, what: &str) {
        let (live, fresh) = (self.dump(), self.fresh_dump());
        let lines = |of: &str, other: &str| -> String {
            let lines: Vec<&str> = other.lines().collect();
            let only = of.lines().filter(|line| !lines.contains(line));
            only.flat_map(|line| [line, "\n"]).collect()
        };
        assert!(
            live == fresh,
            "{what}: the index differs from a fresh scan\nonly live:\n{}only fresh:\n{}",
            lines(&live, &fresh),
            lines(&fresh, &live)
        );
        let snapshot = self.index.snapshot().expect("a snapshot");
        assert_eq!(snapshot.check().expect("readable"), Vec::<String>::new());
    }

    /// Checks that the postings of all fingerprints of a file name its content. (The check of the
    /// index finds surplus postings.)
    pub(crate) fn assert_posted(&self, name: &str) {
        let bytes = fs::read(self.path(name)).expect("read");
        let digest = Digest::of(&bytes, &Params::default());
        let snapshot = self.index.snapshot().expect("a snapshot");
        let content = snapshot.content_by_digest(&digest.content);
        let content = content.expect("readable").expect("known");
        let keys: BTreeSet<u64> = digest.posted().map(|print| print.0).collect();
        let keys: Vec<u64> = keys.into_iter().collect();
        let mut found = 0;
        let kind = PostingKind::Fingerprint;
        let mut of = |_, contents: &[ContentId]| found += usize::from(contents.contains(&content));
        snapshot.postings(kind, &keys, &mut of).expect("postings");
        assert_eq!(found, keys.len(), "of the fingerprints of {name}");
    }

    /// Returns the number of blocks of fingerprint postings.
    pub(crate) fn fingerprint_blocks(&self) -> u64 {
        let tables = self.index.table_sizes().expect("readable").into_iter();
        let tables = tables.filter(|(name, _)| name.starts_with("fingerprint_postings/"));
        tables.map(|(_, size)| size.rows).sum()
    }

    pub(crate) fn state(&self, name: &str) -> Option<FileState> {
        let snapshot = self.index.snapshot().expect("a snapshot");
        snapshot
            .file_at(&self.path(name))
            .expect("readable")
            .map(|row| row.state)
    }

    pub(crate) fn totals(&self) -> Totals {
        let snapshot = self.index.snapshot().expect("a snapshot");
        snapshot.totals().expect("totals")
    }
}

/// Returns the canonical dump of an index below a root.
pub(crate) fn dump_of(index: &Index, root: &Path) -> String {
    let mut text = String::new();
    dump(
        &index.snapshot().expect("a snapshot"),
        &[root.to_path_buf()],
        &mut |line| {
            text.push_str(&line);
            text.push('\n');
            ControlFlow::Continue(())
        },
    )
    .expect("dumped");
    text
}
