use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use resemble_testutil::prose::prose;
use resemble_testutil::{Daemon, Ran, Sandbox, fuse_works, is_installed};

const NAMES: [&[u8]; 8] = [
    b"report.txt",
    b"two  words.txt",
    b"it's \"quoted\" $(touch pwned) `touch pwned`;&.txt",
    b"line\nbreak\n",
    b"not UTF-8 \xff\xfe.txt",
    b"-rf",
    b"100%_of #1? %f %u %25.txt",
    b"<b>&amp;",
];
const HOSTS: [&str; 3] = ["Nautilus", "Nemo", "Caja"];

fn shipped(name: &str) -> PathBuf {
    let packaging = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/filemanagers");
    packaging.join(name)
}

/// Makes a home folder, with copies of one file under hostile names in two folders. Also makes fake
/// file managers that record the path that they open.
fn home() -> Sandbox {
    let sandbox = Sandbox::new();
    let report = prose(1, 12_000);
    for folder in ["home/docs", "home/copy of docs"] {
        fs::create_dir(sandbox.path(folder)).expect("a folder");
        for name in NAMES {
            let path = sandbox.path(folder).join(OsStr::from_bytes(name));
            fs::write(path, &report).expect("a file");
        }
    }
    fs::write(sandbox.path("home/alone.txt"), prose(2, 9_000)).expect("a file");
    fs::write(sandbox.path("outside it.txt"), &report).expect("a file");
    fs::create_dir_all(sandbox.path("bin")).expect("a folder");
    let script = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$@\" >>'{}'\n",
        sandbox.path("opened").display()
    );
    for program in ["nautilus", "nemo", "caja", "dolphin", "kdialog"] {
        let path = sandbox.path("bin").join(program);
        fs::write(&path, &script).expect("a script");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its mode");
    }
    let resemble = sandbox.program("resemble");
    symlink(resemble.get_program(), sandbox.path("bin/resemble")).expect("a link");
    // A window of GTK would need a display. The scripts find no GTK here, so they print the text to
    // standard error.
    fs::create_dir(sandbox.path("none")).expect("a folder");
    fs::write(sandbox.path("none/gi.py"), "raise ImportError\n").expect("a module");
    sandbox
}

fn watching<'s>(sandbox: &'s Sandbox, options: &[&str]) -> Daemon<'s> {
    let mut command = sandbox.program("resembled");
    command.args(options).arg(sandbox.path("home"));
    let daemon = sandbox.start(&mut command).expect("it starts");
    daemon.sync();
    daemon
}

fn uri(path: &Path) -> String {
    let bytes = path.as_os_str().as_bytes().iter();
    let coded = bytes.map(|&byte| match byte {
        b'/' | b'.' | b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    });
    format!("file://{}", coded.collect::<String>())
}

fn path_of(uri: &str) -> PathBuf {
    let mut bytes = uri.strip_prefix("file://").expect("a URI").bytes();
    let mut path = Vec::new();
    while let Some(byte) = bytes.next() {
        let mut digit = || bytes.next().and_then(|byte| char::from(byte).to_digit(16));
        path.push(match byte {
            b'%' => (digit().expect("a digit") * 16 + digit().expect("a digit")) as u8,
            byte => byte,
        });
    }
    OsString::from_vec(path).into()
}

