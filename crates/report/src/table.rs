//! Defines the columns of each kind of row, and writes rows for other programs as TSV or CSV.
//!
//! A kind of row defines its columns in one place ([`crate::columns!`]), with their types and their
//! widths in worksheets. Lists, tables, workbooks and the plain tables of pages are all made from
//! these columns.
//!
//! * TSV has no header row. In names, tab, newline and backslash are written `\t`, `\n`, `\\`. Many
//!   readers treat a line that starts with `#` as a comment. So a relative name that starts with
//!   `#` is prefixed with `./`, which names the same file.
//! * CSV has a header row. Fields are quoted as in RFC 4180; lines end with a newline alone, as
//!   Unix programs expect.
//!
//! In both formats, names are bytes: a name that is not UTF-8 is written unchanged.

use std::fmt::Write as _;
use std::io::{self, Write};

use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;

/// One value of a row.
#[derive(Clone, Copy, Debug)]
pub enum Field<'a> {
    /// No value: the column does not apply to the row.
    Nothing,
    /// A name: any bytes.
    Name(&'a [u8]),
    /// Text of this program, or a message of the system.
    Text(&'a str),
    /// A count.
    Count(u64),
    /// A time in seconds since 1970.
    Time(i64),
    /// A share of two files, and true if the files are identical. The cell is empty if the files
    /// are too small to judge.
    Share(Fraction, bool),
    /// Yes or no, with a word. A worksheet shows the word for yes and nothing for no.
    Flag(bool, &'static str),
    /// Ranges such as `0-1234 5000-6000`. Each is the offset of its first byte and the offset after
    /// its last byte.
    Ranges(&'a [[u64; 2]]),
    /// An unrounded number.
    Real(f64),
}

/// Returns the field of a name, if there is one.
pub fn name<'a>(path: impl Into<Option<&'a PathText>>) -> Field<'a> {
    let path = path.into();
    path.map_or(Field::Nothing, |path| Field::Name(path.as_bytes()))
}

/// Returns the field of a text, if there is one.
pub fn text<'a>(text: impl Into<Option<&'a str>>) -> Field<'a> {
    text.into().map_or(Field::Nothing, Field::Text)
}

/// Returns the field of a count, if there is one.
pub fn count(count: impl Into<Option<u64>>) -> Field<'static> {
    count.into().map_or(Field::Nothing, Field::Count)
}

/// Returns the field of a time in seconds since 1970, if there is one.
pub fn time(seconds: impl Into<Option<i64>>) -> Field<'static> {
    seconds.into().map_or(Field::Nothing, Field::Time)
}

/// Returns the field of a share of files that are not identical, if there is one.
pub fn share(share: impl Into<Option<Fraction>>) -> Field<'static> {
    share_of(share, false)
}

/// Returns the field of a share of files that may be identical, if there is one.
pub fn share_of(share: impl Into<Option<Fraction>>, identical: bool) -> Field<'static> {
    let share = share.into();
    share.map_or(Field::Nothing, |share| Field::Share(share, identical))
}

/// Returns an empty field, for a column in which only the summary rows above have a value.
pub const fn blank() -> Field<'static> {
    Field::Nothing
}

/// Returns the field of a yes or no. A worksheet has no word for the value.
pub const fn yes(yes: bool) -> Field<'static> {
    Field::Flag(yes, "")
}

/// Returns the field of a yes or no. `word` is the word for yes in a worksheet.
pub const fn flag(yes: bool, word: &'static str) -> Field<'static> {
    Field::Flag(yes, word)
}

/// Returns the field of ranges of bytes.
pub const fn ranges(ranges: &[[u64; 2]]) -> Field<'_> {
    Field::Ranges(ranges)
}

/// Returns the field of an unrounded number, if there is one.
pub fn real(number: Option<f64>) -> Field<'static> {
    number.map_or(Field::Nothing, Field::Real)
}

/// The alignment of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Names and words.
    Left,
    /// Numbers and times.
    Right,
}

/// A column of a kind of row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// The name of the column in tables, which is also its name in JSON. A column without a name is
    /// only in worksheets.
    pub name: Option<&'static str>,
    /// True if the column was added later. Such columns come last, and TSV does not have them. TSV
    /// has no header row, so its readers rely on the number of columns.
    pub later: bool,
    /// The title of the column in worksheets, and its width there in characters. A column without a
    /// title is only in tables.
    pub title: Option<(&'static str, u16)>,
    /// The alignment of its values.
    pub align: Align,
}

