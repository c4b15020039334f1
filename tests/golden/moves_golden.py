#!/usr/bin/env python3
"""Writes moves_golden.json and logic_golden.json: values of the ops that move elements, compare, choose and add up.

By the reference evaluator of ONNX where ONNX defines the op, else by NumPy (tf.strided_slice: its masks as Python
slices).
"""
import numpy as np
from golden import F, Golden, T, onnx_run, quantize

g = Golden(__file__, 20, reach=4, source="onnx.reference, numpy")
f32, ints, u8, i8, truth, add = g.f32, g.ints, g.u8, g.i8, g.truth, g.add

I64 = lambda *v: np.array(v, np.int64)

# ---- slices. Attributes of ours are fastest first, so ONNX's axes are turned around.

def slice_(x, start, length, step=None):
    ends = [s + n for s, n in zip(start, length)]
    axes = list(range(x.q.ndim - 1, -1, -1))
    y = onnx_run("Slice", [x.q, I64(*start), I64(*ends), I64(*axes), I64(*(step or [1] * len(start)))])
    attrs = {"dims": 0 if step else x.q.ndim, "start": start, "length": length}
    add("Slice", {**attrs, "step": step} if step else attrs, [x], [x.like(y)])


slice_(f32(3, 5, 7), [1, 0, 2], [5, 5, 1])
slice_(f32(3, 5, 7), [1, 0, 0], [6, 5, 2], [2, 1, 3])
slice_(u8(5, 7), [2, 3], [4, 2])
slice_(ints("i32", 2, 3, 4, 5), [0, 1, 2, 1], [5, 3, 1, 1], [3, 2, 1, 1])


def strided(x, begin, end, stride, begin_mask=0, end_mask=0, shrink=0, new=0):
    """tf.strided_slice by Python's own slices; lists and bits are fastest first and as long as the dimensions."""
    index = []
    for i in range(len(begin)):
        if new >> i & 1:
            index.append(None)
        elif shrink >> i & 1:
            index.append(begin[i])
        else:
            index.append(slice(None if begin_mask >> i & 1 else begin[i], None if end_mask >> i & 1 else end[i],
                               stride[i]))
    y = np.atleast_1d(x.q[tuple(index[::-1])])
    add("StridedSlice", {"begin_dims": begin, "end_dims": end, "stride_dims": stride, "begin_mask": begin_mask,
                         "end_mask": end_mask, "shrink_axis_mask": shrink, "new_axis_mask": new}, [x], [x.like(y)])


strided(f32(3, 5, 7), [1, 0, 1], [6, 4, 3], [2, 3, 1])
strided(f32(3, 5, 7), [-3, 4, -1], [-1, -6, -4], [1, -2, -1])
strided(f32(3, 5, 7), [3, 2, 1], [4, 3, 0], [-1, -2, 1], begin_mask=3, end_mask=7)
strided(f32(3, 5, 7), [3, -2, 1], [0, 4, 3], [1, 1, 1], shrink=3, end_mask=1)
strided(f32(3, 5, 7), [1, 0, 2, 0], [3, 9, 9, 9], [1, 1, 2, 1], new=2)
strided(f32(3, 5, 7), [0, 1, 2, 0, 0], [9, 3, 4, 9, 9], [1, 1, 1, 1, 5], shrink=12, new=17)
strided(f32(3, 5), [3, 1], [4, 2], [1, 1], shrink=3)
strided(u8(4, 6), [5, 1], [-9, 4], [-2, 1])
# Fewer entries than dimensions: the outermost ones.
x = f32(3, 5, 7)
add("StridedSlice", {"begin_dims": [4, 0], "end_dims": [1, 2], "stride_dims": [-2, 1]}, [x], [x.like(x.q[0:2, 4:1:-2])])

# ---- parts

for x, axis, slices in ((f32(7, 5, 8), 0, [3, 1, 4]), (f32(7, 8, 5), 1, [2, 6]), (i8(8, 3), 1, [5, 3])):
    parts = onnx_run("Split", [x.q, I64(*slices)], outputs=len(slices), axis=x.q.ndim - 1 - axis)
    add("Split", {"axis": axis, "slices": slices}, [x], [x.like(p) for p in parts])
x = u8(6, 4)
parts = onnx_run("Split", [x.q], outputs=3, axis=0, num_outputs=3)
add("Split", {"axis": 1, "slices": []}, [x], [quantize(x.like(p).real(), "i8", 0.05, 7) for p in parts])

