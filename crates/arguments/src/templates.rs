//! The options of `templates`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use resemble_proto::number::Fraction;

use super::{Answering, RowOutput};
use crate::values;

pub(super) const EXAMPLES: &str = "\
Examples:
  resemble templates mark 5c1f0e6b2a97 ~/manuals
      What all members of a cluster of `resemble groups ~/manuals` have is a template.
  resemble templates mark page-1.html page-2.html page-3.html --name preamble
      What these files have in common.
  resemble templates mark *.html --share 80%
      What at least four fifths of them have.
  resemble templates unmark preamble

Templates are kept in templates.json in the state folder, for the daemon and for --local alike.
They take effect at once and no file is read for it.";

/// `templates`
#[derive(Debug, Args)]
pub struct TemplatesArgs {
    /// The action.
    #[command(subcommand)]
    pub action: TemplatesAction,
}

/// What to do with templates.
#[derive(Debug, Subcommand)]
pub enum TemplatesAction {
    /// Leave out what the members of a cluster, or these files, have in common
    ///
    /// Percentages are then about the rest of each file, and what is left out is no reason to call
    /// two files similar: in find, pairs, groups, dirs, compare, alerts and the overlay. Repeat it
    /// if that brings a further template to light.
    Mark(MarkArgs),
    /// List the templates
    List {
        /// The output options.
        #[command(flatten)]
        output: RowOutput,
    },
    /// Take a template back
    Unmark {
        /// Its id or name
        #[arg(value_name = "TEMPLATE")]
        which: String,
    },
}

/// `templates mark`
#[derive(Debug, Args)]
pub struct MarkArgs {
    /// Files, or the id of a cluster and the directories to look for it in (without one: all that
    /// the daemon watches)
    #[arg(value_name = "CLUSTER|FILE|ROOT", required = true, value_hint = ValueHint::AnyPath)]
    pub what: Vec<PathBuf>,
    /// Mark what at least this share of the files have, instead of what all have
    #[arg(long, value_name = "SHARE", value_parser = values::share)]
    pub share: Option<Fraction>,
    /// A name for it: `list` prints it, and `unmark` takes it
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// The output options.
    #[command(flatten)]
    pub output: RowOutput,
    /// The answering process and its cache.
    #[command(flatten)]
    pub answering: Answering,
}
