#!/usr/bin/env python3
"""Fills in what the files of this folder know of their networks' values: ranges for int8, and a few
expected outputs. Computes them in NumPy, so that neither we nor any peer is the judge of itself.

  calibrate.py [NAME ...]    default: all networks, small/ too
"""
import argparse
import json
import math

import numpy as np

import make
import networks

PICTURES = 4   # inputs that the ranges are taken from
SAMPLES = 32   # expected values of each output


def patches(x, kernel, stride, pads, fill):
    """[N, OH, OW, kh, kw, C], a view into the padded x."""
    x = np.pad(x, [(0, 0), (pads[0], pads[2]), (pads[1], pads[3]), (0, 0)], constant_values=fill)
    windows = np.lib.stride_tricks.sliding_window_view(x, kernel, axis=(1, 2))
    return windows[:, ::stride[0], ::stride[1]].transpose(0, 1, 2, 4, 5, 3)


def convolution(x, w, layer, fill=0):
    """Without bias; in the types of x and w."""
    view = patches(x, layer["kernel"], layer["stride"], layer["pads"], fill)
    if layer["groups"] == 1:
        rows = view.reshape(math.prod(view.shape[:3]), -1)
        return (rows @ w.transpose(2, 3, 1, 0).reshape(-1, len(w))).reshape(*view.shape[:3], -1)
    return np.einsum("nyxhwc,chw->nyxc", view, w[:, 0], optimize=False)


def flat_weights(w):
    """[K, units] for a flattened NHWC input."""
    return (w.transpose(2, 3, 1, 0) if w.ndim == 4 else w.T).reshape(-1, len(w))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


_erf = np.frompyfunc(math.erf, 1, 1)


def erf(x):
    return _erf(x).astype(np.float32)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def lstm(x, w):
    steps, units = x.shape[1], w["bias"].shape[1]
    h = c = np.zeros((x.shape[0], units), x.dtype)
    out = []
    for t in range(steps):
        i, f, g, o = (x[:, t] @ w["weights"][k].T + h @ w["recurrent"][k].T + w["bias"][k]
                      for k in range(4))
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        out.append(h)
    return np.stack(out, 1)


def activate(x, kind):
    return {"none": lambda: x, "relu": lambda: np.maximum(x, 0),
            "relu6": lambda: np.clip(x, 0, 6)}[kind]()


def run_layer(network, layer, ins, w):
    """The output of one layer in float32."""
    op, x = layer["op"], ins[0]
    shape = network["tensors"][layer["output"]]
    if op == "conv":
        return activate(convolution(x, w["weights"], layer) + w["bias"], layer["activation"])
    if op == "dense":
        rows = x.reshape(len(x), -1) if layer["flatten"] else x
        return activate(rows @ flat_weights(w["weights"]) + w["bias"], layer["activation"])
    if op == "max_pool":
        return patches(x, layer["kernel"], layer["stride"], layer["pads"], -np.inf).max((3, 4))
    if op == "slice":
        return x[tuple(slice(b, b + n) for b, n in zip(layer["begin"], shape))]
    if op == "layer_norm":
        d = x - x.mean(-1, keepdims=True)
        return d / np.sqrt((d * d).mean(-1, keepdims=True) + np.float32(layer["epsilon"])) \
            * w["gamma"] + w["beta"]
    return {"add": lambda: activate(x + ins[1], layer["activation"]),
            "global_mean": lambda: x.mean((1, 2)),
            "reshape": lambda: x.reshape(shape),
            "transpose": lambda: x.transpose(layer["perm"]),
            "concat": lambda: np.concatenate(ins, layer["axis"]),
            "resize_nearest": lambda: x.repeat(layer["factor"], 1).repeat(layer["factor"], 2),
            "leaky_relu": lambda: np.where(x < 0, np.float32(layer["alpha"]) * x, x),
            "sigmoid": lambda: sigmoid(x),
            "gelu": lambda: 0.5 * x * (1 + erf(x / np.float32(math.sqrt(2)))),
            "scale": lambda: x * np.float32(layer["factor"]),
            "softmax": lambda: softmax(x),
            "matmul": lambda: x @ (ins[1].swapaxes(-1, -2) if layer["transpose_b"] else ins[1]),
            "lstm": lambda: lstm(x, w)}[op]()


