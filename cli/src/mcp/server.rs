//! Implements the protocol: lists tools, answers calls, sends progress, and ends cancelled calls.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use resemble_report::quote::quoted;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    JsonObject, ListResourceTemplatesResult, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    ResourceContents, ResourceTemplate, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::places::Roots;
use super::tools::{self, Call, ToolKind};
use super::{answers, asking};

/// The maximum number of questions that run at the same time. Further questions wait.
const AT_ONCE: usize = 4;

/// The time between two messages about the progress of a question.
const TOLD_EVERY: Duration = Duration::from_secs(1);

const MOVED: &str = "a root of this server is not where it was";

const INSTRUCTIONS: &str = "Finds near-duplicates, versions, quotations and copies by content \
                            among the files below the roots of this server. Before you write a \
                            new file or function, ask `find` with its text: what it lists can be \
                            reused. `groups_of` says which version is the newest.";

/// Answers calls about files below some roots.
#[derive(Clone)]
pub(super) struct Server {
    roots: Arc<Roots>,
    /// Options for the question processes.
    options: Arc<Vec<OsString>>,
    turns: Arc<Semaphore>,
}

impl Server {
    pub(super) fn new(roots: Roots, options: Vec<OsString>) -> Self {
        Self {
            roots: Arc::new(roots),
            options: Arc::new(options),
            turns: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }

    /// Returns the answer to a call of a tool, or an error message of one sentence.
    async fn answer(&self, kind: ToolKind, arguments: Option<JsonObject>) -> Result<Value, String> {
        let call = Call::of(kind, arguments, &self.roots)?;
        let Ok(_turn) = self.turns.acquire().await else {
            return Err("the server ends".to_owned());
        };
        let are_there = || self.roots.are_there().then_some(()).ok_or(MOVED);
        are_there()?;
        let document = asking::document(&self.options, call.invocation).await;
        are_there()?;
        if let Some(gone) = call
            .places
            .iter()
            .find(|place| !self.roots.have_still(place))
        {
            let gone = quoted(&gone.path);
            return Err(format!("{gone} changed while it was looked at"));
        }
        match document {
            Ok(document) => Ok(answers::of_document(
                call.kind,
                &document,
                &self.roots,
                call.bounds,
            )),
            Err(_) if kind == ToolKind::Status => Ok(json!({"daemon": false})),
            Err(said) => Err(self.harmless(&said)),
        }
    }

    /// Returns a message of the command. A message that names a path outside the roots is replaced.
    fn harmless(&self, said: &str) -> String {
        let is_outside = |word: &str| {
            let path = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '/');
            path.contains('/') && !self.roots.hold(Path::new(path))
        };
        if said.split_whitespace().any(is_outside) {
            "the question could not be answered; the same question to `resemble` in a shell says \
             why"
            .to_owned()
        } else {
            said.to_owned()
        }
    }

    /// Like [`Self::answer`], but can be cancelled, and sends progress messages if the caller
    /// requested them.
    async fn answer_in(
        &self,
        context: &RequestContext<RoleServer>,
        kind: ToolKind,
        arguments: Option<JsonObject>,
    ) -> Result<Value, String> {
        let token = context.meta.get_progress_token();
        let began = Instant::now();
        let tell = async {
            let Some(token) = token else {
                return std::future::pending::<()>().await;
            };
            loop {
                tokio::time::sleep(TOLD_EVERY).await;
                let seconds = began.elapsed().as_secs_f64();
                let progress = ProgressNotificationParam::new(token.clone(), seconds);
                let progress = progress.with_message("looking at the files");
                // A caller who does not accept progress still gets the answer.
                drop(context.peer.notify_progress(progress).await);
            }
        };
        tokio::select! {
            answer = self.answer(kind, arguments) => answer,
            () = tell => Err("the server ends".to_owned()),
            () = context.ct.cancelled() => Err("cancelled".to_owned()),
        }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("resemble", resemble_proto::VERSION))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::all()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(kind) = ToolKind::of_name(&request.name) else {
            return Err(ErrorData::invalid_params("there is no such tool", None));
        };
        let answer = self.answer_in(&context, kind, request.arguments).await;
        Ok(match answer {
            Ok(answer) => CallToolResult::structured(answer).into(),
            Err(why) => CallToolResult::error(vec![ContentBlock::text(why)]).into(),
        })
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let template = ResourceTemplate::new("resemble://{+file}/similar", "similar")
            .with_description("The files similar to a file below a root, as `find` lists them")
            .with_mime_type("application/json");
        Ok(ListResourceTemplatesResult::with_all_items(vec![template]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let none = || ErrorData::resource_not_found("there is no such resource", None);
        let file = request.uri.strip_prefix("resemble://");
        let file = file.and_then(|file| file.strip_suffix("/similar"));
        let file = file.and_then(unescaped).ok_or_else(none)?;
        let arguments = JsonObject::from_iter([("path".to_owned(), json!(file))]);
        let answer = self
            .answer_in(&context, ToolKind::Find, Some(arguments))
            .await;
        let answer = answer.map_err(|why| ErrorData::resource_not_found(why, None))?;
        let contents = ResourceContents::text(answer.to_string(), request.uri)
            .with_mime_type("application/json");
        Ok(ReadResourceResult::new(vec![contents]).into())
    }
}

/// Decodes `%20` and the like in a part of a URI; `None` if the result is no text.
fn unescaped(escaped: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(escaped.len());
    let mut rest = escaped.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte == b'%' {
            let (hex, after) = after.split_at_checked(2)?;
            let hex = std::str::from_utf8(hex).ok()?;
            bytes.push(u8::from_str_radix(hex, 16).ok()?);
            rest = after;
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}
