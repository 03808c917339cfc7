//! This library is empty. The benchmarks are in `benches/`: see docs/benchmarks.md.
