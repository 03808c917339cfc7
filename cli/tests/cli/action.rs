//! Runs the steps of the action in `.github/actions/check`, as GitHub would.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use resemble_testutil::{Ran, finish};
use yaml_rust2::{Yaml, YamlLoader};

use crate::check::{Repository, near, text};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../.github/actions/check")
}

fn action() -> Yaml {
    let text = fs::read_to_string(folder().join("action.yml")).unwrap();
    YamlLoader::load_from_str(&text).unwrap().remove(0)
}

/// Returns `NAME` of a value `${{ inputs.NAME }}`, which a step puts into an environment variable.
fn input_of(value: &str) -> &str {
    let name = value.strip_prefix("${{ inputs.").unwrap();
    name.strip_suffix(" }}").unwrap()
}

/// Runs the steps of the action until one fails, and returns the last result. Inputs that are not
/// in `inputs` have their defaults. Nothing is installed: a script in place of `cargo` links the
/// program under test.
fn run(it: &Repository, inputs: &[(&str, &str)]) -> Ran {
    let action = action();
    let programs = it.0.home().join("programs");
    fs::create_dir_all(&programs).unwrap();
    let cargo = format!(
        "#!/bin/sh\n[ \"$1 $2 $3\" = 'install --locked --path' ] && \
         grep -q 'name = \"resemble-cli\"' \"$4/Cargo.toml\" && ln -s '{}' '{}/resemble'\n",
        env!("CARGO_BIN_EXE_resemble"),
        programs.display(),
    );
    fs::write(programs.join("cargo"), cargo).unwrap();
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(programs.join("cargo"), mode).unwrap();
    let path = resemble_testutil::Sandbox::path_with(&programs);
    let mut last = None;
    for step in action["runs"]["steps"].as_vec().unwrap() {
        assert_eq!(step["shell"].as_str(), Some("bash"));
        let script = it.0.home().join("step");
        fs::write(&script, step["run"].as_str().unwrap()).unwrap();
        let mut bash = it.0.foreign("bash");
        bash.args(["--noprofile", "--norc", "-eo", "pipefail"])
            .arg(&script)
            .env("PATH", &path)
            .env("RUNNER_TEMP", it.0.home())
            .env("GITHUB_ACTION_PATH", folder());
        for (name, value) in step["env"].as_hash().into_iter().flatten() {
            let input = input_of(value.as_str().unwrap());
            let given = inputs.iter().find(|(name, _)| *name == input);
            let default = action["inputs"][input]["default"].as_str().unwrap();
            bash.env(
                name.as_str().unwrap(),
                given.map_or(default, |given| given.1),
            );
        }
        let ran = finish(&mut bash, b"");
        if ran.code != 0 {
            return ran;
        }
        last = Some(ran);
    }
    last.unwrap()
}

#[test]
fn changed_files_are_annotated() {
    let files = [
        ("a.txt", &*text(1)),
        ("gone.txt", &text(7)),
        ("old.txt", &text(8)),
    ];
    let Some(it) = Repository::with(&files) else {
        return;
    };
    let first = run(&it, &[]).exits(2);
    let said = "::error::the commit before is not there: check out with fetch-depth: 2\n";
    assert_eq!(first.text(), said);
    it.0.write("sub/b.txt", near(1));
    it.0.write("sub/x,y\n.txt", near(1) + &text(5)[..2_000]);
    it.0.write("sub/new.txt", text(3));
    it.0.write("-", text(4));
    symlink("a.txt", it.0.path("link")).unwrap();
    it.git(&["rm", "-q", "gone.txt"]);
    it.git(&["mv", "old.txt", "renamed.txt"]);
    it.git(&["add", "-A"]);
    it.git(&["commit", "-q", "-m", "second"]);
    // This file is not committed, so it is no part of the pull request and is not reported.
    it.0.write("later.txt", near(3));
    let ran = run(&it, &[]).exits(1);
    let printed = ran.text();
    let annotated: BTreeSet<&str> = printed
        .lines()
        .map(|line| line.split_once(",title=near-copy::").unwrap().0)
        .collect();
    let expected = ["b.txt", "new.txt", "x%2Cy%0A.txt"];
    let expected = expected.map(|name| format!("::warning file=sub/{name}"));
    assert_eq!(annotated, expected.iter().map(|line| &**line).collect());
    let nothing = |inputs: &[(&str, &str)]| {
        let ran = run(&it, inputs).exits(0);
        assert_eq!(ran.text(), "", "{inputs:?}");
    };
    nothing(&[("min", "100%")]);
    nothing(&[("paths", "renamed.txt\n\n:(glob)*.md\n")]);
    it.0.write("apart/other.txt", text(9));
    nothing(&[("in", "apart\n")]);
    run(&it, &[("in", "absent")]).exits(2);
    let accept = ["check", "sub/b.txt", "--baseline", "accepted", "--accept"];
    it.run(&accept, b"").exits(0);
    nothing(&[("paths", "sub/b.txt"), ("baseline", "accepted")]);
    let bad = run(&it, &[("min", "$(touch pwned)")]).exits(2);
    assert!(bad.err.contains("--min"), "{}", bad.err);
    assert!(!it.0.path("pwned").exists());
    it.git(&["commit", "-q", "--allow-empty", "-m", "third"]);
    nothing(&[]);
}

/// No script contains text of a pull request. Scripts get that text only in environment variables.
/// No step uses an action of somebody else.
#[test]
fn no_step_runs_what_it_is_told() {
    let action = action();
    for (name, input) in action["inputs"].as_hash().unwrap() {
        assert!(input["description"].as_str().is_some(), "{name:?}");
    }
    for step in action["runs"]["steps"].as_vec().unwrap() {
        assert!(step["uses"].is_badvalue(), "{step:?}");
        assert!(!step["run"].as_str().unwrap().contains("${{"), "{step:?}");
    }
}
