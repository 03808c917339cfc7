//! Reads the marks that a page saves, that is, the files that the user selected.

use std::collections::HashSet;

use resemble_proto::path::PathText;
use serde::Deserialize;

use super::{Envelope, SavedError, damaged};
use crate::plan;

/// Sets of identical files. Each has the file that stays and the copies that are to be removed.
///
/// The file with the marks has no digest, because the page cannot compute one. If the file is valid
/// JSON, it is complete. Even without a digest, each step of the plan compares the bytes of its two
/// files.
#[derive(Clone, Debug, Deserialize)]
pub struct SavedMarks {
    /// The directories of the report.
    #[serde(default)]
    pub roots: Vec<PathText>,
    /// Patterns of the files that the question included.
    #[serde(default)]
    pub include: Vec<String>,
    /// Patterns of the files that the question left out.
    #[serde(default)]
    pub exclude: Vec<String>,
    marks: Vec<MarkedSet>,
}

#[derive(Clone, Debug, Deserialize)]
struct MarkedSet {
    keep: PathText,
    copies: Vec<PathText>,
}

impl SavedMarks {
    /// The value of `"command"` in the file.
    pub const COMMAND: &'static str = "marks";

    /// Reads the marks that a page saved.
    ///
    /// # Errors
    ///
    /// Fails if the marks are damaged, have an unknown layout, or contradict each other.
    pub fn parse(bytes: &[u8]) -> Result<Self, SavedError> {
        let known: Envelope<'_> = serde_json::from_slice(bytes).map_err(|error| damaged(&error))?;
        let found = known.schema;
        if found != resemble_proto::SCHEMA {
            return Err(SavedError::OtherLayout { found });
        }
        let marks: Self = serde_json::from_slice(bytes).map_err(|error| damaged(&error))?;
        let mut copies = HashSet::new();
        let twice = marks.pairs().find(|(_, copy)| !copies.insert(*copy));
        let keeps = || marks.pairs().find(|(keep, _)| copies.contains(keep));
        let wrong = match twice {
            Some((_, copy)) => Some(("is marked twice", copy)),
            None => keeps().map(|(keep, _)| ("is to stay and to go", keep)),
        };
        if let Some((what, path)) = wrong {
            let path = plan::spelled(path.as_path());
            return Err(SavedError::Damaged(format!("{path} {what}")));
        }
        Ok(marks)
    }

    /// Returns a pair for each copy: the file of its set that stays, and the copy.
    pub fn pairs(&self) -> impl Iterator<Item = (&PathText, &PathText)> {
        let sets = self.marks.iter();
        sets.flat_map(|set| set.copies.iter().map(|copy| (&set.keep, copy)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(marks: &str) -> Result<SavedMarks, SavedError> {
        let schema = resemble_proto::SCHEMA;
        let text = format!(r#"{{"schema":{schema},"command":"marks","marks":{marks}}}"#);
        SavedMarks::parse(text.as_bytes())
    }

    #[test]
    fn marks_are_read_with_every_byte_of_a_name() {
        let marks = parsed(r#"[{"keep":"/a\n\u0027","copies":[{"b64":"L2gv/w=="},"/c"]}]"#);
        let marks = marks.unwrap();
        let pairs: Vec<_> = marks
            .pairs()
            .map(|(a, b)| (a.as_bytes(), b.as_bytes()))
            .collect();
        assert_eq!(pairs, [(&b"/a\n'"[..], &b"/h/\xff"[..]), (b"/a\n'", b"/c")]);
    }

    #[test]
    fn what_stays_never_goes_and_nothing_goes_twice() {
        let error = |marks| parsed(marks).unwrap_err().to_string();
        let round = r#"[{"keep":"/a","copies":["/b"]},{"keep":"/b","copies":["/a"]}]"#;
        assert_eq!(error(round), "is damaged: /a is to stay and to go");
        let twice = r#"[{"keep":"/a","copies":["/c"]},{"keep":"/b","copies":["/c"]}]"#;
        assert_eq!(error(twice), "is damaged: /c is marked twice");
    }

    #[test]
    fn damaged_marks_and_those_of_another_layout_are_refused() {
        let newer = br#"{"schema":99,"command":"marks","marks":[]}"#;
        let error = SavedMarks::parse(newer).unwrap_err();
        assert_eq!(error, SavedError::OtherLayout { found: 99 });
        assert!(parsed("[{}]").is_err());
        assert!(
            parsed(r#"[{"keep":"/a","copies":["/b"]}"#).is_err(),
            "cut short"
        );
    }
}
