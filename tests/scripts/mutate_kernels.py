#!/usr/bin/env python3
"""Are the conformance cases sharp enough? Changes each kernel in a few places, one at a time, and runs the operators
that use it on the changed copy (TIMCL_KERNEL_DIR). A mutant that passes every case has survived.

  mutate_kernels.py --binary <conformance_test> [--per-kernel 10] [--only pool2d.cl] [--minimum 95]

Mutants that compute the same are listed with a reason in equivalent_mutants.txt. Mutants that do not compile are
not counted."""
import argparse
import concurrent.futures
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

KERNELS = pathlib.Path(__file__).resolve().parents[2] / "src/kernels"
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)
# Not mutated: the dialect of all kernels, which would be a run of everything for each mutant, and users' images.
LEFT_OUT = ("tensor.clh", "image_prelude.clh")
# Of kernels that nearly every operator uses; with one, two and three inputs, bool results and parameters, they stand for all.
SAMPLE = ["Add", "Clip", "DataConvert", "LogicalNot", "Multiply", "Prelu", "Select"]
RULES = [
    (r" \+ ", " - "), (r" - ", " + "), (r" \* ", " + "), (r" \+= ", " -= "), (r" <= ", " < "), (r" >= ", " > "),
    (r" < ", " <= "), (r" > ", " >= "), (r" == ", " != "), (r" != ", " == "), (r" >> ", " << "), (r" && ", " || "), (r"\bfmax\(", "fmin("),
    (r"\bfmin\(", "fmax("), (r"\bmax\(", "min("), (r"\bmin\(", "max("), (r" / ", " * "), (r" % ", " / "),
    (r"WORK_ITEM\(0\)", "WORK_ITEM(1)"), (r"WORK_ITEM\(1\)", "WORK_ITEM(0)"),
    (r"(?<=[ (\[])0(?=[;,)\]])", "1"), (r"(?<=[ (\[])1(?=[;,)\]])", "2"), (r" \+ \w+(?=[;)\]])", ""),
    (r" - \w+(?=[;)\]])", ""), (r"\bAT_LEAST\(", "AT_MOST("), (r"\bconvert_(\w+)_sat\(", r"convert_\1("), (r"(?<=\bx)\[", "[1 + "),
]


def candidates(text):
    """(line number, changed line, what) of every place where a rule applies, comments and conditions left out."""
    found = []
    in_comment = False
    for number, line in enumerate(text.split("\n")):
        code = line.split("//")[0]
        if "/*" in code or in_comment:
            in_comment = "*/" not in code
            continue
        stripped = code.strip()
        if stripped.startswith("#") and not re.match(r"#\s*define\s+\w+\(", stripped):
            continue
        if "PREFETCH" in code or "__attribute__" in code or not stripped:
            continue
        for pattern, replacement in RULES:
            for m in re.finditer(pattern, code):
                changed = code[:m.start()] + m.expand(replacement) + code[m.end():]
                if changed.rstrip().endswith("\\") != code.rstrip().endswith("\\"):
                    continue
                found.append((number, changed, f"{stripped}  =>  {changed.strip()}"))
    return found


def users(binary):
    """Kernel file, or a file that it includes -> the operators that stand for those that use it."""
    found = {}  # file -> kernel that is or includes it -> operators
    for line in subprocess.run([binary, "--sources"], capture_output=True, text=True, check=True).stdout.splitlines():
        op, *kernels = line.split()
        for kernel in kernels:
            for name in (kernel, *INCLUDE.findall((KERNELS / kernel).read_text())):
                found.setdefault(name, {}).setdefault(kernel, []).append(op)
    return {name: stand_for(by_kernel.values()) for name, by_kernel in found.items()}


def stand_for(lists):
    """At least seven operators, or all: as many of each list as of the others."""
    lists = [[op for op in ops if op in SAMPLE] or ops for ops in lists]
    chosen = []
    for place in range(max(map(len, lists))):
        if len(chosen) >= len(SAMPLE):
            break
        chosen += [ops[place] for ops in lists if place < len(ops) and ops[place] not in chosen]
    return chosen


