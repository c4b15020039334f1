#!/usr/bin/env python3
"""Test cases of operators are not in the library that is shipped.

check_no_cases.py <source folder> <folder for a build> configures the release preset there, builds a few objects of
the shared library, and looks at their symbols.
"""
import pathlib, re, subprocess, sys

# Cases in the definition, and in the rows of point-wise ops.
FILES = ("softmax.cc", "activations.cc")
CASES = re.compile(r"\bCases\(|CaseMaker|CaseBuilder|CaseTensor|StandardTypes")


def run(command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode:
        sys.exit(f"{command}\n{done.stdout}")
    return done.stdout


def main(source, build):
    run(["cmake", "--preset", "release", "-S", source, "-B", build], cwd=source)
    link = re.search(r"^build src/libtimcl\.so\S* .*$", (build / "build.ninja").read_text(), re.M)[0]
    objects = [o for o in link.split() if o.endswith(tuple(f"/ops/{f}.o" for f in FILES))]
    bad = len(objects) != len(FILES)
    print("objects of the library:", *objects)
    for name in objects:
        run(["cmake", "--build", build, "--target", name])
        found = [s for s in run(["nm", "-C", build / name]).splitlines() if CASES.search(s)]
        print(f"{name}: {len(found)} symbols of test cases")
        print(*found[:5], sep="\n")
        bad |= bool(found)
    return bad


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])))
