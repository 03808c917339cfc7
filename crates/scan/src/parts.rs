//! Takes files apart: extracts texts and members, and digests them like any file.
//!
//! The bytes of a document say little about its text, and the bytes of an archive say nothing about
//! its members. So such files are taken apart (by `resemble-extract`, in a separate process). Each
//! part becomes a content like any other: it is digested in the same way, stored once, and found by
//! the same postings. So the rest of the program knows nothing of formats.
//!
//! An archive or a mail also gets two contents for the **whole**: one for all texts in it together,
//! and one for all other parts together. No bytes are read for these contents. A *leaf* is a part
//! without parts of its own. The samples of a whole are the samples of its leaves, cut to a common
//! sampling level. A pass over the joined bytes would keep the same samples, and also samples
//! across two leaves. The order of the leaves affects only the order of the samples. It does not
//! affect the digest of the whole, which is computed from the digests of the leaves. A whole has no
//! chunks, because they would repeat the chunks of the leaves.

use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use resemble_core::date::DocumentDate;
use resemble_core::hash::content::of_set;
use resemble_core::params::SamplingParams;
use resemble_core::sample::Sampler;
use resemble_core::{ByteLen, ChunkList, ContentId, ContentKind, Digest, Digester, Params};
pub use resemble_extract::starter::{MOST_WORKERS, refuse as refuse_worker};
pub use resemble_extract::{Converter, Fences, Limits, Skipped};
use resemble_extract::{Extractor, Part, Role, Sink, Workers, starter};
use resemble_index::{ContentRef, NewLook, NewPart, PartRole, SkippedPart};

mod memory;
mod recent;

use memory::Places;
pub use recent::RecentParts;

/// The number of bytes at the beginning of a file from which its format is recognised.
pub const HEAD: usize = resemble_extract::HEAD;

pub use resemble_extract::may_hold_files;

/// The maximum number of skipped parts that are listed for a file.
const MOST_SKIPPED: usize = 64;

/// Takes files apart. Several threads can use it.
pub trait PartReader: fmt::Debug + Send + Sync {
    /// Returns whether a file with this name and these first bytes (up to [`HEAD`]) can be taken
    /// apart. If `file` is `None` and the decision needs the rest of the file, returns true. This
    /// method is called for every file that is read, so it must be cheap.
    fn applies(&self, name: &[u8], head: &[u8], file: Option<BorrowedFd<'_>>) -> bool;

    /// Returns whether a file for which [`Self::applies`] returns false can state a date. Such a
    /// file has no parts, so only callers that store dates call this method. It must be cheap, too.
    fn may_state_date(&self, head: &[u8]) -> bool {
        let _ = head;
        false
    }

    /// Returns whether parts or a date can be read from a file.
    fn is_looked_into(&self, name: &[u8], head: &[u8], file: Option<BorrowedFd<'_>>) -> bool {
        self.applies(name, head, file) || self.may_state_date(head)
    }

    /// Takes an open file apart, and returns the skipped parts: see [`Extractor::extract`].
    /// [`Self::is_looked_into`] must return true for the file.
    ///
    /// # Errors
    ///
    /// Fails if nothing of the file is usable.
    fn read_parts(
        &self,
        name: &[u8],
        head: &[u8],
        file: BorrowedFd<'_>,
        sink: &mut dyn Sink,
    ) -> Result<Vec<(Vec<u8>, Skipped)>, Skipped>;

    /// Returns an id of everything that affects the results. If the id changes, all files are taken
    /// apart again.
    fn id(&self) -> String;

    /// Returns whether a file for which [`Self::applies`] returns true is taken apart at once,
    /// without a process. Such a file need not wait in a queue.
    fn is_at_once(&self, name: &[u8], head: &[u8], size: u64) -> bool {
        let _ = (name, head, size);
        false
    }

    /// Returns the maximum number of files that can be taken apart at the same time.
    fn most_at_once(&self) -> usize {
        usize::MAX
    }
}

/// The version of the supported formats. If it changes, all files are taken apart again.
const FORMATS: u32 = 8;

/// The first argument that makes a program of this project run as a worker. A worker takes files
/// apart.
const WORKER: &str = "extract-worker";

/// Takes files apart with the libraries of `resemble-extract`. Each file is read by a worker: a
/// process of the running program.
#[derive(Clone, Debug)]
pub struct Formats {
    extractor: Extractor,
    id: String,
    /// The maximum number of workers that run at the same time.
    most: usize,
    places: Arc<Places>,
}

impl Formats {
    /// Makes a reader with these limits. `converters` are commands for formats that no library
    /// reads.
    pub fn new(limits: Limits, converters: Vec<Converter>) -> Self {
        Self::with(Workers::OfOurs(running_program()), limits, converters)
    }

