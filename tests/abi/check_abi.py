#!/usr/bin/env python3
"""What the shared library shows: its soname, the names it exports, what it needs, and its static initializers.

check_abi.py <libtimcl.so> compares the exported names with exports.txt, which is a file under review: what is listed there
is a promise until the soname changes. check_abi.py --update <libtimcl.so> writes it.
"""
import argparse
import collections
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
EXPORTS = SOURCE / "tests/abi/exports.txt"
# Files whose static objects cannot be avoided: CompileOption::DefaultOptions is one of the original API; OpenCL-CLHPP's
# classes have static members.
WITH_INITIALIZERS = {"compile_option.cc"} | {f.name for f in (SOURCE / "src/backends/opencl").rglob("*.cc")}
ALLOWED_LIBRARIES = r"lib(OpenCL|fmt|stdc\+\+|m|gcc_s|c|asan|ubsan|tsan)\.so|ld-linux"


def run(*args):
    return subprocess.run(args, check=True, capture_output=True, text=True).stdout


def readable(name):
    """A demangled name as one would write it: std::string, no allocators, no tim::vx:: in parameters."""
    name = name.replace("[abi:cxx11]", "").replace("std::__cxx11::", "std::")
    name = name.replace("std::basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string")
    name = name.replace("std::basic_string_view<char, std::char_traits<char> >", "std::string_view")
    while (at := re.search(r", std::(allocator|less)<", name)) is not None:
        end, depth = at.end(), 1
        while depth:
            depth += {"<": 1, ">": -1}.get(name[end], 0)
            end += 1
        name = name[:at.start()] + name[end:]
    return name.replace(" >", ">")


def split(name):
    """(class or namespace, member) of a readable name."""
    special = re.match(r"(vtable|VTT|typeinfo)(?: name)? for (.*)", name)
    if special:
        return special[2], special[1]
    scope, end, depth = 0, 0, 0  # the member's own name is behind the last :: in front of the parameters
    while end < len(name) and (depth or name[end] != "("):
        depth += {"<": 1, ">": -1}.get(name[end], 0)
        if name.startswith("operator", end):
            break
        if not depth and name.startswith("::", end):
            scope = end
        end += 1
    return name[:scope], name[scope + 2:].replace("tim::vx::", "")


def exported(library):
    """Names by class. Weak functions are left out: whether a template or an inline function of a header is in the library
    depends on the compiler, and users have their own."""
    names = collections.defaultdict(set)
    for line in run("nm", "-DC", "--defined-only", library).splitlines():
        _, kind, name = line.split(" ", 2)
        if kind != "W":
            scope, member = split(readable(name))
            names[scope].add(member)
    return names


def text(names):
    lines = ["# Names that libtimcl.so exports, by class or namespace; what programs and plugins may link with.",
             "# Written by tests/abi/check_abi.py --update <libtimcl.so>. A name that goes away breaks programs: see the test."]
    tables = ("vtable", "VTT", "typeinfo")
    for scope in sorted(names):
        marks = [t for t in tables if t in names[scope]]
        lines.append(f"{scope}" + (f"  [{', '.join(marks)}]" if marks else ""))
        lines += [f"  {member}" for member in sorted(names[scope]) if member not in tables]
    return "\n".join(lines) + "\n"


def flat(listing):
    """Lines of the listing with their class in front, so that they can be compared as a set."""
    scope, found = "", set()
    for line in listing.splitlines():
        if line.startswith("#"):
            continue
        if line.startswith("  "):
            found.add(f"{scope}::{line.strip()}")
        else:
            scope, _, marks = line.partition("  ")
            found |= {f"{mark} for {scope}" for mark in marks.strip("[]").split(", ") if mark}
    return found


def compare(library, listing):
    now, then = flat(text(exported(library))), flat(listing)
    bad = [f"gone from the library: {name}" for name in sorted(then - now)]
    bad += [f"not in the list: {name}" for name in sorted(now - then)]
    if bad:
        bad.append("exports.txt differs. A name that is gone breaks programs linked with this soname: bring it back, or raise "
                   "the major version. A new name is a promise. Where it is meant so: "
                   f"tests/abi/check_abi.py --update {library}, and commit tests/abi/exports.txt")
    return bad


def check(library):
    bad = []
    dynamic = run("readelf", "-dW", library)
    if "soname: [libtimcl.so.1]" not in dynamic:
        bad.append("the soname is not libtimcl.so.1")
    for name in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic):
        if not re.match(ALLOWED_LIBRARIES, name):
            bad.append(f"the library needs {name} at run time")
    names = exported(library)
    for scope in names:
        if not re.match(r"tim::", scope):
            bad.append(f"exported by accident: {scope}::{sorted(names[scope])[0]}")
        if re.match(r"tim::vx::(ir|compiler|runtime|opencl|base|kernels|reference|delegate)\b", scope):
            bad.append(f"internal name exported: {scope}::{sorted(names[scope])[0]}")
    for file in re.findall(r"_GLOBAL__sub_I_(\S+)", run("nm", library)):
        if file not in WITH_INITIALIZERS:
            bad.append(f"static initializer in {file}")
    print(f"{sum(map(len, names.values()))} exported names of {len(names)} classes and namespaces")
    return bad + compare(library, EXPORTS.read_text())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--update", action="store_true")
    parser.add_argument("library")
    args = parser.parse_args()
    if args.update:
        EXPORTS.write_text(text(exported(args.library)))
    bad = check(args.library)
    for line in bad[:40] + bad[40:][-1:]:
        print("error:", line)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
