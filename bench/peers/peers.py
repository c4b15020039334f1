#!/usr/bin/env python3
"""Our networks beside other runtimes: the same layers, weights and inputs, on the same two cores, in one run. Started by scripts/peers.sh.

Each engine is a process that stays alive and only computes when asked; they take turns in rounds, so that what disturbs the machine
disturbs all of them. docs/peers.md says what is measured and how to read it.
"""
import array, contextlib, hashlib, json, math, operator, os, pathlib, select, statistics, subprocess, sys, tempfile, time

import report
from network import Network, networks
from options import BUILD, BUILDERS, ELEMENTWISE, NETWORKS, NOTHING, PEERS, RELAXED, SMALL, choose, kinds_for

HERE = pathlib.Path(__file__).resolve().parent
# How far outputs may be from those of ONNX Runtime in fp32, as a share of the largest output, before a time counts.
LIMITS = {"fp32": 1e-3, "relaxed": 0.1, "int8": 0.15}
PAUSE = 0.02  # seconds; runtimes that spin after a run stop before the next one starts


class Failure(Exception):
    """What the user is told in the row of the table."""


class Finding(Failure):
    """One that is a result like a time: another run would find it again."""


def why(error):
    """What the row says. Whatever an engine answers may cost its own row only, so errors of any kind end here."""
    return str(error) if isinstance(error, Failure) else f"{type(error).__name__}: {error}"


def no_number(word):
    """For json: NaN and infinities are no JSON, and could not be written into the table's."""
    raise ValueError(word)


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

    def ready(self, check=lambda told: None):
        """What it says of itself first. One that is not as `check` wants it does not stay behind to disturb the others."""
        try:
            told = self.answer()
            check(told)
        except BaseException:
            self.close()
            raise
        return told

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
            told = json.loads(line, parse_constant=no_number)
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
        self.about = self.ready()

    def run(self, count):
        told = self.ask(f"run {count}")
        return told["wall_ms"], told["cpu_ms"]

    def outputs(self, net):
        with tempfile.NamedTemporaryFile() as file:
            shapes = self.ask(f"outputs {file.name}")["outputs"]
            data = floats(file.name)
        if len(shapes) != len(net.outputs):
            raise Failure(f"{len(shapes)} outputs instead of {len(net.outputs)}")
        return [in_our_order(net, name, value, self.peer.kind) for name, value in zip(net.outputs, split(net, data))]


class LayersEngine(Child):
    """oneDNN's primitives one after the other. It has compared what each of them computes with ONNX Runtime's when it is ready."""

    def __init__(self, peer, folder, dtype, cpus):
        binary, layers = BUILD / "onednn_layers", peer.model(folder, dtype)
        if not binary.exists():
            raise Failure("oneDNN or a compiler is missing here, so its program was not built")
        super().__init__([binary, layers, folder / "layers.bin"], cpus, BUILD / f"logs/{folder.name}-{dtype}-{peer.name}-{len(cpus)}.log",
                         {"OMP_NUM_THREADS": str(len(cpus)), "OMP_PROC_BIND": "true"})
        self.about = self.ready()

    def run(self, count):
        told = self.ask(f"run {count}")
        # The least of these is the sum of the least times of all layers.
        return [*told["wall_ms"], told["sum_of_least_ms"]], told["cpu_ms"]


def start_peer(peer, folder, dtype, cpus):
    reason = folder / f"{dtype}-{peer.name}.txt"  # written by a builder
    if reason.exists():
        raise Finding(f"no model: {reason.read_text('utf-8').strip()}")
    return (LayersEngine if peer.part else PeerEngine)(peer, folder, dtype, cpus)


class OurEngine(Child):
    def __init__(self, binary, net, dtype, cpus, inline):
        kind = {"fp32": "f32"}.get(dtype, dtype)
        name = os.path.relpath(net.path, networks.HERE).removesuffix(".json")
        expected = net.text.get("expected_int8" if dtype == "int8" else "expected")
        # PoCL counts all CPUs of the machine, and binds its worker i to CPU i, which is right only where ours are the first ones.
        super().__init__([binary, "--serve", name, kind], cpus, BUILD / f"logs/{net.name}-{dtype}-ours-{len(cpus)}-{inline}.log",
                         {"TIMCL_INLINE": str(int(inline)), "POCL_KERNEL_CACHE": "1", "POCL_MAX_PTHREAD_COUNT": str(len(cpus)),
                          "POCL_CPU_MAX_CU_COUNT": str(len(cpus)), "POCL_AFFINITY": str(int(cpus == list(range(len(cpus)))))})

        def check(told):
            if expected and told.get("check") != "as expected":
                raise Failure(f"its own check says: {told.get('check')}")
        self.about = self.ready(check)

    def run(self, count):
        told = self.ask(f"run {count}")
        return [t / 1e3 for t in told["wall_us"]], statistics.fmean(told["cpu_us"]) / 1e3

    def outputs(self, net):
        with tempfile.NamedTemporaryFile() as file:
            self.ask(f"output {file.name}")
            return split(net, floats(file.name))


