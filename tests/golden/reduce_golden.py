#!/usr/bin/env python3
"""Writes reduce_golden.json and index_golden.json: values of the ops that reduce, multiply matrices and follow indices.

By the reference evaluator of ONNX where ONNX defines the op, else by NumPy.
"""
import numpy as np
from golden import F, Golden, T, onnx_run, quantize

g = Golden(__file__, 60, reach=4, source="onnx.reference, numpy")
f32, ints, u8, i8, truth, add = g.f32, g.ints, g.u8, g.i8, g.truth, g.add

I64 = lambda a: np.asarray(a).astype(np.int64)


def outer(axes, rank):
    """Our axes are counted from the fastest."""
    return sorted({rank - 1 - (a % rank) for a in axes})


# ---- reductions

def reduce_(op, x, axis, keep, out=None, relative=4e-7):
    kind, at = f"Reduce{op}", outer(axis, x.q.ndim)
    if op in ("Any", "All"):
        y = T("bool", getattr(np, op.lower())(x.q != 0, axis=tuple(at), keepdims=keep).astype(np.int64))
    elif x.dtype == "i32":
        y = T("i32", onnx_run(kind, [x.q.astype(np.int32), I64(at)], keepdims=int(keep)))
    else:
        real = onnx_run(kind, [x.real().astype(np.float64), I64(at)], keepdims=int(keep))
        y = T("f32", real) if out is None else quantize(real, *out)
    if y.q.ndim == 0:
        y.q = y.q.reshape(1)
    add(kind, {"axis": axis, "keep_dims": keep}, [x], [y], relative=relative)


for op in ("Min", "Max", "Sum", "Mean", "Prod"):
    exact = op in ("Min", "Max")
    positive = T("f32", g.rng.uniform(0.5, 2, (2, 3, 4, 5)).astype(F))  # sums do not cancel
    for axis, keep in (([0], False), ([1, 3], True), ([-1, 2, 2], False), ([0, 1, 2, 3], False)):
        reduce_(op, positive, axis, keep, relative=0 if exact else 8e-7)
    # Powers of two: sums and products are exact.
    fine = ("u8", 1 / 8, 3) if op != "Prod" else ("i16", 1 / 256, 5)
    reduce_(op, ints("u8", 3, 4, 5, scale=1 / 32, zp=121, lo=90, hi=150), [1], False, fine)
    reduce_(op, ints("i8", 4, 4, scale=1 / 64, zp=-9), [0], True, ("i8", 1 / 64, -9))
    if op != "Mean":
        reduce_(op, ints("i32", 4, 7, lo=-9, hi=9), [0], False)
x = ints("i32", 4, 6, lo=-99, hi=99)  # rounded to the nearest, halves to even
add("ReduceMean", {"axis": [0], "keep_dims": False}, [x],
    [T("i32", np.rint(x.q.astype(np.float64).mean(axis=1)).astype(np.int64))])
for op in ("Any", "All"):
    for axis, keep in (([0], False), ([1], True), ([0, 2], False)):
        x = truth(3, 4, 5)
        x.q[1] = op == "All"
        x.q[2] = op != "All"
        reduce_(op, x, axis, keep)
    reduce_(op, ints("i8", 5, 3, lo=0, hi=2), [0], False)
    x = T("i8", [[3, 3, 3], [3, 0, 3], [1, 2, 4]], 0.5, 3)  # what stands for 0 is false
    y = getattr(np, op.lower())(x.real() != 0, axis=1)
    add(f"Reduce{op}", {"axis": [0], "keep_dims": False}, [x], [quantize(y, "i8", 0.25, -7)])

for axes, keep in (([0], False), ([0, 1], True), ([2, -3], False)):
    x = f32(3, 4, 5)
    at = tuple(outer(axes, 3))
    d = x.q.astype(np.float64)
    add("Moments", {"axes": axes, "keep_dims": keep}, [x],
        [T("f32", d.mean(axis=at, keepdims=keep)), T("f32", d.var(axis=at, keepdims=keep))], relative=4e-6)
x = u8(6, 9)
d = x.real().astype(np.float64)
add("Moments", {"axes": [0], "keep_dims": False}, [x],
    [quantize(d.mean(axis=1), "u8", 0.026, 121), T("f32", d.var(axis=1))], steps=1, relative=4e-6)

for axis, beta in ((0, 1.0), (1, 0.5), (-1, -1.25)):
    x = f32(2, 4, 5)
    y = onnx_run("LogSoftmax", [beta * x.q.astype(np.float64)], axis=outer([axis], 3)[0])
    add("LogSoftmax", {"axis": axis, "beta": beta}, [x], [T("f32", y)], relative=4e-6)
