//! `resemble setup`: sets up a watching daemon after the installation.
//!
//! 1. It asks at most three questions, and only those whose answer changes something. With `--yes`
//!    it asks none. All other settings have one sensible value.
//! 2. **Existing files are not changed**: a configuration, a unit or a link that `setup` did not
//!    make stays as it is. One line reports that.
//! 3. Each step is recorded ([`record`]). `--undo` reverts just these steps. It removes a file only
//!    if the file is unchanged.
//! 4. If systemd runs for the user, the daemon is a user unit. Otherwise (in a container, or with
//!    another init) the daemon is started in the background. A line says that it will not survive a
//!    reboot.
//! 5. **The system's daemon does not belong to the user**: it watches shared folders, and takes no
//!    orders from this user.
//! 6. Where no view can be mounted, the daemon runs without one, and a line names the missing part.

mod ask;
mod record;
pub(super) mod service;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use resemble_arguments::{Global, SetupArgs};
use resemble_proto::client::Client;
use resemble_proto::message::{AlertRules, MountStatus, RootRules};
use resemble_proto::places::{self, Env};
use resemble_report::human::counted;
use resemble_report::lines::{Cell, Tint};
use resemble_report::quote::quoted;

use self::record::Record;
use self::service::Unit;
use crate::backend;
use crate::error::{CliError, CliResult, Outcome};
use crate::ui::Ui;

/// Name of the link to the view, in the home folder.
const LINK: &str = "Similar";

/// The longest time that a working daemon takes before it answers.
const PATIENCE: Duration = Duration::from_secs(20);

/// The pause between two attempts to reach the daemon.
const PACE: Duration = Duration::from_millis(50);

/// The user's answers.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wanted {
    dirs: Vec<PathBuf>,
    login: bool,
    told: bool,
}

pub(super) fn run(ui: &mut Ui, env: &Env, global: &Global, args: &SetupArgs) -> CliResult {
    if args.undo {
        return undo(ui, env, global);
    }
    let home = env.home.clone().ok_or_else(|| {
        CliError::Usage("HOME is not set to an absolute path: nowhere to set it up".to_owned())
    })?;
    let has_systemd = service::is_there();
    let has_desktop = has_systemd && has_desktop();
    let wanted = if args.yes {
        Wanted {
            dirs: if args.dirs.is_empty() {
                vec![home.clone()]
            } else {
                args.dirs.clone()
            },
            login: !args.no_login,
            told: !args.no_notify,
        }
    } else {
        ask::wanted(ui, &home, &args.dirs, (has_systemd, has_desktop))?
    };
    let mut dirs = Vec::with_capacity(wanted.dirs.len());
    for dir in &wanted.dirs {
        let real = fs::canonicalize(dir).map_err(CliError::file("watch", dir))?;
        if !real.is_dir() {
            let error = std::io::ErrorKind::NotADirectory.into();
            return Err(CliError::file("watch", dir)(error));
        }
        dirs.push(real);
    }
    let mut steps = Steps {
        ui,
        env,
        global,
        record: Record::load(env, global)?,
        daemon: daemon_program()?,
        has_systemd,
        has_desktop,
    };
    steps.take(&home, &dirs, &wanted)?;
    Ok(Outcome::Holds)
}

/// Returns whether there is a desktop that can show notifications.
fn has_desktop() -> bool {
    let mut desktop = ["WAYLAND_DISPLAY", "DISPLAY"].into_iter();
    desktop.any(|name| std::env::var_os(name).is_some())
}

/// Returns the path of the program `resembled`. It is looked for in the folder of this program,
/// then in `PATH`.
fn daemon_program() -> CliResult<PathBuf> {
    const NAME: &str = "resembled";
    let in_path = || {
        let path = std::env::var_os("PATH")?;
        let mut programs = std::env::split_paths(&path).map(|folder| folder.join(NAME));
        programs.find(|program| program.is_file())
    };
    let found = super::installed(NAME).or_else(in_path);
    found.ok_or_else(|| {
        CliError::Usage("resembled, the daemon, is not installed beside this program".to_owned())
    })
}

/// The state of a setup. [`Self::take`] runs the steps. Each step reports what it did.
struct Steps<'a> {
    ui: &'a mut Ui,
    env: &'a Env,
    global: &'a Global,
    record: Record,
    daemon: PathBuf,
    has_systemd: bool,
    has_desktop: bool,
}

