use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn page(name: &str) -> String {
    fs::read_to_string(workspace().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Every relative link of the README and of docs/ leads somewhere.
#[test]
fn links_between_pages_lead_somewhere() {
    let mut pages = vec![
        PathBuf::from("README.md"),
        "CONTRIBUTING.md".into(),
        "systemd/README.md".into(),
    ];
    for folder in ["docs", "docs/decisions"] {
        for entry in fs::read_dir(workspace().join(folder)).expect(folder) {
            let name = entry.expect("an entry").file_name();
            if Path::new(&name).extension().is_some_and(|e| e == "md") {
                pages.push(Path::new(folder).join(name));
            }
        }
    }
    for name in pages {
        let text = page(&name.to_string_lossy());
        for link in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            if link.contains("://") || link.starts_with('#') {
                continue;
            }
            let target = link.split('#').next().unwrap_or(link);
            let folder = workspace()
                .join(&name)
                .parent()
                .map(Path::to_path_buf)
                .unwrap_or_default();
            assert!(
                folder.join(target).exists(),
                "{} links to {link}",
                name.display()
            );
        }
    }
}

/// The unit files are ones that systemd understands.
#[test]
fn units_pass_systemd_analyze() {
    let read = |name| fs::read_to_string(workspace().join("systemd").join(name)).expect(name);
    for unit in [
        "resemble-notify.service",
        "resemble-export@.service",
        "resemble-export@.timer",
    ] {
        is_understood(unit, &read(unit));
    }
    let text = read("resembled.service");
    // What these directives would break stands in the unit's comments.
    for directive in [
        "ProtectSystem=",
        "PrivateTmp=",
        "PrivateMounts=",
        "NoNewPrivileges=",
    ] {
        let set = text.lines().any(|line| line.starts_with(directive));
        assert!(
            !set,
            "{directive} would hide the mount or break fusermount3"
        );
    }
    is_understood("resembled.service", &text);
    let units = [
        "resembled-system.service",
        "resemble-checker.service",
        "resemble-checker.socket",
        "resemble-mount@.service",
        "resemble-mount.socket",
        "resemble-starter.service",
        "resemble-starter.socket",
    ];
    for unit in units {
        let text = read(unit);
        // Verified beside the others, these would name units that are not there.
        let alone = text.lines().filter(|line| {
            !["Requires=", "After="]
                .iter()
                .any(|key| line.starts_with(key))
        });
        let alone: Vec<&str> = alone.collect();
        if unit.ends_with(".service") {
            is_understood_of("--system", unit, &alone.join("\n"));
        }
    }
}

/// What the indexer of system mode may do, as systemd judges it: at most 1.0, of 10.
#[test]
fn the_indexer_of_system_mode_is_hardly_exposed() {
    let unit = workspace().join("systemd/resembled-system.service");
    let judged = Command::new("systemd-analyze")
        .args(["security", "--offline=true", "--threshold=10", "--no-pager"])
        .arg(unit)
        .output();
    match judged {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            let last = said.lines().last().unwrap_or_default();
            eprintln!("{last}");
            assert!(output.status.success(), "{last} {output:?}");
            assert!(last.contains("Overall exposure level"), "{last}");
        }
        Err(e) => resemble_testutil::skipped(format_args!("systemd-analyze: {e}")),
    }
}

fn is_understood(name: &str, text: &str) {
    is_understood_of("--user", name, text);
}

fn is_understood_of(manager: &str, name: &str, text: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    // The unit names an installed program; here it stands for one that exists.
    let copy = folder.path().join(name);
    let here = text.lines().map(|line| match line.split_once('=') {
        Some((key, value)) if key.starts_with("Exec") => {
            let args = value
                .split_once(' ')
                .map(|(_, args)| args)
                .unwrap_or_default();
            format!("{key}=/bin/true {args}\n")
        }
        _ => format!("{line}\n"),
    });
    fs::write(&copy, here.collect::<String>()).expect("a copy");
    let verify = Command::new("systemd-analyze")
        .args([manager, "--man=no", "verify"])
        .arg(&copy)
        .env("XDG_RUNTIME_DIR", folder.path())
        .output();
    match verify {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success() && said.trim().is_empty(), "{said}");
        }
        Err(e) => resemble_testutil::skipped(format_args!("systemd-analyze: {e}")),
    }
}