/// Returns a command for Python, which finds the programs under test and those of the sandbox.
fn python(sandbox: &Sandbox) -> Command {
    let mut command = sandbox.foreign("python3");
    command
        .env("PATH", Sandbox::path_with(&sandbox.path("bin")))
        .env("PYTHONPATH", sandbox.path("none"))
        .env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

fn run(command: &mut Command) -> Ran {
    command.output().expect("it runs").into()
}

/// Clicks on the menu entry for a path. Returns the path that the file manager opens, or `None`,
/// and the output.
fn click(sandbox: &Sandbox, host: &str, kind: &str, path: &Path) -> (Option<PathBuf>, Ran) {
    let opened = sandbox.path("opened");
    fs::remove_file(&opened).ok();
    let name = host.to_lowercase();
    let extension = format!("{name}-python/extensions/resemble-{name}.py");
    let click = Path::new(env!("CARGO_MANIFEST_DIR")).join("system/file_managers/click.py");
    let mut command = python(sandbox);
    command.args([&click, &shipped(&extension)]);
    let ran = run(command.args([host, kind, &uri(path)]));
    assert_eq!(ran.code, 0, "{ran:?}");
    let opened = fs::read_to_string(opened).ok();
    (opened.map(|uri| path_of(uri.trim_end())), ran)
}

/// A click on "Similar files" for one selected file opens the file's folder in the view, in the
/// same file manager. The name of the file can be any name.
#[test]
fn a_click_opens_the_folder_of_the_view() {
    if !fuse_works() || !is_installed("python3") {
        return;
    }
    let sandbox = home();
    let daemon = watching(&sandbox, &[]);
    let docs = sandbox.path("home/docs");
    for (turn, name) in NAMES.map(OsStr::from_bytes).into_iter().enumerate() {
        let (opened, ran) = click(&sandbox, HOSTS[turn % 3], "regular", &docs.join(name));
        let expected = sandbox.view("docs").join(name).join(".similar");
        assert_eq!(opened, Some(expected.clone()), "{ran:?}");
        assert_eq!(ran.text(), "Similar files\n");
        assert_eq!(resemble_testutil::names(&expected).len(), 15);
        // If the file is selected in the view itself, the same folder is opened.
        let shown = sandbox.view("docs").join(name);
        if turn % 4 != 0 {
            continue;
        }
        for (kind, path) in [("regular", shown.join(name)), ("directory", shown)] {
            let (opened, _) = click(&sandbox, "Caja", kind, &path);
            assert_eq!(opened.as_ref(), Some(&expected), "{path:?}");
        }
    }
    // If an entry of `.similar` is selected, the folder of the file that the entry names is opened.
    let link = sandbox.view("docs/report.txt/.similar/100%_-rf");
    let target = fs::read_link(&link).expect("a link");
    let (next, _) = click(&sandbox, "Nautilus", "regular", &link);
    assert_eq!(next, click(&sandbox, "Nautilus", "regular", &target).0);
    assert!(next.is_some_and(|next| next.ends_with("-rf/.similar")));
    for host in HOSTS {
        let (opened, ran) = click(&sandbox, host, "directory", &docs);
        assert_eq!(opened, Some(sandbox.view("docs/.similar")), "{ran:?}");
        assert_eq!(ran.text(), "Similar folders\n");
        let (opened, ran) = click(&sandbox, host, "special", &docs);
        assert_eq!((opened, &*ran.text()), (None, ""));
    }
    assert_eq!(daemon.stop(), 0);

    let daemon = watching(&sandbox, &["--similar-name", "Similar files"]);
    let (opened, _) = click(&sandbox, "Caja", "regular", &docs.join("report.txt"));
    assert_eq!(opened, Some(sandbox.view("docs/report.txt/Similar files")));
    assert_eq!(daemon.stop(), 0);

    let daemon = watching(&sandbox, &["--view", "files"]);
    let (opened, _) = click(&sandbox, "Nemo", "regular", &docs.join("report.txt"));
    assert_eq!(opened, Some(sandbox.view("docs/.similar/report.txt")));
    let (opened, _) = click(&sandbox, "Nemo", "directory", &docs);
    assert_eq!(opened, Some(sandbox.view("docs/.similar/.dirs")));
    for (kind, path) in [("regular", "docs/report.txt"), ("directory", "docs")] {
        let (again, _) = click(&sandbox, "Nemo", kind, &sandbox.view(path));
        let (real, _) = click(&sandbox, "Nemo", kind, &sandbox.path("home").join(path));
        assert_eq!(again, real);
    }
    assert!(!sandbox.path("pwned").exists());
    assert_eq!(daemon.stop(), 0);
}

/// If there is no folder to open, a window explains why, and names the commands that help.
#[test]
fn what_is_in_the_way_is_said() {
    if !fuse_works() || !is_installed("python3") {
        return;
    }
    let sandbox = home();
    let said = |path: &Path| {
        let (opened, ran) = click(&sandbox, "Nautilus", "regular", path);
        assert_eq!(opened, None);
        ran.err
    };
    let report = sandbox.path("home/docs/report.txt");
    let alone = said(&report);
    assert!(alone.starts_with("resemble is not running\n"), "{alone}");
    assert!(alone.ends_with("\n\nresemble setup\n"), "{alone}");
    let daemon = watching(&sandbox, &[]);
    let outside = sandbox.path("outside it.txt");
    let elsewhere = sandbox.path("else where");
    fs::create_dir(&elsewhere).expect("a folder");
    fs::write(elsewhere.join("a.txt"), "a").expect("a file");
    let place = elsewhere.display();
    assert_eq!(
        said(&elsewhere.join("a.txt")),
        format!(
            "a.txt is not watched\n\n\
             This command has its folder watched:\n\nresemble watch add '{place}'\n"
        )
    );
    let (folder, inner) = (outside.parent().expect("a folder"), sandbox.path("home"));
    assert_eq!(
        said(&outside),
        format!(
            "outside it.txt is not watched\n\nThese commands have its folder watched:\n\n\
             resemble watch remove {}\nresemble watch add {}\n",
            inner.display(),
            folder.display()
        )
    );
    // The commands in the window are necessary and sufficient: without the first command, the
    // second command fails.
    let watch = |verb: &str, path: &Path| {
        sandbox.resemble([OsStr::new("watch"), OsStr::new(verb), path.as_os_str()])
    };
    let refused = watch("add", folder);
    assert_eq!(refused.code, 2);
    let reason = format!("{}, which lies in it, is watched", inner.display());
    assert!(refused.err.contains(&reason), "{}", refused.err);
    for (verb, path) in [("remove", &*inner), ("add", folder)] {
        assert_eq!(watch(verb, path).code, 0);
    }
    daemon.sync();
    let (opened, ran) = click(&sandbox, "Nautilus", "regular", &outside);
    assert!(opened.is_some(), "{ran:?}");
    for (verb, path) in [("remove", folder), ("add", &*inner)] {
        assert_eq!(watch(verb, path).code, 0);
    }
    daemon.sync();
    let alone = said(&sandbox.path("home/alone.txt"));
    assert!(
        alone.starts_with("Nothing is similar to alone.txt\n"),
        "{alone}"
    );
    assert!(said(&sandbox.path("home/gone")).starts_with("resemble has no answer\n\n"));
    assert_eq!(daemon.stop(), 0);

    let daemon = watching(&sandbox, &["--no-mount"]);
    let none = said(&report);
    assert!(
        none.starts_with("resemble shows no view of your files\n"),
        "{none}"
    );
    let command = none.lines().last().expect("a command");
    let resemble = sandbox.program("resemble");
    let command = command.replace("resemble view on", "\"$0\" view on");
    let mut shell = sandbox.foreign("sh");
    run(shell.args(["-c", &command]).arg(resemble.get_program())).success();
    let (opened, _) = click(&sandbox, "Nautilus", "regular", &report);
    assert_eq!(opened, Some(sandbox.view("docs/report.txt/.similar")));
    assert_eq!(daemon.stop(), 0);
}

/// Dolphin starts the command of its menu without a shell.
#[test]
fn dolphin_starts_the_same_program() {
    if !fuse_works() || !is_installed("python3") {
        return;
    }
    let sandbox = home();
    let daemon = watching(&sandbox, &[]);
    for what in ["files", "folders"] {
        let menu = shipped(&format!("kio/servicemenus/resemble-similar-{what}.desktop"));
        let menu = fs::read_to_string(menu).expect("the menu");
        let line = menu.lines().find_map(|line| line.strip_prefix("Exec="));
        let words: Vec<_> = line.expect("a command").split(' ').collect();
        let program = "/usr/share/resemble/similar_files.py";
        assert_eq!(words, ["python3", program, "dolphin", "%u"]);
    }
    let opened = sandbox.path("opened");
    let start = |argument: &OsStr| {
        fs::remove_file(&opened).ok();
        let program = shipped("resemble/similar_files.py");
        let mut command = python(&sandbox);
        command.arg(program).arg("dolphin").arg(argument);
        run(&mut command).success();
        fs::read_to_string(&opened).expect("something was started")
    };
    for name in NAMES.map(OsStr::from_bytes) {
        let path = sandbox.path("home/docs").join(name);
        let expected = sandbox.view("docs").join(name).join(".similar");
        for argument in [OsStr::new(&uri(&path)), path.as_os_str()] {
            assert_eq!(path_of(start(argument).trim_end()), expected);
        }
    }
    // In a KDE window, a file name is escaped, so it cannot be taken for markup.
    let hostile = sandbox.path("<b>outside");
    fs::write(&hostile, "x").expect("a file");
    let said = start(hostile.as_os_str());
    assert!(
        said.contains("<b>&lt;b&gt;outside is not watched</b>"),
        "{said}"
    );
    assert_eq!(daemon.stop(), 0);
}
