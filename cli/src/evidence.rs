//! Reads the best pairs of a report and lays them out side by side, as `resemble why` does.

use resemble_core::similarity::Unit;
use std::path::Path;

use resemble_core::Params;
use resemble_core::similarity::Templates;
use resemble_proto::message::reason;
use resemble_proto::path::PathText;
use resemble_query::why::{self, Line, RowSide, Span, View, ViewOptions};
use resemble_report::evidence::{Half, SideBySide};
use resemble_report::quote::harmless;

/// The limits of the excerpt of a pair. If text is left out, the page notes that.
const VIEW: ViewOptions = ViewOptions {
    context: 3,
    rows: 300,
    gap: 60,
    line: 400,
    hex: 8,
};

/// Reads `a` and `b`, and returns their rows. Relative names start from `base_a` and `base_b`.
pub fn side_by_side(
    (base_a, a): (&Path, &PathText),
    (base_b, b): (&Path, &PathText),
    params: &Params,
) -> SideBySide {
    let (a, b) = (base_a.join(a.as_path()), base_b.join(b.as_path()));
    // The page shows only rows and no shares, so templates, which only change shares, are not
    // needed.
    match why::compare(&a, &b, (params, &Templates::default()), Unit::Words) {
        Ok(comparison) => {
            let view = comparison.view(&VIEW);
            let note = note(&view);
            let rows = view.rows.into_iter();
            SideBySide {
                text: view.text,
                rows: rows
                    .map(|row| (row.left.map(half), row.right.map(half)))
                    .collect(),
                note,
            }
        }
        Err(error) => {
            let message = reason(&std::io::Error::other(error));
            SideBySide {
                text: true,
                rows: Vec::new(),
                note: Some(format!("Cannot be shown: {}.", harmless(&message))),
            }
        }
    }
}

fn note(view: &View) -> Option<String> {
    if view.rows.is_empty() {
        let runs = view.runs.len();
        return Some(format!(
            "Too large to be shown; {runs} shared {}.",
            if runs == 1 { "part" } else { "parts" }
        ));
    }
    view.rest.as_ref().map(|rest| format!("Not shown: {rest}"))
}

fn half(side: RowSide) -> Half {
    match side {
        RowSide::Line(Line { number, spans }) => Half::Line {
            n: number,
            s: spans
                .into_iter()
                .map(|Span { run, text }| (run.unwrap_or(0), text))
                .collect(),
        },
        RowSide::Fold(fold) => Half::Cut {
            cut: fold.to_string(),
        },
    }
}
