#!/usr/bin/env python3
"""Fills in what the files of this folder know of their networks' values: ranges for int8, and a few
expected outputs, from evaluate.py.

  calibrate.py [NAME ...]    default: all networks, small/ too
"""
import argparse
import json
import math

import numpy as np

import evaluate
import make
import networks

PICTURES = 4   # inputs that the ranges are taken from
SAMPLES = 32   # expected values of each output


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


def samples(outputs):
    result = {}
    for tensor, value in outputs.items():
        flat = value.reshape(-1)
        result[tensor] = [float(f"{flat[i * flat.size // SAMPLES]:.7g}") for i in range(SAMPLES)]
    return result


def calibrate(name):
    path = networks.HERE / f"{name}.json"
    network = networks.load(name)
    seen = {}

    def see(tensor, value):
        low, high = seen.get(tensor, (0.0, 0.0))
        seen[tensor] = [min(low, float(value.min())), max(high, float(value.max()))]

    outputs = evaluate.run(network, 0, see)
    for number in range(1, PICTURES):
        evaluate.run(network, number, see)
    network["ranges"] = ranges(network, {t: [round_up(v) for v in r] for t, r in seen.items()})
    outputs_int8 = evaluate.run(network, 0, int8=True)
    for tensor, value in outputs.items():
        error = np.abs(outputs_int8[tensor] - value).max() / np.abs(value).max()
        print(f"{name}: {tensor} in [{value.min():.3g}, {value.max():.3g}], deviation "
              f"{value.std():.3g}; largest error of int8: {100 * error:.1f} % of the largest value")
    made = (make.SMALL if name.startswith("small/") else
            {m.__name__: m for m in make.NETWORKS})[name.removeprefix("small/")]()
    path.write_text(made.text({"ranges": network["ranges"], "expected": samples(outputs),
                               "expected_int8": samples(outputs_int8)}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    small = [f"small/{p.stem}" for p in sorted((networks.HERE / "small").glob("*.json"))]
    for name in parser.parse_args().names or networks.NAMES + small:
        calibrate(name)


if __name__ == "__main__":
    main()
