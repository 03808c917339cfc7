//! Defines the option `--text` of all questions that can look into documents and archives.

use std::ffi::OsString;

use clap::{Args, ValueEnum};
use resemble_proto::message::MeasureUnit;

use super::Answering;

/// The option for the texts that files are compared by. `--unit bytes`, which some verbs have, is
/// an old form of `--text=off`, too.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = super::EXPERT)]
pub struct TextLayer {
    /// What files are compared by; --text alone is --text=all
    #[arg(
        long = "text",
        value_name = "WHAT",
        num_args = 0..=1,
        require_equals = true,
        default_value = "auto",
        default_value_if("unit", "bytes", "off"),
        default_missing_value = "all"
    )]
    #[arg(hide_short_help = true)]
    pub wanted: TextWanted,
    /// The old form of --text=off
    #[arg(long, hide = true, conflicts_with = "wanted")]
    pub no_text: bool,
}

/// The contents that are extracted from files for comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TextWanted {
    /// The texts of documents, and what archives, mails and compressed files hold: in `pairs`,
    /// where an archive has a row with every file that it holds, the texts alone
    #[value(alias = "documents")]
    Auto,
    /// What archives hold in `pairs`, too
    All,
    /// Nothing: every file is compared by its bytes
    Off,
}

impl TextLayer {
    /// Returns whether anything is extracted from files.
    pub fn is_on(self) -> bool {
        !self.no_text && self.wanted != TextWanted::Off
    }

    /// Returns the unit of the measures. It is the requested one, or bytes if nothing is extracted.
    pub fn unit(self, asked: MeasureUnit) -> MeasureUnit {
        if self.is_on() {
            asked
        } else {
            MeasureUnit::Bytes
        }
    }

    /// Returns the answering options with `text` set as this option says.
    pub fn answering(self, answering: &Answering) -> Answering {
        Answering {
            text: self.is_on(),
            ..answering.clone()
        }
    }
}

/// Rewrites `--text off` to `--text=off`. The value of `--text` is optional, and in `--text DIR`
/// the next word is not its value. So the next word is joined only if it is a valid value.
pub(super) fn with_values(args: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut joined: Vec<OsString> = Vec::new();
    let mut are_options = true;
    for arg in args {
        let value = arg
            .to_str()
            .filter(|word| TextWanted::from_str(word, false).is_ok());
        match (value, joined.last_mut()) {
            (Some(value), Some(last)) if are_options && last == "--text" => {
                last.push("=");
                last.push(value);
            }
            _ => {
                are_options &= arg != "--";
                joined.push(arg);
            }
        }
    }
    joined
}
