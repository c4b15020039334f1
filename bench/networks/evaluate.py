"""Runs networks in NumPy, in float32 and in int8: an independent judge of us and of all peers.

int8 is computed as shared/design/NUMERICS.md defines it: exact sums, one float32 multiplication.
"""
import math

import numpy as np

import networks


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
        lowest = -128 if x.dtype == np.int8 else -np.inf
        return patches(x, layer["kernel"], layer["stride"], layer["pads"], lowest).max((3, 4))
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


def real(network, tensor, q):
    """What stored numbers of a tensor stand for."""
    scale, zero = networks.encoding(network, tensor)
    return (q.astype(np.int32) - zero).astype(np.float32) * scale


def clamp(v, zero):
    return np.clip(np.rint(v + np.float32(zero)), -128, 127).astype(np.int8)


def store(network, tensor, x):
    """Rounds float32 to the tensor's encoding."""
    scale, zero = networks.encoding(network, tensor)
    return clamp(x * np.float32(1 / np.float64(scale)), zero)


def store_sums(sums, multiplier, zero):
    return clamp(sums.astype(np.float32) * np.asarray(multiplier).astype(np.float32), zero)


def run_layer_int8(network, layer, ins, w):
    """The same in int8, where the network has int8."""
    op, x, out = layer["op"], ins[0], layer["output"]
    source = layer["inputs"][0]
    mixed = network["int8"] == "dense"
    if op in ("conv", "dense") and (op == "dense" or not mixed):
        scale, zero = networks.encoding(network, source)
        if mixed:
            x = store(network, source, x)
        # Sums of integers below 2^53 are exact in float64, in any order.
        x = x.astype(np.float64)
        q, scales = networks.quantize_weights(w["weights"])
        if op == "conv":
            sums = convolution(x - zero, q.astype(np.float64), layer)
        else:
            rows = x.reshape(len(x), -1) if layer["flatten"] else x
            sums = (rows - zero) @ flat_weights(q.astype(np.float64))
        unit = np.float64(scale) * scales.astype(np.float64)
        if mixed:
            return activate(sums.astype(np.float32) * unit.astype(np.float32) + w["bias"],
                            layer["activation"])
        out_scale, out_zero = networks.encoding(network, out)
        sums += networks.quantize_bias(w["bias"], scale, scales)
        y = store_sums(sums, unit / np.float64(out_scale), out_zero)
    elif mixed:
        return run_layer(network, layer, ins, w)
    elif op == "lstm":
        # One scale per matrix; states and biases stay float32.
        for role in ("weights", "recurrent"):
            w[role] = np.stack([q.astype(np.float32) * scale for q, scale in
                                (networks.quantize_weights(m, None) for m in w[role])])
        return store(network, out, lstm(real(network, source, x), w))
    elif op == "global_mean":
        scale, zero = networks.encoding(network, source)
        out_scale, out_zero = networks.encoding(network, out)
        pixels = x.shape[1] * x.shape[2]
        sums = x.astype(np.float64).sum((1, 2)) - zero * pixels
        return store_sums(sums, np.float64(scale) / np.float64(out_scale) / pixels, out_zero)
    elif op in ("max_pool", "reshape", "transpose", "concat", "slice", "resize_nearest"):
        return run_layer(network, layer, ins, w)  # encodings are equal
    elif op == "add":
        y = store(network, out, real(network, source, x) +
                  real(network, layer["inputs"][1], ins[1]))
    else:
        return store(network, out, run_layer(network, layer, [real(network, source, x)], w))
    if layer["activation"] == "none":
        return y
    return store(network, out, activate(real(network, out, y), layer["activation"]))


def run(network, number=0, see=lambda tensor, value: None, int8=False):
    """Outputs for input `number` in real numbers; `see` is shown every tensor, which in int8 are
    the stored numbers. Tensors are dropped after use."""
    if int8 and network["int8"] != "dense":
        def first(t):
            return networks.quantize(networks.input_values(network, t, number),
                                     *networks.encoding(network, t))
    else:
        def first(t):
            return networks.input_values(network, t, number)
    uses = {}
    for layer in network["layers"]:
        for tensor in layer["inputs"]:
            uses[tensor] = uses.get(tensor, 0) + 1
    live = {t: first(t) for t in network["inputs"]}
    compute = run_layer_int8 if int8 else run_layer
    for tensor, value in live.items():
        see(tensor, value)
    outputs = {}
    for layer in network["layers"]:
        out = layer["output"]
        value = compute(network, layer, [live[t] for t in layer["inputs"]],
                        networks.weights(network, layer))
        assert list(value.shape) == network["tensors"][out], layer
        assert value.dtype in (np.float32, np.int8), layer
        see(out, value)
        live[out] = value
        if out in network["outputs"]:
            outputs[out] = value if value.dtype == np.float32 else real(network, out, value)
        for tensor in layer["inputs"]:
            uses[tensor] -= 1
            if uses[tensor] == 0:
                live.pop(tensor, None)
    return outputs
