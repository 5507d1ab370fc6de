#!/bin/sh
# Builds the bench and runs it; arguments are the bench's own.
set -eu
cd "$(dirname "$0")"
exec cargo run --release --quiet -- "$@"
