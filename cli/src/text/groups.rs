//! Identical sets and clusters for people.

use resemble_proto::documents::GroupsDocument;
use resemble_proto::message::{Cluster, ClusterKind, IdenticalSet};

use super::{files_and_bytes, percent, sentence};
use crate::error::CliResult;
use crate::quote::harmless;
use crate::rows::{counted, day};
use crate::ui::{Cell, Tint, Ui};
use crate::values::{human_count, human_size};

/// Prints totals, sets, clusters. Links are printed with `-v`.
pub fn print(ui: &mut Ui, document: &GroupsDocument) -> CliResult<()> {
    let body = &document.body;
    let sum = &body.summary;
    let mut head = Vec::new();
    if sum.sets > 0 {
        head.push(format!(
            "{} of identical files, {}, {} overhead",
            counted(sum.sets, "set"),
            counted(sum.set_files, "file"),
            human_size(sum.overhead)
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
        ui.lines(&[sentence(line, Tint::Heading)], b'\n')?;
    }
    for set in &body.identical {
        print_set(ui, set)?;
    }
    for cluster in &body.clusters {
        print_cluster(ui, cluster)?;
    }
    Ok(())
}

fn print_set(ui: &mut Ui, set: &IdenticalSet) -> CliResult<()> {
    let copies = set.paths.len() as u64;
    let title = format!(
        "{} of {}, {} overhead",
        counted(copies, "file"),
        human_size(set.size),
        human_size(set.size.saturating_mul(copies.saturating_sub(1)))
    );
    let head = vec![
        Cell::left("identical", Tint::Good),
        Cell::left(title, Tint::Faint),
    ];
    ui.lines(&[sentence("", Tint::Plain), head], b'\n')?;
    let lines: Vec<Vec<Cell>> = set
        .paths
        .iter()
        .enumerate()
        .map(|(i, path)| {
            vec![
                Cell::right(" 100%", Tint::Good),
                Cell::left(
                    set.mtimes.get(i).map_or(String::new(), |t| day(*t)),
                    Tint::Faint,
                ),
                ui.name(path, Tint::Plain),
            ]
        })
        .collect();
    ui.lines(&lines, b'\n')
}

fn print_cluster(ui: &mut Ui, cluster: &Cluster) -> CliResult<()> {
    let share = |share: resemble_proto::number::Fraction| {
        share
            .percent(false)
            .map_or("?".to_owned(), |percent| format!("{percent}%"))
    };
    let mut title = format!(
        "{}, average {}, worst {}",
        files_and_bytes(cluster.members.len() as u64, cluster.bytes),
        share(cluster.average),
        share(cluster.worst)
    );
    if ui.is_verbose() {
        title = format!("{title}, {}, part of {}", cluster.id, cluster.component);
    }
    let head = vec![
        Cell::left(cluster.kind.word(), Tint::Heading),
        Cell::left(harmless(&title), Tint::Faint),
    ];
    ui.lines(&[sentence("", Tint::Plain), head], b'\n')?;
    let lines: Vec<Vec<Cell>> = cluster
        .members
        .iter()
        .map(|member| {
            let is_center = member.path == cluster.center;
            let mut name = ui.name(&member.path, Tint::Plain);
            if member.copies > 1 {
                name = name.followed_by(&format!("  ({} copies)", human_count(member.copies)));
            }
            if member.newest && cluster.kind == ClusterKind::Versions {
                name = name.followed_by("  newest");
            }
            vec![
                if is_center {
                    Cell::right("center", Tint::Heading)
                } else {
                    percent(member.a_in_b.max(member.b_in_a), false, Tint::Plain)
                },
                Cell::right(human_size(member.size), Tint::Plain),
                Cell::left(day(member.mtime), Tint::Faint),
                name,
            ]
        })
        .collect();
    ui.lines(&lines, b'\n')?;
    if ui.is_verbose() {
        let links: Vec<Vec<Cell>> = cluster
            .links
            .iter()
            .map(|link| {
                let mut cells = vec![
                    Cell::left("  link", Tint::Faint),
                    percent(link.a_in_b, false, Tint::Faint),
                    percent(link.b_in_a, false, Tint::Faint),
                    Cell::right(
                        format!("at least {}", human_size(link.shared_bytes)),
                        Tint::Faint,
                    ),
                    ui.name(&link.a, Tint::Faint),
                    ui.name(&link.b, Tint::Faint),
                ];
                if let Some(why) = &link.discount.reason {
                    cells.push(Cell::left(harmless(why), Tint::Faint));
                }
                cells
            })
            .collect();
        ui.lines(&links, b'\n')?;
    }
    Ok(())
}