    /// Makes a reader with these limits whose workers are started by another process: see
    /// [`start_worker`].
    pub fn by_starter(socket: PathBuf, limits: Limits) -> Self {
        Self::with(Workers::Of(socket), limits, Vec::new())
    }

    fn with(workers: Workers, limits: Limits, converters: Vec<Converter>) -> Self {
        let (memory, most) = memory::shared(memory::for_workers(), limits.memory);
        let limits = Limits { memory, ..limits };
        let id = format!("{FORMATS} {limits:?} {converters:?}");
        Self {
            extractor: Extractor::new(workers, limits, converters),
            id,
            most,
            places: Arc::new(Places::new(most)),
        }
    }
}

/// Returns the command that starts the running program as a worker. The command does not contain
/// the path of the program, because an installation can replace the file at that path.
fn running_program() -> Vec<PathBuf> {
    ["/proc/self/exe", WORKER].map(PathBuf::from).into()
}

/// Starts a worker for the peer of this connection: see [`starter::attend`]. The running program
/// must have called [`worker`] at its start.
///
/// # Errors
///
/// Fails if the request or the connection is faulty.
pub fn start_worker(connection: UnixStream) -> io::Result<()> {
    starter::attend(connection, &running_program())
}

impl Formats {
    /// Returns the restrictions under which workers read documents.
    ///
    /// # Errors
    ///
    /// Fails with the reason why no document can be read.
    pub fn fences(&self) -> Result<Fences, Skipped> {
        self.extractor.fences()
    }
}

/// Every program that uses [`Formats`] must call this first. If the program was started as a
/// worker, this function does the work, and returns the status with which the program must end.
pub fn worker() -> Option<ExitCode> {
    let first = std::env::args_os().nth(1);
    first
        .is_some_and(|first| first == WORKER)
        .then(resemble_extract::worker)
}

impl PartReader for Formats {
    fn applies(&self, name: &[u8], head: &[u8], file: Option<BorrowedFd<'_>>) -> bool {
        self.extractor.applies(name, head, file)
    }

    fn may_state_date(&self, head: &[u8]) -> bool {
        self.extractor.may_state_date(head)
    }

    fn read_parts(
        &self,
        name: &[u8],
        head: &[u8],
        file: BorrowedFd<'_>,
        sink: &mut dyn Sink,
    ) -> Result<Vec<(Vec<u8>, Skipped)>, Skipped> {
        match self.extractor.format(name, head) {
            Some(format) => {
                let size = rustix::fs::fstat(file).map_or(0, |stat| stat.st_size);
                let size = u64::try_from(size).unwrap_or(0);
                let takes_place = !self.extractor.is_decoded_here(name, head, size);
                let _held = takes_place.then(|| self.places.take());
                self.extractor.extract(file, format, sink)
            }
            None => Ok(Vec::new()),
        }
    }

    fn id(&self) -> String {
        self.id.clone()
    }

    fn is_at_once(&self, name: &[u8], head: &[u8], size: u64) -> bool {
        self.extractor.is_decoded_here(name, head, size)
    }

    fn most_at_once(&self) -> usize {
        self.most
    }
}

/// A part of a file, digested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigestedPart {
    /// The role of the part.
    pub role: PartRole,
    /// The index of the part that directly contains this part. `None` if the file itself directly
    /// contains it.
    pub parent: Option<u32>,
    /// The name of the part in the part that contains it.
    pub name: Vec<u8>,
    /// The digest of its content. `None` if the part is empty or cannot be stored.
    pub digest: Option<Box<Digest>>,
}

/// The result of taking a file apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DigestedParts {
    /// All parts of the file, including the parts of its parts.
    pub pieces: Vec<DigestedPart>,
    /// The parts that were skipped.
    pub skipped: Vec<SkippedPart>,
    /// The date that the document itself states.
    pub date: Option<DocumentDate>,
    /// True if the worker could not be run. Then the file must be tried again.
    pub again: bool,
    /// The `errno`, if the system lacked the resources to run the worker.
    pub scarce: Option<i32>,
}