x = u8(3, 10)
add("LogSoftmax", {"axis": 0, "beta": 1.0}, [x],
    [quantize(onnx_run("LogSoftmax", [x.real().astype(np.float64)], axis=1), "i8", 0.1, 100)], steps=1)

# ---- matrix products

def matmul(a, b, turn_a=False, turn_b=False, out=None, adjoint=False):
    def turned(t, turn):
        v = t.q.astype(np.float64) if t.dtype == "f32" else t.q.astype(np.int64) - t.zp
        return np.swapaxes(v, -1, -2) if turn else v
    y = onnx_run("MatMul", [turned(a, turn_a), turned(b, turn_b)])
    if a.dtype == "f32":
        y = T("f32", y)
    elif out is None:
        y = T("i32", y)
    else:
        m = F(np.float64(F(a.scale)) * np.float64(F(b.scale)) / np.float64(F(out[1])))
        y = T(out[0], [], *out[1:]).scaled(y, m)
    if y.q.ndim == 0:
        y.q = y.q.reshape(1)
    names = ("adjoint_a", "adjoint_b") if adjoint else ("transpose_a", "transpose_b")
    add("Matmul", dict(zip(names, (turn_a, turn_b))), [a, b], [y], relative=4e-7)


def positive(*shape):
    return T("f32", g.rng.uniform(0.5, 2, shape).astype(F))


for turn_a in (False, True):
    for turn_b in (False, True):
        a, b = ((7, 5) if turn_a else (5, 7)), ((3, 7) if turn_b else (7, 3))
        matmul(positive(*a), positive(*b), turn_a, turn_b)
        matmul(positive(2, *a), positive(2, *b), turn_a, turn_b, adjoint=True)
        matmul(u8(*a), ints("i8", *b, scale=0.009, zp=-4), turn_a, turn_b, ("u8", 0.081, 133))
        matmul(ints("i32", *a, lo=-99, hi=99), ints("i32", *b, lo=-99, hi=99), turn_a, turn_b)
matmul(positive(7), positive(7, 3))
matmul(positive(3, 7), positive(7))
matmul(positive(7), positive(7))
matmul(positive(2, 1, 3, 5), positive(1, 4, 5, 6))
matmul(positive(3, 5), positive(4, 5, 6))
g.write("reduce_golden.json")

# ---- what follows indices

for axis in range(3):
    x, i = f32(3, 4, 5), ints("i32", 2, 3, lo=-3, hi=2)
    y = onnx_run("Gather", [x.q, i.q], axis=2 - axis)
    add("Gather", {"axis": axis}, [x, i], [x.like(y)])
x, i = u8(4, 6), ints("i32", 7, lo=-4, hi=3)
add("Gather", {"axis": 1}, [x, i], [x.like(onnx_run("Gather", [x.q, i.q], axis=0))])
x, i = f32(2, 5, 3), ints("i32", 2, 4, lo=0, hi=4)  # a batch: each row of indices has its matrix
add("Gather", {"axis": 1, "batch_dims": 1}, [x, i], [x.like(np.stack([m[r] for m, r in zip(x.q, i.q)]))])
x, i = f32(2, 3, 5), ints("i32", 2, 4, lo=0, hi=4)
add("Gather", {"axis": 0, "batch_dims": 1}, [x, i], [x.like(np.stack([m[:, r] for m, r in zip(x.q, i.q)]))])

for d in (1, 2, 3):
    x, i = f32(3, 4, 5), ints("i32", 2, 6, d, lo=0, hi=2)
    add("GatherNd", {}, [x, i], [x.like(onnx_run("GatherND", [x.q, I64(i.q)]))])
x, i = u8(3, 4, 5), ints("i32", 6, 2, lo=0, hi=2)
add("GatherNd", {}, [x, i], [x.like(onnx_run("GatherND", [x.q, I64(i.q)]))])

for axis in range(3):
    x, i = f32(3, 4, 5), ints("i32", 3, 4, 5, lo=-3, hi=2)
    at = np.where(i.q < 0, i.q + x.q.shape[2 - axis], i.q)
    add("GatherElements", {"axis": axis}, [x, i], [x.like(onnx_run("GatherElements", [x.q, I64(at)], axis=2 - axis))])
x, i = u8(4, 5), ints("i32", 2, 5, lo=0, hi=3)
add("GatherElements", {"axis": 1}, [x, i], [x.like(onnx_run("GatherElements", [x.q, I64(i.q)], axis=0))])

