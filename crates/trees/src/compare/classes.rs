//! Assigns each file to exactly one class.
//!
//! Each step handles only the files that have no class after the previous steps. If there are
//! several possible partners, they are ranked by score, containment, resemblance and raw path, like
//! all answers. So the result does not depend on the order of discovery.
//!
//! 1. **same**: the files have the same path and equal bytes.
//! 2. **edited**: the files have the same path and different bytes. This is so unless both files
//!    have a better partner of at least 70 % elsewhere, for example because names were swapped or
//!    shifted by one. The better partner shares more of both files, or has equal bytes. A file that
//!    stays with the file at its own path is no partner for others. Otherwise, noisy estimates
//!    would split a family of versions.
//! 3. **moved**: a file elsewhere has equal bytes. Such files are paired by file name, then in the
//!    order of the paths. Surplus files of one side are listed as copies of a file that has its own
//!    row.
//! 4. **moved-edited**: the files are a near pair or have the same text. The best pair is taken
//!    first. So each file is the best remaining partner of the other.
//! 5. **contained**, **contains**: at least 70 % of the file lies in one file of the other side.
//!    That container can have any class. The container has its own row, or is described by the rows
//!    of its parts.
//! 6. **moved-edited** again, for pairs that share content although neither file contains the
//!    other.
//! 7. Perhaps all partners of a file have rows of their own, and none contains the file. Then the
//!    file is listed beside the partner that holds most of it, and is marked as a copy. A file with
//!    a partner never gets one of the last two classes.
//! 8. **only-a**, **only-b**: the file has no partner.

mod joined;
mod links;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use resemble_core::{Measures, Relation, Score};
use resemble_proto::message::{CompareClass, CompareOptions, PairFigures};

pub(super) use self::joined::Joined;
pub(super) use self::links::Known;
pub(super) use self::links::file_name;
use self::links::{Adjacent, inside, least_inside, may_be_partners, rank, suffix};
use super::partners::{Link, Partners};
use super::sides::{Entry, Holders, Sides};

/// A row before it becomes part of the answer. Files are indexes into [`Side::entries`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ClassRow {
    pub(super) class: CompareClass,
    pub(super) a: Option<u32>,
    pub(super) b: Option<u32>,
    /// The measures of the pair. `None` if the contents are equal, or if the row has only one file.
    pub(super) measures: Option<Measures>,
    /// The figures of the answer, which are computed from the measures.
    pub(super) told: PairFigures,
    pub(super) copy: bool,
    /// True if the row is about the file of B. Then its further partners are files of A.
    pub(super) about_b: bool,
}

impl ClassRow {
    /// Returns whether this row is the row of its file on `side`. A row of a pair is the row of
    /// both files. Any other row belongs to one file, and the file beside it may have a row of its
    /// own.
    pub(super) const fn is_about(&self, side: usize) -> bool {
        let of_one = matches!(self.class, CompareClass::Contained | CompareClass::Contains);
        (!self.copy && !of_one) || self.about_b == (side == 1)
    }
}

/// Two files at the same path with unequal contents.
struct Twins<'a> {
    files: [u32; 2],
    contents: [u32; 2],
    link: Option<&'a Link>,
}

/// The files that may become the new partner when a file is separated from the file at its own
/// path.
enum Free<'a> {
    Everybody,
    These(&'a [HashSet<u32>; 2]),
}

impl Free<'_> {
    fn has(&self, side: usize, at: u32) -> bool {
        match self {
            Self::Everybody => true,
            Self::These(files) => files[side].contains(&at),
        }
    }
}

/// The input and the state of the classification.
pub(super) struct Classes<'a> {
    sides: &'a Sides,
    holders: [&'a Holders; 2],
    options: &'a CompareOptions,
    links: &'a [Link],
    /// Indexes into `links`, the link of the best rank first.
    ranked: Vec<u32>,
    by: [Adjacent; 2],
    /// By side and entry: true if the file already has its row.
    settled: [Vec<bool>; 2],
    /// By side and entry: true if the file contains a file of the other side.
    contains: [Vec<bool>; 2],
    rows: Vec<ClassRow>,
}

