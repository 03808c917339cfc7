//! Checks the state folder and the socket.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use resemble_arguments::Global;
use resemble_proto::message::StatusAnswer;
use resemble_proto::places::{self, Env};
use resemble_report::human::human_size;
use resemble_report::quote::quoted;

use super::Check;

/// The least acceptable free space, in bytes. With less, a large batch of changes may not fit.
const LEAST_FREE: u64 = 256 << 20;

/// Runs all checks of the state folder and the socket.
pub(super) fn all(env: &Env, global: &Global, status: Option<&StatusAnswer>) -> Vec<Check> {
    let state = places::state_dir(env, global.state.as_deref());
    let socket = places::socket_path(env, global.socket.as_deref(), global.state.as_deref());
    let mut checks = Vec::new();
    match state {
        Ok(state) => checks.extend(of_state(&state, env.uid, status)),
        Err(error) => checks.push(Check::wrong("state", error.to_string())),
    }
    match socket {
        Ok(socket) => checks.extend(of_socket(&socket, env.uid)),
        Err(error) => checks.push(Check::wrong("socket", error.to_string())),
    }
    checks
}

pub(super) fn of_state(state: &Path, uid: u32, status: Option<&StatusAnswer>) -> Vec<Check> {
    let shown = quoted(state);
    let there = match fs::metadata(state) {
        Ok(there) => there,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return vec![Check::note("state", format!("{shown} is not there yet"))];
        }
        Err(error) => return vec![Check::wrong("state", format!("{shown}: {error}"))],
    };
    if there.uid() != uid {
        let text = format!("{shown} belongs to user {}, not to user {uid}", there.uid());
        return vec![Check::wrong("state", text)];
    }
    let mode = there.mode() & 0o777;
    if mode & 0o077 != 0 {
        let text = format!("{shown} may be read or written by others (mode {mode:o})");
        return vec![Check::wrong("state", text).mended_by(format!("chmod 700 {shown}"))];
    }
    let mut checks = Vec::new();
    let index = status.map_or(0, |status| status.index.bytes);
    if let Ok(disk) = rustix::fs::statvfs(state) {
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        let text = format!("{} free at {shown}, where the index is", human_size(free));
        // When the index is closed, it may be rewritten without its unused space. The copy needs
        // about as much space as the index.
        checks.push(if free < LEAST_FREE.max(index) {
            Check::wrong("state", format!("only {text}"))
        } else {
            Check::ok("state", text)
        });
    }
    let damaged = state.join("index.redb.damaged");
    if damaged.exists() {
        let text = format!(
            "a damaged index was set aside as {}, and rebuilt: look at the disk",
            quoted(&damaged)
        );
        let remedy = format!("rm {}", quoted(&damaged));
        checks.push(Check::note("index", text).mended_by(remedy));
    }
    checks
}

pub(super) fn of_socket(socket: &Path, uid: u32) -> Option<Check> {
    let shown = quoted(socket);
    let there = fs::symlink_metadata(socket).ok()?;
    let wrong = |what: String| Check::wrong("socket", format!("{shown} {what}"));
    let mode = there.mode() & 0o777;
    Some(if !there.file_type().is_socket() {
        wrong("is no socket".to_owned()).mended_by(format!("rm {shown}"))
    } else if there.uid() != uid {
        wrong(format!("belongs to user {}", there.uid()))
    } else if mode & 0o077 != 0 {
        wrong(format!("is open to others (mode {mode:o})")).mended_by(format!("chmod 600 {shown}"))
    } else {
        Check::ok("socket", format!("{shown} is for this user alone"))
    })
}
