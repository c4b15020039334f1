#!/usr/bin/env python3
"""Calls the timcl command and checks its exit status and its words: tool_test.py <timcl> <check>.

coverage also takes conformance_test and golden_test, which write what the command shows."""
import json, os, pathlib, shutil, subprocess, sys, tempfile, xml.dom.minidom

tool = sys.argv[1]


def call(*args, **env):
    clean = {k: v for k, v in os.environ.items() if k not in ("TIMCL_DEVICE", "OCL_ICD_VENDORS")}
    done = subprocess.run([tool, *args], env={**clean, **env}, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def has(text, *words):
    for word in words:
        assert word in text, f"'{word}' is not in:\n{text}"


def usage():
    code, out, _ = call("--help")
    assert code == 0
    has(out, "devices", "ops")
    code, _, err = call()
    assert code == 1
    has(err, "subcommand")
    code, _, err = call("ops", "--format=xml")
    assert code == 1
    has(err, "xml")
    code, out, _ = call("--version")
    assert code == 0 and out.strip()[0].isdigit(), out


def devices():
    code, out, _ = call("devices")
    assert code == 0
    has(out, "platform", "OpenCL", "chosen: the first", "is used")
    code, out, _ = call("devices", "--format=json")
    listed = json.loads(out)
    assert code == 0 and listed["error"] == ""
    assert sum(d["chosen"] for d in listed["devices"]) == 1, listed
    assert all(d["verdict"] for d in listed["devices"]), listed
    assert all(d["max_allocation"] > 0 for d in listed["devices"] if d["usable"]), listed
    index = next(d["index"] for d in listed["devices"] if d["chosen"])
    code, out, _ = call("devices", TIMCL_DEVICE=str(index))
    assert code == 0
    has(out, f"'{index}' was requested", "by TIMCL_DEVICE")
    code, _, err = call("devices", "--device=no such device")
    assert code == 1
    has(err, "kDevice", "no such device", listed["devices"][0]["name"])
    code, out, _ = call("devices", TIMCL_DEVICE="reference")
    assert code == 0
    has(out, "reference backend")


def no_device():
    code, out, err = call("devices", OCL_ICD_VENDORS="/nonexistent")
    assert code == 1 and out == "", out
    has(err, "kDevice", "/nonexistent", "pocl-opencl-icd", "reference backend")
    code, out, _ = call("devices", "--format=json", OCL_ICD_VENDORS="/nonexistent")
    assert code == 1 and json.loads(out)["devices"] == []


def ops():
    code, out, _ = call("ops", OCL_ICD_VENDORS="/nonexistent")
    assert code == 0
    has(out, "Relu: input -> output", "tolerance", "operators")
    code, out, _ = call("ops", "--format=json")
    table = {op["name"]: op for op in json.loads(out)}
    assert code == 0 and len(table) >= 30, sorted(table)
    assert list(table) == sorted(table)
    assert table["Add"]["inputs"].split() == ["input0", "input1"] or len(table["Add"]["inputs"].split()) == 2
    assert isinstance(table["Relu"]["pointwise"], str)
    assert table["LeakyRelu"]["attributes"] != "", table["LeakyRelu"]
    has(table["Pool2d"]["attributes"], 'type="MAX"', 'padding="AUTO"')  # enumerators by name
    include = pathlib.Path(__file__).resolve().parents[2] / "include"
    waiting = [name for name, op in table.items() if op["waits_for"]]
    assert waiting == ["NBG"] and "binary graphs" in table["NBG"]["waits_for"] and not table["NBG"]["forms"], waiting
    aliases = {name: op["alias_of"] for name, op in table.items() if op["alias_of"]}
    assert aliases == {"LRN": "LocalResponseNormalization", "ROI_Align": "RoiAlign", "ROI_Pool": "RoiPool"}, aliases
    assert table["LRN"]["dtypes"] == table["LocalResponseNormalization"]["dtypes"]
    assert len(table) == 146, sorted(table)  # the classes that programs written for the original know
    for name, op in table.items():
        assert f"class TIMCL_API {op['alias_of'] or name} " in (include / op["header"]).read_text(), op
        assert op["layouts"], op
        if op["waits_for"]:
            continue
        assert {"kernel", "expanded"} & set(op["forms"]), op  # nothing in the table that cannot run
        assert set(op["forms"]) <= {"kernel", "expanded", "reference"}, op
        assert op["dtypes"], op
    assert table["CumSum"]["header"] == "tim/vx/ops/cumsum.h" and table["CumSum"]["layouts"] == "any; axis is rewritten"
    assert table["LogicalAnd"]["dtypes"] == ["bool", "i8"] and "f16" in table["Conv2d"]["dtypes"]
    assert table["RNNCell"]["forms"] == ["expanded", "reference"], table["RNNCell"]


def listed(*args, command=tool):
    done = subprocess.run([command, "ops", "--format=json", *args], capture_output=True, text=True, check=True)
    return {op["name"]: op for op in json.loads(done.stdout)}


def coverage():
    conformance, golden = sys.argv[3:]
    with tempfile.TemporaryDirectory() as top:
        folder = pathlib.Path(top) / "notes"
        code, _, err = call("ops", "--coverage", str(folder))
        assert code == 1
        has(err, "no coverage files", str(folder))

        # A command in no build tree knows no figures, and makes none up.
        alone = pathlib.Path(top) / "bin" / "timcl"
        alone.parent.mkdir()
        shutil.copy(tool, alone)
        for op in listed(command=str(alone)).values():
            assert op["conformance_cases"] is None and op["golden_cases"] is None and op["coverage"] is None, op

        # What conformance_test ran is what the command shows, and nothing for what it did not run.
        env = {**os.environ, "TIMCL_CACHE_DIR": "", "TIMCL_LOG": "error"}
        ran = subprocess.run([conformance, "--quick", "--ops=Relu,Concat", "--coverage", str(folder)], env=env,
                             stdout=subprocess.PIPE, text=True, check=False)
        assert ran.returncode == 0, ran.stdout
        lines = subprocess.run([conformance, "--list", "--ops=Relu"], stdout=subprocess.PIPE, text=True, check=True).stdout
        table = listed("--coverage", str(folder))
        assert 1 < table["Relu"]["conformance_cases"] <= len(lines.splitlines()), table["Relu"]
        assert table["Concat"]["conformance_cases"] > 1
        assert table["Add"]["conformance_cases"] == 0 and table["Add"]["coverage"] == []
        assert table["Relu"]["golden_cases"] is None  # no golden test left a note
        rows = table["Relu"]["coverage"]
        assert {row["by"] for row in rows} <= set(table["Relu"]["kernels"]), rows
        assert any(row["types"] == "f32 -> f32" for row in rows), rows

        # Another test that ran the same cases adds none.
        once = table["Relu"]["conformance_cases"]
        shutil.copy(folder / "conformance.Relu.quick.json", folder / "conformance.Relu.again.json")
        assert listed("--coverage", str(folder))["Relu"]["conformance_cases"] == once

        # A case that failed somewhere does not count.
        file = folder / "conformance.Relu.again.json"
        notes = json.loads(file.read_text())
        failed = notes["runs"][0]["case"]
        for run in notes["runs"]:
            run["passed"] = run["case"] != failed
        file.write_text(json.dumps(notes))
        assert listed("--coverage", str(folder))["Relu"]["conformance_cases"] == once - 1

        ran = subprocess.run([golden, "--coverage", str(folder)], stdout=subprocess.PIPE, text=True, check=False)
        assert ran.returncode == 0, ran.stdout
        table = listed("--coverage", str(folder))
        # NBG waits for binary graphs; the operators of users are noted by a test of their own.
        assert [op["name"] for op in table.values() if op["golden_cases"] == 0] == ["CustomOpBase", "NBG"]
        assert table["Concat"]["conformance_cases"] > 1
        code, out, _ = call("ops", "--coverage", str(folder))
        assert code == 0
        has(out, f"{once - 1} conformance cases, {table['Relu']['golden_cases']} golden cases")
        assert not [f for f in folder.iterdir() if f.suffix != ".json"], "an unfinished file is left"

        for text in ("{", "[]", '{"kind": "conformance", "runs": [{"op": "Relu"}]}'):
            (folder / "conformance.Zzz.json").write_text(text)
            code, _, err = call("ops", "--coverage", str(folder))
            assert code == 1
            has(err, "conformance.Zzz.json", "not a coverage file")


def cache():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        ours, pocl = root / "ours", root / "pocl"
        env = {"TIMCL_CACHE_DIR": str(ours), "POCL_CACHE_DIR": str(pocl)}
        for what in ("list", "verify", "clear"):  # nothing there is nothing wrong
            code, out, _ = call("cache", what, **env)
            assert code == 0, out
            has(out, str(ours), str(pocl), " 0 ")
        ours.mkdir(mode=0o700)
        damaged = ours / ("0" * 32 + ".bin")
        damaged.write_bytes(b"no program")
        damaged.chmod(0o600)
        program = pocl / "AB" / "CDEFGH"
        (program / "kernel" / "0-0-0").mkdir(parents=True)
        (program / "program.bc").write_bytes(b"x" * 3000)
        library = program / "kernel" / "0-0-0" / "kernel.so"
        library.write_bytes(b"y" * 1096)
        (pocl / "of_another").write_text("stays")
        for path in (program / "program.bc", library):
            path.chmod(0o600)
        code, out, _ = call("cache", "list", **env)
        assert code == 0
        has(out, "1 programs", "not used: damaged", "AB/CDEFGH", "4 KiB", "2 files")
        code, out, _ = call("cache", "list", "--of=pocl", **env)
        assert code == 0 and "timcl" not in out, out
        code, out, err = call("cache", "verify", **env)
        assert code == 1
        has(out, "damaged")
        has(err, "1 cannot be used")
        assert call("cache", "verify", "--of=pocl", **env)[0] == 0
        library.chmod(0o666)
        code, out, _ = call("cache", "verify", "--of=pocl", **env)
        assert code == 1
        has(out, "kernel.so: others may write it")
        code, out, _ = call("cache", "clear", **env)
        assert code == 0
        has(out, "1 files removed", "1 programs removed")
        assert list(ours.iterdir()) == [] and list(pocl.iterdir()) == [pocl / "of_another"]
    code, _, err = call("cache")
    assert code != 0
    has(err, "subcommand")


GRAPH = """%0 = input "x" f32[4]
%1 = constant "w" f32[4] elided
%2 = Add#1 "first"(%0, %1) : f32[4]
%3 = Abs#2(%2) : f32[4] "mid"
%4 = Relu#3(%3) : output f32[4] "y"
"""


def partition():
    def divide(*args, graph=GRAPH, **env):
        clean = {k: v for k, v in os.environ.items()
                 if k not in ("TIMCL_DEVICE", "TIMCL_PLUGIN_PATH", "OCL_ICD_VENDORS")}
        done = subprocess.run([tool, "partition", "-", *args], env={**clean, **env}, input=graph, capture_output=True,
                              text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    code, out, err = divide()
    assert code == 0, err
    has(out, "partition 0: opencl, 3 ops\n", "  in:  'x' f32[4], 16 bytes\n", "    Add#1 'first': first choice\n",
        "  out: 'y' f32[4], 16 bytes\n", "opencl: 3 ops in 1 partition\n", "reference: 0 ops in 0 partitions\n")
    has(err, "note: the data of 1 constant was elided in the text: zeros stand for it")

    code, out, _ = divide("--pin", "first=reference", "--exclude=Relu=opencl", "--fallback=forbid")
    assert code == 0
    has(out, "partition 0: reference, 1 op\n", "partition 1: opencl, 1 op\n", "  in:  %2 f32[4], 16 bytes\n",
        "    Add#1 'first': pinned\n      refused: opencl: pinned to 'reference'\n", "  out: 'mid' f32[4], 16 bytes\n",
        "    Relu#3: opencl: the options exclude 'Relu' from it\n")
    for strategy, count in (("convex", 1), ("order", 1), ("op", 3)):
        code, out, _ = divide("--strategy", strategy, "--format=json", "--option=*.key=a.b=c")
        report = json.loads(out)
        assert code == 0 and len(report["parts"]) == count, report
        assert [op["backend"] for op in report["ops"]] == ["opencl"] * 3, report
    code, out, _ = divide(TIMCL_DEVICE="reference")
    assert code == 0 and "partition 0: reference, 3 ops" in out, out
    code, out, _ = divide("--device=reference", "--min-ops=9", "--max-partitions=1")  # of others' backends only
    assert code == 0 and "partition 0: reference, 3 ops" in out, out

    with tempfile.TemporaryDirectory() as top:
        file, drawing = pathlib.Path(top) / "graph.txt", pathlib.Path(top) / "graph.dot"
        file.write_text(GRAPH)
        code, out, err = call("partition", str(file), "--format=dot", "-o", str(drawing))
        assert code == 0 and out == "", out + err
        has(drawing.read_text(), "digraph", 'label="opencl 0"', "fillcolor", "cluster_legend")
        if shutil.which("dot"):
            subprocess.run(["dot", "-Tsvg", str(drawing), "-o", os.devnull], check=True)
        for bad, words in ((str(file) + ".not", "No such file"), (top, "Is a directory")):
            code, _, err = call("partition", bad)
            assert code == 6, err
            has(err, "cannot be read", words)
        code, _, err = call("partition", str(file), "-o", top)
        assert code == 6 and "cannot be written" in err, err

    for args, want, words in (
            (["--pin", "first"], 1, ["--pin 'first' is not of the form OP=BACKEND"]),
            (["--exclude", "=opencl"], 1, ["--exclude '=opencl'"]),
            (["--option", "opencl=3"], 1, ["BACKEND.KEY=VALUE"]),
            (["--option", "tpu.key=3"], 1, ["--option for backend 'tpu'", "opencl, reference"]),
            (["--strategy", "random"], 1, ["random"]),
            (["--no-such-option"], 1, ["--no-such-option"]),
            (["--device", "no such device"], 1, ["no such device"]),
            (["--pin", "first=tpu"], 3, ["Add#1 'first': it is pinned to backend 'tpu'; there are: opencl, reference"]),
            (["--exclude", "first=tpu"], 3, ["excluded from backend 'tpu'"]),
            (["--vendor", "Nobody"], 3, ["the target's vendor is 'Nobody'"]),
            (["--plugins", "/nonexistent"], 3, ["/nonexistent", "cannot be read"]),
            (["--exclude", "first=opencl", "--exclude", "first=reference"], 4,
             ["no backend runs 1 of 3 ops", "opencl: the options exclude 'first' from it"]),
            (["--pin", "first=opencl", "--exclude", "Add=opencl"], 4, ["as 'first'", "as 'Add'"])):
        code, out, err = divide(*args)
        assert code == want and out == "", (args, code, out, err)
        has(err, *words)
    for graph, words in (("", ["no operations"]), ("%0 = what\n", ["graph text, line 1"]),
                         (GRAPH.replace("f32[4] elided", "f32[3] elided"), ["Add#1 'first'", "do not broadcast"]),
                         (GRAPH.replace("Abs", "Abz"), ["no op of the kind", "Abz"])):
        code, out, err = divide(graph=graph)
        assert code == 2 and out == "", (graph, code, err)
        has(err, *words)


def profile():
    with tempfile.TemporaryDirectory() as top:
        file, trace, dump = (pathlib.Path(top) / name for name in ("graph.txt", "trace.json", "dump"))
        file.write_text(GRAPH)
        code, out, err = call("profile", str(file), "--runs=2", "--trace", str(trace), TIMCL_DUMP=str(dump))
        assert code == 0, err
        has(out, "kernel", "tile", "roofline", "Add#1 'first'", "2 runs of", "limits of opencl: ", "GB/s beyond")
        events = json.loads(trace.read_text())
        names = [e["name"] for e in events]
        assert "Run" in names and "prepare" in names and any(n.startswith("Add#1 'first'") for n in names), names
        for picture in ("built.dot", "built.svg", "graph.dot", "graph.svg"):
            text = (dump / picture).read_text()
            has(text, "Add#1", "Relu#3")
            if picture.endswith(".svg"):
                xml.dom.minidom.parseString(text)
        has((dump / "graph.svg").read_text(), "opencl")

        code, out, err = call("profile", str(file), "--runs=1", "--format=json", "--device=reference")
        assert code == 0, err
        table = json.loads(out)
        assert table["runs"] == 1 and len(table["ops"]) == 3, table
        assert [op["kernel"] for op in table["ops"]] == ["reference"] * 3, table
        for args, want, words in ((["--runs=0"], 1, ["--runs"]), (["--trace", top], 6, ["cannot be written"]),
                                  (["-o", top], 6, ["cannot be written"])):
            code, _, err = call("profile", str(file), *args)
            assert code == want, (args, code, err)
            has(err, *words)
        file.write_text(GRAPH.replace("Abs", "Abz"))
        code, _, err = call("profile", str(file))
        assert code == 2, err
        has(err, "timcl profile: ", "no op of the kind")


def tune():
    # A product of matrices that several kernels can do.
    graph = """%0 = input "x" f32[64,48]
%1 = constant f32[32,64] elided
%2 = Matmul#1 "product"(%0, %1) {} : output f32[32,48] "y"
"""
    with tempfile.TemporaryDirectory() as top:
        file, cache = pathlib.Path(top) / "graph.txt", pathlib.Path(top) / "cache"
        file.write_text(graph)
        cache.mkdir()
        code, out, err = call("tune", str(file), "--runs=1", TIMCL_CACHE_DIR=str(cache))
        assert code == 0, err
        (kept,) = cache.glob("tuning_*.json")
        has(out, "fastest", "Matmul(", f"1 operation kept in {kept}")
        assert "\r" not in err, err  # progress is for terminals
        tuned = json.loads(kept.read_text())
        ((signature, times),) = tuned["kernels_ms"].items()
        assert times and all(ms > 0 for ms in times.values()), times
        if len(times) == 1:
            print(f"the rest is skipped: on this device only one kernel takes the product: {times}")
            return

        def used(times, *args):
            tuned["kernels_ms"] = {signature: times}
            kept.write_text(json.dumps(tuned))
            code, out, err = call("profile", str(file), "--runs=1", "--format=json", *args, TIMCL_CACHE_DIR=str(cache))
            assert code == 0, err
            (op,) = json.loads(out)["ops"]
            return op["kernel"] + " " + op["tile"]

        by_time = {name: used({name: 1.0}) for name in times}
        assert len(set(by_time.values())) > 1, by_time
        other = next(name for name in times if by_time[name] != used({}))
        assert used({other: 1.0}) == by_time[other]
        assert used({other: 1.0}, "--option=opencl.tuning=off") == used({})
        # One that does not fit is no reason to fail, unless it was named.
        tuned["driver"] = "of yesterday"
        assert used({other: 1.0}) == used({})
        code, _, err = call("profile", str(file), "--runs=1", f"--option=opencl.tuning={kept}")
        assert code == 4, err
        has(err, "kVersionMismatch", "of yesterday", "timcl tune")


{"usage": usage, "partition": partition, "cache": cache, "profile": profile, "tune": tune, "devices": devices, "no_device": no_device, "ops": ops, "coverage": coverage}[sys.argv[2]]()
