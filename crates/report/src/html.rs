//! Writes a report as one self-contained page.
//!
//! The page has its documents as JSON, a script that shows them (`html/*.js`, joined into one
//! script) and a style sheet (`page.css`). For readers without scripts, it has the first rows as
//! plain tables. It makes no network requests, and its content security policy forbids them.
//!
//! 1. **Three things protect the page from hostile names.** JSON is in data blocks that no byte of
//!    a name can end (`Shielded`). The script puts names into the page only as text nodes. The
//!    content security policy allows only the script of the page, by its hash.
//! 2. **The page has the JSON of the document.** Its bytes are those of `--format json`, except
//!    that some characters are written as `\u003c`. So a page can be read back ([`crate::saved`]).
//!    The last line is a comment with the digest of everything before it
//!    ([`resemble_proto::seal`]).
//! 3. **The page has a bound.** A browser with a million rows shows nothing for a minute. So a list
//!    is cut after `ROWS` rows. The page says so, and names `--top` and the JSON as alternatives.

use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use resemble_proto::documents::{
    Body, CompareDocument, CoveredDocument, DirsDocument, Document, FindDocument, GroupsDocument,
    PairsDocument,
};
use resemble_proto::message::{CompareClass, CompareRow};
use resemble_proto::seal::{self, Sealing};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::document::{Extras, Report};
use crate::escaping::{for_html, visible};
use crate::evidence::Evidence;
use crate::header::{self, ReportHeader};
use crate::human::human_count;
use crate::human::utc;
use crate::table::{Align, Field};
use crate::worksheets::{self, Sheet, SheetSink};
use resemble_proto::path::PathText;

const PAGE: &str = include_str!("html/page.html");
const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = concat!(
    include_str!("html/page.js"),
    include_str!("html/marks.js"),
    include_str!("html/walk.js"),
    include_str!("html/times.js"),
    include_str!("html/sections.js")
);

/// The maximum number of rows of a list in a page.
pub(super) const ROWS: usize = 200_000;

/// The maximum number of rows of a plain table. Such tables are for readers without scripts.
const PLAIN_ROWS: u64 = 200;

/// Data for the script of the page, in addition to the documents.
#[derive(Serialize)]
struct Extra<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    base: Option<&'a PathText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    links: Option<&'a [(PathText, u64)]>,
    evidence: &'a [Evidence],
}

/// Writes the page of a report made at `now`, in seconds since 1970.
pub fn write(
    out: &mut dyn Write,
    report: Report<'_>,
    extras: &Extras<'_>,
    now: u64,
) -> io::Result<()> {
    let mut sealing = Sealing::new(out);
    match cut(report, ROWS) {
        Some((shorter, note)) => {
            write_page(&mut sealing, shorter.as_report(), extras, now, Some(note))?;
        }
        None => write_page(&mut sealing, report, extras, now, None)?,
    }
    sealing.seal(seal::PAGE)
}

fn write_page(
    out: &mut dyn Write,
    report: Report<'_>,
    extras: &Extras<'_>,
    now: u64,
    note: Option<String>,
) -> io::Result<()> {
    let mut header = header::of(report, extras, now);
    header.warnings.extend(note);
    let mut rest = PAGE;
    while let Some((before, after)) = rest.split_once("{{") {
        out.write_all(before.as_bytes())?;
        let Some((mark, after)) = after.split_once("}}") else {
            break;
        };
        rest = after;
        match mark {
            "style-hash" => write!(out, "{}", source_hash(STYLE))?,
            "script-hash" => write!(out, "{}", source_hash(SCRIPT))?,
            "version" => write!(out, "{}", resemble_proto::VERSION)?,
            "title" => write!(
                out,
                "{}",
                for_html(&format!("{}: {}", header.title, header.about))
            )?,
            "style" => out.write_all(STYLE.as_bytes())?,
            "script" => out.write_all(SCRIPT.as_bytes())?,
            "head" => head(out, &header)?,
            "about" => about(out, &header)?,
            "tables" => {
                let mut tables = Tables::new(out);
                worksheets::walk(report, extras, &mut tables)?;
                tables.end()?;
            }
            "document" => report.write_json(&mut Shielded::new(out))?,
            "folders" => {
                if let Some(folders) = extras.folders {
                    folders.write_json(&mut Shielded::new(out))?;
                }
            }
            "extra" => {
                let extra = Extra {
                    base: extras.base.as_ref(),
                    links: extras.links.as_deref(),
                    evidence: &extras.evidence,
                };
                serde_json::to_writer(Shielded::new(out), &extra)?;
            }
            _ => {}
        }
    }
    out.write_all(rest.as_bytes())
}