/// A kind of row with named columns.
pub trait Columns {
    /// The columns. Their order never changes, because readers identify columns by position.
    const COLUMNS: &'static [Column];

    /// Returns the values of all columns, in their order.
    fn values(&self) -> Vec<Field<'_>>;
}

/// Returns the values of the columns that `is_wanted` accepts.
pub(crate) fn values_of<R: Columns>(
    row: &R,
    is_wanted: impl Fn(&Column) -> bool,
) -> Vec<Field<'_>> {
    let mut columns = R::COLUMNS.iter();
    let mut values = row.values();
    values.retain(|_| columns.next().is_some_and(&is_wanted));
    values
}

/// Defines the columns of a type of rows: implements [`Columns`](crate::table::Columns) for it.
/// Each line of the macro is one column. It has the name of the column in tables, its title and
/// width in worksheets, or both. A column marked `@later` is written to CSV and not to TSV. The
/// last item of the line is the value, as a call of a function of [`crate::table`] such as `count`.
/// This function also determines the alignment of the column.
///
/// ```
/// use resemble_report::table::{Columns, Style, write_header, write_rows};
///
/// struct Entry { name: &'static str, bytes: u64, pages: Option<u64> }
///
/// resemble_report::columns! { Entry: row =>
///     "name" ["Name", 40] text(row.name);
///     "bytes" ["Size", 12] count(row.bytes);
///     ["KiB", 9] count(row.bytes / 1024);
///     "pages" @later count(row.pages);
/// }
///
/// let mut out = Vec::new();
/// write_header::<Entry>(&mut out)?;
/// let rows = [Entry { name: "a", bytes: 7, pages: None }];
/// write_rows(&mut out, Style::Csv, &rows, b'\n')?;
/// assert_eq!(out, b"name,bytes,pages\na,7,\n");
/// # std::io::Result::Ok(())
/// ```
#[macro_export]
macro_rules! columns {
    ($of:ty: $row:ident => $(
        $($name:literal)? $(@$later:ident)? $([$title:literal, $width:literal])?
        $kind:ident($($value:tt)*);
    )*) => {
        impl $crate::table::Columns for $of {
            const COLUMNS: &'static [$crate::table::Column] = &[$($crate::table::Column {
                name: $crate::columns!(@some $($name)?),
                later: $crate::columns!(@is $($later)?),
                title: $crate::columns!(@some $(($title, $width))?),
                align: $crate::columns!(@align $kind),
            }),*];

            fn values(&self) -> Vec<$crate::table::Field<'_>> {
                let $row = self;
                vec![$($crate::table::$kind($($value)*)),*]
            }
        }
    };
    (@some) => { None };
    (@some $some:expr) => { Some($some) };
    (@is) => { false };
    (@is later) => { true };
    (@align name) => { $crate::table::Align::Left };
    (@align text) => { $crate::table::Align::Left };
    (@align flag) => { $crate::table::Align::Left };
    (@align $number:ident) => { $crate::table::Align::Right };
}

/// The format of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Tab-separated.
    Tsv,
    /// Comma-separated.
    Csv,
}

/// Writes rows as a table. CSV begins with a header row. `end` follows each row.
pub fn write_table<R: Columns>(
    out: &mut dyn Write,
    style: Style,
    rows: &[R],
    end: u8,
) -> io::Result<()> {
    if style == Style::Csv {
        write_header::<R>(out)?;
    }
    write_rows(out, style, rows, end)
}

/// Writes the header row of CSV.
pub fn write_header<R: Columns>(out: &mut dyn Write) -> io::Result<()> {
    let names: Vec<_> = R::COLUMNS.iter().filter_map(|column| column.name).collect();
    writeln!(out, "{}", names.join(","))
}

/// Writes rows without the header row of CSV. `end` follows each row.
pub fn write_rows<R: Columns>(
    out: &mut dyn Write,
    style: Style,
    rows: &[R],
    end: u8,
) -> io::Result<()> {
    let is_in = |column: &Column| column.name.is_some() && (style == Style::Csv || !column.later);
    rows.iter()
        .try_for_each(|row| write_row(out, style, &values_of(row, is_in), end))
}

