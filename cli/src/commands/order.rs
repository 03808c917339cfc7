//! `resemble groups --order`: prints the names of all files, with similar files next to each other.

use std::path::Path;

use resemble_arguments::{Answering, Global, GroupsArgs, RowOutput};
use resemble_core::Params;
use resemble_proto::documents::{Document, GroupsParameters};
use resemble_proto::list_body;
use resemble_proto::message::{OrderRow, Whole};
use resemble_proto::places::Env;
use resemble_proto::question::OrderRequest;
use resemble_report::document::Extras;

use super::groups::{parameters, request};
use crate::backend::Backend;
use crate::error::CliResult;
use crate::lists;
use crate::question::{self, QuestionPaths, Verb};
use crate::ui::Ui;

pub(super) fn run(ui: &mut Ui, env: &Env, global: &Global, args: &GroupsArgs) -> CliResult {
    let output = args.output.as_rows("--order")?;
    let asked = QuestionPaths::within(&args.roots);
    question::run(ui, env, global, &asked, Ordering { args, output })
}

struct Ordering<'a> {
    args: &'a GroupsArgs,
    output: RowOutput,
}

list_body! {
    /// The names in order.
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[derive(Debug, Default)]
    pub(super) struct Ordered {
        order: Vec<OrderRow>,
    } of "groups", GroupsParameters
}

impl Verb for Ordering<'_> {
    type Body = Ordered;

    fn answering(&self) -> Answering {
        self.args.answering.clone()
    }

    fn ask(
        &mut self,
        ui: &mut Ui,
        backend: &mut Backend,
        asked: &QuestionPaths,
    ) -> CliResult<Whole<Ordered>> {
        let answer = backend.ask(
            ui,
            "ordering",
            OrderRequest(request(self.args, asked, None)),
        )?;
        Ok(answer.map(|order| Ordered { order }))
    }

    fn show(&self, body: &mut Ordered, asked: &QuestionPaths) {
        for row in &mut body.order {
            row.path = asked.shown(&row.path);
        }
    }

    fn parameters(&self, _: &QuestionPaths, params: &Params) -> GroupsParameters {
        parameters(self.args, params)
    }

    fn output(&self) -> Option<&Path> {
        self.output.output.as_deref()
    }

    fn print(&self, ui: &mut Ui, document: &Document<Ordered>, _: &Extras<'_>) -> CliResult<()> {
        lists::print_document(ui, &self.output, document, false)
    }
}
