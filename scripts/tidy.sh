#!/usr/bin/env bash
# clang-tidy, by the list in .clang-tidy, over the given files, or over all of src/ (some minutes). Needs build/dev.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

command -v clang-tidy >/dev/null || { echo "skipped: clang-tidy is not installed"; exit 0; }
(($# > 0)) || mapfile -t all < <(find src -name '*.cc' | sort)
printf '%s\n' "${@:-${all[@]}}" | xargs -P "$(nproc)" -n 4 clang-tidy --quiet -p build/dev