def floats(path):
    return array.array("f", pathlib.Path(path).read_bytes())


def split(net, data):
    """The outputs, flat, one by one."""
    sizes = [math.prod(net.shapes[name]) for name in net.outputs]
    if len(data) != sum(sizes):
        raise Failure(f"{len(data)} output values instead of {sum(sizes)}")
    return [data[sum(sizes[:i]):sum(sizes[:i + 1])] for i in range(len(sizes))]


def in_our_order(net, name, value, kind):
    """An output in the order of the network's description, which has pictures as NHWC."""
    if name not in net.pictures or kind == "tflite":
        return value
    n, h, w, c = net.shapes[name]
    plane, found = h * w, array.array("f", value)
    for i in range(n * c):
        first = i // c * c * plane + i % c
        found[first:first + c * plane:c] = value[i * plane:(i + 1) * plane]
    return found


def difference(a, b, reference):
    """Largest difference of two lists of outputs, each as a share of the largest value of the reference's output."""
    sizes = [[len(value) for value in values] for values in (a, b, reference)]
    if sizes != [sizes[2]] * 3:
        raise Failure(f"outputs of {sizes[0]} and {sizes[1]} elements instead of {sizes[2]}")
    if not all(all(map(math.isfinite, value)) for value in (*a, *b)):
        raise Failure("an output is NaN or infinite")
    return max(max(map(abs, map(operator.sub, x, y))) / (max(map(abs, r)) or 1.0) for x, y, r in zip(a, b, reference))


def load(name):
    path = HERE / "elementwise" / f"{name}.json" if name in (*ELEMENTWISE, NOTHING) else networks.HERE / f"{name}.json"
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
    kept, stamp = folder / "reference.f32", folder / "onnx.stamp"
    if not kept.exists() or kept.stat().st_mtime < stamp.stat().st_mtime:
        engine = PeerEngine(PEERS[0], folder, "fp32", cpus)
        try:
            values = engine.outputs(net)
        finally:
            engine.close()
        difference(values, values, values)  # looks for what is no number
        report.write(kept, b"".join(value.tobytes() for value in values))
    return split(net, floats(kept))


def take_turns(engines, rounds, seconds, peak):
    """({name: (all wall times, CPU time per run of each round)}, {name: why it failed}, rounds without disturbance); `seconds` is about what
    one turn takes.

    The peak is measured in every round: one in which it is low was disturbed and is repeated, up to three times as many rounds in all.
    """
    counts, found, failed, taken, names = {}, {name: ([], []) for name in engines}, {}, [], list(engines)
    for turn in range(3 * rounds + 1):
        if len(failed) == len(names):
            break
        before, this, first = peak.measure(), {}, turn % len(names)
        time.sleep(PAUSE)
        for name in names[first:] + names[:first]:  # whoever follows the peak is another one each time
            if name in failed:
                continue
            try:
                this[name] = timed(engines[name], counts.get(name, 3))
            except Exception as failure:
                failed[name] = why(failure)
                engines[name].close()  # it may compute still
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
    return found, failed, len(quiet) if peak.best else None


def timed(engine, count):
    walls, cpu = engine.run(count)
    if not walls or not all(0 < wall < math.inf for wall in walls) or not 0 <= cpu < math.inf:
        raise Failure(f"told times that are none: {walls[:3]}, {cpu}")
    return walls, cpu


def calls(settings):
    """{engine: least microseconds of a run that computes nothing}, on one thread: no more than that is the way in which it is called."""
    net, cpus, engines = load(NOTHING), settings.cpus[:1], {peer.engine for peer in settings.peers}
    peers = [peer for peer in PEERS if peer.name in engines]
    folder, _ = prepare(net, {peer.kind for peer in peers})
    makers = {peer.name: lambda peer=peer: start_peer(peer, folder, "fp32", cpus) for peer in peers}
    if settings.ours:
        makers["ours"] = lambda: OurEngine(settings.ours, net, "fp32", cpus, True)
    found = {}
    for name, make in makers.items():
        try:
            with contextlib.closing(make()) as engine:
                found[name] = 1e3 * min(timed(engine, 2000)[0])
        except Exception as failure:
            say(f"{name}: what a call costs is not known: {why(failure)}")
    return found


