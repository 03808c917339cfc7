//! System mode: one index for many users. See docs/system-mode.md.
//!
//! ```text
//!   launch ─► rights dropped, restrictions installed ─► the usual daemon
//!                                             │ the peer, and what it may see
//!                                             └── System ─► the checker, another process
//! ```
//!
//! The daemon itself cannot start processes. So another helper, the starter, starts the processes
//! that read documents.

mod fences;
mod launch;
mod starter_fence;

use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;

use resemble_callers::accounts::{Account, Accounts};
use resemble_callers::checker::Checker;
use resemble_callers::{AccessCheck, Caller};
use resemble_proto::message::Degraded;

pub use launch::{Entered, SystemError, enter, helper};

/// Decides which users may see which files, and which users may give orders.
#[derive(Debug)]
pub struct System {
    checker: Arc<Checker>,
    /// The group whose members may give orders, like root.
    control_group: Option<u32>,
    /// The accounts of users, to which limits apply.
    accounts: Accounts,
    /// The streams to the helpers of the daemon. The helpers end when these streams are closed.
    _held: Vec<UnixStream>,
}

impl System {
    /// Connects to the checker at this socket.
    ///
    /// # Errors
    ///
    /// Fails if the checker does not answer.
    pub fn new(checker: &Path, control_group: Option<u32>, accounts: Accounts) -> io::Result<Self> {
        Ok(Self {
            checker: Checker::at(checker)?,
            control_group,
            accounts,
            _held: Vec::new(),
        })
    }

    /// Stores the streams that lead to the helpers. The streams keep the helpers running.
    fn holding(self, held: Vec<UnixStream>) -> Self {
        Self {
            _held: held,
            ..self
        }
    }

    /// Returns the access checks of a caller.
    pub(crate) fn sight(&self, caller: Caller) -> Arc<dyn AccessCheck> {
        self.checker.sight(caller)
    }

    /// Returns the reason why users get no answers; `None` if the checker answers.
    pub(crate) fn trouble(&self) -> Option<Degraded> {
        let error = self.checker.probe().err()?;
        Some(Degraded {
            path: Path::new("/").into(),
            reason: format!("the checker does not answer, so users get no answers: {error}"),
            remedy: Some("restart the daemon".to_owned()),
        })
    }

    /// Returns the account of a user, to which limits apply.
    pub(crate) fn account(&self, uid: u32) -> Account {
        self.accounts.account(uid)
    }

    /// Returns whether a caller may give orders, and see information about all users.
    pub(crate) fn is_in_control(&self, caller: &Caller) -> bool {
        let is_it = |group: u32| Some(group) == self.control_group;
        caller.uid == 0 || is_it(caller.gid) || caller.groups.iter().copied().any(is_it)
    }
}
