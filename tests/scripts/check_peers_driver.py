#!/usr/bin/env python3
"""scripts/peers.sh and its driver with engines that are made up: no other runtime, no network, no NumPy and no compiler is needed.

check_peers_driver.py [root]
"""
import array, contextlib, io, json, math, os, pathlib, shutil, subprocess, sys, tempfile, types, unittest
from unittest import mock

ROOT = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else pathlib.Path(__file__).parents[2])
sys.path.insert(0, str(ROOT / "bench/peers"))
# network.py makes weights by NumPy; the driver only reads descriptions.
sys.modules["network"] = types.SimpleNamespace(Network=None, networks=types.SimpleNamespace(HERE=ROOT / "bench/networks", __file__=__file__))
import options, peers, report

NET = types.SimpleNamespace(name="net", outputs=["y", "z"], shapes={"y": [1, 2], "z": [1, 3]}, pictures=set(), text={"macs": 1000},
                            path=ROOT / "bench/networks/net.json")
TRUTH = [array.array("f", [1, -2]), array.array("f", [3, 4, 5])]
CLOSE = [array.array("f", [1, -2.001]), array.array("f", [3, 4, 5])]


class Engine:
    """What is an exception is raised where it would be given."""

    def __init__(self, outputs=CLOSE, walls=(2.0, 3.0), cpu=2.0, about=()):
        self.given, self.walls, self.cpu, self.closed = outputs, walls, cpu, 0
        self.about = {"version": "1", "settings": "none", "max_error": 0.0, **dict(about)}

    def run(self, count):
        if isinstance(self.walls, Exception):
            raise self.walls
        return list(self.walls), self.cpu

    def outputs(self, net):
        if isinstance(self.given, Exception):
            raise self.given
        return self.given

    def close(self):
        self.closed += 1


class Quiet:
    """A peak that is always the same."""
    best = {"fp32": 100.0}

    def measure(self):
        return 100.0

    def is_quiet(self, rate):
        return True

    def close(self):
        pass


def given(engine):
    if isinstance(engine, Exception):
        raise engine
    return engine


def compared(engines, dtype="fp32", one_thread=False, no_model=()):
    """{peer: row} of compare() with these engines by name, as they are written to a file and read again."""
    settings = types.SimpleNamespace(ours="model_bench" if "ours" in engines else None, cpus=[0, 1], rounds=3, seconds=0.001, one_thread=one_thread)
    chosen = [peer for peer in options.PEERS if peer.name in engines]
    with mock.patch.multiple(peers, PAUSE=0, prepare=lambda *_: (pathlib.Path("net"), dict(no_model)), reference=lambda *_: TRUTH, say=lambda _: None,
                             start_peer=lambda peer, *_: given(engines[peer.name]), OurEngine=lambda *_: given(engines["ours"])):
        rows = peers.compare(NET, dtype, chosen, settings, Quiet())
    peers.complete(rows, Quiet.best, {"ours": 0.5, "litert": 0.4})
    with tempfile.TemporaryDirectory() as folder:
        report.write_json(rows, pathlib.Path(folder) / "peers.json")
        return {row["peer"]: row for row in json.loads(pathlib.Path(folder, "peers.json").read_text())}


