//! `resemble`: see `resemble --help`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(ended) = resemble_scan::parts::worker() {
        return ended;
    }
    #[cfg(target_env = "gnu")]
    resemble_scan::heap::bound();
    let uid = rustix::process::geteuid().as_raw();
    let env = resemble_proto::places::Env::gather(|name| std::env::var_os(name), uid);
    resemble_cli::run(std::env::args_os(), &env)
}
