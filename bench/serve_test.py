#!/usr/bin/env python3
"""Talks to `model_bench --serve` as README.md beside this file says that one can."""
import array
import json
import pathlib
import subprocess
import sys
import tempfile


class Server:
    def __init__(self, *arguments):
        self.process = subprocess.Popen([sys.argv[1], "--serve", *arguments],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def answer(self):
        return json.loads(self.process.stdout.readline())

    def ask(self, line):
        print(line, file=self.process.stdin, flush=True)
        return self.answer()

    def end(self):
        self.process.stdin.close()
        return self.process.wait(timeout=60)


def expect(condition, what):
    if not condition:
        sys.exit(f"not as expected: {what}")


def outputs(server, folder, count):
    file = pathlib.Path(folder, "out put.bin")
    answer = server.ask(f"output {file}")
    expect(answer == {"output": str(file), "elements": {"digits": count}}, answer)
    return array.array("f", file.read_bytes())


def talk(kind, folder):
    server = Server("lenet", kind)
    ready = server.answer()
    expect(ready.get("ready") == "lenet" and ready["check"] == "as expected", ready)
    for field in ("compile_ms", "first_run_ms", "steps", "launches", "arena_bytes", "live_bytes_bound"):
        expect(ready[field] > 0, ready)
    first = outputs(server, folder, 10)
    expect(abs(sum(first) - 1) < 0.03, first)  # a softmax
    expect(server.ask("input 1") == {"input": 1}, "input")
    times = server.ask("run 3")
    expect(len(times["wall_us"]) == len(times["cpu_us"]) == 3, times)
    expect(min(times["wall_us"] + times["cpu_us"]) > 0, times)
    second = outputs(server, folder, 10)
    expect(first != second, "another input has the same outputs")
    server.ask("input 0")
    server.ask("run 1")
    expect(outputs(server, folder, 10) == first, "the same input has other outputs")
    expect("stages" in server.ask("report"), "report")
    for wrong in ("run", "run 0", "run x", "input -1", "walk 3", "output /nonexistent/x"):
        expect("error" in server.ask(wrong), wrong)
    expect(server.end() == 0, "exit status")


def main():
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("f32", "int8"):
            talk(kind, folder)
    for wrong in (("lenet", "f99"), ("nothing", "f32")):
        server = Server(*wrong)
        expect("error" in server.answer() and server.end() == 1, wrong)


main()
