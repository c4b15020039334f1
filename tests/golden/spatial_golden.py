#!/usr/bin/env python3
"""Writes spatial_golden.json: resize, padding and block operators, by ONNX's reference evaluator where
ONNX defines them, else by NumPy."""
import numpy as np
from golden import Golden, T, onnx_run

g = Golden(__file__, 612, decimals=3, of_largest=4e-7)
ONNX, NUMPY = "onnx.reference", "numpy"
F32 = T("f32", [])
NEAREST, BILINEAR, AREA = 0, 1, 2


def several(*shape):
    yield g.f32(*shape)
    yield g.ints("u8", *shape, scale=0.03, zp=131)
    yield g.ints("i16", *shape, scale=0.0004)
    yield g.ints("i32", *shape, lo=-1000, hi=1000)


# ---- Resize

def resize(x, y, size, kind, align, half, one_dimension=False):
    """size: (height, width), or (width,)."""
    shape = list(x.q.shape)
    sizes = shape[:len(shape) - len(size)] + list(size)
    source = ONNX
    real = x.real()
    if kind == AREA or (align and half):
        source = NUMPY
        for k, out in enumerate(size):
            at = len(shape) - len(size) + k
            extent = shape[at]
            scale = (extent - 1) / (out - 1) if align and out > 1 else extent / out
            o = np.arange(out)

            def along(line):
                if kind == AREA:  # the primitive of the line, which is constant in each cell
                    edges = np.arange(extent + 1)
                    primitive = np.concatenate([[0], np.cumsum(line, dtype=np.float64)])
                    at_edge = lambda p: np.interp(p, edges, primitive) + \
                        np.maximum(p - extent, 0) * line[-1]
                    return (at_edge((o + 1) * scale) - at_edge(o * scale)) / scale
                shift = 0.5 if half else 0.0
                return np.interp((o + shift) * scale - shift, np.arange(extent), line)

            real = np.apply_along_axis(along, at, real)
    else:
        mode = "align_corners" if align else "half_pixel" if half else "asymmetric"
        rounding = {} if kind == BILINEAR else \
            {"nearest_mode": "round_prefer_ceil" if align or half else "floor"}
        real = onnx_run("Resize", [real.astype(np.float64), None, None, np.array(sizes, np.int64)], 19,
                        mode="nearest" if kind == NEAREST else "linear",
                        coordinate_transformation_mode=mode, **rounding)
    attrs = {"type": kind, "factor": 0.0, "align_corners": align, "half_pixel_centers": half}
    if one_dimension:
        attrs.update(target_size=size[0])
    else:
        attrs.update(target_height=size[0], target_width=size[1])
    g.add("Resize1d" if one_dimension else "Resize", attrs, [x], [y.of(real)], source, of_largest=2e-6,
          steps=0 if kind == NEAREST else 1)


for kind in (NEAREST, BILINEAR, AREA):
    for align, half in ((0, 0), (1, 0), (0, 1)) + (((1, 1),) if kind == BILINEAR else ()):
        if kind == AREA and half:
            continue
        for size in ((7, 9), (2, 3), (4, 11)):
            resize(g.f32(2, 2, 4, 5), F32, size, kind, align, half)
            resize(g.f32(2, 3, 6), F32, size[1:], kind, align, half, one_dimension=True)
        x = g.ints("u8", 1, 2, 4, 5, scale=0.03, zp=131)
        resize(x, x, (7, 3), kind, align, half)
        resize(x, T("i8", [], 0.05, -3), (3, 8), kind, align, half)
        x = g.ints("i16", 2, 3, 6, scale=0.0004)
        resize(x, x, (10,), kind, align, half, one_dimension=True)

# ---- DepthToSpace, SpaceToDepth