def run(args, kernel, text, ops, timeout=None, changed=True):
    """'caught', 'survived' or 'invalid'. What a mutant leaves in caches goes with it."""
    folder = tempfile.mkdtemp(prefix="timcl_mutant_")
    try:
        pathlib.Path(folder, kernel).write_text(text)
        env = dict(os.environ, TIMCL_KERNEL_DIR=folder, TIMCL_CACHE_DIR="", TMPDIR=folder)
        if changed:
            env["POCL_CACHE_DIR"] = folder + "/pocl"
        # Some lines are compiled for a GPU alone.
        for mode in ([], ["--as-gpu"]):
            try:
                done = subprocess.run([args.binary, f"--ops={','.join(ops)}", "--fail-fast", "--float-first", "--chunk=16", *mode],
                                      env=env, capture_output=True, text=True, timeout=timeout, errors="replace")
            except subprocess.TimeoutExpired:
                return "caught"  # it does not end
            if done.returncode != 0:
                return "invalid" if "kKernelBuild" in done.stdout else "caught"
        return "survived"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True, help="the conformance test program")
    parser.add_argument("--per-kernel", type=int, default=10)
    parser.add_argument("--only", action="append", help="only this kernel file; may be repeated")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minimum", type=float, default=95, help="per cent of mutants that must be caught")
    parser.add_argument("--timeout", type=float, default=300, help="seconds per mutant")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--equivalents", default=str(pathlib.Path(__file__).with_name("equivalent_mutants.txt")))
    args = parser.parse_args()
    args.binary = str(pathlib.Path(args.binary).resolve())

    same = set()  # "file: old line  =>  new line"
    for line in pathlib.Path(args.equivalents).read_text().split("\n"):
        if line.strip() and not line.startswith("#"):
            mutant, _, reason = line.partition(" because ")
            if not reason.strip():
                sys.exit(f"{args.equivalents}: no reason given: {line}")
            same.add(mutant.strip())

    jobs, unchanged = [], []
    ops_of = users(args.binary)
    for path in sorted(KERNELS.glob("*.cl*")):
        if path.name in LEFT_OUT or (args.only and path.name not in args.only):
            continue
        ops = ops_of.get(path.name)
        if not ops:
            print(f"{path.name}: no operator uses it")
            continue
        text = path.read_text()
        unchanged.append((path.name, text, ops))
        lines = text.split("\n")
        places = candidates(text)
        rng = random.Random(f"{path.name} {args.seed}")
        rng.shuffle(places)
        chosen, seen = [], set()
        for number, changed, what in places:
            line = what.partition("  =>  ")[0]
            if what in seen or f"{path.name}: {what}" in same or f"{path.name}: {line}  =>  *" in same:
                continue
            seen.add(what)
            chosen.append((number, changed, what))
        for number, changed, what in chosen[:args.per_kernel]:
            mutant = "\n".join(lines[:number] + [changed] + lines[number + 1:])
            jobs.append((path.name, number + 1, what, mutant, ops))
        count = len(chosen[:args.per_kernel])
        print(f"{path.name}: {count} of {len(chosen)} mutants, run by {', '.join(ops)}", flush=True)

    counts = {}
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        as_they_are = pool.map(lambda k: run(args, *k, changed=False), unchanged)
        for (kernel, _, ops), verdict in zip(unchanged, as_they_are):
            if verdict != "survived":
                sys.exit(f"{kernel}: {', '.join(ops)} fail with the kernel as it is")
        print("all operators pass with the kernels as they are", flush=True)
        started = time.monotonic()
        results = {pool.submit(run, args, kernel, mutant, ops, args.timeout): (kernel, line, what)
                   for kernel, line, what, mutant, ops in jobs}
        for future in concurrent.futures.as_completed(results):
            kernel, line, what = results[future]
            verdict = future.result()
            counts.setdefault(kernel, []).append(verdict)
            print(f"{verdict:9} {kernel}:{line}: {what}", flush=True)
    print(f"\n{'kernel':28} caught survived invalid")
    for kernel, verdicts in sorted(counts.items()):
        print(f"{kernel:28} {verdicts.count('caught'):6} {verdicts.count('survived'):8} {verdicts.count('invalid'):7}")
    every = [v for verdicts in counts.values() for v in verdicts]
    caught, survived = every.count("caught"), every.count("survived")
    share = 100 * caught / max(caught + survived, 1)
    print(f"{caught} of {caught + survived} mutants caught: {share:.1f} % in {time.monotonic() - started:.0f} s")
    if caught + survived == 0:
        sys.exit("no mutant was run")
    if share < args.minimum:
        sys.exit(f"less than {args.minimum:g} %")


if __name__ == "__main__":
    main()
