#!/usr/bin/env python3
"""Writes pointwise_golden.json: values of every point-wise op, computed with NumPy alone.

Float results in float64; integer results in float32 by the rule q = clip(rint(y * (1/s) + zp)).
"""
import json, math, pathlib
import numpy as np

rng = np.random.default_rng(2024)
erf = np.vectorize(math.erf)
SQRT_HALF = math.sqrt(0.5)


def gelu(x, approximate):
    if approximate:
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * (1 + erf(x * SQRT_HALF))


F = np.float32
# name: (attributes, formula over arrays of one dtype, lowest and highest input, steps allowed)
# The formula takes constants as F so that a float32 array stays float32.
UNARY = {
    "Relu": [({}, lambda x: np.fmax(x, F(0)), -4, 4, 0)],
    "Relu1": [({}, lambda x: np.clip(x, F(-1), F(1)), -4, 4, 0)],
    "Relu6": [({}, lambda x: np.clip(x, F(0), F(6)), -4, 9, 0)],
    "Tanh": [({}, np.tanh, -4, 4, 1)],
    "Sigmoid": [({}, lambda x: F(1) / (F(1) + np.exp(-x)), -9, 9, 1)],
    "Swish": [({}, lambda x: x / (F(1) + np.exp(-x)), -9, 9, 1)],
    "HardSwish": [({}, lambda x: x * np.clip(x + F(3), F(0), F(6)) / F(6), -5, 5, 1)],
    "Mish": [({}, lambda x: x * np.tanh(np.log1p(np.exp(x))), -9, 9, 1)],
    "SoftRelu": [({}, lambda x: np.log1p(np.exp(x)), -9, 9, 1)],
    "Sign": [({}, np.sign, -4, 4, 0)],
    "SoftSign": [({}, lambda x: x / (F(1) + np.abs(x)), -4, 4, 1)],
    "Elu": [({"alpha": a}, lambda x, a=F(a): np.where(x > 0, x, a * np.expm1(x)), -4, 4, 1)
            for a in (1.0, 0.375)],
    "HardSigmoid": [({"alpha": a, "beta": b},
                     lambda x, a=F(a), b=F(b): np.clip(a * x + b, F(0), F(1)), -4, 4, 0)
                    for a, b in ((0.25, 0.5), (0.3125, 0.4375))],
    "LeakyRelu": [({"alpha": a}, lambda x, a=F(a): np.where(x > 0, x, a * x), -4, 4, 0)
                  for a in (0.125, 0.3)],
    "Linear": [({"a": a, "b": b}, lambda x, a=F(a), b=F(b): a * x + b, -4, 4, 0)
               for a, b in ((1.75, -0.5), (-0.375, 0.0))],
    "Gelu": [({"approximate": a}, lambda x, a=a: gelu(x, a), -4, 4, 1) for a in (True, False)],
    "Selu": [({"alpha": a, "gamma": g},
              lambda x, a=F(a), g=F(g): np.where(x > 0, g * x, g * a * np.expm1(x)), -4, 4, 1)
             for a, g in ((1.67326, 1.0507), (1.25, 0.75))],
    "Celu": [({"alpha": a}, lambda x, a=F(a): np.where(x >= 0, x, a * np.expm1(x / a)), -4, 4, 1)
             for a in (1.0, 0.625)],
    "Clip": [({"min": a, "max": b}, lambda x, a=F(a), b=F(b): np.clip(x, a, b), -9, 9, 0)
             for a, b in ((-1.5, 2.25), (0.5, 7.0))],
    "DataConvert": [({}, lambda x: x, -4, 4, 0)],
    "Neg": [({}, lambda x: -x, -4, 4, 0)],
    "Abs": [({}, np.abs, -4, 4, 0)],
    "Sin": [({}, np.sin, -9, 9, 1)],
    "Cos": [({}, np.cos, -9, 9, 1)],
    "Tan": [({}, np.tan, -1.4, 1.4, 1)],
    "ATan": [({}, np.arctan, -4, 4, 1)],
    "ATanh": [({}, np.arctanh, -0.9, 0.9, 1)],
    "ACosh": [({}, np.arccosh, 1.1, 9, 1)],
    "Exp": [({}, np.exp, -4, 4, 1)],
    "Log": [({}, np.log, 0.1, 9, 1)],
    "Sqrt": [({}, np.sqrt, 0.1, 9, 1)],
    "Rsqrt": [({}, lambda x: F(1) / np.sqrt(x), 0.1, 9, 1)],
    "Square": [({}, lambda x: x * x, -4, 4, 0)],
    "Rcp": [({}, lambda x: F(1) / x, 0.2, 4, 1)],
    "Floor": [({}, np.floor, -4, 4, 0)],
    "Ceil": [({}, np.ceil, -4, 4, 0)],
    "Round": [({}, np.round, -4, 4, 0)],
}
BINARY = {
    "Minimum": [({}, np.fmin, -4, 4, 0)],
    "Maximum": [({}, np.fmax, -4, 4, 0)],
    "Add": [({}, lambda x, y: x + y, -4, 4, 0)],
    "Sub": [({}, lambda x, y: x - y, -4, 4, 0)],
    "Multiply": [({"scale": s}, lambda x, y, s=F(s): x * y * s, -4, 4, 0) for s in (1.0, 0.375)],
    "Div": [({"scale": s}, lambda x, y, s=F(s): x / y * s, 0.5, 4, 1) for s in (1.0, 2.5)],
    "Pow": [({}, np.power, 0.25, 3, 1)],
    "FloorDiv": [({}, lambda x, y: np.floor(x.astype(F) / y.astype(F)), 0.5, 4, 0)],
    "Prelu": [({"axis": 1}, lambda x, y: np.where(x >= 0, x, x * y), -4, 4, 0)],
}
RANGE = {"u8": (0, 255), "i8": (-128, 127), "i16": (-32768, 32767), "i32": (-2**31, 2**31 - 1)}