class Compare(unittest.TestCase):
    def test_engines_that_agree_have_times(self):
        row = compared({"ours": Engine(walls=[1.0, 1.5], about={"rms_error": 0.01, "steps": 3}), "litert": Engine()}, one_thread=True)["litert"]
        self.assertEqual([row[key] for key in ("peer_ms", "ours_ms", "ratio", "peer_cpu_ms", "max_error", "quiet_rounds", "steps")],
                         [2.0, 1.0, 2.0, 2.0, 0.0, 3, 3])
        self.assertAlmostEqual(row["peer_error"], 0.0005, places=5)
        self.assertEqual((row["ours_rms_error"], row["ours_wrapper_us"], row["wrapper_us"]), (0.01, 0.5, 0.4))
        self.assertNotIn("error", row)
        self.assertEqual(report.unexplained([row]), [])

    def test_one_bad_peer_costs_its_own_row_only(self):
        nan, far = array.array("f", [1, math.nan]), array.array("f", [1, 2])
        for bad, words in ((Engine([nan, TRUTH[1]]), "NaN or infinite"), (Engine([far, TRUTH[1]]), "outputs differ"),
                           (Engine(TRUTH[:1]), "outputs of [2]"), (Engine([*TRUTH, far]), "outputs of [2, 3, 2]"),
                           (Engine([TRUTH[1], TRUTH[1]]), "outputs of [3, 3]"), (Engine(ValueError("cannot reshape")), "ValueError: cannot reshape"),
                           (Engine(KeyError("outputs")), "KeyError"), (Engine(peers.Failure("ended")), "ended"),
                           (peers.Failure("no start"), "no start"), (OSError("no file"), "OSError: no file"),
                           (Engine(walls=peers.Failure("ended late")), "ended late"),
                           (Engine(walls=[]), "none"), (Engine(walls=[1.0, math.nan]), "none"), (Engine(walls=[math.inf]), "none"),
                           (Engine(walls=KeyError("wall_ms")), "KeyError"), (Engine(cpu=math.nan), "none")):
            with self.subTest(words):
                ours, good = Engine(walls=[1.0]), Engine()
                rows = compared({"ours": ours, "litert": bad, "ncnn": good})
                self.assertIn(words, rows["litert"]["error"])
                self.assertIsNone(rows["litert"]["ratio"])
                self.assertEqual((rows["ncnn"]["ratio"], rows["ncnn"].get("error")), (2.0, None))
                self.assertTrue(ours.closed and good.closed and getattr(bad, "closed", True))
                # Outputs that are too far off are a finding; what broke is not.
                self.assertEqual(len(report.unexplained(rows.values())), 0 if bad.__class__ is Engine and bad.given == [far, TRUTH[1]] else 1)

    def test_a_part_that_is_no_number_is_rejected(self):
        for error in (math.nan, math.inf, 0.5, None):
            rows = compared({"ours": Engine(walls=[1.0]), "onednn-layers": Engine(about={"max_error": error}), "ncnn": Engine()})
            self.assertTrue(rows["onednn-layers"]["error"])
            self.assertIsNone(rows["onednn-layers"]["max_error"])
            self.assertEqual(rows["ncnn"]["ratio"], 2.0)
        self.assertEqual(compared({"onednn-layers": Engine(about={"max_error": 0.25e-3})})["onednn-layers"]["max_error"], 0.25e-3)

    def test_when_ours_fails_every_row_says_so_and_peers_keep_their_times(self):
        for bad in (Engine([TRUTH[1], TRUTH[0]]), Engine(walls=peers.Failure("stopped")), peers.Failure("its own check says: differs")):
            rows = compared({"ours": bad, "litert": Engine(), "ncnn": peers.Finding("no model: no operator")})
            self.assertTrue(rows["litert"]["error"].startswith("ours: "))
            self.assertEqual((rows["litert"]["peer_ms"], rows["litert"]["ratio"]), (2.0, None))
            self.assertEqual(rows["ncnn"]["error"], "no model: no operator")
            self.assertEqual(report.unexplained(rows.values()), [f"net fp32, ours: {rows['litert']['ours_failed']}"])

    def test_reasons_that_a_builder_wrote_are_known(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "int8-mnn.txt").write_text("stays float\n")
            peer = next(peer for peer in options.PEERS if peer.name == "mnn")
            with self.assertRaisesRegex(peers.Finding, "^no model: stays float$"):
                peers.start_peer(peer, pathlib.Path(folder), "int8", [0])
        rows = compared({"mnn": Engine(), "litert": Engine()}, no_model={"mnn": "no model: it broke"})
        self.assertEqual(report.unexplained(rows.values()), ["net fp32, mnn: no model: it broke"])


