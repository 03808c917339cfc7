//! The state that all request handlers share.

use std::path::PathBuf;
use std::sync::Arc;

use crossbeam_channel::Sender;
use parking_lot::Mutex;
use resemble_proto::message::Unopened;
use resemble_relate::findings::MemoryCache;

use super::turns::FairShare;
use crate::alerts::log::AlertLog;
use crate::indexer::Command;
use crate::overlays::Overlays;
use crate::state::Shared;
use crate::system::System;

/// The maximum number of questions that are computed at a time. Further questions wait. Questions
/// get half of the blocking threads ([`crate::server::THREADS`]). The other half is for requests
/// that must never wait for a question.
const QUESTIONS: usize = super::THREADS / 2;

/// The figures that `status` counts for the files of a root.
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

/// What the last `status` counted: the value of the clock at that time, the figures of each root,
/// and the unreadable parts of documents.
type Counted = (u64, Vec<Figures>, Vec<Unopened>);

/// The state that all connections share.
#[derive(Debug)]
pub struct Context {
    /// The index, and the state of the daemon.
    pub shared: Arc<Shared>,
    /// Sends commands to the indexer.
    pub commands: Sender<Command>,
    /// The log of alerts.
    pub alerts: Arc<Mutex<AlertLog>>,
    /// The mounted overlays.
    pub overlays: Arc<Overlays>,
    /// The state folder.
    pub state: PathBuf,
    /// Limits the number of questions that are computed at a time.
    pub(super) questions: FairShare,
    /// A cache of answers, and of data from which answers are made.
    pub(super) compared: MemoryCache,
    /// The figures that the last `status` counted.
    pub(super) figures: Mutex<Option<Counted>>,
    /// The access checks of system mode; `None` for a daemon of one user.
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

    /// Changes to system mode: every user is answered from the files that they may see.
    #[must_use]
    pub fn for_all(self, system: Arc<System>) -> Self {
        Self {
            questions: FairShare::new(QUESTIONS, QUESTIONS / super::SHARE),
            system: Some(system),
            ..self
        }
    }

    /// Returns the access checks of system mode; `None` for a daemon of one user.
    pub fn system(&self) -> Option<Arc<System>> {
        self.system.clone()
    }

    /// Returns the number of questions that are being computed.
    pub(super) fn computing(&self) -> u64 {
        (QUESTIONS - self.questions.free()) as u64
    }
}