impl<'a> Classes<'a> {
    pub(super) fn new(
        sides: &'a Sides,
        holders: [&'a Holders; 2],
        options: &'a CompareOptions,
        partners: &'a Partners,
    ) -> Self {
        let links = &partners.links[..];
        let mut ranked: Vec<u32> = (0..links.len() as u32).collect();
        let mut by = [Adjacent::default(), Adjacent::default()];
        let first = |side: usize, content: u32| {
            let held = holders[side].of_content(content).first();
            let entries = &[&sides.a, &sides.b][side].entries;
            held.map(|&at| &*entries[at as usize].path)
        };
        // Equal ranks are ordered by path. The numbers of contents are not in this order in B,
        // because a content on both sides is numbered by its path in A.
        ranked.sort_by(|&x, &y| {
            let (x, y) = (&links[x as usize], &links[y as usize]);
            rank(x, y)
                .then_with(|| first(0, x.a).cmp(&first(0, y.a)))
                .then_with(|| first(1, x.b).cmp(&first(1, y.b)))
        });
        for &at in &ranked {
            let link = &links[at as usize];
            by[0].0.entry(link.a).or_default().push(at);
            by[1].0.entry(link.b).or_default().push(at);
        }
        let flags = || [&sides.a, &sides.b].map(|side| vec![false; side.entries.len()]);
        Self {
            sides,
            holders,
            options,
            links,
            ranked,
            by,
            settled: flags(),
            contains: flags(),
            rows: Vec::new(),
        }
    }

    /// Returns the rows, unordered, and the data in which further partners are looked up.
    pub(super) fn rows(
        mut self,
        joined: &Joined,
        partners: &Partners,
    ) -> (Vec<ClassRow>, Known<'a>) {
        self.same_paths(joined, &partners.twins);
        self.equal_bytes();
        self.pairs(|link| {
            matches!(
                link.told.relation,
                Some(Relation::Near | Relation::SameText)
            )
        });
        self.containers();
        self.pairs(|_| true);
        self.copies();
        self.alone();
        let known = Known {
            sides: self.sides,
            holders: self.holders,
            options: self.options,
            links: self.links,
            by: self.by,
        };
        (self.rows, known)
    }

    fn entry(&self, side: usize, at: u32) -> &'a Entry {
        let sides: &'a Sides = self.sides;
        &[&sides.a, &sides.b][side].entries[at as usize]
    }

    fn content(&self, side: usize, at: u32) -> Option<u32> {
        self.entry(side, at).what.content()
    }

    fn is_open(&self, side: usize, at: u32) -> bool {
        !self.settled[side][at as usize]
    }

    /// Returns the regular files of a side that have no row yet, each with the number of its
    /// content.
    fn open_files(&self, side: usize) -> Vec<(u32, u32)> {
        let all = 0..self.settled[side].len() as u32;
        let open = all.filter(|&at| self.is_open(side, at));
        open.filter_map(|at| Some((at, self.content(side, at)?)))
            .collect()
    }

    fn settle(&mut self, a: u32, b: u32, class: CompareClass, link: Option<&Link>) {
        self.settled[1][b as usize] = true;
        self.settle_one(0, a, b, (class, link, false));
    }

    /// Adds the row of one file, beside another file that has a row of its own or will get one.
    fn settle_one(
        &mut self,
        side: usize,
        at: u32,
        other: u32,
        (class, link, copy): (CompareClass, Option<&Link>, bool),
    ) {
        self.settled[side][at as usize] = true;
        let (a, b) = if side == 0 { (at, other) } else { (other, at) };
        self.rows.push(ClassRow {
            class,
            a: Some(a),
            b: Some(b),
            measures: link.map(|link| link.measures),
            told: link.map(|link| link.told).unwrap_or_default(),
            copy,
            about_b: side == 1,
        });
    }

    // ---- steps 1 and 2 ----

