#!/usr/bin/env bash
# Formats all C++ files; --check only tells which are not formatted. With version 14 alone (Debian 12): others differ.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

format=$(command -v clang-format-14 || command -v clang-format || true)
if [[ -z $format || $("$format" --version) != *"version 14."* ]]; then
  echo "skipped: clang-format 14 is not installed (apt-get install clang-format-14)"
  exit 0
fi
mapfile -t files < <(find bench custom_ops include samples src tests \( -name '*.h' -o -name '*.cc' \) | sort)
if [[ ${1:-} == --check ]]; then
  "$format" --dry-run -Werror --ferror-limit=1 "${files[@]}"
  echo "format: ${#files[@]} files, all in order"
else
  "$format" -i "${files[@]}"
fi
