#!/usr/bin/env python3
"""Who may include whom: the rooms of src/ form one direction, and public headers stand alone.

check_includes.py [root] prints each violation as file:line; --self-test tries it on a made-up tree.
"""
import pathlib, re, sys, tempfile

# Left to right; a room includes itself and what stands before it.
ROOMS = ("base ir ref kernels ops runtime compiler transform backends binary tflite api tools").split()
# src/ops/*.cc files that may include more than public headers: {"src/ops/x.cc": ("header", "reason")}
OPS_EXCEPTIONS = {}
# Libraries that a header of include/compat passes on to, where they are installed.
PASSED_ON = {"half/half.hpp"}
C_HEADERS = set("assert ctype errno float inttypes limits math stdarg stdbool stddef stdint stdio "
                "stdlib string time".split())
INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')


def is_standard(quote, name):
    return quote == "<" and (re.fullmatch(r"\w+", name) or name.removesuffix(".h") in C_HEADERS)


def fault(root, file, quote, name):
    """Why `file` must not include `name`; None if it may."""
    path = file.relative_to(root)
    public = name.startswith(("tim/", "compat/")) or (root / "include/compat" / name).is_file()
    if is_standard(quote, name):
        return None
    if path.parts[0] == "include":
        beside = path.parts[1] == "compat" and (public or name in PASSED_ON)
        return None if name.startswith("tim/") or beside else \
            "a public header includes only the standard library and tim/..."
    if path.parts[1] == "ops" and path.suffix == ".cc":
        allowed = public or name in OPS_EXCEPTIONS.get(path.as_posix(), ())
        return None if allowed else "an op file includes only public headers and the standard library"
    if public or quote == "<":
        return None
    if path.parts[1] == "delegates":
        return None if (file.parent / name).is_file() else \
            "a delegate is an application: public headers, other libraries and its own folder"
    beside = (file.parent / name).resolve()
    if beside.is_file() and beside.is_relative_to(root / "src"):
        to = beside.relative_to(root / "src").parts
    else:
        to = pathlib.PurePath(name).parts
    own = path.parts[1:]
    if len(to) == 1:  # generated, or not there: the compiler will tell
        return None
    if to[0] not in ROOMS or own[0] not in ROOMS:
        return f"neither a public header nor in one of the rooms {' '.join(ROOMS)}"
    if ROOMS.index(to[0]) > ROOMS.index(own[0]):
        return f"{own[0]} stands before {to[0]}: only what stands before a room may be included"
    if (own[0], to[0]) == ("compiler", "ops"):
        return "the compiler knows ops only as OpDef"
    if own[0] == to[0] == "backends" and len(to) > 2 and own[1] != to[1]:
        return "no backend includes another"
    if own[0] == "backends" and to[0] == "ir":
        return "a backend knows graphs by tim/vx/backend.h, as plugins do"
    if own[:3] == ("backends", "opencl", "run") and to[:3] == ("backends", "opencl", "compile"):
        return "the run half links without the compile half"
    return None


def check(root):
    violations = []
    for folder in ("include", "src"):
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in (".h", ".hpp", ".inc", ".cc") or file.parts[-2] == "cmake":
                continue
            for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
                if match := INCLUDE.match(line):
                    if why := fault(root, file, *match.groups()):
                        where = file.relative_to(root).as_posix()
                        violations.append(f"{where}:{number}: {match[2]}: {why}")
    return violations


def self_test():
    good = {  # each line of these is allowed
        "include/tim/vx/a.h": '#include <vector>\n#include <stdint.h>\n#include "tim/vx/b.h"',
        "include/compat/c.h": '#include "tim/vx/a.h"\n#include "compat/d.h"',
        "include/compat/half.hpp": "#include <half/half.hpp>",
        "src/base/x.h": '#include <fmt/format.h>\n#include "tim/vx/a.h"',
        "src/ops/add.cc": '#include "tim/vx/a.h"\n#include <cmath>',
        "src/compiler/p.cc": '#include "compiler/q.h"\n#include "q.h"\n#include "ir/g.h"\n#include "c.h"',
        "src/compiler/q.h": "",
        "src/backends/opencl/run/r.cc": '#include "backends/opencl/run/s.h"\n#include "runtime/t.h"',
        "src/delegates/d/d.cc": '#include <dnnl.hpp>\n#include "tim/vx/a.h"\n#include "own.h"',
        "src/delegates/d/own.h": "",
        "src/api/a.cc": '#include "backends/opencl/run/s.h"\n# include "ops/o.h"',
    }
    bad = {  # each line of these is a violation
        "include/tim/vx/bad.h": '#include "base/x.h"\n#include <CL/cl.h>\n#include <fmt/format.h>\n'
                                '#include "compat/c.h"\n#include <half/half.hpp>',
        "src/base/y.cc": '#include "ir/g.h"\n#include "../compiler/q.h"\n#include "gtest/gtest.h"',
        "src/ops/sub.cc": '#include "base/x.h"\n#include <fmt/format.h>\n#include "local.h"',
        "src/compiler/r.cc": '#include "ops/o.h"\n#include "backends/opencl/run/s.h"',
        "src/backends/reference/r.cc": '#include "backends/opencl/run/s.h"\n#include "api/a.h"',
        "src/backends/opencl/run/u.cc": '#include "backends/opencl/compile/v.h"',
        "src/backends/opencl/run/v.cc": '#include "binary/b.h"',
        "src/backends/reference/i.cc": '#include "ir/g.h"',
        "src/delegates/d/e.cc": '#include "base/x.h"\n#include "delegates/d/own.h"',
        "src/elsewhere/e.cc": '#include "base/x.h"',
    }
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder).resolve()
        for name, text in {**good, **bad}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text + "\n")
        want = [f"{name}:{n}" for name, text in sorted(bad.items())
                for n in range(1, text.count("\n") + 2)]
        got = sorted(line.split(": ")[0] for line in check(root))
    assert got == sorted(want), f"self-test: {set(got) ^ set(want)}"


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        sys.exit(0)
    top = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2])
    if not (top / "src").is_dir():
        sys.exit(f"{top}: no src/ here")
    found = check(top.resolve())
    print("\n".join(found) if found else "includes: all in order")
    sys.exit(bool(found))
