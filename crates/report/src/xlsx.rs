//! Writes a workbook with outline groups, as in Forman et al. 2005, figures 5 and 6.
//!
//! 1. **Numbers are numbers**: sizes, counts, shares in percent format, times as dates in UTC. A
//!    share is cut to tenths of a percent, and only identical files have 100 %.
//! 2. **Names are strings**, whatever they begin with. No cell is a formula or a link. Hidden
//!    characters are escaped (`crate::escaping`).
//! 3. **A sheet has at most 1,048,576 rows.** Further rows are in a further sheet, `Clusters 2`,
//!    with its own header. A group of up to 50,000 rows is not split if it fits into one sheet.
//! 4. **Flat sheets have filters.** Sheets with groups have no filters, because a filter would
//!    separate files from their group. `LibreOffice` also treats a folded row within the range of a
//!    filter as filtered.
//! 5. **Cells are held in memory until the end**: half a gigabyte for a million files. The crate
//!    that writes the workbook could also write row by row, but would then lose the outline levels.

use std::io::{self, Write};

use resemble_proto::number::Fraction;
use rust_xlsxwriter::{
    Color, DocProperties, ExcelDateTime, Format, FormatAlign, FormatBorder, Workbook, Worksheet,
    XlsxError,
};

use crate::document::{Extras, Report};
use crate::escaping::visible;
use crate::header::{self, ReportHeader};
use crate::table::{Align, Field};
use crate::worksheets::{self, Sheet, SheetSink};

/// The maximum number of rows of a sheet, with the header.
const SHEET_ROWS: u32 = 1_048_576;

/// The maximum number of characters of a cell. Every spreadsheet program accepts this many.
const CELL_CHARS: usize = 32_000;

/// The number of rows above the data. They have an explanation of the sheet, and the titles of the
/// columns.
const HEADER_ROWS: u32 = 2;

/// Writes the workbook of a report made at `now`, in seconds since 1970.
pub fn write(
    out: &mut dyn Write,
    report: Report<'_>,
    extras: &Extras<'_>,
    now: u64,
) -> io::Result<()> {
    write_limited(out, report, extras, now, SHEET_ROWS)
}

fn write_limited(
    out: &mut dyn Write,
    report: Report<'_>,
    extras: &Extras<'_>,
    now: u64,
    sheet_rows: u32,
) -> io::Result<()> {
    let header = header::of(report, extras, now);
    let mut book = Book {
        workbook: Workbook::new(),
        formats: Formats::new(),
        group: Vec::new(),
        sheet: None,
        sheet_rows,
    };
    let properties = DocProperties::new()
        .set_title(&header.title)
        .set_subject(&header.about)
        .set_comment(format!("resemble {}", resemble_proto::VERSION));
    book.workbook.set_properties(&match time(now as i64) {
        Some(time) => properties.set_creation_datetime(&time),
        None => properties,
    });
    worksheets::walk(report, extras, &mut book)?;
    book.end()?;
    book.about(&header)?;
    let bytes = book.workbook.save_to_buffer().map_err(failed)?;
    out.write_all(&bytes)
}

fn failed(error: XlsxError) -> io::Error {
    match error {
        XlsxError::IoError(error) => error,
        other => io::Error::other(other),
    }
}

fn time(seconds: i64) -> Option<ExcelDateTime> {
    ExcelDateTime::from_timestamp(seconds).ok()
}

/// The formats of cells.
struct Formats {
    lead: Format,
    title: Format,
    title_right: Format,
    key: Format,
    text: Format,
    name: Format,
    count: Format,
    share: Format,
    time: Format,
    /// The formats of rows that have other rows below them. There is a format for text, for counts,
    /// for shares and for times.
    strong: [Format; 4],
}

impl Formats {
    fn new() -> Self {
        let plain = || Format::new().set_align(FormatAlign::Top);
        let title = || plain().set_bold().set_border_bottom(FormatBorder::Thin);
        let count = || plain().set_num_format("#,##0");
        let share = || plain().set_num_format("0.0%");
        let time = || {
            plain()
                .set_num_format("yyyy-mm-dd hh:mm")
                .set_align(FormatAlign::Right)
        };
        let strong = |format: Format| {
            format
                .set_bold()
                .set_background_color(Color::RGB(0xf1_f3_f6))
        };
        Self {
            lead: plain().set_italic().set_font_color(Color::RGB(0x5c_67_78)),
            title_right: title().set_align(FormatAlign::Right),
            title: title().set_indent(1),
            key: plain().set_font_color(Color::RGB(0x5c_67_78)),
            text: plain(),
            name: plain().set_indent(1),
            count: count(),
            share: share(),
            time: time(),
            strong: [
                strong(plain().set_indent(1)),
                strong(count()),
                strong(share()),
                strong(time()),
            ],
        }
    }
}