def compare(net, dtype, peers, settings, peak):
    """The rows of one network in one dtype."""
    folder, no_model = prepare(net, {"onnx", *(peer.kind for peer in peers)})
    rows = {peer.name: {"network": net.name, "dtype": dtype, "peer": peer.name, "peer_ms": None, "ours_ms": None, "ratio": None,
                        "max_error": None, "threads": len(settings.cpus), **({"part": peer.part} if peer.part else {}),
                        **({"error": no_model[peer.kind]} if peer.kind in no_model else {})}
            for peer in peers}
    ours_error = None
    try:
        truth = reference(net, folder, settings.cpus)
    except Exception as failure:
        return [{**row, "error": f"no reference outputs: {no_model.get('onnx') or why(failure)}"} for row in rows.values()]

    def fails(name, error, explained=False):
        nonlocal ours_error
        if name == "ours":
            ours_error = ours_error or error
        elif name in rows:
            rows[name].update(error=error, **({"explained": True} if explained else {}))
        else:
            say(f"{net.name} {dtype} {name}: {error}")

    def start(cpus):
        """Engines that work, by name; ours and ours without the inline device first."""
        makers, engines = {}, {}
        if settings.ours and not ours_error:
            makers["ours"] = lambda: OurEngine(settings.ours, net, dtype, cpus, True)
            if net.name in SMALL and cpus == settings.cpus:
                makers["ours-plain"] = lambda: OurEngine(settings.ours, net, dtype, cpus, False)
        makers |= {peer.name: lambda peer=peer: start_peer(peer, folder, dtype, cpus) for peer in peers if "error" not in rows[peer.name]}
        for name, make in makers.items():
            try:
                engines[name] = make()
            except Exception as failure:
                fails(name, why(failure), isinstance(failure, Finding))
        return engines

    def judge(name, engine):
        """The outputs of an engine that may be timed; those of one layer after the other have been compared already."""
        if name in rows:
            rows[name].update({key: engine.about[key] for key in ("version", "settings")})
        if rows.get(name, {}).get("part"):
            values, error = None, engine.about["max_error"]
        else:
            values = engine.outputs(net)
            error = difference(values, truth, truth)
        if not error <= LIMITS[dtype]:
            raise Finding(f"outputs differ from ONNX Runtime's in fp32 by {error:.2g} of the largest, more than {LIMITS[dtype]:g}")
        if name in rows:
            rows[name].update(max_error=error, peer_error=error)
        return values

    def turns(engines, rounds):
        found, stopped, quiet = take_turns(engines, rounds, settings.seconds, peak)
        for name, error in stopped.items():
            fails(name, error)
        return found, quiet

    say(f"{net.name} {dtype}: starting")
    engines = start(settings.cpus)
    try:
        # Nothing is timed before outputs agree.
        values = {}
        for name in list(engines):
            try:
                values[name] = judge(name, engines[name])
            except Exception as failure:
                fails(name, why(failure), isinstance(failure, Finding))
                engines.pop(name).close()
        if "ours" in engines:
            compiled, error = engines["ours"].about, difference(values["ours"], truth, truth)
            for name, row in rows.items():
                row.update({key: compiled[key] for key in ("steps", "launches", "compile_ms", "first_run_ms") if key in compiled}, ours_error=error)
                if (compiled.get("rms_error") or -1) >= 0:  # negative where the network has no values to compare with
                    row["ours_rms_error"] = compiled["rms_error"]
                if values.get(name):
                    row["max_error"] = difference(values[name], values["ours"], truth)
        found, quiet = turns(engines, settings.rounds)
        for row in rows.values():
            row["quiet_rounds"] = quiet
    finally:
        for engine in engines.values():
            engine.close()
    one = {}
    if settings.one_thread:
        engines = start(settings.cpus[:1])
        try:
            one, _ = turns(engines, max(2, settings.rounds // 2))
        finally:
            for engine in engines.values():
                engine.close()
    for name, row in rows.items():
        finish(row, net, found.get(name), found.get("ours"), found.get("ours-plain"), one.get(name), one.get("ours"))
        if ours_error:
            row["ours_failed"] = ours_error
            row.setdefault("error", f"ours: {ours_error}")
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
        self.best, self.child, binary = {}, None, BUILD / "peak"
        try:
            subprocess.run([os.environ.get("CC", "cc"), "-O2", "-march=native", "-pthread", HERE / "peak.c", "-o", binary], check=True)
            self.child = Child([binary, len(cpus)], cpus, BUILD / "logs/peak.log")
            self.measure()
        except (OSError, subprocess.CalledProcessError) as error:
            say(f"peak.c cannot be built here ({error}): no share of the peak, and no round is found to be disturbed")

    def measure(self):
        if not self.child:
            return 0
        try:
            told = self.child.ask("")
        except Failure as failure:
            say(f"the peak cannot be measured: {failure}")
            self.close()
            return 0
        for key, value in told.items():
            self.best[key] = max(value, self.best.get(key, 0))
        return told["fp32"]

    def is_quiet(self, rate):
        """Whether a rate measured in fp32 says that all cores were ours; without a peak nobody knows, and all count."""
        return not self.best or rate > 0.9 * self.best["fp32"]

    def close(self):
        if self.child:
            self.child.close()
        self.best, self.child = {}, None


def complete(rows, peak, costs):
    """Adds to the rows what is known of the whole run."""
    for row in rows:
        top = peak.get("int8" if row["dtype"] == "int8" else "fp32")
        if row.get("ours_gops") and top and not (row["dtype"] == "int8" and net_is_partly_float(row["network"])):
            row["share"] = row["ours_gops"] / top
        known = {"wrapper_us": costs.get(row["peer"].split("-")[0]), "ours_wrapper_us": costs.get("ours")}
        row.update({key: cost for key, cost in known.items() if cost})


def measure_all(settings, peak, costs, rows, unfinished):
    """Adds the rows of each network as they come, to `rows` and to the file."""
    for name in settings.networks:
        net = load(name)
        for dtype in ("fp32", "relaxed", "int8"):
            if dtype == "relaxed" and name not in RELAXED or dtype == "int8" and name in ELEMENTWISE:
                continue
            if settings.dtype and dtype not in settings.dtype:
                continue
            able = [peer for peer in settings.peers if dtype in peer.dtypes and not (peer.part and name in ELEMENTWISE)]
            if able:
                more = compare(net, dtype, able, settings, peak)
                rows += more
                complete(rows, peak.best, costs)
                report.write_json(rows, unfinished)
                say(report.table(more))


def main(arguments):
    settings = choose(arguments)
    (BUILD / "logs").mkdir(parents=True, exist_ok=True)
    if settings.prepare:
        failed = [prepare(load(name), {peer.kind for peer in settings.peers})[1] for name in settings.networks]
        return int(any(failed))
    settings.output.parent.mkdir(parents=True, exist_ok=True)
    cores = f"cores {settings.cpus}" + ("" if len(settings.cpus) > 1 else ": there is one only, so both kinds of columns are of one thread")
    say(cores)
    started, rows, peak = time.monotonic(), [], Peak(settings.cpus)
    # A table that is there stays until this one is whole.
    unfinished = settings.output.with_suffix(".unfinished.json")
    try:
        costs = calls(settings)
        measure_all(settings, peak, costs, rows, unfinished)
    except KeyboardInterrupt:
        say(f"stopped; {unfinished} has the rows so far" if rows else "stopped before the first row")
        return 130
    best = dict(peak.best)
    peak.close()
    versions = {row["peer"]: f"{row['peer']} {row['version']} ({row['threads']} threads, {row['settings']})" for row in rows if row.get("version")}
    print("\n".join(["ours against:", *("  " + text for text in versions.values()),
                     f"peak of {len(settings.cpus)} cores in this run: " + (", ".join(f"{k} {v:.0f} GOP/s" for k, v in best.items()) or "not known"),
                     "a call that computes nothing, one thread: " + ", ".join(f"{k} {v:.2g} us" for k, v in costs.items()),
                     f"{cores}, {settings.rounds} rounds of about {settings.seconds} s, {time.monotonic() - started:.0f} s in all", ""]))
    print(report.table(rows))
    report.write_json(rows, settings.output)
    unfinished.unlink(missing_ok=True)
    title = f"peer's time / ours, {len(settings.cpus)} threads: right of 1 we are faster"
    report.write(settings.output.with_suffix(".svg"), report.svg(rows, title).encode())
    print(f"wrote {settings.output} and {settings.output.with_suffix('.svg')}")
    missing = report.unexplained(rows) + (report.problems(rows, NETWORKS) if settings.whole else [])
    for problem in missing:
        print(f"incomplete: {problem}")
    return int(bool(missing))


def net_is_partly_float(name):
    return name in ("bert_base", "lstm")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
