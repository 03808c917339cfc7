//! Tests of the command line and the configuration file, each alone and both together.

use resemble_core::ByteLen;
use resemble_testutil::TempTree;

use super::*;
use crate::write_first_config;

struct Place {
    dir: TempTree,
    env: Env,
}

impl Place {
    fn new() -> Self {
        let dir = TempTree::with_folders(&["docs", "docs/inner", "mail", "home/tree"]);
        let env = Env {
            home: Some(dir.path("home")),
            run_user: "/nonexistent".into(),
            ..Env::default()
        };
        Self { dir, env }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path(name)
    }

    fn load(&self, args: &[&str]) -> Result<Config, ConfigError> {
        let args = args.iter().map(|arg| match arg.strip_prefix('@') {
            Some(name) => self.path(name).into_os_string(),
            None => (*arg).into(),
        });
        let args = Args::parse_from(std::iter::once("resembled".into()).chain(args));
        Config::load(&args, &self.env)
    }

    fn load_file(&self, text: &str, args: &[&str]) -> Result<Config, ConfigError> {
        fs::write(self.path("c.toml"), text).unwrap();
        self.load(&[&["--config", "@c.toml"], args].concat())
    }
}

#[test]
fn the_command_line_alone() {
    let place = Place::new();
    let config = place
        .load(&["--ignore", "--mount", "@m", "@docs", "@mail"])
        .unwrap();
    assert_eq!(config.roots.len(), 2);
    assert!(
        config
            .roots
            .iter()
            .all(|root| root.ignore && !root.one_file_system)
    );
    assert_eq!(config.mount, Some(place.path("m")));
    assert_eq!((config.link, config.must_mount), (None, true));
    assert_eq!(config.state, place.dir.path("home/.local/state/resemble"));
    assert_eq!(config.cache, Some(place.dir.path("home/.cache/resemble")));
    assert_eq!(config.socket, config.state.join("socket"));
    assert_eq!(config.view, View::Folders);
    assert_eq!(config.reconcile, Some(RECONCILE));
}

#[test]
fn the_file_has_the_same_keys_and_the_command_line_decides() {
    let place = Place::new();
    let text = "view = \"files\"\nshow = \"never\"\nreconcile = 0\nchunk-size = 4096\n\
                mount = \"m\"\nstate = \"~/st\"\n\
                [[root]]\npath = \"docs\"\nignore = true\n[[root]]\npath = \"~/tree\"\n";
    let config = place
        .load_file(text, &["--view", "folders", "@mail"])
        .unwrap();
    let paths: Vec<_> = config.roots.iter().map(|root| root.path.clone()).collect();
    assert_eq!(
        paths,
        [
            place.path("docs"),
            place.path("home/tree"),
            place.path("mail")
        ]
    );
    assert!(config.roots[0].ignore && !config.roots[1].ignore);
    assert_eq!((config.view, config.show), (View::Folders, Show::Never));
    assert_eq!(config.reconcile, None);
    assert_eq!(config.mount, Some(place.path("m")));
    assert_eq!(config.state, place.dir.path("home/st"));
    assert_ne!(config.params, Params::default());
}

#[test]
fn the_view_is_mounted_in_the_runtime_folder_unless_somebody_says_otherwise() {
    let mut place = Place::new();
    let config = place.load(&["@docs"]).unwrap();
    assert_eq!((config.mount, config.must_mount), (None, false));
    // Without a runtime folder the view is mounted in a folder for temporary files, but only if a
    // view was requested.
    place.env.tmpdir = Some(place.path("mail"));
    place.env.uid = rustix::process::geteuid().as_raw();
    let config = place.load(&["--link", "@home/Similar", "@docs"]).unwrap();
    let temporary = place.path(&format!("mail/resemble-{}/view", place.env.uid));
    assert_eq!((config.mount, config.must_mount), (Some(temporary), true));

    place.env.xdg_runtime_dir = Some(place.path("run"));
    let view = Some(place.path("run/resemble/view"));
    let config = place.load(&["@docs"]).unwrap();
    assert_eq!((&config.mount, config.must_mount), (&view, false));
    let config = place.load(&["--link", "@home/Similar", "@docs"]).unwrap();
    assert_eq!((&config.mount, config.must_mount), (&view, true));
    assert_eq!(config.link, Some(place.path("home/Similar")));
    let config = place.load(&["--no-mount", "@docs"]).unwrap();
    assert_eq!((config.mount, config.must_mount), (None, false));

    let link = "link = \"~/Similar\"\n[[root]]\npath = \"docs\"\n";
    let config = place.load_file(link, &[]).unwrap();
    assert_eq!((&config.mount, config.must_mount), (&view, true));
    assert_eq!(config.link, Some(place.dir.path("home/Similar")));
    let config = place.load_file(link, &["--no-mount"]).unwrap();
    assert_eq!((config.mount, config.link), (None, None));
    let none = "no-mount = true\n[[root]]\npath = \"docs\"\n";
    assert_eq!(place.load_file(none, &[]).unwrap().mount, None);
    let config = place.load_file(none, &["--mount", "@m"]).unwrap();
    assert_eq!(config.mount, Some(place.path("m")));
}