impl DigestedParts {
    /// Takes an open file apart and digests its parts.
    pub fn of(
        part_reader: &dyn PartReader,
        name: &[u8],
        head: &[u8],
        file: BorrowedFd<'_>,
        digester: &mut Digester,
        params: &Params,
    ) -> Self {
        let mut collector = Collector {
            digester,
            pieces: Vec::new(),
            under_way: false,
            date: None,
        };
        let outcome = part_reader.read_parts(name, head, file, &mut collector);
        let (mut pieces, mut date) = (collector.pieces, collector.date);
        let skipped = match outcome {
            Ok(skipped) => skipped,
            Err(skipped) => {
                pieces.clear();
                date = None;
                vec![(Vec::new(), skipped)]
            }
        };
        let again = skipped.iter().any(|(_, why)| why.is_of_the_moment());
        let scarce = skipped.iter().find_map(|(_, why)| match why {
            Skipped::NotNow(errno) => Some(*errno),
            _ => None,
        });
        add_wholes(&mut pieces, params);
        Self {
            pieces,
            skipped: skipped_parts(skipped),
            date,
            again,
            scarce,
        }
    }

    /// Converts the parts to a change of the index. `known` returns the id of a content that the
    /// index has.
    pub(crate) fn into_look(self, known: impl Fn(&Digest) -> Option<ContentId>) -> NewLook {
        let parts = self.pieces.into_iter().map(|piece| NewPart {
            role: piece.role,
            parent: piece.parent,
            name: piece.name,
            content: piece.digest.map(|digest| match known(&digest) {
                Some(id) => ContentRef::Known(id),
                None => ContentRef::New(digest),
            }),
        });
        NewLook::Apart {
            parts: parts.collect(),
            skipped: self.skipped,
            date: self.date,
            again: self.again,
        }
    }
}

/// Converts the skipped parts to the form in which they are stored: the first parts, and the number
/// of the others. Parts that were left out on purpose are last.
pub fn skipped_parts(mut skipped: Vec<(Vec<u8>, Skipped)>) -> Vec<SkippedPart> {
    skipped.sort_by_key(|(_, why)| matches!(why, Skipped::LeftOut(_)));
    let more = skipped.len().saturating_sub(MOST_SKIPPED) as u64;
    let named = skipped.into_iter().take(MOST_SKIPPED);
    let named = named.map(|(path, why)| SkippedPart {
        path,
        reason: why.to_string(),
    });
    let more = (more > 0).then(|| SkippedPart::and_more(more));
    named.chain(more).collect()
}

/// Digests the parts while the reader passes their bytes on.
struct Collector<'a> {
    digester: &'a mut Digester,
    pieces: Vec<DigestedPart>,
    under_way: bool,
    date: Option<DocumentDate>,
}

impl Sink for Collector<'_> {
    fn begin(&mut self, part: Part) {
        self.digester.reset();
        self.under_way = true;
        // A parent must be listed before its parts. Otherwise the parents could form a cycle.
        let parent = part
            .parent
            .filter(|&parent| (parent as usize) < self.pieces.len());
        self.pieces.push(DigestedPart {
            role: match part.role {
                Role::Text => PartRole::Text,
                Role::Unpacked => PartRole::Unpacked,
                Role::Member => PartRole::Member,
            },
            parent,
            name: part.name,
            digest: None,
        });
    }

    fn bytes(&mut self, bytes: &[u8]) {
        if self.under_way {
            self.digester.update(bytes);
        }
    }

    fn end(&mut self) {
        if !std::mem::take(&mut self.under_way) {
            return;
        }
        let digest = self.digester.finish();
        if let Some(piece) = self.pieces.last_mut()
            && digest.size > ByteLen::ZERO
        {
            piece.digest = Some(Box::new(digest));
        }
    }

    fn drop_part(&mut self) {
        self.under_way = false;
        self.digester.reset();
    }

    fn date(&mut self, date: DocumentDate) {
        self.date = Some(date);
    }
}

