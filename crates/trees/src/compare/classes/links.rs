//! Looks up the links of each content, and the further partners of a file, which are not in its
//! row.

use std::cmp::Ordering;
use std::collections::HashMap;

use resemble_core::{Measures, Score};
use resemble_proto::message::{CompareOptions, PairFigures};

use crate::compare::partners::Link;
use crate::compare::sides::{Entry, Holders, Sides};

/// The measures of two files, and the figures that the answer shows for these files.
pub(in crate::compare) type Figures = (Measures, PairFigures);

/// The links of each content, as indexes into the list of links, best first.
#[derive(Debug, Default)]
pub(super) struct Adjacent(pub(super) HashMap<u32, Vec<u32>>);

impl Adjacent {
    pub(super) fn of(&self, content: u32) -> &[u32] {
        self.0.get(&content).map_or(&[], Vec::as_slice)
    }
}

/// The files and links from which the further partners of a file are looked up.
pub(in crate::compare) struct Known<'a> {
    pub(super) sides: &'a Sides,
    pub(super) holders: [&'a Holders; 2],
    pub(super) options: &'a CompareOptions,
    pub(super) links: &'a [Link],
    pub(super) by: [Adjacent; 2],
}

impl Known<'_> {
    /// Returns whether a content resembles any unequal content of the other side.
    pub(in crate::compare) fn has_links(&self, side: usize, content: u32) -> bool {
        !self.by[side].of(content).is_empty()
    }

    /// Returns the largest share of a content that lies in a single content of the other side.
    pub(in crate::compare) fn most_inside(&self, side: usize, content: u32) -> Score {
        let links = self.by[side].of(content).iter();
        let shares = links.map(|&at| Score::new(inside(&self.links[at as usize], side)));
        shares.max().unwrap_or(Score::ZERO)
    }

    /// Returns at most `most` further partners of a file, best first. A partner is an entry of the
    /// other side, with the figures of the pair. This file is `a` in the figures. Partners with
    /// equal bytes have no figures.
    pub(in crate::compare) fn further(
        &self,
        side: usize,
        at: u32,
        leave_out: Option<u32>,
        most: usize,
    ) -> Vec<(u32, Option<Figures>)> {
        let entries = |side: usize| &[&self.sides.a, &self.sides.b][side].entries;
        let own = &entries(side)[at as usize];
        let Some(content) = own.what.content() else {
            return Vec::new();
        };
        let mut further: Vec<(u32, Option<Figures>)> = Vec::new();
        let mut add = |other: u32, figures: Option<Figures>| {
            for &at in self.holders[1 - side].of_content(other) {
                let entry = &entries(1 - side)[at as usize];
                if further.len() < most
                    && Some(at) != leave_out
                    && (figures.is_none() || may_be_partners(self.options, own, entry))
                {
                    further.push((at, figures));
                }
            }
        };
        add(content, None);
        let links = self.by[side].of(content).iter();
        let mut links: Vec<Link> = links
            .map(|&at| self.links[at as usize].seen(side))
            .collect();
        // The list is in the order of answers about A, and equal scores are ordered by the share of
        // A. Now the links are seen from this side, so they are sorted again.
        links.sort_by(rank);
        for link in links {
            add(link.b, Some((link.measures, link.told)));
        }
        further
    }
}

impl Link {
    /// Returns the link as seen from a side. The content of that side becomes `a`.
    pub(in crate::compare) fn seen(self, side: usize) -> Self {
        if side == 0 {
            return self;
        }
        Self {
            a: self.b,
            b: self.a,
            measures: self.measures.swapped(),
            told: self.told.swapped(),
        }
    }
}

/// Compares two links in the order of answers: by score, containment and resemblance, the largest
/// first.
pub(super) fn rank(x: &Link, y: &Link) -> Ordering {
    let key = |link: &Link| {
        (
            link.score(),
            link.measures.a_in_b,
            link.measures.resemblance,
        )
    };
    key(y).cmp(&key(x))
}

/// Returns the smaller of the two containments of a link.
pub(super) fn least_inside(link: &Link) -> Score {
    link.measures
        .a_in_b
        .min(link.measures.b_in_a)
        .unwrap_or(Score::ZERO)
}

/// Returns the share of this side's content that lies in the other content of the link.
pub(super) fn inside(link: &Link, side: usize) -> f64 {
    let score = link.seen(side).measures.a_in_b;
    score.map_or(0.0, Score::get)
}

pub(super) fn may_be_partners(options: &CompareOptions, a: &Entry, b: &Entry) -> bool {
    !options.same_suffix || suffix(&a.path) == suffix(&b.path)
}

/// Returns the last component of a path.
pub(in crate::compare) fn file_name(path: &[u8]) -> &[u8] {
    let slash = path.iter().rposition(|&byte| byte == b'/');
    slash.map_or(path, |slash| &path[slash + 1..])
}

/// Returns the part of a file name from its last dot to its end. The result is empty if there is no
/// dot. A leading dot does not begin a suffix.
pub(super) fn suffix(path: &[u8]) -> &[u8] {
    let name = file_name(path);
    match name.iter().rposition(|&byte| byte == b'.') {
        Some(dot) if dot > 0 => &name[dot..],
        _ => &[],
    }
}
