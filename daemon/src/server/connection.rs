//! Serves one connection: sends the greeting, reads one request, and sends its answer.
//!
//! While the answer is computed, the connection also checks whether the client has disconnected
//! ([`hang_up`]). If so, the question is cancelled ([`Cancel`]): the thread of the question ends
//! when it next reads the index.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use resemble_core::StopFlag;
use resemble_proto::catalogued;
use resemble_proto::frame::{self, LineBuffer, MAX_ANSWER, encode};
use resemble_proto::message::{
    AlertRow, Answer, Asked, End, Failure, FailureKind, Header, Hello, Reply, Request,
};
use resemble_proto::path::PathText;
use resemble_relate::parallel::{Steps, watched};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

use super::asker::Asker;
use super::context::Context;
use super::out::{channel, failed_line};
use super::progress::{self, Barrier};
use super::room::{NoRoom, Place};
use super::turns::{FairShare, Turn};
use super::{Limits, handlers, question};
use crate::indexer::Command;
use crate::root_rules::RuleSet;

/// Serves a connection to its end. A failure is sent to the client if possible. So the log has it
/// only at the level `debug`.
pub(super) async fn converse(
    stream: UnixStream,
    context: Arc<Context>,
    limits: Limits,
    ending: watch::Receiver<bool>,
    (asker, place, answering): (Asker, Place, Arc<FairShare>),
) {
    let mut connection = Connection {
        stream,
        limits,
        ending,
        asker,
        place,
    };
    match connection.serve(context, answering).await {
        Ok(()) => {}
        Err(Trouble::Failed(failure)) => {
            tracing::debug!(kind = %failure.kind, message = failure.message, "no answer");
            if connection.write(&failed_line(failure)).await.is_err() {
                tracing::debug!("the client is gone and does not know why");
            }
        }
        Err(Trouble::Gone(error)) => tracing::debug!(%error, "a connection ended early"),
    }
}

/// The reason why a connection ends without a complete answer.
#[derive(Debug)]
enum Trouble {
    /// A failure that is sent to the client.
    Failed(Failure),
    /// The client has disconnected or does not read.
    Gone(io::Error),
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Gone(error)
    }
}

struct Connection {
    stream: UnixStream,
    limits: Limits,
    ending: watch::Receiver<bool>,
    asker: Asker,
    place: Place,
}

impl Connection {
    async fn serve(
        &mut self,
        context: Arc<Context>,
        answering: Arc<FairShare>,
    ) -> Result<(), Trouble> {
        let hello = Hello {
            state: context.shared.state_folder().map(PathText::from),
            ..Hello::new(&context.shared.params)
        };
        let hello = encode(&hello, MAX_ANSWER)
            .map_err(|error| Failure::new(FailureKind::Internal, error.to_string()))?;
        self.write(&hello).await?;
        let Some((request, wants_progress)) = self.request().await? else {
            return Ok(());
        };
        self.place.is_complete();
        let Ok(_answered) = answering.try_take(self.asker.one) else {
            return Err(busy(format!(
                "the daemon is busy: it answers {} questions, and no more at once; ask again in a \
                 moment",
                self.limits.connections
            )));
        };
        tracing::debug!(request = request.word(), "asked");
        self.asker.may_ask(&request)?;
        match request {
            Request::Sync { timeout_ms } => {
                let limit = timeout_ms.map(Duration::from_millis);
                // Only a peer who may see the activity of all users gets progress, because progress
                // shows how many changes wait to be read.
                let is_told = wants_progress && self.asker.hears_all();
                let barrier = is_told.then(Barrier::default);
                self.order(&context, Command::Sync, limit, barrier).await?;
                self.done().await
            }
            Request::WatchAdd {
                path,
                rules,
                alerts,
            } => {
                let path = path.into();
                let path = aside(&context, |context| handlers::new_root(context, path)).await?;
                let scan = rules;
                let command =
                    |reply| Command::AddRoot(path.clone(), RuleSet { scan, alerts }, reply);
                self.order(&context, command, None, None).await?;
                let root = context.shared.root_with_rules(&path);
                self.rows(vec![handlers::watch_row(&context, &root)]).await
            }
            Request::Import { path, label } => {
                let row = handlers::catalogue_row(&context, &catalogued::of_label(&label));
                let command = |reply| Command::Import(path.into(), label, reply);
                self.order(&context, command, None, None).await?;
                self.rows(vec![row]).await
            }
            Request::WatchRemove { path } => {
                let path = path.into();
                let path = aside(&context, |context| handlers::known_root(context, path)).await?;
                self.order(
                    &context,
                    |reply| Command::RemoveRoot(path, reply),
                    None,
                    None,
                )
                .await?;
                self.done().await
            }
            Request::Alerts { follow, after } => self.alerts(&context, follow, after).await,
            question => self.compute(context, question, wants_progress).await,
        }
    }

