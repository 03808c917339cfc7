//! Phase 4: selects the pairs that a policy links, and forms clusters from these links.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};

use resemble_core::ContentDigest;
use resemble_core::cluster::UnionFind;
use resemble_methods::judged::Overlap;
use resemble_methods::shingle::{Estimate, Estimates, Sample, estimates, of_overlap};
use resemble_methods::{MethodSignature, Scheme};
use resemble_relate::sort::{Merge, Record, Sorter};

use super::ClusterPlan;
use super::files::{PhaseFile, RecordReader, damaged, results_header};
use super::records::{DocumentRecord, IdPair, IgnoredShingle, ShingleEntry, Triple};
use super::sketches::Sketches;
use crate::error::{LabError, PhaseError};

/// The conditions under which two documents are linked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// The least resemblance of a link. If it is 0, all documents that have anything in common are
    /// linked. Then the resemblance of documents with a common super shingle is not checked.
    pub resemblance: f64,
    /// Documents are also linked if the containment of one in the other is at least this value. It
    /// is `None` if containment makes no links.
    pub containment: Option<f64>,
    /// True if all documents with a common super shingle are linked with each other. Otherwise one
    /// of these documents is linked with each of the others. The clusters are the same, but a
    /// user's rules may need every pair.
    pub every: bool,
}

impl Policy {
    /// The policy of the paper: a resemblance of at least 50 %.
    pub const PAPER: Self = Self {
        resemblance: 0.5,
        containment: None,
        every: false,
    };

    fn accepts(&self, estimates: &Estimates) -> bool {
        let reaches = |estimate: &Estimate, least: f64| {
            let value = estimate.value.value();
            value.is_some_and(|value| value > 0.0 && value >= least)
        };
        let contained = |least: f64| {
            [&estimates.a_in_b, &estimates.b_in_a]
                .into_iter()
                .flatten()
                .any(|estimate| reaches(estimate, least))
        };
        reaches(&estimates.resemblance, self.resemblance) || self.containment.is_some_and(contained)
    }
}

/// Two documents that a policy links. Each of them represents all documents with the same sketch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClusterLink {
    /// The number of the first document.
    pub a: u32,
    /// The number of the second document.
    pub b: u32,
    /// The estimates for the pair (a, b) from the two sketches.
    pub estimates: Estimates,
}

/// The clusters. The value for a document is the least number of a document in the same cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clusters(pub Vec<u32>);

impl Clusters {
    /// Returns the clusters of two or more documents, in the order of their least numbers.
    pub fn sets(&self) -> Vec<Vec<u32>> {
        let mut order: Vec<(u32, u32)> = self.0.iter().copied().zip(0..).collect();
        order.sort_unstable();
        order
            .chunk_by(|a, b| a.0 == b.0)
            .filter(|set| set.len() > 1)
            .map(|set| set.iter().map(|&(_, id)| id).collect())
            .collect()
    }
}

/// The results of phases 1 to 3 in a work folder.
#[derive(Debug)]
pub struct PhaseResults {
    folder: PathBuf,
    plan: ClusterPlan,
    sketches: Sketches,
    classes: Vec<u32>,
    offsets: Vec<u64>,
    /// For each document, the number of its shingles that are not ignored.
    counts: Vec<u32>,
    /// The ignored shingles, ascending.
    ignored: Vec<u64>,
}

impl PhaseResults {
    /// Opens the results of a plan in a folder.
    pub fn open(folder: &Path, plan: &ClusterPlan) -> Result<Self, LabError> {
        let path = PhaseFile::Documents.path(folder);
        if results_header(folder, &plan.id())?.is_none() {
            return Err(damaged(&path, "its files are not of one batch").into());
        }
        let (mut classes, mut offsets, mut counts) = (Vec::new(), Vec::new(), Vec::new());
        let mut rows = RecordReader::new(&path, PhaseFile::Documents)?;
        while let Some(row) = rows.next::<DocumentRecord>()? {
            if row.class as usize > classes.len() {
                return Err(damaged(&path, "the class of a document comes after it").into());
            }
            classes.push(row.class);
            offsets.push(row.at);
            counts.push(row.shingles.saturating_sub(row.ignored));
        }
        let mut results = Self {
            sketches: Sketches::open(&PhaseFile::Sketches.path(folder))?,
            folder: folder.to_owned(),
            plan: plan.clone(),
            classes,
            offsets,
            counts,
            ignored: Vec::new(),
        };
        results.ignored = results
            .ignored()?
            .iter()
            .map(|&(shingle, ..)| shingle)
            .collect();
        Ok(results)
    }

    /// Returns the number of documents.
    pub fn documents(&self) -> u32 {
        self.classes.len() as u32
    }

    /// Returns the number of the first document that has the same sketch, for each document.
    pub fn classes(&self) -> &[u32] {
        &self.classes
    }

