//! What the handlers of requests have to hand.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use crossbeam_channel::Sender;
use resemble_engine::compare::Recent;
use resemble_proto::message::Unopened;

use super::status::Figures;
use crate::alerts::log::AlertLog;
use crate::indexer::Command;
use crate::overlays::Overlays;
use crate::state::Shared;

/// What was counted in the roots at a generation of the index.
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
    /// What the last comparisons found out.
    pub(super) compared: Recent,
    /// The figures of the last `status`, with the clock they belong to.
    pub(super) figures: Mutex<Option<Counted>>,
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
            compared: Recent::default(),
            figures: Mutex::new(None),
        }
    }
}