for op in ("Min", "Max"):
    for axis in (0, 1, -1):
        x = f32(3, 4, 5)
        y = onnx_run(f"Arg{op}", [x.q], axis=outer([axis], 3)[0], keepdims=0)
        add(f"Arg{op}", {"axis": axis}, [x], [T("i32", y)])
    x = ints("u8", 4, 9, scale=0.026, zp=121, lo=0, hi=3)  # ties
    add(f"Arg{op}", {"axis": 0}, [x], [T("i32", onnx_run(f"Arg{op}", [x.q], axis=1, keepdims=0))])

for k, axis in ((1, 0), (3, 1), (5, -3)):
    x = f32(3, 4, 5)
    values, indices = onnx_run("TopK", [x.q, I64([k])], outputs=2, axis=outer([axis], 3)[0])
    add("Topk", {"k": k, "axis": axis}, [x], [T("f32", values), T("i32", indices)])
x = ints("u8", 3, 9, scale=0.026, zp=121, lo=0, hi=3)  # ties: the lowest index first
values, indices = onnx_run("TopK", [x.q.astype(np.int64), I64([6])], outputs=2, axis=1)
order = np.argsort(-x.q, axis=1, kind="stable")[:, :6]
assert (np.take_along_axis(x.q, order, 1) == values).all()
add("Topk", {"k": 6, "axis": 0}, [x], [x.like(values), T("i32", order)])

for axis in (0, 1, 2):
    x = ints("i32", 3, 4, lo=0, hi=4)
    y = onnx_run("OneHot", [x.q, I64(5), np.array([-1.5, 2.5], F)], axis=2 - axis)
    add("OneHot", {"depth": 5, "on_value": 2.5, "off_value": -1.5, "axis": axis}, [x], [T("f32", y)])
x = ints("i32", 6, lo=-2, hi=4)
y = (x.q[:, None] == np.arange(3)).astype(F)
add("OneHot", {"depth": 3, "axis": -1}, [x], [quantize(y, "u8", 0.04, 7)])

for shape, d, n in (((7,), 1, 5), ((3, 4, 5), 1, 6), ((3, 4, 5), 2, 8)):
    i = ints("i32", n, d, lo=0, hi=2)
    u = ints("i32", n, *shape[d:], lo=-99, hi=99)
    y = np.zeros(shape, np.int64)
    np.add.at(y, tuple(i.q.T), u.q)
    add("ScatterND", {"shape": list(shape[::-1])}, [i, u], [T("i32", y)])
i, u = ints("i32", 4, 1, lo=0, hi=4), ints("u8", 4, 6, scale=1 / 32, zp=121)
y = np.zeros((5, 6))
np.add.at(y, tuple(i.q.T), u.real().astype(np.float64))
add("ScatterND", {"shape": [6, 5]}, [i, u], [quantize(y, "u8", 1 / 16, 100)])

for number, kind in enumerate(("none", "add", "mul", "max", "min")):
    x, u = f32(4, 5), f32(3, 5)
    i = T("i32", np.array([[3], [0], [2]]) if kind == "none" else np.array([[3], [0], [3]]))
    y = onnx_run("ScatterND", [x.q, I64(i.q), u.q], reduction=kind)
    add("ScatterND_ONNX_V16", {"reduction": number}, [x, i, u], [T("f32", y)], relative=1e-5)
x, u, i = u8(4, 5), u8(2, 5), T("i32", np.array([[1], [3]]))
add("ScatterND_ONNX_V16", {"reduction": 0}, [x, i, u], [x.like(onnx_run("ScatterND", [x.q, I64(i.q), u.q]))])

for shape in ((6, 3), (5, 2, 3)):
    table, ids = f32(*shape), ints("i32", 4, lo=0, hi=4)
    add("EmbeddingLookup", {}, [ids, table], [T("f32", table.q[ids.q])])
table, ids = u8(5, 7), ints("i32", 6, lo=0, hi=4)
add("EmbeddingLookup", {}, [ids, table], [quantize(table.real()[ids.q], "u8", 0.05, 100)])

for make in (lambda *s: f32(*s), lambda *s: u8(*s), lambda *s: ints("i32", *s, lo=-99, hi=99)):
    keys, wanted = T("i32", np.array([-5, 0, 3, 8, 70000])), T("i32", np.array([3, 4, -5, 70000, 3, 1]))
    values = make(5, 2, 3)
    found = wanted.q[:, None] == keys.q
    hit = found.any(axis=1)
    rows = np.where(hit[:, None, None], values.q[found.argmax(axis=1)], values.zp)
    add("HashtableLookup", {}, [wanted, keys, values], [values.like(rows), T("i32", hit.astype(np.int64))])
g.write("index_golden.json")