    /// Returns the digests of the documents in the order of their numbers.
    pub fn digests(&self) -> Result<Vec<ContentDigest>, LabError> {
        let mut rows = self.reader(PhaseFile::Documents)?;
        let mut all = Vec::with_capacity(self.classes.len());
        while let Some(row) = rows.next::<DocumentRecord>()? {
            all.push(ContentDigest(row.digest));
        }
        Ok(all)
    }

    /// Returns the ignored shingles in ascending order. Each shingle has a count and a document
    /// number. The count is the number of representatives that have the shingle, and the document
    /// is one of these representatives.
    pub fn ignored(&self) -> Result<Vec<(u64, u32, u32)>, LabError> {
        let mut from = self.reader(PhaseFile::Ignored)?;
        let mut all = Vec::new();
        while let Some(one) = from.next::<IgnoredShingle>()? {
            all.push((one.shingle, one.documents, one.id));
        }
        Ok(all)
    }

    /// Returns the most frequent shingles, whether they are ignored or not. The most frequent one
    /// is first. The form is that of [`Self::ignored`].
    pub fn commonest(&self, most: usize) -> Result<Vec<(u64, u32, u32)>, LabError> {
        let mut entries = self.reader(PhaseFile::Shingles)?;
        let mut best = BinaryHeap::new();
        let mut list: Option<(ShingleEntry<5>, u32)> = None;
        loop {
            let entry = entries.next::<ShingleEntry<5>>()?;
            match (&mut list, entry) {
                (Some((first, count)), Some(entry)) if first.shingle == entry.shingle => {
                    *count += 1;
                }
                _ => {
                    if let Some((first, count)) = list.take() {
                        best.push(Reverse((count, Reverse(first.shingle), first.id)));
                        if best.len() > most {
                            best.pop();
                        }
                    }
                    list = entry.map(|entry| (entry, 1));
                }
            }
            if entry.is_none() {
                break;
            }
        }
        let best = best.into_sorted_vec().into_iter();
        Ok(best
            .map(|Reverse((count, Reverse(shingle), id))| (shingle, count, id))
            .collect())
    }

    /// Returns the sizes of the files: documents, sketches, shingles, pairs, ignored shingles.
    pub fn bytes(&self) -> Result<[u64; 5], LabError> {
        let mut bytes = [0; 5];
        for (kind, bytes) in PhaseFile::ALL.into_iter().zip(&mut bytes) {
            *bytes = self.reader(kind)?.header().bytes;
        }
        Ok(bytes)
    }

    fn reader(&self, kind: PhaseFile) -> Result<RecordReader, PhaseError> {
        RecordReader::new(&kind.path(&self.folder), kind)
    }

    /// Returns the estimates for two documents from their sketches, without the ignored shingles.
    pub fn estimates(&self, a: u32, b: u32) -> Result<Estimates, LabError> {
        let (of_a, of_b) = (self.sketch(a)?, self.sketch(b)?);
        let estimates = estimates(self.sample(), &of_a, &of_b, self.in_sketches());
        Ok(estimates.unwrap_or_else(|| of_overlap(Overlap::default())))
    }

    /// Returns the sketch of a document.
    pub fn sketch(&self, id: u32) -> Result<MethodSignature, LabError> {
        Ok(self.sketches.at(self.offsets[id as usize])?)
    }

    /// Passes the digest, the digest of the words, and the size of each document to `take`, in the
    /// order of the documents' numbers.
    pub fn each(
        &self,
        take: &mut dyn FnMut(ContentDigest, [u8; 16], u64) -> Result<(), LabError>,
    ) -> Result<(), LabError> {
        let mut rows = self.reader(PhaseFile::Documents)?;
        while let Some(row) = rows.next::<DocumentRecord>()? {
            take(ContentDigest(row.digest), row.words, row.size)?;
        }
        Ok(())
    }

    /// Returns the ignored shingles that sketches can contain. No sketch contains super shingles,
    /// so the result is empty for super shingles.
    fn in_sketches(&self) -> &[u64] {
        match self.plan.params.scheme {
            Scheme::SuperShingle(_) => &[],
            _ => &self.ignored,
        }
    }

    fn sample(&self) -> Sample {
        match &self.plan.params.scheme {
            Scheme::Shingle(params) => params.sample,
            _ => Sample::Mod(1),
        }
    }

    /// Returns the clusters that a policy makes. `link` receives each link once, in no particular
    /// order.
    pub fn cluster(
        &self,
        policy: &Policy,
        link: &mut dyn FnMut(ClusterLink),
    ) -> Result<Clusters, LabError> {
        let mut sets = UnionFind::new(self.documents());
        let mut take = |found: ClusterLink| {
            sets.union(found.a, found.b);
            link(found);
        };
        match self.plan.params.scheme {
            Scheme::SuperShingle(_) => self.by_lists(policy, &mut take)?,
            _ => self.by_counts(policy, &mut take)?,
        }
        for (id, &class) in (0u32..).zip(&self.classes) {
            sets.union(id, class);
        }
        Ok(Clusters(sets.into_least()))
    }