class Calls(unittest.TestCase):
    def test_what_a_call_costs_is_measured_on_one_thread(self):
        chosen = [peer for peer in options.PEERS if peer.name in ("openvino-nncf", "litert", "onednn-layers", "mnn")]
        engines = {"openvino": Engine(walls=[0.004, 0.003]), "litert": Engine(walls=[0.0004]), "mnn": peers.Failure("no start"),
                   "ours": Engine(walls=[0.0003])}
        told, asked = [], []

        def start(peer, folder, dtype, cpus):
            asked.append((dtype, cpus))
            return given(engines[peer.name])
        with mock.patch.multiple(peers, load=lambda name: NET, prepare=lambda *_: ("net", {}), say=told.append, start_peer=start,
                                 OurEngine=lambda *_: engines["ours"]):
            found = peers.calls(types.SimpleNamespace(ours="model_bench", cpus=[2, 3], peers=chosen))
        self.assertEqual({name: round(cost, 6) for name, cost in found.items()}, {"openvino": 3.0, "litert": 0.4, "ours": 0.3})
        self.assertEqual((asked, told), ([("fp32", [2])] * 3, ["mnn: what a call costs is not known: no start"]))
        self.assertTrue(engines["openvino"].closed and engines["ours"].closed)
        self.assertTrue((ROOT / f"bench/peers/elementwise/{options.NOTHING}.json").exists())


class Turns(unittest.TestCase):
    def test_each_engine_is_first_in_turn_and_rests_after_the_peak(self):
        seen = []

        class Named(Engine):
            def __init__(self, name):
                super().__init__()
                self.name = name

            def run(self, count):
                seen.append(self.name)
                return super().run(count)
        peak = Quiet()
        peak.measure = lambda: seen.append("peak") or 100.0
        with mock.patch.object(peers.time, "sleep", lambda _: seen.append("-")):
            peers.take_turns({name: Named(name) for name in "abc"}, 3, 0.001, peak)
        rounds = "".join({"peak": "P"}.get(word, word) for word in seen)
        self.assertEqual(rounds, "P-a-b-c-" + "P-b-c-a-P" + "P-c-a-b-P" + "P-a-b-c-P")

    def test_one_that_stops_is_closed_and_the_others_go_on(self):
        bad, good = Engine(walls=peers.Failure("stopped")), Engine()
        with mock.patch.object(peers, "PAUSE", 0):
            found, failed, quiet = peers.take_turns({"bad": bad, "good": good}, 2, 0.001, Quiet())
        self.assertEqual((failed, bad.closed, good.closed, quiet, len(found["good"][1])), ({"bad": "stopped"}, 1, 0, 2, 2))

    def test_without_a_compiler_there_is_no_peak(self):
        told = []
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, {"CC": "/nonexistent/cc"}), \
                mock.patch.multiple(peers, BUILD=pathlib.Path(folder), say=told.append, PAUSE=0):
            peak = peers.Peak([0])
            self.assertTrue(peak.is_quiet(peak.measure()))
            found, failed, quiet = peers.take_turns({"good": Engine()}, 2, 0.001, peak)
        self.assertEqual((len(found["good"][1]), failed, quiet), (2, {}, None))
        self.assertIn("peak.c cannot be built here", told[0])
        row = {"network": "n", "dtype": "fp32", "peer": "litert", "ours_gops": 3.0}
        peers.complete([row], peak.best, {})
        self.assertIn(" - ", report.table([row]))
        self.assertNotIn("share", row)


# Speaks as `model_bench --serve`, says what PoCL is told, and computes what FAKE has.
SERVER = """
import json, os, sys
fake = json.loads(os.environ["FAKE"])
print(fake["hello"], flush=True)
for line in sys.stdin:
    if line.startswith("output "):
        import array
        open(line.split(None, 1)[1].strip(), "wb").write(array.array("f", fake["outputs"]).tobytes())
    pocl = {key: value for key, value in os.environ.items() if key.startswith("POCL")}
    print(json.dumps(pocl) if line.strip() == "env" else fake.get("answer", "{}"), flush=True)
"""


