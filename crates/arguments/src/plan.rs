//! Parses the values of `--plan` and `--keep`.

use std::ffi::OsStr;

use clap::builder::TypedValueParser;
use resemble_report::plan::{KeepRule, Treatment};

use crate::values;

/// The values of `--plan` of `groups`.
const OF_COPIES: [&str; 6] = [
    "symlink", "hardlink", "reflink", "trash", "remove", "move=DIR",
];

/// Parses a value of `--plan` of `groups`.
pub(crate) fn of_copies() -> impl TypedValueParser<Value = Treatment> {
    values::of_os_string(|text| among(text, &OF_COPIES))
}

/// Parses a value of `--plan` of `covered`.
pub(crate) fn of_covered_copies() -> impl TypedValueParser<Value = Treatment> {
    values::of_os_string(|text| among(text, &[&OF_COPIES[..], &["copy=DIR"]].concat()))
}

/// Parses a value of `--plan` of `compare`.
pub(crate) fn of_trees() -> impl TypedValueParser<Value = Treatment> {
    values::of_os_string(|text| among(text, &["rename"]))
}

fn among(text: &OsStr, known: &[&str]) -> Result<Treatment, String> {
    let form = |kind: &Treatment| {
        let dir = kind.target().map_or("", |_| "=DIR");
        format!("{}{dir}", kind.word())
    };
    let kind = Treatment::of_text(text).filter(|kind| known.contains(&&*form(kind)));
    kind.ok_or_else(|| format!("possible values: {}", known.join(", ")))
}

/// Parses a rule of `--keep`.
pub(crate) fn keep_rule() -> impl TypedValueParser<Value = KeepRule> {
    values::of_os_string(KeepRule::of_text)
}
