#!/usr/bin/env python3
"""Runs the small cases of every operator under Oclgrind (Debian package oclgrind), a simulator of an OpenCL device that
finds invalid accesses, data races and decisions that depend on uninitialised memory.

  oclgrind_conformance.py --binary build/dev/tests/conformance/conformance_test [--ops Add,Conv2d] [--limit 6000] [--jobs 1]

Each operator runs twice: with the kernels as for a CPU, and as for a GPU. Kernels are counted as Oclgrind reports them after
it ran them. Exit status 1 when it finds something, when results differ from the reference, or when a kernel file that
the operators use was never run."""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

RAN = re.compile(r"Instructions executed for kernel '(\w+?)(?:_v\d+)?':")


def findings(text):
    """(what, kernel, place) -> how often; what Oclgrind says comes in blocks with an empty line on both sides."""
    found = collections.Counter()
    for block in re.split(r"\n\s*\n", text):
        lines = block.strip("\n").split("\n")
        kernel = next((m[1] for m in map(re.compile(r"\s*Kernel: (\w+?)(?:_v\d+)?$").match, lines) if m), None)
        if kernel is None:
            if lines[0].startswith("Oclgrind: ") and "suppressing" not in lines[0]:
                found[lines[0], "", ""] += 1
            continue
        place = next((line.strip() for line in lines if line.strip().startswith("At line ")), "")
        found[re.sub(r" at (global|local|private|constant) memory address \w+", r" of \1 memory", lines[0]), kernel, place] += 1
    return found


def oclgrind(args, op, mode, options):
    # Without optimisation: all reads of the source are there, and the uninitialised-memory plugin knows all instructions.
    command = ["oclgrind", "--build-options", "-cl-opt-disable", "--uninitialized", "--data-races", "--max-errors", "2000",
               *options, args.binary, f"--ops={op}", f"--limit={args.limit}", f"--coverage={args.coverage}", *mode]
    env = dict(os.environ, TIMCL_CACHE_DIR="", TIMCL_LOG="error", TIMCL_DEVICE="Oclgrind")
    return subprocess.run(command, env=env, capture_output=True, text=True, errors="replace", timeout=args.timeout,
                          preexec_fn=lambda: os.nice(args.nice))


def run(args, op, mode):
    """The kernels that ran, what was found, what is wrong, seconds."""
    start = time.monotonic()
    kernels = set()
    try:
        done = oclgrind(args, op, mode, ["--inst-counts"])
        kernels = set(RAN.findall(done.stdout))
        if done.returncode < 0:  # its counter (21.10) writes beyond its own memory for some kernels
            done = oclgrind(args, op, mode, [])
    except subprocess.TimeoutExpired:
        return kernels, collections.Counter({("not done in time", "", ""): 1}), "", time.monotonic() - start
    found = findings(done.stdout + "\n\n" + done.stderr)
    wrong = ""
    if done.returncode != 0 and not found:
        lines = done.stdout.split("\n")
        at = next((i for i, line in enumerate(lines) if ": Failure" in line), len(lines))
        wrong = "\n".join(lines[at:at + 6]) or f"exit status {done.returncode}: {done.stderr[-500:]}"
    return kernels, found, wrong, time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True, help="the conformance test program")
    parser.add_argument("--ops", help="only these operators, separated by commas")
    parser.add_argument("--limit", type=int, default=6000, help="elements that a case's inputs may have")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--nice", type=int, default=15)
    parser.add_argument("--timeout", type=float, default=900, help="seconds per operator")
    parser.add_argument("--coverage", help="folder for what ran, as of conformance_test")
    args = parser.parse_args()
    if shutil.which("oclgrind") is None:
        sys.exit("oclgrind is not installed: apt-get install oclgrind")
    args.binary = str(pathlib.Path(args.binary).resolve())
    scratch = tempfile.TemporaryDirectory()
    args.coverage = args.coverage or scratch.name

    sources = {}  # operator -> kernel files
    for line in subprocess.run([args.binary, "--sources"], capture_output=True, text=True, check=True).stdout.splitlines():
        op, *files = line.split()
        sources[op] = files
    ops = args.ops.split(",") if args.ops else list(sources)
    if unknown := [op for op in ops if op not in sources]:
        sys.exit(f"no operator of that name: {', '.join(unknown)}")

    kernels, total, wrong_ops = set(), collections.Counter(), []
    jobs = [(op, mode) for op in ops for mode in (["--as-cpu"], [])]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for n, ((op, mode), (ran, found, wrong, seconds)) in enumerate(
                zip(jobs, pool.map(lambda job: run(args, *job), jobs)), 1):
            kernels |= ran
            total.update(found)
            name = f"{op}{' as for a CPU' if mode else ''}"
            verdict = "clean" if ran else "no kernel ran"
            if found:
                verdict = f"{sum(found.values())} findings"
            elif wrong:
                verdict = "wrong results"
            if wrong:
                wrong_ops.append(name)
            print(f"[{n}/{len(jobs)}] {name}: {len(ran)} kernels, {verdict}, {seconds:.0f} s", flush=True)
            for (what, kernel, place), count in sorted(found.items()):
                print(f"    {count} x {what}: {kernel} {place}", flush=True)
            if wrong:
                print("    " + wrong.replace("\n", "\n    "), flush=True)

    texts = {f: (pathlib.Path(__file__).resolve().parents[2] / "src/kernels" / f).read_text()
             for op in ops for f in sources[op]}
    missed = [f for f, text in sorted(texts.items()) if not set(re.findall(r"^\w*KERNEL\((\w+)\)", text, re.M)) & kernels]
    print(f"{len(kernels)} kernels of {len(texts) - len(missed)} of {len(texts)} files checked over {len(ops)} operators")
    if missed:
        print("never run: " + ", ".join(missed))
    if wrong_ops:
        print("wrong results: " + ", ".join(wrong_ops))
    for (what, kernel, place), count in sorted(total.items()):
        print(f"finding, {count} x: {what}: {kernel} {place}")
    if not total:
        print("Oclgrind found nothing")
    sys.exit(1 if total or missed or wrong_ops else 0)


if __name__ == "__main__":
    main()