@contextlib.contextmanager
def fake_processes(**fake):
    """Child processes without taskset, which only knows the CPUs of this machine."""
    start = subprocess.Popen
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "logs").mkdir()
        server = pathlib.Path(folder, "server.py")
        server.write_text(SERVER)
        with mock.patch.dict(os.environ, {"FAKE": json.dumps(fake)}), mock.patch.object(peers, "BUILD", pathlib.Path(folder)), \
                mock.patch.object(peers.subprocess, "Popen", lambda command, **more: start([sys.executable, server], **more)):
            yield


class Processes(unittest.TestCase):
    HELLO = '{"ready": "net", "check": "as expected"}'

    def ours(self, cpus=(0, 1), net=NET):
        return contextlib.closing(peers.OurEngine("model_bench", net, "fp32", list(cpus), True))

    def test_ours_has_as_many_workers_as_the_others(self):
        with fake_processes(hello=self.HELLO):
            for cpus, affinity in (((0, 1), "1"), ((0,), "1"), ((1,), "0"), ((0, 2), "0"), ((4, 5), "0")):
                with self.ours(cpus) as engine:
                    told = engine.ask("env")
                    self.assertEqual([told[f"POCL_{key}"] for key in ("MAX_PTHREAD_COUNT", "CPU_MAX_CU_COUNT", "AFFINITY")],
                                     [str(len(cpus)), str(len(cpus)), affinity])

    def test_its_own_check_counts_where_there_is_something_to_compare_with(self):
        expected = types.SimpleNamespace(**{**vars(NET), "text": {"macs": 1, "expected": {"y": [1]}}})
        for check in ('{"check": "differs from what NumPy computed"}', "{}"):
            with fake_processes(hello=check):
                with self.assertRaisesRegex(peers.Failure, "its own check says"):
                    self.ours(net=expected)
                self.ours().__enter__().close()
        with fake_processes(hello=self.HELLO):
            self.ours(net=expected).__enter__().close()

    def test_outputs_are_split_or_refused(self):
        with fake_processes(hello=self.HELLO, outputs=[1, 2, 3, 4, 5]), self.ours() as engine:
            self.assertEqual(engine.outputs(NET), [array.array("f", [1, 2]), array.array("f", [3, 4, 5])])
        with fake_processes(hello=self.HELLO, outputs=[1, 2, 3, 4]), self.ours() as engine:
            self.assertRaisesRegex(peers.Failure, "4 output values instead of 5", engine.outputs, NET)
        peer = options.PEERS[0]
        for shapes in ([[1, 2]], [[1, 2], [1, 3], [1]]):
            with fake_processes(hello=self.HELLO, outputs=[1, 2, 3, 4, 5], answer=json.dumps({"outputs": shapes})):
                with contextlib.closing(peers.PeerEngine(peer, pathlib.Path("net"), "fp32", [0])) as engine:
                    self.assertRaisesRegex(peers.Failure, f"{len(shapes)} outputs instead of 2", engine.outputs, NET)

    def test_what_is_no_json_is_an_error_of_the_engine(self):
        for hello in ('{"max_error": NaN}', '{"max_error": -Infinity}', "Segmentation fault"):
            with fake_processes(hello=hello), self.assertRaisesRegex(peers.Failure, "which is no JSON"):
                self.ours()

    def test_one_that_does_not_start_does_not_stay(self):
        closed = []
        with fake_processes(hello='{"error": "no memory"}'), mock.patch.object(peers.Child, "close", lambda child: closed.append(child)):
            with self.assertRaisesRegex(peers.Failure, "no memory"):
                self.ours()
        self.assertEqual(len(closed), 1)
        closed[0].process.kill()
        closed[0].process.communicate()

    def test_reference_outputs_are_kept_whole_or_not_at_all(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "onnx.stamp").touch()
            for outputs, error in ((TRUTH, KeyboardInterrupt), ([array.array("f", [1, math.nan]), TRUTH[1]], peers.Failure)):
                with mock.patch.object(peers, "PeerEngine", lambda *_: Engine(outputs)):
                    with mock.patch.object(os, "replace", side_effect=KeyboardInterrupt):
                        self.assertRaises(error, peers.reference, NET, folder, [0])
                    self.assertFalse((folder / "reference.f32").exists())
            with mock.patch.object(peers, "PeerEngine", lambda *_: Engine(TRUTH)):
                self.assertEqual(peers.reference(NET, folder, [0]), TRUTH)
            with mock.patch.object(peers, "PeerEngine", None):  # kept
                self.assertEqual(peers.reference(NET, folder, [0]), TRUTH)

    def test_pictures_come_in_our_order(self):
        net = types.SimpleNamespace(pictures={"y"}, shapes={"y": [2, 2, 1, 3]})
        nchw = array.array("f", range(12))
        nhwc = array.array("f", [0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11])
        self.assertEqual(peers.in_our_order(net, "y", nchw, "onnx"), nhwc)
        self.assertEqual(peers.in_our_order(net, "y", nchw, "tflite"), nchw)


