//! The messages about refused arguments.

use clap::ValueEnum;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::ReportFormat;

/// Returns a better error than the one that clap returns for invalid arguments. For an unknown
/// option, clap explains how to pass a file of that name. That tip is removed, because a word that
/// begins with two dashes is meant as an option. If the option is the name of a format, a tip about
/// `--format` replaces it.
pub fn advised(mut refusal: clap::Error) -> clap::Error {
    let Some(ContextValue::String(arg)) = refusal.get(ContextKind::InvalidArg) else {
        return refusal;
    };
    if refusal.kind() != ErrorKind::UnknownArgument || !arg.starts_with("--") {
        return refusal;
    }
    match ReportFormat::from_str(arg.trim_start_matches('-'), false) {
        Ok(format) => {
            let advice = format!("formats are named: '--format {}'", format.word());
            let advice = ContextValue::StyledStrs(vec![advice.into()]);
            refusal.insert(ContextKind::Suggested, advice);
        }
        Err(_) => drop(refusal.remove(ContextKind::Suggested)),
    }
    refusal
}