    fn same_paths(&mut self, joined: &Joined, twins: &[Link]) {
        let named_both = self.sides.a.single && self.sides.b.single;
        let mut leaving: Vec<Twins<'_>> = Vec::new();
        for &(a, b) in &joined.pairs {
            let (Some(of_a), Some(of_b)) = (self.content(0, a), self.content(1, b)) else {
                continue;
            };
            if of_a == of_b {
                self.settle(a, b, CompareClass::Same, None);
                continue;
            }
            let link = twins
                .binary_search_by_key(&(of_a, of_b), |twin| (twin.a, twin.b))
                .ok()
                .map(|at| &twins[at]);
            let twins = Twins {
                files: [a, b],
                contents: [of_a, of_b],
                link,
            };
            let both = |free: &Free<'_>| (0..2).all(|side| self.has_better(side, &twins, free));
            if !named_both && both(&Free::Everybody) {
                leaving.push(twins);
            } else {
                self.settle(a, b, CompareClass::Edited, link);
            }
        }
        // The pairs in `leaving` should be separated. But a pair stays together if the better
        // partner of one of its files also stays at its own path. If a pair stays, others may have
        // to stay, too. The loop ends with the largest set of pairs that can all be separated.
        loop {
            let files = [0, 1].map(|side| -> HashSet<u32> {
                let alone = joined.alone[side].iter().copied();
                alone
                    .chain(leaving.iter().map(|twins| twins.files[side]))
                    .collect()
            });
            let free = Free::These(&files);
            let (leave, stay): (Vec<_>, Vec<_>) = leaving
                .into_iter()
                .partition(|twins| (0..2).all(|side| self.has_better(side, twins, &free)));
            let done = stay.is_empty();
            for twins in stay {
                let [a, b] = twins.files;
                self.settle(a, b, CompareClass::Edited, twins.link);
            }
            leaving = leave;
            if done {
                return;
            }
        }
    }

    /// Returns whether a file has a better partner than the file at its own path. The partner must
    /// have equal bytes, or be near and share more of both files. The larger containment alone must
    /// not decide. Otherwise, a part of a licence would be preferred to the old version of an
    /// edited file.
    fn has_better(&self, side: usize, twins: &Twins<'_>, free: &Free<'_>) -> bool {
        if self.holders[1 - side].has(twins.contents[side]) {
            return true;
        }
        let at = twins.files[side];
        let least = twins.link.map_or(Score::ZERO, least_inside);
        let links = self.by[side].of(twins.contents[side]);
        let mut better = links.iter().map(|&at| &self.links[at as usize]);
        better.any(|link| {
            let other = link.seen(side).b;
            // If a file of this side has the same bytes as the partner, the partner belongs to that
            // file.
            other != twins.contents[1 - side]
                && !self.holders[side].has(other)
                && least_inside(link).get() >= Relation::MOSTLY
                && least_inside(link) > least
                && self.holders[1 - side]
                    .of_content(other)
                    .iter()
                    .any(|&other| {
                        free.has(1 - side, other)
                            && may_be_partners(
                                self.options,
                                self.entry(side, at),
                                self.entry(1 - side, other),
                            )
                    })
        })
    }

    // ---- step 3 ----

    fn equal_bytes(&mut self) {
        let mut open: [HashMap<u32, Vec<u32>>; 2] = Default::default();
        let mut contents: Vec<u32> = Vec::new();
        for (side, open) in open.iter_mut().enumerate() {
            for (at, content) in self.open_files(side) {
                if self.holders[1 - side].has(content) {
                    open.entry(content).or_default().push(at);
                    contents.push(content);
                }
            }
        }
        contents.sort_unstable();
        contents.dedup();
        for content in contents {
            let [a, b] = [0, 1].map(|side| open[side].remove(&content).unwrap_or_default());
            let (paired, surplus) = self.by_name(&a, &b);
            for (a, b) in paired {
                self.settle(a, b, CompareClass::Moved, None);
            }
            for (side, surplus) in surplus.into_iter().enumerate() {
                let original = Originals::new(self, 1 - side, content);
                for at in surplus {
                    if let Some(other) = original.of(self.entry(side, at)) {
                        self.settle_one(side, at, other, (CompareClass::Moved, None, true));
                    }
                }
            }
        }
    }

