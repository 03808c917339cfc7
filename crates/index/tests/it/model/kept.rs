//! Cached answers. An answer is valid until a commit touches something that the answer depends on.

use resemble_index::Footprint;

use super::*;

/// A question to a snapshot. No question reads a file's stat, because a footprint does not have it.
#[derive(Clone, Debug)]
enum Question {
    Content(ContentId),
    Path(PathBuf),
    Postings(PostingKind, u64, u32),
    Count(PostingKind, u64),
}

impl Question {
    fn all(model: &Model, snapshot: &Snapshot) -> Vec<Self> {
        let known = |n| snapshot.content_by_digest(&digest(n).content).unwrap();
        let contents = (0..CONTENTS).filter_map(known).map(Self::Content);
        let paths = model.tree.keys().cloned().map(Self::Path);
        let mut all: Vec<Self> = contents.chain(paths).collect();
        for kind in PostingKind::ALL {
            for n in 0..KEYS {
                let key = match kind {
                    PostingKind::Chunk => made::chunk_key(n as u32),
                    PostingKind::Fingerprint => n,
                };
                let limits = [1, LIMIT, LIMIT + 1, u32::MAX];
                all.extend(limits.map(|most| Self::Postings(kind, key, most)));
                all.push(Self::Count(kind, key));
            }
        }
        all
    }

    fn answer(&self, snapshot: &Snapshot) -> String {
        let content_of = |id| {
            let row = snapshot.content(id).unwrap();
            let files = snapshot.files_of(id).unwrap();
            let names: Vec<_> = files.iter().map(|&file| snapshot.paths(file)).collect();
            let parts = (snapshot.parts(id).unwrap(), snapshot.part(id, 0).unwrap());
            let skipped = snapshot.skipped_parts(id).unwrap();
            let lists = (snapshot.chunks(id), snapshot.signature(id));
            let around = snapshot.part_of(id).unwrap();
            format!("{row:?} {names:?} {parts:?} {skipped:?} {lists:?} {around:?}")
        };
        match self {
            Self::Content(id) => content_of(*id),
            Self::Path(path) => {
                let row = snapshot.file_at(path).unwrap();
                let content = row.and_then(|row| row.state.content());
                format!("{:?}", content.map(content_of))
            }
            Self::Postings(kind, key, most) => {
                let mut found: Vec<ContentId> = Vec::new();
                snapshot
                    .postings_up_to(*kind, &[*key], *most, &mut |_, list| found.extend(list))
                    .unwrap();
                format!("{found:?} {:?}", snapshot.is_boilerplate(*kind, *key))
            }
            Self::Count(kind, key) => format!("{:?}", snapshot.boilerplate_count(*kind, *key)),
        }
    }
}

/// The answers, each with its question and its footprint.
#[derive(Default)]
pub(super) struct KeptAnswers(Vec<(Question, String, Footprint)>);

impl KeptAnswers {
    /// Checks that every valid answer equals the present answer, and drops the other answers. Then
    /// asks all questions again.
    pub(super) fn compare(&mut self, index: &Index, model: &Model) {
        let now = index.snapshot().unwrap();
        self.0.retain_mut(|(question, answer, footprint)| {
            let stands = now.is_untouched(footprint);
            if stands {
                assert_eq!(*answer, question.answer(&now), "{question:?}");
            }
            stands
        });
        for question in Question::all(model, &now) {
            let noting = index.snapshot().unwrap().noting();
            let answer = question.answer(&noting);
            let footprint = noting.footprint();
            self.0
                .extend(footprint.map(|footprint| (question, answer, footprint)));
        }
        let most = self.0.len().saturating_sub(1000);
        self.0.drain(..most);
    }
}