/// Writes a row and `end` after it.
pub fn write_row(out: &mut dyn Write, style: Style, fields: &[Field], end: u8) -> io::Result<()> {
    for (i, field) in fields.iter().enumerate() {
        match style {
            _ if i == 0 => {}
            Style::Tsv => out.write_all(b"\t")?,
            Style::Csv => out.write_all(b",")?,
        }
        match *field {
            Field::Nothing => {}
            Field::Name(name) => write_name(out, style, name, i == 0)?,
            Field::Text(text) => write_name(out, style, text.as_bytes(), i == 0)?,
            Field::Count(count) => write!(out, "{count}")?,
            Field::Time(seconds) => write!(out, "{seconds}")?,
            Field::Share(share, _) => write!(out, "{share}")?,
            Field::Flag(yes, _) => write!(out, "{yes}")?,
            Field::Ranges(ranges) => out.write_all(in_words(ranges).as_bytes())?,
            Field::Real(number) => write!(out, "{number}")?,
        }
    }
    out.write_all(&[end])
}

/// Formats ranges as `0-1234 5000-6000`. Each is the offset of its first byte and the offset after
/// its last byte.
pub(crate) fn in_words(ranges: &[[u64; 2]]) -> String {
    let mut text = String::new();
    for [from, to] in ranges {
        let blank = if text.is_empty() { "" } else { " " };
        // Writing to a string does not fail.
        write!(text, "{blank}{from}-{to}").unwrap_or_default();
    }
    text
}

fn write_name(out: &mut dyn Write, style: Style, name: &[u8], is_first: bool) -> io::Result<()> {
    match style {
        Style::Tsv => write_tsv(out, name, is_first),
        Style::Csv => write_csv(out, name),
    }
}

fn write_tsv(out: &mut dyn Write, name: &[u8], is_first: bool) -> io::Result<()> {
    if is_first && name.starts_with(b"#") {
        out.write_all(b"./")?;
    }
    let is_odd = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\\');
    for piece in name.split_inclusive(is_odd) {
        let (plain, odd) = match piece.split_last() {
            Some((odd, plain)) if is_odd(odd) => (plain, Some(odd)),
            _ => (piece, None),
        };
        out.write_all(plain)?;
        match odd {
            Some(b'\t') => out.write_all(br"\t")?,
            Some(b'\n') => out.write_all(br"\n")?,
            Some(_) => out.write_all(br"\\")?,
            None => {}
        }
    }
    Ok(())
}

fn write_csv(out: &mut dyn Write, name: &[u8]) -> io::Result<()> {
    if !name
        .iter()
        .any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r'))
    {
        return out.write_all(name);
    }
    out.write_all(b"\"")?;
    for byte in name {
        out.write_all(if *byte == b'"' {
            b"\"\""
        } else {
            std::slice::from_ref(byte)
        })?;
    }
    out.write_all(b"\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(style: Style, names: &[&[u8]]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut fields: Vec<_> = names.iter().map(|name| Field::Name(name)).collect();
        fields.push(Field::Count(7));
        write_row(&mut out, style, &fields, b'\n').unwrap();
        out
    }

    #[test]
    fn tsv_escapes_what_would_break_a_line() {
        assert_eq!(
            row(Style::Tsv, &[b"a\tb\nc\\d", b"x"]),
            b"a\\tb\\nc\\\\d\tx\t7\n"
        );
        assert_eq!(row(Style::Tsv, &[b"\xff\x1b\r,\""]), b"\xff\x1b\r,\"\t7\n");
    }

    #[test]
    fn a_name_is_no_comment() {
        assert_eq!(row(Style::Tsv, &[b"#a", b"#b"]), b"./#a\t#b\t7\n");
    }

    #[test]
    fn csv_quotes_what_would_break_a_field() {
        assert_eq!(
            row(Style::Csv, &[b"a,b", b"c\"d", b"e\nf"]),
            b"\"a,b\",\"c\"\"d\",\"e\nf\",7\n"
        );
        assert_eq!(row(Style::Csv, &[b"a b\t\xff", b""]), b"a b\t\xff,,7\n");
    }
}
