//! Prints sets of identical files and clusters for people.

mod brief;

use std::collections::HashMap;
use std::io;

use resemble_proto::documents::GroupsDocument;
use resemble_proto::message::{Cluster, IdenticalSet, Link, Member};
use resemble_proto::path::PathText;

use super::{percentages, sentence};
use crate::human::{counted, files_and_bytes, human_count, human_size, shared_blocks};
use crate::lines::{Cell, TextStyle, TextWriter, Tint};
use crate::quote::harmless;
use crate::rows::{self, marked, percent_text};

/// Prints the totals, the folders, and the twenty groups with the most duplicated bytes.
pub fn print_brief(out: &mut TextWriter<'_>, document: &GroupsDocument) -> io::Result<()> {
    brief::print(out, document)
}

/// Prints totals, sets and clusters, with all their files. If the style is verbose, links are
/// printed, too.
pub fn print(out: &mut TextWriter<'_>, document: &GroupsDocument) -> io::Result<()> {
    let body = &document.body;
    let sum = &body.summary;
    let mut head = Vec::new();
    if sum.sets > 0 {
        head.push(format!(
            "{} of identical files, {}, {} overhead{}",
            counted(sum.sets, "set"),
            counted(sum.set_files, "file"),
            human_size(sum.overhead),
            shared_blocks(sum.shared_blocks)
        ));
    }
    if sum.clusters > 0 {
        head.push(format!(
            "{} of similar files, {}, {}",
            counted(sum.clusters, "cluster"),
            files_and_bytes(sum.cluster_files, sum.cluster_bytes),
            counted(sum.links, "link")
        ));
    }
    if sum.loose > 0 {
        head.push(format!(
            "{} more like members of clusters, but like none of their centers",
            counted(sum.loose, "file")
        ));
    }
    if sum.ignored > 0 {
        head.push(format!(
            "{} ignored: too many files have them",
            counted(sum.ignored, "chunk")
        ));
    }
    head.extend(sum.notes.iter().map(|note| harmless(note)));
    for line in head {
        out.say(line, Tint::Heading)?;
    }
    if !body.clusters.is_empty() {
        let of_what = if document.parameters.family {
            "the larger share of a version and an earlier one that is in the other"
        } else {
            "the larger share of a file and the center that is in the other"
        };
        percentages(out, of_what)?;
    }
    for set in &body.identical {
        print_set(out, set)?;
    }
    for cluster in &body.clusters {
        if document.parameters.family {
            print_family(out, cluster)?;
        } else {
            print_cluster(out, cluster)?;
        }
    }
    Ok(())
}

fn print_set(out: &mut TextWriter<'_>, set: &IdenticalSet) -> io::Result<()> {
    let style = out.style();
    let title = format!(
        "{} of {}, {} overhead",
        counted(set.paths.len() as u64, "file"),
        human_size(set.size),
        human_size(set.overhead())
    );
    let title = match set.shared_blocks() {
        0 => title,
        shared => format!("{title}, {} of it in shared blocks", human_size(shared)),
    };
    let head = vec![
        Cell::left("identical", Tint::Good),
        Cell::prose(title, Tint::Faint),
    ];
    out.print([sentence("", Tint::Plain), head])?;
    out.print(set.paths.iter().enumerate().map(|(i, path)| {
        let day = set.mtimes.get(i).map_or(String::new(), |t| style.day(*t));
        let mut cells = vec![
            Cell::right(" 100%", Tint::Good),
            Cell::left(day, Tint::Faint),
            style.name(path, Tint::Plain),
        ];
        if style.verbose {
            cells.extend(set.owners.get(i).and_then(|name| rows::owner([name])));
        }
        cells
    }))
}

/// Prints the kind, the id and the figures of a cluster. `resemble templates mark` accepts the id.
/// A family is made for one file and is not a cluster of the collection. So it has no id.
fn print_head(out: &mut TextWriter<'_>, cluster: &Cluster, is_family: bool) -> io::Result<()> {
    let mark = if cluster.estimate { "~" } else { "" };
    let mut title = format!(
        "{}, average {mark}{}, worst {mark}{}",
        files_and_bytes(cluster.members.len() as u64, cluster.bytes),
        percent_text(cluster.average, false),
        percent_text(cluster.worst, false)
    );
    if out.is_verbose() {
        title = format!("{title}, part of {}", cluster.component);
    }
    let mut head = vec![Cell::left(cluster.kind.word(), Tint::Heading)];
    if !is_family {
        head.push(Cell::left(harmless(&cluster.id), Tint::Plain));
    }
    head.push(Cell::prose(harmless(&title), Tint::Faint));
    out.print([sentence("", Tint::Plain), head])
}

