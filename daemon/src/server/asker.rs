//! Finds out who the peer of a connection is: whether it may ask, what it may see, and its share of
//! the limits.
//!
//! A daemon of one user answers that user, who sees everything. In system mode every user may ask,
//! and sees only files that this user can open. Only root and the members of a group see
//! information about all users.

use std::path::PathBuf;
use std::sync::Arc;

use resemble_callers::{AccessCheck, identity};
use resemble_index::Snapshot;
use resemble_proto::message::{Failure, FailureKind, Request};
use tokio::net::UnixStream;

use super::context::Context;
use super::out::failed_line;
use crate::system::System;

/// The peer of a connection, as the kernel identifies it.
#[derive(Clone, Debug)]
pub(super) struct Asker {
    /// The number that identifies the peer for limits: the id of its process, or in system mode the
    /// user's account.
    pub(super) one: i64,
    /// The peer's access checks; `None` if everything is visible.
    sight: Option<Arc<dyn AccessCheck>>,
    /// True if the peer may see information about all users, and give orders.
    pub(super) is_in_control: bool,
}

/// Returns the peer of a connection, if it may ask. Other peers are rejected at once, so that they
/// use no memory.
pub(super) fn admitted(
    stream: &UnixStream,
    uid: u32,
    system: Option<&Arc<System>>,
) -> Option<Asker> {
    if let Some(system) = system {
        let caller = identity::of_socket(stream);
        let caller = caller.inspect_err(|error| tracing::debug!(%error, "the peer is unknown"));
        let caller = caller.ok()?;
        return Some(Asker {
            one: i64::from(system.account(caller.uid).number()),
            is_in_control: system.is_in_control(&caller),
            sight: Some(system.sight(caller)),
        });
    }
    let peer = match stream.peer_cred() {
        Ok(peer) => peer,
        Err(error) => {
            tracing::debug!(%error, "the peer is unknown");
            return None;
        }
    };
    if peer.uid() == uid {
        return Some(Asker {
            one: i64::from(peer.pid().unwrap_or(0)),
            sight: None,
            is_in_control: true,
        });
    }
    tracing::warn!(
        uid = peer.uid(),
        pid = peer.pid(),
        "another user may not ask"
    );
    let text = format!("this daemon answers user {uid} only");
    let line = failed_line(Failure::new(FailureKind::Denied, text));
    if let Err(error) = stream.try_write(&line) {
        tracing::debug!(%error, "it was not notified");
    }
    None
}

impl Asker {
    /// Restricts a snapshot to the files that the peer may see.
    pub(super) fn view(&self, snapshot: Snapshot) -> Snapshot {
        match &self.sight {
            Some(sight) => snapshot.seen_by(Arc::clone(sight)),
            None => snapshot,
        }
    }

    /// Returns the peer's access checks; `None` if everything is visible.
    pub(super) fn sight(&self) -> Option<&Arc<dyn AccessCheck>> {
        self.sight.as_ref()
    }

    /// Returns whether the peer may see that something happens to files which it cannot open.
    pub(super) fn hears_all(&self) -> bool {
        self.is_in_control
    }

    /// Returns whether answers about these paths are up to date. If there are no paths, the answer
    /// is about everything. Also returns the number of files that wait to be read, or 0 if the peer
    /// may not see that number.
    pub(super) fn freshness(&self, context: &Context, within: &[PathBuf]) -> (bool, u64) {
        if self.hears_all() {
            return context.shared.freshness(within, None);
        }
        let (fresh, _) = context.shared.freshness(within, self.sight.as_deref());
        (fresh, 0)
    }

    /// Refuses requests that are not answered in system mode. Also refuses orders of peers who may
    /// not give orders.
    pub(super) fn may_ask(&self, request: &Request) -> Result<(), Failure> {
        if self.sight.is_none() {
            return Ok(());
        }
        let not_yet = |text: &str| Err(Failure::new(FailureKind::Refused, text));
        match request {
            Request::Find(_)
            | Request::Holders(_)
            | Request::Departed(_)
            | Request::FirstSeen(_)
            | Request::Pairs(_)
            | Request::Dirs(_)
            | Request::Groups(_)
            | Request::Order(_)
            | Request::Status
            | Request::Sync { .. }
            | Request::WatchList
            | Request::Covers { .. } => Ok(()),
            Request::Compare(_) | Request::Covered(_) => {
                not_yet("the system's daemon does not answer this; --local reads the files itself")
            }
            Request::Dump { .. } | Request::DumpAs { .. } => not_yet(
                "the system's daemon makes no dumps and no catalogues; --local reads the files \
                 itself",
            ),
            Request::Alerts { .. } | Request::AckList | Request::TemplatesList => {
                not_yet("the system's daemon raises no alerts and has no templates")
            }
            _ if !self.is_in_control => Err(Failure::new(
                FailureKind::Denied,
                "only root and the group `resemble` give orders to the system's daemon; `resemble \
                 setup` starts one of your own",
            )),
            Request::WatchAdd { .. } | Request::WatchRemove { .. } | Request::Import { .. } => {
                not_yet(
                    "what the system's daemon watches is in its configuration: change that, and \
                     restart it",
                )
            }
            _ => not_yet("the system's daemon does not do this"),
        }
    }
}