#[test]
fn an_unknown_key_is_named_with_its_line() {
    let place = Place::new();
    for (text, line) in [
        ("view = \"files\"\nviw = 1\n", "line 2"),
        ("[[root]]\npath = \"docs\"\nignor = true\n", "line 3"),
        ("view = \"file\"\n", "line 1"),
        ("[limits]\ntime = 1\nspeed = 2\n", "line 3"),
        ("[[converter]]\nextension = [\"doc\"]\n", "line 2"),
        ("[[root]]\npath = \"docs\"\ntext = \"off\"\n", "line 3"),
        ("view = \"files\"\n\nmount = \"~\n", "line 3"),
        ("a = 1\na = 2\n", "line"),
        ("= 1\n", "line 1"),
    ] {
        let error = place.load_file(text, &[]).unwrap_err().to_string();
        assert!(error.contains(line) && error.contains("c.toml"), "{error}");
        assert!(!error.contains(char::is_control), "{error}");
    }
    let error = place.load_file("\nviw = 1\n", &[]).unwrap_err();
    let said = "c.toml, line 2: unknown field `viw`, expected one of `";
    assert!(error.to_string().contains(said), "{error}");
}

#[test]
fn the_text_layer_is_on_unless_somebody_says_otherwise() {
    let place = Place::new();
    let text = |config: Config| {
        config
            .roots
            .iter()
            .map(|root| root.text)
            .collect::<Vec<_>>()
    };
    assert_eq!(text(place.load(&["@docs"]).unwrap()), [true]);
    assert_eq!(
        text(place.load(&["--text", "off", "@docs"]).unwrap()),
        [false]
    );
    let file = "text = false\n[[root]]\npath = \"docs\"\ntext = true\n[[root]]\npath = \"~/tree\"\n\
                [limits]\ntime = 5\nbytes = 10\n\
                [[converter]]\nextensions = [\".DOC\"]\ncommand = [\"antiword\", \"{}\"]\n";
    let config = place.load_file(file, &["@mail"]).unwrap();
    assert_eq!(config.limits.time, Duration::from_secs(5));
    assert_eq!(config.limits.bytes, 10 << 20);
    assert_eq!(config.limits.depth, Limits::default().depth);
    assert_eq!(config.converters[0].extensions, ["doc"]);
    assert_eq!(text(config), [true, false, false]);
    let on = place.load_file(file, &["--text", "on", "@mail"]).unwrap();
    assert_eq!(text(on), [true, false, true]);
    let none = "[[converter]]\nextensions = [\"doc\"]\ncommand = []\n";
    assert!(place.load_file(none, &["@docs"]).is_err());
}

