//! The namespaces that the callers of a mount see.
//!
//! A mount of one user has one namespace. A mount for all users has one namespace for each caller.
//! The namespace of a caller is made at the caller's first request and kept for a second. In that
//! second, the namespace caches answers for the look-ups that follow a listing. The groups of the
//! caller's process, and its access to a place, are checked at each request.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use resemble_callers::accounts::Account;
use resemble_callers::{Caller, identity};

use crate::neighbours::Audience;
use crate::view::Namespace;

/// The time for which a caller's namespace is kept.
const KEPT: Duration = Duration::from_secs(1);
/// The maximum number of callers whose namespaces are kept.
const CALLERS: usize = 256;

/// The namespaces of a mount.
#[derive(Clone)]
pub(crate) struct Spaces {
    /// The namespace that shows everything.
    pub(crate) all: Arc<Namespace>,
    callers: Option<Arc<Callers>>,
}

struct Callers {
    audience: Arc<dyn Audience>,
    kept: Mutex<HashMap<Caller, (Instant, Arc<Namespace>)>>,
}

impl Spaces {
    /// Creates the namespaces of a mount: for one user, or for the callers of `audience`.
    pub(crate) fn new(all: Arc<Namespace>, audience: Option<Arc<dyn Audience>>) -> Self {
        let callers = audience.map(|audience| Callers {
            audience,
            kept: Mutex::default(),
        });
        Self {
            all,
            callers: callers.map(Arc::new),
        }
    }

    /// Returns the account of the user with this id.
    pub(crate) fn account(&self, uid: u32) -> Account {
        let callers = self.callers.as_ref();
        callers.map_or(Account::UNKNOWN, |callers| callers.audience.account(uid))
    }

    /// Returns the namespace of the caller of a request. The kernel reports the caller's user,
    /// group and process.
    pub(crate) fn of(&self, (uid, gid, pid): (u32, u32, u32)) -> Arc<Namespace> {
        let Some(callers) = &self.callers else {
            return Arc::clone(&self.all);
        };
        let caller = identity::of_process(uid, gid, pid);
        let now = Instant::now();
        let mut kept = callers.kept.lock();
        if let Some((made, space)) = kept.get(&caller)
            && now.duration_since(*made) < KEPT
        {
            return Arc::clone(space);
        }
        if kept.len() >= CALLERS {
            kept.clear();
        }
        let party = callers.audience.party(caller.clone());
        let space = Arc::new(self.all.seen_by(party, callers.audience.account(uid)));
        kept.insert(caller, (now, Arc::clone(&space)));
        space
    }
}
