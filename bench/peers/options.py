#!/usr/bin/env python3
"""What can be measured, and the options of scripts/peers.sh. Standard library only: it runs before any environment is there.

options.py [OPTION]...      checks the options and prints what they need, one name per line: environments, and model_bench if it is to be built
"""
import argparse, dataclasses, os, pathlib, sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/peers"
NETWORKS = ["lenet", "resnet8", "mobilenet_v1_025", "ds_cnn", "autoencoder", "mobilenet_v2", "efficientnet_lite0", "ssd_mobilenet_v1",
            "yolov4_tiny", "resnet50", "bert_base", "lstm"]
SMALL = NETWORKS[:5]
ELEMENTWISE = ["tanh_1m", "sigmoid_1m", "softmax_1m", "layernorm_1m"]
NOTHING = "tanh_4"  # computes next to nothing: what it takes is what a call costs
RELAXED = ["resnet50", "bert_base"]  # where OpenVINO's default, products in bfloat16, is compared with our relaxed mode
QUICK = [*SMALL, "resnet50"]
# What builds each kind of model: environment, script, and the kind that it starts from.
BUILDERS = {"onnx": ("onnx", "build_onnx.py", None), "tflite": ("tf", "build_tflite.py", None), "ncnn": ("ncnn", "build_ncnn.py", "onnx"),
            "mnn": ("mnn", "build_mnn.py", "onnx"), "nncf": ("nncf", "build_nncf.py", "onnx"), "layers": ("onnx", "build_layers.py", "onnx")}
FILES = {"onnx": ".onnx", "tflite": ".tflite", "ncnn": ".param", "mnn": ".mnn", "nncf": "-nncf.xml", "layers": ".layers"}


@dataclasses.dataclass
class Peer:
    name: str
    environment: str
    kind: str  # which models it reads, see FILES
    options: tuple = ()
    dtypes: tuple = ("fp32", "int8")
    part: str = ""  # what of a network it runs, if not all of it

    @property
    def engine(self):
        return self.name.split("-")[0]

    def model(self, folder, dtype):
        stem = "fp32" if dtype == "relaxed" else dtype
        own = folder / f"{stem}-{self.engine}.onnx"
        return own if self.kind == "onnx" and own.exists() else folder / (stem + FILES[self.kind])

    def inputs(self, folder):
        return folder / ("inputs_nhwc.npz" if self.kind == "tflite" else "inputs.npz")


PEERS = [Peer("onnxruntime", "onnx", "onnx"), Peer("openvino", "onnx", "onnx", ("precision=f32",)),
         Peer("openvino-bf16", "onnx", "onnx", (), ("relaxed",)),
         Peer("openvino-nncf", "onnx", "nncf", ("precision=f32", "note=quantized by NNCF"), ("int8",)),
         Peer("litert", "litert", "tflite"), Peer("ncnn", "ncnn", "ncnn"), Peer("mnn", "mnn", "mnn"),
         Peer("onednn-layers", "onednn", "layers", part="layer by layer, convolutions and products only")]


def kinds_for(kinds):
    """These kinds of models and those that they are made from, in the order in which they are made."""
    wanted = {*kinds, *(BUILDERS[kind][2] for kind in kinds)}
    return [kind for kind in BUILDERS if kind in wanted]


def two_cpus(allowed, topology="/sys/devices/system/cpu"):
    """Two of these CPUs, of different cores where the system tells which CPUs are one core; one, if there is but one."""
    first, *others = sorted(allowed)
    try:
        text = pathlib.Path(topology, f"cpu{first}/topology/thread_siblings_list").read_text()
        ranges = [[int(end) for end in part.split("-")] for part in text.split(",")]
        same_core = {cpu for part in ranges for cpu in range(part[0], part[-1] + 1)}
    except (OSError, ValueError):
        same_core = set()
    return [first, *([cpu for cpu in others if cpu not in same_core] or others)[:1]]


def choose(arguments):
    parser = argparse.ArgumentParser(prog="scripts/peers.sh", description="Our networks beside other runtimes: the same layers, weights and "
                                     "inputs, on the same two cores, in one run.")
    parser.add_argument("--quick", action="store_true", help="a few minutes, once everything is made (the first time makes all that these "
                        "networks need for every peer; --peer limits that): the small networks and ResNet-50, fewer rounds")
    parser.add_argument("--network", action="append", choices=NETWORKS + ELEMENTWISE, metavar="NAME", help="only this one; may be repeated: "
                        + ", ".join(NETWORKS + ELEMENTWISE))
    parser.add_argument("--dtype", action="append", choices=["fp32", "int8", "relaxed"])
    parser.add_argument("--peer", action="append", choices=[p.name for p in PEERS])
    parser.add_argument("--ours", type=pathlib.Path, help="model_bench to measure (build/release/bench/model_bench, which is built before)")
    parser.add_argument("--no-ours", action="store_true", help="only the peers, among themselves")
    parser.add_argument("--no-build", action="store_true", help="take model_bench as it is")
    parser.add_argument("--rounds", type=int, help="turns of each engine (7)")
    parser.add_argument("--seconds", type=float, help="length of a turn (0.1)")
    parser.add_argument("--no-one-thread", action="store_true", help="without the CPU times of one thread")
    parser.add_argument("--prepare", action="store_true", help="only builds the models")
    parser.add_argument("--output", type=pathlib.Path, help="the picture goes beside it (build/peers.json; build/peers-<what was chosen>.json, "
                        "where not everything is measured)")
    got = parser.parse_args(arguments)
    got.cpus = two_cpus(os.sched_getaffinity(0))
    chosen = [word for word in ("quick", "no-ours", "no-one-thread") if getattr(got, word.replace("-", "_"))]
    chosen += [*(got.network or []), *(got.dtype or []), *(got.peer or [])]
    got.whole = not chosen  # a part has a file of its own, so that it never replaces the whole
    got.output = got.output or ROOT / "build" / ("-".join(["peers", *chosen])[:150] + ".json")
    got.rounds = got.rounds or (3 if got.quick else 7)
    got.seconds = got.seconds or (0.05 if got.quick else 0.1)
    got.one_thread = not got.no_one_thread
    got.networks = got.network or (QUICK if got.quick else NETWORKS + ELEMENTWISE)
    got.peers = [peer for peer in PEERS if (not got.peer or peer.name in got.peer) and (not got.dtype or {*peer.dtypes} & {*got.dtype})]
    if not got.peers:
        parser.error(f"none of these peers has {' or '.join(got.dtype)}")
    got.builds = not (got.no_ours or got.ours or got.no_build or got.prepare)
    got.ours = None if got.no_ours else got.ours or ROOT / "build/release/bench/model_bench"
    if got.ours and not got.builds and not got.prepare and not got.ours.is_file():
        parser.error(f"{got.ours} is not there: build it (cmake --preset release && cmake --build --preset release --target model_bench), name "
                     "another with --ours, or compare the peers alone with --no-ours")
    return got


def needs(settings):
    """Names of environments, and model_bench."""
    kinds = kinds_for({peer.kind for peer in settings.peers})
    # The driver and the reference outputs are of the first.
    names = ["onnx", *(peer.environment for peer in settings.peers), *(BUILDERS[kind][0] for kind in kinds)]
    return (["model_bench"] if settings.builds else []) + list(dict.fromkeys(names))


if __name__ == "__main__":
    print("\n".join(needs(choose(sys.argv[1:]))))
