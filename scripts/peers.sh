#!/usr/bin/env bash
# Measures our networks beside other runtimes, on the same two cores, in one run: ONNX Runtime, OpenVINO, LiteRT, ncnn.
#   scripts/peers.sh [--quick] [--network NAME]... [--dtype fp32|int8|relaxed]... [--peer NAME]...     (--help: all options)
# Their Python environments (from PyPI) and models, 5 GB in all, are made under build/peers and kept. Prints a table, writes build/peers.json
# and build/peers.svg. docs/peers.md explains the figures.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export HOME="${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}"
build=build/peers
mkdir -p "$build"

# environment <name>: kept as long as its requirements are the same. A version that is no longer there is replaced by the newest.
environment() {
  local name=$1 at=$build/env-$1 wanted file pip
  wanted=$(cat "bench/peers/requirements-$name"*.txt)
  [[ -f $at/requirements && $(<"$at/requirements") == "$wanted" ]] && return
  echo "peers: making the environment $name (once)" >&2
  rm -rf "$at"
  python3 -m venv "$at"
  pip=("$at/bin/python" -m pip install --quiet --disable-pip-version-check)
  for file in "bench/peers/requirements-$name"*.txt; do
    local no_deps=()
    [[ $file == *-no-deps.txt ]] && no_deps=(--no-deps)
    if ! "${pip[@]}" "${no_deps[@]}" -r "$file"; then
      echo "peers: not all of these versions can be installed; taking the newest instead:" >&2
      sed -n 's/==.*//p' "$file" | tee /dev/stderr | xargs "${pip[@]}" "${no_deps[@]}" || {
        echo "peers: $name cannot be installed here; its rows will say so" >&2
        return
      }
    fi
  done
  printf '%s' "$wanted" >"$at/requirements"
}

arguments=" $* "
if [[ $arguments != *" --help "* && $arguments != *" -h "* && $arguments != *" --no-build "* && $arguments != *" --no-ours "* &&
      $arguments != *" --ours"* && $arguments != *" --prepare "* ]]; then
  echo "peers: building model_bench (preset release)" >&2
  cmake --preset release >/dev/null
  cmake --build --preset release --target model_bench >/dev/null
fi
for name in onnx litert ncnn tf; do environment "$name"; done
exec "$build/env-onnx/bin/python" bench/peers/peers.py "$@"
