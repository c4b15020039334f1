#!/usr/bin/env bash
# Builds TIM-CL (preset dev) and runs its tests. Arguments go to ctest: scripts/test.sh -L quick
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# PoCL, ccache and our own cache of programs all live below HOME; bare containers may not set it.
export HOME="${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}"

scripts/setup.sh
echo "test: configure and build"
cmake --preset dev
cmake --build --preset dev
echo "test: run"
ctest --test-dir build/dev --output-on-failure -j "${CTEST_PARALLEL_LEVEL:-$(nproc)}" "$@"
