# The recipes people and CI use. `just` lists them.

default:
    @just --list

# Everything CI checks, in its order.
check: fmt lint doc test pages lab deny

fmt:
    cargo fmt --all -- --check

lint:
    cargo clippy --workspace --all-targets -- -D warnings
    cargo clippy -p resemble-cli -p resemble-screen --features resemble-cli/ui --all-targets -- -D warnings

doc:
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

# Unit, property, model and system tests; FUSE must be usable.
test:
    RESEMBLE_REQUIRE_FUSE=1 RESEMBLE_REQUIRE_BROWSER=0 cargo test
    cargo test -p resemble-cli --features ui --lib --test cli -- screen
    cargo test -p resemble-screen --features ui
    cargo test -p resemble-cli --features schema --lib -- schemas

# Reports in a browser and in a spreadsheet program, which must be there.
pages:
    RESEMBLE_REQUIRE_BROWSER=1 cargo test --test pages

# The laboratory: no default member of the workspace.
lab:
    cargo test --workspace --config "target.'cfg(all())'.runner='{{justfile_directory()}}/.ci/only-lab'"

# Long storms of changes: so many of so many steps. Hours.
torture storms="50" steps="100000":
    RESEMBLE_TORTURE={{storms}} RESEMBLE_TORTURE_STEPS={{steps}} cargo test -p resemble-tests --test system torture -- --nocapture
    RESEMBLE_TORTURE_MINUTES=30 cargo test -p resemble-tests --test system levels_off -- --nocapture
    RESEMBLE_NAMES=100000 cargo test -p resemble-tests --test system any_names -- --nocapture
    RESEMBLE_SWAPS=1000000 cargo test -p resemble-tests --test system swaps -- --nocapture
    RESEMBLE_ORACLE_CHECKS=1000000 RESEMBLE_LEAK_RUNS=200 cargo test -p resemble-tests --test system system_mode -- --nocapture

# Bytes that nobody wrote, for every reader of them: so many for each. Minutes.
fuzz rounds="200000" seed="1":
    RESEMBLE_FUZZ={{rounds}} RESEMBLE_FUZZ_SEED={{seed}} cargo test -p resemble-proto -p resemble-index -p resemble-catalogue -p resemble-report -p resemble-daemon -p resemble-extract -- fuzz changed_ --nocapture

# What a power cut leaves of an index, and bit rot: so many variants a cut, so many damaged files.
damage variants="100" rounds="30000":
    RESEMBLE_CRASH_VARIANTS={{variants}} RESEMBLE_ROT_ROUNDS={{rounds}} cargo test -p resemble-index -- power_cut a_damaged_file --nocapture
    RESEMBLE_POWER_CUTS={{variants}} cargo test -p resemble-tests --test system power_cuts -- --nocapture

deny:
    cargo deny check licenses bans sources
    cargo deny --manifest-path python/Cargo.toml --config deny.toml check licenses bans sources

# The benchmark page: see docs/benchmarks.md.
bench *args:
    cargo bench -p resemble-benches {{args}}

# The accuracy page: TOOLS scores, CORPORA is what it scores; see docs/accuracy.md.
accuracy tools corpora *args:
    cargo build --release --bin resemble
    python3 benches/accuracy/accuracy.py {{tools}} {{corpora}} --write docs/accuracy.md {{args}}

# The pages as a site with search, in target/book; needs mdbook.
book:
    mdbook build

# The .deb, the static tarball and the bill of materials, in target/package; see docs/packaging.md.
dist:
    packaging/dist

# All that a release publishes, of a commit, in target/published; see docs/packaging.md.
release *commit:
    packaging/release {{commit}}

# Tries them in fresh chroots, as root.
dist-check *args:
    packaging/check {{args}}

# The Python wheel, in python/target/wheels; see docs/python.md.
wheel:
    python/wheel

# The same for 64-bit ARM by the linker of zig (pip install ziglang). Nobody has tried it.
wheel-aarch64:
    python/wheel --target aarch64-unknown-linux-gnu --zig

# Tries it in an empty environment.
wheel-check:
    python/wheel check

# One build for all three: `cargo install` of each would build what they share three times, since
# their dependencies have other features.

# Programs and user units into the home directory.
install:
    cargo build --release --locked -p resemble-daemon -p resemble-cli -p resemble-lab \
        --features resemble-cli/ui
    install -Dm755 -t "${CARGO_HOME:-$HOME/.cargo}/bin" \
        target/release/resembled target/release/resemble target/release/resemble-lab
    install -Dm644 systemd/resembled.service ~/.config/systemd/user/resembled.service
