//! The program `resemble-lab`; `resemble lab --help` describes it.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    // This program also starts itself as a worker, for arrays or for document formats.
    if let Some(ended) = resemble_lab::arrays::worker().or_else(resemble_scan::parts::worker) {
        return ended;
    }
    let uid = rustix::process::geteuid().as_raw();
    let env = resemble_proto::places::Env::gather(|name| std::env::var_os(name), uid);
    resemble_lab::command::run(std::env::args_os(), &env)
}
