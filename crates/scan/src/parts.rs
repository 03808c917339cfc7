//! Extraction of texts and members of files, which are digested like any file.
//!
//! The bytes of a document say little about its text, those of an archive nothing about its
//! members. So such files are taken apart (`resemble-extract`, in a separate process). Each part is
//! a content like any other: digested in the same way, stored once, found by the same postings. The
//! later steps know nothing of formats.
//!
//! Two more contents represent an archive or a mail as a **whole**: one of all texts in it, and one
//! of all other parts. Nothing is read for them. A *leaf* is a part that has no parts itself.
//! Samples nest, so the sample of all leaves is the union of their samples, cut to a common level.
//! It has the windows that one pass over all bytes would have kept, except those across the seams.
//! The order of the leaves affects only the order of the sample. It does not affect the name of a
//! whole, which derives from the leaves' digests. A whole has no chunks, which would repeat those
//! of its leaves.

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

/// The number of bytes at the beginning of a file by which its format is recognised.
pub const HEAD: usize = resemble_extract::HEAD;

pub use resemble_extract::may_hold_files;

/// The maximum number of skipped parts listed per file.
const MOST_SKIPPED: usize = 64;

/// Takes files apart. It may be used by several threads.
pub trait PartReader: fmt::Debug + Send + Sync {
    /// Returns whether a file with this name and these first bytes (up to [`HEAD`]) can be taken
    /// apart. If `file` is `None`, returns true as well if only the rest of the file can decide.
    /// Must be cheap, since it is called for every file that is read.
    fn applies(&self, name: &[u8], head: &[u8], file: Option<BorrowedFd<'_>>) -> bool;

    /// Returns whether a file to which [`Self::applies`] returns false may state a date. It has no
    /// parts, so only callers that store dates call this. Must be cheap, too.
    fn may_state_date(&self, head: &[u8]) -> bool {
        let _ = head;
        false
    }

    /// Returns whether parts or a date may be read from a file.
    fn is_looked_into(&self, name: &[u8], head: &[u8], file: Option<BorrowedFd<'_>>) -> bool {
        self.applies(name, head, file) || self.may_state_date(head)
    }

    /// Takes apart an open file that [is looked into](Self::is_looked_into); see
    /// [`Extractor::extract`].
    ///
    /// # Errors
    ///
    /// If nothing of the file is usable.
    fn read_parts(
        &self,
        name: &[u8],
        head: &[u8],
        file: BorrowedFd<'_>,
        sink: &mut dyn Sink,
    ) -> Result<Vec<(Vec<u8>, Skipped)>, Skipped>;

    /// Returns an id of everything that affects the result. A new id means that files are taken
    /// apart anew.
    fn id(&self) -> String;

    /// Returns whether a file of this size that [`Self::applies`] to is taken apart immediately,
    /// without a process. Such a file needs no turn.
    fn is_at_once(&self, name: &[u8], head: &[u8], size: u64) -> bool {
        let _ = (name, head, size);
        false
    }

    /// Returns how many files may be taken apart at the same time.
    fn most_at_once(&self) -> usize {
        usize::MAX
    }
}

/// The version of the supported formats. If it changes, files are taken apart anew.
const FORMATS: u32 = 6;

/// The first argument of a program of this project that runs as the worker that reads formats.
const WORKER: &str = "extract-worker";

/// Takes files apart with the libraries of `resemble-extract`, in processes of the running program.
#[derive(Clone, Debug)]
pub struct Formats {
    extractor: Extractor,
    id: String,
    /// The maximum number of workers at the same time.
    most: usize,
    places: Arc<Places>,
}

impl Formats {
    /// Returns a reader with these limits, and these commands for formats without a library.
    pub fn new(limits: Limits, converters: Vec<Converter>) -> Self {
        Self::with(Workers::OfOurs(running_program()), limits, converters)
    }

    /// Returns a reader with these limits that uses the workers of another process: see
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

/// Returns the command of the running program, to start it as a worker. Its path is not used: an
/// installation may replace the file.
fn running_program() -> Vec<PathBuf> {
    ["/proc/self/exe", WORKER].map(PathBuf::from).into()
}

/// Starts a worker for the peer of this connection: see [`starter::attend`]. The running program
/// must call [`worker`] first.
///
/// # Errors
///
/// If the request or the connection is faulty.
pub fn start_worker(connection: UnixStream) -> io::Result<()> {
    starter::attend(connection, &running_program())
}

impl Formats {
    /// Returns the restrictions of the processes that read documents.
    ///
    /// # Errors
    ///
    /// The reason why no document can be read.
    pub fn fences(&self) -> Result<Fences, Skipped> {
        self.extractor.fences()
    }
}

/// Must be called first by every program that uses [`Formats`]. If the program was started as the
/// worker, it does that work and ends with this status.
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

/// A part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigestedPart {
    /// Its role.
    pub role: PartRole,
    /// The position of the part that directly contains it; `None` if that is the file itself.
    pub parent: Option<u32>,
    /// Its name in the part that contains it.
    pub name: Vec<u8>,
    /// Its content; `None` if it is empty or cannot be stored.
    pub digest: Option<Box<Digest>>,
}

/// The parts of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DigestedParts {
    /// The parts of the file, and the parts of these.
    pub pieces: Vec<DigestedPart>,
    /// The skipped parts.
    pub skipped: Vec<SkippedPart>,
    /// The date that the document itself states.
    pub date: Option<DocumentDate>,
    /// True if the extracting program could not be run, so that another attempt is needed.
    pub again: bool,
    /// The error number, if the system lacked the resources to run that program.
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

    /// Returns the parts as a change of the index. `known` looks up contents that the index has.
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

/// Returns the skipped parts as they are stored: the first ones, and the number of the others.
/// Parts left out on purpose come last.
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

/// Digests parts as the reader passes them on.
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
        // A part must follow its parent, or the parents could form a cycle.
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

/// Adds the wholes of the file and of every part that has members: see the head of this module.
fn add_wholes(pieces: &mut Vec<DigestedPart>, params: &Params) {
    // Each part has a slot, and the last slot is that of the file itself.
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

/// Returns the digest of the leaves of one kind as a whole.
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

    /// Returns distinct bytes for each seed, without NUL for a text.
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
        /// The sample of a whole is that of its leaves' concatenated bytes, except for the seams.
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
            // A text shorter than a shingle has one shingle of its own, which it loses when it is
            // joined with other texts.
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
            // Samples that are in no leaf lie across a seam. A seam has at most 63 windows or 4
            // shingles, of which one in 2^level is sampled.
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
        // A packed tar with the same members, in another order, has the same wholes.
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
        // The text of a document represents it as a leaf. An archive in an archive has wholes of
        // its own.
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
