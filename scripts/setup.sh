#!/usr/bin/env bash
# Installs what TIM-CL needs to build and to run its tests, from Debian's packages; does nothing where
# all is there. On another system it looks for the same things and names what it does not find.
set -euo pipefail

# Package, and how to find its content where there is no dpkg: a command, a header or an OpenCL ICD.
needed=(
  g++:cmd:c++  cmake:cmd:cmake  ninja-build:cmd:ninja  pkg-config:cmd:pkg-config  git:cmd:git
  python3:cmd:python3
  opencl-headers:hdr:CL/cl_layer.h  opencl-clhpp-headers:hdr:CL/opencl.hpp
  ocl-icd-opencl-dev:lib:OpenCL  pocl-opencl-icd:icd:
  libgtest-dev:hdr:gtest/gtest.h  libgmock-dev:hdr:gmock/gmock.h
  libbenchmark-dev:hdr:benchmark/benchmark.h  librapidcheck-dev:hdr:rapidcheck.h
  libfmt-dev:hdr:fmt/format.h  libspdlog-dev:hdr:spdlog/version.h
  nlohmann-json3-dev:hdr:nlohmann/json_fwd.hpp  libcli11-dev:hdr:CLI/Version.hpp
  libxxhash-dev:hdr:xxhash.h  libpng-dev:hdr:png.h
)
optional=(
  ccache:cmd:ccache                       # only makes builds faster
  libdnnl-dev:hdr:oneapi/dnnl/dnnl.hpp    # for the oneDNN delegate
)

found() {  # found <kind> <what>
  case $1 in
    cmd) command -v "$2" ;;
    hdr) command -v c++ && printf '#include <%s>\n' "$2" |
           c++ -std=c++20 -DCL_TARGET_OPENCL_VERSION=300 -E -x c++ -o /dev/null - ;;
    lib) command -v c++ && printf 'int main() {}\n' | c++ -x c++ -o /dev/null - "-l$2" ;;
    icd) compgen -G '/etc/OpenCL/vendors/*.icd' || [[ -n ${OCL_ICD_VENDORS:-} ]] ;;
  esac >/dev/null 2>&1
}

# Sets `missing` to the names of the packages that are not there.
missing_by_dpkg() {
  local installed entry
  installed=" $(dpkg-query -W -f '${db:Status-Status}:${Package} ' "${@%%:*}" 2>/dev/null || true)"
  missing=()
  for entry in "$@"; do
    [[ $installed == *" installed:${entry%%:*} "* ]] || missing+=("${entry%%:*}")
  done
}
missing_by_search() {
  local entry package kind what
  missing=()
  for entry in "$@"; do
    IFS=: read -r package kind what <<<"$entry"
    found "$kind" "$what" || missing+=("$package")
  done
}

give_up() {
  echo "setup: these are missing and cannot be installed from here: ${missing[*]}"
  exit 1
}

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  echo "setup: no apt-get here; looking for what these Debian packages hold: ${needed[*]%%:*}"
  missing_by_search "${needed[@]}"
  ((${#missing[@]} == 0)) || give_up
  echo "setup: all of it is there"
  exit 0
fi

missing_by_dpkg "${needed[@]}" "${optional[@]}"
if ((${#missing[@]} == 0)); then
  echo "setup: all packages are installed"
  exit 0
fi

if ((EUID == 0)); then
  as_root=(env)
elif command -v sudo >/dev/null; then
  as_root=(sudo env)
else
  # Perhaps it came another way than as a package.
  missing_by_search "${needed[@]}"
  if ((${#missing[@]} > 0)); then
    echo "setup: neither root nor sudo. As root: apt-get install ${missing[*]}"
    give_up
  fi
  echo "setup: all that is needed is there, though not all of it as packages"
  exit 0
fi

install() {
  "${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
    -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 "${missing[@]}"
}
update() {
  "${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get update -q \
    -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300
}

echo "setup: installing ${missing[*]}"
if ! install; then  # no package lists yet, or old ones
  echo "setup: once more, with fresh package lists"
  update || { sleep 5 && update; } || give_up
  if ! install; then  # one that is optional may not be to be had
    missing_by_dpkg "${needed[@]}"
    install || { sleep 5 && install; } || give_up
  fi
fi
missing_by_dpkg "${needed[@]}"
((${#missing[@]} == 0)) || give_up
echo "setup: done"
