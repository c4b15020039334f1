#!/usr/bin/env python3
"""Our networks beside other runtimes: the same layers, weights and inputs, on the same two cores, in one run. Started by scripts/peers.sh.

Each engine is a process that stays alive and only computes when asked; they take turns in rounds, so that what disturbs the machine
disturbs all of them. docs/peers.md says what is measured and how to read it.
"""
import contextlib, hashlib, json, math, os, pathlib, select, statistics, subprocess, sys, tempfile, time

import numpy as np

import report
from network import Network, networks
from options import BUILD, BUILDERS, ELEMENTWISE, NETWORKS, PEERS, RELAXED, SMALL, choose, kinds_for

HERE = pathlib.Path(__file__).resolve().parent
# How far outputs may be from those of ONNX Runtime in fp32, as a share of the largest output, before a time counts.
LIMITS = {"fp32": 1e-3, "relaxed": 0.1, "int8": 0.15}
PAUSE = 0.02  # seconds; runtimes that spin after a run stop before the next one starts


class Failure(Exception):
    """What the user is told in the row of the table."""


def python(environment):
    return BUILD / f"env-{environment}/bin/python"


class Child:
    """A process that answers each line with one line of JSON."""

    def __init__(self, command, cpus, log, environment=None, patience=300):
        self.name, self.log = pathlib.Path(log).name, log
        with open(log, "wb") as errors:
            self.process = subprocess.Popen(["taskset", "-c", ",".join(map(str, cpus)), *map(str, command)], stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=errors, env={**os.environ, **(environment or {})})
        self.rest, self.patience = b"", patience

    def answer(self):
        deadline = time.monotonic() + self.patience
        while b"\n" not in self.rest:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise Failure(f"no answer within {self.patience} s")
            part = os.read(self.process.stdout.fileno(), 1 << 16)
            if not part:
                last = pathlib.Path(self.log).read_text("utf-8", "replace").strip().splitlines()[-1:] or [""]
                raise Failure(f"ended with status {self.process.wait()}: {last[0][:200]}")
            self.rest += part
        line, self.rest = self.rest.split(b"\n", 1)
        try:
            told = json.loads(line)
        except ValueError:
            raise Failure(f"wrote {line[:100]!r}, which is no JSON") from None
        if "error" in told:
            raise Failure(" ".join(told["error"].split())[:300])
        return told

    def ask(self, line):
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            pass  # answer() tells how it ended
        return self.answer()

    def close(self):
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


class PeerEngine(Child):
    def __init__(self, peer, folder, dtype, cpus):
        self.peer = peer
        super().__init__([python(peer.environment), HERE / "engine.py", peer.engine, peer.model(folder, dtype), peer.inputs(folder), len(cpus),
                          *peer.options], cpus, BUILD / f"logs/{folder.name}-{dtype}-{peer.name}-{len(cpus)}.log")
        self.about = self.answer()

    def run(self, count):
        told = self.ask(f"run {count}")
        return told["wall_ms"], told["cpu_ms"]

    def outputs(self, net):
        with tempfile.TemporaryDirectory() as folder:
            self.ask(f"outputs {folder}/outputs.npz")
            with np.load(f"{folder}/outputs.npz") as stored:
                values = [stored[str(i)] for i in range(len(stored.files))]
        return [in_our_order(net, name, value, self.peer.kind) for name, value in zip(net.outputs, values)]


class LayersEngine(Child):
    """oneDNN's primitives one after the other. It has compared what each of them computes with ONNX Runtime's when it is ready."""

    def __init__(self, peer, folder, dtype, cpus):
        binary, layers = BUILD / "onednn_layers", peer.model(folder, dtype)
        if not binary.exists():
            raise Failure("oneDNN or a compiler is missing here, so its program was not built")
        super().__init__([binary, layers, folder / "layers.bin"], cpus, BUILD / f"logs/{folder.name}-{dtype}-{peer.name}-{len(cpus)}.log",
                         {"OMP_NUM_THREADS": str(len(cpus)), "OMP_PROC_BIND": "true"})
        self.about = self.answer()

    def run(self, count):
        told = self.ask(f"run {count}")
        # The least of these is the sum of the least times of all layers.
        return [*told["wall_ms"], told["sum_of_least_ms"]], told["cpu_ms"]


def start_peer(peer, folder, dtype, cpus):
    why = folder / f"{dtype}-{peer.name}.txt"  # written by a builder
    if why.exists():
        raise Failure(f"no model: {why.read_text('utf-8').strip()}")
    return (LayersEngine if peer.part else PeerEngine)(peer, folder, dtype, cpus)


