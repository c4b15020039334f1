#!/usr/bin/env python3
"""What the shared library shows: its soname, the names it exports, what it needs, and its static initializers."""
import re
import subprocess
import sys

# Files whose static objects cannot be avoided, with the reason.
ALLOWED_INITIALIZERS = {
    "compile_option.cc": "CompileOption::DefaultOptions is a static object of the original API",
    "src/backends/opencl": "static members of OpenCL-CLHPP's classes",
}
ALLOWED_LIBRARIES = r"lib(OpenCL|fmt|stdc\+\+|m|gcc_s|c|asan|ubsan|tsan)\.so|ld-linux"


def run(*args):
    return subprocess.run(args, check=True, capture_output=True, text=True).stdout


def main(library, opencl_files):
    bad = []
    dynamic = run("readelf", "-dW", library)
    if "soname: [libtimcl.so.1]" not in dynamic:
        bad.append("the soname is not libtimcl.so.1")
    for name in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic):
        if not re.match(ALLOWED_LIBRARIES, name):
            bad.append(f"the library needs {name} at run time")
    exported = [line.split(" ", 2)[2] for line in run("nm", "-DC", "--defined-only", library).splitlines()]
    for name in exported:
        if not re.match(r"((vtable|VTT|typeinfo|typeinfo name) for )?tim::", name):
            bad.append(f"exported by accident: {name[:120]}")
        if re.match(r"tim::vx::(ir|compiler|runtime|opencl|base|kernels|reference)::", name):
            bad.append(f"internal name exported: {name[:120]}")
    for file in re.findall(r"_GLOBAL__sub_I_(\S+)", run("nm", library)):
        if file not in ALLOWED_INITIALIZERS and file not in opencl_files:
            bad.append(f"static initializer in {file}")
    print(f"{len(exported)} exported names")
    for line in bad[:20]:
        print("error:", line)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], set(sys.argv[2].split(","))))