    /// Reads the request. Returns it with a flag that is true if the client wants progress. Returns
    /// `None` if the client sent nothing, for example because it only checks whether a daemon
    /// listens.
    async fn request(&mut self) -> Result<Option<(Request, bool)>, Trouble> {
        let mut buffer = LineBuffer::new(self.limits.request_bytes);
        let mut piece = [0; 4 * 1024];
        let mut arrived = 0;
        let (stream, place) = (&mut self.stream, &mut self.place);
        let bad = |text: String| Trouble::Failed(Failure::new(FailureKind::BadRequest, text));
        let read = async {
            loop {
                match buffer.next_line() {
                    Ok(Some(line)) => {
                        let request = frame::decode(line).map_err(|e| bad(e.to_string()))?;
                        return Ok(Some((request, Asked::wants_progress(line))));
                    }
                    Ok(None) => {}
                    Err(error) => return Err(bad(error.to_string())),
                }
                let count = tokio::select! {
                    count = stream.read(&mut piece) => count?,
                    () = place.sent_away() => return Err(in_the_way()),
                };
                match count {
                    0 if buffer.is_empty() => return Ok(None),
                    0 => return Err(bad("half a request".into())),
                    count => arrived += count,
                }
                place.holds(arrived).map_err(|NoRoom| in_the_way())?;
                buffer.push(&piece[..count]);
            }
        };
        tokio::select! {
            read = timeout(self.limits.request_time, read) => {
                read.unwrap_or_else(|_| Err(bad("the request did not arrive in time".into())))
            }
            _ = self.ending.wait_for(|ending| *ending) => Err(ending().into()),
        }
    }

