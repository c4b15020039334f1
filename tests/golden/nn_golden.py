#!/usr/bin/env python3
"""Writes nn_golden.json: values of convolution, pooling, matrix, softmax and movement ops, by NumPy alone."""
import numpy as np
from golden import F, Golden, T, quantize

g = Golden(__file__, 77, of_largest=4e-7)
f32, ints, add = g.f32, g.ints, g.add

# ---- convolution and matrix product

def correlate(x, w, stride, dilation, pad, multiplier):
    """x (N,C,H,W), w (O,I,Kh,Kw); for depthwise w (1,C*multiplier,Kh,Kw). pad: left right top bottom."""
    x = np.pad(x, ((0, 0), (0, 0), (pad[2], pad[3]), (pad[0], pad[1])))
    kh, kw = w.shape[2:]
    oh = (x.shape[2] - (kh - 1) * dilation[1] - 1) // stride[1] + 1
    ow = (x.shape[3] - (kw - 1) * dilation[0] - 1) // stride[0] + 1
    y = 0
    for j in range(kh):
        for i in range(kw):
            part = x[:, :, j * dilation[1]:, i * dilation[0]:]
            part = part[:, :, :(oh - 1) * stride[1] + 1:stride[1], :(ow - 1) * stride[0] + 1:stride[0]]
            if multiplier:
                y = y + np.repeat(part, multiplier, axis=1) * w[0, :, j, i][None, :, None, None]
            else:
                y = y + np.einsum("nchw,oc->nohw", part, w[:, :x.shape[1], j, i])
    return y