class OurEngine(Child):
    def __init__(self, binary, net, dtype, cpus, inline):
        kind = {"fp32": "f32"}.get(dtype, dtype)
        name = os.path.relpath(net.path, networks.HERE).removesuffix(".json")
        more = {"TIMCL_INLINE": "1" if inline else "0", "POCL_AFFINITY": "1", "POCL_KERNEL_CACHE": "1"}
        if len(cpus) == 1:
            more |= {"POCL_MAX_PTHREAD_COUNT": "1", "POCL_CPU_MAX_CU_COUNT": "1"}
        super().__init__([binary, "--serve", name, kind], cpus, BUILD / f"logs/{net.name}-{dtype}-ours-{len(cpus)}-{inline}.log", more)
        self.about = self.answer()

    def run(self, count):
        told = self.ask(f"run {count}")
        return [t / 1e3 for t in told["wall_us"]], statistics.fmean(told["cpu_us"]) / 1e3

    def outputs(self, net):
        with tempfile.NamedTemporaryFile() as file:
            self.ask(f"output {file.name}")
            data = np.fromfile(file.name, np.float32)
        sizes = [math.prod(net.shapes[name]) for name in net.outputs]
        if len(data) != sum(sizes):
            raise Failure(f"{len(data)} output values instead of {sum(sizes)}")
        return np.split(data, np.cumsum(sizes)[:-1])


def in_our_order(net, name, value, kind):
    """Flat, in the order of the network's description, which has pictures as NHWC."""
    n, *inner = net.shapes[name]
    if name in net.pictures and kind != "tflite":
        h, w, c = inner
        value = value.reshape(n, c, h, w).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(value, np.float32).reshape(-1)


def difference(a, b, reference):
    """Largest difference of two lists of outputs, each as a share of the largest value of the reference's output."""
    worst = 0.0
    for x, y, r in zip(a, b, reference, strict=True):
        if x.shape != r.shape or y.shape != r.shape:
            raise Failure(f"an output has {x.size} and {y.size} elements instead of {r.size}")
        share = float(np.max(np.abs(x - y))) / (float(np.max(np.abs(r))) or 1.0)
        worst = max(worst, share) if math.isfinite(share) else math.inf
    return worst


def load(name):
    path = HERE / "elementwise" / f"{name}.json" if name in ELEMENTWISE else networks.HERE / f"{name}.json"
    net = Network(path)
    net.path = path
    return net


def say(text):
    print(text, file=sys.stderr, flush=True)


def model_digest(net, kind):
    """Changes with all that a model is made from."""
    environment, script, source = BUILDERS[kind]
    digest = hashlib.sha256(json.dumps([net.text[key] for key in ("int8", "inputs", "outputs", "tensors", "layers", "ranges")]).encode())
    sources = [HERE / "network.py", pathlib.Path(networks.__file__), HERE / script, BUILD / f"env-{environment}/requirements"]
    for file in sources + ([HERE / BUILDERS[source][1]] if source else []):
        digest.update(file.read_bytes() if file.exists() else b"")
    return digest.hexdigest()


def prepare(net, kinds):
    """Builds the models that are not there yet: their folder, and {kind: why it failed}."""
    folder, failed = BUILD / "models" / net.name, {}
    folder.mkdir(parents=True, exist_ok=True)
    for kind in kinds_for(kinds):
        environment, script, _ = BUILDERS[kind]
        stamp, digest = folder / f"{kind}.stamp", model_digest(net, kind)
        if stamp.exists() and stamp.read_text() == digest:
            continue
        say(f"{net.name}: building {kind} models")
        stamp.unlink(missing_ok=True)
        log = BUILD / f"logs/{net.name}-build-{kind}.log"
        try:
            with open(log, "wb") as out:
                subprocess.run([python(environment), HERE / script, net.path, folder], stdout=out, stderr=out, check=True, timeout=900)
            stamp.write_text(digest)
        except (OSError, subprocess.SubprocessError) as error:
            last = (log.read_text("utf-8", "replace").strip().splitlines() or [str(error)])[-1]
            failed[kind] = f"no model: {' '.join(last.split())[:250]}"
            say(f"{net.name}: {kind}: {failed[kind]}")
    return folder, failed


def reference(net, folder, cpus):
    """Outputs in fp32 by ONNX Runtime, kept beside its model."""
    kept, stamp = folder / "reference.npz", folder / "onnx.stamp"
    if not kept.exists() or kept.stat().st_mtime < stamp.stat().st_mtime:
        engine = PeerEngine(PEERS[0], folder, "fp32", cpus)
        try:
            np.savez(kept, **{str(i): value for i, value in enumerate(engine.outputs(net))})
        finally:
            engine.close()
    with np.load(kept) as stored:
        return [stored[str(i)] for i in range(len(stored.files))]


