//! Stores the results of scans: two small records per tree, and pools of packed pieces.
//!
//! 1. **Pools are shared.** The pieces of a scan are stored in one pool per thread. The inventories
//!    of both trees name these pools, and also their earlier pools. So a content of both trees is
//!    stored once. If a scan finds ten new files, only the pieces of these ten files are written.
//! 2. **A pool that no inventory names is removed.** This is done in the transaction that drops the
//!    last inventory that names it. One record lists all pools and the inventories that name them.
//!    To list the names in the store instead, all values would have to be read.
//! 3. **Nothing is written if nothing is new.**
//! 4. **The size is bounded.** If the file would exceed its limit, the inventories of other trees
//!    are dropped first. If that is not enough, nothing is stored.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use parking_lot::Mutex;
use resemble_core::Params;
use resemble_core::hash::content::digest;
use resemble_index::{ApplyError, ReadError, Snapshot};
use resemble_proto::message::CompareRequest;
use resemble_relate::renditions::Rendition;
use resemble_relate::scope::Rules;
use serde::{Deserialize, Serialize};

use super::codec::{InventoryHead, decode_files, encode_files};
use super::known::{Inventory, KnownParts, Names, PackedPlace, Where};
use super::scan::Scanned;
use super::{ScannedTrees, TreeCache};
use crate::compare::record::{decode, encode};
use crate::compare::sides::{Content, Side};

/// The maximum number of pools that an inventory names. If an inventory would need more pools, all
/// its pieces are stored in one new pool instead.
const MOST_POOLS: usize = 24;

/// The record that lists all pools and the inventories that name them.
const REGISTER: &str = "catalogue.register";

fn key(root: &Path) -> String {
    digest(root.as_os_str().as_bytes()).to_string()
}

/// Returns the name of the record with the head of a tree's inventory.
pub(super) fn head_name(root: &Path) -> String {
    head_of(&key(root))
}

/// Returns the name of the record with the files of a tree's inventory.
pub(super) fn files_name(root: &Path) -> String {
    files_of(&key(root))
}

fn head_of(key: &str) -> String {
    format!("catalogue.head/{key}")
}

fn files_of(key: &str) -> String {
    format!("catalogue.files/{key}")
}

/// A new record: its name, and the packed pieces in it.
type NewPool<'a> = (String, Cow<'a, [u8]>);

fn pool<'a>(pieces: impl Into<Cow<'a, [u8]>>) -> NewPool<'a> {
    let pieces = pieces.into();
    (format!("catalogue.pieces/{}", digest(&pieces)), pieces)
}

/// Loads the inventory of a tree, and adds its pools and file systems to `names`. An inventory is
/// treated as missing if it cannot be decoded, or was made with other parameters or another part
/// reader.
pub(super) fn load(
    snapshot: &Snapshot,
    (params, formats): (&Params, &str),
    root: &Path,
    names: &Mutex<Names>,
) -> Option<Inventory> {
    let head = snapshot.record(&head_name(root)).ok()??;
    let head = InventoryHead::decode(&head)?;
    if !head.is_of(root, params, formats) {
        return None;
    }
    let files = snapshot.record(&files_name(root)).ok()??;
    let pools: Vec<u32> = {
        let mut names = names.lock();
        head.pools.iter().map(|name| names.pool(name)).collect()
    };
    decode_files(&files, &pools, names)
}

#[derive(Debug, thiserror::Error)]
pub(super) enum CacheError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Apply(#[from] ApplyError),
}

/// The size of each inventory and the names of its pools, by the key of the inventory.
type Inventories = BTreeMap<String, (u64, Vec<String>)>;

/// The content of the record [`REGISTER`]: the size of each pool, and the inventories that name the
/// pools.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Register {
    pools: BTreeMap<String, u64>,
    inventories: Inventories,
}

impl Register {
    /// Returns whether any inventory names a pool.
    fn names(&self, pool: &String) -> bool {
        let mut all = self.inventories.values();
        all.any(|(_, pools)| pools.contains(pool))
    }

    /// Removes the pools that no inventory names, and returns their names.
    fn drop_unnamed(&mut self) -> Vec<String> {
        let all = self.pools.keys();
        let unnamed: Vec<String> = all.filter(|pool| !self.names(pool)).cloned().collect();
        self.pools.retain(|pool, _| !unnamed.contains(pool));
        unnamed
    }

    fn bytes(&self) -> u64 {
        let files = self.inventories.values().map(|(bytes, _)| bytes);
        self.pools.values().chain(files).sum()
    }
}

/// The results of one scan that are to be stored.
pub(super) struct NewInventories<'a> {
    pub(super) tree_cache: &'a TreeCache<'a>,
    pub(super) request: &'a CompareRequest,
    pub(super) scanned: &'a Scanned,
    pub(super) known: &'a [Option<Inventory>; 2],
    pub(super) pieces: &'a ScannedTrees<'a>,
}