class Main(unittest.TestCase):
    def row(self, network, dtype, **more):
        return {"network": network, "dtype": dtype, "peer": "litert", "peer_ms": 2.0, "ours_ms": 1.0, "ratio": 2.0, "threads": 2, **more}

    def main(self, output, results, *arguments):
        """Exit status and what is printed; `results` are of compare(), one after the other."""
        told = io.StringIO()
        with tempfile.TemporaryDirectory() as build, contextlib.redirect_stdout(told), contextlib.redirect_stderr(told), \
                mock.patch.multiple(peers, BUILD=pathlib.Path(build), Peak=lambda _: Quiet(), calls=lambda _: {"ours": 0.5},
                                    load=lambda name: types.SimpleNamespace(name=name), compare=mock.Mock(side_effect=results)):
            status = peers.main(["--no-build", "--ours", sys.executable, "--output", str(output), *arguments])
        return status, told.getvalue()

    def test_a_run_that_is_stopped_leaves_its_rows_and_the_table_that_was_there(self):
        first, second = self.row("lenet", "fp32"), self.row("lstm", "fp32")
        chosen = ("--network", "lenet", "--network", "lstm", "--dtype", "fp32")
        with tempfile.TemporaryDirectory() as folder:
            output, unfinished = pathlib.Path(folder, "peers.json"), pathlib.Path(folder, "peers.unfinished.json")
            output.write_text("whole")
            for stopped in (KeyboardInterrupt, RuntimeError):
                results = [[dict(first)], stopped]
                if stopped is KeyboardInterrupt:
                    status, told = self.main(output, results, *chosen)
                    self.assertEqual(status, 130)
                    self.assertIn(f"{unfinished} has the rows so far", told)
                else:
                    self.assertRaises(stopped, self.main, output, results, *chosen)
                self.assertEqual(output.read_text(), "whole")
                self.assertEqual([row["network"] for row in json.loads(unfinished.read_text())], ["lenet"])
                unfinished.unlink()
            status, told = self.main(output, [[first], [second]], *chosen)
            self.assertEqual((status, [row["network"] for row in json.loads(output.read_text())]), (0, ["lenet", "lstm"]))
            self.assertEqual(sorted(os.listdir(folder)), ["peers.json", "peers.svg"])

    def test_a_file_is_replaced_as_a_whole(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "peers.json")
            path.write_text("before")
            with mock.patch.object(os, "replace", side_effect=KeyboardInterrupt), self.assertRaises(KeyboardInterrupt):
                report.write_json([self.row("lenet", "fp32")], path)
            self.assertEqual(path.read_text(), "before")

    def test_the_exit_status_says_whether_times_are_missing_for_no_known_reason(self):
        chosen = ("--network", "lenet", "--dtype", "fp32")
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder, "new/peers.json")
            for more, status, words in (({}, 0, ""), ({"error": "outputs differ", "explained": True}, 0, ""),
                                        ({"error": "ended"}, 1, "lenet fp32, litert: ended"),
                                        ({"error": "ours: x", "ours_failed": "x"}, 1, "lenet fp32, ours: x"), ({"peer_ms": None}, 1, "no times")):
                got, told = self.main(output, [[self.row("lenet", "fp32", **more)]], *chosen)
                self.assertEqual(got, status, told)
                self.assertIn(words, told)
                self.assertEqual("incomplete: " in told, status == 1)
            whole = [[self.row("lenet", "fp32")]] * 40
            got, told = self.main(output, whole)
            self.assertEqual(got, 1)
            self.assertIn("incomplete: no peer was compared with ours for lenet int8, resnet8 fp32", told)