def take_turns(engines, rounds, seconds, peak):
    """({name: (all wall times, CPU time per run of each round)}, {name: why it failed}); `seconds` is about what one turn takes.

    The peak is measured in every round: one in which it is low was disturbed and is repeated, up to three times as many rounds in all.
    """
    counts, found, failed, taken = {}, {name: ([], []) for name in engines}, {}, []
    for turn in range(3 * rounds + 1):
        before, this = peak.measure(), {}
        for name, engine in engines.items():
            if name in failed:
                continue
            try:
                this[name] = engine.run(counts.get(name, 3))
            except Failure as failure:
                failed[name] = str(failure)
                continue
            if not turn:  # warms up and says how long a run takes
                counts[name] = max(2, min(2000, round(seconds * 1e3 / max(min(this[name][0]), 1e-3))))
            time.sleep(PAUSE)
        if turn:
            taken.append((min(before, peak.measure()), this))
        if sum(peak.is_quiet(rate) for rate, _ in taken) >= rounds:
            break
    quiet = [this for rate, this in taken if peak.is_quiet(rate)]
    for this in quiet or [this for _, this in taken]:
        for name, (walls, cpu) in this.items():
            found[name][0].extend(walls)
            found[name][1].append(cpu)
    return found, failed, len(quiet)