/// An encoded inventory that is to be written.
struct Written {
    key: String,
    head: Vec<u8>,
    files: Vec<u8>,
    pools: Vec<String>,
}

impl NewInventories<'_> {
    pub(super) fn store(&self) -> Result<(), CacheError> {
        let roots = [self.request.a.as_path(), self.request.b.as_path()];
        // If some documents could not be taken apart now (`again`), nothing is stored. So the next
        // scan tries them again.
        let news = [0, 1].map(|side| !self.scanned.again && self.is_new(side));
        if news == [false, false] {
            return Ok(());
        }
        let snapshot = self.tree_cache.index.snapshot()?;
        let register = snapshot.record(REGISTER)?;
        let register = register.and_then(|record| decode(&record));
        let mut register: Register = register.unwrap_or_default();
        let file_bytes = snapshot.totals()?.index_bytes;
        drop(snapshot);
        let arenas = self.scanned.arenas.iter();
        let mut pools: Vec<NewPool<'_>> = arenas.map(|arena| pool(&arena[..])).collect();
        let mut written = Vec::new();
        for side in 0..2 {
            if !news[side] || (side == 1 && roots[0] == roots[1]) {
                continue;
            }
            written.extend(self.inventory(side, roots[side], &mut pools));
        }
        let of_files = written.iter().map(|one| one.files.len());
        let of_pools = pools.iter().map(|(_, pieces)| pieces.len());
        let new_bytes = of_files.chain(of_pools).sum::<usize>() as u64;
        let mut records: Vec<(String, Option<Cow<'_, [u8]>>)> = Vec::new();
        if file_bytes + new_bytes > self.tree_cache.cache_bytes {
            let ours = roots.map(key);
            let all = std::mem::take(&mut register.inventories);
            let (ours, others) = all.into_iter().partition(|(key, _)| ours.contains(key));
            register.inventories = ours;
            let others: Inventories = others;
            let names = others.keys().flat_map(|key| [head_of(key), files_of(key)]);
            records.extend(names.map(|name| (name, None)));
        }
        for one in written {
            records.push((head_of(&one.key), Some(one.head.into())));
            let entry = (one.files.len() as u64, one.pools);
            records.push((files_of(&one.key), Some(one.files.into())));
            register.inventories.insert(one.key, entry);
        }
        for (name, pieces) in pools {
            let bytes = pieces.len() as u64;
            if register.names(&name) && register.pools.insert(name.clone(), bytes).is_none() {
                records.push((name, Some(pieces)));
            }
        }
        let unnamed = register.drop_unnamed().into_iter();
        records.extend(unnamed.map(|name| (name, None)));
        if register.bytes() > self.tree_cache.cache_bytes {
            return Ok(());
        }
        records.push((REGISTER.to_owned(), Some(encode(&register).into())));
        let records = records.iter();
        let records: Vec<_> = records
            .map(|(name, record)| (name.as_str(), record.as_deref()))
            .collect();
        Ok(self.tree_cache.index.put_records(&records)?)
    }

    fn side(&self, side: usize) -> &Side {
        [&self.scanned.sides.a, &self.scanned.sides.b][side]
    }

    /// Returns whether the stored inventory is outdated. It is outdated if it lacks a scanned file
    /// or the parts of documents. It is also outdated if it has another stamp for a file, or has a
    /// file that is gone.
    fn is_new(&self, side: usize) -> bool {
        let stamps = &self.scanned.stamps[side];
        let Some(known) = &self.known[side] else {
            return stamps.iter().any(Option::is_some);
        };
        if self.scanned.pending.is_empty() && !known.parts.pending.is_empty() {
            return true;
        }
        let entries = self.side(side).entries.iter().zip(stamps);
        let mut still = 0;
        for (entry, stamp) in entries {
            let Some(stamp) = stamp else { continue };
            match known.files.get(&entry.path) {
                Some(file) if file.stamp == *stamp => still += 1,
                _ => return true,
            }
        }
        !self.is_filtered() && still < known.files.len()
    }

    /// Returns whether the request leaves out files by patterns or by size.
    fn is_filtered(&self) -> bool {
        let scope = &self.request.options.scope;
        !scope.include.is_empty() || !scope.exclude.is_empty() || scope.min_size > 0
    }

    /// Returns the number of a scanned content in `list`. Adds the content and its renditions if
    /// they are not in the list.
    fn listed(&self, list: &mut List, content: u32) -> u32 {
        let of_scan = |content: u32| {
            let at = content as usize;
            (self.scanned.sides.contents[at], self.scanned.places[at])
        };
        let (known, place) = of_scan(content);
        let number = list.number(known, place);
        if self.scanned.pending.contains(&content) {
            list.parts.pending.insert(number);
        }
        if let Some(skipped) = self.scanned.sides.skipped_parts.get(&content) {
            list.parts.skipped.insert(number, skipped.clone());
        }
        let stand_ins = self.scanned.sides.apart.get(&content).into_iter().flatten();
        for &(rendition, of) in stand_ins {
            let (known, place) = of_scan(of);
            let of = list.number(known, place);
            list.add(number, (rendition, of));
        }
        number
    }

    fn inventory(
        &self,
        side: usize,
        root: &Path,
        new_pools: &mut Vec<NewPool<'_>>,
    ) -> Option<Written> {
        let of = self.side(side);
        let mut list = List::default();
        // Each element has the path of a file, its stamp, and the number of its content in `list`.
        let mut files = Vec::new();
        for (entry, stamp) in of.entries.iter().zip(&self.scanned.stamps[side]) {
            if let (Some(stamp), Some(number)) = (stamp, entry.what.content()) {
                files.push((&entry.path, *stamp, self.listed(&mut list, number)));
            }
        }
        if let Some(known) = self.known[side].as_ref().filter(|_| self.is_filtered()) {
            // If this request excludes a file by patterns or by size, the record of an earlier scan
            // is kept.
            let rules = Rules::new(root, &self.request.options.scope).ok()?;
            let seen: BTreeSet<&[u8]> = of.entries.iter().map(|entry| &*entry.path).collect();
            for (path, file) in &known.files {
                let absolute = root.join(std::ffi::OsStr::from_bytes(path));
                let (content, place) = known.contents.get(file.content as usize)?;
                let small = content.size.0 < self.request.options.scope.min_size;
                if !seen.contains(&**path) && (small || !rules.admit(&absolute)) {
                    let number = list.number(*content, *place);
                    if known.parts.pending.contains(&file.content) {
                        list.parts.pending.insert(number);
                    }
                    if let Some(skipped) = known.parts.skipped.get(&file.content) {
                        list.parts.skipped.insert(number, skipped.clone());
                    }
                    let stand_ins = known.parts.apart.get(&file.content).into_iter().flatten();
                    for &(rendition, of) in stand_ins {
                        let &(content, place) = known.contents.get(of as usize)?;
                        let of = list.number(content, place);
                        list.add(number, (rendition, of));
                    }
                    files.push((path, file.stamp, number));
                }
            }
            files.sort_unstable_by(|a, b| a.0.cmp(b.0));
        }
        let mut pools: Vec<String> = Vec::new();
        let mut number = |name: &str| {
            let at = pools.iter().position(|known| known == name);
            at.unwrap_or_else(|| {
                pools.push(name.to_owned());
                pools.len() - 1
            }) as u32
        };
        let mut contents: Vec<(Content, u32, PackedPlace)> =
            Vec::with_capacity(list.contents.len());
        for &(content, place) in &list.contents {
            let name = match place.pool {
                Where::Arena(arena) => &new_pools.get(arena as usize)?.0,
                Where::Pool(pool) => self.scanned.names.pools.get(pool as usize)?,
            };
            contents.push((content, number(name), place));
        }
        if pools.len() > MOST_POOLS {
            let mut all = Vec::new();
            for (_, pool, place) in &mut contents {
                let bytes = self.pieces.bytes(place)?;
                (*pool, place.from) = (0, all.len() as u64);
                all.extend_from_slice(bytes);
            }
            let merged = pool(all);
            pools = vec![merged.0.clone()];
            new_pools.push(merged);
        }
        let file_systems = &self.scanned.names.file_systems;
        let files = files.into_iter();
        let files = files.map(|(path, stamp, content)| (&**path, stamp, content));
        let files = encode_files(file_systems, &contents, &list.parts, files);
        let params = self.tree_cache.index.params();
        let formats = self.tree_cache.formats_for(self.request);
        Some(Written {
            key: key(root),
            head: encode(&InventoryHead::new(root, params, formats, pools.clone())),
            files,
            pools,
        })
    }
}

/// The contents that one inventory lists, each once.
#[derive(Default)]
struct List {
    contents: Vec<(Content, PackedPlace)>,
    numbers: HashMap<resemble_core::ContentDigest, u32>,
    parts: KnownParts,
}

impl List {
    fn number(&mut self, content: Content, place: PackedPlace) -> u32 {
        let next = self.contents.len() as u32;
        let number = *self.numbers.entry(content.digest).or_insert(next);
        if number == next {
            self.contents.push((content, place));
        }
        number
    }

    /// Adds a rendition of the content `of`, unless the list already has it.
    fn add(&mut self, of: u32, stand_in: (Rendition, u32)) {
        let stand_ins = self.parts.apart.entry(of).or_default();
        if !stand_ins.contains(&stand_in) {
            stand_ins.push(stand_in);
        }
    }
}
