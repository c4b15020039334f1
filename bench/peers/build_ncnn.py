#!/usr/bin/env python3
"""Writes one of our networks for ncnn. Runs in the environment that has ncnn and pnnx, after build_onnx.py.

build_ncnn.py NETWORK.json FOLDER      FOLDER/fp32.param and .bin, FOLDER/int8.param and .bin, from FOLDER/fp32.onnx
pnnx converts and fuses. It does not lower ONNX's LSTM, so networks of LSTMs are written here. ncnn's own quantizer is not in the
package: its format is written here, with symmetric scales of 127 / largest value, per output channel where ncnn allows it.
"""
import pathlib, shutil, subprocess, sys, sysconfig, tempfile

import numpy as np

from network import Network

INT8_TAG, FLOAT_TAG = b"\x38\x4b\x0d\x00", b"\0\0\0\0"  # what stands before weights: 0x000D4B38 or none


class Layer:
    """One line of a .param file: type, name, inputs, outputs and numbered parameters."""

    def __init__(self, line):
        words = line.split()
        self.type, self.name, bottoms, tops = words[0], words[1], int(words[2]), int(words[3])
        self.bottoms, self.tops = words[4:4 + bottoms], words[4 + bottoms:4 + bottoms + tops]
        self.params = dict(word.split("=", 1) for word in words[4 + bottoms + tops:])

    def get(self, key, default=0):
        return int(self.params.get(str(key), default))

    def line(self):
        parts = [self.type, self.name, len(self.bottoms), len(self.tops), *self.bottoms, *self.tops]
        return " ".join(map(str, parts + [f"{k}={v}" for k, v in self.params.items()]))


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def floats(self, count):
        self.at += 4 * count
        return np.frombuffer(self.data, np.float32, count, self.at - 4 * count)

    def tagged(self, count):
        tag = self.data[self.at:self.at + 4]
        if tag != FLOAT_TAG:
            raise ValueError(f"weights at byte {self.at} are not float32 (tag {tag.hex()})")
        self.at += 4
        return self.floats(count)


def tagged_floats(values):
    return FLOAT_TAG + np.asarray(values, np.float32).tobytes()


def quantized(values, rows):
    """Tagged int8 weights, padded to four bytes, and one scale per row: the number that weights were multiplied with."""
    values = values.reshape(rows, -1)
    largest = np.abs(values).max(axis=1)
    scales = np.where(largest == 0, 1, 127 / largest).astype(np.float32)
    q = np.clip(np.rint(values * scales[:, None]), -127, 127).astype(np.int8).tobytes()
    return INT8_TAG + q + b"\0" * (-len(q) % 4), scales.tobytes()


def input_scale(largest):
    return np.float32(127 / largest if largest else 1).tobytes()


def requantized(layer, layers):
    """The layer that alone reads this one's output, where both are convolutions: then the tensor between them is int8."""
    readers = [reader for reader in layers if layer.tops[0] in reader.bottoms]
    kinds = ("Convolution", "ConvolutionDepthWise")
    return readers[0] if len(readers) == 1 and readers[0].type in kinds and layer.type in kinds else None


def quantize(layers, data, largest):
    """The .bin of the int8 network; writes int8_scale_term into the layers. largest: {tensor: largest absolute value}."""
    read, out = Reader(data), []
    for layer in layers:
        kind = layer.type
        if kind in ("Convolution", "ConvolutionDepthWise", "InnerProduct"):
            dense = kind == "InnerProduct"
            weights = read.tagged(layer.get(2 if dense else 6))
            bias = read.floats(layer.get(0)) if layer.get(1 if dense else 5) else None
            # Depthwise has one scale per group; grouped convolutions of ours are always depthwise.
            term = 1 if kind == "ConvolutionDepthWise" else 2
            q, scales = quantized(weights, layer.get(0))
            out += [q, b"" if bias is None else bias.tobytes(), scales, input_scale(largest[layer.bottoms[0]])]
            if next_layer := requantized(layer, layers):
                term += 100
                out.append(input_scale(largest[next_layer.bottoms[0]]))
            layer.params["8"] = term
        elif kind == "LayerNorm":
            if layer.get(2, 1):
                out.append(read.floats(2 * layer.get(0)).tobytes())
        elif kind == "Gemm":
            rows, inner = layer.get(8), layer.get(9)
            if layer.get(4) or not layer.get(5) or not layer.get(3) or layer.get(10) not in (-1, 4):
                raise ValueError(f"{layer.name}: only B^T and C of one row are expected to be constant")
            q, scale = quantized(read.tagged(rows * inner), 1)
            out += [q, tagged_floats(read.tagged(rows)) if layer.get(6) else b"", scale]
            layer.params["18"] = 1
        elif kind == "MultiHeadAttention":
            width, scales = layer.get(0), []
            for at, rows in enumerate((width, width, width, 1)):  # query, key, value, output
                q, scale = quantized(read.tagged(layer.get(2)), rows)
                out += [q, read.floats(width).tobytes()]
                scales.append(scale)
            out += scales
            layer.params["18"] = 1
        elif kind == "LSTM":
            count, units = layer.get(1), layer.get(0)
            x, scale_x = quantized(read.tagged(count), 4 * units)
            bias = tagged_floats(read.tagged(4 * units))
            h, scale_h = quantized(read.tagged(4 * units * units), 4 * units)
            out += [x, bias, h, scale_x, scale_h]
            layer.params["8"] = 2
        elif kind in ("MemoryData", "BatchNorm", "Scale", "PReLU", "Embed", "Deconvolution"):
            raise ValueError(f"{layer.name}: {kind} is not known here")
    if read.at != len(data):
        raise ValueError(f"{len(data) - read.at} bytes of weights are left over")
    return b"".join(out)


