//! The rows of `templates`.

use resemble_proto::message::TemplateRow;
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;

use super::Row;
use crate::columns;
use crate::human::human_count;
use crate::lines::{Cell, TextStyle, Tint};

columns! { TemplateRow: row =>
    "id" text(row.id.as_str());
    "name" text(row.name.as_deref());
    "files" count(row.files);
    "share" share(row.share);
    "template" share(row.template);
    "chunks" count(row.chunks);
    "bytes" count(row.bytes);
    "fingerprints" count(row.fingerprints);
    "shingles" count(row.shingles);
}

impl Row for TemplateRow {
    fn cells(&self, style: TextStyle) -> Vec<Cell> {
        let percent = self.template.percent(self.template == Fraction::ONE);
        let name = PathText::from_bytes(self.name.clone().unwrap_or_default());
        let mut cells = vec![
            Cell::left(self.id.clone(), Tint::Plain),
            Cell::right(format!("{}%", percent.unwrap_or(0)), Tint::Plain),
            Cell::left(format!("of {} files", human_count(self.files)), Tint::Plain),
            Cell::left(
                format!(
                    "{} chunks, {} fingerprints, {} runs of five words",
                    human_count(self.chunks),
                    human_count(self.fingerprints),
                    human_count(self.shingles)
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
