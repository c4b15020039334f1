#!/usr/bin/env python3
"""Writes one of our networks as ONNX models, for ONNX Runtime, OpenVINO, ncnn and MNN.

build_onnx.py NETWORK.json FOLDER      FOLDER/fp32.onnx, FOLDER/int8.onnx, FOLDER/inputs.npz
Pictures are NCHW, as is usual for ONNX. The int8 model has pairs of QuantizeLinear and DequantizeLinear (QDQ), which is what ONNX Runtime's
quantizer and OpenVINO's read and write; its scales are those of README.md in bench/networks, so that it computes what ours does. Activations are
uint8 (the int8 value + 128), which both runtimes document as the fast choice on x86; weights int8 per channel.
"""
import pathlib, sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from network import Network, networks

OPSET = 17
TO_NHWC, TO_NCHW = [0, 2, 3, 1], [0, 3, 1, 2]


class Builder:
    def __init__(self, network, dtype):
        self.net, self.nodes, self.constants = network, [], {}
        self.int8 = network.int8 if dtype == "int8" else "none"
        self.reads = {}  # the dequantized form of a tensor, for those that have one

    def constant(self, name, value):
        self.constants[name] = numpy_helper.from_array(np.asarray(value, order="C"), name)
        return name

    def node(self, op, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
        return output

    def activate(self, x, kind, output):
        if kind == "relu":
            self.node("Relu", [x], output)
        elif kind == "relu6":
            self.node("Clip", [x, self.constant("zero", np.float32(0)), self.constant("six", np.float32(6))], output)
        elif kind != "none":
            raise ValueError(f"activation {kind}")

    def quantize(self, name):
        """A pair of QDQ behind a tensor; whoever reads the tensor later gets the dequantized one."""
        if name not in self.reads:
            scale, zero = self.net.encoding(name)
            scale, zero = self.constant(name + ".scale", scale), self.constant(name + ".zero", np.uint8(zero + 128))
            self.node("QuantizeLinear", [name, scale, zero], name + ".q")
            self.reads[name] = self.node("DequantizeLinear", [name + ".q", scale, zero], name + ".dq")
        return self.reads[name]

    def weight(self, name, value, axis=0):
        """A weight, in int8 behind a DequantizeLinear where the layer is int8."""
        if self.int8 not in ("all", "dense"):
            return self.constant(name, value)
        q, scales = networks.quantize_weights(value, axis)
        return self.node("DequantizeLinear", [self.constant(name + ".q", q), self.constant(name + ".scale", scales),
                                              self.constant(name + ".zero", np.zeros_like(scales, np.int8))], name, axis=axis)

    def bias(self, name, value, x, weights):
        if self.int8 != "all":
            return self.constant(name, value)
        scale = self.net.encoding(x)[0]
        _, scales = networks.quantize_weights(weights)
        q = networks.quantize_bias(value, scale, scales)
        return self.node("DequantizeLinear", [self.constant(name + ".q", q), self.constant(name + ".scale", scale * scales),
                                              self.constant(name + ".zero", np.zeros_like(q))], name, axis=0)

    def shape(self, name):
        n = self.net.shapes[name]
        return [n[i] for i in TO_NCHW] if name in self.net.pictures else n

    def add(self, layer):
        op, out = layer["op"], layer["output"]
        source = layer["inputs"][0]
        if self.int8 == "dense" and op == "dense":
            self.quantize(source)
            inputs = [self.reads[source]]
        elif self.int8 == "dense":
            inputs = layer["inputs"]
        else:
            inputs = [self.reads.get(name, name) for name in layer["inputs"]]
        x = inputs[0]
        picture = source in self.net.pictures
        w = self.net.weights(layer)
        kind = layer.get("activation", "none")
        plain = out if kind == "none" else out + ".linear"
        axis = lambda a: TO_NCHW.index(a) if picture else a
        if op == "conv":
            weight, bias = self.weight(out + ".weight", w["weights"]), self.bias(out + ".bias", w["bias"], source, w["weights"])
            self.node("Conv", [x, weight, bias], plain, kernel_shape=layer["kernel"],
                      strides=layer["stride"], pads=layer["pads"], group=layer["groups"])
            self.activate(plain, kind, out)
        elif op == "dense":
            weight = w["weights"].reshape(layer["units"], -1)
            if layer["flatten"]:
                x = self.node("Flatten", [x], out + ".flat")
            bias = self.bias(out + ".bias", w["bias"], source, weight)
            if layer["flatten"] or len(self.net.shapes[source]) == 2:
                self.node("Gemm", [x, self.weight(out + ".weight", weight), bias], plain, transB=1)
            else:
                self.node("MatMul", [x, self.weight(out + ".weight", weight.T, axis=1)], out + ".product")
                self.node("Add", [out + ".product", bias], plain)
            self.activate(plain, kind, out)
        elif op == "add":
            self.node("Add", inputs, plain)
            self.activate(plain, kind, out)
        elif op == "max_pool":
            self.node("MaxPool", [x], out, kernel_shape=layer["kernel"], strides=layer["stride"], pads=layer["pads"])
        elif op == "global_mean":
            self.node("GlobalAveragePool", [x], out + ".pooled")
            self.node("Flatten", [out + ".pooled"], out)
        elif op == "resize_nearest":
            scales = self.constant(out + ".scales", np.array([1, 1, layer["factor"], layer["factor"]], np.float32))
            self.node("Resize", [x, "", scales], out, mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
        elif op == "leaky_relu":
            self.node("LeakyRelu", [x], out, alpha=layer["alpha"])
        elif op == "sigmoid":
            self.node("Sigmoid", [x], out)
        elif op == "tanh":
            self.node("Tanh", [x], out)
        elif op == "gelu":  # the form that exporters write; every runtime folds it into one operator
            self.node("Div", [x, self.constant("sqrt2", np.float32(np.sqrt(2)))], out + ".scaled")
            self.node("Erf", [out + ".scaled"], out + ".erf")
            self.node("Add", [out + ".erf", self.constant("one", np.float32(1))], out + ".plus")
            self.node("Mul", [x, out + ".plus"], out + ".twice")
            self.node("Mul", [out + ".twice", self.constant("half", np.float32(0.5))], out)
        elif op == "scale":
            self.node("Mul", [x, self.constant(out + ".factor", np.float32(layer["factor"]))], out)
        elif op == "softmax":
            if picture:
                raise ValueError("softmax of a picture")
            self.node("Softmax", [x], out, axis=-1)
        elif op == "reshape":
            if picture:
                x = self.node("Transpose", [x], out + ".nhwc", perm=TO_NHWC)
            self.node("Reshape", [x, self.constant(out + ".shape", np.array(self.net.shapes[out], np.int64))], out)
        elif op == "transpose":
            self.node("Transpose", [x], out, perm=layer["perm"])
        elif op == "concat":
            self.node("Concat", inputs, out, axis=axis(layer["axis"]))
        elif op == "slice":
            rank = len(layer["begin"])
            size = self.net.shapes[out]
            cut = [a for a in range(rank) if size[a] != self.net.shapes[source][a]]
            part = lambda name, values: self.constant(f"{out}.{name}", np.array(values, np.int64))
            self.node("Slice", [x, part("starts", [layer["begin"][a] for a in cut]),
                                part("ends", [layer["begin"][a] + size[a] for a in cut]), part("axes", [axis(a) for a in cut])], out)
        elif op == "matmul":
            a, b = inputs
            if layer["transpose_b"]:
                rank = len(self.net.shapes[layer["inputs"][1]])
                b = self.node("Transpose", [b], out + ".b", perm=[*range(rank - 2), rank - 1, rank - 2])
            self.node("MatMul", [a, b], out)
        elif op == "layer_norm":
            self.node("LayerNormalization", [x, self.constant(out + ".gamma", w["gamma"]), self.constant(out + ".beta", w["beta"])], out,
                      axis=-1, epsilon=layer["epsilon"])
        elif op == "lstm":
            self.lstm(layer, x, out, w)
        else:
            raise ValueError(f"{layer['name']}: operator {op} is not known here")

    def lstm(self, layer, x, out, w):
        units = layer["units"]
        n, steps, channels = self.net.shapes[layer["inputs"][0]]
        assert n == 1
        gates = lambda v: v[[0, 3, 1, 2]].reshape(1, 4 * units, *v.shape[2:])  # i, o, f, c
        bias = np.concatenate([gates(w["bias"]), np.zeros((1, 4 * units), np.float32)], axis=1)
        first = self.constant(out + ".in", np.array([steps, 1, channels], np.int64))
        self.node("Reshape", [x, first], out + ".steps")
        self.nodes.append(helper.make_node(
            "LSTM", [out + ".steps", self.constant(out + ".weight", gates(w["weights"])), self.constant(out + ".recurrent", gates(w["recurrent"])),
                     self.constant(out + ".bias", bias)], [out + ".y"], name=out + ".lstm", hidden_size=units))
        self.node("Reshape", [out + ".y", self.constant(out + ".shape", np.array([1, steps, units], np.int64))], out)

    def model(self):
        if self.int8 in ("all", "lstm"):
            for name in self.net.inputs:
                self.quantize(name)
        for layer in self.net.layers:
            self.add(layer)
            if self.int8 in ("all", "lstm"):
                self.quantize(layer["output"])
        value = lambda name, tensor: helper.make_tensor_value_info(tensor, TensorProto.FLOAT, self.shape(name))
        graph = helper.make_graph(self.nodes, self.net.name, [value(n, n) for n in self.net.inputs],
                                  [value(n, self.reads.get(n, n)) for n in self.net.outputs], list(self.constants.values()))
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
        onnx.checker.check_model(model)
        return model


def main(path, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    net = Network(path)
    onnx.save(Builder(net, "fp32").model(), folder / "fp32.onnx")
    if net.int8 in ("dense", "lstm"):
        # Between float layers ONNX Runtime keeps weights dequantized unless the inputs' scales are found while the model runs, which is also how
        # its LSTM works: its own quantizer's dynamic form. OpenVINO's plugin does not compile what OpenVINO's quantizer makes of an LSTM
        # ("expects Constant for port 5"), so it gets int8 sequences around a float LSTM.
        from onnxruntime.quantization import QuantType, quantize_dynamic
        quantize_dynamic(folder / "fp32.onnx", folder / "int8.onnx", op_types_to_quantize=["LSTM" if net.int8 == "lstm" else "MatMul"],
                         per_channel=net.int8 == "dense", weight_type=QuantType.QInt8)
        onnx.save(Builder(net, "int8").model(), folder / "int8-openvino.onnx")
    elif net.int8 != "none":
        onnx.save(Builder(net, "int8").model(), folder / "int8.onnx")
    inputs = [net.input(name) for name in net.inputs]
    inputs = [x.transpose(TO_NCHW) if name in net.pictures else x for name, x in zip(net.inputs, inputs)]
    np.savez(folder / "inputs.npz", **{str(i): np.ascontiguousarray(x) for i, x in enumerate(inputs)})


if __name__ == "__main__":
    main(*sys.argv[1:])
