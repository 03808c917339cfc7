//! The contents of a question, numbered.
//!
//! All computations use a content's **place**: its rank by digest among the contents of files. The
//! contents that are only renditions have the places after these. Ids depend on the order in which
//! files were indexed, so they differ between two indexes of one tree. Digests do not differ. So a
//! tie that is decided "by the lesser place" is decided in the same way everywhere. A few numbers
//! per content, and the path of each file, are in memory with any memory bound.

use std::collections::HashMap;
use std::path::Path;

use resemble_core::hash::content::digest;
use resemble_core::{ByteLen, ContentId};
use resemble_index::varint::put;
use resemble_index::{ContentRow, ReadError, Snapshot};

use crate::renditions::faces::Faces;
use crate::renditions::owners::RenditionOwners;
use crate::renditions::{Rendition, WholeDigest};
use crate::scope::{ScopedFile, ScopedFiles};

/// All contents that can be compared. Only the empty content cannot be compared.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<TableRow>,
    /// The places in the order of the contents' ids. Reading an index in this order is fastest.
    pub by_id: Vec<u32>,
    /// The sum of the sizes of all files.
    pub bytes: u64,
    /// The number of rows that are contents of files. Later rows are only renditions.
    owners: u32,
    /// For each content, the other files that have it as a rendition (the places of their own
    /// contents), and the kind of the rendition.
    stand_ins: HashMap<u32, Vec<(u32, Rendition)>>,
    /// The two wholes of a file: of all its texts, and of all its other parts. The key is the place
    /// of the file's content.
    wholes: HashMap<u32, [Option<WholeDigest>; 2]>,
    /// A digest of the contents and their data.
    name: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct TableRow {
    size: u64,
    id: ContentId,
    /// The index of the content's first file (by path) in [`ScopedFiles::files`].
    first: u32,
    files: u32,
    /// The approximate number of bytes of memory that comparing the content needs.
    weight: u32,
    /// The renditions by which the files of the content are compared.
    faces: Faces,
}

impl Table {
    /// Reads the contents of the scoped files, and their renditions.
    pub fn of(
        snapshot: &Snapshot,
        scoped: &ScopedFiles,
        renditions: &RenditionOwners,
    ) -> Result<Self, ReadError> {
        let mut holders: Vec<(ContentId, u32)> = (0u32..)
            .zip(&scoped.files)
            .map(|(at, file)| (file.content, at))
            .collect();
        holders.sort_unstable();
        let mut table = Self::default();
        let mut rows: Vec<(ContentRow, TableRow)> = Vec::new();
        for files in holders.chunk_by(|a, b| a.0 == b.0) {
            let (id, first) = files[0];
            let Some(row) = snapshot.content(id)? else {
                continue;
            };
            let count = files.len() as u64;
            table.bytes += row.size.0 * count;
            if row.size == ByteLen::ZERO {
                continue;
            }
            let content = TableRow {
                size: row.size.0,
                id,
                first,
                files: files.len() as u32,
                weight: weight(row.fingerprints, row.chunk_runs),
                faces: renditions.faces(id, row.kind),
            };
            rows.push((row, content));
        }
        table.owners = rows.len() as u32;
        table.add_rows(rows);
        table.add_stand_ins(snapshot, scoped, renditions)?;
        let mut by_id: Vec<u32> = (0..table.all()).collect();
        by_id.sort_unstable_by_key(|&place| table.id(place));
        table.by_id = by_id;
        table.know_owners(renditions);
        Ok(table)
    }

    /// Adds the renditions that no file has as its own bytes. They are sorted by digest, as the
    /// contents of files are.
    fn add_stand_ins(
        &mut self,
        snapshot: &Snapshot,
        scoped: &ScopedFiles,
        renditions: &RenditionOwners,
    ) -> Result<(), ReadError> {
        let mut rows = Vec::new();
        for id in renditions.contents() {
            if scoped.has_file_of(id) {
                continue;
            }
            if let Some(row) = snapshot.content(id)? {
                let stand_in = TableRow {
                    size: row.size.0,
                    id,
                    first: u32::MAX,
                    files: 0,
                    weight: weight(row.fingerprints, row.chunk_runs),
                    faces: Faces::of(row.kind, []),
                };
                rows.push((row, stand_in));
            }
        }
        self.add_rows(rows);
        Ok(())
    }

    /// Adds contents, sorted by digest.
    fn add_rows(&mut self, mut rows: Vec<(ContentRow, TableRow)>) {
        rows.sort_unstable_by_key(|(content, _)| content.digest);
        self.rows.reserve_exact(rows.len());
        for (content, row) in rows {
            self.name.extend_from_slice(&content.digest.0);
            self.name.extend([content.kind.number(), content.level]);
            put(&mut self.name, content.size.0);
            put(&mut self.name, u64::from(content.fingerprints));
            put(&mut self.name, content.chunk_runs);
            if row.faces != Faces::of(content.kind, []) {
                self.name.extend(format!("{:?}", row.faces).bytes());
            }
            self.rows.push(row);
        }
        self.name = digest(&self.name).0.to_vec();
    }

    fn know_owners(&mut self, renditions: &RenditionOwners) {
        for place in 0..self.all() {
            let owners = renditions.owners(self.id(place)).iter();
            let owners =
                owners.filter_map(|&(owner, rendition)| Some((self.place(owner)?, rendition)));
            let mut owners: Vec<(u32, Rendition)> = owners.collect();
            owners.sort_unstable();
            if !owners.is_empty() {
                self.stand_ins.insert(place, owners);
            }
        }
        for place in 0..self.file_contents() {
            let wholes = renditions.wholes(self.id(place));
            if wholes.iter().any(Option::is_some) {
                self.wholes.insert(place, wholes);
            }
        }
    }