def compare(net, dtype, peers, settings, peak):
    """The rows of one network in one dtype."""
    folder, no_model = prepare(net, {"onnx", *(peer.kind for peer in peers)})
    rows = {peer.name: {"network": net.name, "dtype": dtype, "peer": peer.name, "peer_ms": None, "ours_ms": None, "ratio": None,
                        "max_error": None, "threads": len(settings.cpus), **({"part": peer.part} if peer.part else {})}
            for peer in peers}
    ours_error = None
    try:
        truth = reference(net, folder, settings.cpus)
    except (Failure, OSError) as failure:
        return [{**row, "error": f"no reference outputs: {failure}"} for row in rows.values()]

    def start(cpus, record):
        """Engines that work, by name; ours and ours without the inline device first."""
        nonlocal ours_error
        engines = {}

        def add(name, make):
            try:
                engines[name] = make()
                return engines[name]
            except (Failure, OSError) as failure:
                return str(failure)
        if settings.ours:
            got = add("ours", lambda: OurEngine(settings.ours, net, dtype, cpus, True))
            if isinstance(got, str):
                ours_error = ours_error or got
            elif net.name in SMALL and record:
                add("ours-plain", lambda: OurEngine(settings.ours, net, dtype, cpus, False))
        for peer in peers:
            if rows[peer.name].get("error"):
                continue
            got = no_model.get(peer.kind) or add(peer.name, lambda: start_peer(peer, folder, dtype, cpus))
            if isinstance(got, str):
                rows[peer.name]["error"] = got
            elif record:
                rows[peer.name].update({key: got.about[key] for key in ("version", "settings")})
        return engines

    say(f"{net.name} {dtype}: starting")
    engines = start(settings.cpus, True)
    try:
        # Nothing is timed before outputs agree.
        values = {}
        for name, engine in list(engines.items()):
            try:
                if isinstance(engine, LayersEngine):
                    error = rows[name]["max_error"] = rows[name]["peer_error"] = engine.about["max_error"]
                else:
                    values[name] = engine.outputs(net)
                    error = difference(values[name], truth, truth)
                if not error <= LIMITS[dtype]:
                    raise Failure(f"outputs differ from ONNX Runtime's in fp32 by {error:.2g} of the largest, more than {LIMITS[dtype]:g}")
            except Failure as failure:
                if name == "ours":
                    ours_error = str(failure)
                elif name in rows:
                    rows[name]["error"] = str(failure)
                engines.pop(name).close()
        for name, row in rows.items():
            if name in values:
                row["max_error"] = difference(values[name], values.get("ours", truth), truth)
                row["peer_error"] = difference(values[name], truth, truth)
                if "ours" in values:
                    row["ours_error"] = difference(values["ours"], truth, truth)
        if settings.ours and "ours" in engines:
            compiled = engines["ours"].about
            for row in rows.values():
                row.update({key: compiled[key] for key in ("steps", "launches", "compile_ms", "first_run_ms") if key in compiled})
        found, failed, quiet = take_turns(engines, settings.rounds, settings.seconds, peak)
        for row in rows.values():
            row["quiet_rounds"] = quiet
    finally:
        for engine in engines.values():
            engine.close()
    one = {}
    if settings.one_thread:
        engines = start(settings.cpus[:1], False)
        try:
            one, _, _ = take_turns(engines, max(2, settings.rounds // 2), settings.seconds, peak)
        finally:
            for engine in engines.values():
                engine.close()
    ours_error = ours_error or failed.get("ours")
    for name, row in rows.items():
        if name in failed:
            row["error"] = failed[name]
        finish(row, net, found.get(name), found.get("ours"), found.get("ours-plain"), one.get(name), one.get("ours"))
        if ours_error:
            row["ours_failed"] = ours_error
            if not row.get("error"):
                row["error"] = f"ours: {ours_error}"
    return list(rows.values())


def finish(row, net, peer, ours, plain, peer_one, ours_one):
    """Times and ratios of one row from what was measured."""
    least = lambda times: min(times[0]) if times and times[0] else None
    middle = lambda times: statistics.median(times[0]) if times and times[0] else None
    cpu = lambda times: min(times[1]) if times and times[1] else None
    row.update(peer_ms=least(peer), ours_ms=least(ours), peer_median_ms=middle(peer), ours_median_ms=middle(ours), peer_cpu_ms=cpu(peer_one),
               ours_cpu_ms=cpu(ours_one))
    if plain and plain[0]:
        row["ours_plain_ms"] = least(plain)
    row["ratio"] = report.ratio(row["peer_ms"], row["ours_ms"])
    row["cpu_ratio"] = report.ratio(row["peer_cpu_ms"], row["ours_cpu_ms"])
    if row["ours_ms"] and net.text["macs"]:
        row["ours_gops"] = 2e-6 * net.text["macs"] / row["ours_ms"]


class Peak:
    """The most that the cores do, measured in every round; the best of all times counts."""

    def __init__(self, cpus):
        self.best = {}
        binary = BUILD / "peak"
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-march=native", "-pthread", HERE / "peak.c", "-o", binary], check=True)
        self.child = Child([binary, len(cpus)], cpus, BUILD / "logs/peak.log")

    def measure(self):
        told = self.child.ask("")
        for key, value in told.items():
            self.best[key] = max(value, self.best.get(key, 0))
        return told["fp32"]

    def is_quiet(self, rate):
        """Whether a rate measured in fp32 says that all cores were ours."""
        return rate > 0.9 * self.best["fp32"]


def main(arguments):
    settings = choose(arguments)
    (BUILD / "logs").mkdir(parents=True, exist_ok=True)
    if settings.prepare:
        for name in settings.networks:
            prepare(load(name), {peer.kind for peer in settings.peers})
        return 0
    started, rows, peak = time.monotonic(), [], Peak(settings.cpus)
    for name in settings.networks:
        net = load(name)
        for dtype in ("fp32", "relaxed", "int8"):
            if settings.dtype and dtype not in settings.dtype or dtype == "relaxed" and name not in RELAXED or dtype == "int8" and name in ELEMENTWISE:
                continue
            able = [peer for peer in settings.peers if dtype in peer.dtypes and not (peer.part and name in ELEMENTWISE)]
            if able:
                rows += compare(net, dtype, able, settings, peak)
                say(report.table([row for row in rows if row["network"] == net.name and row["dtype"] == dtype]))
    peak.child.close()
    for row in rows:
        top = peak.best.get("int8" if row["dtype"] == "int8" else "fp32")
        if row.get("ours_gops") and top and not (row["dtype"] == "int8" and net_is_partly_float(row["network"])):
            row["share"] = row["ours_gops"] / top
    versions = {row["peer"]: f"{row['peer']} {row['version']} ({row['threads']} threads, {row['settings']})" for row in rows if row.get("version")}
    print("\n".join(["ours against:", *("  " + text for text in versions.values()),
                     f"peak of {len(settings.cpus)} cores in this run: " + ", ".join(f"{k} {v:.0f} GOP/s" for k, v in peak.best.items()),
                     f"cores {settings.cpus}, {settings.rounds} rounds of about {settings.seconds} s, {time.monotonic() - started:.0f} s in all", ""]))
    print(report.table(rows))
    report.write_json(rows, settings.output)
    title = f"peer's time / ours, {len(settings.cpus)} threads: right of 1 we are faster"
    settings.output.with_suffix(".svg").write_text(report.svg(rows, title), "utf-8")
    print(f"wrote {settings.output} and {settings.output.with_suffix('.svg')}")
    missing = report.problems(rows, NETWORKS)
    for problem in missing:
        print(f"incomplete: {problem}")
    return 0


def net_is_partly_float(name):
    return name in ("bert_base", "lstm")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