for mode, name in enumerate(("DCR", "CRD")):
    for x in several(2, 12, 2, 3):
        g.add("DepthToSpace", {"block_size": 2, "mode": mode}, [x],
              [x.like(onnx_run("DepthToSpace", [x.q], 13, blocksize=2, mode=name))], ONNX)
    x = g.f32(1, 18, 2, 2)
    g.add("DepthToSpace", {"block_size": 3, "mode": mode}, [x],
          [x.like(onnx_run("DepthToSpace", [x.q], 13, blocksize=3, mode=name))], ONNX)
for x in several(2, 3, 4, 6):
    g.add("SpaceToDepth", {"block_size": [2, 2]}, [x],
          [x.like(onnx_run("SpaceToDepth", [x.q], 13, blocksize=2))], ONNX)
x = g.f32(2, 2, 4, 6)  # blocks of 3 by 2
y = x.q.reshape(2, 2, 2, 2, 2, 3).transpose(0, 3, 5, 1, 2, 4).reshape(2, 12, 2, 2)
g.add("SpaceToDepth", {"block_size": [3, 2]}, [x], [x.like(y)], NUMPY)

# ---- Space2Batch, Batch2Space: images in the order of the cells of a block

def to_batch(q, bw, bh, left, right, top, bottom, fill):
    q = np.pad(q, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=fill)
    n, c, h, w = q.shape
    q = q.reshape(n, c, h // bh, bh, w // bw, bw).transpose(3, 5, 0, 1, 2, 4)
    return q.reshape(bh * bw * n, c, h // bh, w // bw)


def to_space(q, bw, bh, left, right, top, bottom):
    n, c, h, w = q.shape
    q = q.reshape(bh, bw, n // (bh * bw), c, h, w).transpose(2, 3, 4, 0, 5, 1)
    q = q.reshape(n // (bh * bw), c, h * bh, w * bw)
    return q[:, :, top:h * bh - bottom, left:w * bw - right]


for block, pad in (([2, 2], [0, 0, 0, 0]), ([3, 2], [1, 1, 0, 1])):
    for x in several(2, 2, 6 - pad[2] - pad[3], 6 - pad[0] - pad[1]):
        g.add("Space2Batch", {"block_size": block, "pad": pad}, [x],
              [x.like(to_batch(x.q, *block, *pad, x.zp))], NUMPY)
    for x in several(2 * block[0] * block[1], 2, 3, 4):
        g.add("Batch2Space", {"block_size": block, "crop": pad}, [x],
              [x.like(to_space(x.q, *block, *pad))], NUMPY)
for x in several(2, 3, 7):  # rank 3: width alone
    y = to_batch(x.q[:, :, None, :], 2, 1, 1, 2, 0, 0, x.zp)[:, :, 0, :]
    g.add("Space2Batch", {"block_size": [2, 2], "pad": [1, 2]}, [x], [x.like(y)], NUMPY)
for x in several(4, 3, 5):
    y = to_space(x.q[:, :, None, :], 2, 1, 1, 2, 0, 0)[:, :, 0, :]
    g.add("Batch2Space", {"block_size": [2, 2], "crop": [1, 2]}, [x], [x.like(y)], NUMPY)

# ---- PadV2: constant, edge, symmetric, reflect

front, back = [2, 0, 1], [1, 2, 0]
for mode, name in enumerate(("constant", "edge", "symmetric", "reflect")):
    for x in several(3, 4, 5):
        value = np.array(1.5 if x.dtype == "f32" else x.of(np.array([1.5])).q[0], x.q.dtype)
        if name == "symmetric":
            pairs = [(f, b) for f, b in zip(front, back)][::-1]
            y, source = np.pad(x.q, pairs, mode=name), NUMPY
        else:
            pads = np.array(front[::-1] + back[::-1], np.int64)
            constant = [value] if name == "constant" else []
            y, source = onnx_run("Pad", [x.q, pads] + constant, 13, mode=name), ONNX
        g.add("PadV2", {"front_size": front, "back_size": back, "const_val": 1.5, "pad_mode": mode},
              [x], [x.like(y)], source)

# ---- ShuffleChannel, Reorg, SignalFrame

for groups, axis in ((2, 2), (3, 2), (2, 0)):
    for x in several(2, 6, 3, 4):
        at = 3 - axis
        q = np.moveaxis(x.q, at, 0)
        q = q.reshape(groups, -1, *q.shape[1:]).swapaxes(0, 1).reshape(q.shape)
        g.add("ShuffleChannel", {"num_groups": groups, "index_axis": axis}, [x],
              [x.like(np.moveaxis(q, 0, at))], NUMPY)
for s, shape in ((2, (2, 12, 4, 6)), (3, (1, 9, 3, 6)), (1, (2, 3, 2, 2))):
    n, c, h, w = shape
    for x in several(*shape):
        q = x.q.reshape(n, c // (s * s), h, s, w, s).transpose(0, 3, 5, 1, 2, 4)
        g.add("Reorg", {"stride": s}, [x], [x.like(q.reshape(n, c * s * s, h // s, w // s))], NUMPY)
for window, step, pad_end, axis in ((4, 2, 0, 0), (4, 3, 1, 0), (2, 5, 1, 1), (5, 1, 0, 2)):
    for x in several(5, 6, 8):
        at = 2 - axis
        q, length = x.q, x.q.shape[at]
        if pad_end:
            more = [(0, 0)] * 3
            more[at] = (0, window + step)
            q = np.pad(q, more, constant_values=x.zp)
        frames = -(-length // step) if pad_end else (length - window) // step + 1
        q = np.lib.stride_tricks.sliding_window_view(q, window, axis=at)  # the window comes last
        q = np.take(q, np.arange(frames) * step, axis=at)
        g.add("SignalFrame",
              {"window_length": window, "step": step, "pad_end": pad_end, "axis": axis}, [x],
              [x.like(np.moveaxis(q, -1, at + 1))], NUMPY)

# ---- SpatialTransformer: AffineGrid, GridSample

NAMES = ["1_1", "1_2", "1_3", "2_1", "2_2", "2_3"]


def transform(x, y, theta, size, align, fixed=()):
    n, c, h, w = x.q.shape
    out = (size[0] or h, size[1] or w)
    real = theta.real().reshape(n, 2, 3).astype(np.float64)
    grid = onnx_run("AffineGrid", [real, np.array((n, c) + out, np.int64)], 20, align_corners=align)
    values = onnx_run("GridSample", [x.real().astype(np.float64), grid], 20, mode="linear",
                      padding_mode="zeros", align_corners=align)
    attrs = {"output_h": size[0], "output_w": size[1], "align_corners": align}
    for i, name in enumerate(NAMES):
        attrs["has_theta_" + name] = int(i in fixed)
        attrs["theta_" + name] = float(theta.real()[0, i]) if i in fixed else 0.0
    free = [i for i in range(6) if i not in fixed]
    g.add("SpatialTransformer", attrs, [x, theta.like(theta.q[:, free])], [y.of(values)], ONNX,
          of_largest=4e-6, steps=1)


for align in (0, 1):
    transform(g.f32(2, 2, 5, 7), F32, g.f32(2, 6, lo=-1, hi=1), (0, 0), align)
    transform(g.f32(3, 2, 4, 6), F32, g.f32(3, 6, lo=-1, hi=1), (5, 3), align)
    same = g.f32(1, 6, lo=-1, hi=1)
    transform(g.f32(2, 2, 5, 7), F32, T("f32", np.repeat(same.q, 2, 0)), (4, 9), align, (0, 2, 4))
    x = g.ints("u8", 2, 2, 5, 7, scale=0.03, zp=131)
    transform(x, x, g.f32(2, 6, lo=-1, hi=1), (6, 0), align)
    transform(x, T("i16", [], 0.0004), g.ints("i8", 2, 6, scale=1 / 128), (0, 4), align)

g.write()
