#!/usr/bin/env python3
"""`timcl info` over folders of good and broken plugins: info_test.py <timcl> <folder of made plugins>."""
import json, os, pathlib, shutil, subprocess, sys, tempfile

tool, made = sys.argv[1], pathlib.Path(sys.argv[2])


def call(*args, **env):
    clean = {k: v for k, v in os.environ.items() if k not in ("TIMCL_PLUGIN_PATH", "TIMCL_DEVICE")}
    done = subprocess.run([tool, "info", *args], env={**clean, **env}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def has(text, *words):
    for word in words:
        assert word in text, f"'{word}' is not in:\n{text}"


with tempfile.TemporaryDirectory() as top:
    first, second = pathlib.Path(top) / "first", pathlib.Path(top) / "second"
    for folder, names in ((first, ("good", "other_major", "no_symbol")), (second, ("longer", "same_name"))):
        folder.mkdir()
        for name in names:
            shutil.copy(made / f"{name}.so", folder / f"libtimcl_{name}.so")

    text = call("--plugins", str(first), "--plugins", str(second))
    has(text, "test.good 1.2.3", "test.times(factor=2.0)", "test.shift(by=1.0)", "test.tables 1.0.0 by Tables Ltd",
        "2 plugins, 3 rejected; looked in: " + str(first), f"rejected: {first}/libtimcl_other_major.so",
        "is of plugin ABI 2.3, this library has 1.1", "it is no plugin of this library",
        f"loaded already, 1.2.3 from '{first}/libtimcl_good.so'")

    info = json.loads(call("--format=json", f"--plugins={first}"))
    assert [p["name"] for p in info["plugins"]] == ["test.good"], info
    assert [o["name"] for o in info["plugins"][0]["operators"]] == ["test.times", "test.shift", "test.slow"], info
    assert info["plugins"][0]["file"] == f"{first}/libtimcl_good.so", info
    rejected = {pathlib.Path(r["path"]).name: r for r in info["rejected"]}
    assert sorted(rejected) == ["libtimcl_no_symbol.so", "libtimcl_other_major.so"], rejected
    assert rejected["libtimcl_other_major.so"]["code"] == "kVersionMismatch", rejected
    plugin = info["plugins"][0]
    assert {k: plugin[k] for k in ("sdk_version", "models", "compiles", "executes")} == {
        "sdk_version": "", "models": [], "compiles": False, "executes": False}, plugin

    # Backends, as a program's context has them.
    last = info["backends"][-1]
    assert (last["name"], last["vendor"], last["device"]) == ("reference", "TIM-CL", "host"), last
    assert last["compiles"] and last["executes"], last
    has(text, "backends, in the order in which they are asked:\n", "   reference ", "on host; compiles and executes\n")
    alone = json.loads(call("--format=json", OCL_ICD_VENDORS="/nonexistent"))
    assert [b["name"] for b in alone["backends"]] == ["reference"] and "/nonexistent" in alone["device_error"], alone
    has(call(OCL_ICD_VENDORS="/nonexistent"), "no device: ", "/nonexistent")

    # Directories on the command line, then those of the variable, then the one beside the library; a name that is
    # there already is rejected, so that the first wins.
    def listed(*args, **env):
        return json.loads(call("--format=json", *args, **env))

    both = listed(f"--plugins={second}", TIMCL_PLUGIN_PATH=f"{first}::{top}/none")
    assert both["directories"][:3] == [str(second), str(first), f"{top}/none"], both["directories"]
    assert [p["version"] for p in both["plugins"] if p["name"] == "test.good"] == ["9.0.0"], both["plugins"]
    assert any(r["path"] == f"{top}/none" and "cannot be read" in r["reason"] for r in both["rejected"]), both["rejected"]

    # A vendor's compiler alone: `timcl info` tells what it has, and `timcl partition` asks it, as nothing is to run.
    vendor = pathlib.Path(top) / "vendor"
    vendor.mkdir()
    shutil.copy(made / "vendor_compiler.so", vendor / "libtimcl_vendor_compiler.so")
    has(call("--plugins", str(vendor)), "   acme ", "SDK 3.1; for a1, a2; compiles, does not execute\n")
    backend = listed(f"--plugins={vendor}")["backends"][0]
    assert (backend["name"], backend["models"], backend["compiles"], backend["executes"]) == (
        "acme", ["a1", "a2"], True, False), backend
    graph = '%0 = input f32[4]\n%1 = Relu#1(%0) : f32[4]\n%2 = Tanh#2(%1) : f32[4]\n%3 = Add#3(%2, %0) : output f32[4]\n'

    def divide(*args):
        done = subprocess.run([tool, "partition", "-", f"--plugins={vendor}", *args], input=graph, capture_output=True,
                              text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    code, out, err = divide("--vendor=acme", "--model=a1")
    assert code == 0, err
    has(out, "partition 0: acme, 1 op\n", "    Relu#1: first choice\n", "acme: 2 ops in 2 partitions\n", "    Tanh#2: acme: ")
    has(err, "note: 'acme' has no dispatcher here")
    code, out, err = divide("--vendor=acme", "--model=a2")
    assert code == 0 and "acme: not asked, model a2 needs a licence\n" in out, out + err
    code, out, err = divide("--max-partitions=1")
    assert code == 0 and "acme: 1 op in 1 partition\n" in out and "acme: max_partitions is 1" in out, out + err
    code, out, err = divide("--vendor=other")
    assert code == 3 and "the target's vendor is 'other'" in err, err

    # Installed, the command finds the default directory from where it stands. Set and empty, the variable rules it out.
    installed = pathlib.Path(top) / "prefix"
    default = json.loads(subprocess.run([tool, "info", "--format=json"], capture_output=True, text=True, check=True).stdout)
    assert not any("prefix" in d for d in default["directories"]), default
    assert listed(TIMCL_PLUGIN_PATH="")["directories"] == []
    (installed / "bin").mkdir(parents=True)
    shutil.copy(tool, installed / "bin/timcl")
    libdir = pathlib.Path(os.environ.get("TIMCL_TEST_LIBDIR", "lib"))
    plugins = installed / libdir / "timcl/plugins"
    plugins.mkdir(parents=True)
    shutil.copy(made / "good.so", plugins / "libtimcl_good.so")
    tool = str(installed / "bin/timcl")
    assert listed()["directories"] == [str(plugins)] and listed()["plugins"][0]["name"] == "test.good", listed()
    assert listed(TIMCL_PLUGIN_PATH=str(second))["directories"] == [str(second), str(plugins)]
    assert listed(TIMCL_PLUGIN_PATH="")["directories"] == []
print("info: all as expected")
