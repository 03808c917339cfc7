//! What is said about arguments that are refused.

use clap::ValueEnum;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::ReportFormat;

/// The refusal of arguments, with advice that helps. For an option that does not exist clap says
/// how a file of that name could be meant, which nobody who typed two dashes did.
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
