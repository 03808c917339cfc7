//! `resemble-proto`: what the daemon and the command line say to each other.
//! (Interface agreed; owner fills in.)
