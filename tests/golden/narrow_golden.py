#!/usr/bin/env python3
"""Writes narrow_golden.json: 4-bit tensors, by NumPy."""
import numpy as np
import golden
from golden import F, Golden, T

golden.RANGE.update(i4=(-8, 7), u4=(0, 15))
g = Golden(__file__, 441)
F32 = T("f32", [])


def conv2d(x, w, stride):
    """Sums of whole numbers for a kernel that stays inside the input."""
    n, _, h, width = x.shape
    o, _, kh, kw = w.shape
    oh, ow = (h - kh) // stride + 1, (width - kw) // stride + 1
    y = np.zeros((n, o, oh, ow), np.int64)
    for i in range(oh):
        for j in range(ow):
            cells = x[:, :, i * stride:i * stride + kh, j * stride:j * stride + kw]
            y[:, :, i, j] = np.einsum("nchw,ochw->no", cells, w)
    return y


def multiplier(x, w, y):
    return (np.float64(x.scale) * np.atleast_1d(w.scale) / np.float64(y.scale)).astype(F)


# ---- Conv2d, FullyConnected: 4-bit data or weights or both; a scale for each output channel
for x, w, y in (
        (g.ints("i4", 2, 3, 5, 7, scale=0.31, zp=-1), g.ints("i4", 4, 3, 3, 3, scale=0.11, zp=1), T("i4", [], 0.97, 2)),
        (g.ints("u4", 1, 2, 5, 6, scale=0.29, zp=7), g.ints("u4", 3, 2, 2, 3, scale=0.13, zp=8), T("u8", [], 0.061, 121)),
        (g.ints("u8", 1, 2, 4, 5, scale=0.026, zp=121),
         g.ints("i4", 3, 2, 3, 2, scale=[0.11, 0.07, 0.19], dim=3), T("u4", [], 0.71, 5))):
    bias = T("i32", g.rng.integers(-40, 41, w.q.shape[0]))
    for stride in (1, 2):
        total = conv2d(x.whole(), w.whole(), stride) + bias.q.reshape(-1, 1, 1)
        g.add("Conv2d", {"stride": [stride, stride]}, [x, w, bias],
              [y.scaled(total, multiplier(x, w, y).reshape(-1, 1, 1))])

for x, w, y in (
        (g.ints("i4", 3, 9, scale=0.31, zp=-1), g.ints("i4", 5, 9, scale=0.11, zp=1), T("i4", [], 0.83, -2)),
        (g.ints("u4", 3, 9, scale=0.29, zp=7), g.ints("u4", 5, 9, scale=0.13, zp=8), T("i8", [], 0.031, 3)),
        (g.ints("i8", 3, 9, scale=0.031, zp=-9),
         g.ints("i4", 5, 9, scale=[0.11, 0.07, 0.19, 0.05, 0.13], dim=1), T("u4", [], 0.71, 5))):
    bias = T("i32", g.rng.integers(-40, 41, 5))
    g.add("FullyConnected", {"axis": 0}, [x, w, bias],
          [y.scaled(x.whole() @ w.whole().T + bias.q, multiplier(x, w, y))])

# ---- Point-wise: float32 steps
for kind, other in (("i4", "u4"), ("u4", "u4"), ("u8", "i4")):
    x, y = g.ints(kind, 3, 7, scale=0.43, zp=3), g.ints(other, 3, 7, scale=0.61, zp=5)
    for z in (T("i4", [], 0.91, -2), T("u4", [], 0.53, 6)):
        g.add("Add", {}, [x, y], [z.of(x.real() + y.real())])
for x in (g.ints("i4", 3, 7, scale=0.43, zp=3), g.ints("u4", 3, 7, scale=0.43, zp=3), g.f32(3, 7, lo=-9, hi=9)):
    for y in (T("i4", [], 0.91, -2), T("u4", [], 0.53, 6), T("i8", [], 0.05, 3), F32):
        if (x.dtype, y.dtype) != ("f32", "f32") and not (x.dtype == "f32" and y.dtype == "i8"):
            g.add("DataConvert", {}, [x], [y.of(x.real())])
            g.add("Clip", {"min": -1.5, "max": 2.25}, [x], [y.of(np.clip(x.real(), F(-1.5), F(2.25)))])

g.write()
