//! The option of all questions that can look into documents and archives.

use clap::{Args, ValueEnum};

use super::Answering;

/// Whether documents and archives are compared by more than their bytes.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Selection")]
pub struct TextLayer {
    /// Compare every file by its bytes alone: no texts of documents, nothing that archives hold
    #[arg(long)]
    #[arg(hide_short_help = true)]
    pub no_text: bool,
}

impl TextLayer {
    /// Who answers, with this option taken into account.
    pub fn answering(self, answering: &Answering) -> Answering {
        Answering {
            text: !self.no_text,
            ..answering.clone()
        }
    }
}

/// The same for `pairs`, which has a row for whatever two files have in common: there an archive
/// would have one with every file that it holds, so these are asked for.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Selection")]
pub struct WithText {
    /// What files are compared by; --text alone is --text=all
    #[arg(
        long,
        value_name = "WHAT",
        num_args = 0..=1,
        require_equals = true,
        default_value = "documents",
        default_missing_value = "all"
    )]
    #[arg(hide_short_help = true)]
    pub text: TextWanted,
}

/// What is taken out of files to compare them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TextWanted {
    /// Nothing: every file is compared by its bytes
    Off,
    /// The texts of documents
    Documents,
    /// What archives, mails and compressed files hold, too
    All,
}

impl WithText {
    /// Who answers, with this option taken into account.
    pub fn answering(self, answering: &Answering) -> Answering {
        Answering {
            text: self.text != TextWanted::Off,
            ..answering.clone()
        }
    }
}
