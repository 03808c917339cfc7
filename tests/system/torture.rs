//! Runs storms of changes that `resemble_testutil::churn` makes. (`storms` uses another generator.)
//! After `sync`, the live index must equal the index of a fresh scan, even if the daemon fails
//! during the storm.
//!
//! `just torture` runs long storms: `RESEMBLE_TORTURE=50` storms of `RESEMBLE_TORTURE_STEPS=100000`
//! steps each. Their seeds begin at `RESEMBLE_TORTURE_FIRST`. `RESEMBLE_TORTURE_SMALLER=SEED`
//! minimizes a storm that fails: steps are left out as long as the storm still fails. With
//! `RESEMBLE_TORTURE_MINUTES=30`, a daemon follows 500 steps a second for 30 minutes.

use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

use resemble_testutil::churn::{Churn, Profile, smaller};
use resemble_testutil::random::Random;
use resemble_testutil::{Daemon, Differences, Sandbox, asked_for, is_installed, skipped};
use rustix::process::Signal;

/// The number of steps between two comparisons.
const ROUND: usize = 2_500;

/// A failure of the daemon in the second half of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// The daemon is stopped until the end of the round. So the kernel's event queue overflows.
    Stopped,
    /// The daemon is killed and restarted.
    Killed,
    /// The daemon has almost no free descriptors until the end of the round.
    NoDescriptors,
}

impl Fault {
    const ALL: [Self; 3] = [Self::Stopped, Self::Killed, Self::NoDescriptors];

    fn strike<'a>(self, sandbox: &'a Sandbox, daemon: Daemon<'a>, few: bool) -> Option<Daemon<'a>> {
        match self {
            Self::Stopped => daemon.signal(Signal::STOP),
            Self::Killed => {
                daemon.kill();
                return start(sandbox, few);
            }
            Self::NoDescriptors => daemon.limit_descriptors(Some(daemon.descriptors() + 2)),
        }
        Some(daemon)
    }

    fn end(self, daemon: &Daemon<'_>) {
        match self {
            Self::Stopped => daemon.signal(Signal::CONT),
            Self::Killed => {}
            Self::NoDescriptors => daemon.limit_descriptors(None),
        }
    }
}

/// Starts a daemon. With `few`, the daemon gets so few watches that it polls most folders. Returns
/// `None` if the limit of watches cannot be set.
fn start(sandbox: &Sandbox, few: bool) -> Option<Daemon<'_>> {
    if !few {
        return Some(sandbox.daemon([""; 0]));
    }
    let mut command = sandbox.foreign("unshare");
    let limit = "echo 60 > /proc/sys/user/max_inotify_watches && exec \"$@\"";
    command.args(["-Ur", "sh", "-c", limit, "sh"]);
    command.arg(sandbox.program("resembled").get_program());
    command.arg("--no-mount").arg(sandbox.path("tree"));
    sandbox.start(&mut command).ok()
}

/// The result of one or more storms.
#[derive(Debug, Default)]
struct Outcome {
    differences: Differences,
    /// The time that `sync` took at the end of each round.
    converged: Vec<Duration>,
    faults: [usize; Fault::ALL.len()],
}

impl Outcome {
    fn add(&mut self, other: Self) {
        self.differences.lost.extend(other.differences.lost);
        self.differences.stale.extend(other.differences.stale);
        self.differences.ghosts.extend(other.differences.ghosts);
        self.converged.extend(other.converged);
        for (all, one) in self.faults.iter_mut().zip(other.faults) {
            *all += one;
        }
    }

    fn is_right(&self) -> bool {
        self.differences.is_empty()
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Differences {
            lost,
            stale,
            ghosts,
        } = &self.differences;
        let mut sorted = self.converged.clone();
        sorted.sort();
        let at = |share: usize| {
            let at = (sorted.len() * share / 100).min(sorted.len().saturating_sub(1));
            sorted.get(at).map_or(0.0, Duration::as_secs_f64)
        };
        let [stopped, killed, descriptors] = self.faults;
        write!(
            f,
            "{} lost, {} stale, {} ghost; converge p50 {:.2} s, p99 {:.2} s, at most {:.2} s; \
             stopped {stopped}, killed {killed}, out of descriptors {descriptors} times",
            lost.len(),
            stale.len(),
            ghosts.len(),
            at(50),
            at(99),
            at(100),
        )
    }
}

/// The plan of a storm.
struct Storm<'a> {
    seed: u64,
    profiles: &'a [Profile],
    threads: usize,
    faults: bool,
    few_watches: bool,
}

