//! Lists every key of the configuration with its type, default and meaning.

/// The default of a key.
pub(super) enum Default {
    /// The key has no default.
    None,
    /// A value, as it is written in the file.
    Is(&'static str),
    /// A default that is described in words.
    Means(&'static str),
}

use Default::{Is, Means, None};

/// A key of a table.
pub(super) struct Key {
    pub(super) table: &'static str,
    pub(super) name: &'static str,
    pub(super) kind: &'static str,
    pub(super) default: Default,
    pub(super) about: &'static str,
}

/// The tables of the configuration: name, title of the section, and description.
pub(super) const TABLES: [(&str, &str, &str); 6] = [
    (
        "",
        "KEYS OF THE DAEMON",
        "They stand before the first table. An option of resembled(8) with the same name decides.",
    ),
    (
        "root",
        "KEYS OF [[root]]",
        "A folder that is watched. There may be any number of these tables.",
    ),
    (
        "catalogue",
        "KEYS OF [[catalogue]]",
        "A folder whose catalogues are kept up to date: imported, replaced and forgotten with \
         their files. There may be any number of these tables.",
    ),
    (
        "limits",
        "KEYS OF [limits]",
        "What one document or archive may cost. Beyond it the file, or the member, is skipped or \
         cut short, and resemble status says so.",
    ),
    (
        "converter",
        "KEYS OF [[converter]]",
        "A command that turns files of a format that resemble does not read into text. There may \
         be any number of these tables.",
    ),
    (
        "notify",
        "KEYS OF [[notify]]",
        "A sink of alerts. Each alert that it wants is delivered at least once. There may be any \
         number of these tables.",
    ),
];

const fn key(
    table: &'static str,
    name: &'static str,
    kind: &'static str,
    default: Default,
    about: &'static str,
) -> Key {
    Key {
        table,
        name,
        kind,
        default,
        about,
    }
}

/// The keys, in the order of the page.
pub(super) const KEYS: [Key; 54] = [
    key(
        "",
        "link",
        "\"PATH\"",
        None,
        "The place of a symbolic link that leads to the view, such as \"~/Similar\". The daemon \
         makes it, and removes it at its end.",
    ),
    key(
        "",
        "mount",
        "\"DIR\"",
        Means("$XDG_RUNTIME_DIR/resemble/view"),
        "Where the view is mounted. Not among files that other programs walk through: duplicate \
         finders and backups would meet every file a second time.",
    ),
    key(
        "",
        "no-mount",
        "true or false",
        Is("false"),
        "Mount no view.",
    ),
    key(
        "",
        "view",
        "\"folders\" or \"files\"",
        Is("\"folders\""),
        "What the view shows: each file as a folder with the file and .similar in it, or the tree \
         as it is, where each folder answers .similar/NAME.",
    ),
    key(
        "",
        "show",
        "\"always\" or \"never\"",
        Means("as the view has it: in the folder of a file"),
        "Whether listings of the view show .similar. It can be opened in either case.",
    ),
    key(
        "",
        "similar-name",
        "\"NAME\"",
        Is("\".similar\""),
        "Under which name listings of the view show .similar: file managers hide names that begin \
         with a dot. It can be opened as .similar in any case. What has one of the two names in \
         the watched folders is not shown.",
    ),
    key(
        "",
        "state",
        "\"DIR\"",
        Means("$XDG_STATE_HOME/resemble, or ~/.local/state/resemble"),
        "Where the index, the alerts and the roots added by resemble watch add are kept.",
    ),
    key(
        "",
        "socket",
        "\"PATH\"",
        Means("$XDG_RUNTIME_DIR/resemble/socket"),
        "The socket that the daemon answers at.",
    ),
    key(
        "",
        "ignore",
        "true or false",
        Is("false"),
        "Honour .gitignore and .ignore files, and leave out .git.",
    ),
    key(
        "",
        "one-file-system",
        "true or false",
        Is("false"),
        "Do not enter other file systems below a root.",
    ),
    key(
        "",
        "text",
        "true or false",
        Is("true"),
        "Compare documents by their text and archives by what they hold. With false, every file \
         is compared by its bytes alone.",
    ),
    key(
        "",
        "exclude",
        "[\"GLOB\", ...]",
        Is("[]"),
        "Leave out names that match one of these patterns, which are those of .gitignore, with \
         all below them.",
    ),
    key(
        "",
        "max-size",
        "BYTES or \"SIZE\"",
        None,
        "Leave out larger files. A SIZE is a number with K, M, G or T (of 1024), or KB, MB, GB or \
         TB (of 1000), such as \"1.5G\".",
    ),
    key(
        "",
        "alert-min",
        "\"SHARE\"",
        Is("\"80%\""),
        "Alerts only if so much of the smaller file is in the other.",
    ),
    key(
        "",
        "alert-min-size",
        "BYTES or \"SIZE\"",
        Is("1024"),
        "Alerts only about changed files of at least this many bytes.",
    ),
    key(
        "",
        "alert-kinds",
        "[\"KIND\", ...]",
        Means("all"),
        "Alerts only of these kinds: identical, same-text, near, contains, contained, shares, and \
         tree for a copied folder. An empty list means none.",
    ),
    key(
        "",
        "chunk-size",
        "BYTES",
        Is("1015"),
        "The average size of the chunks that files are cut into. An index that was made with \
         another size is made anew.",
    ),
    key(
        "",
        "boilerplate",
        "NUMBER",
        Is("1000"),
        "A chunk or a sample that more contents than this have is boilerplate: it makes no two \
         files similar.",
    ),
    key(
        "",
        "wait",
        "true or false",
        Is("false"),
        "Answer and mount the view only when the first scan is done.",
    ),
    key(
        "",
        "reconcile",
        "SECONDS",
        Is("3600"),
        "How often all files are compared with the index, in case a change went unnoticed; 0 is \
         never.",
    ),
    key(
        "root",
        "path",
        "\"DIR\"",
        None,
        "The folder. It must be given, and no root may lie in another one.",
    ),
    key(
        "root",
        "ignore",
        "true or false",
        Means("that of the daemon's key"),
        "The same for this root.",
    ),
    key(
        "root",
        "one-file-system",
        "true or false",
        Means("that of the daemon's key"),
        "The same for this root.",
    ),
    key(
        "root",
        "text",
        "true or false",
        Means("that of the daemon's key"),
        "The same for this root.",
    ),
    key(
        "root",
        "exclude",
        "[\"GLOB\", ...]",
        Means("that of the daemon's key"),
        "The same for this root, in place of the patterns of all roots.",
    ),
    key(
        "root",
        "max-size",
        "BYTES or \"SIZE\"",
        Means("that of the daemon's key"),
        "The same for this root.",
    ),
    key(
        "root",
        "alert-min",
        "\"SHARE\"",
        Means("that of the daemon's key"),
        "The same for this root.",
    ),
    key(
        "root",
        "alert-min-size",
        "BYTES or \"SIZE\"",
        Means("that of the daemon's key"),
        "The same for this root.",
    ),
    key(
        "root",
        "alert-kinds",
        "[\"KIND\", ...]",
        Means("that of the daemon's key"),
        "The same for this root.",
    ),
    key(
        "catalogue",
        "path",
        "\"PATTERN\"",
        None,
        "Where they are, with a pattern for their names as the last part: /srv/catalogues/*.cat. \
         A catalogue has the label of its file's name without the ending. It must be given.",
    ),
    key(
        "limits",
        "depth",
        "NUMBER",
        Is("4"),
        "How deep archives in archives are opened.",
    ),
    key(
        "limits",
        "ratio",
        "NUMBER",
        Is("200"),
        "How many bytes may come out for each byte that is in the file.",
    ),
    key(
        "limits",
        "bytes",
        "MIB",
        Is("1024"),
        "How much may come out of one file.",
    ),
    key(
        "limits",
        "parts",
        "NUMBER",
        Is("10000"),
        "How many parts one file may have.",
    ),
    key(
        "limits",
        "time",
        "SECONDS",
        Is("60"),
        "How long one file may take.",
    ),
    key(
        "limits",
        "memory",
        "MIB",
        Is("1024"),
        "How much memory one file may take.",
    ),
    key(
        "converter",
        "extensions",
        "[\"EXT\", ...]",
        None,
        "The endings of the names of these files. It must be given.",
    ),
    key(
        "converter",
        "command",
        "[\"PROGRAM\", \"ARG\", ...]",
        None,
        "The command. It is run without a shell, with the file as its standard input; an argument \
         {} becomes a path to the file; what it writes to its standard output is the text. It must \
         be given.",
    ),
    key(
        "notify",
        "sink",
        "\"journal\", \"file\", \"command\" or \"mail\"",
        None,
        "What it is. It must be given.",
    ),
    key(
        "notify",
        "name",
        "\"NAME\"",
        Means("that of the sink"),
        "What resemble status calls it. Two of one kind need names.",
    ),
    key(
        "notify",
        "roots",
        "[\"DIR\", ...]",
        Means("everywhere"),
        "Only changes below these folders.",
    ),
    key(
        "notify",
        "min",
        "\"SHARE\"",
        None,
        "Only from this share on.",
    ),
    key(
        "notify",
        "kinds",
        "[\"KIND\", ...]",
        Means("all"),
        "Only these kinds.",
    ),
    key(
        "notify",
        "exclude",
        "[\"GLOB\", ...]",
        None,
        "Not if one of the two files matches a pattern as in .gitignore; one that begins with / \
         is an absolute path.",
    ),
    key(
        "notify",
        "path",
        "\"PATH\"",
        None,
        "Of a file sink the file; of the journal its socket.",
    ),
    key(
        "notify",
        "command",
        "[\"PROGRAM\", \"ARGUMENT\", ...]",
        None,
        "Of a command sink the program and its arguments. No shell is involved.",
    ),
    key(
        "notify",
        "input",
        "\"json\" or \"text\"",
        Means("json"),
        "What a command gets on its standard input: the alert as JSON, or one sentence.",
    ),
    key(
        "notify",
        "to",
        "\"ADDRESS\" or [\"ADDRESS\", ...]",
        None,
        "Who gets the mail.",
    ),
    key("notify", "from", "\"ADDRESS\"", None, "Who it is from."),
    key(
        "notify",
        "sendmail",
        "\"PATH\"",
        Means("/usr/sbin/sendmail"),
        "The program that takes the mail.",
    ),
    key(
        "notify",
        "timeout",
        "\"TIME\" or SECONDS",
        Means("30s"),
        "When a command or sendmail takes longer, it is killed and tried again.",
    ),
    key(
        "notify",
        "rate",
        "N",
        Means("30 a minute"),
        "The most alerts a minute a command gets one by one; further ones are one summary. \
         0: no limit.",
    ),
    key(
        "notify",
        "every",
        "\"TIME\" or SECONDS",
        Means("10m for mail"),
        "What came is delivered together, with a pause of at least this.",
    ),
    key(
        "notify",
        "digest",
        "\"daily\"",
        None,
        "What came on a day is delivered after it, as a page.",
    ),
];
