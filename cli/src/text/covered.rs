//! Whether a directory can go, for people: yes or no, then why not.

use std::collections::HashSet;

use resemble_proto::documents::CoveredDocument;
use resemble_proto::message::{CoverPair, MissingRow};
use resemble_proto::path::PathText;

use super::fold::{Leaf, Line, fold};
use super::{SCREENFUL, percent, sentence};
use crate::error::CliResult;
use crate::quote::harmless;
use crate::rows::counted;
use crate::ui::{Cell, Tint, Ui};
use crate::values::{human_count, human_size};

/// Prints the answer of `covered`. `all`: nothing is folded, and what is covered is listed too.
pub fn print(ui: &mut Ui, document: &CoveredDocument, all: bool) -> CliResult<()> {
    let body = &document.body;
    let line = vec![
        Cell::left(
            if body.covered {
                "covered:"
            } else {
                "NOT covered:"
            },
            if body.covered {
                Tint::Good
            } else {
                Tint::Notable
            },
        ),
        ui.name(&document.parameters.dir, Tint::Heading),
        Cell::left(verdict(document), Tint::Plain),
    ];
    ui.lines(&[line], b'\n')?;

    // A near copy stands in its own list; that it is missing too goes without saying.
    let near: HashSet<&PathText> = body.near.iter().map(|row| &row.path).collect();
    let missing: Vec<&MissingRow> = body
        .missing
        .iter()
        .filter(|row| !near.contains(&row.path))
        .collect();
    let mut folded = list_missing(ui, &missing, all)?;
    if !body.near.is_empty() {
        heading(ui, "near copies, NOT safe:")?;
        let shown = if all { body.near.len() } else { SCREENFUL };
        let lines: Vec<Vec<Cell>> = body
            .near
            .iter()
            .take(shown)
            .map(|row| {
                vec![
                    percent(row.a_in_b, false, Tint::Notable),
                    ui.name(&row.path, Tint::Plain)
                        .joined(" is like ", &ui.name(&row.by, Tint::Plain)),
                ]
            })
            .collect();
        ui.lines(&lines, b'\n')?;
        folded |= more(ui, body.near.len(), shown)?;
    }
    folded |= list_pairs(
        ui,
        "covered by a hard link of the same file only:",
        " is also ",
        &body.linked,
        all,
    )?;
    folded |= list_pairs(
        ui,
        "equal by digest to what only a catalogue has, not compared:",
        " is recorded as ",
        &body.recorded,
        all,
    )?;
    if all {
        list_pairs(ui, "covered:", " equals ", &body.copies, all)?;
    }
    if folded {
        ui.lines(&[sentence("--all shows everything", Tint::Faint)], b'\n')?;
    }
    Ok(())
}

fn verdict(document: &CoveredDocument) -> String {
    let body = &document.body;
    let size = human_size(body.bytes);
    let files = counted(body.files, "file");
    if body.covered {
        return match (body.files, body.linked.len()) {
            (0, _) => "there is nothing in it".to_owned(),
            (_, 0) if !body.recorded.is_empty() => format!(
                "all of {files}, {size}; {} only by the digest in a catalogue",
                human_count(body.recorded.len() as u64)
            ),
            (_, 0) => format!("all of {files}, {size}, compared byte for byte now"),
            (_, linked) => format!(
                "all of {files}, {size}; {} only by a hard link of itself",
                human_count(linked as u64)
            ),
        };
    }
    let lost: u64 = body.missing.iter().map(|row| row.size).sum();
    if !document.parameters.filter.is_none() {
        return format!(
            "{files}, {size}; {} of those listed ({}) would be lost",
            human_count(body.missing.len() as u64),
            human_size(lost)
        );
    }
    format!(
        "{} of {files} ({} of {size}) would be lost",
        human_count(body.missing.len() as u64),
        human_size(lost)
    )
}

fn heading(ui: &mut Ui, text: &str) -> CliResult<()> {
    ui.lines(&[sentence(text, Tint::Heading)], b'\n')
}

/// Says how many were left out; whether some were.
fn more(ui: &mut Ui, len: usize, shown: usize) -> CliResult<bool> {
    let more = len.saturating_sub(shown);
    if more > 0 {
        let text = format!("… and {} more", human_count(more as u64));
        ui.lines(&[sentence(text, Tint::Faint)], b'\n')?;
    }
    Ok(more > 0)
}

fn list_missing(ui: &mut Ui, missing: &[&MissingRow], all: bool) -> CliResult<bool> {
    if missing.is_empty() {
        return Ok(false);
    }
    heading(ui, "missing:")?;
    let mut leaves: Vec<Leaf<'_>> = missing
        .iter()
        .enumerate()
        .map(|(index, row)| Leaf {
            path: row.path.as_bytes(),
            bytes: row.size,
            index,
        })
        .collect();
    let room = if all { missing.len() } else { SCREENFUL };
    let folded = fold(&mut leaves, room);
    let lines: Vec<Vec<Cell>> = folded
        .lines
        .iter()
        .map(|line| match line {
            Line::File(index) => {
                let row = missing[*index];
                vec![
                    Cell::right(human_size(row.size), Tint::Plain),
                    ui.name(&row.path, Tint::Plain),
                    Cell::left(harmless(&row.reason), Tint::Faint),
                ]
            }
            Line::Folder { path, files, bytes } => vec![
                Cell::right(human_size(*bytes), Tint::Plain),
                ui.name(&PathText::from_bytes(*path), Tint::Plain),
                Cell::left(counted(*files, "file"), Tint::Faint),
            ],
        })
        .collect();
    ui.lines(&lines, b'\n')?;
    let hidden = folded.hidden_files as usize;
    more(ui, hidden, 0)?;
    Ok(folded.is_folded())
}

fn list_pairs(
    ui: &mut Ui,
    title: &str,
    verb: &str,
    pairs: &[CoverPair],
    all: bool,
) -> CliResult<bool> {
    if pairs.is_empty() {
        return Ok(false);
    }
    heading(ui, title)?;
    let shown = if all { pairs.len() } else { SCREENFUL / 2 };
    let lines: Vec<Vec<Cell>> = pairs
        .iter()
        .take(shown)
        .map(|pair| {
            vec![
                Cell::right(human_size(pair.size), Tint::Plain),
                ui.name(&pair.path, Tint::Plain)
                    .joined(verb, &ui.name(&pair.by, Tint::Plain)),
            ]
        })
        .collect();
    ui.lines(&lines, b'\n')?;
    more(ui, pairs.len(), shown)
}