/// Returns the hash by which a content security policy allows this script or style sheet.
fn source_hash(source: &str) -> String {
    format!(
        "sha256-{}",
        BASE64.encode(Sha256::digest(source.as_bytes()))
    )
}

fn head(out: &mut dyn Write, header: &ReportHeader) -> io::Result<()> {
    writeln!(out, "<h1>{}</h1>", for_html(&header.title))?;
    writeln!(
        out,
        "<p class=\"asked\"><bdi>{}</bdi></p>",
        for_html(&header.about)
    )?;
    if let Some((good, verdict)) = &header.verdict {
        let class = if *good { "verdict" } else { "verdict not" };
        writeln!(out, "<p class=\"{class}\">{}</p>", for_html(verdict))?;
    }
    writeln!(out, "<dl class=\"figures\">")?;
    for (value, label) in &header.figures {
        let (value, label) = (for_html(value), for_html(label));
        writeln!(out, "<div><dt>{label}</dt><dd>{value}</dd></div>")?;
    }
    writeln!(out, "</dl>")?;
    for (class, sentences) in [("warnings", &header.warnings), ("notes", &header.notes)] {
        if sentences.is_empty() {
            continue;
        }
        writeln!(out, "<ul class=\"{class}\">")?;
        for sentence in sentences {
            writeln!(out, "<li>{}</li>", for_html(sentence))?;
        }
        writeln!(out, "</ul>")?;
    }
    Ok(())
}

fn about(out: &mut dyn Write, header: &ReportHeader) -> io::Result<()> {
    writeln!(
        out,
        "<section id=\"about\"><h2>About this report</h2><table>"
    )?;
    for (key, value) in &header.made {
        let (key, value) = (for_html(key), for_html(value));
        writeln!(
            out,
            "<tr><th scope=\"row\">{key}</th><td><bdi>{value}</bdi></td></tr>"
        )?;
    }
    writeln!(out, "</table></section>")
}

/// Writes the first rows of every sheet as plain tables.
struct Tables<'a> {
    out: &'a mut dyn Write,
    sheet: Option<Sheet>,
    rows: u64,
}

impl<'a> Tables<'a> {
    fn new(out: &'a mut dyn Write) -> Self {
        Self {
            out,
            sheet: None,
            rows: 0,
        }
    }

    fn end(&mut self) -> io::Result<()> {
        if self.sheet.take().is_some() {
            writeln!(self.out, "</table></div>")?;
            if self.rows > PLAIN_ROWS {
                writeln!(
                    self.out,
                    "<p>The first {PLAIN_ROWS} of {} rows; the others need a browser with \
                     scripts.</p>",
                    human_count(self.rows)
                )?;
            }
            writeln!(self.out, "</section>")?;
        }
        Ok(())
    }
}