for x, axis in ((f32(3, 5, 2), 0), (f32(3, 2, 5), -2), (u8(2, 7), 1), (f32(3), 0)):
    n_axis = x.q.ndim - 1 - axis % x.q.ndim
    parts = [np.atleast_1d(np.take(x.q, k, n_axis)) for k in range(x.q.shape[n_axis])]
    add("Unstack", {"axis": axis, "output_num": len(parts)}, [x], [x.like(p) for p in parts])

# ---- the same elements under another shape, joined, turned around, repeated

for x, axis in ((f32(1, 5, 1, 7), [1, 3]), (f32(5, 1, 1), [-2]), (u8(1, 6), [1])):
    onnx_axes = [x.q.ndim - 1 - a % x.q.ndim for a in axis]
    add("Squeeze", {"axis": axis}, [x], [x.like(onnx_run("Squeeze", [x.q, I64(*onnx_axes)]))])
x = f32(1, 5, 1, 7)
add("Squeeze", {"axis": []}, [x], [x.like(onnx_run("Squeeze", [x.q]))])

for axis in range(3):
    parts = [f32(3, 5) for _ in range(3)]
    add("Stack", {"axis": axis, "input_cnt": 3}, parts, [T("f32", np.stack([p.q for p in parts], 2 - axis))])
a, b = u8(2, 5), i8(2, 5)
joined = np.stack([quantize(t.real(), "u8", 0.041, 117).q for t in (a, b)], 0)
add("Stack", {"axis": 2, "input_cnt": 2}, [a, b], [T("u8", joined, 0.041, 117)])

for x, axis in ((f32(3, 5, 7), [0]), (f32(3, 5, 7), [-1, 1]), (f32(3, 5, 7), [0, 1, 2]), (i8(4, 6), [0, 1])):
    flipped = np.flip(x.q, [x.q.ndim - 1 - a % x.q.ndim for a in axis])
    add("Reverse", {"axis": axis}, [x], [x.like(flipped)])
x = u8(4, 6)
add("Reverse", {"axis": [0]}, [x], [quantize(np.flip(x.real(), 1), "i8", 0.05, 4)])

for x, multiples in ((f32(3, 5, 2), [2, 3, 1]), (f32(1, 5), [4, 2]), (u8(2, 3), [2, 2]), (ints("i32", 4), [3])):
    add("Tile", {"multiples": multiples}, [x], [x.like(onnx_run("Tile", [x.q, I64(*multiples[::-1])]))])

for x, shape in ((f32(3, 1, 7), [7, 5, 3]), (f32(7), [7, 5, 3]), (f32(3, 1, 7), [1, 5, 1]), (u8(5, 1), [7, 5])):
    add("Broadcast", {"shape": shape, "dimensions": []}, [x], [x.like(onnx_run("Expand", [x.q, I64(*shape[::-1])]))])
x = f32(3, 7)  # {7, 3} becomes dimensions 0 and 2 of {7, 5, 3}
wide = x.like(np.repeat(x.q[:, None, :], 5, 1))
add("Broadcast", {"shape": [7, 5, 3], "dimensions": [0, -1]}, [x], [wide])
add("Broadcast", {"shape": [3, 5, 7], "dimensions": [2, 0]}, [x], [wide.like(wide.q.transpose(2, 1, 0))])

g.write("moves_golden.json")

# ---- comparisons, logic, choice

RELATIONS = {"Greater": "Greater", "GreaterOrEqual": "GreaterOrEqual", "Less": "Less", "LessOrEqual": "LessOrEqual",
             "Equal": "Equal"}
for op in [*RELATIONS, "NotEqual"]:
    relation = lambda x, y, op=op: onnx_run(RELATIONS[op], [x, y]) if op in RELATIONS else np.logical_not(onnx_run("Equal", [x, y]))
    x, y = T("f32", g.rng.integers(-3, 4, (5, 7)).astype(F) / 2), T("f32", g.rng.integers(-3, 4, (5, 1)).astype(F) / 2)
    x.q[0, 0] = y.q[1, 0] = np.nan
    add(op, {}, [x, y], [T("bool", relation(x.q, y.q))])
    x, y = ints("i32", 2, 3, 1, lo=16777216, hi=16777219), ints("i32", 5, lo=16777216, hi=16777219)
    add(op, {}, [x, y], [T("i8", relation(x.q.astype(np.int32), y.q.astype(np.int32)))])
    # Scales that are powers of two: equal real values occur.
    x, y = ints("u8", 4, 9, scale=1 / 32, zp=121), ints("i8", 4, 9, scale=1 / 16, zp=-7)
    add(op, {}, [x, y], [T("bool", relation(x.real(), y.real()))])

