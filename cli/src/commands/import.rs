//! `resemble import`: catalogues that are kept.

use resemble_proto::places::Env;

use crate::args::{Global, ImportArgs};
use crate::error::{CliError, CliResult};
use crate::ui::Ui;

pub(super) fn run(_ui: &mut Ui, _env: &Env, _global: &Global, _args: &ImportArgs) -> CliResult {
    Err(CliError::Usage("later".to_owned()))
}