impl SheetSink for Tables<'_> {
    fn sheet(&mut self, sheet: &Sheet) -> io::Result<()> {
        self.end()?;
        self.sheet = Some(*sheet);
        self.rows = 0;
        let (name, lead) = (for_html(sheet.name), for_html(sheet.lead));
        write!(
            self.out,
            "<section><h2>{name}</h2><p class=\"lead\">{lead}</p><div class=\"rows\"><table><tr>"
        )?;
        for (title, _, align) in sheet.columns() {
            let class = if align == Align::Right { "num" } else { "" };
            let title = for_html(title);
            write!(self.out, "<th scope=\"col\" class=\"{class}\">{title}</th>")?;
        }
        writeln!(self.out, "</tr>")
    }

    fn row(&mut self, level: u8, cells: &[Field<'_>]) -> io::Result<()> {
        self.rows += 1;
        if self.rows > PLAIN_ROWS {
            return Ok(());
        }
        write!(self.out, "<tr class=\"level-{level}\">")?;
        for cell in cells {
            let (class, text) = match *cell {
                Field::Name(name) => ("wide", visible(name)),
                Field::Text(text) | Field::Flag(true, text) => ("", visible(text.as_bytes())),
                Field::Count(count) => ("num", human_count(count)),
                Field::Share(share, identical) => {
                    let percent = share.percent(identical);
                    (
                        "num",
                        percent.map_or(String::new(), |percent| format!("{percent} %")),
                    )
                }
                Field::Time(time) => ("num", u64::try_from(time).map(utc).unwrap_or_default()),
                // The tables show neither ranges nor unrounded numbers.
                Field::Nothing | Field::Flag(false, _) | Field::Ranges(_) | Field::Real(_) => {
                    ("", String::new())
                }
            };
            let text = for_html(&text);
            write!(self.out, "<td class=\"{class}\"><bdi>{text}</bdi></td>")?;
        }
        writeln!(self.out, "</tr>")
    }
}

/// Writes JSON for a data block of a page.
///
/// The characters `<`, `>` and `&` are written as `\u003c` and so on. So no name can end the block
/// or begin a comment. The characters U+2000 to U+207F are escaped in the same way. Among these are
/// the line ends of old scripts and all characters that change the direction of text. So the source
/// of the page looks like its real content. In JSON, all these characters occur only in strings. So
/// the parsed document is the same.
struct Shielded<'a> {
    out: &'a mut dyn Write,
    /// One or two bytes at the end of a write. They may begin a character U+2000 to U+207F, because
    /// a write may end within a character.
    held: Vec<u8>,
}

impl<'a> Shielded<'a> {
    fn new(out: &'a mut dyn Write) -> Self {
        let held = Vec::with_capacity(3);
        Self { out, held }
    }
}

impl Write for Shielded<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut plain = 0;
        for (at, &byte) in bytes.iter().enumerate() {
            match (self.held.as_slice(), byte) {
                ([], b'<' | b'>' | b'&') => {
                    self.out.write_all(&bytes[plain..at])?;
                    write!(self.out, "\\u{byte:04x}")?;
                    plain = at + 1;
                }
                ([], 0xe2) => {
                    self.out.write_all(&bytes[plain..at])?;
                    self.held.push(byte);
                    plain = at + 1;
                }
                ([], _) => {}
                ([_], 0x80 | 0x81) => {
                    self.held.push(byte);
                    plain = at + 1;
                }
                ([_, second], _) => {
                    let code = 0x2000 | u32::from(second & 0x3f) << 6 | u32::from(byte & 0x3f);
                    write!(self.out, "\\u{code:04x}")?;
                    self.held.clear();
                    plain = at + 1;
                }
                _ => {
                    // The held bytes are the beginning of another character of three bytes, which
                    // needs no escape.
                    self.out.write_all(&self.held)?;
                    self.held.clear();
                    plain = at;
                }
            }
        }
        self.out.write_all(&bytes[plain..])?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A report with shorter lists.
#[derive(Debug)]
enum Owned {
    Compare(CompareDocument),
    Covered(CoveredDocument),
    Dirs(DirsDocument),
    Groups(GroupsDocument),
    Find(FindDocument),
    Pairs(PairsDocument),
}