impl<'a> Storm<'a> {
    /// Returns a plan with all profiles. Every second storm has a single thread, so that it can be
    /// minimized. In every fifth storm, the daemon has few watches.
    fn of(seed: u64) -> Storm<'a> {
        Storm {
            seed,
            profiles: &Profile::ALL,
            threads: if seed.is_multiple_of(2) { 1 } else { 4 },
            faults: true,
            few_watches: seed.is_multiple_of(5),
        }
    }

    /// Makes the steps in a new tree, in rounds. Ends early if the index is wrong after a round.
    fn blow(&self, steps: &[u64]) -> Outcome {
        let sandbox = Sandbox::new();
        let churn = Churn::new(&sandbox.path("tree"), self.seed, self.profiles);
        let mut outcome = Outcome::default();
        let Some(mut daemon) = start(&sandbox, self.few_watches) else {
            skipped("few watches need user namespaces (unshare -Ur)");
            return outcome;
        };
        let mut random = Random::new(self.seed);
        for steps in steps.chunks(ROUND) {
            let drawn = random.below(3 * Fault::ALL.len());
            let fault = Fault::ALL.get(drawn).copied().filter(|_| self.faults);
            let (first, rest) = steps.split_at(steps.len() / 2);
            churn.blow(first, self.threads);
            if let Some(fault) = fault {
                outcome.faults[drawn] += 1;
                daemon = (fault.strike(&sandbox, daemon, self.few_watches)).expect("it started");
            }
            churn.blow(rest, self.threads);
            if let Some(fault) = fault {
                fault.end(&daemon);
            }
            let began = Instant::now();
            daemon.sync();
            outcome.converged.push(began.elapsed());
            if let Err(differences) = daemon.difference() {
                outcome.differences = differences;
                eprintln!("after {fault:?}");
                break;
            }
        }
        outcome
    }
}

