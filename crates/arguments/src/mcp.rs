//! The options of `mcp`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

pub(super) const EXAMPLES: &str = "\
Examples:
  resemble mcp --root ~/Documents
      A server about ~/Documents alone; the client starts it. In its configuration:
        {\"mcpServers\": {\"resemble\": {\"command\": \"resemble\",
          \"args\": [\"mcp\", \"--root\", \"/home/me/Documents\"]}}}";

/// `mcp`
#[derive(Debug, Args)]
pub struct McpArgs {
    /// Answer about what lies below DIR and nothing else [default: the current directory]; may be
    /// repeated
    #[arg(long = "root", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub roots: Vec<PathBuf>,
}
