//! Stores changed documents whose texts are not known yet.
//!
//! A document is judged by its text, whose extraction may take an hour. The baseline of the
//! document is stored until its text is known. The [`Burst`] of files that changed together with
//! the document is stored, too, even after that burst has ended.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use resemble_core::ContentId;

use super::baselines::Burst;
use super::batching::{Due, MOST_WAITING};

/// The documents that wait for their texts.
#[derive(Debug, Default)]
pub(super) struct Documents {
    waiting: BTreeMap<Arc<Path>, (ContentId, Due)>,
    /// The files that changed together with each document. [`Self::burst_of`] removes them when the
    /// document is assessed.
    bursts: BTreeMap<Arc<Path>, Arc<Burst>>,
}

impl Documents {
    /// Stores a document that is due for its assessment but has no text yet.
    pub(super) fn wait(&mut self, due: Due, content: ContentId, burst: Arc<Burst>) {
        if self.waiting.len() >= MOST_WAITING {
            tracing::warn!(path = ?due.path, "too many documents wait: not looked at for alerts");
            return;
        }
        self.bursts.insert(Arc::clone(&due.path), burst);
        self.waiting.insert(Arc::clone(&due.path), (content, due));
    }

    /// Returns whether no document waits.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Removes and returns the documents whose texts are known by now.
    pub(super) fn take_known(&mut self, is_known: &dyn Fn(ContentId) -> bool) -> Vec<Due> {
        let known = self.waiting.iter();
        let known = known.filter(|(_, (content, _))| is_known(*content));
        let known: Vec<Arc<Path>> = known.map(|(path, _)| Arc::clone(path)).collect();
        let taken = known.iter().filter_map(|path| self.waiting.remove(path));
        taken.map(|(_, due)| due).collect()
    }

    /// Removes and returns the document at this path, if it waits. The document has changed again.
    pub(super) fn take(&mut self, path: &Path) -> Option<Due> {
        self.bursts.remove(path);
        self.waiting.remove(path).map(|(_, due)| due)
    }

    /// Removes and returns the burst in which a document changed, if the document waited for its
    /// text.
    pub(super) fn burst_of(&mut self, path: &Path) -> Option<Arc<Burst>> {
        self.bursts.remove(path)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::super::baselines::Baseline;
    use super::super::batching::Batching;
    use super::*;

    #[test]
    fn a_document_waits_with_what_came_together_with_it() {
        let (now, mut batching) = (Instant::now(), Batching::default());
        let paths = ["/r/a", "/r/b", "/r/c"].map(Path::new);
        for path in paths {
            batching.read(path, Baseline::default(), now);
        }
        let mut burst = Burst::default();
        burst.add(paths[0], None, now);
        let burst = Arc::new(burst);
        let mut documents = Documents::default();
        for (due, content) in batching.due(now, true, 3).into_iter().zip(1..) {
            documents.wait(due, ContentId(content), Arc::clone(&burst));
        }
        assert_eq!(batching.waiting(), 0);
        let known = documents.take_known(&|content| content == ContentId(2));
        let [due] = &known[..] else {
            panic!("one is known: {known:?}");
        };
        assert_eq!(&*due.path, paths[1]);
        let together = documents.burst_of(paths[1]).expect("its burst");
        assert!(together.contains(paths[0]));
        // A document that changes again waits as if it were new, in another burst, but with its
        // first baseline.
        let changed = documents.take(paths[0]).expect("it waited");
        batching.put_back(changed, now);
        assert!(batching.read_again(paths[0], now));
        assert!(documents.burst_of(paths[0]).is_none());
        assert_eq!(documents.take_known(&|_| true).len(), 1);
        assert!(documents.take_known(&|_| true).is_empty());
    }
}
