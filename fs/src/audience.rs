//! The callers of a mount, and their views.
//!
//! A mount of one user has one namespace. A mount for all users has one per caller, which is made
//! on the first request and kept for a second. For that second, answers are cached for the look-ups
//! that follow a listing. The groups of a process are looked up once in that second for each
//! caller. The access to a place is checked at each request.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use resemble_callers::accounts::Account;
use resemble_callers::{Caller, identity};

use crate::neighbours::Audience;
use crate::view::Namespace;

/// The time for which a caller's view is kept.
const KEPT: Duration = Duration::from_secs(1);
/// The maximum number of callers whose views are kept.
const CALLERS: usize = 256;

/// The namespaces of a mount.
#[derive(Clone)]
pub(crate) struct Spaces {
    /// The namespace with everything in it.
    pub(crate) all: Arc<Namespace>,
    callers: Option<Arc<Callers>>,
}

struct Callers {
    audience: Arc<dyn Audience>,
    kept: Mutex<HashMap<Caller, (Instant, Arc<Namespace>)>>,
}

impl Spaces {
    /// Returns the namespaces of a mount of one user, or of a mount for this audience.
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

    /// Returns the account of a caller.
    pub(crate) fn account(&self, uid: u32) -> Account {
        let callers = self.callers.as_ref();
        callers.map_or(Account::UNKNOWN, |callers| callers.audience.account(uid))
    }

    /// Returns the view of the caller of a request: user, group and process as the kernel reports
    /// them.
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
