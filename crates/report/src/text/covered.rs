//! Prints whether a directory is covered: yes or no, then the reasons against it.

use std::collections::HashSet;
use std::io;

use resemble_core::Relation;
use resemble_proto::documents::CoveredDocument;
use resemble_proto::message::{CoverPair, MissingRow};
use resemble_proto::path::PathText;

use super::SCREENFUL;
use super::fold::{Line, fold};
use crate::human::{counted, human_count, human_size};
use crate::lines::{Cell, TextWriter, Tint};
use crate::quote::harmless;
use crate::rows::score;

/// Prints the answer of `covered`. If `all` is true, nothing is folded, and covered files are
/// listed, too.
pub fn print(out: &mut TextWriter<'_>, document: &CoveredDocument, all: bool) -> io::Result<()> {
    let body = &document.body;
    let style = out.style();
    let line = vec![
        if body.covered {
            Cell::left("covered:", Tint::Good)
        } else {
            Cell::left("NOT covered:", Tint::Notable)
        },
        out.name(&document.parameters.dir, Tint::Heading),
        Cell::prose(verdict(document), Tint::Plain),
    ];
    out.print([line])?;

    // Near copies count as missing files, but have a list of their own. So they are left out of the
    // list of missing files.
    let near: HashSet<&PathText> = body.near.iter().map(|row| &row.path).collect();
    let missing: Vec<&MissingRow> = body
        .missing
        .iter()
        .filter(|row| !near.contains(&row.path))
        .collect();
    let mut folded = list_missing(out, &missing, all)?;
    if !body.near.is_empty() {
        let title = "near copies, NOT safe (how much of each is in the other):";
        out.say(title, Tint::Heading)?;
        let shown = if all { body.near.len() } else { SCREENFUL };
        out.print(body.near.iter().take(shown).map(|row| {
            let by = style.name(&row.by, Tint::Plain);
            let is_like = match row.told.relation {
                Some(Relation::SameText) => " has the text, not the bytes, of ",
                _ => " is like ",
            };
            vec![
                score(row.a_in_b, false, row.told.estimate, Tint::Notable),
                style.name(&row.path, Tint::Plain).joined(is_like, &by),
            ]
        }))?;
        folded |= more(out, body.near.len(), shown)?;
    }
    folded |= list_pairs(
        out,
        "covered by a hard link of the same file only:",
        " is also ",
        &body.linked,
        all,
    )?;
    folded |= list_pairs(
        out,
        "equal by digest to what only a catalogue has, not compared:",
        " is recorded as ",
        &body.recorded,
        all,
    )?;
    if all {
        list_pairs(out, "covered:", " equals ", &body.copies, all)?;
    }
    if folded {
        out.say("--all shows everything", Tint::Faint)?;
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
    // Rows are names, and the total counts a file with several names once.
    let lost: u64 = body.missing.iter().map(|row| row.size).sum();
    let lost = lost.min(body.bytes);
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

/// Prints how many rows are left out. Returns whether any rows are left out.
fn more(out: &mut TextWriter<'_>, len: usize, shown: usize) -> io::Result<bool> {
    let more = len.saturating_sub(shown);
    if more > 0 {
        let text = format!("… and {} more", human_count(more as u64));
        out.say(text, Tint::Faint)?;
    }
    Ok(more > 0)
}

fn list_missing(out: &mut TextWriter<'_>, missing: &[&MissingRow], all: bool) -> io::Result<bool> {
    if missing.is_empty() {
        return Ok(false);
    }
    out.say("missing:", Tint::Heading)?;
    let room = if all { missing.len() } else { SCREENFUL };
    let files = missing.iter().map(|row| (row.path.as_bytes(), row.size));
    let folded = fold(files, room);
    let style = out.style();
    out.print(folded.lines.iter().map(|line| match line {
        Line::File(index) => {
            let row = missing[*index];
            vec![
                Cell::right(human_size(row.size), Tint::Plain),
                style.name(&row.path, Tint::Plain),
                Cell::left(harmless(&row.reason), Tint::Faint),
            ]
        }
        Line::Folder { path, files, bytes } => vec![
            Cell::right(human_size(*bytes), Tint::Plain),
            style.name(&PathText::from_bytes(*path), Tint::Plain),
            Cell::left(counted(*files, "file"), Tint::Faint),
        ],
    }))?;
    let hidden = folded.hidden_files as usize;
    more(out, hidden, 0)?;
    Ok(folded.is_folded())
}

fn list_pairs(
    out: &mut TextWriter<'_>,
    title: &str,
    verb: &str,
    pairs: &[CoverPair],
    all: bool,
) -> io::Result<bool> {
    if pairs.is_empty() {
        return Ok(false);
    }
    out.say(title, Tint::Heading)?;
    let shown = if all { pairs.len() } else { SCREENFUL / 2 };
    let style = out.style();
    out.print(pairs.iter().take(shown).map(|pair| {
        let by = style.name(&pair.by, Tint::Plain);
        vec![
            Cell::right(human_size(pair.size), Tint::Plain),
            style.name(&pair.path, Tint::Plain).joined(verb, &by),
        ]
    }))?;
    more(out, pairs.len(), shown)
}
