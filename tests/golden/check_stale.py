#!/usr/bin/env python3
"""Golden files are those that their scripts would write: each names its generator, the versions of the packages that
computed its values, and a hash. A script or golden.py that changed after its files were written is an error.

The hash is the SHA-256 of golden.py followed by the script. check_stale.py [folder] prints what is wrong; --self-test
tries it on made-up files. JSON files without "cases" are none of this (lenet_digits_golden.json).
"""
import hashlib, json, pathlib, sys, tempfile

SHARED = "golden.py"


def digest(script):
    return hashlib.sha256(script.with_name(SHARED).read_bytes() + script.read_bytes()).hexdigest()


def check(folder):
    faults, written = [], set()
    for path in sorted(folder.glob("*.json")):
        file = json.loads(path.read_text("utf-8"))
        if "cases" not in file:
            continue
        missing = [key for key in ("generator", "sha256", "versions") if not file.get(key)]
        if missing:
            faults.append(f"{path.name}: names no {' and no '.join(missing)}")
            continue
        script = folder / file["generator"]
        written.add(script)
        if not script.is_file():
            faults.append(f"{path.name}: its generator {script.name} does not exist")
        elif file["sha256"] != digest(script):
            faults.append(f"{path.name}: {script.name} or {SHARED} changed after it was written; run {script.name} again")
    for script in sorted(set(folder.glob("*_golden.py")) - written):
        faults.append(f"{script.name}: no file names it as its generator")
    return faults


def self_test():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shared, script, golden = (folder / f for f in (SHARED, "a_golden.py", "a_golden.json"))

        def expect(*words):
            faults = check(folder)
            assert len(faults) == len(words) and all(w in f for w, f in zip(words, faults)), (words, faults)

        def write(**more):
            head = {"generator": script.name, "sha256": digest(script), "versions": {"numpy": "2"}, "cases": []}
            golden.write_text(json.dumps(dict(head, **more)))

        (folder / "other.json").write_text('{"testset": 1}')
        shared.write_text("one")
        script.write_text("two")
        expect("no file names it")
        write()
        expect()
        script.write_text("two, changed")
        expect("a_golden.py or golden.py changed")
        script.write_text("two")
        shared.write_text("one, changed")
        expect("a_golden.py or golden.py changed")
        write()
        expect()
        write(versions={}, sha256="")
        expect("names no sha256 and no versions", "no file names it")
        write(generator="b_golden.py")
        expect("b_golden.py does not exist", "a_golden.py: no file")


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        sys.exit(0)
    here = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
    found = check(here if here.is_dir() else here.parent)
    print("\n".join(found) if found else "golden files: all are as their scripts write them")
    sys.exit(bool(found))
