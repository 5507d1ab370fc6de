# What people do in this folder. `.ci/run` and README call the same scripts, so that `just` is never needed.

# Everything that must pass before a commit.
check: fmt-check lint test

fmt:
    cargo fmt --all

fmt-check:
    cargo fmt --all --check

lint:
    cargo clippy --workspace --all-targets -- --deny warnings

# All tests, installing what they need.
test *ARGS:
    ./test {{ARGS}}

# Writes docs/openapi.json anew, after a change of the admin API.
openapi:
    UPDATE_OPENAPI=1 cargo nextest run --workspace -E 'test(the_copy_in_docs_is_current)'

# Walls, licences and sources (needs cargo-deny).
deny:
    cargo deny check bans licenses sources

# A node from this folder.
run *ARGS:
    cargo run --release -- serve {{ARGS}}

# Side by side with the yardsticks; prints ratios. See bench/README.md.
bench *ARGS:
    cargo build --release
    bench/run.sh {{ARGS}}

# Kills the real binary at random under load and accounts for every acknowledged task.
chaos *ARGS:
    cargo build --release
    ./conformance/chaos {{ARGS}}

# A node with the agent that the public conformance kit expects, in one of its profiles.
tck-serve PORT="8430" PROFILE="everything":
    cargo build --release
    ./conformance/serve {{PORT}} {{PROFILE}}

# Runs a checkout of the conformance kit (branch 1.0-dev or 0.3.x) against such nodes, one for each profile.
tck DIR *PROFILES:
    cargo build --release
    ./conformance/tck {{DIR}} {{PROFILES}}

# Fuzzes one target, or one after the other (needs a nightly compiler and cargo-fuzz).
fuzz *ARGS:
    fuzz/run {{ARGS}}

# The snapshots and the code of the definitions in proto/, written anew. Look at the difference before you commit it.
gen:
    INSTA_UPDATE=always cargo nextest run --workspace
