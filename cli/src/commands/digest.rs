//! `resemble digest`: prints the digests of the bytes of files. Plans run it to check that a near
//! copy has not changed.
//!
//! Everywhere in `resemble`, this digest names a content ([`resemble_core::hash::content`]). A
//! symbolic link is not followed, because a plan never means the file that a link leads to.

use resemble_arguments::DigestArgs;
use resemble_relate::prove::read::digest_of;
use resemble_report::plan::spelled;

use super::why::as_named;
use crate::error::{CliError, CliResult, Outcome};
use crate::ui::Ui;

pub(super) fn run(ui: &mut Ui, args: &DigestArgs) -> CliResult {
    for file in &args.files {
        let path = std::path::absolute(file).map_err(CliError::file("read", file))?;
        let digest = digest_of(&path).map_err(|error| as_named(error, &[(&path, file)]))?;
        ui.write(|out| writeln!(out, "{digest}  {}", spelled(file)))?;
    }
    ui.flush()?;
    Ok(Outcome::Holds)
}
