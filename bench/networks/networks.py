"""Reads the networks of this folder and makes their weights and inputs, as README.md defines them.

For calibrate.py and the builders of bench/peers; model_bench has its own in ../networks.cc. Needs NumPy.
"""
import json
import math
import pathlib

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
NAMES = sorted(p.stem for p in HERE.glob("*.json"))


def load(name):
    """The network as parsed JSON; `small/NAME` for the small form."""
    return json.loads((HERE / f"{name}.json").read_text())


def fnv1a(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def values(key, shape):
    """Uniform in [-1, 1), float32, exact; element i of row-major order is value(key, i)."""
    z = np.arange(1, math.prod(shape) + 1, dtype=np.uint64)
    z *= np.uint64(0x9E3779B97F4A7C15)
    z += np.uint64(fnv1a(key))
    z ^= z >> np.uint64(30)
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    # Whole numbers below 2^24 are exact in float32, and so is all that follows.
    return ((z >> np.uint64(40)).astype(np.float32) * np.float32(2**-23) - 1).reshape(shape)


def input_values(network, tensor, number=0):
    return values(f"{tensor}/input/{number}", network["tensors"][tensor])


def weights(network, layer):
    """{role: float32 array} of one layer; empty for a layer without weights."""
    name, op = layer["name"], layer["op"]
    channels = network["tensors"][layer["inputs"][0]][-1]

    def scaled(role, shape, fan_in):
        scale = np.float32(math.sqrt(3 * layer["gain"] / fan_in))
        return values(f"{name}/{role}", shape) * scale

    def small(role, shape):
        return values(f"{name}/{role}", shape) * np.float32(0.1)

    if op in ("conv", "dense"):
        if op == "conv":
            shape = [layer["filters"], channels // layer["groups"], *layer["kernel"]]
        elif layer["flatten"]:
            _, h, w, c = network["tensors"][layer["inputs"][0]]
            shape = [layer["units"], c, h, w]
        else:
            shape = [layer["units"], channels]
        return {"weights": scaled("weights", shape, math.prod(shape[1:])),
                "bias": small("bias", shape[:1])}
    if op == "layer_norm":
        return {"gamma": np.float32(1) + small("gamma", [channels]),
                "beta": small("beta", [channels])}
    if op == "lstm":
        units = layer["units"]
        return {"weights": scaled("weights", [4, units, channels], channels),
                "recurrent": scaled("recurrent", [4, units, units], units),
                "bias": small("bias", [4, units])}
    return {}


def encoding(network, tensor):
    """(scale, zero point) of a tensor with a range; scale is float32."""
    low, high = network["ranges"][tensor]
    step = (max(high, 0.0) - min(low, 0.0)) / 255
    return np.float32(step), int(np.clip(np.rint(-128 - min(low, 0.0) / step), -128, 127))


def quantize(x, scale, zero_point):
    q = np.rint(x.astype(np.float64) / np.float64(scale)) + zero_point
    return np.clip(q, -128, 127).astype(np.int8)


def quantize_weights(w, axis=0):
    """int8 values and float32 scales, one for each index of `axis`; None: one for all."""
    others = None if axis is None else tuple(i for i in range(w.ndim) if i != axis)
    largest = np.max(np.abs(w), axis=others, keepdims=True)
    scale = np.where(largest == 0, np.float32(1), largest / np.float32(127)).astype(np.float32)
    q = np.clip(np.rint(w / scale), -127, 127).astype(np.int8)
    return q, scale.reshape(-1)


def quantize_bias(bias, input_scale, weight_scales):
    scale = np.float64(input_scale) * weight_scales.astype(np.float64)
    return np.rint(bias.astype(np.float64) / scale).astype(np.int32)
