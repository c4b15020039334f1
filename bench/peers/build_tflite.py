#!/usr/bin/env python3
"""Writes one of our networks as TensorFlow Lite models, for LiteRT. Runs in the environment that has TensorFlow.

build_tflite.py NETWORK.json FOLDER      FOLDER/fp32.tflite, FOLDER/int8.tflite, FOLDER/inputs_nhwc.npz
The int8 model is made by TensorFlow's converter, calibrated with the same input; weights int8 per channel.
"""
import os, pathlib, sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ["TF_USE_LEGACY_KERAS"] = "1"  # tf_keras: what the converter knows how to read
import numpy as np
import tensorflow as tf
import tf_keras as keras

from network import Network


def padding(layer, shape):
    """("SAME" or "VALID", explicit pads or None): TensorFlow's own padding where it is the same, else an operator in front."""
    top, left, bottom, right = layer["pads"]
    if not any(layer["pads"]):
        return "VALID", None
    same = []
    for extent, kernel, stride in zip(shape[1:3], layer["kernel"], layer["stride"]):
        total = max((-(-extent // stride) - 1) * stride + kernel - extent, 0)
        same.append((total // 2, total - total // 2))
    if same == [(top, bottom), (left, right)]:
        return "SAME", None
    return "VALID", [[0, 0], [top, bottom], [left, right], [0, 0]]


def activated(x, layer):
    return {"none": tf.identity, "relu": tf.nn.relu, "relu6": tf.nn.relu6}[layer.get("activation", "none")](x)


def compute(net, layer, inputs):
    op, out = layer["op"], layer["output"]
    x = inputs[0]
    w = {} if op == "lstm" else {role: tf.constant(value) for role, value in net.weights(layer).items()}
    if op == "conv":
        kind, pads = padding(layer, net.shapes[layer["inputs"][0]])
        x = tf.pad(x, pads) if pads else x
        weights = tf.transpose(w["weights"], [2, 3, 1, 0])
        strides = [1, *layer["stride"], 1]
        if layer["groups"] == 1:
            y = tf.nn.conv2d(x, weights, strides, kind)
        else:
            y = tf.nn.depthwise_conv2d(x, tf.transpose(weights, [0, 1, 3, 2]), strides, kind)
        return activated(tf.nn.bias_add(y, w["bias"]), layer)
    if op == "dense":
        weights = w["weights"]
        if layer["flatten"]:
            if weights.shape.rank == 4:
                weights = tf.transpose(weights, [0, 2, 3, 1])
            weights = tf.reshape(weights, [layer["units"], -1])
            x = tf.reshape(x, [x.shape[0], -1])
        shape = x.shape
        y = tf.matmul(tf.reshape(x, [-1, shape[-1]]), weights, transpose_b=True)
        y = activated(tf.nn.bias_add(y, w["bias"]), layer)
        return y if shape.rank == 2 else tf.reshape(y, net.shapes[out])
    if op == "add":
        return activated(inputs[0] + inputs[1], layer)
    if op == "max_pool":
        kind, pads = padding(layer, net.shapes[layer["inputs"][0]])
        if pads:  # the pools of our networks that pad stand behind a relu, where 0 never wins
            x = tf.pad(x, pads)
        return tf.nn.max_pool2d(x, layer["kernel"], layer["stride"], kind)
    if op == "global_mean":
        return tf.reduce_mean(x, [1, 2])
    if op == "resize_nearest":
        _, h, wide, _ = net.shapes[out]
        return tf.image.resize(x, [h, wide], method="nearest")
    if op == "layer_norm":
        centered = x - tf.reduce_mean(x, -1, keepdims=True)
        variance = tf.reduce_mean(tf.square(centered), -1, keepdims=True)
        return centered * tf.math.rsqrt(variance + layer["epsilon"]) * w["gamma"] + w["beta"]
    if op == "matmul":
        return tf.matmul(inputs[0], inputs[1], transpose_b=layer["transpose_b"])
    if op == "slice":
        return tf.slice(x, layer["begin"], net.shapes[out])
    simple = {"leaky_relu": lambda: tf.nn.leaky_relu(x, layer["alpha"]), "sigmoid": lambda: tf.sigmoid(x), "tanh": lambda: tf.tanh(x),
              "gelu": lambda: tf.nn.gelu(x, approximate=False), "scale": lambda: x * layer["factor"], "softmax": lambda: tf.nn.softmax(x),
              "reshape": lambda: tf.reshape(x, net.shapes[out]), "transpose": lambda: tf.transpose(x, layer["perm"]),
              "concat": lambda: tf.concat(inputs, layer["axis"])}
    if op not in simple:
        raise ValueError(f"{layer['name']}: operator {op} is not known here")
    return simple[op]()


def recurrent(net):
    """LSTMs as Keras layers: the converter makes one UNIDIRECTIONAL_SEQUENCE_LSTM of each, which has no other form."""
    x = source = keras.Input(shape=net.shapes[net.inputs[0]][1:], batch_size=1, name="input0")
    values = []
    for layer in net.layers:
        w = net.weights(layer)
        x = keras.layers.LSTM(layer["units"], return_sequences=True, name=layer["name"])(x)
        joined = lambda v: np.ascontiguousarray(v.reshape(-1, v.shape[-1]).T)  # gates i, f, g, o here and there
        values += [joined(w["weights"]), joined(w["recurrent"]), w["bias"].reshape(-1)]
    model = keras.Model(source, x)
    model.set_weights(values)
    return model


def converter(net):
    if any(layer["op"] == "lstm" for layer in net.layers):
        return tf.lite.TFLiteConverter.from_keras_model(recurrent(net))
    specs = [tf.TensorSpec(net.shapes[name], tf.float32, name=f"input{i}") for i, name in enumerate(net.inputs)]

    def whole(*inputs):
        values = dict(zip(net.inputs, inputs))
        for layer in net.layers:
            values[layer["output"]] = compute(net, layer, [values[name] for name in layer["inputs"]])
        return {f"output{i}": values[name] for i, name in enumerate(net.outputs)}
    function = tf.function(whole, input_signature=specs).get_concrete_function()
    return tf.lite.TFLiteConverter.from_concrete_functions([function], tf.Module())


def main(path, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    net = Network(path)
    inputs = [net.input(name) for name in net.inputs]
    np.savez(folder / "inputs_nhwc.npz", **{str(i): x for i, x in enumerate(inputs)})
    make = converter(net)
    (folder / "fp32.tflite").write_bytes(make.convert())
    if net.int8 == "none":
        return
    make = converter(net)
    make.optimizations = [tf.lite.Optimize.DEFAULT]
    # Without a data set only the weights of dense and recurrent layers become int8, and their inputs while the model runs; the rest
    # stays float. A recurrent layer all in int8 is twice as slow there.
    if net.int8 == "all":
        make.representative_dataset = lambda: iter([inputs])
        make.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        make.inference_input_type = make.inference_output_type = tf.int8
    (folder / "int8.tflite").write_bytes(make.convert())


if __name__ == "__main__":
    main(*sys.argv[1:])