/// A row that waits until its group ends: its level and its cells.
type Waiting = (u8, Vec<Value>);

/// The value of a cell. Unlike a `Field`, it borrows nothing from the report.
enum Value {
    Empty,
    Text(String),
    Count(u64),
    Share(f64),
    Time(i64),
}

struct Current {
    sheet: Sheet,
    /// The number of earlier sheets of the same kind, which are full.
    part: u32,
    /// The number of the row that is written next in this sheet.
    row: u32,
    worksheet: usize,
}

struct Book {
    workbook: Workbook,
    formats: Formats,
    /// The group that is collected now: a row of level 0, and the rows below it.
    group: Vec<Waiting>,
    sheet: Option<Current>,
    sheet_rows: u32,
}

impl SheetSink for Book {
    fn sheet(&mut self, sheet: &Sheet) -> io::Result<()> {
        self.end()?;
        self.open(sheet, 0).map_err(failed)
    }

    fn row(&mut self, level: u8, cells: &[Field<'_>]) -> io::Result<()> {
        // A long group is written in several pieces, so that no piece is longer than a sheet.
        let long = self.group.len() as u32 >= self.sheet_rows.min(100_000) / 2;
        if level == 0 || long {
            self.write_group().map_err(failed)?;
        }
        self.group.push((level, cells.iter().map(value).collect()));
        Ok(())
    }
}

fn value(cell: &Field<'_>) -> Value {
    let clipped = |text: String| match text.char_indices().nth(CELL_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    };
    match *cell {
        // No worksheet has columns with ranges or unrounded numbers.
        Field::Nothing
        | Field::Text("")
        | Field::Flag(false, _)
        | Field::Ranges(_)
        | Field::Real(_) => Value::Empty,
        Field::Text(text) | Field::Flag(true, text) => {
            Value::Text(clipped(visible(text.as_bytes())))
        }
        Field::Name(name) => Value::Text(clipped(visible(name))),
        Field::Count(count) => Value::Count(count),
        Field::Share(share, identical) => {
            tenths(share, identical).map_or(Value::Empty, Value::Share)
        }
        Field::Time(seconds) => Value::Time(seconds),
    }
}

/// Returns a share that is cut to tenths of a percent. Only identical files have the share 1.
fn tenths(share: Fraction, identical: bool) -> Option<f64> {
    let tenths = share.millionths()? / 1000;
    Some(f64::from(if identical { 1000 } else { tenths.min(999) }) / 1000.0)
}

impl Book {
    fn open(&mut self, sheet: &Sheet, part: u32) -> Result<(), XlsxError> {
        let at = self.workbook.worksheets().len();
        let worksheet = self.workbook.add_worksheet();
        worksheet.set_name(match part {
            0 => sheet.name.to_owned(),
            part => format!("{} {}", sheet.name, part + 1),
        })?;
        worksheet.group_symbols_above(true);
        worksheet.set_landscape();
        worksheet.set_print_fit_to_pages(1, 0);
        worksheet.set_repeat_rows(HEADER_ROWS - 1, HEADER_ROWS - 1)?;
        worksheet.set_freeze_panes(HEADER_ROWS, 0)?;
        worksheet.write_string_with_format(0, 0, sheet.lead, &self.formats.lead)?;
        for (column, (title, width, align)) in (0u16..).zip(sheet.columns()) {
            worksheet.set_column_width(column, f64::from(width))?;
            let title_format = match align {
                Align::Left => &self.formats.title,
                Align::Right => &self.formats.title_right,
            };
            worksheet.write_string_with_format(1, column, title, title_format)?;
        }
        self.sheet = Some(Current {
            sheet: *sheet,
            part,
            row: HEADER_ROWS,
            worksheet: at,
        });
        Ok(())
    }

    /// Writes the waiting rows, and ends the sheet.
    fn end(&mut self) -> io::Result<()> {
        self.write_group().map_err(failed)?;
        self.close().map_err(failed)
    }

    fn close(&mut self) -> Result<(), XlsxError> {
        let Some(current) = self.sheet.take() else {
            return Ok(());
        };
        let worksheet = self.workbook.worksheet_from_index(current.worksheet)?;
        if current.row > HEADER_ROWS && current.sheet.folded == 0 {
            let last = (current.sheet.columns().count() - 1) as u16;
            worksheet.autofilter(HEADER_ROWS - 1, 0, current.row - 1, last)?;
        } else if current.row == HEADER_ROWS {
            worksheet.write_string_with_format(current.row, 0, "None.", &self.formats.key)?;
        }
        Ok(())
    }

