//! System mode: one index for many users. See docs/system-mode.md.
//!
//! ```text
//!   launch ─► rights dropped, restrictions installed ─► the usual daemon
//!                                             │ the peer, and what it may see
//!                                             └── System ─► the checker, another process
//! ```
//!
//! Documents are read by processes of the starter, a third process: the daemon may start none.

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

pub use launch::{Entered, SystemError, enter, helper};

/// Decides who may see and do what, while the daemon runs.
#[derive(Debug)]
pub struct System {
    checker: Arc<Checker>,
    /// Members of this group give orders as root does.
    control_group: Option<u32>,
    /// The accounts to which limits apply.
    accounts: Accounts,
    /// The helpers of the daemon end when these are closed.
    _held: Vec<UnixStream>,
}

impl System {
    /// Uses the checker that answers at this socket.
    ///
    /// # Errors
    ///
    /// If the checker does not answer.
    pub fn new(checker: &Path, control_group: Option<u32>, accounts: Accounts) -> io::Result<Self> {
        Ok(Self {
            checker: Checker::at(checker)?,
            control_group,
            accounts,
            _held: Vec::new(),
        })
    }

    /// Keeps its helpers alive with these streams.
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
