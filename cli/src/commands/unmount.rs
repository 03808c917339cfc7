//! `resemble unmount`: takes the overlay away.

use resemble_proto::places::Env;

use crate::args::{Global, UnmountArgs};
use crate::backend;
use crate::commands::watch::absolute;
use crate::error::{CliResult, Outcome};

pub(super) fn run(env: &Env, global: &Global, args: &UnmountArgs) -> CliResult {
    let path = args.dir.as_deref().map(absolute).transpose()?;
    backend::daemon(env, global)?.unmount(path)?;
    Ok(Outcome::Holds)
}
