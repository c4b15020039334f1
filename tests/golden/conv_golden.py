#!/usr/bin/env python3
"""Writes conv_golden.json: convolutions of one to three dimensions and grouped ones by ONNX's reference evaluator,
transposed ones by ONNX Runtime (the evaluator gives all groups the bias of the first).

Quantized: they sum whole numbers in float32, exact below 2^24; m = f32(s_x * s_w / s_y).
"""
import numpy as np
from golden import F, Golden, T, onnx_run, runtime_run

g = Golden(__file__, 1104, decimals=3, of_largest=4e-7)
AUTO, VALID, SAME = 0, 1, 2


def run(kind, x, w, b, transposed_groups, onnx_attrs):
    """Real result, or the sums of whole numbers."""
    whole = x.dtype != "f32"
    xs, ws = ((t.q.astype(np.int64) - t.zp).astype(F) if whole else t.q for t in (x, w))
    if kind == "ConvTranspose" and transposed_groups == 1:
        ws = np.swapaxes(ws, 0, 1)  # ONNX has (Ic, Oc, ...), these tensors (Oc, Ic, ...)
    bs = b.q.astype(F) if b is not None else None
    by = runtime_run if kind == "ConvTranspose" else onnx_run
    acc = by(kind, [xs, np.ascontiguousarray(ws)] + ([bs] if b is not None else []), 11, **onnx_attrs)
    assert not whole or np.abs(acc).max() < 2**24
    return acc


forms = ("f32", "u8")  # of each case below


def add(op, kind, attrs, onnx_attrs, x_shape, w_shape, channels, bias=True, groups=1):
    for form in forms:
        if form == "f32":
            x, w, like = g.f32(*x_shape), g.f32(*w_shape), T("f32", [])
            b = g.f32(channels) if bias else None
            y = like.of(run(kind, x, w, b, groups, onnx_attrs))
        else:
            if form == "u8":
                x = g.ints("u8", *x_shape, scale=0.026, zp=121)
                w = g.ints("u8", *w_shape, scale=0.009, zp=112)
                like = T("u8", [], 0.081, 133)
            else:  # a scale for each output channel, the first dimension of the array
                x = g.ints("i8", *x_shape, scale=0.027, zp=-9)
                scales = [0.004 + 0.0007 * channel for channel in range(channels)]
                w = g.ints("i8", *w_shape, scale=scales, dim=len(w_shape) - 1)
                like = T("i8", [], 0.083, 5)
            b = T("i32", g.rng.integers(-3000, 3001, channels)) if bias else None
            m = (np.float64(x.scale) * np.atleast_1d(w.scale) / np.float64(like.scale)).astype(F)
            y = like.scaled(run(kind, x, w, b, groups, onnx_attrs), m.reshape((-1,) + (1,) * (len(x_shape) - 2)))
        g.add(op, attrs, [x, w] + ([b] if bias else []), [y],
              "onnxruntime" if kind == "ConvTranspose" else "onnx.reference", of_largest=4e-6)


# ---- Conv: pads of ONNX are all fronts, then all rears, outermost axis first

def conv2d(group, stride, dilation, padding, pad, x, w, bias=True):
    attrs = {"stride": stride, "dilation": dilation, "padding": padding, "pad": pad, "group": group}
    given = {"auto_pad": "SAME_UPPER"} if padding == SAME else {"pads": [pad[2], pad[0], pad[3], pad[1]]}
    add("GroupedConv2d", "Conv", attrs,
        {"group": group, "strides": stride[::-1], "dilations": dilation[::-1], **given}, x, w, w[0], bias)


conv2d(2, [1, 1], [1, 1], AUTO, [0, 0, 0, 0], (2, 4, 5, 6), (6, 2, 3, 3))
conv2d(3, [2, 1], [1, 2], AUTO, [1, 2, 0, 1], (1, 6, 6, 7), (3, 2, 3, 2))
conv2d(4, [2, 3], [1, 1], SAME, [0, 0, 0, 0], (1, 4, 7, 9), (8, 1, 3, 4), bias=False)


def conv1d(op, group, stride, dilation, pad, x, w, bias=True):
    attrs = {"stride": stride, "dilation": dilation, "pad": pad}
    if op == "GroupedConv1d":
        attrs["group"] = group
    add(op, "Conv", attrs, {"group": group, "strides": [stride], "dilations": [dilation], "pads": pad}, x, w, w[0], bias)