impl Steps<'_> {
    fn take(&mut self, home: &Path, dirs: &[PathBuf], wanted: &Wanted) -> CliResult<()> {
        let has_written = self.configure(home, dirs)?;
        let client = match backend::own_daemon(self.env, self.global) {
            Ok(client) => {
                self.say("a daemon runs already")?;
                client
            }
            Err(_) => self.start(wanted.login)?,
        };
        // A daemon that already ran has not read the new configuration, so it is asked to watch the
        // folders.
        self.add(&client, dirs, has_written)?;
        if wanted.told {
            self.tell()?;
        }
        let status = backend::status(&client)?;
        let files: u64 = status.roots.iter().map(|root| root.files).sum();
        let files = match files {
            0 => "the first scan has begun".to_owned(),
            _ => format!("{} so far", counted(files, "file")),
        };
        let roots: Vec<String> = status
            .roots
            .iter()
            .map(|root| quoted(root.path.as_path()))
            .collect();
        let roots = roots.join(", ");
        self.say(&format!("watching {roots}: {files}"))?;
        self.say("")?;
        let shown = status.mounts.iter().find_map(|mount| shown_at(mount, dirs));
        let listed = shown.map(|shown| format!("ls {}/FILE/.similar", quoted(&shown)));
        let next = [
            ("resemble find FILE", "what resembles a file"),
            ("resemble groups", "what is there more than once"),
            (
                listed.as_deref().unwrap_or_default(),
                "the same in a view of your files",
            ),
            ("resemble setup --undo", "takes all of this back"),
        ];
        let next = next.iter().filter(|(command, _)| !command.is_empty());
        let next: Vec<Vec<Cell>> = next
            .map(|&(command, what)| {
                vec![
                    Cell::left(command, Tint::Plain),
                    Cell::left(what, Tint::Faint),
                ]
            })
            .collect();
        self.ui.lines(&next, b'\n')
    }

    fn say(&mut self, line: &str) -> CliResult<()> {
        self.ui
            .lines(&[vec![Cell::prose(line, Tint::Plain)]], b'\n')
    }

    /// Writes the configuration, unless a configuration exists. Returns whether it was written.
    fn configure(&mut self, home: &Path, dirs: &[PathBuf]) -> CliResult<bool> {
        let path = places::config_dir(self.env)?.join("resembled.toml");
        if path.exists() {
            self.say(&format!(
                "{} is there already and stays as it is",
                quoted(&path)
            ))?;
            return Ok(false);
        }
        let mut command = Command::new(&self.daemon);
        command.arg("--write-config").args(dirs);
        let link = home.join(LINK);
        if let Some(missing) = service::no_view() {
            self.say(&format!(
                "there will be no view: {}. Should you want one: `{}`, `resemble setup --undo`, \
                 and `resemble setup` again",
                missing.why, missing.mend
            ))?;
        } else if fs::symlink_metadata(&link).is_err() {
            command.arg("--link").arg(&link);
        } else {
            self.say(&format!(
                "{} is there already: the view gets no link",
                quoted(&link)
            ))?;
        }
        let run = command
            .output()
            .map_err(CliError::file("run", &self.daemon))?;
        if !run.status.success() {
            return Err(CliError::Usage(
                String::from_utf8_lossy(&run.stderr).trim().to_owned(),
            ));
        }
        self.record.wrote(&path)?;
        self.say(&format!("wrote {}", quoted(&path)))?;
        Ok(true)
    }

    /// Starts the daemon, and waits until it answers.
    fn start(&mut self, at_login: bool) -> CliResult<Client> {
        let mut alone: Option<(Child, PathBuf)> = None;
        if self.has_systemd {
            self.start_unit(&service::DAEMON, at_login)?;
            let when = if at_login {
                "now and at every login"
            } else {
                "now"
            };
            self.say(&format!(
                "resembled is started {when} (systemctl --user status resembled)"
            ))?;
        } else {
            let log = places::state_dir(self.env, self.global.state.as_deref())?;
            let log = log.join("resembled.log");
            let config = places::config_dir(self.env)?.join("resembled.toml");
            self.record.started()?;
            let daemon = service::start_alone(&self.daemon, &config, &log)?;
            self.say(&format!(
                "resembled is started in the background; there is no systemd of yours that would \
                 start it again after a reboot (log: {})",
                quoted(&log)
            ))?;
            alone = Some((daemon, log));
        }
        let begun = Instant::now();
        loop {
            match backend::own_daemon(self.env, self.global) {
                Ok(client) => return Ok(client),
                Err(error) if begun.elapsed() > PATIENCE => return Err(error),
                Err(_) => std::thread::sleep(PACE),
            }
            if let Some((daemon, log)) = &mut alone
                && let Ok(Some(_)) = daemon.try_wait()
            {
                return Err(CliError::Usage(ended(log)));
            }
        }
    }

    /// Starts a unit of systemd. If the unit is missing, it is written first.
    fn start_unit(&mut self, unit: &Unit, at_login: bool) -> CliResult<()> {
        if let Some(path) = service::install(self.env, unit)? {
            self.record.wrote(&path)?;
            self.say(&format!("wrote {}", quoted(&path)))?;
        }
        self.record.uses_unit(unit.name)?;
        service::start(unit, at_login)
    }

    /// Asks the daemon to watch the folders that it does not watch yet. Reports each folder that is
    /// already watched, unless it is watched because the new configuration names it.
    fn add(&mut self, client: &Client, dirs: &[PathBuf], are_configured: bool) -> CliResult<()> {
        for dir in dirs {
            if client.covers_all(vec![dir.as_path().into()], false)? {
                let roots = client.status()?.roots;
                let root = roots
                    .iter()
                    .find(|root| dir.starts_with(root.path.as_path()));
                match root {
                    Some(root) if root.path.as_path() != dir => self.say(&format!(
                        "{} is watched with {}, by its rules",
                        quoted(dir),
                        quoted(root.path.as_path())
                    ))?,
                    _ if are_configured => {}
                    _ => self.say(&format!("{} is watched already", quoted(dir)))?,
                }
                continue;
            }
            client.watch_add(
                dir.as_path().into(),
                RootRules::default(),
                AlertRules::default(),
            )?;
            self.record.watches(dir)?;
            self.say(&format!("watching {} from now on", quoted(dir)))?;
        }
        Ok(())
    }

    /// Starts the notifications of alerts.
    fn tell(&mut self) -> CliResult<()> {
        if !self.has_desktop {
            return self.say(
                "alerts are shown by `resemble alerts --follow`, and on a desktop by \
                 `resemble notify`",
            );
        }
        self.start_unit(&service::NOTIFY, true)?;
        self.say("notifications of new near-duplicates are on")
    }
}

