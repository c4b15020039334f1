#!/usr/bin/env python3
"""Listings of CONTRIBUTING.md and other pages are verbatim in files that the build compiles or that tests run.

check_contributing.py [root] prints each listing that is not; --self-test tries it on made-up files.
A listing names its file behind the language: ```cpp src/ops/cumsum.cc. Commands (```sh) have none.
"""
import pathlib, re, sys, tempfile

LISTING = re.compile(r"^```(\w*)[ ]?(\S*)\n(.*?)^```$", re.M | re.S)


PAGES = ("CONTRIBUTING.md", "custom_ops/README.md", "docs/composed.md", "docs/delegates.md",
         "docs/onednn.md", "docs/plugins.md", "docs/vendors.md", "docs/backends.md")


def check(root):
    return [violation for page in PAGES for violation in check_page(root, page)]


def check_page(root, name):
    text = (root / name).read_text("utf-8")
    violations = [f"{name}:{number}: an indented listing, which is not looked at"
                  for number, line in enumerate(text.splitlines(), 1) if re.match(r"\s+```", line)]
    for match in LISTING.finditer(text):
        language, file, body = match.groups()
        where = f"{name}:{text.count(chr(10), 0, match.start()) + 1}"
        if language == "sh" and not file:
            continue
        if not file or not (root / file).is_file():
            violations.append(f"{where}: the listing names no file of the project")
        # Whole lines.
        elif "\n" + body not in "\n" + (root / file).read_text("utf-8"):
            violations.append(f"{where}: this is not in {file}, or no longer in this form")
    return violations


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "a.cc").write_text("int a;\nint b;\nint c;\n")
        listing = lambda head, body: f"Text\n\n```{head}\n{body}```\n\n"
        good = [("cpp a.cc", "int a;\n"), ("cpp a.cc", "int b;\nint c;\n"), ("sh", "make\n")]
        bad = [("cpp a.cc", "int a;\nint c;\n"), ("cpp a.cc", "int d;\n"), ("cpp a.cc", "nt a;\n"),
               ("cpp", "int a;\n"), ("cpp b.cc", "int a;\n"), ("sh a.cc", "make\n")]
        for listings, want in ((good, 0), (bad, len(bad)), (good + bad, len(bad))):
            for page in PAGES:
                for other in PAGES:
                    (root / other).parent.mkdir(exist_ok=True)
                    (root / other).write_text("")
                (root / page).write_text("".join(listing(*l) for l in listings))
                got = check(root)
                assert len(got) == want, f"self-test: {want} faults expected: {got}"
        (root / PAGES[0]).write_text("- item\n\n  ```cpp\n  int d;\n  ```\n")
        for page in PAGES[1:]:
            (root / page).write_text("")
        assert len(check(root)) == 2, "self-test: both fences of an indented listing"


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        sys.exit(0)
    top = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2])
    found = check(top)
    print("\n".join(found) if found else "listings: all in order")
    sys.exit(bool(found))
