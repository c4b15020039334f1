#!/usr/bin/env python3
"""Writes pool_golden.json: pooling of one and three dimensions, pooling that tells where its maxima are, and regions.

By ONNX's reference evaluator and ONNX Runtime; by NumPy where neither defines the op.
"""
import numpy as np
from golden import F, Golden, T, onnx_run, runtime_run

g = Golden(__file__, 1105, decimals=3, of_largest=4e-7)
AUTO, VALID, SAME = 0, 1, 2
MAX, AVG, L2, AVG_ANDROID = 0, 1, 2, 3
REFERENCE, RUNTIME, NUMPY = "onnx.reference", "onnxruntime", "numpy"
F32, U8 = T("f32", []), T("u8", [], 1 / 32, 90)


def inputs_for(*shape):
    """Float, and u8 with scales that keep float32 sums exact."""
    yield g.f32(*shape), F32
    yield g.ints("u8", *shape, scale=1 / 32, zp=121), U8


# ---- Pool1d, MaxPool3d

def pool1d(x, y, kind, ksize, stride, padding, pad, ceil):
    attrs = {"type": kind, "ksize": ksize, "stride": stride, "padding": padding, "pad": pad, "round_type": 1 - ceil}
    given = {"auto_pad": "SAME_UPPER"} if padding == SAME else {"pads": pad}
    common = {"kernel_shape": [ksize], "strides": [stride], **given}
    if kind == MAX:
        r = runtime_run("MaxPool", [x.real()], 12, ceil_mode=ceil, **common)
    elif kind == L2:
        r = runtime_run("LpPool", [x.real()], 18, p=2, **common) / F(np.sqrt(ksize))
    else:
        r = runtime_run("AveragePool", [x.real()], 11, ceil_mode=ceil, count_include_pad=int(kind == AVG), **common)
    g.add("Pool1d", attrs, [x], [y.of(r)], RUNTIME, of_largest=1e-6, steps=0)


for x, y in inputs_for(2, 3, 13):
    for kind in (MAX, AVG, AVG_ANDROID):
        pool1d(x, y, kind, 4, 2, AUTO, [1, 2], 0)
        pool1d(x, y, kind, 3, 2, SAME, [0, 0], 0)
    pool1d(x, y, MAX, 4, 2, AUTO, [0, 1], 1)
pool1d(g.f32(1, 2, 12), F32, L2, 3, 2, AUTO, [1, 0], 0)


def pool3d(x, y, ksize, stride, padding, pad, ceil):
    attrs = {"ksize": ksize, "stride": stride, "pad_type": padding, "pad": pad, "round_type": 1 - ceil}
    given = {"auto_pad": "SAME_UPPER"} if padding == SAME else {
        "pads": [pad[4], pad[2], pad[0], pad[5], pad[3], pad[1]]}
    r = runtime_run("MaxPool", [x.real()], 12, kernel_shape=ksize[::-1], strides=stride[::-1], ceil_mode=ceil, **given)
    g.add("MaxPool3d", attrs, [x], [y.of(r)], RUNTIME)


for x, y in inputs_for(2, 2, 5, 4, 7):
    pool3d(x, y, [3, 2, 2], [2, 1, 2], AUTO, [1, 1, 0, 1, 0, 1], 0)
    pool3d(x, y, [2, 3, 3], [2, 2, 1], SAME, [0] * 6, 0)
pool3d(g.f32(1, 2, 5, 4, 6), F32, [3, 3, 2], [2, 2, 2], AUTO, [0] * 6, 1)


# ---- where the maxima are. ONNX counts them from the beginning of the whole input, as MaxpoolWithArgmax2 does.

def max_pool(x, ksize, stride, padding):
    return runtime_run("MaxPool", [x.real()], 12, outputs=2, kernel_shape=ksize[::-1], strides=stride[::-1],
                       auto_pad="SAME_UPPER" if padding == SAME else "VALID")


def argmax(x, y, ksize, stride, padding):
    values, indices = max_pool(x, ksize, stride, padding)
    attrs = {"ksize": ksize, "stride": stride, "padding": padding}
    g.add("MaxpoolWithArgmax2", attrs, [x], [y.of(values), T("i32", indices)], RUNTIME)
    gradient = g.f32(*values.shape)
    total = np.zeros(x.q.size)
    np.add.at(total, indices.ravel(), gradient.q.astype(np.float64).ravel())
    g.add("MaxpoolGrad", attrs, [x, gradient], [T("f32", total.reshape(x.q.shape))], RUNTIME + ", " + NUMPY)
    quantized = g.ints("i8", *values.shape, scale=1 / 16, zp=3)
    total = np.zeros(x.q.size)
    np.add.at(total, indices.ravel(), quantized.real().astype(np.float64).ravel())
    g.add("MaxpoolGrad", attrs, [x, quantized], [y.of(total.reshape(x.q.shape))], RUNTIME + ", " + NUMPY)