/// Adds the contents for the whole of the file, and of each part that has members: see the module
/// documentation.
fn add_wholes(pieces: &mut Vec<DigestedPart>, params: &Params) {
    // Each part has a slot, and the last slot is for the file itself.
    let file = pieces.len();
    let place = |node: Option<u32>| node.map_or(file, |node| node as usize);
    let mut has_parts = vec![false; file + 1];
    let mut leaves: Vec<Option<Vec<usize>>> = vec![None; file + 1];
    for piece in &*pieces {
        has_parts[place(piece.parent)] = true;
        if piece.role == PartRole::Member {
            leaves[place(piece.parent)] = Some(Vec::new());
        }
    }
    for (at, piece) in pieces.iter().enumerate() {
        if has_parts[at] || piece.digest.is_none() {
            continue;
        }
        let mut node = piece.parent;
        loop {
            if let Some(leaves) = &mut leaves[place(node)] {
                leaves.push(at);
            }
            match node {
                Some(above) => node = pieces[above as usize].parent,
                None => break,
            }
        }
    }
    let mut wholes = Vec::new();
    for (at, leaves) in leaves.into_iter().enumerate() {
        let parent = (at < file).then_some(at as u32);
        for (role, kind, sampling) in [
            (PartRole::WholeText, ContentKind::Text, params.shingles),
            (PartRole::WholeBytes, ContentKind::Binary, params.sampling),
        ] {
            let leaves = leaves.iter().flatten();
            let digests = leaves.filter_map(|&leaf| pieces[leaf].digest.as_deref());
            let is_text = kind == ContentKind::Text;
            let of_kind = digests.filter(|digest| (digest.kind == ContentKind::Text) == is_text);
            let of_kind: Vec<&Digest> = of_kind.collect();
            if !of_kind.is_empty() {
                wholes.push(DigestedPart {
                    role,
                    parent,
                    name: Vec::new(),
                    digest: Some(Box::new(together(&of_kind, kind, sampling))),
                });
            }
        }
    }
    pieces.append(&mut wholes);
}