#[test]
fn what_cannot_be_watched_is_said_in_a_sentence() {
    let place = Place::new();
    fs::write(place.path("file"), "").unwrap();
    for (args, part) in [
        (&["@none"][..], "No such file"),
        (&["@file"], "not a directory"),
        (&["@docs", "@docs/inner"], "lies in"),
        (&["@docs/inner", "@docs"], "lies in"),
        (&["@docs", "@docs"], "it is watched already"),
        (&["/proc"], "pseudo"),
        (&["--state", "@docs", "@docs/inner"], "state folder"),
        (&["--chunk-size", "10", "@docs"], "from 145"),
    ] {
        let error = place.load(args).unwrap_err().to_string();
        assert!(error.contains(part), "{args:?}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

#[test]
fn the_folder_of_similar_files_has_the_name_that_is_asked_for() {
    let place = Place::new();
    let name = |config: Config| config.similar_name.to_string();
    assert_eq!(name(place.load(&["@docs"]).unwrap()), ".similar");
    let file = "similar-name = \"Similar files\"\n";
    assert_eq!(name(place.load_file(file, &[]).unwrap()), "Similar files");
    let both = place.load_file(file, &["--similar-name", "Like it"]);
    assert_eq!(name(both.unwrap()), "Like it");
    for bad in ["", ".", "..", "a/b"] {
        let args = ["resembled", "--similar-name", bad];
        let refused = Args::try_parse_from(args).unwrap_err().to_string();
        assert!(refused.contains("a name has 1 to 255 bytes"), "{refused}");
        let file = format!("# Names\nsimilar-name = \"{bad}\"\n");
        let refused = place.load_file(&file, &[]).unwrap_err().to_string();
        assert!(refused.contains("line 2: a name has 1 to"), "{refused}");
    }
}

#[test]
fn a_root_is_known_by_its_real_path() {
    let place = Place::new();
    std::os::unix::fs::symlink(place.path("docs"), place.path("link")).unwrap();
    let config = place.load(&["@link"]).unwrap();
    assert_eq!(config.roots[0].path, place.path("docs"));
    assert!(place.load(&["@link", "@docs"]).is_err());
}

#[test]
fn a_root_may_leave_out_names_and_large_files() {
    let place = Place::new();
    let text = "exclude = [\"node_modules\"]\nmax-size = \"1.5G\"\n\
                [[root]]\npath = \"docs\"\nexclude = [\"*.iso\"]\nmax_size = 1000\n\
                [[root]]\npath = \"~/tree\"\n";
    let config = place.load_file(text, &["@mail"]).unwrap();
    let rules = |at: usize| {
        let root = &config.roots[at];
        (root.exclude.join(" "), root.max_size.map(|size| size.0))
    };
    let of_all = ("node_modules".to_owned(), Some(3 << 29));
    assert_eq!(rules(0), ("*.iso".to_owned(), Some(1000)));
    assert_eq!((rules(1), rules(2)), (of_all.clone(), of_all));
    let config = place.load(&[
        "--exclude",
        "a",
        "--exclude",
        "b",
        "--max-size",
        "10K",
        "@docs",
    ]);
    let root = &config.unwrap().roots[0];
    assert_eq!(
        (root.exclude.join(" "), root.max_size),
        ("a b".to_owned(), Some(ByteLen(10_240)))
    );
    for (text, part) in [
        ("exclude = [\"[a\"]", "cannot be understood"),
        ("exclude = [\"\"]", "is empty"),
        ("max-size = \"large\"", "line 1"),
        ("max-size = -1", "expected a number from 0 on"),
    ] {
        let error = place.load_file(text, &[]).unwrap_err().to_string();
        assert!(error.contains(part) && !error.contains('\n'), "{error}");
    }
}

#[test]
fn the_file_to_start_with_is_one_that_can_be_read() {
    let mut place = Place::new();
    place.env.xdg_config_home = Some(place.path("home/settings"));
    let args = |roots: &[&str]| {
        let roots = roots.iter().map(|name| place.path(name).into_os_string());
        let options = ["resembled", "--write-config"].map(Into::into);
        Args::parse_from(options.into_iter().chain(roots))
    };
    let path = write_first_config(&args(&["docs", "mail"]), &place.env).unwrap();
    assert_eq!(path, place.path("home/settings/resemble/resembled.toml"));
    let config = place.load(&["--config", path.to_str().unwrap()]).unwrap();
    let paths: Vec<_> = config.roots.iter().map(|root| root.path.clone()).collect();
    assert_eq!(paths, [place.path("docs"), place.path("mail")]);
    for name in ["node_modules", "target", "**/.git/objects", ".cache"] {
        assert!(
            config.roots[0]
                .exclude
                .iter()
                .any(|pattern| pattern == name)
        );
    }
    // An existing file is not overwritten.
    let again = write_first_config(&args(&[]), &place.env)
        .unwrap_err()
        .to_string();
    assert!(again.contains("exists"), "{again}");
    fs::remove_file(&path).unwrap();
    write_first_config(&args(&[]), &place.env).unwrap();
    assert!(
        place
            .load(&["--config", path.to_str().unwrap()])
            .unwrap()
            .roots
            .is_empty()
    );
    assert!(write_first_config(&args(&["none"]), &place.env).is_err());
}

#[test]
fn the_command_line_is_sound() {
    use clap::CommandFactory;
    Args::command().debug_assert();
}

#[test]
fn what_is_worth_an_alert_is_said_for_all_roots_or_for_one() {
    let place = Place::new();
    let text = "alert-min = \"90%\"\nalert-kinds = [\"near\"]\n\
                [[root]]\npath = \"docs\"\nalert-min = 0.5\nalert-min-size = \"10K\"\n\
                [[root]]\npath = \"mail\"\nalert-kinds = []\n";
    let config = place.load_file(text, &["@home/tree"]).unwrap();
    let rules = |name: &str| {
        let path = place.path(name);
        let mut named = config.alert_rules.iter().filter(|(root, _)| *root == path);
        let rules = &named.next().unwrap().1;
        let kinds = rules.kinds.as_ref().map(Vec::len);
        (rules.least_share().millionths(), rules.least_size(), kinds)
    };
    assert_eq!(rules("docs"), (Some(500_000), 10_240, Some(1)));
    assert_eq!(rules("mail"), (Some(900_000), 1024, Some(0)));
    assert_eq!(rules("home/tree"), (Some(900_000), 1024, Some(1)));
    let wrong = place
        .load_file("alert-kinds = [\"close\"]\n", &["@docs"])
        .unwrap_err();
    assert!(
        wrong
            .to_string()
            .contains("line 1: `close` is not one of identical,"),
        "{wrong}"
    );
}

#[test]
fn sinks_of_alerts() {
    let place = Place::new();
    let text = "[[notify]]\nsink = \"mail\"\nto = \"ann@example.org\"\ndigest = \"daily\"\n\
                [[notify]]\nsink = \"command\"\ncommand = [\"x\", \"-y\"]\ninput = \"text\"\n\
                timeout = \"2s\"\nroots = [\"docs\"]\nmin = \"95%\"\n\
                [[notify]]\nsink = \"file\"\npath = \"out.jsonl\"\n\
                [[notify]]\nsink = \"journal\"\n";
    let config = place.load_file(text, &["@docs"]).unwrap();
    let names: Vec<&str> = config.sinks.iter().map(|sink| sink.name.as_str()).collect();
    assert_eq!(names, ["mail", "command", "file", "journal"]);
    assert_eq!(config.sinks[0].pace, Pace::Daily);
    assert_eq!(config.sinks[1].filter.roots, [place.path("docs")]);
    let SinkKind::Command(command) = &config.sinks[1].kind else {
        panic!("{:?}", config.sinks[1]);
    };
    assert_eq!(command.limit, Duration::from_secs(2));
    assert!(config.has_journal());
    for (table, expected) in [
        ("sink = \"pigeon\"", "`pigeon` is no sink"),
        ("sink = \"desktop\"", "resemble notify"),
        ("sink = \"file\"", "needs a `path`"),
        ("sink = \"command\"", "needs a `command`"),
        ("sink = \"command\"\ncommand = []", "needs a `command`"),
        ("sink = \"mail\"", "needs an address"),
        ("sink = \"mail\"\nto = []", "needs an address"),
        ("sink = \"mail\"\nto = \"-t\"", "\"-t\" is no address"),
        ("sink = \"mail\"\nto = \"a\\nBcc: b\"", "is no address"),
        (
            "sink = \"mail\"\nto = \"a\"\nfrom = \"a b\"",
            "is no address",
        ),
        (
            "sink = \"mail\"\nto = \"a\"\nrate = 3",
            "`rate` is a key of command only",
        ),
        (
            "sink = \"file\"\npath = \"x\"\ndigest = \"daily\"",
            "command and mail only",
        ),
        (
            "sink = \"mail\"\nto = \"a\"\nevery = 3\ndigest = \"daily\"",
            "only one of",
        ),
        (
            "sink = \"journal\"\nexclude = [\"[a\"]",
            "unclosed character class",
        ),
        ("sink = \"journal\"\ncolour = 1", "unknown field"),
        (
            "sink = \"journal\"\n[[notify]]\nsink = \"journal\"",
            "two of this name",
        ),
    ] {
        let wrong = place.load_file(&format!("[[notify]]\n{table}\n"), &["@docs"]);
        let wrong = wrong.unwrap_err().to_string();
        assert!(
            wrong.contains(expected) && !wrong.contains('\n'),
            "{table}: {wrong}"
        );
    }
}

#[test]
fn changed_files_are_taken_or_refused_in_one_sentence() {
    let place = Place::new();
    let full = r#"
        state = "s"
        socket = "~/sock"
        ignore = true
        max_size = "10M"
        exclude = ["*.o", "target"]
        chunk_size = 1024
        reconcile = 60
        [[root]]
        path = "docs"
        exclude = []
        max_size = 100
        [[root]]
        path = "mail"
        text = false
        [[notify]]
        kind = "command"
        command = ["true", "%s"]
    "#;
    let mut samples = vec![full.as_bytes().to_vec()];
    samples.extend(full.lines().map(|line| line.trim().as_bytes().to_vec()));
    let mut takes = |bytes: &[u8]| {
        fs::write(place.path("c.toml"), bytes).unwrap();
        match place.load(&["--config", "@c.toml", "--no-mount"]) {
            Ok(_) => true,
            Err(error) => {
                assert!(!error.to_string().contains('\n'), "{error}");
                false
            }
        }
    };
    resemble_testutil::fuzz("configuration", 3_000, samples, &mut takes);
}