/// Returns the cells of a member that follow its score: size, day, name and number of copies. If
/// `by_stated` is true, the day is that of the stated date.
fn member_cells(style: TextStyle, member: &Member, by_stated: bool) -> Vec<Cell> {
    let stated = member.document_date.as_ref();
    let by = stated.filter(|_| by_stated);
    let mut rest = Vec::new();
    if member.copies > 1 {
        rest.push(format!("({} copies)", human_count(member.copies)));
    }
    if member.newest {
        rest.push(rows::newest_mark(by));
    }
    if member.older_than_held {
        rest.push(rows::OLDER_THAN_HELD.to_owned());
    }
    let mut cells = vec![
        Cell::right(human_size(member.size), Tint::Plain),
        Cell::left(
            style.day(by.map_or(member.mtime, |date| date.time)),
            Tint::Faint,
        ),
        style.name(&member.path, Tint::Plain),
    ];
    if !rest.is_empty() {
        cells.push(Cell::prose(rest.join("  "), Tint::Faint));
    }
    if let Some(date) = stated.filter(|_| style.verbose) {
        cells.push(rows::stated(style, date));
    }
    if style.verbose {
        cells.extend(rows::owner([&member.owner]));
    }
    cells
}

fn print_cluster(out: &mut TextWriter<'_>, cluster: &Cluster) -> io::Result<()> {
    print_head(out, cluster, false)?;
    let (style, by_stated) = (out.style(), cluster.has_stated_dates());
    out.print(cluster.members.iter().map(|member| {
        let score = if member.path == cluster.center {
            Cell::right("center", Tint::Heading)
        } else {
            let score = member.a_in_b.max(member.b_in_a);
            marked(score, member.estimate, Tint::Plain)
        };
        let rest = member_cells(style, member, by_stated);
        std::iter::once(score).chain(rest).collect()
    }))?;
    if out.is_verbose() {
        print_links(out, cluster)?;
    }
    Ok(())
}

/// Prints a family of versions, one member on each line. The score of a member is its score with
/// the earlier member that it resembles most. The earlier member is named unless it is on the
/// previous line.
fn print_family(out: &mut TextWriter<'_>, family: &Cluster) -> io::Result<()> {
    print_head(out, family, true)?;
    // In these links, `b` is a member, and `a` is the earlier member that it resembles most.
    let steps: HashMap<&PathText, &Link> =
        family.links.iter().map(|link| (&link.b, link)).collect();
    let mut before: Option<&PathText> = None;
    let (style, by_stated) = (out.style(), family.has_stated_dates());
    out.print(family.members.iter().map(|member| {
        let step = steps.get(&member.path);
        let score = step.map_or(Cell::right("-", Tint::Faint), |link| {
            let score = link.a_in_b.max(link.b_in_a);
            marked(score, link.estimate, Tint::Plain)
        });
        let mut cells = vec![score];
        cells.extend(member_cells(style, member, by_stated));
        if let Some(link) = step.filter(|link| before != Some(&link.a)) {
            let other = style.name(&link.a, Tint::Faint);
            cells.push(Cell::left("like", Tint::Faint).joined(" ", &other));
        }
        before = Some(&member.path);
        cells
    }))?;
    if out.is_verbose() {
        print_links(out, family)?;
    }
    Ok(())
}

/// Formats the number of shared bytes. For an estimate, only the proven bytes are counted, so the
/// text says `at least`.
fn shared(link: &Link) -> String {
    let bytes = human_size(link.shared_bytes);
    if link.estimate {
        format!("at least {bytes}")
    } else {
        bytes
    }
}

fn print_links(out: &mut TextWriter<'_>, cluster: &Cluster) -> io::Result<()> {
    let style = out.style();
    out.print(cluster.links.iter().map(|link| {
        let mut cells = vec![
            Cell::left("  link", Tint::Faint),
            marked(link.a_in_b, link.estimate, Tint::Faint),
            marked(link.b_in_a, link.estimate, Tint::Faint),
            Cell::right(shared(link), Tint::Faint),
            style.name(&link.a, Tint::Faint),
            style.name(&link.b, Tint::Faint),
        ];
        if let Some(why) = &link.discount.reason {
            cells.push(Cell::left(harmless(why), Tint::Faint));
        }
        cells
    }))
}
