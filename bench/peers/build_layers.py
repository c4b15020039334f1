#!/usr/bin/env python3
"""Writes the convolutions and products of one of our networks for onednn_layers. Runs in the environment of the driver, after build_onnx.py.

build_layers.py NETWORK.json FOLDER    FOLDER/fp32.layers, FOLDER/int8.layers, and FOLDER/layers.bin, which both point into
A line is a layer: words KEY=VALUE. Arrays are float32 in layers.bin, as EXTENTSxEXTENTS@FIRST; pictures are NCHW:
  op       conv, dense (src [rows, channels], weights [units, channels]) or matmul (batches of [m, k] and [k, n], in src and weights)
  src, weights, bias, dst     dst is what ONNX Runtime computes in fp32, after all of `post`
  stride, pads, groups        of a convolution, as in bench/networks
  post     what is fused, in order: relu, relu6, gelu, leaky:ALPHA, sum:ARRAY (in int8: sum:ARRAY:SCALE:ZERO)
  src_q, dst_q                SCALE:ZERO of uint8 tensors; without src_q the layer is float32, without dst_q its result
What follows a layer and is read by nobody else is fused: an addition, then one activation.
"""
import pathlib, sys

import numpy as np
import onnx
import onnxruntime

from build_onnx import Builder, TO_NCHW
from network import Network


class Arrays:
    """layers.bin as it grows; every tensor is there once."""

    def __init__(self, file):
        self.file, self.at, self.known = file, 0, {}

    def add(self, name, value):
        if name not in self.known:
            value = np.ascontiguousarray(value, np.float32)
            self.file.write(value.tobytes())
            self.known[name], self.at = self.at, self.at + value.size
        return self.known[name]

    def word(self, name, value, shape=None):
        return "x".join(map(str, shape or value.shape)) + f"@{self.add(name, value)}"


def every_tensor(net):
    """{tensor: value} by ONNX Runtime in fp32."""
    model = Builder(net, "fp32").model()
    names = [layer["output"] for layer in net.layers]
    known = {output.name for output in model.graph.output}
    model.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in names if name not in known)
    inputs = {name: net.input(name) for name in net.inputs}
    inputs = {name: np.ascontiguousarray(x.transpose(TO_NCHW)) if name in net.pictures else x for name, x in inputs.items()}
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return inputs | dict(zip(names, session.run(names, inputs), strict=True))


def chains(net):
    """(layer, the layers that are fused into it) of every convolution and product."""
    readers, taken, before = {}, set(), set(net.inputs)
    for layer in net.layers:
        for name in layer["inputs"]:
            readers.setdefault(name, []).append(layer)
    for layer in net.layers:
        before.add(layer["output"])
        if layer["op"] not in ("conv", "dense", "matmul"):
            continue
        fused, last = [], layer
        while last["output"] not in net.outputs and len(readers[last["output"]]) == 1:
            after = readers[last["output"]][0]
            active = any(part.get("activation", "none") != "none" or part["op"] in ("leaky_relu", "gelu") for part in [layer, *fused])
            if active or after["output"] in taken:
                break
            if after["op"] == "add" and not fused:
                other = next((name for name in after["inputs"] if name != last["output"]), None)
                if other not in before:  # that branch comes later and takes the addition
                    break
            elif after["op"] not in ("leaky_relu", "gelu"):
                break
            taken.add(after["output"])
            fused.append(after)
            last = after
        yield layer, fused


def describe(net, tensors, arrays, int8):
    lines = []
    for layer, fused in chains(net):
        op, source = layer["op"], layer["inputs"][0]
        quantized = int8 and (net.int8 == "all" or net.int8 == "dense" and op == "dense")
        if quantized and op == "matmul":
            raise ValueError(f"{layer['name']}: a product of two quantized tensors is not known here")
        encoding = lambda name: "{0:.9g}:{1}".format(*[part + 128 * at for at, part in enumerate(net.encoding(name))])
        q_out = quantized and net.int8 == "all"
        out = fused[-1]["output"] if fused else layer["output"]
        w = net.weights(layer)
        src, dst = tensors[source], tensors[out]
        words = {"name": layer["name"], "op": op}
        if op == "conv":
            for key in ("stride", "pads"):
                words[key] = ",".join(map(str, layer[key]))
            words["groups"] = layer["groups"]
            weights, shape_in, shape_out = w["weights"], src.shape, dst.shape
        elif op == "dense":
            weights = w["weights"].reshape(layer["units"], -1)
            shape_in, shape_out = [src.size // weights.shape[1], weights.shape[1]], [dst.size // weights.shape[0], weights.shape[0]]
        else:
            weights = tensors[layer["inputs"][1]]
            weights = np.swapaxes(weights, -1, -2) if layer["transpose_b"] else weights
            batched = lambda x: (x.size // (x.shape[-1] * x.shape[-2]), *x.shape[-2:])
            weights, shape_in, shape_out = weights.reshape(batched(weights)), batched(src), batched(dst)
        words["src"] = arrays.word(source, src, shape_in)
        words["weights"] = arrays.word(layer["name"] + "/weights", weights)
        if "bias" in w:
            words["bias"] = arrays.word(layer["name"] + "/bias", w["bias"])
        words["dst"] = arrays.word(out, dst, shape_out)
        post = []
        for part in [layer, *fused]:
            if part["op"] == "add":
                other = next(name for name in part["inputs"] if name not in (layer["output"], out))
                post.append(f"sum:{arrays.word(other, tensors[other], shape_out)}" + (f":{encoding(other)}" if q_out else ""))
            elif part["op"] == "leaky_relu":
                post.append(f"leaky:{part['alpha']:.9g}")
            elif part["op"] == "gelu":
                post.append("gelu")
            if part.get("activation", "none") != "none":
                post.append(part["activation"])
        if post:
            words["post"] = ",".join(post)
        if quantized:
            words["src_q"] = encoding(source)
        if q_out:
            words["dst_q"] = encoding(out)
        lines.append(" ".join(f"{key}={value}" for key, value in words.items()))
    return lines


def main(path, folder):
    folder = pathlib.Path(folder)
    net = Network(path)
    tensors = every_tensor(net)
    with open(folder / "layers.bin", "wb") as file:
        arrays = Arrays(file)
        for dtype in ("fp32", "int8"):
            why = folder / f"{dtype}-onednn-layers.txt"
            why.unlink(missing_ok=True)
            lines = [] if dtype == "int8" and net.int8 == "none" else describe(net, tensors, arrays, dtype == "int8")
            if lines:
                (folder / f"{dtype}.layers").write_text("\n".join(lines) + "\n")
            else:
                why.write_text("the network has neither convolutions nor products outside of recurrent layers\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
