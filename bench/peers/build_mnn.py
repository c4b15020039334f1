#!/usr/bin/env python3
"""Writes one of our networks for MNN. Runs in the environment that has MNN, after build_onnx.py.

build_mnn.py NETWORK.json FOLDER      FOLDER/fp32.mnn, FOLDER/int8.mnn and FOLDER/mnn.json (names of inputs and outputs), from FOLDER/fp32.onnx
The functions behind mnnconvert and mnnquant are called as such: the commands of the package run `pip install` for another package, outside of
this environment, and report what was converted. Where our int8 version has int8 tensors, so has MNN's: by its quantizer, calibrated with our
input; its converter does not read the QDQ model. For int8 products between float tensors it has int8 weights only, which are float32 again
before they are multiplied.
"""
import json, pathlib, subprocess, sys, tempfile

import numpy as np

from network import Network

CONVERT = "import sys, _tools; _tools.mnnconvert(['mnnconvert', *sys.argv[1:]])"
QUANTIZE = "import sys, _tools; _tools.mnnquant(['mnnquant', *sys.argv[1:]])"
# Of features and weights: the quantizer's default first, and the slow one, which finds scales where the others fail, last.
METHODS = (("KL", "MAX_ABS"), ("EMA", "MAX_ABS"), ("ADMM", "ADMM"))
GOOD = 0.1  # largest difference from float32, as a share of the largest output, with which no other is tried


def run(code, *arguments):
    """In a process of its own: mistakes abort it, and some successes are none."""
    done = subprocess.run([sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise RuntimeError(f"MNN's tool ended with status {done.returncode}: {' '.join(done.stdout.split())[-250:]}")


def convert(source, target, *more):
    target.unlink(missing_ok=True)
    run(CONVERT, "-f", "ONNX", "--modelFile", source, "--MNNModel", target, "--bizCode", "peers", *more)
    if not target.exists():
        raise RuntimeError(f"MNN's converter wrote no {target.name}")


def computed(model, inputs):
    """Outputs of a model, as engine.py computes them."""
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run([sys.executable, pathlib.Path(__file__).with_name("engine.py"), "mnn", model, inputs, "1"],
                              input=f"outputs {scratch}/outputs\n", stdout=subprocess.PIPE, text=True)
        told = json.loads(done.stdout.splitlines()[-1])
        if "outputs" not in told:
            raise RuntimeError(told["error"])
        sizes = [int(np.prod(shape)) for shape in told["outputs"]]
        return np.split(np.fromfile(f"{scratch}/outputs", np.float32), np.cumsum(sizes)[:-1])


def quantize(net, folder, method, target):
    with np.load(folder / "inputs.npz") as stored, tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        sample = scratch / "samples/0"  # a folder per set of inputs
        sample.mkdir(parents=True)
        for i, name in enumerate(net.inputs):
            np.savetxt(sample / f"{name}.txt", stored[str(i)].reshape(-1), "%.9g")
        shapes = [{"name": name, "shape": list(stored[str(i)].shape)} for i, name in enumerate(net.inputs)]
        (sample / "input.json").write_text(json.dumps({"inputs": shapes, "outputs": net.outputs}))
        # It insists on the fields of pictures.
        settings = {"input_type": "sequence", "path": f"{scratch}/samples/", "used_sample_num": 1, "used_image_num": 1, "batch_size": 1,
                    "feature_quantize_method": method[0], "weight_quantize_method": method[1], "format": "RGB", "mean": [0, 0, 0],
                    "normal": [1, 1, 1], "width": 1, "height": 1, "model": net.name}
        (scratch / "quantize.json").write_text(json.dumps(settings))
        run(QUANTIZE, folder / "fp32.mnn", target, scratch / "quantize.json")
    if not target.exists():
        raise RuntimeError("MNN's quantizer wrote no model")


def quantize_all(net, folder):
    """FOLDER/int8.mnn of int8 tensors; how its scales were found."""
    truth, best = computed(folder / "fp32.mnn", folder / "inputs.npz"), None
    for method in METHODS:
        target = folder / f"int8-{method[0]}.mnn"
        quantize(net, folder, method, target)
        pairs = zip(computed(target, folder / "inputs.npz"), truth, strict=True)
        off = max(float(np.abs(y - t).max() / (np.abs(t).max() or 1)) for y, t in pairs)
        print(f"{method}: {off:.3g} from float32")
        if best is None or off < best[0]:
            best = off, target, method
        if best[0] < GOOD:
            break
    best[1].replace(folder / "int8.mnn")
    for method in METHODS:
        (folder / f"int8-{method[0]}.mnn").unlink(missing_ok=True)
    return f"int8 tensors by its quantizer ({best[2][0]})"


def main(path, folder):
    folder = pathlib.Path(folder)
    net = Network(path)
    fp32, int8, why = folder / "fp32.mnn", folder / "int8.mnn", folder / "int8-mnn.txt"
    about = {"inputs": net.inputs, "outputs": net.outputs}
    told = folder / "mnn.json"
    told.write_text(json.dumps(about))
    recurrent = any(layer["op"] == "lstm" for layer in net.layers)
    more = ["--useOriginRNNImpl"] if recurrent else []  # else a loop of small operators, which sessions do not run
    convert(folder / "fp32.onnx", fp32, *more)
    int8.unlink(missing_ok=True)
    why.unlink(missing_ok=True)
    if net.int8 in ("dense", "lstm"):
        convert(folder / "fp32.onnx", int8, "--weightQuantBits", "8", *more)
        about["int8"] = "int8 weights only, products in float32"
        if int8.stat().st_size > 0.9 * fp32.stat().st_size:
            int8.unlink()
            why.write_text("MNN's converter leaves the weights of this network in float32\n")
    elif net.int8 == "all":
        about["int8"] = quantize_all(net, folder)
    told.write_text(json.dumps(about))


if __name__ == "__main__":
    main(*sys.argv[1:])
