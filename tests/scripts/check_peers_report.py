#!/usr/bin/env python3
"""The options, the table, the JSON and the picture of scripts/peers.sh, from made-up rows: no other runtime and no network is needed.

check_peers_report.py [root]
"""
import json, os, pathlib, shutil, subprocess, sys, tempfile, unittest
import xml.etree.ElementTree as xml

ROOT = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else pathlib.Path(__file__).parents[2])
sys.path.insert(0, str(ROOT / "bench/peers"))
import options, report


def row(network, dtype, peer, peer_ms, ours_ms, **more):
    return {"network": network, "dtype": dtype, "peer": peer, "peer_ms": peer_ms, "ours_ms": ours_ms,
            "ratio": report.ratio(peer_ms, ours_ms), "max_error": 1e-6, **more}


ROWS = [row("lenet", "fp32", "onnxruntime", 0.030, 0.020), row("lenet", "fp32", "ncnn", 0.010, 0.020),
        row("lenet", "int8", "openvino-bf16", 0.015, 0.020, share=0.5, ours_gops=231.4, peer_cpu_ms=2, ours_cpu_ms=1, cpu_ratio=2.0),
        row("lenet", "int8", "litert", None, 0.020, error='no operator "<Foo>" & no other')]


PART = row("lenet", "fp32", "onednn-layers", 0.005, 0.02, part="layer by layer")


