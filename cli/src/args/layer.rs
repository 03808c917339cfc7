//! The option of all questions that can look into documents and archives.

use clap::Args;

use super::Answering;

/// Whether documents and archives are compared by more than their bytes.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Selection")]
pub struct TextLayer {
    /// Compare every file by its bytes alone: no texts of documents, nothing that archives hold
    #[arg(long)]
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

/// The same for `pairs`, which is made for scripts: there files are compared by their bytes alone
/// unless `--text` is given.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Selection")]
pub struct WithText {
    /// Compare the texts of documents and what archives hold, too
    #[arg(long)]
    pub text: bool,
}

impl WithText {
    /// Who answers, with this option taken into account.
    pub fn answering(self, answering: &Answering) -> Answering {
        Answering {
            text: self.text,
            ..answering.clone()
        }
    }
}
