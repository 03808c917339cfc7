//! Generated catalogues for tests.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;

use proptest::prelude::*;
use resemble_core::date::{DateSource, DocumentDate};
use resemble_core::params::SamplingParams;
use resemble_core::{Digest, Params};
use resemble_index::{PartRole, SkippedPart};

use crate::format::{CatalogueRecord, EntryKind, PackedContent, Part};
use crate::read::CATALOGUE;
use crate::records::RecordStream;
use crate::{Details, Head, Samples, Totals};

/// The entry at a path of a generated tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Made {
    Dir,
    /// The numbers of an inode and a content, and a time.
    File(u8, u8, i64),
    Link(u8),
    Unreadable(u8),
}

/// A generated tree, and the parts of its contents. Each part is itself a content.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    pub(crate) names: BTreeMap<Vec<Vec<u8>>, Made>,
    pub(crate) apart: BTreeMap<u8, Vec<u8>>,
    pub(crate) created: i64,
}

impl Tree {
    /// Makes the tree consistent: every name is in a directory, and all names of an inode have the
    /// same content and time.
    pub(crate) fn sound(self) -> Self {
        let mut names = BTreeMap::from([(Vec::new(), Made::Dir)]);
        let mut inodes = HashMap::new();
        for (path, made) in self.names {
            let mut above = (1..path.len()).map(|depth| path[..depth].to_vec());
            let is_in_directories =
                above.all(|dir| *names.entry(dir).or_insert(Made::Dir) == Made::Dir);
            let made = match made {
                Made::File(inode, of, mtime) => {
                    let (of, mtime) = *inodes.entry(inode).or_insert((of, mtime));
                    Made::File(inode, of, mtime)
                }
                made => made,
            };
            if is_in_directories {
                names.insert(path, made);
            }
        }
        Self { names, ..self }
    }
}

pub(crate) fn content(of: u8, samples: Samples) -> Digest {
    let text: Vec<String> = (0..200)
        .map(|n| format!("word{} ", u64::from(of) * 1000 + n * n % 977))
        .collect();
    let mut digest = Digest::of(text.concat().as_bytes(), &Params::default());
    if let Samples::AtMost(most) = samples {
        digest.signature = digest.signature.thinned(&SamplingParams::at(0, most));
    }
    digest
}

/// Returns the bytes of the catalogue that `write` would write for a tree.
pub(crate) fn catalogue(tree: &Tree, samples: Samples) -> Vec<u8> {
    let mut out = Vec::new();
    let mut sink = |piece: &[u8]| {
        out.extend_from_slice(piece);
        ControlFlow::Continue(())
    };
    let mut stream = RecordStream::new(&CATALOGUE, &mut sink);
    stream.record(&CatalogueRecord::Head(Head {
        params: Params::default().to_string(),
        details: Details {
            label: "disk".to_owned(),
            created: tree.created,
            names: true,
            text: true,
            samples,
        },
    }));
    let (mut contents, mut files) = (HashMap::new(), HashMap::new());
    let mut looked = Vec::new();
    let mut totals = Totals::default();
    let mut number = |stream: &mut RecordStream<'_>, of: u8| {
        let next = contents.len() as u32;
        *contents.entry(of).or_insert_with(|| {
            let content = PackedContent::pack(&content(of, samples));
            stream.record(&CatalogueRecord::Content(content));
            next
        })
    };
    let mut paths: Vec<(Vec<u8>, &Made)> = Vec::new();
    paths.extend(
        tree.names
            .iter()
            .map(|(names, made)| (names.join(&b'/'), made)),
    );
    paths.sort_unstable_by(|one, other| one.0.cmp(&other.0));
    for (path, made) in paths {
        let mut file = |of: u16, size: u64, is_read: bool| {
            let next = files.len() as u32;
            *files.entry(of).or_insert_with(|| {
                totals.bytes += size;
                totals.unread += u64::from(!is_read);
                next
            })
        };
        let what = match *made {
            Made::Dir => EntryKind::Dir,
            Made::Link(to) => EntryKind::Symlink(vec![to]),
            Made::Unreadable(inode) => EntryKind::Unreadable {
                file: file(256 + u16::from(inode), u64::from(inode), false),
                size: u64::from(inode),
                errno: 13,
            },
            Made::File(inode, of, mtime) => {
                let own = number(&mut stream, of);
                if let Some(held) = tree.apart.get(&of)
                    && !looked.contains(&of)
                {
                    looked.push(of);
                    let parts = held.iter().map(|held| Part {
                        role: PartRole::Member,
                        parent: None,
                        content: Some(number(&mut stream, *held)),
                        name: vec![b'm', *held],
                    });
                    let parts = parts.collect();
                    let skipped = vec![SkippedPart {
                        path: vec![of],
                        reason: "encrypted".to_owned(),
                    }];
                    let date = of.is_multiple_of(2).then_some(DocumentDate {
                        seconds: i64::from(of),
                        source: DateSource::OfficeModified,
                    });
                    stream.record(&CatalogueRecord::Look {
                        content: own,
                        apart: (!held.is_empty()).then_some((parts, skipped, date)),
                    });
                }
                EntryKind::File {
                    file: file(u16::from(inode), content(of, Samples::All).size.0, true),
                    mtime,
                    content: own,
                }
            }
        };
        stream.record(&CatalogueRecord::Entry { path, what });
    }
    totals.files = files.len() as u64;
    totals.contents = contents.len() as u64;
    stream.record(&CatalogueRecord::End(totals));
    stream.finish();
    out
}

fn made() -> impl Strategy<Value = Made> {
    prop_oneof![
        1 => Just(Made::Dir),
        8 => (0..12u8, 0..16u8, 0..3i64)
            .prop_map(|(inode, of, mtime)| Made::File(inode, of, mtime)),
        1 => any::<u8>().prop_map(Made::Link),
        1 => (0..3u8).prop_map(Made::Unreadable),
    ]
}

pub(crate) fn tree() -> impl Strategy<Value = Tree> {
    let name = prop::sample::select(vec!["a", "b", "a-b", "b.c", "c"]);
    let names = prop::collection::vec(name.prop_map(|name| name.as_bytes().to_vec()), 1..3);
    let held = prop::collection::vec(0..16u8, 0..4);
    (
        prop::collection::btree_map(names, made(), 0..12),
        prop::collection::btree_map(0..16u8, held, 0..5),
        0..3i64,
    )
        .prop_map(|(mut names, apart, created)| {
            names.insert(Vec::new(), Made::Dir);
            Tree {
                names,
                apart,
                created,
            }
        })
}

pub(crate) fn file_of(at: u32, of: u8) -> (Vec<Vec<u8>>, Made) {
    let name = vec![
        format!("d{}", at / 20).into_bytes(),
        format!("f{at:04}").into_bytes(),
    ];
    (name, Made::File(at as u8, of, 1))
}

/// Makes 200 files of 100 contents in ten folders.
pub(crate) fn usual() -> Tree {
    let mut tree = Tree::default();
    tree.names.insert(Vec::new(), Made::Dir);
    for at in 0..200 {
        let (name, made) = file_of(at, (at % 100) as u8);
        tree.names.insert(vec![name[0].clone()], Made::Dir);
        tree.names.insert(name, made);
    }
    tree.apart.insert(7, vec![8, 150, 151]);
    tree.apart.insert(9, Vec::new());
    tree
}