class Options(unittest.TestCase):
    def needs(self, *arguments):
        """What options.py prints, by a Python without any package."""
        done = subprocess.run([sys.executable, "-I", "-S", ROOT / "bench/peers/options.py", *arguments], capture_output=True, text=True)
        return done.stdout.split() if done.returncode == 0 else done.stderr

    def test_only_what_the_peers_need_is_made(self):
        self.assertEqual(self.needs("--peer", "litert"), ["model_bench", "onnx", "litert", "tf"])
        self.assertEqual(self.needs("--peer", "mnn", "--no-ours"), ["onnx", "mnn"])
        self.assertEqual(self.needs("--peer", "openvino-nncf", "--prepare"), ["onnx", "nncf"])
        self.assertEqual(self.needs("--peer=onednn-layers", "--no-ours"), ["onnx", "onednn"])
        self.assertEqual(set(self.needs("--no-ours")), {"onnx", "litert", "tf", "ncnn", "mnn", "nncf", "onednn"})

        self.assertNotIn("nncf", self.needs("--no-ours", "--dtype", "fp32"))

    def test_a_part_has_a_file_of_its_own(self):
        name = lambda *arguments: options.choose(["--no-build", "--ours", sys.executable, *arguments]).output.relative_to(ROOT).as_posix()
        self.assertEqual(name(), "build/peers.json")
        self.assertEqual(name("--rounds", "3"), "build/peers.json")
        self.assertEqual(name("--quick"), "build/peers-quick.json")
        self.assertEqual(name("--network", "lstm", "--dtype", "fp32", "--peer", "ncnn", "--no-one-thread"),
                         "build/peers-no-one-thread-lstm-fp32-ncnn.json")
        self.assertEqual(options.choose(["--no-ours", "--quick", "--output", "x.json"]).output, pathlib.Path("x.json"))
        self.assertTrue(len(name(*["--network", "layernorm_1m"] * 99)) < 200)

    def test_two_cpus_are_two_cores_where_the_system_tells(self):
        with tempfile.TemporaryDirectory() as folder:
            for cpu, siblings in ((0, "0-1"), (1, "0-1"), (2, "2,18"), (5, "nonsense")):
                (pathlib.Path(folder) / f"cpu{cpu}/topology").mkdir(parents=True)
                (pathlib.Path(folder) / f"cpu{cpu}/topology/thread_siblings_list").write_text(siblings + "\n")
            for allowed, chosen in (({0, 1, 2, 3}, [0, 2]), ({18, 2, 3}, [2, 3]), ({0, 1}, [0, 1]), ({2}, [2]), ({5, 6}, [5, 6]),
                                    ({9, 8, 7}, [7, 8])):
                self.assertEqual(options.two_cpus(allowed, folder), chosen)

    def test_mistakes_are_told_before_anything_is_made(self):
        self.assertIn("none of these peers has fp32", self.needs("--peer", "openvino-nncf", "--dtype", "fp32"))
        self.assertIn("invalid choice: 'tvm'", self.needs("--peer", "tvm"))
        self.assertIn("/nowhere/model_bench is not there", self.needs("--ours", "/nowhere/model_bench"))

    def test_help_makes_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            for part in ("scripts", "bench/peers"):
                (pathlib.Path(folder) / part).mkdir(parents=True)
            shutil.copy(ROOT / "scripts/peers.sh", f"{folder}/scripts")
            shutil.copy(ROOT / "bench/peers/options.py", f"{folder}/bench/peers")
            for arguments in (["--help"], ["--network", "lenet", "-h"]):
                done = subprocess.run(["bash", f"{folder}/scripts/peers.sh", *arguments], capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertIn("usage: scripts/peers.sh", done.stdout)
            self.assertNotEqual(subprocess.run(["bash", f"{folder}/scripts/peers.sh", "--oops"], capture_output=True).returncode, 0)
            self.assertFalse(os.path.exists(f"{folder}/build"))


class Report(unittest.TestCase):
    def test_ratio_is_above_one_where_we_are_faster(self):
        self.assertAlmostEqual(report.ratio(3.0, 2.0), 1.5)
        self.assertIsNone(report.ratio(None, 2.0))
        self.assertIsNone(report.ratio(3.0, None))

    def test_numbers_keep_three_digits(self):
        self.assertEqual([report.number(v) for v in (0.012345, 1.2345, 12.345, 1234.5, 0, None)],
                         ["0.0123", "1.23", "12.3", "1234", "0", "-"])

    def test_fastest_peer_is_marked_per_network_and_dtype(self):
        best = report.fastest(ROWS)
        self.assertEqual({key: r["peer"] for key, r in best.items()}, {("lenet", "fp32"): "ncnn", ("lenet", "int8"): "openvino-bf16"})
        failed = row("lenet", "fp32", "litert", 0.001, 0.02, error="outputs differ")
        self.assertEqual(report.fastest([*ROWS, failed])["lenet", "fp32"]["peer"], "ncnn")

    def test_a_part_of_a_network_is_not_taken_for_a_peer(self):
        self.assertEqual(report.fastest([*ROWS, PART])["lenet", "fp32"]["peer"], "ncnn")
        self.assertTrue(report.table([*ROWS, PART]).splitlines()[-1].endswith("layer by layer"))
        alone = [*ROWS, {**PART, "network": "lstm"}]
        self.assertEqual(report.problems(alone, ["lstm"], ["fp32"]), ["no peer was compared with ours for lstm fp32"])
        self.assertEqual(report.svg([*ROWS, PART], "").count('class="part"'), 1)

    def test_table_has_a_line_per_row_and_says_errors(self):
        lines = report.table(ROWS).splitlines()
        self.assertEqual(len(lines), len(ROWS) + 2)
        self.assertIn("1.50", lines[2])
        self.assertTrue(lines[3].endswith("fastest peer"))
        self.assertIn("50 %", lines[4])
        self.assertIn('error: no operator "<Foo>" & no other', lines[5])
        self.assertEqual(lines[0].index("peer ms") + len("peer ms"), lines[2].index("0.0300") + len("0.0300"))

    def test_problems_name_missing_rows_and_too_few_peers(self):
        self.assertEqual(report.problems(ROWS, ["lenet"]), [])
        self.assertEqual(report.problems(ROWS, ["lenet", "lstm"]), ["no peer was compared with ours for lstm fp32, lstm int8"])
        alone = [row(name, "fp32", name, 1.0, None) for name in sorted(report.WHOLE_NETWORK_PEERS)]  # ours did not run
        self.assertEqual(report.problems(alone, ["ncnn"], ["fp32"]), ["no peer was compared with ours for ncnn fp32"])
        self.assertIn("only 1 of litert, ncnn, onnxruntime, openvino ran, 3 are needed", report.problems(ROWS[:1], []))

    def test_json_holds_the_rows(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "peers.json"
            report.write_json(ROWS, path)
            self.assertEqual(json.loads(path.read_text()), ROWS)
            report.write_json([], path)
            self.assertEqual(json.loads(path.read_text()), [])

    def test_picture_is_xml_with_a_bar_per_ratio(self):
        tree = xml.fromstring(report.svg(ROWS, "ratios <of> a & b"))
        name = "{http://www.w3.org/2000/svg}"
        bars = [r for r in tree.iter(name + "rect") if r.get("fill") != "#fff"]
        self.assertEqual(len(bars), 3)
        one = next(float(line.get("x1")) for line in tree.iter(name + "line") if line.get("stroke") == "#000")
        self.assertAlmostEqual(float(bars[0].get("x")), one, places=1)                     # 1.5 grows to the right of 1,
        self.assertAlmostEqual(float(bars[1].get("x")) + float(bars[1].get("width")), one, places=0)  # 0.5 to its left
        xml.fromstring(report.svg([], "nothing"))


if __name__ == "__main__":
    unittest.main()
