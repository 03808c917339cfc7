//! The program `resembled`; see the library.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use resemble_daemon::config::{Args, Config, ConfigError};
use resemble_daemon::signals::SignalEvent;
use resemble_daemon::write_first_config;
use resemble_daemon::{Daemon, journal, service, system};
use resemble_proto::places::Env;

/// The exit status if the command line, the configuration or the environment prevents a start.
const TROUBLE: u8 = 2;
/// The exit status if the daemon ended without an order. This should never happen.
const BROKEN: u8 = 1;

fn main() -> ExitCode {
    if let Some(ended) = resemble_scan::parts::worker() {
        return ended;
    }
    if let Some(helped) = system::helper(std::env::args_os()) {
        return match helped {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                let _said = writeln!(std::io::stderr(), "resembled: {error}");
                ExitCode::from(TROUBLE)
            }
        };
    }
    let args = Args::parse();
    let verbosity = journal::Verbosity {
        verbose: args.verbose,
        quiet: args.quiet,
    };
    let filter = std::env::var("RUST_LOG").ok();
    journal::start(
        verbosity,
        filter.as_deref(),
        std::env::var_os("JOURNAL_STREAM").is_none(),
    );
    #[cfg(target_env = "gnu")]
    resemble_scan::heap::bound();
    // The index, the alerts and the socket get modes that let no other user access them, even in an
    // open folder.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    match run(&args) {
        Ok(code) => code,
        Err(error) => {
            let line = journal::one_line(&error.to_string());
            // If standard error is closed, the failure to write is ignored: it cannot be reported
            // anywhere.
            let _said = writeln!(std::io::stderr(), "resembled: {line}");
            ExitCode::from(TROUBLE)
        }
    }
}

fn run(args: &Args) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let uid = rustix::process::geteuid().as_raw();
    let env = Env::gather(|name| std::env::var_os(name), uid);
    if args.write_config {
        let path = write_first_config(args, &env)?;
        writeln!(std::io::stdout(), "{}", path.display())?;
        return Ok(ExitCode::SUCCESS);
    }
    let load = || {
        let mut config = Config::load(args, &env)?;
        if config.system.is_none() && std::env::var_os("JOURNAL_STREAM").is_some() {
            config.send_to_journal();
        }
        Ok::<_, ConfigError>(config)
    };
    let config = load()?;
    // This must be called before a second thread is started.
    let entered = match &config.system {
        Some(system) => Some(system::enter(&config, system)?),
        None => None,
    };
    let mut daemon = Daemon::start_for(&config, entered)?;
    service::ready();
    let ordered = loop {
        match daemon.wait_for_signal() {
            SignalEvent::End => break true,
            SignalEvent::Broken => break false,
            SignalEvent::Reload => {
                service::reloading();
                if config.system.is_some() {
                    tracing::warn!("the system's daemon takes a configuration at its start alone");
                    service::ready();
                    continue;
                }
                if args.config.is_none() {
                    tracing::warn!(
                        "nothing was read again: this daemon has no configuration; start it with \
                         `resembled --config FILE`"
                    );
                    service::ready();
                    continue;
                }
                daemon.reload(args.config.as_deref(), load().map_err(|e| e.to_string()));
                service::ready();
            }
        }
    };
    service::stopping();
    daemon.stop();
    Ok(if ordered {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(BROKEN)
    })
}