def real(t, q):
    """The float32 numbers that stored values stand for."""
    if t["dtype"] == "f32":
        return q.astype(F)
    return (q - t["zero_point"]).astype(F) * F(t["scale"])


def quantize(t, y):
    if t["dtype"] == "f32":
        return y
    lo, hi = RANGE[t["dtype"]]
    return np.clip(np.rint(y * F(1 / np.float64(F(t["scale"]))) + F(t["zero_point"])), lo, hi)


def tensor(dtype, shape, scale=1.0, zero_point=0):
    return {"dtype": dtype, "shape": shape, "scale": scale, "zero_point": zero_point}


def draw(t, lo, hi):
    """Stored values; shapes list the fastest dimension first, NumPy's last."""
    x = rng.uniform(lo, hi, t["shape"][::-1])
    return x.astype(F) if t["dtype"] == "f32" else quantize(t, x.astype(F)).astype(np.int64)


def numbers(a):
    return [float(v) if np.issubdtype(a.dtype, np.floating) else int(v) for v in a.reshape(-1)]


def case(op, attrs, formula, steps, inputs, stored, out):
    reals = [real(t, q) for t, q in zip(inputs, stored)]
    integer = out["dtype"] != "f32"
    y = formula(*reals) if integer else formula(*[r.astype(np.float64) for r in reals])
    y = quantize(out, y.astype(F)).astype(np.int64) if integer else np.asarray(y, np.float64)
    ins = [dict(t, values=numbers(q)) for t, q in zip(inputs, stored)]
    return {"op": op, "attrs": attrs, "steps": steps, "inputs": ins,
            "output": dict(out, shape=list(y.shape[::-1]), values=numbers(y))}


