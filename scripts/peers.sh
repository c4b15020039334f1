#!/usr/bin/env bash
# Measures our networks beside other runtimes, on the same two cores, in one run: ONNX Runtime, OpenVINO, LiteRT, ncnn, MNN, and the
# convolutions and products of oneDNN.
#   scripts/peers.sh [--quick] [--network NAME]... [--dtype fp32|int8|relaxed]... [--peer NAME]...     (--help: all options)
# Their Python environments (from PyPI) and models, 7 GB in all, are made under build/peers as they are needed, and kept. Prints a table,
# writes build/peers.json and build/peers.svg. docs/peers.md explains the figures.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export HOME="${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}"
build=build/peers
for argument in "$@"; do
  case $argument in -h | --help) exec python3 bench/peers/options.py --help ;; esac
done
needed=$(python3 bench/peers/options.py "$@")
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

# onednn_layers: the program that runs oneDNN's primitives, where the environment has the library and there is a compiler.
onednn_layers() {
  local at=$PWD/$build/env-onednn source=bench/peers/onednn_layers.cc binary=$build/onednn_layers
  [[ -f $at/lib/libdnnl.so && ! ($binary -nt $source && $binary -nt $at/requirements) ]] || return 0
  rm -f "$binary"
  "${CXX:-c++}" -std=c++17 -O2 "$source" -o "$binary" "-I$at/include" "-L$at/lib" -ldnnl "-Wl,-rpath,$at/lib" ||
    echo "peers: $source cannot be built here; the rows of oneDNN will say so" >&2
}

for name in $needed; do
  case $name in
    model_bench)
      echo "peers: building model_bench (preset release)" >&2
      cmake --preset release >/dev/null
      cmake --build --preset release --target model_bench >/dev/null
      ;;
    *) environment "$name" ;;
  esac
done
onednn_layers
exec "$build/env-onnx/bin/python" bench/peers/peers.py "$@"
