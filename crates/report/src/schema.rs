//! Defines the columns of the rows of reports.
//!
//! A report is a few lists of rows. Its tables and its worksheets have the same columns, with one
//! exception. A worksheet leaves a cell empty if it would repeat the value above. A column with
//! such cells is defined twice: with a name for tables and with a title for worksheets. The columns
//! of `find` and `pairs`, which are also printed as lists, are in [`crate::rows`].

use resemble_core::Relation;
use resemble_proto::message::{
    Cluster, CompareClass, CompareRow, CoverPair, DirRow, Groups, IdenticalSet, Link, Member,
    MissingRow, NearRow, OtherRow, SoftError, WhyMember,
};
use resemble_proto::number::Fraction;

use crate::columns;

/// Returns whether both files of a row have equal bytes.
pub(crate) const fn is_equal(row: &CompareRow) -> bool {
    matches!(row.class, CompareClass::Same | CompareClass::Moved)
}

columns! { CompareRow: row =>
    "class" ["Class", 14] text(row.class.word());
    ["Files", 9] blank();
    ["Bytes", 14] blank();
    "a" ["First file", 60] name(&row.a);
    "b" ["Second file", 60] name(&row.b);
    "a_in_b" ["First in second", 14] share_of(row.a_in_b, is_equal(row));
    "b_in_a" ["Second in first", 14] share_of(row.b_in_a, is_equal(row));
    "shared_bytes" count(row.shared_bytes);
    ["Bytes in both", 14] count(row.a.as_ref().and(row.b.as_ref()).map(|_| row.shared_bytes));
    "size_a" ["Size first", 13] count(row.size_a);
    "size_b" ["Size second", 13] count(row.size_b);
    "copy" ["Mark", 16] flag(row.copy, "surplus copy");
    "discounted" share(row.discount.discounted);
    "reason" text(row.discount.reason.as_deref());
    "estimate" ["Estimate", 9] flag(row.told.estimate, "estimate");
}

columns! { OtherRow: row =>
    ["Path", 90] name(&row.path);
    ["First", 14] text(row.a.as_deref());
    ["Second", 14] text(row.b.as_deref());
}

columns! { DirRow: row =>
    "a" ["First folder", 50] name(&row.a);
    "b" ["Second folder", 50] name(&row.b);
    "a_in_b" ["First in second", 14] share_of(row.a_in_b, row.identical);
    "b_in_a" ["Second in first", 14] share_of(row.b_in_a, row.identical);
    "shared_bytes" ["Bytes in both", 14] count(row.shared_bytes);
    "files_a" ["Files first", 11] count(row.files_a);
    "files_b" ["Files second", 11] count(row.files_b);
    "bytes_a" ["Bytes first", 14] count(row.bytes_a);
    "bytes_b" ["Bytes second", 14] count(row.bytes_b);
    "identical" ["Identical", 10] flag(row.identical, "identical");
    "estimate" ["Estimate", 9] flag(row.estimate, "estimate");
}

columns! { MissingRow: row =>
    "path" ["File", 90] name(&row.path);
    "size" ["Size", 14] count(row.size);
    "reason" ["Why", 40] text(row.reason.as_str());
}

columns! { NearRow: row =>
    "path" ["File", 60] name(&row.path);
    "by" ["Resembles", 60] name(&row.by);
    "a_in_b" ["Of it elsewhere", 15] share(row.a_in_b);
    "b_in_a" ["Of the other in it", 17] share(row.b_in_a);
    "shared_bytes" ["Bytes in both", 14] count(row.shared_bytes);
    "estimate" ["Estimate", 9] flag(row.told.estimate, "estimate");
}

columns! { CoverPair: row =>
    "path" ["File", 60] name(&row.path);
    "by" ["Its equal", 60] name(&row.by);
    "size" ["Size", 14] count(row.size);
}

/// A file of a set of identical files.
pub(crate) struct SetFile<'a> {
    /// The number of the set.
    number: u64,
    set: &'a IdenticalSet,
    /// The index of the file in the set.
    pub(crate) at: usize,
}

impl SetFile<'_> {
    /// Returns a figure of the set, but only in the row of the set's first file. The cells of the
    /// other rows are empty.
    fn once(&self, figure: u64) -> Option<u64> {
        (self.at == 0).then_some(figure)
    }

    fn files(&self) -> u64 {
        self.set.paths.len() as u64
    }
}

columns! { SetFile<'_>: file =>
    "id" count(file.number);
    ["Set", 7] count(file.once(file.number));
    ["Files", 7] count(file.once(file.files()));
    ["Overhead bytes", 15] count(file.once(file.set.overhead()));
    "size" count(file.set.size);
    ["File size", 13] count(file.once(file.set.size));
    "mtime" ["Changed (UTC)", 17] time(file.set.mtimes.get(file.at).copied());
    "a" ["File", 90] name(file.set.paths.get(file.at));
}