class Script(unittest.TestCase):
    """peers.sh with a Python, a pip and a cmake that do nothing, or fail."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "scripts").mkdir()
        shutil.copytree(ROOT / "bench/peers", self.folder / "bench/peers")
        shutil.copy(ROOT / "scripts/peers.sh", self.folder / "scripts")
        self.program("python", 'case "$2" in pip) case "$0" in *"env-$BROKEN.new/"*) exit 1 ;; esac ;; *) echo "driver $*" ;; esac')
        self.program("python3", f'case "$1" in -c) exit "${{NO_VENV:-0}}" ;; -m) mkdir -p "$3/bin"; cp "{self.folder}/bin/python" "$3/bin" ;; '
                                f'*) exec "{sys.executable}" "$@" ;; esac')
        self.program("cmake", 'echo "cmake $*"; case "$*" in --build*) echo "foo.cc:7: error: no"; exit 1 ;; esac')

    def program(self, name, text):
        path = self.folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def run_script(self, *arguments, **environment):
        return subprocess.run(["bash", self.folder / "scripts/peers.sh", *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              env={**os.environ, "BROKEN": "none", **environment, "PATH": f"{self.folder}/bin:{os.environ['PATH']}"})

    def test_environments_are_made_once(self):
        done = self.run_script("--no-ours", "--peer", "litert")
        self.assertEqual((done.returncode, done.stdout), (0, "driver bench/peers/peers.py --no-ours --peer litert\n"), done.stderr)
        self.assertEqual(sorted(path.name for path in (self.folder / "build/peers").glob("env-*")), ["env-litert", "env-onnx", "env-tf"])
        self.assertEqual(self.run_script("--no-ours", "--peer", "litert").stderr, "")

    def test_an_environment_that_cannot_be_made_leaves_the_old_one(self):
        done = self.run_script("--no-ours", "--peer", "litert", BROKEN="litert")
        self.assertIn("litert cannot be installed here; its rows will say so", done.stderr)
        self.assertFalse((self.folder / "build/peers/env-litert").exists())
        self.run_script("--no-ours", "--peer", "litert")
        (self.folder / "bench/peers/requirements-litert.txt").write_text("ai-edge-litert==9\n")
        done = self.run_script("--no-ours", "--peer", "litert", BROKEN="litert")
        self.assertIn("the older one that is there is taken", done.stderr)
        self.assertIn("driver", done.stdout)
        self.assertIn("==2.", (self.folder / "build/peers/env-litert/requirements").read_text())

    def test_without_the_drivers_environment_it_ends(self):
        done = self.run_script("--no-ours", "--peer", "litert", BROKEN="onnx")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("no table without it", done.stderr)
        self.assertNotIn("environment litert", done.stderr)

    def test_it_says_what_python_lacks(self):
        done = self.run_script("--no-ours", "--peer", "litert", NO_VENV="1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("apt-get install python3-venv", done.stderr)

    def test_errors_of_the_compiler_are_shown(self):
        done = self.run_script("--peer", "litert")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("foo.cc:7: error: no", done.stderr)
        self.assertIn("build/peers/logs/model_bench.log", done.stderr)


if __name__ == "__main__":
    unittest.main()