def largest_values(folder, net, wanted):
    """Runs the fp32 network once: {tensor: largest absolute value} of what the layers to be quantized read."""
    import ncnn
    with np.load(folder / "inputs.npz") as stored:
        inputs = [stored[str(i)] for i in range(len(stored.files))]
    found = ncnn.Net()
    found.opt.use_fp16_packed = found.opt.use_fp16_storage = found.opt.use_fp16_arithmetic = False
    found.load_param(str(folder / "fp32.param"))
    found.load_model(str(folder / "fp32.bin"))
    extractor = found.create_extractor()
    extractor.set_light_mode(False)
    for name, x in zip(found.input_names(), inputs):
        extractor.input(name, ncnn.Mat(np.ascontiguousarray(x[0])).clone())
    largest = {}
    for name in wanted:
        code, value = extractor.extract(name)
        if code:
            raise RuntimeError(f"ncnn does not compute {name} (code {code})")
        largest[name] = float(np.abs(np.array(value)).max())
    return largest


def write_param(path, layers):
    blobs = sum(len(layer.tops) for layer in layers)
    path.write_text("\n".join(["7767517", f"{len(layers)} {blobs}", *(layer.line() for layer in layers)]) + "\n")


def convert(folder):
    pnnx = pathlib.Path(sysconfig.get_path("purelib")) / "pnnx/pnnx"  # its Python package would import torch
    with tempfile.TemporaryDirectory() as scratch:
        shutil.copy(folder / "fp32.onnx", f"{scratch}/net.onnx")
        done = subprocess.run([pnnx, "net.onnx", "fp16=0"], cwd=scratch, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode or not pathlib.Path(scratch, "net.ncnn.param").exists():
            raise RuntimeError(f"pnnx returned {done.returncode}: {done.stdout[-300:]}")
        shutil.copy(f"{scratch}/net.ncnn.param", folder / "fp32.param")
        shutil.copy(f"{scratch}/net.ncnn.bin", folder / "fp32.bin")


def recurrent(net, folder):
    layers, data, at = [Layer("Input in0 0 1 in0")], [], "in0"
    for i, layer in enumerate(net.layers):
        w, units = net.weights(layer), layer["units"]
        order = [0, 1, 3, 2]  # i, f, o, g
        top = "out0" if i == len(net.layers) - 1 else layer["name"]
        layers.append(Layer(f"LSTM {layer['name']} 1 1 {at} {top} 0={units} 1={w['weights'].size} 2=0"))
        data += [tagged_floats(w[part][order]) for part in ("weights", "bias", "recurrent")]
        at = top
    write_param(folder / "fp32.param", layers)
    (folder / "fp32.bin").write_bytes(b"".join(data))


def main(path, folder):
    folder = pathlib.Path(folder)
    net = Network(path)
    recurrent(net, folder) if any(layer["op"] == "lstm" for layer in net.layers) else convert(folder)
    layers = [Layer(line) for line in (folder / "fp32.param").read_text().splitlines()[2:] if line.strip()]
    for layer in layers:
        if layer.type == "Softmax":  # all of ours are over the last dimension; pnnx counts the batch where nothing else tells it apart
            layer.params["0"] = -1
    write_param(folder / "fp32.param", layers)
    if net.int8 == "none":
        return
    wanted = [layer.bottoms[0] for layer in layers if layer.type in ("Convolution", "ConvolutionDepthWise", "InnerProduct")]
    data = quantize(layers, (folder / "fp32.bin").read_bytes(), largest_values(folder, net, wanted))
    write_param(folder / "int8.param", layers)
    (folder / "int8.bin").write_bytes(data)


if __name__ == "__main__":
    main(*sys.argv[1:])