    /// Pairs files of the same name first, then the other files in order. Both lists must be
    /// ascending. Also returns the files of each list that remain without a partner.
    #[allow(clippy::type_complexity)]
    fn by_name(&self, a: &[u32], b: &[u32]) -> (Vec<(u32, u32)>, [Vec<u32>; 2]) {
        let may_pair = |a: u32, b: u32| self.entry(0, a).path != self.entry(1, b).path;
        let mut named: HashMap<&[u8], VecDeque<u32>> = HashMap::new();
        if !a.is_empty() {
            for &b in b {
                let name = file_name(&self.entry(1, b).path);
                named.entry(name).or_default().push_back(b);
            }
        }
        let mut paired = Vec::new();
        let mut rest_a = Vec::new();
        for &at in a {
            let waiting = named.get_mut(file_name(&self.entry(0, at).path));
            let fits = waiting.and_then(|waiting| {
                let first = waiting.iter().position(|&b| may_pair(at, b))?;
                waiting.remove(first)
            });
            match fits {
                Some(b) => paired.push((at, b)),
                None => rest_a.push(at),
            }
        }
        let taken: HashSet<u32> = paired.iter().map(|&(_, b)| b).collect();
        let mut rest_b: VecDeque<u32> = b.iter().copied().filter(|b| !taken.contains(b)).collect();
        let mut left_a = Vec::new();
        for at in rest_a {
            match rest_b.iter().position(|&b| may_pair(at, b)) {
                Some(first) => paired.extend(rest_b.remove(first).map(|b| (at, b))),
                None => left_a.push(at),
            }
        }
        (paired, [left_a, rest_b.into()])
    }

    // ---- steps 4 and 6 ----

    /// Makes pairs of files without rows, the best pair first.
    fn pairs(&mut self, wanted: impl Fn(&Link) -> bool) {
        let ranked = std::mem::take(&mut self.ranked);
        let links = self.links;
        // Among links of equal score, files of the same name are paired first.
        let equal = |x: &u32, y: &u32| links[*x as usize].score() == links[*y as usize].score();
        for tied in ranked.chunk_by(equal) {
            if self.options.names {
                for &at in tied {
                    self.pair_up(&links[at as usize], &wanted, true);
                }
            }
            for &at in tied {
                self.pair_up(&links[at as usize], &wanted, false);
            }
        }
        self.ranked = ranked;
    }

    fn pair_up(&mut self, link: &Link, wanted: &impl Fn(&Link) -> bool, same_name: bool) {
        if !wanted(link) {
            return;
        }
        let open = |side: usize, content: u32| -> Vec<u32> {
            let held = self.holders[side].of_content(content).iter().copied();
            held.filter(|&at| self.is_open(side, at)).collect()
        };
        let (a, b) = (open(0, link.a), open(1, link.b));
        if a.is_empty() || b.is_empty() {
            return;
        }
        let mut groups: Vec<(Vec<u32>, Vec<u32>)> = vec![(a, b)];
        if self.options.same_suffix {
            groups = self.by_suffix(&groups[0]);
        }
        for (a, b) in groups {
            let (mut paired, _) = self.by_name(&a, &b);
            if same_name {
                let name = |side, at| file_name(&self.entry(side, at).path);
                paired.retain(|&(a, b)| name(0, a) == name(1, b));
            }
            for (a, b) in paired {
                self.settle(a, b, CompareClass::MovedEdited, Some(link));
            }
        }
    }

    fn by_suffix(&self, (a, b): &(Vec<u32>, Vec<u32>)) -> Vec<(Vec<u32>, Vec<u32>)> {
        let mut groups: BTreeMap<&[u8], (Vec<u32>, Vec<u32>)> = BTreeMap::new();
        for &at in a {
            groups
                .entry(suffix(&self.entry(0, at).path))
                .or_default()
                .0
                .push(at);
        }
        for &at in b {
            groups
                .entry(suffix(&self.entry(1, at).path))
                .or_default()
                .1
                .push(at);
        }
        groups.into_values().collect()
    }

