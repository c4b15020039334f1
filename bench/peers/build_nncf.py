#!/usr/bin/env python3
"""Quantizes one of our networks for OpenVINO with its own tool. Runs in the environment that has NNCF, after build_onnx.py.

build_nncf.py NETWORK.json FOLDER      FOLDER/int8-nncf.xml and .bin, from FOLDER/fp32.onnx
Post-training, calibrated with our input: weights symmetric per channel, activations asymmetric where they have two signs ("mixed"), with its
transformer scheme where there is attention.
"""
import pathlib, sys

import nncf, numpy as np, openvino

from network import Network


def main(path, folder):
    folder = pathlib.Path(folder)
    net = Network(path)
    if net.int8 == "none":
        return
    model = openvino.Core().read_model(folder / "fp32.onnx")
    with np.load(folder / "inputs.npz") as stored:
        sample = {model.input(i).get_any_name(): stored[str(i)] for i in range(len(model.inputs))}
    attention = any(layer["op"] == "matmul" for layer in net.layers)
    found = nncf.quantize(model, nncf.Dataset([sample]), subset_size=1, preset=nncf.QuantizationPreset.MIXED,
                          model_type=nncf.ModelType.TRANSFORMER if attention else None)
    openvino.save_model(found, folder / "int8-nncf.xml", compress_to_fp16=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