    /// Writes the part of the comparison's input that is in the table: the contents, and the files
    /// that have them as renditions. Paths are not part of this input.
    pub fn put_name(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.name);
        put(out, u64::from(self.owners));
        for place in self.stand_ins() {
            let owners = &self.stand_ins[&place];
            put(out, u64::from(place));
            put(out, owners.len() as u64);
            for &(owner, rendition) in owners {
                put(out, u64::from(owner));
                out.push(rendition.number());
            }
        }
    }

    /// Returns the number of contents of files, which are the nodes of the network. Their places
    /// come first.
    pub const fn file_contents(&self) -> u32 {
        self.owners
    }

    /// Returns the number of contents, including those that are only renditions.
    pub fn all(&self) -> u32 {
        self.rows.len() as u32
    }

    /// Returns whether a content is that of a file, and is not a rendition of another file.
    pub fn is_plain(&self, place: u32) -> bool {
        place < self.owners && !self.stand_ins.contains_key(&place)
    }

    /// Returns whether two files are compared by these renditions: see [`Faces`].
    pub fn is_compared(&self, one: (u32, Rendition), other: (u32, Rendition)) -> bool {
        if one.0 == other.0 {
            return false;
        }
        if one.1.is_whole() || other.1.is_whole() {
            return one.1 == other.1;
        }
        if one.1 == Rendition::Member || other.1 == Rendition::Member {
            return false;
        }
        let (of_one, of_other) = (self.faces(one.0), self.faces(other.0));
        of_one.meeting(of_other) == (one.1, other.1)
    }

    /// Returns whether one of these renditions is a member because of which its archive is compared
    /// with the other file.
    pub fn is_held(&self, one: (u32, Rendition), other: (u32, Rendition)) -> bool {
        let (of_one, of_other) = (self.faces(one.0), self.faces(other.0));
        one.0 != other.0 && of_one.named_by_member(one.1, of_other, other.1) == Some(true)
    }

    fn faces(&self, owner: u32) -> Faces {
        self.rows[owner as usize].faces
    }

    /// Returns the files that have a content: as their bytes, or as another rendition.
    pub fn owners(&self, place: u32) -> impl Iterator<Item = (u32, Rendition)> {
        let own = (place < self.owners).then_some((place, Rendition::Own));
        let others = self.stand_ins.get(&place).into_iter().flatten();
        own.into_iter().chain(others.copied())
    }

    /// Returns the contents that are renditions of other files, ascending.
    pub fn stand_ins(&self) -> Vec<u32> {
        let mut stand_ins: Vec<u32> = self.stand_ins.keys().copied().collect();
        stand_ins.sort_unstable();
        stand_ins
    }

    /// Returns the two wholes of a file: that of all its texts, and that of all its other parts.
    pub fn wholes(&self, owner: u32) -> [Option<WholeDigest>; 2] {
        self.wholes.get(&owner).copied().unwrap_or_default()
    }

    fn row(&self, place: u32) -> &TableRow {
        &self.rows[place as usize]
    }

    /// Returns the id of the content at a place.
    pub fn id(&self, place: u32) -> ContentId {
        self.row(place).id
    }

    /// Returns the size of the content in bytes.
    pub fn size(&self, place: u32) -> u64 {
        self.row(place).size
    }

    /// Returns the number of files with the content.
    pub fn files(&self, place: u32) -> u32 {
        self.row(place).files
    }

    /// Returns the approximate number of bytes of memory that comparing the content needs.
    pub fn weight(&self, place: u32) -> u64 {
        u64::from(self.row(place).weight)
    }

    /// Returns the first file, by path, among those with this content.
    pub fn first<'m>(&self, scoped: &'m ScopedFiles, place: u32) -> &'m ScopedFile {
        &scoped.files[self.row(place).first as usize]
    }

    /// Returns the rank of the content's first file among all files in the order of paths.
    pub fn rank(&self, place: u32) -> u32 {
        self.row(place).first
    }

    /// Returns the place of the content of the file at `path`. Returns `None` if the question does
    /// not include the file, or if the file is empty.
    pub fn place_of(&self, snapshot: &Snapshot, path: &Path) -> Result<Option<u32>, ReadError> {
        let content = snapshot.file_at(path)?.and_then(|row| row.state.content());
        Ok(content.and_then(|content| self.place(content)))
    }

    /// Returns the place of a content; `None` if the question does not include it.
    pub fn place(&self, content: ContentId) -> Option<u32> {
        let at = self
            .by_id
            .binary_search_by_key(&content, |&place| self.id(place));
        at.ok().map(|at| self.by_id[at])
    }

    /// Returns whether the table has a content.
    pub fn has(&self, content: ContentId) -> bool {
        self.place(content).is_some()
    }
}

/// Returns the memory that a content takes while its block is compared. It is the memory for the
/// content's lists. For each key, it also includes the posting, the place of the posting in the
/// lists, and the overhead of sorting.
fn weight(fingerprints: u32, chunk_runs: u64) -> u32 {
    let keys = u64::from(fingerprints) + chunk_runs;
    let bytes = 300 + 8 * u64::from(fingerprints) + 40 * chunk_runs + 44 * keys;
    u32::try_from(bytes).unwrap_or(u32::MAX)
}