    fn write_group(&mut self) -> Result<(), XlsxError> {
        let group = std::mem::take(&mut self.group);
        let Some(current) = &self.sheet else {
            return Ok(());
        };
        let length = group.len() as u32;
        if length == 0 {
            return Ok(());
        }
        // The row after a folded group has the mark of the fold, so one row is reserved for it.
        let room = (self.sheet_rows - 1).saturating_sub(current.row);
        if length > room {
            let (sheet, part) = (current.sheet, current.part);
            self.close()?;
            self.open(&sheet, part + 1)?;
        }
        let Some(current) = &mut self.sheet else {
            return Ok(());
        };
        let worksheet = self.workbook.worksheet_from_index(current.worksheet)?;
        let levels: Vec<u8> = group.iter().map(|(level, _)| *level).collect();
        outline(worksheet, current.row, &levels, current.sheet.folded)?;
        for (at, (level, cells)) in group.iter().enumerate() {
            let has_below = levels.get(at + 1).is_some_and(|next| next > level);
            write_row(worksheet, current.row, cells, &self.formats, has_below)?;
            current.row += 1;
        }
        Ok(())
    }

    fn about(&mut self, header: &ReportHeader) -> io::Result<()> {
        let worksheet = self.workbook.add_worksheet();
        about(worksheet, header, &self.formats).map_err(failed)
    }
}

/// Sets the outline levels of the rows from `first` on. Rows whose level is `folded` or deeper are
/// hidden.
fn outline(
    worksheet: &mut Worksheet,
    first: u32,
    levels: &[u8],
    folded: u8,
) -> Result<(), XlsxError> {
    let mut row = first;
    for run in levels.chunk_by(|a, b| (*a >= folded) == (*b >= folded)) {
        let next = row + run.len() as u32;
        let hidden = run[0] >= folded && folded > 0;
        for (row, level) in (row..next).zip(run) {
            // This call must precede `group_rows`. To find the number of levels of a sheet, the
            // crate looks only at rows that have a property.
            if hidden {
                worksheet.set_row_hidden(row)?;
            }
            for _ in u8::from(hidden)..*level {
                worksheet.group_rows(row, row)?;
            }
        }
        if hidden {
            // This call adds one level to the rows. It also puts a mark on the next row, as
            // `LibreOffice` expects.
            worksheet.group_rows_collapsed(row, next - 1)?;
        }
        row = next;
    }
    Ok(())
}

fn write_row(
    worksheet: &mut Worksheet,
    row: u32,
    cells: &[Value],
    formats: &Formats,
    strong: bool,
) -> Result<(), XlsxError> {
    let [text, count, share, time_format] = if strong {
        formats.strong.each_ref()
    } else {
        [&formats.name, &formats.count, &formats.share, &formats.time]
    };
    for (column, cell) in (0u16..).zip(cells) {
        match cell {
            Value::Empty if strong => worksheet.write_blank(row, column, text)?,
            Value::Empty => continue,
            Value::Text(words) => worksheet.write_string_with_format(row, column, words, text)?,
            // Spreadsheets store numbers as floats. They are exact up to 2^53, which is 9
            // petabytes.
            Value::Count(number) => {
                worksheet.write_number_with_format(row, column, *number as f64, count)?
            }
            Value::Share(part) => worksheet.write_number_with_format(row, column, *part, share)?,
            Value::Time(seconds) => match time(*seconds) {
                Some(time) => {
                    worksheet.write_datetime_with_format(row, column, time, time_format)?
                }
                None => {
                    worksheet.write_string_with_format(row, column, seconds.to_string(), text)?
                }
            },
        };
    }
    Ok(())
}

fn about(
    worksheet: &mut Worksheet,
    header: &ReportHeader,
    formats: &Formats,
) -> Result<(), XlsxError> {
    worksheet.set_name("About")?;
    worksheet.set_column_width(0, 44)?;
    worksheet.set_column_width(1, 90)?;
    let mut row = 0;
    let mut put = |key: &str, value: &str, format: &Format| -> Result<(), XlsxError> {
        worksheet.write_string_with_format(row, 0, key, &formats.key)?;
        worksheet.write_string_with_format(row, 1, value, format)?;
        row += 1;
        Ok(())
    };
    put("Report", &header.title, &formats.strong[0])?;
    put("Of", &header.about, &formats.text)?;
    if let Some((_, verdict)) = &header.verdict {
        put("Answer", verdict, &formats.text)?;
    }
    for (value, label) in &header.figures {
        put(label, value, &formats.text)?;
    }
    for note in header.warnings.iter().chain(&header.notes) {
        put("Note", note, &formats.text)?;
    }
    for (key, value) in &header.made {
        put(key, value, &formats.text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
