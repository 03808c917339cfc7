//! The rows of `templates`.

use resemble_proto::message::TemplateRow;
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;

use super::Row;
use crate::human::human_count;
use crate::lines::{Cell, TextStyle, Tint};
use crate::table::Field;

impl Row for TemplateRow {
    const COLUMNS: &'static [&'static str] = &[
        "id",
        "name",
        "files",
        "share",
        "template",
        "chunks",
        "bytes",
        "fingerprints",
    ];

    fn fields(&self) -> Vec<Field<'_>> {
        vec![
            Field::Name(self.id.as_bytes()),
            Field::Name(self.name.as_deref().unwrap_or_default().as_bytes()),
            Field::Count(self.files),
            Field::Share(self.share),
            Field::Share(self.template),
            Field::Count(self.chunks),
            Field::Count(self.bytes),
            Field::Count(self.fingerprints),
        ]
    }

    fn cells(&self, style: TextStyle) -> Vec<Cell> {
        let percent = self.template.percent(self.template == Fraction::ONE);
        let name = PathText::from_bytes(self.name.clone().unwrap_or_default());
        let mut cells = vec![
            Cell::left(self.id.clone(), Tint::Plain),
            Cell::right(format!("{}%", percent.unwrap_or(0)), Tint::Plain),
            Cell::left(format!("of {} files", human_count(self.files)), Tint::Plain),
            Cell::left(
                format!(
                    "{} chunks, {} fingerprints",
                    human_count(self.chunks),
                    human_count(self.fingerprints)
                ),
                Tint::Faint,
            ),
            style.name(&name, Tint::Plain),
        ];
        if self.ignored {
            let text = "no effect: made with other parameters";
            cells.push(Cell::left(text.to_owned(), Tint::Faint));
        }
        cells
    }
}
