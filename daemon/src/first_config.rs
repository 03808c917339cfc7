//! Writes a first configuration file for a user: `resembled --write-config`.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use resemble_proto::places::{self, Env};

use crate::ROOTS_FILE;
use crate::config::{Args, ConfigError, real};
use crate::indexer::roots::restore_removed;

/// Patterns of names that most people do not want to watch. They match caches of programs, outputs
/// of builds, packed objects of version control, the trash and temporary files.
const LEFT_OUT: [&str; 10] = [
    ".cache",
    "Cache",
    "CacheStorage",
    "__pycache__",
    "node_modules",
    "target",
    "**/.git/objects",
    "**/.local/share/Trash",
    ".venv",
    "*.tmp",
];

/// Writes the configuration file and returns its path. Fails if the file already exists. A daemon
/// with this configuration watches all its roots, even those that `watch remove` removed earlier.
pub fn write(args: &Args, env: &Env) -> Result<PathBuf, ConfigError> {
    let here = std::env::current_dir().map_err(ConfigError::WorkingDirectory)?;
    let path = match &args.config {
        Some(path) => here.join(path),
        None => places::config_dir(env)?.join("resembled.toml"),
    };
    let state = args.state.as_ref().map(|state| here.join(state));
    let list = places::state_dir(env, state.as_deref())?.join(ROOTS_FILE);
    let mut roots = Vec::new();
    for root in &args.roots {
        roots.push(real(&here.join(root))?);
    }
    let failed = |source| ConfigError::Write {
        path: path.clone(),
        source,
    };
    let folder = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder).map_err(failed)?;
    let mut file = fs::File::create_new(&path).map_err(failed)?;
    let link = args.link.as_ref().map(|link| here.join(link));
    let text = text(&roots, link.as_deref()).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    restore_removed(&list, &roots).map_err(|source| ConfigError::Write { path: list, source })?;
    Ok(path)
}

/// Returns the text of the file.
fn text(roots: &[PathBuf], link: Option<&Path>) -> io::Result<String> {
    let mut text = String::from(
        "# What resembled watches. Each key is a long option of `resembled --help`.\n\n\
         # Names that are left out in every folder below, with all they hold: patterns as in\n\
         # .gitignore. Here: caches, what builds made, and what git packed. `resemble status`\n\
         # shows them. A [[root]] with an `exclude` of its own goes by that alone.\n\
         exclude = [\n",
    );
    for pattern in LEFT_OUT {
        // Writing to a string cannot fail.
        writeln!(text, "    \"{pattern}\",").ok();
    }
    text += "]\n\n# Larger files are known by their names alone.\n# max-size = \"10G\"\n";
    text += "\n# A symbolic link to the view: `ls LINK/FILE/.similar` answers.\n";
    match link {
        Some(link) => writeln!(text, "link = {}", value(link)?).ok(),
        None => writeln!(text, "# link = \"~/Similar\"").ok(),
    };
    text += "\n# Its folder of links under a name that file managers show.\n\
             # similar-name = \"Similar files\"\n";
    text += "\n# Which alerts are raised when a file becomes similar to another; a [[root]] may\n\
             # have these keys, too. `alert-kinds = []`: none.\n\
             # alert-min = \"80%\"\n# alert-min-size = \"1K\"\n\
             # alert-kinds = [\"identical\", \"same-text\", \"near\", \"contains\", \"contained\", \
             \"tree\"]\n\n\
             # Where alerts go: journal, file, command, mail (docs/alerts.md). On the desktop\n\
             # they are shown by `resemble notify`.\n\
             # [[notify]]\n# sink = \"mail\"\n# to = \"me@example.org\"\n# digest = \"daily\"\n";
    for root in roots {
        write!(text, "\n[[root]]\npath = {}\n", value(root)?).ok();
    }
    if roots.is_empty() {
        text += "\n# [[root]]\n# path = \"~/Documents\"\n";
    }
    Ok(text)
}

/// Formats a path as a TOML value.
fn value(path: &Path) -> io::Result<toml::Value> {
    path.to_str().map(toml::Value::from).ok_or_else(|| {
        let wrong = "a path that is not UTF-8 cannot stand in it";
        io::Error::new(io::ErrorKind::InvalidInput, wrong)
    })
}