/// Returns the digest for the whole of these leaves. All leaves must be of one kind.
fn together(leaves: &[&Digest], kind: ContentKind, sampling: SamplingParams) -> Digest {
    let levels = leaves.iter().map(|leaf| leaf.signature.level);
    let level = levels.max().unwrap_or(0).max(sampling.least_level);
    let mut sampler = Sampler::new(&SamplingParams::at(level, sampling.cap));
    for leaf in leaves {
        for &fingerprint in &leaf.signature.fingerprints {
            sampler.push(fingerprint);
        }
    }
    let digests: Vec<_> = leaves.iter().map(|leaf| leaf.content).collect();
    Digest {
        content: of_set(&digests),
        size: leaves.iter().map(|leaf| leaf.size).sum(),
        kind,
        chunks: ChunkList::default(),
        signature: sampler.take(),
        besides: Vec::new(),
        words: None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use resemble_testutil::random::{letters, noise};

    use super::*;

    /// Returns bytes that are different for each seed. A text has no NUL.
    fn made(seed: u64, len: usize, kind: ContentKind) -> Vec<u8> {
        let mut bytes = letters(seed, len);
        if kind == ContentKind::Text {
            bytes.iter_mut().skip(6).step_by(7).for_each(|b| *b = b' ');
        } else {
            bytes = noise(seed, len);
            bytes.iter_mut().take(1).for_each(|b| *b = 0);
        }
        bytes
    }

    fn piece(role: PartRole, parent: Option<u32>, bytes: &[u8]) -> DigestedPart {
        let digest = Digest::of(bytes, &Params::default());
        DigestedPart {
            role,
            parent,
            name: Vec::new(),
            digest: (!bytes.is_empty()).then(|| Box::new(digest)),
        }
    }

    proptest! {
        /// The samples of a whole are the samples of the joined bytes of its leaves, except at the
        /// seams between the leaves.
        #[test]
        fn a_whole_is_sampled_as_if_it_were_read(
            sizes in prop::collection::vec(prop_oneof![1usize..100, 1usize..20_000], 1..8),
            is_text: bool,
        ) {
            let kind = if is_text { ContentKind::Text } else { ContentKind::Binary };
            let params = Params::default();
            let leaves = (1..).zip(&sizes);
            let leaves: Vec<Vec<u8>> = leaves.map(|(n, &len)| made(n, len, kind)).collect();
            let mut pieces: Vec<DigestedPart> = leaves
                .iter()
                .map(|leaf| piece(PartRole::Member, None, leaf))
                .collect();
            add_wholes(&mut pieces, &params);
            prop_assert_eq!(pieces.len(), leaves.len() + 1);
            let whole = pieces.pop().and_then(|piece| piece.digest).expect("a whole");
            let separator = if is_text { &b"\n"[..] } else { &[] };
            let read = Digest::of(&leaves.join(separator), &params);
            let level = whole.signature.level.max(read.signature.level);
            let whole_at: Vec<_> = whole.signature.at_level(level).collect();
            let read_at: Vec<_> = read.signature.at_level(level).collect();
            // A text that is shorter than a shingle is one separate shingle. This shingle is lost
            // when the text is joined with others.
            let is_short = |leaf: &Vec<u8>| {
                is_text && leaf.split(|&byte| byte == b' ').count() < Params::SHINGLE
            };
            let short = leaves.iter().zip(&pieces).filter(|(leaf, _)| is_short(leaf));
            let short: Vec<_> = short
                .filter_map(|(_, piece)| piece.digest.as_ref())
                .flat_map(|digest| digest.signature.at_level(level))
                .collect();
            let is_read = |print| read_at.contains(print) || short.contains(print);
            prop_assert!(whole_at.iter().all(is_read));
            // A sample that is in no leaf lies across a seam. At most 63 windows or 4 shingles lie
            // across a seam, and one in 2^level of them is sampled.
            let seams = (leaves.len() - 1) * if is_text { 4 } else { 63 };
            prop_assert!(read_at.len().saturating_sub(whole_at.len()) <= seams);
            prop_assert!(whole.signature.fingerprints.len() <= params.sampling.cap as usize);
            prop_assert_eq!(whole.size.0, sizes.iter().sum::<usize>() as u64);
        }
    }

    #[test]
    fn wholes_are_of_leaves_in_any_order_and_of_what_has_members() {
        let (a, b) = (
            made(1, 5000, ContentKind::Text),
            made(2, 5000, ContentKind::Text),
        );
        let binary = made(3, 5000, ContentKind::Binary);
        let wholes = |mut pieces: Vec<DigestedPart>| -> Vec<(PartRole, Option<u32>, [u8; 32])> {
            let before = pieces.len();
            add_wholes(&mut pieces, &Params::default());
            let wholes = pieces.split_off(before).into_iter();
            wholes
                .map(|piece| {
                    let digest = piece.digest.expect("a whole holds something");
                    (piece.role, piece.parent, digest.content.0)
                })
                .collect()
        };
        let member = |parent, bytes: &[u8]| piece(PartRole::Member, parent, bytes);
        let zip = wholes(vec![
            member(None, &a),
            member(None, &binary),
            member(None, &b),
        ]);
        let roles: Vec<_> = zip.iter().map(|whole| (whole.0, whole.1)).collect();
        assert_eq!(
            roles,
            [(PartRole::WholeText, None), (PartRole::WholeBytes, None)]
        );
        // A compressed tar with the same members in another order has the same wholes.
        let tar = wholes(vec![
            piece(PartRole::Unpacked, None, &binary),
            member(Some(0), &b),
            member(Some(0), b""),
            member(Some(0), &a),
            member(Some(0), &binary),
        ]);
        let same = |one: &[(PartRole, Option<u32>, [u8; 32])]| -> Vec<[u8; 32]> {
            one.iter().map(|whole| whole.2).collect()
        };
        assert_eq!(same(&zip), same(&tar));
        assert!(tar.iter().all(|whole| whole.1 == Some(0)));
        // A document in an archive is represented by its text, which is a leaf. An archive in an
        // archive has wholes of its own.
        let mail = wholes(vec![
            piece(PartRole::Text, None, &a),
            member(None, &binary),
            member(Some(1), &binary),
            piece(PartRole::Text, Some(2), &b),
        ]);
        assert_eq!(mail.len(), 2);
        assert_eq!(
            mail.iter().map(|whole| whole.1).collect::<Vec<_>>(),
            [Some(1), None]
        );
        assert_eq!(mail[1].2, zip[0].2);
        assert_eq!(wholes(vec![piece(PartRole::Text, None, &a)]), []);
    }
}