def run(network, number=0, see=lambda tensor, value: None):
    """Outputs for input `number`; `see` is shown every tensor. Tensors are dropped after use."""
    uses = {}
    for layer in network["layers"]:
        for tensor in layer["inputs"]:
            uses[tensor] = uses.get(tensor, 0) + 1
    live = {t: networks.input_values(network, t, number) for t in network["inputs"]}
    for tensor, value in live.items():
        see(tensor, value)
    outputs = {}
    for layer in network["layers"]:
        out = layer["output"]
        value = run_layer(network, layer, [live[t] for t in layer["inputs"]],
                          networks.weights(network, layer))
        assert list(value.shape) == network["tensors"][out] and value.dtype == np.float32, layer
        see(out, value)
        live[out] = value
        if out in network["outputs"]:
            outputs[out] = value
        for tensor in layer["inputs"]:
            uses[tensor] -= 1
            if uses[tensor] == 0:
                live.pop(tensor, None)
    return outputs


def groups(network):
    """{tensor: representative} of tensors that share an encoding (README.md, int8)."""
    parent = {t: t for t in network["tensors"]}

    def find(t):
        while parent[t] != t:
            t = parent[t]
        return t

    for layer in network["layers"]:
        if layer["op"] in ("max_pool", "reshape", "transpose", "slice", "resize_nearest", "concat"):
            for tensor in layer["inputs"]:
                parent[find(tensor)] = find(layer["output"])
    return {t: find(t) for t in parent}


def ranges(network, seen):
    """What `ranges` says, from the extremes of every tensor."""
    if network["int8"] == "dense":
        return {t: seen[t] for layer in network["layers"] if layer["op"] == "dense"
                for t in layer["inputs"]}
    group = groups(network)
    made_by = {layer["output"]: layer for layer in network["layers"]}
    result = {}
    for root in set(group.values()):
        members = [t for t in group if group[t] == root]
        low, high = min(seen[t][0] for t in members), max(seen[t][1] for t in members)
        if any(made_by.get(t, {}).get("op") in ("softmax", "sigmoid") for t in members):
            low, high = 0.0, 255 / 256
        result.update({t: [low, high] for t in members})
    return result


def round_up(value):
    """Away from 0, to 4 digits: short to read, and nothing that was seen is outside."""
    if value == 0:
        return 0.0
    step = 10.0 ** (math.floor(math.log10(abs(value))) - 3)
    return float(f"{math.copysign(math.ceil(abs(value) / step) * step, value):.4g}")


def calibrate(name):
    path = networks.HERE / f"{name}.json"
    network = networks.load(name)
    seen = {}

    def see(tensor, value):
        low, high = seen.get(tensor, (0.0, 0.0))
        seen[tensor] = [min(low, float(value.min())), max(high, float(value.max()))]

    outputs = run(network, 0, see)
    for number in range(1, PICTURES):
        run(network, number, see)
    seen = {t: [round_up(v) for v in r] for t, r in seen.items()}
    expected = {}
    for tensor, value in outputs.items():
        flat = value.reshape(-1)
        at = [i * flat.size // SAMPLES for i in range(SAMPLES)]
        expected[tensor] = [float(f"{flat[i]:.7g}") for i in at]
        print(f"{name}: {tensor} in [{flat.min():.3g}, {flat.max():.3g}], "
              f"rms {np.sqrt((flat.astype(float) ** 2).mean()):.3g}, deviation {flat.std():.3g}")
    made = (make.SMALL if name.startswith("small/") else
            {m.__name__: m for m in make.NETWORKS})[name.removeprefix("small/")]()
    path.write_text(made.text(ranges(network, seen), expected))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    small = [f"small/{p.stem}" for p in sorted((networks.HERE / "small").glob("*.json"))]
    for name in parser.parse_args().names or networks.NAMES + small:
        calibrate(name)


if __name__ == "__main__":
    main()