for op, kind in (("LogicalAnd", "And"), ("LogicalOr", "Or")):
    for x, y in ((truth(5, 7), truth(5, 1)), (truth(3, 1), truth(4)), (truth(1), truth(6))):
        add(op, {}, [x, y], [T("bool", onnx_run(kind, [x.q.astype(bool), y.q.astype(bool)]))])
    x, y = ints("i8", 3, 6, lo=-1, hi=1), ints("i8", 3, 6, lo=-1, hi=1)
    add(op, {}, [x, y], [T("i8", onnx_run(kind, [x.q != 0, y.q != 0]))])

for c, x, y in ((truth(3, 5), f32(3, 5), f32(3, 5)), (truth(3, 1), f32(2, 1, 5), f32(1)),
                (ints("i8", 4, lo=-1, hi=1), ints("i32", 3, 4), ints("i32", 1))):
    y_ = onnx_run("Where", [c.q != 0, x.q.astype(F if x.dtype == "f32" else np.int32),
                       y.q.astype(F if x.dtype == "f32" else np.int32)])
    add("Select", {}, [c, x, y], [x.like(y_)])
c, x, y = truth(3, 5), u8(3, 5), i8(3, 5)
add("Select", {}, [c, x, y], [quantize(onnx_run("Where", [c.q != 0, x.real(), y.real()]), "u8", 0.04, 100)])

# Quantized: what stands for 0 is false, and 1 is stored as the result's type stores it.
x, y = T("i8", [3, 3, 0, 4, -128, 127], 0.5, 3), T("i8", [[-9], [5]], 0.25, -9)
for op, kind in (("LogicalAnd", "And"), ("LogicalOr", "Or")):
    add(op, {}, [x, y], [quantize(onnx_run(kind, [x.real() != 0, y.real() != 0]), "i8", 0.5, -7)])

# ---- arithmetic

parts = [f32(3, 5), f32(5), f32(2, 1, 1)]
add("AddN", {"num_inputs": 3}, parts, [T("f32", onnx_run("Sum", [p.q for p in parts]))], relative=4e-7)
parts = [ints("i32", 4, lo=-10**9, hi=10**9) for _ in range(2)]
add("AddN", {"num_inputs": 2}, parts, [T("i32", parts[0].q + parts[1].q)])
parts = [u8(3, 5), i8(3, 5), u8(3, 5), i8(3, 1)]
total = ((parts[0].real() + parts[1].real()) + parts[2].real()) + parts[3].real()
add("AddN", {"num_inputs": 4}, parts, [quantize(total, "u8", 0.07, 110)])

for fmod in (0, 1):
    x, y = ints("i32", 5, 7, lo=-99, hi=99), ints("i32", 7, lo=1, hi=9)
    y.q = y.q * np.array([1, -1, 1, -1, 1, -1, 1])
    add("Mod", {"fmod": fmod}, [x, y], [T("i32", onnx_run("Mod", [x.q, y.q], fmod=fmod))])
    x, y = f32(5, 7), T("f32", g.rng.uniform(0.3, 2, (5, 1)).astype(F))
    add("Mod", {"fmod": fmod}, [x, y], [T("f32", onnx_run("Mod", [x.q, y.q], fmod=1))], relative=4e-7)
    # Powers of two: every step is exact.
    x, y = ints("i8", 4, 9, scale=1 / 32, zp=-3), ints("u8", 4, 9, scale=1 / 32, zp=0, lo=1)
    r = onnx_run("Mod", [x.real(), y.real()], fmod=1)
    r = r if fmod else np.where(r < 0, r + y.real(), r)
    add("Mod", {"fmod": fmod}, [x, y], [quantize(r, "i16", 1 / 64, 5)])

for x in (f32(5, 7), T("f32", np.array([0.0, 1e-3, -0.5, 2.5, -6.0, 12.0], F))):
    add("Erf", {}, [x], [T("f32", onnx_run("Erf", [x.q.astype(np.float64)]))], relative=4e-7)
x = i8(5, 7)
add("Erf", {}, [x], [quantize(onnx_run("Erf", [x.real().astype(np.float64)]), "i8", 1 / 127, 0)], steps=1)

for ratio in (0.75, -1.3):
    x = f32(5, 7)
    add("Dropout", {"ratio": ratio}, [x], [T("f32", x.q * F(ratio))], relative=2e-7)
x = u8(5, 7)
add("Dropout", {"ratio": 0.375}, [x], [quantize(x.real() * F(0.375), "u8", 0.01, 128)])

g.write("logic_golden.json")
