#!/usr/bin/env python3
"""custom_ops/README.md lists every folder of custom_ops with what the first line of its header says; each has a test.

check_custom_ops.py [root] prints what differs; --update [root] writes the list; --self-test tries it on made-up files.
"""
import pathlib, re, sys, tempfile

PAGE = "custom_ops/README.md"
# "// Hswish: what it does" of hswish/hswish.h.
FIRST_LINE = re.compile(r"// \w+: (.+)$")
LIST = re.compile(r"(^\| folder \| operator \|\n\|---\|---\|\n)((?:\|.*\n)*)", re.M)


def rows(root):
    """The rows of the list, and what is wrong with the headers."""
    made, faults = "", []
    for folder in sorted(p.parent for p in (root / "custom_ops").glob("*/CMakeLists.txt")):
        header = folder / (folder.name + ".h")
        first = header.read_text("utf-8").split("\n", 1)[0] if header.is_file() else ""
        match = FIRST_LINE.match(first)
        if match:
            made += f"| [`{folder.name}`]({folder.name}) | {match[1]} |\n"
        else:
            faults.append(f"{header.relative_to(root)}: the first line is not '// <Class>: <what it does>'")
        if not (root / "tests/custom" / (folder.name + "_test.cc")).is_file():
            faults.append(f"tests/custom/{folder.name}_test.cc is not there")
    return made, faults


def check(root, update=False):
    made, faults = rows(root)
    text = (root / PAGE).read_text("utf-8")
    lists = LIST.findall(text)
    if len(lists) != 1:
        return faults + [f"{PAGE}: {len(lists)} lists of folders, 1 expected"]
    if update:
        (root / PAGE).write_text(LIST.sub(lambda m: m[1] + made, text), "utf-8")
    elif lists[0][1] != made:
        faults.append(f"{PAGE}: the list of folders is not as check_custom_ops.py --update writes it:\n{made}")
    return faults


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        page = root / PAGE
        (root / "tests/custom").mkdir(parents=True)

        def add(name, first):
            (root / "custom_ops" / name).mkdir(parents=True)
            (root / "custom_ops" / name / "CMakeLists.txt").write_text("")
            (root / "custom_ops" / name / (name + ".h")).write_text(first + "\n")
            (root / "tests/custom" / (name + "_test.cc")).write_text("")

        add("b", "// B: does b.")
        page.write_text("# Page\n\n| folder | operator |\n|---|---|\n\nmore\n")
        assert len(check(root)) == 1, "a folder that is not listed"
        assert not check(root, update=True) and not check(root)
        assert page.read_text() == ("# Page\n\n| folder | operator |\n|---|---|\n"
                                    "| [`b`](b) | does b. |\n\nmore\n")
        add("a", "// A: does a.")
        assert len(check(root)) == 1, "a new folder"
        assert not check(root, update=True) and not check(root)
        page.write_text(page.read_text().replace("does a", "does c"))
        assert len(check(root)) == 1, "other words"
        page.write_text(page.read_text().replace("| [`a`](a) | does c. |\n", "| [`x`](x) | x |\n"))
        assert len(check(root)) == 1, "a folder that is not there"
        assert not check(root, update=True)
        add("c", "#ifndef C")
        assert len(check(root)) == 1, "a header that does not say what it is"
        (root / "tests/custom/b_test.cc").unlink()
        assert len(check(root)) == 2, "a folder without a test"
        page.write_text("# Page\n")
        assert len(check(root)) == 3, "no list"


if __name__ == "__main__":
    arguments = sys.argv[1:]
    if arguments == ["--self-test"]:
        self_test()
        sys.exit(0)
    writes = arguments[:1] == ["--update"]
    arguments = arguments[writes:]
    top = pathlib.Path(arguments[0] if arguments else pathlib.Path(__file__).parents[2])
    found = check(top, writes)
    print("\n".join(found) if found else "custom_ops: all in order")
    sys.exit(bool(found))
