//! Reads the sheets of workbooks row by row. The text of a cell is the value as it is shown.
//!
//! Formulas are left out, because their values are stored, too. Hidden rows, columns and sheets are
//! read, because formulas use their cells, and every user of the file can show them.

use std::collections::BTreeMap;
use std::io::Read;

use super::cells::{Epoch, NumberFormat, general};
use super::package::{Relation, in_order, relations};
use super::word::{Hiding, paragraphs};
use super::xml::{Element, Node, Xml};
use super::zip::Archive;
use crate::read::{Take, Text};

/// The data of a workbook that cells refer to.
#[derive(Debug, Default)]
struct Workbook {
    strings: Vec<String>,
    /// The number (id) of the number format of each style.
    styles: Vec<u32>,
    formats: BTreeMap<u32, NumberFormat>,
    epoch: Epoch,
}

/// Reads the sheets in the order of the workbook. The comments of a sheet follow it.
pub(super) fn read(
    zip: &Archive<'_>,
    main: &[u8],
    related: &[Relation],
    to: &mut Text<'_>,
) -> Take {
    let mut book = Workbook {
        strings: shared_strings(zip, related)?,
        epoch: epoch(zip, main)?,
        ..Workbook::default()
    };
    book.read_styles(zip, related)?;
    for sheet in in_order(zip, main, "sheet", related)? {
        cells(zip, &sheet, &book, to)?;
        for part in relations(zip, &sheet)? {
            if part.kind == "comments" {
                paragraphs(zip, &part.target, &mut Hiding::default(), to)?;
                to.push_char('\n')?;
            }
        }
    }
    Ok(())
}

/// Returns the day from which the workbook counts days.
fn epoch(zip: &Archive<'_>, main: &[u8]) -> Take<Epoch> {
    let Some(entry) = zip.find(main) else {
        return Ok(Epoch::Of1900);
    };
    let mut xml = Xml::new(zip.reader(entry)?)?;
    loop {
        match xml.next()? {
            Node::Open(element) if element.name() == "workbookPr" => {
                let later = element.attribute("date1904");
                let is_later = later.is_some_and(|later| later == "1" || later == "true");
                return Ok(if is_later {
                    Epoch::Of1904
                } else {
                    Epoch::Of1900
                });
            }
            Node::End => return Ok(Epoch::Of1900),
            _ => {}
        }
    }
}

impl Workbook {
    fn read_styles(&mut self, zip: &Archive<'_>, related: &[Relation]) -> Take {
        let part = related.iter().find(|part| part.kind == "styles");
        let Some(entry) = part.and_then(|part| zip.find(&part.target)) else {
            return Ok(());
        };
        let mut xml = Xml::new(zip.reader(entry)?)?;
        let mut of_cells = false;
        let number = |element: &Element<'_>| element.attribute("numFmtId")?.parse().ok();
        loop {
            match xml.next()? {
                Node::Open(element) => match element.name() {
                    "numFmt" => {
                        let code = element.attribute("formatCode");
                        if let (Some(number), Some(code)) = (number(&element), code) {
                            self.formats.insert(number, NumberFormat::parse(&code));
                        }
                    }
                    "cellXfs" => of_cells = true,
                    "xf" if of_cells => self.styles.push(number(&element).unwrap_or(0)),
                    _ => {}
                },
                Node::Close(element) if element.name() == "cellXfs" => of_cells = false,
                Node::End => break,
                _ => {}
            }
        }
        for &number in &self.styles {
            let format = self.formats.entry(number);
            format.or_insert_with(|| NumberFormat::built_in(number));
        }
        Ok(())
    }

    /// Returns the number format of cells with this style. Returns `None` if numbers are shown
    /// unchanged.
    fn format(&self, style: Option<usize>) -> Option<&NumberFormat> {
        let number = self
            .styles
            .get(style.unwrap_or(0))
            .filter(|number| **number > 0)?;
        self.formats.get(number)
    }
}

/// Returns the shared texts. Cells refer to them by their index.
fn shared_strings(zip: &Archive<'_>, relations: &[Relation]) -> Take<Vec<String>> {
    let part = relations.iter().find(|part| part.kind == "sharedStrings");
    let Some(entry) = part.and_then(|part| zip.find(&part.target)) else {
        return Ok(Vec::new());
    };
    let mut xml = Xml::new(zip.reader(entry)?.take(zip.limits.memory / 4))?;
    let mut all = Vec::new();
    let (mut current, mut in_text) = (String::new(), false);
    loop {
        match xml.next()? {
            Node::Open(element) => match element.name() {
                "t" => in_text = true,
                // `rPh` is the pronunciation, which is left out.
                "rPh" => xml.skip()?,
                _ => {}
            },
            Node::Close(element) => match element.name() {
                "t" => in_text = false,
                "si" => all.push(std::mem::take(&mut current)),
                _ => {}
            },
            Node::Text(text) if in_text => current.push_str(&text),
            Node::End => return Ok(all),
            _ => {}
        }
    }
}

/// A cell that has begun and not ended.
#[derive(Debug, Default)]
struct Cell {
    /// The type of the value: a letter or a word. It is empty for a number.
    kind: String,
    style: Option<usize>,
    value: String,
}

impl Cell {
    fn shown(&self, book: &Workbook) -> String {
        let format = book.format(self.style);
        let value = self.value.trim();
        let number = || value.parse::<f64>().ok();
        let text = |text: &str| match format {
            Some(format) if !format.shows_texts() => String::new(),
            _ => text.to_owned(),
        };
        match (self.kind.as_str(), number()) {
            ("s", _) => {
                let string = value
                    .parse()
                    .ok()
                    .and_then(|at: usize| book.strings.get(at));
                text(string.map_or("", String::as_str))
            }
            ("b", _) if value == "1" || value == "true" => "TRUE".to_owned(),
            ("b", _) if value == "0" || value == "false" => "FALSE".to_owned(),
            ("" | "n", Some(number)) => match format {
                Some(format) => format.shown(number, book.epoch),
                None => general(number),
            },
            _ => text(&self.value),
        }
    }
}

/// Reads the cells of a sheet, row by row.
fn cells(zip: &Archive<'_>, name: &[u8], book: &Workbook, to: &mut Text<'_>) -> Take {
    let Some(entry) = zip.find(name) else {
        return Ok(());
    };
    let mut xml = Xml::new(zip.reader(entry)?)?;
    let (mut cell, mut in_value) = (Cell::default(), false);
    loop {
        match xml.next()? {
            Node::Open(element) => match element.name() {
                "c" => {
                    cell = Cell {
                        kind: element.attribute("t").unwrap_or_default(),
                        style: element.attribute("s").and_then(|style| style.parse().ok()),
                        value: String::new(),
                    }
                }
                "v" | "t" => in_value = true,
                // `rPh` is the pronunciation, and `f` is the formula. These elements are left out.
                "rPh" | "f" => xml.skip()?,
                _ => {}
            },
            Node::Close(element) => match element.name() {
                "v" | "t" => in_value = false,
                "c" => {
                    to.push(&cell.shown(book))?;
                    to.push_char('\t')?;
                    cell.value.clear();
                }
                "row" => to.push_char('\n')?,
                _ => {}
            },
            Node::Text(text) if in_value => cell.value.push_str(&text),
            Node::End => return Ok(()),
            _ => {}
        }
    }
}
