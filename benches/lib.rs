//! Benchmarks live in `benches/`; this library is empty. See docs/benchmarks.md.
