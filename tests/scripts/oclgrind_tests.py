#!/usr/bin/env python3
"""Runs tests of a GoogleTest program under Oclgrind (Debian package oclgrind), a simulator of an OpenCL device that finds
invalid accesses and data races.

  oclgrind_tests.py build/dev/tests/opencl/opencl_run_test --filter='*Images*'

Exit status 1 when a test fails, when Oclgrind finds something, or when no kernel or no test ran; 77 and a line that says so where
Oclgrind is not installed."""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--filter", required=True, help="as --gtest_filter")
    parser.add_argument("--break", dest="broken", nargs=3, metavar=("FILE", "FROM", "TO"),
                        help="in a kernel file; Oclgrind must then find something, else the status is 1")
    args = parser.parse_args()
    if shutil.which("oclgrind") is None:
        print("skipped: oclgrind is not installed (apt-get install oclgrind)")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "log"
        # Without --uninitialized: Oclgrind 21.10 takes the headers of emulated images for that.
        command = ["oclgrind", "--build-options", "-cl-opt-disable", "--data-races", "--max-errors", "20", "--inst-counts",
                   "--log", str(log), args.binary, f"--gtest_filter={args.filter}"]
        env = dict(os.environ, TIMCL_CACHE_DIR="", TIMCL_DEVICE="Oclgrind")
        if args.broken:
            file, old, new = args.broken
            text = (pathlib.Path(__file__).resolve().parents[2] / "src/kernels" / file).read_text()
            if old not in text:
                sys.exit(f"{file} has no '{old}'")
            (pathlib.Path(folder) / file).write_text(text.replace(old, new))
            env["TIMCL_KERNEL_DIR"] = folder
        done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        found = log.read_text(errors="replace").strip() if log.exists() else ""
    kernels = sorted(set(re.findall(r"Instructions executed for kernel '(\w+)'", done.stdout)))
    passed = re.search(r"\[  PASSED  \] (\d+) test", done.stdout)
    count = int(passed[1]) if passed else 0
    print(f"{count} tests passed; kernels that ran: {', '.join(kernels) or 'none'}")
    if args.broken:
        print(found)
        sys.exit(0 if "Invalid" in found else "Oclgrind did not find what is broken")
    if done.returncode != 0:
        print("\n".join(line for line in done.stdout.splitlines() if "instructions" not in line.lower())[-6000:])
    if found:
        print(f"Oclgrind found:\n{found}")
    sys.exit(1 if done.returncode != 0 or found or not kernels or count == 0 else 0)


if __name__ == "__main__":
    main()
