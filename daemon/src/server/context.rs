//! The state that all request handlers share.

use std::path::PathBuf;
use std::sync::Arc;

use crossbeam_channel::Sender;
use parking_lot::Mutex;
use resemble_proto::message::Unopened;
use resemble_query::compare::MemoryCache;

use super::turns::FairShare;
use crate::alerts::log::AlertLog;
use crate::indexer::Command;
use crate::overlays::Overlays;
use crate::state::Shared;
use crate::system::System;

/// The maximum number of questions that are computed at a time; further ones wait. They get half of
/// the blocking threads ([`crate::server::THREADS`]). The other half serves requests that must
/// never wait for a question.
const QUESTIONS: usize = super::THREADS / 2;

/// The totals of a root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Figures {
    pub(super) files: u64,
    pub(super) bytes: u64,
    pub(super) skipped: u64,
    pub(super) unreadable: u64,
    pub(super) hidden: u64,
    pub(super) unopened: u64,
    pub(super) hidden_text: u64,
}

/// The clock, and the totals of each root and the unreadable parts of documents as of then.
type Counted = (u64, Vec<Figures>, Vec<Unopened>);

/// Shared by all connections.
#[derive(Debug)]
pub struct Context {
    /// The index and its state.
    pub shared: Arc<Shared>,
    /// Orders to the indexer.
    pub commands: Sender<Command>,
    /// The alerts.
    pub alerts: Arc<Mutex<AlertLog>>,
    /// The mounted overlays.
    pub overlays: Arc<Overlays>,
    /// The state folder.
    pub state: PathBuf,
    /// The slots for questions that are computed.
    pub(super) questions: FairShare,
    /// The cache of answers and of the data from which they were made.
    pub(super) compared: MemoryCache,
    /// The totals that the last `status` counted.
    pub(super) figures: Mutex<Option<Counted>>,
    /// The access checks of a daemon for all users.
    pub(super) system: Option<Arc<System>>,
}

impl Context {
    /// Creates the context of a daemon for one user.
    pub fn new(
        shared: Arc<Shared>,
        commands: Sender<Command>,
        alerts: Arc<Mutex<AlertLog>>,
        overlays: Arc<Overlays>,
        state: PathBuf,
    ) -> Self {
        Self {
            shared,
            commands,
            alerts,
            overlays,
            state,
            questions: FairShare::new(QUESTIONS, QUESTIONS),
            compared: MemoryCache::default(),
            figures: Mutex::new(None),
            system: None,
        }
    }

    /// Answers every user, from the files that they may see.
    #[must_use]
    pub fn for_all(self, system: Arc<System>) -> Self {
        Self {
            questions: FairShare::new(QUESTIONS, QUESTIONS / super::SHARE),
            system: Some(system),
            ..self
        }
    }

    /// The access checks of a daemon for all users.
    pub fn system(&self) -> Option<Arc<System>> {
        self.system.clone()
    }

    /// The number of questions that are being computed.
    pub(super) fn computing(&self) -> u64 {
        (QUESTIONS - self.questions.free()) as u64
    }
}