conv1d("Conv1d", 1, 1, 1, [0, 0], (2, 3, 11), (4, 3, 3))
conv1d("Conv1d", 1, 2, 1, [1, 2], (1, 2, 12), (3, 2, 4))
conv1d("Conv1d", 1, 3, 2, [0, 1], (1, 2, 12), (3, 2, 3), bias=False)
conv1d("GroupedConv1d", 2, 1, 1, [0, 0], (2, 4, 11), (6, 2, 3))
conv1d("GroupedConv1d", 3, 2, 1, [1, 2], (1, 6, 12), (3, 2, 4))
conv1d("GroupedConv1d", 4, 3, 2, [0, 1], (1, 4, 12), (8, 1, 3), bias=False)
# Depthwise: output channel o reads input channel o / multiplier; the kernel is (1, C * multiplier, K).
for multiplier in (1, 2):
    x, w, b = g.f32(1, 3, 9), g.f32(3 * multiplier, 1, 3), g.f32(3 * multiplier)
    y = onnx_run("Conv", [x.q, w.q, b.q], 11, group=3)
    g.add("Conv1d", {"multiplier": multiplier}, [x, T("f32", w.q.reshape(1, -1, 3)), b], [T("f32", y)],
          "onnx.reference", of_largest=4e-6)


def conv3d(stride, dilation, padding, pad, x, w, bias=True):
    attrs = {"stride": stride, "dilation": dilation, "padding": padding, "pad": pad}
    given = {"auto_pad": "SAME_UPPER"} if padding == SAME else {
        "pads": [pad[4], pad[2], pad[0], pad[5], pad[3], pad[1]]}
    add("Conv3d", "Conv", attrs, {"strides": stride[::-1], "dilations": dilation[::-1], **given}, x, w, w[0], bias)


conv3d([1, 1, 1], [1, 1, 1], AUTO, [0] * 6, (2, 2, 3, 4, 5), (3, 2, 2, 2, 3))
conv3d([2, 1, 2], [1, 2, 1], AUTO, [1, 0, 0, 2, 1, 1], (1, 2, 4, 5, 6), (3, 2, 2, 3, 2))
conv3d([1, 2, 3], [1, 1, 1], SAME, [0] * 6, (1, 2, 4, 5, 6), (3, 2, 2, 3, 4), bias=False)


# ---- ConvTranspose: kernels (Oc, Ic, ...), or (Oc, 1, ...) where each channel is a group

def deconv2d(stride, pad, output_padding, x, w, group=1, bias=True):
    attrs = {"stride": stride, "output_padding": output_padding, "pad": pad, "group": group}
    add("DeConv2d", "ConvTranspose", attrs,
        {"group": group, "strides": stride[::-1], "output_padding": output_padding[::-1],
         "pads": [pad[2], pad[0], pad[3], pad[1]]}, x, w, w[0], bias, group)


deconv2d([1, 1], [0, 0, 0, 0], [0, 0], (2, 3, 4, 5), (4, 3, 3, 2))
deconv2d([2, 3], [1, 0, 2, 1], [0, 0], (1, 2, 4, 5), (3, 2, 4, 3))
deconv2d([3, 2], [0, 1, 0, 0], [2, 1], (1, 2, 4, 5), (3, 2, 2, 2), bias=False)
deconv2d([2, 2], [1, 1, 1, 1], [1, 1], (1, 3, 4, 5), (3, 1, 3, 3), group=3)


def deconv1d(stride, pad, output_padding, x, w, group=1, bias=True):
    attrs = {"stride": stride, "output_padding": output_padding, "pad": pad, "group": group}
    add("DeConv1d", "ConvTranspose", attrs,
        {"group": group, "strides": [stride], "output_padding": [output_padding], "pads": pad}, x, w, w[0], bias, group)


deconv1d(1, [0, 0], 0, (2, 3, 5), (4, 3, 3))
deconv1d(3, [1, 2], 2, (1, 2, 5), (3, 2, 4))
deconv1d(2, [1, 0], 1, (1, 3, 5), (3, 1, 3), group=3, bias=False)

# ---- a scale for each output channel

forms = ("i8 per channel",)
conv1d("Conv1d", 1, 2, 1, [1, 2], (1, 2, 12), (3, 2, 4))
conv1d("GroupedConv1d", 3, 2, 1, [1, 2], (1, 6, 12), (3, 2, 4))
conv2d(2, [1, 2], [1, 1], AUTO, [0, 1, 1, 0], (2, 4, 5, 6), (6, 2, 3, 3))
conv2d(4, [2, 3], [1, 1], SAME, [0, 0, 0, 0], (1, 4, 7, 9), (8, 1, 3, 4), bias=False)
conv3d([2, 1, 2], [1, 2, 1], AUTO, [1, 0, 0, 2, 1, 1], (1, 2, 4, 5, 6), (3, 2, 2, 3, 2))
deconv1d(3, [1, 2], 2, (1, 2, 5), (3, 2, 4))
deconv2d([2, 3], [1, 0, 2, 1], [0, 0], (1, 2, 4, 5), (3, 2, 4, 3))
deconv2d([2, 2], [1, 1, 1, 1], [1, 1], (1, 3, 4, 5), (3, 1, 3, 3), group=3)

g.write()
