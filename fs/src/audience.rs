//! Whose request it is, and what he sees.
//!
//! A mount of one user has one namespace. A mount for all has one for each caller, made when he
//! first asks and kept for a second: so long an answer is kept for the look-ups that follow a
//! listing, and so often the groups of a process are looked up for each of its callers. Whether he
//! may see a place is asked at each request.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use resemble_callers::accounts::Account;
use resemble_callers::{Caller, identity};

use crate::neighbours::Audience;
use crate::view::Namespace;

/// So long what a caller sees is kept.
const KEPT: Duration = Duration::from_secs(1);
/// For so many callers at most.
const CALLERS: usize = 256;

/// The namespaces of a mount.
#[derive(Clone)]
pub(crate) struct Spaces {
    /// With everything in it.
    pub(crate) all: Arc<Namespace>,
    callers: Option<Arc<Callers>>,
}

struct Callers {
    audience: Arc<dyn Audience>,
    kept: Mutex<HashMap<Caller, (Instant, Arc<Namespace>)>>,
}

impl Spaces {
    /// Of a mount of one user, or of one for all of this audience.
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

    /// The account of a caller.
    pub(crate) fn account(&self, uid: u32) -> Account {
        let callers = self.callers.as_ref();
        callers.map_or(Account::UNKNOWN, |callers| callers.audience.account(uid))
    }

    /// What the caller of a request sees: user, group and process as the kernel names them.
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
