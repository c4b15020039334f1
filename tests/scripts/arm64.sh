#!/usr/bin/env bash
# Builds for ARM (aarch64) and runs conformance_test there, emulated, on PoCL in a Debian of its own:
#   tests/scripts/arm64.sh <folder> --quick --ops=Conv2d,Softmax
# The folder is made the first time: 2 GB. What follows it are arguments of conformance_test. Needs root, and Debian's packages
# debootstrap qemu-user-static g++-aarch64-linux-gnu. Kernels take ten times as long to compile: minutes for each operator.
set -euo pipefail
if (($# < 1)); then
  echo "usage: tests/scripts/arm64.sh <folder> [arguments of conformance_test]" >&2
  exit 2
fi
mkdir -p "$1"
root=$(realpath "$1")
shift
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

for command in debootstrap qemu-aarch64-static aarch64-linux-gnu-g++; do
  command -v "$command" >/dev/null ||
    { echo "arm64: no $command: apt-get install debootstrap qemu-user-static g++-aarch64-linux-gnu" >&2; exit 1; }
done

# Linux starts programs of the other processor by the emulator.
formats=/proc/sys/fs/binfmt_misc
[[ -e $formats/register ]] || mount -t binfmt_misc none "$formats"
[[ -e $formats/qemu-aarch64 ]] || cat /usr/lib/binfmt.d/qemu-aarch64.conf >"$formats/register"

if [[ ! -e $root/complete ]]; then
  echo "arm64: installing Debian for arm64 in $root"
  debootstrap --arch=arm64 --variant=minbase \
    --include=pocl-opencl-icd,ocl-icd-opencl-dev,opencl-headers,opencl-clhpp-headers,libfmt-dev,libspdlog-dev,nlohmann-json3-dev,libcli11-dev,libxxhash-dev,libgtest-dev,libgmock-dev,libpng-dev,librapidcheck-dev \
    bookworm "$root"
  touch "$root/complete"
fi
for place in proc sys dev; do
  mountpoint -q "$root/$place" || mount --rbind "/$place" "$root/$place"
done

echo "arm64: configure and build"
cmake -S . -B "$root/build" -G Ninja -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
  -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ \
  -DCMAKE_SYSROOT="$root" -DCMAKE_FIND_ROOT_PATH="$root" -DCMAKE_FIND_ROOT_PATH_MODE_PROGRAM=NEVER \
  -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY \
  -DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=ONLY \
  -DCMAKE_BUILD_TYPE=Release -DTIMCL_BUILD_BENCH=OFF >/dev/null
cmake --build "$root/build" --target timcl_tool conformance_test
echo "arm64: run"
chroot "$root" /build/src/timcl devices
exec chroot "$root" env HOME=/root TIMCL_CACHE_DIR= TIMCL_LOG=error /build/tests/conformance/conformance_test "$@"