def same(extent, k, stride, dilation):
    out = -(-extent // stride)
    total = max((out - 1) * stride + (k - 1) * dilation + 1 - extent, 0)
    return total // 2, total - total // 2


def finish(acc, x, w, bias, out, axis):
    """Integer sums to a result of (dtype, scale, zp); channels along `axis`."""
    dtype, scale, zp = out
    along = [1] * acc.ndim
    along[axis] = -1
    if bias is not None:
        acc = acc + bias.q.reshape(along)
    unit = np.float64(x.scale) * np.atleast_1d(w.scale)
    m = (unit / (1.0 if dtype == "f32" else np.float64(F(scale)))).astype(F)
    m = m.reshape(along) if len(m) > 1 else m[0]
    if dtype == "f32":
        return T("f32", acc.astype(F) * m)
    return T(dtype, [], scale, zp).scaled(acc, m)


def conv(x, w, bias, out, stride=(1, 1), dilation=(1, 1), padding=0, pad=(0, 0, 0, 0), multiplier=0):
    attrs = {"stride": list(stride), "dilation": list(dilation), "padding": padding, "pad": list(pad),
             "multiplier": multiplier}
    kh, kw = w.q.shape[2:]
    if padding == 1:
        pad = (0, 0, 0, 0)
    if padding == 2:
        pad = (*same(x.q.shape[3], kw, stride[0], dilation[0]), *same(x.q.shape[2], kh, stride[1], dilation[1]))
    if x.dtype == "f32":
        y = correlate(x.q.astype(np.float64), w.q.astype(np.float64), stride, dilation, pad, multiplier)
        if bias is not None:
            y = y + bias.q.astype(np.float64)[None, :, None, None]
        y = T("f32", y)
    else:
        y = finish(correlate(x.whole(), w.whole(), stride, dilation, pad, multiplier), x, w, bias, out, 1)
    add("Conv2d", attrs, [x, w] + ([bias] if bias is not None else []), [y], of_largest=1e-5)


u8 = dict(scale=0.026, zp=121)
conv(f32(2, 3, 5, 7), f32(4, 3, 3, 3), f32(4), None, pad=(1, 2, 0, 1))
conv(f32(1, 2, 9, 10), f32(3, 2, 2, 3), None, None, stride=(2, 3), padding=2)
conv(f32(1, 2, 9, 10), f32(3, 2, 3, 2), f32(3), None, dilation=(2, 3), padding=1)
conv(f32(1, 3, 6, 6), f32(1, 3, 3, 3), f32(3), None, padding=2, multiplier=1)
conv(f32(2, 2, 6, 5), f32(1, 6, 3, 2), f32(6), None, stride=(2, 1), padding=2, multiplier=3)
conv(f32(1, 2, 4, 5), f32(3, 4, 1, 1), f32(3), None)  # a kernel of more channels
conv(ints("u8", 2, 3, 5, 6, **u8), ints("u8", 4, 3, 3, 3, scale=0.009, zp=112),
     ints("i32", 4, lo=-3000, hi=3000), ("u8", 0.081, 133), pad=(1, 1, 1, 1))
conv(ints("u8", 1, 3, 5, 6, **u8), ints("u8", 4, 3, 2, 2, scale=0.009, zp=112), None, ("i16", 0.003, 0))
conv(ints("i8", 1, 3, 7, 6, scale=0.027, zp=-9), ints("i8", 4, 3, 3, 3, scale=[0.004, 0.0047, 0.0054, 0.0061], dim=3),
     ints("i32", 4, lo=-3000, hi=3000), ("i8", 0.083, 5), stride=(2, 2), padding=2)
conv(ints("i8", 1, 3, 7, 6, scale=0.027, zp=-9), ints("i8", 1, 3, 3, 3, scale=[0.004, 0.0047, 0.0054], dim=2),
     ints("i32", 3, lo=-3000, hi=3000), ("i8", 0.023, -5), padding=1, multiplier=1)
conv(ints("i16", 1, 3, 5, 5, scale=0.0002), ints("i16", 4, 3, 3, 3, scale=0.00004), ints("i64", 4),
     ("i16", 0.0017, 0), padding=2)
conv(ints("u8", 1, 3, 5, 6, **u8), ints("i8", 4, 3, 2, 2, scale=0.008), ints("i32", 4, lo=-3000, hi=3000),
     ("f32", 1, 0))


def dense(x, w, bias, out, axis, shape):
    k = int(np.prod(x.q.shape[x.q.ndim - 1 - axis:]))
    if x.dtype == "f32":
        y = x.q.astype(np.float64).reshape(-1, k) @ w.q.astype(np.float64).reshape(-1, k).T
        y = T("f32", (y + bias.q.astype(np.float64)).reshape(shape))
    else:
        acc = x.whole().reshape(-1, k) @ w.whole().reshape(-1, k).T
        y = finish(acc, x, w, bias, out, 1)
        y.q = y.q.reshape(shape)
    add("FullyConnected", {"axis": axis}, [x, w] + ([bias] if bias is not None else []), [y], of_largest=1e-5)


dense(f32(3, 7), f32(5, 7), f32(5), None, 0, (3, 5))
dense(f32(3, 2, 3, 4), f32(5, 24), f32(5), None, 2, (3, 5))
dense(ints("u8", 3, 2, 4, **u8), ints("u8", 5, 8, scale=0.009, zp=112), ints("i32", 5, lo=-3000, hi=3000),
      ("u8", 0.081, 133), 1, (3, 5))
dense(ints("i8", 4, 9, scale=0.027, zp=-9), ints("i8", 3, 9, scale=[0.004, 0.0047, 0.0054], dim=1), None,
      ("i8", 0.083, 5), 0, (4, 3))

# ---- pooling: scales are powers of two, so that float32 sums are exact in any order

def pool(x, out, type, ksize, stride, padding=0, pad=(0, 0, 0, 0), ceil=False):
    attrs = {"type": type, "ksize": list(ksize), "stride": list(stride), "padding": padding, "pad": list(pad),
             "round_type": 0 if ceil else 1}
    h, w = x.q.shape[2:]
    if padding == 1:
        pad = (0, 0, 0, 0)
    if padding == 2:
        pad = (*same(w, ksize[0], stride[0], 1), *same(h, ksize[1], stride[1], 1))
    real = x.q.astype(np.float64) if x.dtype == "f32" else x.real().astype(np.float64)
    rounded = [(n + a + b - k) / s for n, a, b, k, s in
               ((w, pad[0], pad[1], ksize[0], stride[0]), (h, pad[2], pad[3], ksize[1], stride[1]))]
    ow, oh = (int(np.ceil(r) if ceil else np.floor(r)) + 1 for r in rounded)
    y = np.zeros((*x.q.shape[:2], oh, ow))
    for j in range(oh):
        for i in range(ow):
            top, left = j * stride[1] - pad[2], i * stride[0] - pad[0]
            cells = real[:, :, max(top, 0):max(top + ksize[1], 0), max(left, 0):max(left + ksize[0], 0)]
            count = ksize[0] * ksize[1] if type != 3 else cells.shape[2] * cells.shape[3]
            if type == 0:
                y[:, :, j, i] = cells.max(axis=(2, 3))
            elif type == 2:
                y[:, :, j, i] = np.sqrt((cells**2).sum(axis=(2, 3)) / count)
            else:
                total = cells.sum(axis=(2, 3))
                y[:, :, j, i] = total / count if x.dtype == "f32" else total.astype(F) / F(count)
    y = quantize(y, *out)
    add("Pool2d", attrs, [x], [y], of_largest=1e-6)


for kind in range(4):
    pool(f32(2, 3, 7, 9), ("f32", 1, 0), kind, (3, 2), (2, 3), pad=(1, 1, 1, 0))
    pool(f32(1, 2, 6, 5), ("f32", 1, 0), kind, (3, 3), (2, 2), padding=2)
    pool(f32(1, 2, 6, 8), ("f32", 1, 0), kind, (3, 3), (2, 2), padding=1, ceil=True)
for kind in (0, 1, 3):
    pool(ints("u8", 1, 2, 6, 5, scale=1 / 32, zp=121), ("u8", 0.037, 90), kind, (3, 3), (2, 2), padding=2)
    pool(ints("i8", 1, 2, 6, 5, scale=1 / 64, zp=-3), ("i8", 1 / 64, -3), kind, (2, 3), (1, 2))

# ---- softmax

for axis, beta in ((0, 1.0), (1, 0.5), (2, -1.25)):
    x = f32(2, 4, 5, lo=-6, hi=6)
    e = np.exp(beta * x.q.astype(np.float64))
    add("Softmax", {"axis": axis, "beta": beta}, [x], [T("f32", e / e.sum(axis=2 - axis, keepdims=True))], of_largest=4e-6)
x = ints("u8", 3, 10, scale=0.1, zp=128)
e = np.exp(x.real().astype(np.float64))
add("Softmax", {"axis": 0, "beta": 1.0}, [x], [T("f32", e / e.sum(axis=1, keepdims=True))], of_largest=4e-6)

# ---- movement

x = f32(2, 3, 4)
add("Reshape", {"target_shape": [2, 0, -1]}, [x], [T("f32", x.q.reshape(4, 3, 2))])
x = ints("u8", 2, 6, **u8)
add("Reshape", {"target_shape": [-1]}, [x], [quantize(x.real().reshape(12), "i8", 0.05, 4)])

for perm in ((2, 0, 1, 3), (3, 1, 2, 0), (1, 2, 0, 3)):
    x = f32(2, 3, 4, 5)
    axes = [3 - p for p in reversed(perm)]
    add("Transpose", {"perm": list(perm)}, [x], [T("f32", np.transpose(x.q, axes))])
x = ints("i16", 3, 5, scale=0.01)
add("Transpose", {"perm": [1, 0]}, [x], [quantize(x.real().T, "u8", 1.5, 100)])

for axis in range(3):
    shapes = [[2, 3, 4], [2, 3, 4]]
    shapes[1][2 - axis] = 2
    a, b = f32(*shapes[0]), f32(*shapes[1])
    add("Concat", {"axis": axis, "input_cnt": 2}, [a, b], [T("f32", np.concatenate([a.q, b.q], 2 - axis))])
a, b = ints("u8", 2, 5, **u8), ints("i8", 3, 5, scale=0.05, zp=7)
joined = quantize(np.concatenate([a.real(), b.real()]), "u8", 0.041, 117)
add("Concat", {"axis": 1, "input_cnt": 2}, [a, b], [joined])

MODES = ("constant", "edge", "symmetric", "reflect")
for mode, name in enumerate(MODES):
    front, back = [1, 0, 2], [2, 1, 0]
    widths = list(zip(reversed(front), reversed(back)))
    attrs = {"front_size": front, "back_size": back, "const_val": -3, "pad_mode": mode}
    values = {"constant_values": -3} if mode == 0 else {}
    x = f32(4, 3, 5)
    add("Pad", attrs, [x], [T("f32", np.pad(x.q, widths, name, **values))])
    x = ints("i8", 4, 3, 5, scale=0.05, zp=7)
    values = {"constant_values": int(quantize(-3.0, "i8", 0.05, 7).q)} if mode == 0 else {}
    add("Pad", attrs, [x], [T("i8", np.pad(x.q, widths, name, **values), 0.05, 7)])

# ---- one step of a recurrent network: tanh(W x + b + R h)

x, w, b, h, r = f32(2, 3), f32(4, 3), f32(4), f32(2, 4), f32(4, 4)
d = [t.q.astype(np.float64) for t in (x, w, b, h, r)]
y = np.tanh(d[0] @ d[1].T + d[2] + d[3] @ d[4].T)
add("RNNCell", {}, [x, w, b, h, r], [T("f32", y), quantize(y, "u8", 1 / 127, 128)], of_largest=2e-6)

# More of what came first: they stand behind all that was drawn before.
for dtype, scale, zp, axis in (("u8", 1 / 256, 0, 0), ("i8", 1 / 256, -128, 1)):  # as TFLite stores them
    x = ints(dtype, 2, 4, 6, scale=0.05, zp=zp + 128)
    e = np.exp(x.double())
    add("Softmax", {"axis": axis, "beta": 1.0}, [x], [quantize(e / e.sum(axis=2 - axis, keepdims=True), dtype, scale, zp)])
x = ints("i16", 2, 3, 4, scale=0.01)
add("Reshape", {"target_shape": [4, 1, -1]}, [x], [x.like(x.q.reshape(6, 1, 4))])
x, w, b = ints("u8", 2, 7, **u8), ints("u8", 5, 7, scale=0.009, zp=112), ints("i32", 5, lo=-1500, hi=1500)
h, r = ints("u8", 2, 5, scale=1 / 127, zp=128), ints("u8", 5, 5, scale=0.008, zp=117)
driven = (x.whole() @ w.whole().T + b.q).astype(F) * (F(x.scale) * F(w.scale))
recalled = (h.whole() @ r.whole().T).astype(F) * (F(h.scale) * F(r.scale))
y = quantize(np.tanh(driven + recalled), "u8", 1 / 127, 128)
add("RNNCell", {}, [x, w, b, h, r], [y, y])
x, w, h, r = f32(3, 5), f32(2, 5), f32(3, 2), f32(2, 2)  # no bias
y = np.tanh(x.double() @ w.double().T + h.double() @ r.double().T)
add("RNNCell", {}, [x, w, None, h, r], [T("f32", y), T("f32", y)], of_largest=2e-6)

g.write()
