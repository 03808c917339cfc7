//! Rows for other programs, as TSV or CSV.
//!
//! * TSV has no header row. In names, tab, newline and backslash are written `\t`, `\n`, `\\`. Many
//!   readers of TSV take a line that starts with `#` for a comment, so a first field that starts so
//!   (a relative name) is written with `./` in front, which names the same file.
//! * CSV has a header row. Fields are quoted as RFC 4180 says; lines end with a newline alone, as
//!   every Unix program expects.
//!
//! Names are bytes in both: a name that is not UTF-8 goes through unchanged.

use std::io::{self, Write};

use resemble_proto::number::Fraction;

/// One value of a row.
#[derive(Clone, Copy, Debug)]
pub enum Field<'a> {
    /// A name: any bytes.
    Name(&'a [u8]),
    /// A word of this program.
    Word(&'static str),
    /// A count.
    Count(u64),
    /// A number that may be negative.
    Number(i64),
    /// A column that does not apply.
    Nothing,
    /// A share; empty if the files are too small to judge.
    Share(Fraction),
    /// Ranges as `0-1234 5000-6000`: the first byte, and the one after the last.
    Ranges(&'a [[u64; 2]]),
    /// A number as it is, unrounded; empty without one.
    Real(Option<f64>),
}

/// The format of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Tab-separated.
    Tsv,
    /// Comma-separated.
    Csv,
}

/// Writes a row and `end` after it.
pub fn write_row(out: &mut dyn Write, style: Style, fields: &[Field], end: u8) -> io::Result<()> {
    for (i, field) in fields.iter().enumerate() {
        match style {
            _ if i == 0 => {}
            Style::Tsv => out.write_all(b"\t")?,
            Style::Csv => out.write_all(b",")?,
        }
        match (field, style) {
            (Field::Word(word), _) => out.write_all(word.as_bytes())?,
            (Field::Count(count), _) => write!(out, "{count}")?,
            (Field::Number(number), _) => write!(out, "{number}")?,
            (Field::Nothing | Field::Real(None), _) => {}
            (Field::Share(share), _) => {
                if let Some(digits) = share.digits() {
                    out.write_all(&digits)?;
                }
            }
            (Field::Ranges(ranges), _) => {
                for (at, [from, to]) in ranges.iter().enumerate() {
                    let blank = if at == 0 { "" } else { " " };
                    write!(out, "{blank}{from}-{to}")?;
                }
            }
            (Field::Real(Some(number)), _) => write!(out, "{number}")?,
            (Field::Name(name), Style::Tsv) => write_tsv(out, name, i == 0)?,
            (Field::Name(name), Style::Csv) => write_csv(out, name)?,
        }
    }
    out.write_all(&[end])
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
