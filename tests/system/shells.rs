use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use resemble_testutil::prose::{edited, prose};
use resemble_testutil::{Daemon, Sandbox, fuse_works, is_installed};

const ODD: &str = "odd 'name'\n.txt";

fn home() -> Sandbox {
    let sandbox = Sandbox::new();
    let report = prose(1, 12_000);
    for (name, bytes) in [
        ("report.txt", &report),
        ("copy.txt", &report),
        ("v2.txt", &edited(&report, 7, 3)),
        (ODD, &report),
        ("plain/.similar/mine.txt", &prose(2, 9_000)),
    ] {
        let path = sandbox.path("home").join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, bytes).expect("a file");
    }
    sandbox
}

fn watching(sandbox: &Sandbox) -> Daemon<'_> {
    let mut command = sandbox.program("resembled");
    command.arg(sandbox.path("home"));
    let daemon = sandbox.start(&mut command).expect("it starts");
    daemon.sync();
    daemon
}

/// Returns the output of a script, in a shell that has loaded the functions of `shell-init`.
fn run(sandbox: &Sandbox, shell: &str, script: &str) -> String {
    let resemble = sandbox.program("resemble");
    let folder = Path::new(resemble.get_program())
        .parent()
        .expect("a folder");
    let init = match shell {
        "fish" => "resemble shell-init fish | source".to_owned(),
        _ => format!("eval \"$(resemble shell-init {shell})\""),
    };
    let plain: &[&str] = match shell {
        "bash" => &["--norc", "--noprofile"],
        "zsh" => &["-f"],
        _ => &["--no-config"],
    };
    let output = sandbox
        .foreign(shell)
        .args(plain)
        .arg("-c")
        .arg(format!("{init}\n{script}"))
        .env("PATH", Sandbox::path_with(folder))
        .current_dir(sandbox.path("home"))
        .output()
        .expect("the shell runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    format!("{}{errors}", String::from_utf8_lossy(&output.stdout))
}

/// Tests commands in one of the three shells.
fn the_real_paths_lead_to_the_view(shell: &str) {
    if !fuse_works() || !is_installed(shell) {
        return;
    }
    let sandbox = home();
    let daemon = watching(&sandbox);
    let home = sandbox.path("home");
    let lines = |script: &str| -> Vec<String> {
        let said = run(&sandbox, shell, script);
        said.lines().map(str::to_owned).collect()
    };
    let listed = lines("ls report.txt/.similar");
    assert_eq!(listed.len(), 4, "{listed:?}");
    assert_eq!(
        listed[1..4].join("\n"),
        "100%_copy.txt\n100%_odd 'name'\n.txt"
    );
    assert!(listed[0].ends_with("%_v2.txt"), "{listed:?}");
    // This command has an option, several arguments and an absolute path.
    let script = format!("ls -d '{}/v2.txt/.similar' report.txt", home.display());
    let view = sandbox.view("v2.txt").join(".similar");
    assert_eq!(lines(&script), [view.to_str().expect("text"), "report.txt"]);
    // Odd names are passed unchanged.
    let odd = "ls \"odd 'name'\n.txt/.similar\"";
    let odd = odd.replace("\\n", "\n");
    assert_eq!(lines(&odd).len(), 3, "{:?}", lines(&odd));
    // `cat` reads the target of an entry. `cd` enters the folder in the view.
    let copy = run(&sandbox, shell, "cat report.txt/.similar/100%_copy.txt");
    assert_eq!(
        copy.as_bytes(),
        fs::read(home.join("copy.txt")).expect("a file")
    );
    let view = sandbox.view("report.txt").join(".similar");
    assert_eq!(
        lines("cd report.txt/.similar; pwd"),
        [view.to_str().expect("text")]
    );
    for command in ["head -c 99999", "tail -c 99999", "less", "xdg-open"] {
        // These programs may not be installed, so a script replaces them.
        let program = command.split(' ').next().expect("a name");
        if matches!(program, "less" | "xdg-open") {
            let stand_in = sandbox.path(program);
            fs::write(&stand_in, "#!/bin/sh\ncat -- \"$@\"\n").expect("a script");
            fs::set_permissions(&stand_in, Permissions::from_mode(0o755)).expect("its mode");
        }
        let path = match shell {
            "fish" => format!("set PATH '{}' $PATH", sandbox.path("").display()),
            _ => format!("PATH='{}':$PATH", sandbox.path("").display()),
        };
        let script = format!("{path}\n{command} report.txt/.similar/100%_copy.txt");
        assert_eq!(run(&sandbox, shell, &script), copy, "{command}");
    }
    let taken = sandbox.path("taken");
    let script = format!(
        "diff report.txt report.txt/.similar/100%_copy.txt; \
         cp report.txt/.similar/100%_copy.txt '{}'",
        taken.display()
    );
    assert_eq!(run(&sandbox, shell, &script), "");
    assert_eq!(fs::read(&taken).expect("a file"), copy.as_bytes());
    // A real folder called `.similar` is still accessible at its path. Other arguments are passed
    // on unchanged.
    assert_eq!(lines("ls plain/.similar"), ["mine.txt"]);
    let mine = run(&sandbox, shell, "cat plain/.similar/mine.txt");
    assert_eq!(mine.as_bytes(), prose(2, 9_000));
    let missing = lines("ls nothing/.similar");
    assert!(missing[0].contains("nothing/.similar"), "{missing:?}");
    assert_eq!(lines("cd plain; ls -A"), [".similar"]);
    assert_eq!(daemon.stop(), 0);
    let alone = lines("ls report.txt/.similar");
    assert!(alone[0].contains("Not a directory"), "{alone:?}");
}

#[test]
fn bash_leads_to_the_view() {
    the_real_paths_lead_to_the_view("bash");
}

#[test]
fn zsh_leads_to_the_view() {
    the_real_paths_lead_to_the_view("zsh");
}

#[test]
fn fish_leads_to_the_view() {
    the_real_paths_lead_to_the_view("fish");
}

/// The tab key completes `.similar` after a file, and the entries in `.similar`. An alias and a
/// function of the user are kept.
#[test]
fn bash_completes_and_keeps_what_the_user_has() {
    if !fuse_works() {
        return;
    }
    let sandbox = home();
    let daemon = watching(&sandbox);
    let complete = |word: &str| {
        let script = format!(
            "COMP_WORDS=(ls {word}); COMP_CWORD=1; __resemble_complete ls {word}; \
             printf '%s|' \"${{COMPREPLY[@]}}\""
        );
        run(&sandbox, "bash", &script)
    };
    assert_eq!(complete("report.txt/.si"), "report.txt/.similar/|");
    assert_eq!(
        complete("report.txt/.similar/100%_c"),
        "report.txt/.similar/100%_copy.txt|"
    );
    let script = "complete -p head tail less cp diff xdg-open | grep -c __resemble_complete";
    assert_eq!(run(&sandbox, "bash", script), "6\n");
    assert_eq!(complete("rep"), "|");
    assert_eq!(complete("plain/.si"), "|");
    let script = "shopt -s expand_aliases\nalias ls='ls -m'\n\
                  eval \"$(resemble shell-init bash)\"\nls report.txt v2.txt";
    assert_eq!(run(&sandbox, "bash", script), "report.txt, v2.txt\n");
    let script = "cat() { printf 'mine %s\\n' \"$#\"; }\n\
                  eval \"$(resemble shell-init bash)\"\neval \"$(resemble shell-init bash)\"\n\
                  cat report.txt/.similar x";
    assert_eq!(run(&sandbox, "bash", script), "mine 2\n");
    assert_eq!(daemon.stop(), 0);
}

#[test]
fn fish_completes() {
    if !fuse_works() || !is_installed("fish") {
        return;
    }
    let sandbox = home();
    let daemon = watching(&sandbox);
    let said = run(&sandbox, "fish", "complete -C 'ls report.txt/.similar/'");
    assert!(said.contains("report.txt/.similar/100%_copy.txt"), "{said}");
    let said = run(&sandbox, "fish", "complete -C 'ls report.txt/.si'");
    assert!(said.contains("report.txt/.similar/"), "{said}");
    assert_eq!(daemon.stop(), 0);
}

/// If no argument names `.similar`, the functions start no process of `resemble`.
#[test]
fn other_commands_cost_nothing() {
    let sandbox = home();
    let script = "resemble() { echo started; }\ncommand() { [[ $1 == resemble ]] && echo started; \
                  builtin command \"$@\"; }\nls -A plain; cat /dev/null; cd plain; cd ..";
    assert_eq!(run(&sandbox, "bash", script), ".similar\n");
}