/// Returns the files of all sets of identical files.
pub(crate) fn set_files(groups: &Groups) -> impl Iterator<Item = SetFile<'_>> {
    let sets = (1..).zip(&groups.identical);
    sets.flat_map(|(number, set)| (0..set.paths.len()).map(move |at| SetFile { number, set, at }))
}

/// A member of a cluster.
pub(crate) struct ClusterMember<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) member: &'a Member,
}

impl ClusterMember<'_> {
    fn is_center(&self) -> bool {
        self.member.path == self.cluster.center
    }

    /// Returns a share between the member and the centre. Returns `None` in the row of the centre
    /// itself.
    fn with_center(&self, share: Fraction) -> Option<Fraction> {
        (!self.is_center()).then_some(share)
    }

    fn mark(&self) -> &'static str {
        match (self.is_center(), self.member.newest) {
            (_, true) => "newest",
            (true, false) => "centre",
            (false, false) => "",
        }
    }
}

columns! { ClusterMember<'_>: row =>
    "id" text(row.cluster.id.as_str());
    "kind" text(row.cluster.kind.word());
    ["Cluster", 9] blank();
    ["Kind", 10] text("");
    ["Files", 7] blank();
    ["Links", 8] blank();
    "size" ["Size", 13] count(row.member.size);
    ["Similar", 9] share(row.with_center(row.member.a_in_b.max(row.member.b_in_a)));
    ["Worst pair", 11] blank();
    "a_in_b" share(row.member.a_in_b);
    "b_in_a" share(row.member.b_in_a);
    ["In centre", 10] share(row.with_center(row.member.a_in_b));
    ["Centre in it", 12] share(row.with_center(row.member.b_in_a));
    "mtime" ["Changed (UTC)", 17] time(row.member.mtime);
    ["Stated (UTC)", 17] time(row.member.document_date.as_ref().map(|date| date.time));
    ["Copies", 8] count(row.member.copies);
    ["Mark", 9] text(row.mark());
    ["Id", 18] text("");
    "a" ["File", 90] name(&row.member.path);
    "b" name(&row.cluster.center);
    "estimate" ["Estimate", 9] flag(row.member.estimate, "estimate");
}

/// Two similar members of a cluster.
pub(crate) struct ClusterLink<'a> {
    /// The number of the cluster.
    pub(crate) number: u64,
    pub(crate) cluster: &'a Cluster,
    pub(crate) link: &'a Link,
}

columns! { ClusterLink<'_>: row =>
    "id" text(row.cluster.id.as_str());
    "kind" text(row.cluster.kind.word());
    ["Cluster", 9] count(row.number);
    "a" ["First file", 60] name(&row.link.a);
    "b" ["Second file", 60] name(&row.link.b);
    "a_in_b" ["First in second", 14] share(row.link.a_in_b);
    "b_in_a" ["Second in first", 14] share(row.link.b_in_a);
    "shared_bytes" ["Bytes in both", 14] count(row.link.shared_bytes);
    "discounted" ["Without common text", 19] share(row.link.discount.discounted);
    "reason" ["Reason", 40] text(row.link.discount.reason.as_deref());
    "estimate" ["Estimate", 9] flag(row.link.estimate, "estimate");
}

columns! { WhyMember: row =>
    "a" name(row.a.as_ref());
    "b" name(row.b.as_ref());
    "relation" text(row.relation.map(Relation::word));
    "unit" text(row.unit.word());
    "a_in_b" share_of(row.a_in_b, row.relation == Some(Relation::Identical));
    "b_in_a" share_of(row.b_in_a, row.relation == Some(Relation::Identical));
    "size_a" count(row.size_a);
    "size_b" count(row.size_b);
}

columns! { SoftError: error =>
    ["Path", 90] name(&error.path);
    ["Why", 60] text(error.message.as_str());
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use resemble_proto::message::{FindRow, PairRow};

    use super::*;
    use crate::table::Columns;

    fn check<R: Columns>() {
        let names: Vec<_> = R::COLUMNS.iter().filter_map(|column| column.name).collect();
        let titles: Vec<_> = R::COLUMNS
            .iter()
            .filter_map(|column| column.title)
            .collect();
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len());
        assert_eq!(titles.iter().collect::<HashSet<_>>().len(), titles.len());
        assert!(
            R::COLUMNS.is_sorted_by_key(|column| column.later),
            "{names:?}: later columns come last"
        );
    }

    #[test]
    fn columns_have_names_of_their_own_and_later_ones_come_last() {
        check::<CompareRow>();
        check::<OtherRow>();
        check::<DirRow>();
        check::<MissingRow>();
        check::<NearRow>();
        check::<CoverPair>();
        check::<SetFile<'_>>();
        check::<ClusterMember<'_>>();
        check::<ClusterLink<'_>>();
        check::<SoftError>();
        check::<FindRow>();
        check::<PairRow>();
    }
}
