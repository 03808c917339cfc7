//! Generates the pages resembled(8) and resembled.toml(5), and the completions of `resembled`.
//!
//! The results are stored in `packaging/`, so that the program itself needs no code for them. A
//! test fails if a stored page is outdated. With `UPDATE_REFERENCE=1` the test writes the page
//! instead.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use clap::{CommandFactory, Parser};
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, italic, roman};
use resemble_daemon::config::{Args, Config};
use resemble_proto::places::Env;
use resemble_testutil::{TempTree, page_is_up_to_date};

mod keys;

use keys::{Default, KEYS, Key, TABLES};

fn packaged(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../packaging")).join(name)
}

fn version() -> String {
    format!("resembled {}", env!("CARGO_PKG_VERSION"))
}

/// Returns a manual page: the generated title, name and synopsis, followed by `sections`.
fn page(man: &Man, sections: &str) -> String {
    let mut page = Vec::new();
    man.render_title(&mut page).unwrap();
    man.render_name_section(&mut page).unwrap();
    man.render_synopsis_section(&mut page).unwrap();
    let page = String::from_utf8(page).unwrap();
    page + sections
}

#[test]
fn the_page_of_the_daemon_is_up_to_date() {
    let usage = "resembled [OPTIONS] [ROOT]...\nresembled --write-config [ROOT]...";
    let man = Man::new(Args::command().override_usage(usage))
        .section("8")
        // The date must be a blank. If it were empty, roff would take the next field as the date.
        .date(" ")
        .source(version())
        .manual("System Administration");
    let mut options = Vec::new();
    man.render_options_section(&mut options).unwrap();
    let options = String::from_utf8(options).unwrap();
    let sections = include_str!("manual/resembled.8");
    let sections = sections.replace(".\\\" OPTIONS\n", &options);
    page_is_up_to_date(packaged("man/resembled.8"), &page(&man, &sections));
}

#[test]
fn the_page_of_the_configuration_is_up_to_date() {
    let command = clap::Command::new("resembled.toml")
        .about("configuration of the daemon of resemble")
        .disable_help_flag(true)
        .override_usage("~/.config/resemble/resembled.toml");
    let man = Man::new(command)
        .section("5")
        // The date must be a blank. If it were empty, roff would take the next field as the date.
        .date(" ")
        .source(version())
        .manual("File Formats");
    let sections = include_str!("manual/resembled.toml.5");
    let sections = sections.replace(".\\\" KEYS\n", &keys());
    page_is_up_to_date(packaged("man/resembled.toml.5"), &page(&man, &sections));
}

/// Returns a section for each table of the configuration, with the table's keys.
fn keys() -> String {
    let mut roff = Roff::new();
    for (table, title, about) in TABLES {
        roff.control("SH", [title]);
        roff.text([roman(about)]);
        for key in KEYS.iter().filter(|key| key.table == table) {
            roff.control("TP", []);
            let kind = roman(format!(" = {}", key.kind));
            roff.text([bold(key.name), kind]);
            roff.text([roman(key.about)]);
            match key.default {
                Default::None => {}
                Default::Is(value) => {
                    roff.text([roman("The default is "), bold(value), roman(".")]);
                }
                Default::Means(words) => {
                    roff.text([roman("The default is "), italic(words), roman(".")]);
                }
            }
        }
    }
    roff.to_roff()
}

#[test]
fn the_completions_are_up_to_date() {
    for (shell, name) in [
        (Shell::Bash, "resembled.bash"),
        (Shell::Zsh, "_resembled"),
        (Shell::Fish, "resembled.fish"),
    ] {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut Args::command(), "resembled", &mut script);
        let script = String::from_utf8(script).unwrap();
        page_is_up_to_date(packaged("completions").join(name), &script);
    }
}

/// Returns the settings that `resembled` reads from a configuration file with this text.
fn read(text: &str) -> Result<Config, String> {
    let dir = TempTree::with_folders(&["docs"]);
    fs::write(dir.path("c.toml"), text).unwrap();
    let config = dir.path("c.toml");
    let args = Args::parse_from(["resembled".into(), "--config".into(), config]);
    let env = Env {
        home: Some("/home/somebody".into()),
        run_user: "/nonexistent".into(),
        ..Env::default()
    };
    let mut config = Config::load(&args, &env).map_err(|error| error.to_string())?;
    // Each call has a new folder. To make results comparable, its path is replaced.
    for root in &mut config.roots {
        root.path = "docs".into();
    }
    for (root, _) in &mut config.alert_rules {
        *root = "docs".into();
    }
    Ok(config)
}

fn named<'k>(keys: impl IntoIterator<Item = &'k Key>) -> BTreeSet<String> {
    keys.into_iter().map(|key| key.name.to_owned()).collect()
}

/// The page must have the keys that the daemon lists in its error message about an unknown key.
#[test]
fn every_key_is_on_the_page_and_no_other() {
    for (table, _, _) in TABLES {
        let before = match table {
            "" => String::new(),
            "limits" => "[limits]\n".to_owned(),
            table => format!("[[{table}]]\n"),
        };
        let refused = read(&(before + "no-such-key = 1\n")).unwrap_err();
        let (_, expected) = refused.split_once(", expected ").expect(&refused);
        // A name with `_` is another spelling of a key. Names of tables are left out, because a
        // table is a section and not a key.
        let tables = TABLES.map(|(table, _, _)| table);
        let expected: BTreeSet<String> = expected
            .split('`')
            .skip(1)
            .step_by(2)
            .map(|name| name.replace('_', "-"))
            .filter(|name| !tables.contains(&name.as_str()))
            .collect();
        let on_page = named(KEYS.iter().filter(|key| key.table == table));
        assert_eq!(on_page, expected, "of [{table}]");
    }
}

/// A configuration that sets every key to the default on the page equals one that sets none.
#[test]
fn the_defaults_are_those_of_the_page() {
    let root = "[[root]]\npath = \"docs\"\n";
    let mut with_all = String::new();
    let mut defaults = 0;
    for (table, _, _) in TABLES {
        match table {
            "" => {}
            "root" => with_all += root,
            "limits" => with_all += "[limits]\n",
            _ => continue,
        }
        for key in KEYS.iter().filter(|key| key.table == table) {
            if let Default::Is(value) = key.default {
                writeln!(with_all, "{} = {value}", key.name).expect("a string takes it");
                defaults += 1;
            }
        }
    }
    assert!(defaults > 15, "{with_all}");
    let shown = |text: &str| format!("{:?}", read(text));
    assert_eq!(shown(&with_all), shown(root));
    // If a key is set to another value, the settings differ.
    let other = with_all.replace("reconcile = 3600", "reconcile = 3601");
    assert_ne!(shown(&other), shown(root));
}
