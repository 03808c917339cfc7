//! The whole system: real processes, real mounts, real faults. One binary, one module a theme.
#![forbid(unsafe_code)]
#![allow(clippy::print_stderr)] // a test that is skipped says so

/// The main job: watch, index, `ls FILE/.similar`, right after every change.
mod lost;
mod main_job;

/// Words that no comment and no page has.
mod language;

/// Where the view lies, and that it is in nobody's way there.
mod view;

/// From an installed program to a daemon that watches, and back.
mod setup;

/// `ls FILE/.similar` on the real paths, in three shells.
mod shells;

/// "Similar files" in the menus of four file managers, without their windows.
mod facts;
mod file_managers;

/// Similar directories in the overlay, right after every change.
mod directories;

/// How editors, version control and people change files.
mod changes;

/// Storms of changes, overflow of the event queue, deep trees made at once.
mod storms;

/// Names of any bytes come out whole, and none reaches a terminal raw.
mod any_names;

/// Names that change places lead nobody out of a tree.
mod swaps;

/// The second generator of churn, short here and long in `just torture`.
mod torture;

/// Changes that leave no trace where one would look.
mod unseen;

/// Failures that pass while files are looked at.
mod scarce;

/// Kill, restart, a second daemon, damaged state.
mod restarts;

/// The power fails under a journaling file system.
mod power_cuts;

/// What bad input gets: one clear sentence, an exit code, nothing lost.
mod bad_input;

/// The same question with and without a daemon has the same bytes for an answer.
mod two_ways;

/// Which of two files is the newer one, in every answer that has rows of two files.
mod newer;

/// What could not be looked at, and what a root leaves out, is part of every answer.
mod gaps;

/// What is named and does not exist, and what vanishes, is said.
mod missing;

/// Trees that are not here: export, import, and every question about them.
mod catalogues;

/// Files and archives of which one is only in a catalogue: one estimate in every verb.
mod catalogued_members;

/// A saved report of groups, filtered again.
mod saved_groups;

/// What has changed since a catalogue was written.
mod deltas;

/// A folder of catalogues that is followed.
mod fleet;

/// The daemon of another machine, asked through ssh.
mod remote;

/// Files that share their blocks already.
mod clones;

/// Programs that ask through the Model Context Protocol.
mod programs;

/// Every answer in JSON is as its schema says.
mod schemas;

/// Documents and archives: what they say and hold, in every answer.
mod documents;

/// Documents wait for their turn, and nothing waits for them.
mod document_turns;

/// Text that the user declared to be a template is no evidence anywhere, at once and without a
/// read.
mod templates;

/// A settled change that makes a duplicate is told.
mod alerts;

/// Alerts reach whoever wants them, over restarts, failures and floods.
mod told;

/// Alerts on the desktop: a private bus, and a service that takes notifications.
mod desktop;

/// How many alerts of a day are right.
mod alert_precision;

/// The daemon of an ordinary user, mounted by fusermount3.
mod unprivileged;

/// One index for many users: each sees what he could open, and nobody gets further rights.
mod system_mode;

/// Dependencies point one way; foreign crates are named in one place each.
mod layering;

/// The pages say what the programs do: README, units, promises of the overlay.
mod pages;

/// The README's demo, as a newcomer types it.
mod readme;

/// No test file is forgotten in the list above.
#[test]
fn every_test_file_is_in_the_list() {
    resemble_testutil::every_file_is_a_module(concat!(env!("CARGO_MANIFEST_DIR"), "/system"));
}
