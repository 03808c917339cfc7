//! What the handlers of requests have to hand.

use std::path::PathBuf;
use std::sync::Arc;

use crossbeam_channel::Sender;
use parking_lot::Mutex;
use resemble_proto::message::Unopened;
use resemble_query::compare::MemoryCache;

use super::turns::Turns;
use crate::alerts::log::AlertLog;
use crate::indexer::Command;
use crate::overlays::Overlays;
use crate::state::Shared;
use crate::system::System;

/// Questions computed at a time; further ones wait. Half of the threads that may block
/// ([`crate::server::THREADS`]): the others are for what must never wait for a question.
const QUESTIONS: usize = super::THREADS / 2;

/// What is counted of a root.
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

/// What was counted in the roots, with the clock that it belongs to.
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
    /// Places for questions that are computed.
    pub(super) questions: Turns,
    /// What the last comparisons and collections found out.
    pub(super) compared: MemoryCache,
    /// What the last `status` counted.
    pub(super) figures: Mutex<Option<Counted>>,
    /// Who sees what, if it is a daemon for all users.
    pub(super) system: Option<Arc<System>>,
}

impl Context {
    /// Everything a handler may use.
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
            questions: Turns::new(QUESTIONS, QUESTIONS),
            compared: MemoryCache::default(),
            figures: Mutex::new(None),
            system: None,
        }
    }

    /// Answers everybody, from what he may see.
    #[must_use]
    pub fn for_all(self, system: Arc<System>) -> Self {
        Self {
            questions: Turns::new(QUESTIONS, QUESTIONS / super::SHARE),
            system: Some(system),
            ..self
        }
    }

    /// Who sees what, if it is a daemon for all users.
    pub fn system(&self) -> Option<Arc<System>> {
        self.system.clone()
    }

    /// How many questions are being computed.
    pub(super) fn computing(&self) -> u64 {
        (QUESTIONS - self.questions.free()) as u64
    }
}
