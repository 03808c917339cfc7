//! `resemble lab` replaces its own process by the program `resemble-lab`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::environment;
use resemble_testutil::{Environment, finish};

/// Puts only the program `resemble` into a folder, without `resemble-lab`, and returns its path.
fn alone(env: &Environment) -> PathBuf {
    let program = env.path("bin/resemble");
    std::fs::create_dir_all(program.parent().unwrap()).unwrap();
    if std::fs::hard_link(env!("CARGO_BIN_EXE_resemble"), &program).is_err() {
        std::fs::copy(env!("CARGO_BIN_EXE_resemble"), &program).unwrap();
    }
    program
}

/// Writes a script in place of `resemble-lab`. The script prints its name, its process id and its
/// arguments, and ends with exit code 7. If its first argument is `die`, a signal ends it.
fn stand_in(env: &Environment, folder: &str, name: &str) {
    let script = format!(
        "#!/bin/sh\necho {name} $$\nprintf '<%s>' \"$@\"\n{}\nexit 7\n",
        "[ \"$1\" = die ] && kill -TERM $$"
    );
    let path = env.write(format!("{folder}/resemble-lab"), script);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn command(env: &Environment, program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("HOME", env.home());
    command
        .env("PATH", env.path("path"))
        .current_dir(env.path(""));
    command
}

#[test]
fn without_the_laboratory_one_sentence_says_how_to_get_it() {
    let env = environment();
    let program = alone(&env);
    for args in [&["lab"][..], &["lab", "find", "x"], &["lab", "--help"]] {
        let ran = finish(command(&env, &program).args(args), b"");
        assert_eq!((ran.code, ran.text()), (2, String::new()), "{args:?}");
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
        assert!(ran.err.starts_with("resemble: "), "{}", ran.err);
        for part in ["resemble-lab", "PATH", "just install"] {
            assert!(ran.err.contains(part), "{}", ran.err);
        }
    }
}

#[test]
fn the_laboratory_is_looked_for_beside_the_command_then_in_path() {
    let env = environment();
    let program = alone(&env);
    let name = |env: &Environment| {
        let ran = finish(command(env, &program).args(["lab", "find"]), b"");
        assert_eq!((ran.code, ran.err.as_str()), (7, ""), "{ran:?}");
        ran.text().split(' ').next().unwrap().to_owned()
    };
    stand_in(&env, "path", "in-path");
    assert_eq!(name(&env), "in-path");
    stand_in(&env, "bin", "beside");
    assert_eq!(name(&env), "beside");
}

/// The laboratory runs in the process of the command. So it gets the signals that are sent to the
/// command, and its exit code is the command's exit code.
#[test]
fn it_takes_the_place_of_the_command() {
    let env = environment();
    let program = alone(&env);
    stand_in(&env, "bin", "lab");
    let mut child = command(&env, &program)
        .arg("lab")
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let pid = child.id();
    let mut said = String::new();
    std::io::Read::read_to_string(child.stdout.as_mut().unwrap(), &mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(7));
    assert!(said.starts_with(&format!("lab {pid}\n")), "{said}");
    let died = command(&env, &program)
        .args(["lab", "die"])
        .output()
        .unwrap();
    let signal = std::os::unix::process::ExitStatusExt::signal(&died.status);
    assert_eq!(signal, Some(15), "{died:?}");
}

/// The laboratory gets the arguments unchanged. Options of all commands may be before or after
/// `lab`.
#[test]
fn arguments_are_handed_on() {
    let env = environment();
    let program = alone(&env);
    stand_in(&env, "bin", "lab");
    let given = |args: &[&OsStr]| {
        let ran = finish(command(&env, &program).args(args), b"");
        assert_eq!(ran.code, 7, "{ran:?}");
        let line = ran.out.split(|&byte| byte == b'\n').nth(1).unwrap();
        String::from_utf8_lossy(line).into_owned()
    };
    let words = |text: &'static str| text.split(' ').map(OsStr::new).collect::<Vec<_>>();
    let cases = [
        (
            "lab find x --method sif -q --local",
            "<find><x><--method><sif><-q><--local>",
        ),
        ("lab --help", "<--help>"),
        ("lab find --help", "<find><--help>"),
        ("lab --version", "<--version>"),
        ("lab -- find", "<find>"),
        ("lab eval all . -o -", "<eval><all><.><-o><->"),
        ("-q lab find", "<--quiet><find>"),
        ("lab -v find", "<--verbose><find>"),
        (
            "--color never --no-pager --local lab find",
            "<--color=never><--no-pager><find>",
        ),
        ("--state st lab find", "<--state><st><find>"),
    ];
    for (args, expected) in cases {
        assert_eq!(given(&words(args)), expected, "{args}");
    }
    let odd = OsStr::from_bytes(b"odd\xff name");
    assert_eq!(given(&[OsStr::new("lab"), odd]), "<odd\u{fffd} name>");
    let asked = finish(
        command(&env, &program).args(["--socket", "s", "lab", "find"]),
        b"",
    );
    asked.is(
        2,
        "",
        "resemble: the laboratory asks no daemon: leave out --socket\n",
    );
}