for x, y in inputs_for(2, 3, 7, 6):
    argmax(x, y, [2, 2], [2, 2], VALID)
    argmax(x, y, [3, 2], [2, 1], SAME)
    argmax(x, y, [3, 4], [1, 2], VALID)

for shape, padding in (((2, 3, 6, 8), VALID), ((1, 2, 5, 7), SAME), ((3, 4, 6), VALID)):
    for x, y in inputs_for(*shape):
        four = T(x.dtype, x.q.reshape((-1, 1) + x.q.shape[-2:]), x.scale, x.zp)
        values, indices = max_pool(four, [2, 2], [2, 2], padding)
        width, height = shape[-1], shape[-2]
        local = indices % width % 2 + indices // width % height % 2 * 2
        pooled = shape[:-2] + values.shape[-2:]
        values, local = values.reshape(pooled), T("u8", local.reshape(pooled))
        g.add("MaxpoolWithArgmax", {"padding": padding}, [x], [y.of(values), local], RUNTIME)
        if padding == VALID and len(shape) == 4:  # back again: ONNX puts them at the whole indices
            stored = y.of(values)
            back = onnx_run("MaxUnpool", [stored.real(), indices], 11, kernel_shape=[2, 2], strides=[2, 2])
            g.add("MaxUnpool2d", {}, [stored, local], [y.of(back)], REFERENCE)

x, index = g.f32(2, 2, 3), T("u8", g.rng.integers(0, 4, (2, 2, 3)))
back = np.zeros((2, 5, 7))  # a size of its own: ksize says so
for c, r, k in np.ndindex(2, 2, 3):
    at = 2 * r + index.q[c, r, k] // 2, 2 * k + index.q[c, r, k] % 2
    back[c, at[0], at[1]] = x.q[c, r, k]
g.add("MaxUnpool2d", {"ksize": [7, 5]}, [x, index], [T("f32", back)], NUMPY)


# ---- regions. ONNX multiplies by one scale; here coordinates are divided by ratios.

def roi_align(x, y, rois, images, size, ratio, samples):
    r = runtime_run("RoiAlign", [x.real(), rois.real(), images.q.astype(np.int64)], 16, output_height=size[1],
                    output_width=size[0], sampling_ratio=samples, spatial_scale=1 / ratio, mode="avg",
                    coordinate_transformation_mode="output_half_pixel")
    attrs = {"output_height": size[1], "output_width": size[0], "height_ratio": ratio, "width_ratio": ratio,
             "height_sample_num": samples, "width_sample_num": samples}
    g.add("RoiAlign", attrs, [x, rois, images], [y.of(r)], RUNTIME, of_largest=2e-6, steps=1)


BOXES = np.array([[2, 3, 13, 12], [0, 0, 7, 15], [-4, 2, 4, 24], [6, 6, 6.5, 6]])
IMAGES = T("i32", np.array([1, 0, 1, 0]))
for x, y in inputs_for(2, 2, 6, 8):
    boxes = T("f32", BOXES.astype(F))
    roi_align(x, y, boxes, IMAGES, (3, 2), 2.0, 2)
    roi_align(x, y, boxes, IMAGES, (2, 3), 1.0, 0)
    roi_align(x, y, boxes, IMAGES, (1, 1), 4.0, 3)


def roi_pool(x, y, scale, size):
    boxes = T("f32", np.concatenate([IMAGES.q[:, None], BOXES], 1).astype(F))
    r = runtime_run("MaxRoiPool", [x.real(), boxes.q], 1, pooled_shape=size[::-1], spatial_scale=scale)
    g.add("RoiPool", {"scale": scale, "size": size}, [x, boxes], [y.of(r)], RUNTIME)


for x, y in inputs_for(2, 2, 6, 8):
    roi_pool(x, y, 0.5, [2, 2])
    roi_pool(x, y, 0.25, [1, 4])
    roi_pool(x, y, 1.0, [4, 2])

g.write()
