//! Questions and scans over real trees, on a disk and in an index.

mod catalogues;
mod compare;
mod convergence;
mod covered;
mod dirs;
mod groups;
mod hostile;
mod ingest;
mod parts;
mod questions;
mod reads;
mod scene;
mod stopped;
mod templates;
mod truth;
mod words;