/// Returns the path at which a view shows the first of these folders that is in the view. The path
/// begins with the link to the view.
fn shown_at(mount: &MountStatus, dirs: &[PathBuf]) -> Option<PathBuf> {
    let link = mount.link.as_ref()?.as_path();
    let place = dirs.iter().find_map(|dir| {
        mount.roots.iter().find_map(|root| {
            let below = dir.strip_prefix(root.path.as_path()).ok()?;
            Some(root.view.as_path().join(below))
        })
    });
    let below = place.as_deref()?.strip_prefix(mount.path.as_path()).ok()?;
    // `join` would add a slash to the link if `below` is empty, so the components are joined
    // instead.
    Some(link.components().chain(below.components()).collect())
}

/// Returns the error about a daemon that ended at once. The error has the last message of the log.
fn ended(log: &Path) -> String {
    let said = fs::read_to_string(log).unwrap_or_default();
    let last = said.lines().last().unwrap_or_default();
    let last = last.strip_prefix("resembled: ").unwrap_or(last);
    format!(
        "resembled ended at once: {last}. `resemble setup --undo` takes back what was written ({})",
        quoted(log)
    )
}

/// Reverts the recorded changes.
fn undo(ui: &mut Ui, env: &Env, global: &Global) -> CliResult {
    let record = Record::load(env, global)?;
    if record.is_empty() {
        ui.note("setup has done nothing that could be taken back");
        return Ok(Outcome::DoesNot);
    }
    let mut say = |line: String| ui.lines(&[vec![Cell::prose(line, Tint::Plain)]], b'\n');
    let daemon = backend::own_daemon(env, global).ok();
    if let Some(client) = &daemon {
        for dir in &record.watched {
            if client.watch_remove(dir.as_path().into()).is_ok() {
                say(format!("{} is not watched any more", quoted(dir)))?;
            }
        }
    }
    if service::is_there() {
        for unit in &record.units {
            service::stop(unit)?;
            say(format!("{unit} is stopped, and not started at login"))?;
        }
    }
    if record.started
        && let Some(client) = &daemon
    {
        service::end(client.status()?.pid)?;
        let begun = Instant::now();
        let answers = || backend::own_daemon(env, global).is_ok();
        while answers() && begun.elapsed() < PATIENCE {
            std::thread::sleep(PACE);
        }
        let ended = if answers() {
            "resembled was asked to end, and has not yet"
        } else {
            "resembled is ended"
        };
        say(ended.to_owned())?;
    }
    for file in &record.files {
        let line = match file.remove() {
            Ok(true) => format!("removed {}", quoted(&file.path)),
            Ok(false) => format!("{} was changed since and stays", quoted(&file.path)),
            Err(error) => return Err(CliError::file("remove", &file.path)(error)),
        };
        say(line)?;
    }
    record.forget()?;
    let state = places::state_dir(env, global.state.as_deref())?;
    say(format!(
        "The index stays in {}; remove that folder if you want.",
        quoted(&state)
    ))?;
    Ok(Outcome::Holds)
}
