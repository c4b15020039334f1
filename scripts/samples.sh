#!/usr/bin/env bash
# Builds TIM-CL (preset release), runs its samples and prints what they measured.
# Each sample appends one line to --report:
#   {"sample":"lenet","device":"...","steps":9,"syncs":1,"max_diff":0,"ok":true}
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# PoCL, ccache and our own cache of programs all live below HOME; bare containers may not set it.
export HOME="${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}"

scripts/setup.sh
echo "samples: configure and build"
cmake --preset release
cmake --build --preset release --target samples

report=$(mktemp)
trap 'rm -f "$report"' EXIT

# run <sample> <arguments>: a sample that says nothing, or says "ok" but fails, is not ok.
run() {
  local name=$1 before after status=0
  shift
  printf '\n== %s%s\n' "$name" "${*:+ $*}"
  before=$(wc -l <"$report")
  "build/release/samples/$name/$name" "$@" --report "$report" || status=$?
  after=$(wc -l <"$report")
  if ((after == before || status != 0)); then
    echo "samples: $name ended with status $status and $((after - before)) lines of report"
    printf '{"sample":"%s","device":"(status %d)","steps":"-","syncs":"-","max_diff":"-","ok":false}\n' \
      "$name" "$status" >>"$report"
  fi
}

mapfile -t pictures < <(find samples/lenet \( -name '*.png' -o -name '*.pgm' \) | sort)
run lenet "${pictures[0]:?no picture in samples/lenet}"
run hswish
run rnncell
run attention
run custom_gemm
run vendor

echo
awk '
  function field(key,   rest) {
    if (!match($0, "\"" key "\" *: *")) return "?"
    rest = substr($0, RSTART + RLENGTH)
    if (match(rest, /^"([^"\\]|\\.)*"/)) {
      rest = substr(rest, 2, RLENGTH - 2)
      gsub(/\\"/, "\"", rest)
      return rest
    }
    match(rest, /^[^,} ]*/)
    return substr(rest, 1, RLENGTH)
  }
  function put(values,   i) {
    for (i = 1; i <= 6; ++i) {
      cell[NR, i] = values[i]
      if (length(values[i]) > width[i]) width[i] = length(values[i])
    }
  }
  BEGIN { split("sample device steps syncs max_diff ok", keys, " ") }
  BEGIN { split("sample|device|steps|syncs|largest difference|ok", head, "|"); put(head) }
  {
    for (i = 1; i <= 6; ++i) values[i] = field(keys[i])
    bad += values[6] != "true"
    values[6] = values[6] == "true" ? "yes" : "NO"
    put(values)
  }
  END {
    for (row = 0; row <= NR; ++row) {
      line = ""
      for (i = 1; i <= 6; ++i) line = line sprintf("%-" width[i] "s  ", cell[row, i])
      sub(/ +$/, "", line)
      print line
    }
    exit (bad > 0)
  }' "$report"
