//! The last step of a start: opens the socket and the overlay, and starts the threads that answer
//! requests.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use tokio::net::UnixListener;

use crate::config::Config;
use crate::neighbours::{Everybody, IndexNeighbours};
use crate::overlays::{Mount, ShowError};
use crate::server::{self, Context, Limits, socket};
use crate::{Handle, StartError, service};

impl Handle {
    /// Opens the socket, mounts the overlay and starts to answer.
    pub(crate) fn open_doors(
        &mut self,
        config: &Config,
        context: Context,
        device: Option<OwnedFd>,
    ) -> Result<(), StartError> {
        let (listener, socket) = socket::bind(&config.socket, config.system.is_some())?;
        self.sockets.push(socket);
        if let Some(point) = &config.mount {
            let mount = Mount {
                point,
                view: config.view,
                link: config.link.as_deref(),
            };
            if let (Some(system), Some(device)) = (context.system(), device) {
                let shared = Arc::clone(&self.shared);
                let everybody = Arc::new(Everybody { shared, system });
                self.overlays
                    .serve(&mount, device, everybody)
                    .map_err(ShowError::Mount)?;
            } else {
                self.mount(config, &mount)?;
            }
        }
        self.answer(config, listener, context)
    }

    /// Mounts the overlay of a daemon of one user. A failure is an error only if the configuration
    /// requests the overlay.
    fn mount(&self, config: &Config, mount: &Mount<'_>) -> Result<(), StartError> {
        let neighbours = Arc::new(IndexNeighbours::new(Arc::clone(&self.shared)));
        match self.overlays.mount(mount, neighbours) {
            // The returned warning is ignored here: `mount` has written it to the journal.
            Ok(_) => {}
            Err(error) if config.must_mount => return Err(error.into()),
            Err(error) => tracing::warn!(%error, "no view of the tree is mounted"),
        }
        Ok(())
    }

    /// Starts to answer requests at the socket.
    fn answer(
        &mut self,
        config: &Config,
        listener: std::os::unix::net::UnixListener,
        context: Context,
    ) -> Result<(), StartError> {
        let Some(runtime) = &self.runtime else {
            return Ok(());
        };
        let guard = runtime.enter();
        listener.set_nonblocking(true).map_err(StartError::Thread)?;
        let listener = UnixListener::from_std(listener).map_err(StartError::Thread)?;
        drop(guard);
        let uid = rustix::process::geteuid().as_raw();
        let limits = if config.system.is_some() {
            Limits::of_all(uid)
        } else {
            Limits::of_user(uid)
        };
        let ending = self.ending.subscribe();
        self.server =
            Some(runtime.spawn(server::serve(listener, Arc::new(context), limits, ending)));
        let (shared, overlays) = (Arc::clone(&self.shared), Arc::clone(&self.overlays));
        runtime.spawn(service::report(shared, overlays, self.ending.subscribe()));
        let mount = config.mount.as_ref().map(tracing::field::debug);
        tracing::info!(socket = ?config.socket, mount, "answering");
        Ok(())
    }
}