impl Owned {
    const fn as_report(&self) -> Report<'_> {
        match self {
            Self::Compare(document) => Report::Compare(document),
            Self::Covered(document) => Report::Covered(document),
            Self::Dirs(document) => Report::Dirs(document),
            Self::Groups(document) => Report::Groups(document),
            Self::Find(document) => Report::Find(document),
            Self::Pairs(document) => Report::Pairs(document),
        }
    }
}

/// Shortens the lists of a report to at most `limit` rows. Returns the report and a sentence about
/// the lost rows. Returns `None` if no list is longer.
fn cut(report: Report<'_>, limit: usize) -> Option<(Owned, String)> {
    let mut lost = 0;
    let mut shorten = |length: usize| {
        lost += length.saturating_sub(limit);
        length.min(limit)
    };
    let owned = match report {
        Report::Compare(document) => {
            let keep = shorten(document.body.entries.len());
            shorter(document, lost, |body| {
                // Rows of equal files are dropped first. The remaining rows keep their order.
                let is_same = |row: &CompareRow| row.class == CompareClass::Same;
                let others = body.entries.iter().filter(|row| !is_same(row)).count();
                let mut same = keep.saturating_sub(others);
                body.entries.retain(|row| {
                    let keep = !is_same(row) || same > 0;
                    same -= usize::from(is_same(row) && keep);
                    keep
                });
                body.entries.truncate(keep);
            })
            .map(Owned::Compare)
        }
        Report::Covered(document) => {
            let body = &document.body;
            let keep = [&body.linked, &body.copies, &body.recorded].map(|list| shorten(list.len()));
            let keep_missing = shorten(body.missing.len());
            shorter(document, lost, |body| {
                body.linked.truncate(keep[0]);
                body.copies.truncate(keep[1]);
                body.recorded.truncate(keep[2]);
                body.missing.truncate(keep_missing);
                body.near.truncate(limit);
            })
            .map(Owned::Covered)
        }
        Report::Dirs(document) => {
            let keep = shorten(document.body.pairs.len());
            shorter(document, lost, |body| body.pairs.truncate(keep)).map(Owned::Dirs)
        }
        Report::Find(document) => {
            let keep = shorten(document.body.results.len());
            shorter(document, lost, |body| body.results.truncate(keep)).map(Owned::Find)
        }
        Report::Pairs(document) => {
            let keep = shorten(document.body.pairs.len());
            shorter(document, lost, |body| body.pairs.truncate(keep)).map(Owned::Pairs)
        }
        Report::Groups(document) => {
            let body = &document.body;
            let sets = fit(body.identical.iter().map(|set| set.paths.len()), limit);
            let clusters = body.clusters.iter();
            let sizes = clusters.map(|cluster| cluster.members.len() + cluster.links.len());
            let clusters = fit(sizes, limit);
            lost = (body.identical.len() - sets) + (body.clusters.len() - clusters);
            shorter(document, lost, |body| {
                body.identical.truncate(sets);
                body.clusters.truncate(clusters);
            })
            .map(Owned::Groups)
        }
    }?;
    let note = format!(
        "{} are not in this page, which holds {} of a list: use --top or --format json.",
        if lost == 1 {
            "1 row".to_owned()
        } else {
            format!("{} rows", human_count(lost as u64))
        },
        human_count(limit as u64)
    );
    Some((owned, note))
}

/// Returns a copy whose lists `cut` has shortened. Returns `None` if no rows are lost.
fn shorter<B: Body + Clone>(
    document: &Document<B>,
    lost: usize,
    cut: impl FnOnce(&mut B),
) -> Option<Document<B>> {
    let mut copy = (lost > 0).then(|| document.clone())?;
    cut(&mut copy.body);
    Some(copy)
}

/// Returns how many of the first items have a total size of at most `limit`. The first item counts
/// even if it is larger.
fn fit(sizes: impl Iterator<Item = usize>, limit: usize) -> usize {
    let mut room = limit;
    let mut count = 0;
    for size in sizes {
        if size > room && count > 0 {
            break;
        }
        room = room.saturating_sub(size);
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests;
