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
mkdir -p "$build/logs"
if ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
  echo "peers: python3 cannot make virtual environments here. On Debian, as root: apt-get install python3-venv" >&2
  exit 1
fi

# install <environment's folder> <requirements>: a version that is no longer there is replaced by the newest.
install() {
  local pip=("$1/bin/python" -m pip install --quiet --disable-pip-version-check)
  [[ $2 == *-no-deps.txt ]] && pip+=(--no-deps)
  "${pip[@]}" -r "$2" && return
  echo "peers: not all of these versions can be installed; taking the newest instead:" >&2
  sed -n 's/==.*//p' "$2" | tee /dev/stderr | xargs "${pip[@]}"
}

# environment <name>: kept as long as its requirements are the same. It is made beside the one that was there, which stays where that fails:
# nothing in it is called by a name that moving would break, only bin/python.
environment() {
  local name=$1 at=$build/env-$1 new=$build/env-$1.new wanted file
  wanted=$(cat "bench/peers/requirements-$name"*.txt)
  [[ -f $at/requirements && $(<"$at/requirements") == "$wanted" ]] && return
  echo "peers: making the environment $name (once)" >&2
  rm -rf "$new"
  python3 -m venv "$new" || return
  for file in "bench/peers/requirements-$name"*.txt; do
    install "$new" "$file" || return
  done
  printf '%s' "$wanted" >"$new/requirements"
  rm -rf "$at"
  mv "$new" "$at"
}

# onednn_layers: the program that runs oneDNN's primitives, where the environment has the library and there is a compiler.
onednn_layers() {
  local at=$PWD/$build/env-onednn source=bench/peers/onednn_layers.cc binary=$build/onednn_layers
  [[ -f $at/lib/libdnnl.so && ! ($binary -nt $source && $binary -nt $at/requirements) ]] || return 0
  rm -f "$binary"
  "${CXX:-c++}" -std=c++17 -O2 "$source" -o "$binary" "-I$at/include" "-L$at/lib" -ldnnl "-Wl,-rpath,$at/lib" ||
    echo "peers: $source cannot be built here; the rows of oneDNN will say so" >&2
}

# model_bench: what its build says is shown only where it fails.
model_bench() {
  local log=$build/logs/model_bench.log
  echo "peers: building model_bench (preset release)" >&2
  { cmake --preset release && cmake --build --preset release --target model_bench; } >"$log" 2>&1 && return
  tail -n 40 "$log" >&2
  echo "peers: model_bench cannot be built (all of it is in $log); --no-ours compares the peers alone" >&2
  exit 1
}

for name in $needed; do
  case $name in
    model_bench) model_bench ;;
    *)
      environment "$name" && continue
      if [[ -f $build/env-$name/requirements ]]; then
        echo "peers: $name cannot be installed here; the older one that is there is taken" >&2
      elif [[ $name == onnx ]]; then
        echo "peers: $name cannot be installed here. It runs all the others and computes what they are compared with: no table without it" >&2
        exit 1
      else
        echo "peers: $name cannot be installed here; its rows will say so" >&2
      fi
      ;;
  esac
done
onednn_layers
exec "$build/env-onnx/bin/python" bench/peers/peers.py "$@"