    // ---- step 5 ----

    fn containers(&mut self) {
        for side in 0..2 {
            for (at, content) in self.open_files(side) {
                let best = self.best_inside(side, at, content, Relation::MOSTLY);
                if let Some((link, other)) = best {
                    let class = [CompareClass::Contained, CompareClass::Contains][side];
                    self.contains[1 - side][other as usize] = true;
                    self.settle_one(side, at, other, (class, Some(link), false));
                }
            }
        }
    }

    /// Returns the partner that holds the largest share of a file, if that share is at least
    /// `least`. If several partners hold the same share, returns the first in the order of answers.
    fn best_inside(
        &self,
        side: usize,
        at: u32,
        content: u32,
        least: f64,
    ) -> Option<(&'a Link, u32)> {
        let all: &'a [Link] = self.links;
        let links = self.by[side].of(content).iter();
        let mut links: Vec<&'a Link> = links
            .map(|&at| &all[at as usize])
            .filter(|link| inside(link, side) >= least)
            .collect();
        // The sort is stable, so links of equal share stay in the order of answers.
        links.sort_by(|x, y| inside(y, side).total_cmp(&inside(x, side)));
        links.into_iter().find_map(|link| {
            let other = link.seen(side).b;
            Some((link, self.pick(side, at, other)?))
        })
    }

    // ---- steps 7 and 8 ----

    fn copies(&mut self) {
        for side in 0..2 {
            for (at, content) in self.open_files(side) {
                if self.contains[side][at as usize] {
                    self.settled[side][at as usize] = true;
                    continue;
                }
                let best = self.best_inside(side, at, content, 0.0);
                if let Some((link, other)) = best {
                    let class = if inside(link, 1 - side) >= Relation::MOSTLY {
                        [CompareClass::Contains, CompareClass::Contained][side]
                    } else {
                        CompareClass::MovedEdited
                    };
                    self.settle_one(side, at, other, (class, Some(link), true));
                }
            }
        }
    }

    fn alone(&mut self) {
        for side in 0..2 {
            for (at, _) in self.open_files(side) {
                self.rows.push(ClassRow {
                    class: [CompareClass::OnlyA, CompareClass::OnlyB][side],
                    a: (side == 0).then_some(at),
                    b: (side == 1).then_some(at),
                    measures: None,
                    told: PairFigures::default(),
                    copy: false,
                    about_b: side == 1,
                });
            }
        }
    }

    /// Returns the file of the other side that a row names for this content. A file of the same
    /// name is preferred to the first file. Files at the same path are excluded. If suffixes must
    /// be equal, files with another suffix are excluded, too.
    fn pick(&self, side: usize, at: u32, other_content: u32) -> Option<u32> {
        /// The maximum number of files of one content that are searched for a file of the same
        /// name.
        const LOOKED_AT: usize = 1000;
        let own = self.entry(side, at);
        let held = self.holders[1 - side].of_content(other_content);
        let mut first = None;
        for &other in held.iter().take(LOOKED_AT) {
            let entry = self.entry(1 - side, other);
            if entry.path == own.path || !may_be_partners(self.options, own, entry) {
                continue;
            }
            if file_name(&entry.path) == file_name(&own.path) {
                return Some(other);
            }
            first = first.or(Some(other));
        }
        first
    }
}

/// The files of one content. Each surplus copy is listed beside one of them.
struct Originals {
    by_name: HashMap<Vec<u8>, u32>,
    all: Vec<u32>,
}

impl Originals {
    fn new(classes: &Classes<'_>, side: usize, content: u32) -> Self {
        let all = classes.holders[side].of_content(content).to_vec();
        let mut by_name = HashMap::new();
        for &at in &all {
            let name = file_name(&classes.entry(side, at).path).to_vec();
            by_name.entry(name).or_insert(at);
        }
        Self { by_name, all }
    }

    fn of(&self, entry: &Entry) -> Option<u32> {
        let named = self.by_name.get(file_name(&entry.path)).copied();
        named.or_else(|| self.all.first().copied())
    }
}