#[test]
fn each_profile_alone_and_all_together_end_as_a_fresh_scan() {
    is_installed("python3");
    if !rustix::process::geteuid().is_root() {
        skipped("mounts appear and go only if root makes them");
    }
    let steps: Vec<u64> = (0..600).collect();
    let mut failed = Vec::new();
    for (seed, profile) in (1..).zip(Profile::ALL) {
        let storm = Storm {
            profiles: &[profile],
            threads: 1,
            faults: false,
            few_watches: false,
            ..Storm::of(seed)
        };
        let outcome = storm.blow(&steps[..300]);
        if !outcome.is_right() {
            failed.push(format!("{profile:?}, seed {seed}: {}", outcome.differences));
        }
    }
    let outcome = Storm::of(99).blow(&steps);
    if !outcome.is_right() {
        failed.push(format!("all, seed 99: {}", outcome.differences));
    }
    // With few watches, most folders are polled. Renames in these folders cause no events.
    let few = Storm {
        faults: false,
        ..Storm::of(5010)
    };
    let outcome = few.blow(&(0..5_000).collect::<Vec<_>>());
    if !outcome.is_right() {
        failed.push(format!("few watches, seed 5010: {}", outcome.differences));
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn faults_in_a_storm_leave_the_index_of_a_fresh_scan() {
    for (seed, fault) in (1..).zip(Fault::ALL) {
        for few in [false, true] {
            let sandbox = Sandbox::new();
            let churn = Churn::new(&sandbox.path("tree"), seed, &Profile::ALL);
            churn.blow(&(0..200).collect::<Vec<_>>(), 2);
            let Some(daemon) = start(&sandbox, few) else {
                skipped("few watches need user namespaces (unshare -Ur)");
                continue;
            };
            churn.blow(&(200..400).collect::<Vec<_>>(), 2);
            let daemon = fault.strike(&sandbox, daemon, few).expect("it started");
            churn.blow(&(400..700).collect::<Vec<_>>(), 2);
            fault.end(&daemon);
            daemon.assert_true();
        }
    }
}

/// In the long test, the folder has 200,000 files.
#[test]
fn many_files_in_one_folder_are_followed() {
    let many = if asked_for::<u64>("RESEMBLE_TORTURE").is_some() {
        200_000
    } else {
        5_000
    };
    let sandbox = Sandbox::new();
    for n in 0..many / 2 {
        sandbox.write(format!("crowd/n{n}"), format!("file {n}"));
    }
    let daemon = sandbox.daemon([""; 0]);
    for n in many / 2..many {
        sandbox.write(format!("crowd/n{n}"), format!("file {n}"));
    }
    daemon.assert_true();
    let churn = Churn::new(&sandbox.path("tree"), 1, &[Profile::Crowd]);
    churn.blow(&(0..200).collect::<Vec<_>>(), 2);
    daemon.assert_true();
    std::fs::rename(sandbox.tree("crowd"), sandbox.tree("renamed")).expect("it moves");
    churn.blow(&(200..220).collect::<Vec<_>>(), 2);
    daemon.assert_true();
    std::fs::remove_dir_all(sandbox.tree("renamed")).expect("it goes");
    daemon.assert_true();
}

#[test]
fn long_storms_end_as_a_fresh_scan() {
    let storms = asked_for("RESEMBLE_TORTURE").unwrap_or(0);
    let steps: Vec<u64> = (0..asked_for("RESEMBLE_TORTURE_STEPS").unwrap_or(100_000)).collect();
    let (mut failed, mut all) = (Vec::new(), Outcome::default());
    let first = asked_for("RESEMBLE_TORTURE_FIRST").unwrap_or(1);
    for seed in first..first + storms {
        let began = Instant::now();
        let outcome = Storm::of(seed).blow(&steps);
        eprintln!(
            "storm {seed}: {} steps in {} s: {outcome}",
            steps.len(),
            began.elapsed().as_secs()
        );
        if !outcome.is_right() {
            eprintln!("{}", outcome.differences);
            failed.push(seed);
        }
        all.add(outcome);
    }
    eprintln!("{storms} storms of {} steps: {all}", steps.len());
    assert!(
        failed.is_empty(),
        "of {storms} storms these failed: {failed:?}"
    );
}

/// Resources that a daemon uses.
#[derive(Clone, Copy, Debug)]
struct Usage {
    descriptors: u64,
    memory: u64,
    watches: u64,
    index: u64,
}

impl Usage {
    fn of(daemon: &Daemon<'_>) -> Self {
        let status = daemon.status();
        let number = |of: &str, what: &str| status[of][what].as_u64().expect("a number");
        Self {
            descriptors: number("process", "descriptors"),
            memory: number("process", "resident_bytes"),
            watches: number("watch", "directories"),
            index: number("index", "bytes"),
        }
    }

    /// Returns the greatest value of each resource.
    fn most(all: &[Self]) -> Self {
        let most = |of: fn(&Self) -> u64| all.iter().map(of).max().unwrap_or(0);
        Self {
            descriptors: most(|it| it.descriptors),
            memory: most(|it| it.memory),
            watches: most(|it| it.watches),
            index: most(|it| it.index),
        }
    }
}

fn directories_in(tree: &Path) -> u64 {
    let entries = std::fs::read_dir(tree).expect("a directory").flatten();
    let below = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    1 + below.map(|dir| directories_in(&dir.path())).sum::<u64>()
}

/// While the tree does not grow, the daemon must use hardly more resources in the second half of
/// the time than in the first half.
#[test]
fn what_a_daemon_uses_levels_off() {
    /// The number of steps per second.
    const PACE: u64 = 500;
    const TICK: Duration = Duration::from_millis(100);
    let minutes = asked_for::<u64>("RESEMBLE_TORTURE_MINUTES");
    let (rounds, ticks) = minutes.map_or((12, 10), |minutes| (minutes.max(2), 600));
    let sandbox = Sandbox::new();
    let churn = Churn::new(&sandbox.path("tree"), 3, &Profile::ALL);
    let daemon = sandbox.daemon([""; 0]);
    let (mut used, mut step) = (Vec::new(), 0);
    for round in 0..rounds {
        let began = Instant::now();
        for tick in 1..=ticks {
            let last = step + PACE / 10;
            churn.blow(&(step..last).collect::<Vec<_>>(), 2);
            step = last;
            // Waits until the tick is over, so that the steps are evenly distributed over time.
            if minutes.is_some() {
                std::thread::sleep((TICK * tick).saturating_sub(began.elapsed()));
            }
        }
        daemon.sync();
        used.push(Usage::of(&daemon));
        eprintln!("round {round}, {step} steps: {:?}", used.last());
    }
    daemon.assert_true();
    let (first, second) = used.split_at(used.len() / 2);
    let (before, after) = (Usage::most(first), Usage::most(second));
    let told = format!("{before:?}, then {after:?}");
    assert!(after.descriptors <= before.descriptors + 4, "{told}");
    assert!(after.memory <= before.memory * 3 / 2, "{told}");
    assert!(after.index <= before.index * 2, "{told}");
    assert_eq!(
        Usage::of(&daemon).watches,
        directories_in(&sandbox.path("tree"))
    );
}

#[test]
fn a_storm_that_fails_is_made_small() {
    // The minimizer is first tested on numbers instead of steps: a storm "fails" if it has both 7
    // and 23.
    let both = smaller((0..100).collect(), &mut |steps| {
        steps.contains(&7) && steps.contains(&23)
    });
    assert_eq!(both, [7, 23]);
    let Some(seed) = asked_for("RESEMBLE_TORTURE_SMALLER") else {
        return;
    };
    let steps = asked_for("RESEMBLE_TORTURE_STEPS").unwrap_or(2_500);
    let storm = Storm {
        threads: 1,
        ..Storm::of(seed)
    };
    let mut last = Differences::default();
    let left = smaller((0..steps).collect(), &mut |steps| {
        // Each storm is tried three times, because a failure may depend on timing.
        let mut outcomes = (0..3).map(|_| storm.blow(steps));
        let failed = outcomes.find(|outcome| !outcome.is_right());
        failed.map(|outcome| last = outcome.differences).is_some()
    });
    panic!("seed {seed}, steps {left:?}: {last}");
}
