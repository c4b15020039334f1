#!/usr/bin/env python3
"""Every operator of the original API is here: tests/api/op_index.txt lists its headers and their classes.

check_op_index.py [root] prints what is missing: a header of the list, a class in its header (or its other name), a pin of the
class in tests/api/pin_constructors.cc; and headers that the list does not know. --self-test tries it on a made-up tree.
"""
import pathlib, re, sys, tempfile


def read_index(text):
    """{header: (classes, other names)}"""
    index = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            header, names = line.split(":", 1)
            other = re.findall(r"\((\w+)\)", names)
            index[header] = (re.sub(r"\(\w+\)", "", names).split(), other)
    return index


def check(root):
    index = read_index((root / "tests/api/op_index.txt").read_text("utf-8"))
    pins = (root / "tests/api/pin_constructors.cc").read_text("utf-8")
    missing = []
    for header, (classes, other) in sorted(index.items()):
        path = root / "include/tim/vx/ops" / header
        if not path.is_file():
            missing.append(f"{header} does not exist")
            continue
        text = path.read_text("utf-8")
        for name in classes:
            if not re.search(rf"^class (?:TIMCL_API )?{name} : public ", text, re.M):
                missing.append(f"{header} has no class {name}")
            if not re.search(rf"static_assert\([^;]*\bops::{name}\b", pins):
                missing.append(f"{name} of {header} is not in pin_constructors.cc")
        for name in other:
            if not re.search(rf"^using {name} = ", text, re.M):
                missing.append(f"{header} has no other name {name}")
    here = {path.name for path in (root / "include/tim/vx/ops").glob("*.h")}
    missing += [f"{name} is not in op_index.txt" for name in sorted(here - index.keys())]
    return missing


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "tests/api").mkdir(parents=True)
        ops = root / "include/tim/vx/ops"
        ops.mkdir(parents=True)
        (root / "tests/api/op_index.txt").write_text("# list\na.h: One Two (Other)\nb.h: Three\nc.h: Four\n")
        (root / "tests/api/pin_constructors.cc").write_text(
            "static_assert(kOperator<ops::One, BuiltinOp>);\nstatic_assert(kOperator<ops::Three, Operation>);\n"
            "// ops::Two\n")
        (ops / "a.h").write_text("class TIMCL_API One : public BuiltinOp {\n};\nclass TIMCL_API TwoTwo : public BuiltinOp {\n};\n")
        (ops / "b.h").write_text("class Three : public Operation {\n};\n")
        (ops / "d.h").write_text("")
        expected = ["a.h has no class Two", "Two of a.h is not in pin_constructors.cc", "a.h has no other name Other",
                    "c.h does not exist", "d.h is not in op_index.txt"]
        assert check(root) == expected, check(root)
    print("self-test: ok")


if __name__ == "__main__":
    if "--self-test" in sys.argv:
        self_test()
        sys.exit(0)
    found = check(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    print("\n".join(found) if found else "operator index: nothing is missing")
    sys.exit(1 if found else 0)
