//! `resemble-fs`: the overlay. (Interface agreed; owner fills in.)

pub mod neighbours;