    /// Sends a command to the indexer and waits until it is executed. With `barrier`, the client
    /// gets progress meanwhile.
    async fn order(
        &mut self,
        context: &Context,
        command: impl FnOnce(oneshot::Sender<Result<(), Failure>>) -> Command,
        limit: Option<Duration>,
        mut barrier: Option<Barrier>,
    ) -> Result<(), Trouble> {
        let (reply, mut done) = oneshot::channel();
        context
            .commands
            .send(command(reply))
            .map_err(|_| ending())?;
        let late = async {
            match limit {
                Some(limit) => tokio::time::sleep(limit).await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(late);
        let mut pace = progress::pace();
        loop {
            tokio::select! {
                done = &mut done => return Ok(done.map_err(|_| ending())??),
                () = &mut late => {
                    let text = "the time given was not enough; changes are still being looked at";
                    return Err(Failure::new(FailureKind::Timeout, text).into());
                }
                () = hang_up(&self.stream) => return Err(gone()),
                _ = self.ending.wait_for(|ending| *ending) => return Err(ending().into()),
                _ = pace.tick(), if barrier.is_some() => {}
            }
            if let Some(progress) = barrier.as_mut().and_then(|barrier| barrier.now(context)) {
                self.reply(&Reply::<()>::Progress(progress)).await?;
            }
        }
    }

    /// Answers a question on a blocking thread, and sends the answer. Returns early if the client
    /// disconnects.
    async fn compute(
        &mut self,
        context: Arc<Context>,
        question: Request,
        wants_progress: bool,
    ) -> Result<(), Trouble> {
        let turn = if question.is_question() {
            Some(self.turn(&context).await?)
        } else {
            None
        };
        let cancel = Cancel::default();
        let stop = cancel.0.clone();
        let (mut out, mut pieces) = channel();
        let steps = Arc::<Steps>::default();
        let mut shown = wants_progress.then(|| Arc::clone(&steps));
        let asker = self.asker.clone();
        let work = tokio::task::spawn_blocking(move || {
            let answered = if question.is_question() {
                watched(&steps, || {
                    question::answer((&context, &asker), question, &stop, &mut out)
                })
            } else {
                handlers::answer((&context, &asker), question, &mut out)
            };
            if answered.is_err() {
                tracing::debug!("an answer was not wanted any more");
            }
            // The slot is released only now. The question of a client that has disconnected keeps
            // its slot until its thread ends.
            drop(turn);
        });
        let mut pace = progress::pace();
        loop {
            let piece = tokio::select! {
                piece = pieces.recv() => piece,
                () = hang_up(&self.stream) => return Err(gone()),
                _ = pace.tick(), if shown.is_some() => {
                    let now = shown.as_deref().and_then(progress::of_question);
                    if let Some(progress) = now {
                        self.reply(&Reply::<()>::Progress(progress)).await?;
                    }
                    continue;
                }
            };
            // The answer has begun, so no progress is sent any more.
            shown = None;
            match piece {
                Some(piece) => self.write(&piece).await?,
                None => break,
            }
        }
        work.await.map_err(|error| {
            tracing::error!(%error, "a question was not answered");
            Failure::new(
                FailureKind::Internal,
                "the question could not be answered; see the journal",
            )
        })?;
        Ok(())
    }

    /// Waits until the question may be computed, and returns its slot among the running questions.
    async fn turn(&mut self, context: &Context) -> Result<Turn, Trouble> {
        tokio::select! {
            turn = context.questions.take(self.asker.one) => turn.ok_or_else(|| ending().into()),
            () = hang_up(&self.stream) => Err(gone()),
            _ = self.ending.wait_for(|ending| *ending) => Err(ending().into()),
        }
    }

    /// Sends the alerts with greater numbers than `after`. If `follow` is true, then also sends
    /// each new alert.
    async fn alerts(
        &mut self,
        context: &Context,
        follow: bool,
        mut after: u64,
    ) -> Result<(), Trouble> {
        let mut news = context.alerts.lock().news();
        let mut rows = context.alerts.lock().after(after);
        if !follow {
            return self.rows(rows).await;
        }
        let count = rows.len() as u64;
        let header = Header {
            fresh: context.shared.fresh(),
            pending: context.shared.pending(),
            total: count,
            shown: count,
            ..Header::default()
        };
        self.reply(&Reply::<AlertRow>::Header(header)).await?;
        loop {
            for row in rows {
                after = row.seq;
                self.reply(&Reply::Row(row)).await?;
            }
            tokio::select! {
                next = news.changed() => next.map_err(|_| ending())?,
                () = hang_up(&self.stream) => return Err(gone()),
                _ = self.ending.wait_for(|ending| *ending) => return Err(ending().into()),
            }
            rows = context.alerts.lock().after(after);
        }
    }

    async fn rows<R: serde::Serialize>(&mut self, rows: Vec<R>) -> Result<(), Trouble> {
        for reply in Answer::fresh(rows, Vec::new()).into_replies() {
            self.reply(&reply).await?;
        }
        Ok(())
    }

    async fn done(&mut self) -> Result<(), Trouble> {
        self.reply(&Reply::<()>::Header(Header {
            fresh: true,
            ..Header::default()
        }))
        .await?;
        self.reply(&Reply::<()>::End(End::default())).await
    }

    async fn reply<T: serde::Serialize>(&mut self, reply: &Reply<T>) -> Result<(), Trouble> {
        let line = encode(reply, MAX_ANSWER)
            .map_err(|error| Failure::new(FailureKind::Internal, error.to_string()))?;
        self.write(&line).await
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), Trouble> {
        match timeout(self.limits.write_time, self.stream.write_all(bytes)).await {
            Ok(written) => Ok(written?),
            Err(_) => Err(Trouble::Gone(io::ErrorKind::TimedOut.into())),
        }
    }
}

/// Cancels a question when it is dropped, which happens at the end of the connection.
#[derive(Debug, Default)]
struct Cancel(StopFlag);

impl Drop for Cancel {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// The pause between two checks of a client that has closed its side for writing.
const HALF_CLOSED: Duration = Duration::from_millis(100);

/// Returns when the client has disconnected. A client that has closed only its side for writing
/// (`nc -N`) may still be reading, so it counts as connected.
async fn hang_up(stream: &UnixStream) {
    let mut rest = [0; 1024];
    loop {
        if stream.readable().await.is_err() {
            return;
        }
        match stream.try_read(&mut rest) {
            Ok(0) => break,
            // A connection has only one request, so further bytes are ignored.
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
    }
    while !is_hung_up(stream) {
        tokio::time::sleep(HALF_CLOSED).await;
    }
}

/// Returns whether the client has closed the connection in both directions. `poll` reports this
/// even if no events are requested.
fn is_hung_up(stream: &UnixStream) -> bool {
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let mut fds = [PollFd::new(stream, PollFlags::empty())];
    poll(&mut fds, Some(&at_once)).is_ok_and(|ready| ready > 0)
}

/// Runs `look` on a thread that may block. `look` accesses paths, and these may be on a disk that
/// does not answer.
async fn aside<T: Send + 'static>(
    context: &Arc<Context>,
    look: impl FnOnce(&Context) -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let context = Arc::clone(context);
    tokio::task::spawn_blocking(move || look(&context))
        .await
        .unwrap_or_else(|error| Err(Failure::new(FailureKind::Internal, error.to_string())))
}

fn busy(text: String) -> Trouble {
    Failure::new(FailureKind::Busy, text).into()
}

/// Returns the failure of a connection that is closed to make room, before its request is complete.
fn in_the_way() -> Trouble {
    let text = "the daemon is busy: too many requests were begun and are not complete; ask again \
                in a moment";
    busy(text.to_owned())
}

fn gone() -> Trouble {
    Trouble::Gone(io::ErrorKind::BrokenPipe.into())
}

fn ending() -> Failure {
    Failure::new(FailureKind::ShuttingDown, "the daemon is ending")
}
