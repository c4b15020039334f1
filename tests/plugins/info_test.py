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

    # Directories on the command line, then those of the variable, then the one beside the library; a name that is
    # there already is rejected, so that the first wins.
    def listed(*args, **env):
        return json.loads(call("--format=json", *args, **env))

    both = listed(f"--plugins={second}", TIMCL_PLUGIN_PATH=f"{first}::{top}/none")
    assert both["directories"][:3] == [str(second), str(first), f"{top}/none"], both["directories"]
    assert [p["version"] for p in both["plugins"] if p["name"] == "test.good"] == ["9.0.0"], both["plugins"]
    assert any(r["path"] == f"{top}/none" and "cannot be read" in r["reason"] for r in both["rejected"]), both["rejected"]

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
