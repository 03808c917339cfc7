//! Connects to a daemon. If the user named a daemon, checks that it is this one.

use std::path::{Path, PathBuf};

use resemble_arguments::Global;
use resemble_proto::client::{Client, ClientError, Timeouts};
use resemble_proto::message::{FailureKind, StatusAnswer};
use resemble_proto::places::{self, Env};
use resemble_proto::remote::is_remote;
use resemble_report::quote::quoted;

use crate::error::{CliError, CliResult};
use crate::names::ShownNames;

/// Connects to the user's daemon, or else to the system's daemon.
pub fn daemon(env: &Env, global: &Global) -> CliResult<Client> {
    Ok(whose_daemon(env, global)?.0)
}

/// Connects to the user's daemon.
pub fn own_daemon(env: &Env, global: &Global) -> CliResult<Client> {
    own_socket(env, global).and_then(|socket| connect_to_own(env, global, &socket))
}

/// Returns whether a daemon must answer. This holds for the daemon of `--socket` and for a daemon
/// of another machine. In place of any other daemon, this process can answer.
pub fn is_daemon_required(env: &Env, global: &Global) -> bool {
    global.socket.is_some() || env.resemble_socket.as_deref().is_some_and(is_remote)
}

/// Returns whether a daemon was named, by its socket or its state folder. Then no other daemon may
/// answer.
pub fn is_daemon_named(env: &Env, global: &Global) -> bool {
    let is_socket_named = global.socket.is_some() || env.resemble_socket.is_some();
    is_socket_named || global.state.is_some() || env.resemble_state.is_some()
}

/// Connects to the user's daemon, or else to the system's daemon. Also returns whether this is the
/// system's daemon.
pub fn whose_daemon(env: &Env, global: &Global) -> CliResult<(Client, bool)> {
    whose(env, global, |socket| connect_to_own(env, global, socket))
}

/// Calls `connect` with the socket of the user's daemon. If no daemon answers there and no daemon
/// was named, calls it with the system's socket. Returns the result of `connect`, and whether the
/// system's daemon answered.
pub fn whose<T>(
    env: &Env,
    global: &Global,
    connect: impl Fn(&Path) -> CliResult<T>,
) -> CliResult<(T, bool)> {
    let is_named = is_daemon_named(env, global);
    let own = own_socket(env, global).and_then(|socket| connect(&socket));
    let why = match own {
        Ok(connected) => return Ok((connected, false)),
        // Without a folder for a socket, the user cannot have a daemon of their own. Then the
        // system's daemon is tried.
        Err(why @ (CliError::NobodyAnswers(_) | CliError::Place(_))) if !is_named => why,
        Err(why) => return Err(why),
    };
    match connect(Path::new(places::SYSTEM_SOCKET)) {
        Ok(connected) => Ok((connected, true)),
        Err(CliError::NobodyAnswers(_)) => Err(why),
        Err(error) => Err(error),
    }
}

/// Returns the path of the socket of the user's daemon.
pub(super) fn own_socket(env: &Env, global: &Global) -> CliResult<PathBuf> {
    let (socket, state) = (global.socket.as_deref(), global.state.as_deref());
    Ok(places::socket_path(env, socket, state)?)
}

/// Connects to the daemon at a socket.
fn connect(socket: &Path) -> CliResult<Client> {
    Client::connect(socket, Timeouts::default()).map_err(|error| match error {
        ClientError::NoDaemon { .. } if is_remote(socket) => {
            CliError::NobodyAnswers(error.to_string())
        }
        ClientError::NoDaemon { .. } => CliError::NobodyAnswers(format!(
            "{error}; start one with `resembled DIR`, or for good with `resemble setup`; --local \
             asks none"
        )),
        other => other.into(),
    })
}

/// Connects to the daemon at a socket, if its state folder is the folder that was named.
fn connect_to_own(env: &Env, global: &Global, socket: &Path) -> CliResult<Client> {
    let client = connect(socket)?;
    let named = global.state.as_deref().or(env.resemble_state.as_deref());
    let (Some(named), Some(its)) = (named, &client.hello().state) else {
        return Ok(client);
    };
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if client.is_remote() || real(named) == real(its.as_path()) {
        return Ok(client);
    }
    Err(CliError::NobodyAnswers(format!(
        "the daemon at {} keeps its state in {}, not in {}; name the socket of the other one with \
         --socket, or read the files with --local",
        quoted(socket),
        quoted(its.as_path()),
        quoted(named)
    )))
}

/// Asks a daemon for its status. Catalogues and their files are named as `watch list` names them.
pub fn status(client: &Client) -> CliResult<StatusAnswer> {
    Ok(with_labels(client.status()?))
}

pub(crate) fn with_labels(mut status: StatusAnswer) -> StatusAnswer {
    let roots = status.roots.iter_mut().map(|root| &mut root.path);
    let unopened = status.unopened.iter_mut().map(|file| &mut file.path);
    for path in roots.chain(unopened) {
        *path = ShownNames::default().path(path);
    }
    status
}

/// Returns whether a daemon is there but too busy to answer.
pub fn is_busy(error: &CliError) -> bool {
    matches!(error, CliError::Daemon(error) if error.failure() == Some(FailureKind::Busy))
}