    /// Returns the clusters of documents with a common super shingle, without checking their
    /// resemblance. Only the lists of super shingles are read.
    pub fn cluster_by_one(&self) -> Result<Clusters, LabError> {
        let mut sets = UnionFind::new(self.documents());
        let mut entries = self.reader(PhaseFile::Shingles)?;
        let (mut first, mut is_common) = (None::<ShingleEntry<8>>, false);
        while let Some(entry) = entries.next::<ShingleEntry<8>>()? {
            self.check(entry.id)?;
            match first.filter(|first| first.shingle == entry.shingle) {
                Some(first) if !is_common => {
                    sets.union(first.id, entry.id);
                }
                Some(_) => {}
                None => {
                    is_common = self.ignored.binary_search(&entry.shingle).is_ok();
                    first = Some(entry);
                }
            }
        }
        for (id, &class) in (0u32..).zip(&self.classes) {
            sets.union(id, class);
        }
        Ok(Clusters(sets.into_least()))
    }

    fn by_counts(
        &self,
        policy: &Policy,
        take: &mut dyn FnMut(ClusterLink),
    ) -> Result<(), LabError> {
        let mut pairs = self.reader(PhaseFile::Pairs)?;
        let is_counted = matches!(self.sample(), Sample::Mod(_));
        while let Some(Triple { a, b, count }) = pairs.next()? {
            self.check(b)?;
            let estimates = if is_counted {
                of_overlap(Overlap {
                    common: u64::from(count.cast_unsigned()),
                    a: self.counts[a as usize].into(),
                    b: self.counts[b as usize].into(),
                })
            } else {
                self.estimates(a, b)?
            };
            if policy.accepts(&estimates) {
                take(ClusterLink { a, b, estimates });
            }
        }
        Ok(())
    }

    /// Checks that a document with this number exists. For a pair, the caller passes the greater
    /// number.
    fn check(&self, id: u32) -> Result<(), PhaseError> {
        if id < self.documents() {
            Ok(())
        } else {
            Err(damaged(
                &PhaseFile::Pairs.path(&self.folder),
                "the number of a document is too high",
            ))
        }
    }

    /// Clusters by super shingles, as in the paper: "Any documents that share a super shingle
    /// resemble each other are added into the cluster. (If we want a higher threshold we can
    /// compute their actual resemblance.)"
    fn by_lists(&self, policy: &Policy, take: &mut dyn FnMut(ClusterLink)) -> Result<(), LabError> {
        let room = Some((self.plan.memory / 2).max(1 << 14));
        let mut sorter = Sorter::<IdPair>::new(room, &self.folder)?;
        let mut entries = self.reader(PhaseFile::Shingles)?;
        let every = policy.every || policy.resemblance > 0.0;
        let digests = if every { Vec::new() } else { self.digests()? };
        let (mut list, mut shingle) = (Vec::<u32>::new(), None);
        loop {
            let entry = entries.next::<ShingleEntry<8>>()?;
            if shingle != entry.map(|entry| entry.shingle) {
                let is_common = shingle.is_some_and(|one| self.ignored.binary_search(&one).is_ok());
                if every && !is_common {
                    for (at, &b) in list.iter().enumerate() {
                        for &a in &list[..at] {
                            sorter.push(IdPair { a, b })?;
                        }
                    }
                } else if !is_common {
                    // All documents of a list are linked with one of them. This one is chosen by
                    // its digest, because the answer must not depend on the documents' numbers.
                    let first = list.iter().copied().min_by_key(|&id| digests[id as usize]);
                    for (&id, first) in list.iter().zip(first.into_iter().cycle()) {
                        if id != first {
                            let (a, b) = (id.min(first), id.max(first));
                            sorter.push(IdPair { a, b })?;
                        }
                    }
                }
                list.clear();
                shingle = entry.map(|entry| entry.shingle);
            }
            let Some(entry) = entry else { break };
            self.check(entry.id)?;
            list.push(entry.id);
        }
        let mut merge = Merge::new(sorter.finish()?, room, &self.folder)?;
        // Super shingles do not show containment, so the policy's containment is ignored.
        let policy = Policy {
            containment: None,
            ..*policy
        };
        let check = policy.resemblance > 0.0;
        while let Some(IdPair { a, b }) = merge.next()? {
            let estimates = self.estimates(a, b)?;
            if !check || policy.accepts(&estimates) {
                take(ClusterLink { a, b, estimates });
            }
        }
        Ok(())
    }
}

/// The size of a record of phase 2, and that of a record of phase 3, for reports.
pub const RECORD_BYTES: (usize, usize) = (ShingleEntry::<5>::BYTES, Triple::BYTES);
