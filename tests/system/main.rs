//! The whole system: real processes, real mounts, real faults. One binary, one module a theme.
#![forbid(unsafe_code)]
#![allow(clippy::print_stderr)] // a test that is skipped says so

/// The main job: watch, index, `ls FILE/.similar`, right after every change.
mod lost;
mod main_job;

/// Words that no comment and no page has.
mod language;

/// The place of the view, where it does not disturb other programs.
mod view;

/// Sets up a watching daemon after the installation, and reverts that.
mod setup;

/// `ls FILE/.similar` on the real paths, in three shells.
mod shells;

/// "Similar files" in the menus of four file managers, without their windows.
mod facts;
mod file_managers;

/// Similar directories in the overlay, right after every change.
mod directories;

/// Changes by editors, version control and people.
mod changes;

/// Storms of changes, overflow of the event queue, deep trees made at once.
mod storms;

/// Names of any bytes stay complete, and reach a terminal only escaped.
mod any_names;

/// Names that change places lead no program out of a tree.
mod swaps;

/// The second generator of churn, short here and long in `just torture`.
mod torture;

/// Changes that leave no trace in the usual places.
mod unseen;

/// Transient failures while files are read.
mod scarce;

/// Kill, restart, a second daemon, damaged state.
mod restarts;

/// The power fails under a journaling file system.
mod power_cuts;

/// Bad input yields one clear sentence and an exit code, and loses nothing.
mod bad_input;

/// The same question with and without a daemon has the same bytes for an answer.
mod two_ways;

/// The newer of two files, in every answer that has rows of two files.
mod newer;

/// Every answer names unreadable paths, and those that a root leaves out.
mod gaps;

/// Missing and vanished paths are reported.
mod missing;

/// Trees that are not here: export, import, and every question about them.
mod catalogues;

/// Pairs of files and archives, one of which is only in a catalogue: one estimate in every verb.
mod catalogued_members;

/// A saved report of groups, filtered again.
mod saved_groups;

/// The changes since a catalogue was written.
mod deltas;

/// A folder of catalogues that is followed.
mod fleet;

/// The daemon of another machine, asked through ssh.
mod remote;

/// Files that already share their blocks.
mod clones;

/// Programs that ask through the Model Context Protocol.
mod programs;

/// Every answer in JSON matches its schema.
mod schemas;

/// Documents and archives: their texts and members, in every answer.
mod documents;

/// Documents wait for their turn, and delay nothing.
mod document_turns;

/// Marked templates are evidence in no answer, at once and without reading files.
mod templates;

/// A settled change that makes a duplicate raises an alert.
mod alerts;

/// Alerts reach every sink, over restarts, failures and floods.
mod told;

/// Alerts on the desktop: on a private bus, with a service that takes notifications.
mod desktop;

/// The share of a day's alerts that are right.
mod alert_precision;

/// The daemon of an ordinary user, mounted by fusermount3.
mod unprivileged;

/// One index for many users: each sees the files that they can open, and no one gets further
/// rights.
mod system_mode;

/// Dependencies point one way; foreign crates are named in one place each.
mod layering;

/// The pages match the programs: the README, the units, and the promises of the mounted view.
mod pages;

/// The README's demo, as a new user types it.
mod readme;

/// Every test file is in the list above.
#[test]
fn every_test_file_is_in_the_list() {
    resemble_testutil::every_file_is_a_module(concat!(env!("CARGO_MANIFEST_DIR"), "/system"));
}
