#!/usr/bin/env python3
"""Writes docs/operators.md, the list of operators, from `timcl ops`.

operators.py [--check] [timcl]: --check only says whether the file is what would be written.
"""
import json, pathlib, subprocess, sys

PATH = pathlib.Path(__file__).resolve().parents[1] / "docs/operators.md"


def code(text):
    return f"`{text}`".replace("|", "\\|") if text else ""


def runs_as(op):
    forms = [k for k in op["kernels"] if not op["pointwise"]]
    forms += ["point-wise"] if op["pointwise"] else []
    forms += ["composed"] if "expanded" in op["forms"] else []
    forms += ["no launch where encodings agree"] if op["moves_nothing"] else []
    forms += ["not yet: " + op["waits_for"]] if op["waits_for"] else []
    return ", ".join(forms)


def page(table):
    ops = [op for op in table if not op["alias_of"] and op["origin"] == "built-in"]
    names = {op["name"]: "".join(f", also {a['name']}" for a in table if a["alias_of"] == op["name"]) for op in ops}
    rows = [(f"[{op['name']}](../include/{op['header']}){names[op['name']]}", f"{code(op['inputs'])} -> {code(op['outputs'])}",
             code(op["types"]), code(op["attributes"]), runs_as(op), op["layouts"], op["tolerance"]["text"]) for op in ops]
    head = ("operator", "operands", "types", "attributes and defaults", "runs as", "dimension order",
            "kernel against reference")
    table = [head, ["---"] * len(head), *rows]
    return ("<!-- Written by scripts/operators.py; do not edit. -->\n# Operators\n\n"
            f"{len(ops)} operators. `?`: may be left out; `*`: one or more; the words of the types are explained in\n"
            "`include/tim/vx/op_def.h`. The header behind each name documents the class. Dimension order: what layout inference may\n"
            "do with the operator; around one that keeps its own order it inserts transposes. How many cases ran and passed:\n"
            "`timcl ops` of a build tree whose tests were run.\n\n"
            + "".join("| " + " | ".join(row) + " |\n" for row in table))


def main(arguments):
    check = "--check" in arguments
    tool = ([a for a in arguments if a != "--check"] or ["build/dev/src/timcl"])[0]
    run = subprocess.run([tool, "ops", "--format", "json"], check=True, capture_output=True, text=True)
    text = page(json.loads(run.stdout))
    if check and (not PATH.is_file() or PATH.read_text("utf-8") != text):
        sys.exit(f"{PATH} is stale: run scripts/operators.py {tool}")
    if not check:
        PATH.parent.mkdir(exist_ok=True)
        PATH.write_text(text, "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