def all_cases():
    for op, rows in UNARY.items():
        for attrs, formula, lo, hi, steps in rows:
            for x, y in ((tensor("f32", [7]), tensor("f32", [])),
                         (tensor("u8", [9], 0.0625, 120), tensor("u8", [], 0.05, 90)),
                         (tensor("i16", [7], 0.002, 0), tensor("i8", [], 0.04, -9))):
                yield case(op, attrs, formula, steps, [x], [draw(x, lo, hi)], y)
    for op, rows in BINARY.items():
        for attrs, formula, lo, hi, steps in rows:
            for dtype, scale, zero, out in (("f32", 1.0, 0, tensor("f32", [])),
                                            ("u8", 0.03125, 120, tensor("u8", [], 0.07, 80)),
                                            ("i8", 0.0625, -5, tensor("i16", [], 0.003, 12))):
                x, y = tensor(dtype, [3, 2, 2], scale, zero), tensor(dtype, [1, 2], scale, zero)
                yield case(op, attrs, formula, steps, [x, y], [draw(x, lo, hi), draw(y, lo, hi)], out)
    # Whole numbers: exact, saturating.
    top, low = 2**31 - 1, -2**31
    x, y = np.array([top, low, 16777217, 46341]), np.array([top, -1, 3, 46341])
    i32 = tensor("i32", [4])
    for op, exact in (("Add", x + y), ("Sub", x - y), ("Multiply", x * y),
                      ("Minimum", np.minimum(x, y)), ("Maximum", np.maximum(x, y))):
        yield {"op": op, "attrs": {}, "steps": 0,
               "inputs": [dict(i32, values=numbers(x)), dict(i32, values=numbers(y))],
               "output": dict(i32, values=numbers(np.clip(exact, low, top)))}
    # Halves to even; truncation toward 0; the stored number, not the real one.
    halves = [0.5, 1.5, 2.5, -0.5, -1.5, -2.5]
    f6 = tensor("f32", [6])
    yield {"op": "Round", "attrs": {}, "steps": 0, "inputs": [dict(f6, values=halves)],
           "output": dict(f6, values=[0.0, 2.0, 2.0, 0.0, -2.0, -2.0])}
    yield {"op": "Cast", "attrs": {}, "steps": 0,
           "inputs": [dict(f6, values=[1.9, -1.9, 300.0, -300.0, 0.0, 127.5])],
           "output": dict(tensor("i8", [6], 0.5, 3), values=[1, -1, 127, -128, 0, 127])}
    yield {"op": "Cast", "attrs": {}, "steps": 0,
           "inputs": [dict(tensor("u8", [3], 0.25, 100), values=[0, 100, 255])],
           "output": dict(tensor("f32", [3]), values=[0.0, 100.0, 255.0])}
    yield {"op": "Cast", "attrs": {}, "steps": 0,
           "inputs": [dict(f6, values=[0.0, 0.25, -3.0, 1.0, -0.0, 9.0])],
           "output": dict(tensor("bool", [6]), values=[0, 1, 1, 1, 0, 1])}
    yield {"op": "LogicalNot", "attrs": {}, "steps": 0,
           "inputs": [dict(tensor("i8", [4]), values=[0, 1, -7, 127])],
           "output": dict(tensor("bool", [4]), values=[1, 0, 0, 0])}
    # A slope with one extent other than 1 goes along the axis, though dimension 0 would fit as well.
    yield {"op": "Prelu", "attrs": {"axis": 1}, "steps": 0,
           "inputs": [dict(tensor("f32", [2, 2]), values=[-1.0, -2.0, -3.0, -4.0]),
                      dict(tensor("f32", [2]), values=[10.0, 100.0])],
           "output": dict(tensor("f32", [2, 2]), values=[-10.0, -20.0, -300.0, -400.0])}
    # Division by zero: infinities, which saturate.
    three = [dict(tensor("f32", [2]), values=[1.0, -1.0]), dict(tensor("f32", [1]), values=[0.0])]
    for op in ("Div", "FloorDiv"):
        yield {"op": op, "attrs": {}, "steps": 0, "inputs": three,
               "output": dict(tensor("u8", [2], 0.1, 10), values=[255, 0])}


if __name__ == "__main__":
    path = pathlib.Path(__file__).with_suffix(".json")
    lines = ",\n".join(json.dumps(c, separators=(",", ":")) for c in all_cases())
    path.write_text("[\n" + lines + "\n]\n")
    print(path.name, path.stat().st_size, "bytes")
