//! The second generator of churn: after `sync`, the live index says what a fresh scan says.
//!
//! Long storms: `RESEMBLE_TORTURE=50` storms of `RESEMBLE_TORTURE_STEPS=100000` steps each
//! (`just torture`). What a storm finds is made small: `RESEMBLE_TORTURE_SMALLER=SEED` leaves out
//! steps of that storm for as long as it fails.

use resemble_testutil::Sandbox;
use resemble_testutil::churn::{Churn, Profile, smaller};

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Steps between two comparisons.
const ROUND: usize = 2_500;

/// Runs a storm with a fresh daemon; what differs is told in `Err`.
fn storm(seed: u64, profiles: &[Profile], steps: &[u64], threads: usize) -> Result<(), String> {
    let sandbox = Sandbox::new();
    let daemon = sandbox.daemon([""; 0]);
    let churn = Churn::new(&sandbox.path("tree"), seed, profiles);
    for steps in steps.chunks(ROUND) {
        churn.blow(steps, threads);
        daemon.compared()?;
    }
    Ok(())
}

#[test]
fn each_profile_alone_and_all_together_end_as_a_fresh_scan() {
    let steps: Vec<u64> = (0..600).collect();
    let mut failed = Vec::new();
    for (seed, profile) in (1..).zip(Profile::ALL) {
        if let Err(differences) = storm(seed, &[profile], &steps[..300], 1) {
            failed.push(format!("{profile:?}, seed {seed}: {differences}"));
        }
    }
    if let Err(differences) = storm(99, &Profile::ALL, &steps, 4) {
        failed.push(format!("all, seed 99: {differences}"));
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn long_storms_end_as_a_fresh_scan() {
    let storms = number("RESEMBLE_TORTURE").unwrap_or(0);
    let steps: Vec<u64> = (0..number("RESEMBLE_TORTURE_STEPS").unwrap_or(100_000)).collect();
    let mut failed = Vec::new();
    let first = number("RESEMBLE_TORTURE_FIRST").unwrap_or(1);
    for seed in first..first + storms {
        // Every other storm is of a single thread, so that it can be made small.
        let threads = if seed % 2 == 0 { 1 } else { 4 };
        let began = std::time::Instant::now();
        let outcome = storm(seed, &Profile::ALL, &steps, threads);
        let (took, right) = (began.elapsed().as_secs(), outcome.is_ok());
        eprintln!(
            "storm {seed}: {} steps in {took} s, right: {right}",
            steps.len()
        );
        if let Err(differences) = outcome {
            eprintln!("{differences}");
            failed.push(seed);
        }
    }
    assert!(
        failed.is_empty(),
        "of {storms} storms these failed: {failed:?}"
    );
}

#[test]
fn a_storm_that_fails_is_made_small() {
    // That leaving out works is shown on numbers: the storm fails for as long as 7 and 23 are in.
    let both = smaller((0..100).collect(), &mut |steps| {
        steps.contains(&7) && steps.contains(&23)
    });
    assert_eq!(both, [7, 23]);
    let Some(seed) = number("RESEMBLE_TORTURE_SMALLER") else {
        return;
    };
    let steps = number("RESEMBLE_TORTURE_STEPS").unwrap_or(2_500);
    let mut last = String::new();
    let left = smaller((0..steps).collect(), &mut |steps| {
        // What depends on time may go well once.
        let failed = (0..3).find_map(|_| storm(seed, &Profile::ALL, steps, 1).err());
        failed.map(|differences| last = differences).is_some()
    });
    panic!("seed {seed}, steps {left:?}: {last}");
}
